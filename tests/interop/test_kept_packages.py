"""Packages that the strict MSH wrote in a run, read without it."""

import json
from pathlib import Path

import pytest
from ebms2_samples import decode
from interop_record import GOLDEN
from kept_packages import kind_of
from ordering import CPA_ID, REGISTRY
from signed_samples import verify

from onceonly.message.errors import FaultCode
from onceonly.message.identity import PartyId
from onceonly.message.message import AckRequested, Message, SyncReplyMode
from onceonly.message.signals import Acknowledgment, ErrorSignal, Inquiry, Report
from onceonly.wire import ebms2
from onceonly.wire.limits import DEFAULT
from onceonly.wire.signature import Signature
from onceonly.wire.xml import parse

FOLDER = GOLDEN / "strict-msh"
KEPT = sorted(FOLDER.glob("*.http"))
SELLER = (PartyId("20000002", REGISTRY),)
BUYER = (PartyId("10000001", REGISTRY),)

KINDS = {
    "OrderConfirmation": Message,
    "Acknowledgment": Acknowledgment,
    "MessageError": ErrorSignal,
    "Ping": Inquiry,
    "StatusRequest": Inquiry,
    "Pong": Report,
    "StatusResponse": Report,
}


def taken_apart(package: bytes) -> tuple[str, bytes]:
    """Content-Type and body."""
    head, _, body = package.partition(b"\r\n\r\n")
    return head.decode().removeprefix("Content-Type: "), body


def test_there_is_one_of_each_kind_and_its_origin_is_known():
    """Business messages and every signal, alone and with SyncReply, signed and not."""
    origin = json.loads((FOLDER / "origin.json").read_text("utf-8"))
    assert {one.stem for one in KEPT} == set(origin)
    assert {one.stem.split("-")[0] for one in KEPT} == {*KINDS, "Fault"}
    for one in origin.values():
        assert {"date", "product", "version", "parts"} <= set(one)


@pytest.mark.parametrize("path", [pytest.param(one, id=one.stem) for one in KEPT])
def test_a_kept_package_is_read(path: Path):
    package = path.read_bytes()
    assert kind_of(package) == path.stem
    content_type, body = taken_apart(package)
    if path.stem == "Fault":
        fault = ebms2.CODEC.find_fault(parse(body, None, DEFAULT))
        assert fault is not None
        assert fault.code is FaultCode.CLIENT
        return
    words = path.stem.split("-")
    envelope = decode(body, content_type)
    content = envelope.content
    assert isinstance(content, KINDS[words[0]])
    if isinstance(content, Message):
        check_business(content, words)
        header = content
    else:
        header = content.header
    assert (header.agreement_id, header.from_ids, header.to_ids) == (CPA_ID, SELLER, BUYER)
    if isinstance(content, ErrorSignal):
        assert [one.code.value for one in content.errors] == words[1:2]
    assert ("signed" in words) is isinstance(envelope.signature, Signature)


def check_business(content: Message, words: list[str]) -> None:
    """The flags are as the name of the file says."""
    assert (content.from_role, content.to_role) == ("Seller", "Buyer")
    assert (content.service, content.service_type) == ("ordering:1.0", "urn:example:services")
    assert bool(content.payloads) is ("payload" in words)
    assert (content.sync_reply_mode is not SyncReplyMode.NONE) is ("sync" in words)
    asked = AckRequested.SIGNED if "signed" in words else AckRequested.UNSIGNED
    assert content.ack_requested is asked
    assert content.duplicate_elimination


SIGNED = [one for one in KEPT if one.stem.endswith("signed")]


@pytest.mark.parametrize("path", [pytest.param(one, id=one.stem) for one in SIGNED])
def test_a_kept_signature_verifies(path: Path):
    """By the certificate in it: that it was the right one was seen when the package came."""
    content_type, body = taken_apart(path.read_bytes())
    signature = decode(body, content_type).signature
    assert isinstance(signature, Signature)
    [certificate] = signature.certificates
    verify(body, content_type, certificate)
    with pytest.raises(Exception, match="digest of the envelope"):
        verify(body.replace(CPA_ID.encode(), b"cpa-another"), content_type, certificate)
