"""Words of our own between two gateways in ebMS 2.0, and what becomes of them elsewhere (§3)."""

import pytest
from peer_ebms2 import with_peer
from running_gateway import NEVER_S
from signed_parties import SIGNED, envelope_signing, with_signing_peer
from two_parties import BUYER, two_parties

from onceonly.message.event import Event
from onceonly.message.message import AckRequested
from onceonly.message.signals import Inquiry, InquiryKind
from onceonly.message.word import changed

pytestmark = pytest.mark.anyio

EBMS = {"profile": "ebms-2.0", "timeout": None, "extensions": True}
ORDERING = {"service": "urn:services:Ordering", "action": "NewOrder"}
QUICK = {"retries": 0, "retry_interval": 25, "inquire_status": True, "inquiries": 1000}
M = "m-0001@a.example.com"


async def delivered(parties) -> str:
    message_id = await parties.submit(**ORDERING)
    await parties.delivered(message_id)
    await parties.seller.until(lambda: message_id in parties.seller.inbox_ids())
    return message_id


async def test_a_message_is_cancelled_before_work_on_it_begins_and_not_after(tmp_path):
    """Confirmed by the receiver, although it was delivered; then refused, with the reason."""
    async with two_parties(tmp_path, **EBMS, reports_processing=True) as parties:
        first, second = await delivered(parties), await delivered(parties)
        path = f"/v1/inbox/{second}/processing"
        await parties.seller.call("POST", path, json={"processing": "in-progress"})
        for message_id in (first, second):
            answer = await parties.buyer.call("POST", f"/v1/messages/{message_id}/cancel")
            assert answer.status == 202, answer
        await parties.buyer.until_state(first, "cancelled")
        await parties.buyer.until_row(Event.REPORT_RECEIVED, 2)
        assert parties.buyer.state_of(second) == "acknowledged"
        assert first not in (await parties.seller.get("/v1/inbox"))["items"]
        said = (await parties.buyer.get(f"/v1/messages/{second}"))["report"]["said"]
        assert said == "cancel refused: Received, in-progress"


async def test_a_new_version_takes_the_place_of_what_was_not_received(tmp_path):
    """Level 3 with when_not_received = "new-version": the old one is taken back first."""
    terms = {**EBMS, **QUICK, "when_not_received": "new-version", "on_exhausted": "suspend"}
    async with two_parties(tmp_path, **terms) as parties:
        parties.seller.store.is_full = True
        message_id = await parties.submit(**ORDERING)
        await parties.buyer.until_row(Event.EXHAUSTED)
        parties.seller.store.is_full = False
        await parties.buyer.until_state(message_id, "cancelled")
        found = (await parties.buyer.get(f"/v1/messages/{message_id}"))["recovery"]
        await parties.delivered(found["replaced_by"])
        await parties.seller.until(lambda: parties.seller.inbox_ids() == [found["replaced_by"]])


async def test_a_response_that_got_lost_is_asked_for(tmp_path):
    """Level 5: the state of the processing tells that the work is done."""
    terms = {**EBMS, "retries": 1, "retry_interval": NEVER_S, "reports_processing": True}
    async with two_parties(tmp_path, **terms, response_within="PT1H") as parties:
        message_id = await delivered(parties)
        path = f"/v1/inbox/{message_id}/processing"
        await parties.seller.call("POST", path, json={"processing": "complete"})
        parties.buyer.store.is_full = True
        response = {"service": "urn:services:Ordering", "action": "Confirm", "ref": message_id}
        answer = await parties.seller.submitted(b"<Yes/>", to=Named(BUYER), **response)
        response_id = answer.json["message_id"]
        await parties.seller.until(
            lambda: parties.seller.rows(Event.TRANSMITTED, message_id=response_id)
        )
        parties.buyer.store.is_full = False

        def make_late(txn):
            txn.put_recovery(message_id, changed(txn.get_recovery(message_id), response_due_at=0))

        await parties.buyer.parts.group.transact(make_late)
        await parties.buyer.parts.desk.sweep()
        await parties.buyer.until(lambda: response_id in parties.buyer.inbox_ids())
        asked = parties.buyer.rows(Event.INQUIRY_SENT, message_id=message_id)
        assert [row.reason for row in asked] == ["StatusRequest", "ResponseRequest"]


class Named:
    """Who a message is for."""

    def __init__(self, party: str) -> None:
        self.party = party


async def test_an_acknowledgement_says_what_was_checked_and_passed_on(tmp_path):
    """Level 0, in a block that others skip."""
    terms = {**EBMS, "ack_status": "structure", "passed_on": True}
    async with with_peer(tmp_path, **terms) as (gateway, peer):
        await peer.say_business(M)
        ack = await peer.hear("Acknowledgment")
        assert b'assurance="structure" passedOn="true"' in ack.body
        assert ack.body.count(b"urn:onceonly:extension") == 1
        await gateway.until_handed_over(M)


# --- Without the key -----------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["CancelRequest", "ResponseRequest"])
async def test_without_the_key_such_a_question_is_not_supported(tmp_path, action):
    """As every Action that the standard does not have; the message stays as it is."""
    async with with_peer(tmp_path) as (gateway, peer):
        await peer.say_business(M)
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        await peer.say_signal(action, ref=M)
        error = await peer.hear("MessageError")
        assert error.attribute("Error", "errorCode") == "NotSupported"
        assert "eb:Action" in (error.attribute("Error", "location") or "")
        assert gateway.inbox_ids() == [M]


@pytest.mark.parametrize("action", ["CancelResponse", "ResponseNotice"])
async def test_without_the_key_an_answer_of_ours_is_refused_and_not_answered(tmp_path, action):
    """R-20."""
    async with with_peer(tmp_path) as (gateway, peer):
        block = '<Report xmlns="urn:onceonly:extension" accepted="true" about="x"/>'
        await peer.say_signal(action, ref=M, blocks=block)
        row = await gateway.until_row(Event.REJECTED)
        assert row.error_code == "NotSupported"
        await gateway.everything_said()
        assert not peer.has_unheard()


async def test_what_has_left_cannot_be_taken_back_without_the_key(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):
        message_id = await gateway.submit(b"<Order/>", to=peer, **ORDERING)
        await peer.hear("NewOrder")
        answer = await gateway.call("POST", f"/v1/messages/{message_id}/cancel")
        assert answer.json["error"]["name"] == "NotCancellable"


# --- Signed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_signed", [True, False])
async def test_a_cancel_needs_the_signature_that_its_message_needs(tmp_path, is_signed):
    """R-30: whoever cannot sign a message cannot take one back."""
    terms = {**SIGNED, "sign": "messages", "ack_requested": "Unsigned"}
    terms |= {"extensions": True, "reports_processing": True}
    async with with_signing_peer(tmp_path, **terms) as (gateway, peer):
        await peer.post(peer.signed(M, b"<Order/>", ack_requested=AckRequested.UNSIGNED))
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        header = peer.acknowledgment(M).header
        signer = envelope_signing("partner") if is_signed else None
        cancel = Inquiry(header, InquiryKind.CANCEL)
        await peer.post(peer.package(cancel, signer=signer))
        if is_signed:
            await peer.hear("CancelResponse")
            await gateway.until_row(Event.CANCEL_CONFIRMED)
        else:
            await gateway.until_row(Event.SIGNATURE_REFUSED)
            await gateway.everything_said()
            assert not gateway.rows(Event.CANCEL_CONFIRMED)
            assert not peer.has_unheard()
