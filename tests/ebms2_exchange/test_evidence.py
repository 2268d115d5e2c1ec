"""A signed acknowledgement that was asked for is evidence, or it acknowledges nothing (R-31)."""

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from running_gateway import BRIEF
from signed_parties import (
    ORDERING,
    certificate_of,
    envelope_signing,
    references_in,
    with_signing_peer,
)
from two_parties import SELLER, submit

from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.store.contract.evidence import EvidenceKind

pytestmark = pytest.mark.anyio


def kinds_of(gateway, peer, message_id):
    """Of what is kept about a message of ours."""
    found = gateway.store.snapshot().list_evidence(message_id)
    assert {(one.from_party, one.to_party) for one in found} <= {(SELLER, peer.party)}
    return {one.kind for one in found}


async def sent(gateway, peer):
    """A message of the gateway's, and how the peer heard it."""
    message_id = await submit(gateway, peer.party, b"<Order/>", b"<Annex/>", **ORDERING)
    return message_id, await peer.hear("NewOrder")


@pytest.mark.statement("E2-84")
@pytest.mark.parametrize("sign", ["all", "none"])
async def test_a_signed_acknowledgement_with_the_references_is_evidence(tmp_path, sign):
    """In any order (IR-22); also of a message that was not signed."""
    terms = {"sign": sign, "require_signature": sign}
    async with with_signing_peer(tmp_path, **terms) as (gateway, peer):
        message_id, heard = await sent(gateway, peer)
        copied = references_in(heard)
        content = peer.acknowledgment(message_id, copied[::-1])
        await peer.post(peer.package(content, signer=envelope_signing("partner")))
        await gateway.until_state(message_id, "acknowledged")
        assert kinds_of(gateway, peer, message_id) == {
            EvidenceKind.MESSAGE,
            EvidenceKind.ACKNOWLEDGMENT,
        }
        # One more is a repeat, and a wrong one changes nothing any more.
        await peer.post(peer.package(content, signer=envelope_signing("partner")))
        await peer.post(peer.package(content))
        assert gateway.state_of(message_id) == "acknowledged"


def unsigned(peer, message_id, references):
    return peer.package(peer.acknowledgment(message_id, references))


def by_a_stranger(peer, message_id, references):
    content = peer.acknowledgment(message_id, references)
    return peer.package(content, signer=envelope_signing("stranger"))


def by_a_certificate_that_ended(peer, message_id, references):
    content = peer.acknowledgment(message_id, references)
    content = changed(content, header=changed(content.header, timestamp_at=0))
    return peer.package(content, signer=envelope_signing("partner"))


def without_references(peer, message_id, references):
    assert references
    return peer.package(peer.acknowledgment(message_id), signer=envelope_signing("partner"))


def with_one_missing(peer, message_id, references):
    content = peer.acknowledgment(message_id, references[:-1])
    return peer.package(content, signer=envelope_signing("partner"))


def with_one_more(peer, message_id, references):
    more = changed(
        references[-1],
        uri="cid:more@a.example.com",
        text=references[-1].text.replace('URI="', 'URI="cid:more@a.example.com" x="', 1),
    )
    content = peer.acknowledgment(message_id, (*references, more))
    return peer.package(content, signer=envelope_signing("partner"))


def of_another_message(peer, message_id, references):
    """A replay: what another message had (S30)."""
    digest = references[0].digest_value
    other = digest[::-1].replace("=", "") + "="
    wrong = changed(references[0], text=references[0].text.replace(digest, other))
    content = peer.acknowledgment(message_id, (wrong, *references[1:]))
    return peer.package(content, signer=envelope_signing("partner"))


@pytest.mark.statement("E2-85")
@pytest.mark.parametrize(
    "answer",
    [
        unsigned,
        by_a_stranger,
        by_a_certificate_that_ended,
        without_references,
        with_one_missing,
        with_one_more,
        of_another_message,
    ],
)
@pytest.mark.parametrize("requires", ["all", "none"])
async def test_an_acknowledgement_that_is_no_evidence_never_acknowledges(
    tmp_path, answer, requires
):
    """Resends go on, with the same bytes; it ends in doubt, and says why."""
    terms = {**BRIEF, "timeout": None, "require_signature": requires}
    async with with_signing_peer(tmp_path, **terms) as (gateway, peer):
        message_id, heard = await sent(gateway, peer)
        references = references_in(heard)
        await peer.post(answer(peer, message_id, references))
        row = await gateway.until_row(Event.SIGNATURE_REFUSED)
        assert (row.message_id, row.direction.value) == (message_id, "out")
        copies = await peer.hear_several("NewOrder", 2)
        assert {one.body for one in copies} == {heard.body}
        await gateway.until_state(message_id, "in_doubt")
        (exhausted,) = gateway.rows(Event.EXHAUSTED)
        assert "acknowledged without valid signature" in (exhausted.reason or "")
        assert not gateway.rows(Event.ACK_RECEIVED, Event.EVIDENCE_KEPT)
        assert kinds_of(gateway, peer, message_id) == {EvidenceKind.REFUSED}


async def test_an_operator_may_accept_it_by_name(tmp_path):
    """His word settles the doubt, and is no evidence."""
    terms = {**BRIEF, "timeout": None}
    async with with_signing_peer(tmp_path, **terms) as (gateway, peer):
        message_id, heard = await sent(gateway, peer)
        await peer.post(unsigned(peer, message_id, references_in(heard)))
        await gateway.until_state(message_id, "in_doubt")
        answer = await gateway.call(
            "POST",
            f"/v1/messages/{message_id}/settle",
            json={"as": "delivered", "reason": "their mail of today says so"},
        )
        assert answer.status == 200, answer
        assert gateway.state_of(message_id) == "settled_delivered"
        assert kinds_of(gateway, peer, message_id) == {EvidenceKind.REFUSED}


async def test_a_late_acknowledgement_with_evidence_still_counts(tmp_path):
    terms = {**BRIEF, "timeout": None}
    async with with_signing_peer(tmp_path, **terms) as (gateway, peer):
        message_id, heard = await sent(gateway, peer)
        await gateway.until_state(message_id, "in_doubt")
        content = peer.acknowledgment(message_id, references_in(heard))
        await peer.post(peer.package(content, signer=envelope_signing("partner")))
        await gateway.until_state(message_id, "acknowledged")
        assert EvidenceKind.ACKNOWLEDGMENT in kinds_of(gateway, peer, message_id)


async def test_the_signature_is_by_the_certificate_of_the_agreement(tmp_path):
    """And the journal names it by its fingerprint."""
    async with with_signing_peer(tmp_path) as (gateway, peer):
        message_id, heard = await sent(gateway, peer)
        content = peer.acknowledgment(message_id, references_in(heard))
        await peer.post(peer.package(content, signer=envelope_signing("partner")))
        await gateway.until_state(message_id, "acknowledged")
        found = gateway.store.snapshot().list_evidence(message_id)
        kept = {one.kind: one.signer for one in found}
        assert kept[EvidenceKind.ACKNOWLEDGMENT] == fingerprint_of("partner")
        assert kept[EvidenceKind.MESSAGE] == fingerprint_of("seller")


def fingerprint_of(name):
    """Of a certificate, as the store has it."""
    return certificate_of(name).fingerprint(SHA256()).hex()


async def test_an_error_without_its_signature_changes_nothing(tmp_path):
    """Where all is signed, nobody else ends a message (R-30)."""
    async with with_signing_peer(tmp_path) as (gateway, peer):
        message_id, _ = await sent(gateway, peer)
        error = (
            '<eb:ErrorList eb:version="2.0" SOAP:mustUnderstand="1" eb:highestSeverity="Error">'
            '<eb:Error eb:errorCode="Unknown" eb:severity="Error"/></eb:ErrorList>'
        )
        await peer.say_signal("MessageError", ref=message_id, blocks=error)
        row = await gateway.until_row(Event.SIGNATURE_REFUSED)
        assert row.message_id == message_id
        assert gateway.state_of(message_id) == "sending"
