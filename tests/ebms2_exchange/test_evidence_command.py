"""`onceonly message evidence`: a folder that somebody can verify who trusts nobody."""

import asyncio
import json
from base64 import b64decode
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner
from running_gateway import serving_api
from signed_parties import ORDERING, signing_parties

from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.client import Client
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

DS = "{http://www.w3.org/2000/09/xmldsig#}"
EB = "{http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd}"


async def run(*words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    result = await asyncio.to_thread(CliRunner().invoke, cli, words)
    return result.exit_code, result.stdout, result.stderr


def references(element):
    """URI and digest of each Reference under the element."""
    return {
        (one.get("URI"), "".join((one.findtext(f"{DS}DigestValue") or "").split()))
        for one in element.findall(f"{DS}Reference")
    }


def verify_with_xmlsec(folder: Path, name: str) -> None:
    """By an implementation that shares nothing with ours. Raises if the signature is wrong."""
    xmlsec = pytest.importorskip("xmlsec", reason="python-xmlsec is not installed")
    etree = pytest.importorskip("lxml.etree")
    tree = etree.parse(str(folder / f"{name}.xml"))
    (signature,) = tree.iter(f"{DS}Signature")
    context = xmlsec.SignatureContext()
    pem = str(folder / f"{name}-signer.pem")
    context.key = xmlsec.Key.from_file(pem, xmlsec.KeyFormat.CERT_PEM)
    context.verify(signature)


@pytest.mark.parametrize("sign", ["all", "none"])
async def test_the_folder_proves_it_without_us(tmp_path, sign):
    """The acknowledgement verifies elsewhere, and its References are those of the message."""
    async with signing_parties(tmp_path, sign=sign) as parties:
        message_id = await parties.submit(b"<Order/>", b"<Annex/>", **ORDERING)
        await parties.delivered(message_id)
        async with serving_api(parties.buyer) as api:
            folder = tmp_path / "evidence"
            words = ("message", "evidence", message_id, "--to", str(folder), "--api", api)
            code, out, said = await run(*words)
            assert (code, "acknowledged with evidence" in said) == (Exit.OK, True), said
            assert "acknowledgment.xml" in out
            assert (await run(*words))[0] == Exit.USAGE
        rows = parties.buyer.rows(Event.EVIDENCE_KEPT) + parties.seller.rows(Event.EVIDENCE_KEPT)
    record = json.loads((folder / "verification.json").read_bytes())
    assert record["is_evidence"] is True
    # The journals, and so the lake's packs, have the files by their digests.
    told = {f"{row.reason}.xml": row.digest for row in rows}
    signed = {"acknowledgment.xml"} | ({"message.xml"} if sign == "all" else set())
    assert told == {name: record["files"][name] for name in signed}
    for name, digest in record["files"].items():
        assert sha256((folder / name).read_bytes()).hexdigest() == digest
    verify_with_xmlsec(folder, "acknowledgment")
    etree = pytest.importorskip("lxml.etree")
    (block,) = etree.parse(str(folder / "acknowledgment.xml")).iter(f"{EB}Acknowledgment")
    copied = references(block)
    if sign == "all":
        (info,) = etree.parse(str(folder / "message.xml")).iter(f"{DS}SignedInfo")
        assert references(info) == copied
    digests = {b64decode(digest) for uri, digest in copied if uri}
    files = [(folder / f"payload-{n}").read_bytes() for n in (0, 1)]
    assert {sha256(one).digest() for one in files} == digests


async def test_the_receiver_has_the_signed_message(tmp_path):
    """It proves who sent it; there is no acknowledgement of the receiver's own."""
    async with signing_parties(tmp_path, sign="messages") as parties:
        message_id = await parties.submit(**ORDERING)
        await parties.delivered(message_id)
        async with serving_api(parties.seller) as api:
            code, out, said = await run("message", "evidence", message_id, "--api", api)
            assert (code, "the message is signed" in said) == (Exit.OK, True), said
            assert "message.xml" in out
            with Client(api) as client:
                kept = await asyncio.to_thread(client.evidence, message_id)
            assert [one.kind for one in kept.envelopes] == ["message"]


async def test_without_evidence_it_says_so(tmp_path):
    async with signing_parties(tmp_path, sign="none", ack_requested="Unsigned") as parties:
        message_id = await parties.submit(**ORDERING)
        await parties.delivered(message_id)
        async with serving_api(parties.buyer) as api:
            code, _, said = await run("message", "evidence", message_id, "--api", api)
            assert (code, "nothing is kept that proves" in said) == (Exit.NOT_FOUND, True), said
