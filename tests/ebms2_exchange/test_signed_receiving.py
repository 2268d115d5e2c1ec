"""What a gateway does with packages of a partner that must sign, and with those of others."""

from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from lxml import etree
from packages import Parcel
from peer_ebms2 import read
from signed_parties import (
    TODAY,
    YEAR,
    SigningPeer,
    certificate_of,
    envelope_signing,
    with_reference,
    with_signing_peer,
)

from onceonly.message.event import Event
from onceonly.message.message import AckRequested
from onceonly.wire.signature import INCLUSIVE, SHA256

pytestmark = pytest.mark.anyio

M = "m-0001@a.example.com"
ORDER = b"<Order/>"


async def refused(gateway, peer, parcel, code="SecurityFailure"):
    """The package is refused by a message with this code, and leaves no trace under its id."""
    await peer.post(parcel)
    error = await peer.hear("MessageError")
    assert error.attribute("Error", "errorCode") == code
    gateway.assert_nothing_stored()
    assert not gateway.rows(Event.STORED, Event.EVIDENCE_KEPT, Event.ACK_SENT)
    return error


@pytest.mark.statement("E2-84")
@pytest.mark.statement("E2-40")
async def test_a_signed_message_is_stored_and_acknowledged_with_its_references(tmp_path):
    async with with_signing_peer(tmp_path) as (gateway, peer):
        await peer.post(peer.signed(M, ORDER))
        ack = await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        assert ack.body.count(b"<ds:Reference") == 2 + 1
        assert ack.body.count(b"<ds:Signature ") == 1
        (row,) = gateway.rows(Event.EVIDENCE_KEPT)
        assert (row.message_id, row.reason) == (M, "message")


@pytest.mark.statement("E2-50")
@pytest.mark.statement("E2-56")
async def test_without_the_signature_that_was_agreed_it_is_refused(tmp_path):
    """The partner is told the code and no detail; the journal has it."""
    async with with_signing_peer(tmp_path) as (gateway, peer):
        error = await refused(gateway, peer, peer.package(peer.message(M, ORDER), ORDER))
        assert error.attribute("Error", "location") == "//SOAP:Header/ds:Signature"
        assert b"as agreed" in error.body
        assert b"<ds:Signature " in error.body
        (row,) = gateway.rows(Event.SIGNATURE_REFUSED)
        assert (row.message_id, row.error_code) == (M, "SecurityFailure")
        assert "there is no signature" in (row.reason or "")


@pytest.mark.statement("E2-50")
async def test_an_unsigned_copy_of_a_known_message_gets_no_acknowledgement(tmp_path):
    """Nor does one with a wrong signature; a good copy then is a plain repeat (S31, R-30)."""
    async with with_signing_peer(tmp_path) as (gateway, peer):
        parcel = peer.signed(M, ORDER)
        await peer.post(parcel)
        first = await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        bare = peer.package(peer.message(M, ORDER), ORDER)
        other = peer.package(peer.message(M, ORDER), ORDER, signer=envelope_signing("stranger"))
        for wrong in (bare, other, parcel._replace(body=parcel.body.replace(ORDER, b"<Other/>"))):
            await peer.post(wrong)
            error = await peer.hear("MessageError")
            assert error.attribute("Error", "errorCode") == "SecurityFailure"
        assert not gateway.rows(Event.DUPLICATE_ELIMINATED, Event.COLLISION_DETECTED)
        await peer.post(parcel)
        assert (await peer.hear("Acknowledgment")).body == first.body
        assert gateway.inbox_ids() == [M]


async def test_a_message_whose_first_copy_was_wrong_is_new(tmp_path):
    """What failed the signature leaves no trace under its id (IR-04, R-30)."""
    async with with_signing_peer(tmp_path) as (gateway, peer):
        parcel = peer.signed(M, ORDER)
        await refused(gateway, peer, parcel._replace(body=parcel.body.replace(ORDER, b"<Oxxxx/>")))
        await peer.post(parcel)
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)


def changed_body(old, new):
    """A signed package with this change in it."""

    def spoil(peer: SigningPeer):
        parcel = peer.signed(M, ORDER)
        assert old in parcel.body, parcel.body
        return parcel._replace(body=parcel.body.replace(old, new, 1))

    return spoil


def signed_by(name, **dates):
    """A package that another key signed, or with another certificate."""

    def spoil(peer: SigningPeer):
        signer = envelope_signing(name, **dates)
        return peer.package(peer.message(M, ORDER), ORDER, signer=signer)

    return spoil


def with_part(peer: SigningPeer):
    """One more part, which nobody signed and nobody names."""
    parcel = peer.signed(M, ORDER)
    part = b"\r\n--=_partner\r\nContent-Type: text/xml\r\nContent-ID: <x@a>\r\n\r\n<X/>"
    return parcel._replace(
        body=parcel.body.replace(b"\r\n--=_partner--", part + b"\r\n--=_partner--")
    )


END = b" </SOAP:Header>"
SECOND = b'<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/>'
AS_NEXT = b' SOAP:actor="http://schemas.xmlsoap.org/soap/actor/next"'


@pytest.mark.statement("E2-43")
@pytest.mark.parametrize(
    "spoil",
    [
        changed_body(b"NewOrder", b"OldOrder"),
        changed_body(ORDER, b"<Oxxxx/>"),
        changed_body(b"conv-1", b"conv-2"),
        changed_body(b"<SOAP:Body>", b"<SOAP:Body>" + SECOND),
        changed_body(b"#rsa-sha256", b"#rsa-sha384"),
        changed_body(b"#rsa-sha256", b"#rsa-md5"),
        changed_body(b"xmlenc#sha256", b"xmlenc#sha512"),
        changed_body(b"/REC-xpath-19991116", b"/REC-xslt-19991116"),
        changed_body(b'URI=""', b'URI="#body"'),
        changed_body(b'URI="cid:p0@a.example.com"', b'URI="cid:p1@a.example.com"'),
        changed_body(b"<ds:SignatureValue>", b"<ds:SignatureValue>AAAA"),
        changed_body(b"<ds:SignatureValue>", b"<ds:SignatureValue>!"),
        changed_body(b"ancestor-or-self::node()", b"true()"),
        signed_by("stranger"),
        signed_by("p256-stranger"),
    ],
)
async def test_a_wrong_signature_is_one_refusal_and_one_row(tmp_path, spoil):
    """S21 to S28 and S33: told by the code alone."""
    async with with_signing_peer(tmp_path) as (gateway, peer):
        await refused(gateway, peer, spoil(peer))
        assert len(gateway.rows(Event.SIGNATURE_REFUSED)) == 1


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (with_part, "MimeProblem"),
        (changed_body(b'xlink:href="cid:p0@', b'xlink:href="cid:p1@'), "MimeProblem"),
    ],
)
async def test_a_part_that_is_not_signed_is_a_mime_problem(tmp_path, spoil, code):
    """P7: nothing comes along beside what was signed (S23)."""
    async with with_signing_peer(tmp_path) as (gateway, peer):
        await refused(gateway, peer, spoil(peer), code)


HEADER_FOR_NEXT = b'<eb:MessageHeader eb:version="2.0" SOAP:mustUnderstand="1"' + AS_NEXT + b"/>"


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"<SOAP:Header>", b"<SOAP:Header>" + HEADER_FOR_NEXT), (END, SECOND + END)],
)
async def test_two_of_one_block_are_a_fault(tmp_path, old, new):
    """S1, S20, S21: whether it is under the signature or not, the first one never wins."""
    async with with_signing_peer(tmp_path) as (gateway, peer):
        reply = await peer.post(changed_body(old, new)(peer))
        assert reply.status == 500
        assert read(reply.body).fault[0].endswith("Client")
        gateway.assert_nothing_stored()


@pytest.mark.statement("E2-52")
async def test_old_and_new_certificates_count_at_their_time(tmp_path):
    """By the Timestamp; one that had ended, or had not begun, has signed nothing (S29)."""
    ended = {"begins": TODAY - 2 * YEAR, "ends": TODAY - YEAR}
    early = {"begins": TODAY + YEAR, "ends": TODAY + 2 * YEAR}
    files = ["partner.pem", "ended.pem", "early.pem", "new.pem"]
    for name, dates in (("ended", ended), ("early", early), ("new", {})):
        pem = certificate_of(name, **dates).public_bytes(Encoding.PEM)
        (tmp_path / f"{name}.pem").write_bytes(pem)
    async with with_signing_peer(tmp_path, partner_certificates=files) as (gateway, peer):
        for name, dates in (("ended", ended), ("early", early)):
            await refused(gateway, peer, signed_by(name, **dates)(peer))
        for row in gateway.rows(Event.SIGNATURE_REFUSED):
            assert "was not valid at the Timestamp" in (row.reason or "")
        for number, name in enumerate(("partner", "new")):
            content = peer.message(f"m-{number}@a.example.com")
            await peer.post(peer.package(content, signer=envelope_signing(name)))
            await peer.hear("Acknowledgment")


@pytest.mark.statement("E2-49")
async def test_a_signature_that_nobody_agreed_on_is_verified_if_its_key_is_known(tmp_path):
    """So a wrong one is refused; one of a key that nobody knows is ignored."""
    terms = {"sign": "none", "ack_requested": None}
    plain = {"ack_requested": AckRequested.UNSIGNED}
    async with with_signing_peer(tmp_path, **terms) as (gateway, peer):
        await refused(
            gateway,
            peer,
            peer.package(peer.message(M, **plain), signer=envelope_signing("stranger")),
        )
        await peer.post(peer.signed(M, **plain))
        await peer.hear("Acknowledgment")
        (row,) = gateway.rows(Event.EVIDENCE_KEPT)
        assert row.message_id == M
    (tmp_path / "seller.db").unlink()
    async with with_signing_peer(tmp_path, **terms, partner_certificates=None) as (gateway, peer):
        stranger = peer.package(peer.message(M, **plain), signer=envelope_signing("stranger"))
        await peer.post(stranger)
        await peer.hear("Acknowledgment")
        assert not gateway.rows(Event.EVIDENCE_KEPT)
        (row,) = gateway.rows(Event.STORED)
        assert "its signature was not agreed" in (row.reason or "")


async def test_a_signed_acknowledgement_that_nobody_can_sign_is_not_supported(tmp_path):
    terms = {"sign": "none", "ack_requested": None, "identities": None}
    async with with_signing_peer(tmp_path, **terms) as (gateway, peer):
        error = await refused(gateway, peer, peer.package(peer.message(M)), "Inconsistent")
        assert b"signed" in error.body


async def test_an_unsigned_ping_is_not_answered_where_all_is_signed(tmp_path):
    async with with_signing_peer(tmp_path) as (gateway, peer):
        reply = await peer.say_signal("Ping")
        assert (reply.status, reply.body) == (204, b"")
        (row,) = gateway.rows(Event.SIGNATURE_REFUSED)
        assert "there is no signature" in (row.reason or "")
        assert not peer.has_unheard()


def signed_in_canonical_form(peer: SigningPeer, payload: bytes) -> Parcel:
    """A message whose signature covers the payload in canonical form, and not its bytes."""
    digest = sha256(etree.tostring(etree.fromstring(payload), method="c14n")).digest()
    transforms = f'<ds:Transforms><ds:Transform Algorithm="{INCLUSIVE}"/></ds:Transforms>'
    return with_reference(peer.signed(M, payload), SHA256, digest, transforms)


async def test_a_payload_that_is_signed_in_canonical_form_is_taken_where_it_was_agreed(tmp_path):
    """What it covers may be spelled in another way; its acknowledgement copies the reference."""
    async with with_signing_peer(tmp_path, xml_part_transforms=True) as (gateway, peer):
        parcel = signed_in_canonical_form(peer, ORDER)
        other = parcel._replace(body=parcel.body.replace(ORDER, b"<Other/>"))
        await refused(gateway, peer, other)
        await peer.post(parcel._replace(body=parcel.body.replace(ORDER, b"<Order ></Order>")))
        ack = await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        assert ack.body.count(b'URI="cid:p0@a.example.com"') == 1


async def test_a_payload_in_canonical_form_is_not_supported_without_the_key(tmp_path):
    """The journal says which key takes it."""
    async with with_signing_peer(tmp_path) as (gateway, peer):
        await refused(gateway, peer, signed_in_canonical_form(peer, ORDER), "NotSupported")
        (row,) = gateway.rows(Event.SIGNATURE_REFUSED)
        assert "xml_part_transforms" in (row.reason or "")


async def test_an_unsigned_question_writes_nothing_at_the_message_that_it_names(tmp_path):
    """R-30: of the partner's, or one of ours that has this id; the refusal has its own row."""
    async with with_signing_peer(tmp_path) as (gateway, peer):
        ours = await gateway.submit(b"<Order/>", to=peer, service="urn:services:Ordering")
        await peer.hear("NewOrder")
        await gateway.everything_said()
        before = gateway.rows(message_id=ours)
        body = (
            '<eb:StatusRequest eb:version="2.0"><eb:RefToMessageId>'
            f"{ours}</eb:RefToMessageId></eb:StatusRequest>"
        )
        await peer.say_signal("StatusRequest", body=body)
        row = await gateway.until_row(Event.SIGNATURE_REFUSED)
        assert (row.message_id, row.error_code) == (None, "SecurityFailure")
        assert gateway.rows(message_id=ours) == before
