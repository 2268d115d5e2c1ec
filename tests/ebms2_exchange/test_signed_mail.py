"""Signed mails, as the Norwegian health network exchanges them (preset `norway`, `ebms2.md` §9)."""

import asyncio
import email
import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from mail_parties import REFERRAL, norwegian_parties
from mailing import MAILBOXES, SELLER, MailSystem, Partners, bring

from onceonly.message.event import Event
from onceonly.store.contract.evidence import EvidenceKind

sys.path.insert(0, str(Path(__file__).parents[1] / "explain"))

from captures import explained

pytestmark = pytest.mark.anyio

SEALED = b"\x00\x01 sealed for the addressee \r\n\n= \xff"
"""One payload part, which the application has encrypted: bytes of any kind."""

_PART = re.compile(
    rb"(--[^\r\n]+\r\nContent-Type: [^\r\n]+\r\n)Content-Transfer-Encoding: base64\r\n"
    rb"(Content-ID: [^\r\n]+\r\n\r\n)(.*?)(?=\r\n--)",
    re.DOTALL,
)


def recoded(mail: bytes, encoding: str, encode: Callable[[bytes], bytes]) -> bytes:
    """The mail as another mail system, or product, encodes its parts."""

    def part(found: re.Match[bytes]) -> bytes:
        field = f"content-transfer-encoding: {encoding}\r\n".encode()
        return found[1] + field + found[2] + encode(b64decode(found[3]))

    changed, count = _PART.subn(part, mail)
    assert count == 2
    return changed


def in_base64(length: int) -> Callable[[bytes], bytes]:
    """Base64 in lines of that length."""

    def encode(content: bytes) -> bytes:
        text = b64encode(content)
        return b"\r\n".join(text[at : at + length] for at in range(0, len(text), length))

    return encode


def in_quoted_printable(content: bytes) -> bytes:
    """Every line end of the content is written as a byte of it; soft breaks end the lines."""
    words = [bytes([one]) if 32 < one < 127 and one != 61 else b"=%02X" % one for one in content]
    lines = (b"".join(words[at : at + 25]) for at in range(0, len(words), 25))
    return b"=\r\n".join(lines)


async def caught(both: Partners) -> tuple[str, bytes]:
    """A referral whose mail the mail system keeps; its MessageId, and the mail."""
    both.system.is_holding.set()
    message_id = await both.submit(SEALED, **REFERRAL)
    await both.buyer.until_row(Event.TRANSMITTED)
    both.system.is_holding.clear()
    return message_id, both.system.mails[0]


async def to_seller(both: Partners, mail: bytes) -> str:
    port = int(both.seller.configuration.smtp.listen.rpartition(":")[2])
    return await bring(mail, port, MAILBOXES[SELLER])


def kinds(gateway, message_id: str) -> set[EvidenceKind]:
    return {one.kind for one in gateway.store.snapshot().list_evidence(message_id)}


@pytest.mark.statement("E2-84", "E2-118")
async def test_two_gateways_exchange_signed_mails_as_norway_has_it(tmp_path):
    """Message and acknowledgement are mails of their own, signed, with evidence on both sides."""
    async with norwegian_parties(tmp_path) as both:
        message_id = await both.submit(SEALED, **REFERRAL)
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)
        got = await both.seller.api.get(f"/v1/inbox/{message_id}/payloads/0")
        mails = [email.message_from_bytes(mail) for mail in both.system.mails]
        assert kinds(both.buyer, message_id) == {EvidenceKind.MESSAGE, EvidenceKind.ACKNOWLEDGMENT}
        assert kinds(both.seller, message_id) == {EvidenceKind.MESSAGE}
    assert got.content == SEALED
    assert len(mails) == 2
    for mail in mails:
        document = mail.get_payload()[0]
        assert document["Content-Transfer-Encoding"] == "base64"
        assert b"<ds:Signature" in document.get_payload(decode=True)


@pytest.mark.statement("E2-84")
async def test_signed_mails_survive_what_mail_systems_do(tmp_path):
    """Lost, doubled, held up by a greylist: one delivery, one verdict, and its evidence."""
    system = MailSystem()
    system.next.update({"greylist": 2, "lose": 2, "double": 3})
    async with norwegian_parties(tmp_path, system=system, retry_interval=15, retries=9) as both:
        message_id = await both.submit(SEALED, **REFERRAL)
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)
        await both.seller.everything_said()
        assert len(both.seller.rows(Event.HANDED_OVER)) == 1
        assert EvidenceKind.ACKNOWLEDGMENT in kinds(both.buyer, message_id)


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("base64", in_base64(64)),
        ("BASE64", in_base64(400)),
        ("quoted-printable", in_quoted_printable),
        ("Quoted-Printable", in_quoted_printable),
    ],
)
async def test_a_signed_mail_verifies_in_whatever_encoding_it_came(tmp_path, encoding, encode):
    """Digests are over the decoded octets (E2-41), and the same is handed over."""
    async with norwegian_parties(tmp_path) as both:
        message_id, mail = await caught(both)
        assert (await to_seller(both, recoded(mail, encoding, encode))).endswith("OK")
        await both.until_acknowledged(message_id)
        await both.seller.until_handed_over(message_id)
        got = await both.seller.api.get(f"/v1/inbox/{message_id}/payloads/0")
    assert got.content == SEALED


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
async def test_a_signed_document_may_have_any_line_ends(tmp_path, line_end):
    """XML has one kind of them, whatever a mail system has made of the lines (XML 1.0 §2.11)."""

    def as_lines(document: bytes) -> bytes:
        assert b"?>\r\n<" in document
        return document.replace(b"\r\n", line_end)

    async with norwegian_parties(tmp_path) as both:
        message_id, mail = await caught(both)
        first, second = (in_base64(76)(b64decode(found[3])) for found in _PART.finditer(mail))
        document = in_base64(76)(as_lines(b64decode(first)))
        assert mail.count(first) == 1
        assert second in mail
        await to_seller(both, mail.replace(first, document))
        await both.until_acknowledged(message_id)


async def test_a_changed_part_of_a_signed_mail_is_refused_by_a_mail(tmp_path):
    """SecurityFailure, signed as everything is; nothing is stored."""
    async with norwegian_parties(tmp_path) as both:
        message_id, mail = await caught(both)
        await to_seller(both, recoded(mail, "base64", lambda one: in_base64(76)(spoiled(one))))
        row = await both.buyer.until_row(Event.ERROR_RECEIVED)
        assert not both.seller.rows(Event.STORED)
    assert (row.message_id, row.error_code) == (message_id, "SecurityFailure")


def spoiled(content: bytes) -> bytes:
    return content if content.startswith(b"<") else content + b"!"


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
@pytest.mark.parametrize("encode", [None, in_quoted_printable])
async def test_a_stored_signed_mail_is_explained(tmp_path, line_end, encode):
    """As a mail program saves it, with its head; the signature is right for the pinned key."""
    async with norwegian_parties(tmp_path) as both:
        message_id = await both.submit(SEALED, **REFERRAL)
        await both.until_acknowledged(message_id)
        order, acknowledgment = both.system.mails
    if encode is not None:
        order = recoded(order, "quoted-printable", encode)
    for mail, hearer in ((order, both.seller), (acknowledgment, both.buyer)):
        saved = mail.replace(b"\r\n", line_end)
        found = await asyncio.to_thread(explained, saved, hearer.configuration)
        assert found.message is not None
        said = "\n".join(found.message.says)
        assert "the digests of all that it covers fit what came" in said
        assert "right for one of partner_certificates of agreement 'tpa-ab-1'" in said
        assert "that certificate was valid at the Timestamp" in said
