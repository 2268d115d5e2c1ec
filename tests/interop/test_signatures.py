"""Signed packages between our signature core and Apache Santuario, without a gateway.

Santuario signs and verifies in the Java gateways that are deployed; here it does so in the strict
MSH, which reads our packages by its own MIME, XML and schemas first.
"""

from base64 import b64encode
from pathlib import Path

import httpx
import pytest
from ebms2_samples import decode
from ordering import CPA_ID, REGISTRY, SYNC, cpa_text
from signed_samples import MORE, der, signed, signing, verify
from signers import CPA_TERMS, write_signers
from strict_process import StrictMsh, need_strict_msh
from wire_samples import payload

from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AckRequested,
    DeliverySemantics,
    Message,
    Payload,
    SyncReplyMode,
)
from onceonly.message.signals import Acknowledgment
from onceonly.wire.signature import Signature
from ports import free_port

pytestmark = pytest.mark.anyio

BUYER, SELLER = PartyId("10000001", REGISTRY), PartyId("20000002", REGISTRY)
ORDER = b'<Order number="4711"/>'


def strict(directory: Path, *, sync: bool = True) -> StrictMsh:
    """The seller with its keys, who pins the buyer's certificate; nobody listens for its posts."""
    file = directory / "cpa.xml"
    keys = write_signers(directory)
    seller = StrictMsh(directory, "--cpa", str(file), "--party", "20000002", *keys)
    nobody = f"http://127.0.0.1:{free_port()}/msh"
    here = f"http://127.0.0.1:{seller.port}/msh"
    file.write_text(cpa_text(nobody, here, **CPA_TERMS, **(SYNC if sync else {})), "utf-8")
    return seller


def order(message_id: str, *payloads: Payload) -> Message:
    """What the CPA lets the buyer send."""
    return Message(
        message_id=message_id,
        from_ids=(BUYER,),
        to_ids=(SELLER,),
        agreement_id=CPA_ID,
        conversation_id=f"conversation-of-{message_id}",
        service="ordering:1.0",
        service_type="urn:example:services",
        action="NewOrder",
        timestamp_at=1_767_225_600_000_000,
        time_to_live_at=4_070_908_800_000_000,
        semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
        sync_reply_mode=SyncReplyMode.MSH_SIGNALS_ONLY,
        duplicate_elimination=True,
        ack_requested=AckRequested.SIGNED,
        from_role="Buyer",
        to_role="Seller",
        payloads=payloads,
    )


async def post(seller: StrictMsh, body: bytes, content_type: str) -> httpx.Response:
    headers = {"Content-Type": content_type, "SOAPAction": '"ebXML"'}
    async with httpx.AsyncClient(timeout=60) as client:
        uri = f"http://127.0.0.1:{seller.port}/msh"
        return await client.post(uri, content=body, headers=headers)


HOWS = [
    (f"{'exclusive' if is_exclusive else 'inclusive'}-{digits}", is_exclusive, digits)
    for is_exclusive in (False, True)
    for digits in (256, 384, 512)
]


@pytest.mark.exchange("Signed order to it, signed acknowledgement in the answer")
async def test_what_we_sign_is_acknowledged_with_a_signature(tmp_path):
    """It acknowledges what it could verify alone; its acknowledgement repeats our references."""
    need_strict_msh()
    seller = strict(tmp_path)
    await seller.start()
    try:
        for name, is_exclusive, digits in HOWS:
            how = signing(name="buyer", method=f"{MORE}rsa-sha{digits}", is_exclusive=is_exclusive)
            parts = (payload(ORDER),) if digits != 384 else ()
            body, content_type = signed(order(f"{name}@b.example", *parts), how, [ORDER])
            answer = await post(seller, body, content_type)
            assert answer.status_code == 200, (name, answer.text, await seller.log())
            check_acknowledgment(answer, body, content_type)
        broken = body.replace(b"conversation-of", b"conversation-at")
        broken = broken.replace(b"exclusive-512@b", b"other@b")
        answer = await post(seller, broken, content_type)
        assert b"SecurityFailure" in answer.content
    finally:
        await seller.close()


def check_acknowledgment(answer: httpx.Response, body: bytes, content_type: str) -> None:
    """It is signed by the seller, and repeats what was signed."""
    said = verify(answer.content, answer.headers["Content-Type"], der(name="seller")).content
    assert isinstance(said, Acknowledgment), said
    assert said.element is not None
    ours = decode(body, content_type).signature
    assert isinstance(ours, Signature)
    asked = {
        (one.uri, one.method, b64encode(one.value).decode())
        for one in (ours.envelope, *ours.payloads)
    }
    copied = {(one.uri, one.digest_method, one.digest_value) for one in said.element.references}
    assert copied == asked


@pytest.mark.exchange("Signed confirmation from it, with and without payload")
async def test_what_it_signs_verifies(tmp_path):
    """And with one changed letter it does not."""
    need_strict_msh()
    seller = strict(tmp_path, sync=False)
    await seller.start()
    try:
        for content in (b"<Confirmation/>", b""):
            message_id = await seller.send("OrderConfirmation", content)
            await seller.log(f"post of {message_id}")
        packages = {one.read_bytes() for one in seller.captured()}
        assert len(packages) >= 2
        for package in packages:
            head, _, body = package.partition(b"\r\n\r\n")
            content_type = head.decode().removeprefix("Content-Type: ")
            envelope = verify(body, content_type, der(name="seller"))
            assert isinstance(envelope.content, Message)
            assert envelope.content.from_role == "Seller"
            broken = body.replace(b"OrderConfirmation", b"OrderConfirmatiox")
            with pytest.raises(Exception, match="digest of the envelope"):
                verify(broken, content_type, der(name="seller"))
    finally:
        await seller.close()
