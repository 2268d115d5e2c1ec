"""What a gateway answers to packages of ebMS 2.0 that come over HTTP."""

import pytest
from packages import Parcel
from peer_ebms2 import ACK_REQUESTED, ELIMINATED, PLAIN_TYPE, SOAP, TO_PARTY, read, with_peer
from two_parties import SELLER, submit

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-0001@a.example.com"
TWO_FLAGS = {
    "OnceAndOnlyOnce": {"eliminated": ELIMINATED, "blocks": ACK_REQUESTED},
    "AtMostOnce": {"eliminated": ELIMINATED, "blocks": ""},
    "BestEffort": {"eliminated": "", "blocks": ""},
}


@pytest.mark.statement("E2-65")
@pytest.mark.statement("E2-68")
async def test_an_acknowledgement_goes_from_party_to_party(tmp_path):
    """By a POST of its own; the names are swapped, and what it is about is named twice."""
    async with with_peer(tmp_path) as (gateway, peer):
        reply = await peer.say_business(M)
        assert (reply.status, reply.body) == (204, b"")
        ack = await peer.hear("Acknowledgment")
        assert (ack.parties("From"), ack.parties("To")) == ([SELLER], [peer.party])
        assert (ack.text("CPAId"), ack.text("ConversationId")) == (peer.agreement, "conv-1")
        assert ack.body.count(f"<eb:RefToMessageId>{M}<".encode()) == 2
        assert f'SOAP:actor="{TO_PARTY}"'.encode() in ack.body
        assert b"DuplicateElimination" not in ack.body
        await gateway.until_handed_over(M)


@pytest.mark.statement("E2-70")
async def test_a_repeat_gets_the_first_response_and_is_not_delivered(tmp_path):
    """Byte for byte."""
    async with with_peer(tmp_path) as (gateway, peer):
        parcel = peer.parcel(M)
        await peer.post(parcel)
        first = await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        await peer.post(parcel)
        assert (await peer.hear("Acknowledgment")).body == first.body
        assert gateway.inbox_ids() == [M]


@pytest.mark.statement("E2-71")
async def test_elimination_alone_is_silent(tmp_path):
    """Handed over once, acknowledged never."""
    async with with_peer(tmp_path, delivery_semantics="AtMostOnce", retries=None) as pair:
        gateway, peer = pair
        parcel = peer.parcel(M, **TWO_FLAGS["AtMostOnce"])
        await peer.post(parcel)
        await gateway.until_handed_over(M)
        await peer.post(parcel)
        await gateway.until_row(Event.DUPLICATE_ELIMINATED)
        assert gateway.inbox_ids() == [M]
        assert not peer.has_unheard()


@pytest.mark.statement("E2-72")
async def test_a_header_without_both_is_delivered_as_often_as_it_comes(tmp_path):
    async with with_peer(tmp_path, delivery_semantics="BestEffort", retries=None) as pair:
        gateway, peer = pair
        parcel = peer.parcel(M, **TWO_FLAGS["BestEffort"])
        await peer.post(parcel)
        await peer.post(parcel)
        await gateway.until(lambda: gateway.inbox_ids() == [M, M])
        assert not peer.has_unheard()


@pytest.mark.statement("E2-73")
async def test_at_least_once_is_acknowledged_for_each_copy_and_delivered_once(tmp_path):
    """No header asks for elimination; what is acknowledged is eliminated all the same (R-29)."""
    async with with_peer(tmp_path, delivery_semantics="AtLeastOnce") as (gateway, peer):
        parcel = peer.parcel(M, eliminated="")
        await peer.post(parcel)
        await peer.post(parcel)
        await peer.hear_several("Acknowledgment", 2)
        await gateway.until_handed_over(M)
        await submit(gateway, peer.party, service="urn:services:Ordering")
        ours = await peer.hear("NewOrder")
        assert b"AckRequested" in ours.body
        assert b"DuplicateElimination" not in ours.body


@pytest.mark.parametrize("said", ["AtMostOnce", "BestEffort"])
async def test_a_header_that_asks_for_less_than_was_agreed_is_inconsistent(tmp_path, said):
    """Told to the agreement's partner, and nothing is stored."""
    async with with_peer(tmp_path) as (gateway, peer):
        await peer.say_business(M, **TWO_FLAGS[said])
        error = await peer.hear("MessageError")
        assert error.attribute("Error", "errorCode") == "Inconsistent"
        assert "AckRequested" in (error.attribute("Error", "location") or "")
        assert (error.ref, error.parties("To")) == (M, [peer.party])
        assert gateway.inbox_ids() == []


@pytest.mark.statement("E2-63")
async def test_with_sync_reply_the_acknowledgement_is_the_answer(tmp_path):
    sync = (
        '<eb:SyncReply eb:version="2.0" SOAP:mustUnderstand="1"'
        ' SOAP:actor="http://schemas.xmlsoap.org/soap/actor/next"/>'
    )
    async with with_peer(tmp_path, sync_reply_mode="mshSignalsOnly") as (_, peer):
        reply = await peer.say_business(M, blocks=ACK_REQUESTED + sync)
        assert (reply.status, reply.headers["content-type"]) == (200, PLAIN_TYPE)
        assert (read(reply.body).kind, read(reply.body).ref) == ("Acknowledgment", M)


@pytest.mark.statement("E2-66")
@pytest.mark.parametrize("mode", ["none", "signalsOnly"])
async def test_sync_reply_against_the_agreement_is_inconsistent(tmp_path, mode):
    sync = (
        '<eb:SyncReply eb:version="2.0" SOAP:mustUnderstand="1"'
        ' SOAP:actor="http://schemas.xmlsoap.org/soap/actor/next"/>'
    )
    async with with_peer(tmp_path, sync_reply_mode=mode) as (_, peer):
        reply = await peer.say_business(M, blocks=ACK_REQUESTED + (sync if mode == "none" else ""))
        error = read(reply.body) if mode == "none" else await peer.hear("MessageError")
        assert error.attribute("Error", "errorCode") == "Inconsistent"


# --- Faults --------------------------------------------------------------------------------------


def envelope(inside: str, namespace: str = SOAP) -> bytes:
    return f'<S:Envelope xmlns:S="{namespace}">{inside}</S:Envelope>'.encode()


UNKNOWN_BLOCK = '<S:Header><x:X xmlns:x="urn:x" S:mustUnderstand="1"/></S:Header><S:Body/>'


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"<SOAP", "SOAP:Client"),
        (b'<!DOCTYPE a><a xmlns="urn:a"/>', "SOAP:Client"),
        (envelope("<S:Header/><S:Body/>"), "SOAP:Client"),
        (envelope("<S:Body/>", "http://www.w3.org/2003/05/soap-envelope"), "SOAP:VersionMismatch"),
        (envelope(UNKNOWN_BLOCK), "SOAP:MustUnderstand"),
    ],
    ids=["no XML", "doctype", "no message", "another SOAP", "not understood"],
)
async def test_what_no_message_can_answer_is_answered_by_a_fault(tmp_path, body, code):
    """Status 500, in the answer; nothing is stored, and nothing is posted anywhere."""
    async with with_peer(tmp_path) as (gateway, peer):
        reply = await peer.post(Parcel(PLAIN_TYPE, body))
        assert (reply.status, reply.headers["content-type"]) == (500, PLAIN_TYPE)
        said, text = read(reply.body).fault
        assert said == code
        assert "expected" in text
        assert len(gateway.rows(Event.REJECTED)) == 1
        assert not peer.has_unheard()


async def test_a_broken_package_is_answered_by_a_fault(tmp_path):
    """Its Content-Type says that it is one, and of which form."""
    async with with_peer(tmp_path) as (_, peer):
        broken = 'multipart/related; type="text/xml"; boundary="b"; start="<a@b>"'
        for content_type in (broken, 'multipart/related; type="text/xml"'):
            reply = await peer.post(Parcel(content_type, b"--c\r\n\r\n"))
            assert (reply.status, read(reply.body).fault[0]) == (500, "SOAP:Client")


async def test_a_cpa_that_nobody_knows_is_named_in_a_fault(tmp_path):
    """No address is known to which an error could go (IR-30)."""
    async with with_peer(tmp_path) as (_, peer):
        reply = await peer.say_business(M, agreement="cpa-other", from_party="urn:duns:999999999")
        assert reply.status == 500
        code, text = read(reply.body).fault
        assert (code, "'cpa-other'" in text) == ("SOAP:Client", True)


@pytest.mark.statement("E2-58")
async def test_a_wrong_signal_is_never_answered_by_a_fault(tmp_path):
    """Only what cannot be told from a message is; an error about an error would never end."""
    async with with_peer(tmp_path) as (_, peer):
        reply = await peer.say_signal("MessageError", ref=M)
        assert (reply.status, reply.body) == (400, b"")
        assert not peer.has_unheard()
