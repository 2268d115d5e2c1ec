"""What the From Party is told when the application will not process its message (seed 001 §1.6)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from packages_2001 import ERROR, SERVICES, element, error_list
from peer import UNAVAILABLE, Manners, Peer
from peer_2001 import Peer2001
from running_gateway import NEVER_S, Answered, RunningGateway, running

from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.steps.notices import RETRIES_MAX
from onceonly.store.contract.entries import OwedNotice

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"
BRIEF: dict[str, Any] = {"timeout": 1, "retries": 2, "retry_interval": 1}


@pytest.fixture
async def peer() -> AsyncIterator[Peer2001]:
    """The partner of agreement cpa-ab-1, listening."""
    partner = Peer2001()
    await partner.listen()
    yield partner
    await partner.close()


@asynccontextmanager
async def handed_over(tmp_path, peer: Peer2001, **terms: Any) -> AsyncIterator[RunningGateway]:
    """A gateway whose application has the message."""
    async with running(tmp_path, peer, terms={"profile": "rm-2001", **terms}) as alive:
        await peer.send_2001(M, conversation="c-9")
        await peer.hear("Acknowledgment")
        await alive.until_handed_over(M)
        yield alive


async def refuse(gateway: RunningGateway, reason: str = "no such article") -> Answered:
    return await gateway.call("POST", f"/v1/inbox/{M}/refuse", json={"reason": reason})


@pytest.mark.statement("S1-52", ruling="R-14")
@pytest.mark.statement("S1-53")
@pytest.mark.statement("S1-54")
@pytest.mark.statement("S1-55")
async def test_the_from_party_is_told_that_its_message_is_refused(tmp_path, peer):
    """From party to party, under the message's own semantics, as a DeliveryFailure."""
    async with handed_over(tmp_path, peer) as gateway:
        assert (await refuse(gateway)).status == 200
        notice = await peer.hear("MessageError")
        said = {
            "Header/From/PartyId": peer.gateway_party,
            "Header/To/PartyId": peer.party,
            "Header/CPAId": "cpa-ab-1",
            "Header/ConversationId": "c-9",
            "Header/Service": f"{SERVICES}MessageError",
            "Header/MessageData/RefToMessageId": M,
            "ErrorList/Error/Description": "no such article",
        }
        assert {path: notice.text(path) for path in said} == said
        assert notice.error_code == "DeliveryFailure"
        quality = notice.find("Header/QualityOfServiceInfo")
        assert quality is not None
        assert quality.attrib["deliverySemantics"] == "OnceAndOnlyOnce"
        sent = await gateway.until_row(Event.FAILURE_NOTICE_SENT)
        assert (sent.attempt, sent.outcome) == (1, "accepted")
        assert [row.reason for row in gateway.rows(Event.APPLICATION_REFUSED)] == [
            "no such article"
        ]


@pytest.mark.statement("S1-52")
async def test_a_notice_is_posted_until_the_transport_takes_it(tmp_path, peer):
    """RetryInterval apart; then nothing is owed any more."""
    async with handed_over(tmp_path, peer, **BRIEF) as gateway:
        peer.answer(UNAVAILABLE, UNAVAILABLE)
        await refuse(gateway)
        await peer.hear_several("MessageError", 3)
        sent = await gateway.until_row(Event.FAILURE_NOTICE_SENT, 3)
        assert (sent.attempt, sent.outcome) == (3, "accepted")
        assert gateway.store.snapshot().list_owed_notices() == []


async def test_a_notice_is_tried_a_bounded_number_of_times(tmp_path, peer):
    """Nobody acknowledges it, so it must end by itself."""
    async with handed_over(tmp_path, peer, **BRIEF) as gateway:
        peer.answer_always = UNAVAILABLE
        await refuse(gateway)
        await gateway.until_row(Event.FAILURE_NOTICE_SENT, RETRIES_MAX + 1)
        await gateway.everything_said()
        assert len(gateway.rows(Event.FAILURE_NOTICE_SENT)) == RETRIES_MAX + 1
        assert gateway.store.snapshot().list_owed_notices() == []


async def test_a_notice_that_is_owed_survives_a_restart(tmp_path, peer):
    """It is durable from the step in which the application said no."""
    async with handed_over(tmp_path, peer) as gateway:
        peer.refuse_connections()
        await refuse(gateway)
        await gateway.until_row(Event.FAILURE_NOTICE_SENT)
        await peer.listen()
        await gateway.restart()
        assert (await peer.hear("MessageError")).ref == M
        await gateway.until(lambda: not gateway.store.snapshot().list_owed_notices())


@pytest.mark.parametrize("is_under_way", [True, False])
async def test_a_newer_notice_outlives_the_end_of_the_one_before(tmp_path, peer, is_under_way):
    """Whether that is on the wire or waits for its next try: the latest word stays owed."""
    async with handed_over(tmp_path, peer, **BRIEF) as gateway:
        if is_under_way:
            peer.answer(Manners.SILENCE)
        else:
            peer.refuse_connections()
        await refuse(gateway)
        await (peer.hear("MessageError") if is_under_way else one_try(gateway))
        newer = changed(owed(gateway)[0], attempts=0, reason="the disk is gone")
        gateway.store.begin().put_owed_notice(newer)
        gateway.store.commit()
        if is_under_way:
            peer.refuse_connections()
            await one_try(gateway)
        assert owed(gateway) == [newer]
        await peer.listen()
        await gateway.everything_said()
        await gateway.restart()
        assert (await peer.hear("MessageError")).text("ErrorList/Error/Description") == newer.reason
        await gateway.until(lambda: not owed(gateway))
        assert not peer.has_unheard()


async def one_try(gateway: RunningGateway) -> None:
    """Wait for the end of a transmission of the notice."""
    await gateway.until_row(Event.FAILURE_NOTICE_SENT)


def owed(gateway: RunningGateway) -> list[OwedNotice]:
    return list(gateway.store.snapshot().list_owed_notices())


async def test_refusing_again_says_nothing_new(tmp_path, peer):
    """One row, one notice; and work on it cannot be reported any more."""
    async with handed_over(tmp_path, peer) as gateway:
        for _ in range(2):
            assert (await refuse(gateway)).status == 200
        await peer.hear("MessageError")
        await gateway.everything_said()
        assert len(gateway.rows(Event.APPLICATION_REFUSED)) == 1
        assert not peer.has_unheard()
        answer = await gateway.call(
            "POST", f"/v1/inbox/{M}/processing", json={"processing": "in-progress"}
        )
        assert (answer.status, answer.json["error"]["name"]) == (409, "Refused")


async def test_what_is_complete_cannot_be_refused(tmp_path, peer):
    """The states only move forward (I44)."""
    async with handed_over(tmp_path, peer) as gateway:
        await gateway.call("POST", f"/v1/inbox/{M}/processing", json={"processing": "complete"})
        answer = await refuse(gateway)
        assert (answer.status, answer.json["error"]["name"]) == (409, "ProcessingWentBack")
        assert gateway.rows(Event.APPLICATION_REFUSED) == []


async def to_party_says(peer: Peer2001, how: str, message_id: str) -> None:
    """Its delivery receipt, or its business response."""
    if how == "response":
        await peer.send_2001("r-1@a.example.com", ref=message_id)
        return
    words = (f"{SERVICES}MessageDeliveryReceipt", "DeliveryReceipt")
    await peer.post(peer.signal_2001(message_id, words, particulars=element(peer.party)))


@pytest.mark.parametrize("how", ["receipt", "response"])
@pytest.mark.parametrize("is_acknowledged", [True, False], ids=["acknowledged", "in flight"])
async def test_a_doubt_does_not_overtake_the_to_party_s_own_word(
    tmp_path, peer, how, is_acknowledged
):
    """Not over a restart either; that its application refuses the message is news (R-39)."""
    async with running(tmp_path, peer, terms=OVER_AN_OWNER) as gateway:
        message_id = await gateway.submit(b"<a/>", to=peer)
        await peer.hear("NewOrder")
        if is_acknowledged:
            await peer.acknowledge_2001(message_id)
            await gateway.until_state(message_id, "acknowledged")
        await to_party_says(peer, how, message_id)
        await gateway.until(lambda: has_arrived(gateway, message_id))
        await gateway.restart()
        await peer.refuse_2001(message_id, "DeliveryFailure", "Warning")
        await gateway.until_row(Event.ERROR_RECEIVED)
        assert (gateway.state_of(message_id), gateway.notices()) == ("acknowledged", [])
        assert gateway.rows(Event.REPEATED_ACK_RECEIVED) == []
        await peer.refuse_2001(message_id, "DeliveryFailure", "Error")
        await gateway.until(lambda: gateway.notices() != [])
        assert gateway.state_of(message_id) == "acknowledged"
        assert gateway.notices() == [("NotProcessed", "Warning", "DeliveryFailure")]


PATIENT = {"timeout": NEVER_S, "retries": 0, "retry_interval": NEVER_S}
OVER_AN_OWNER = {"profile": "rm-2001", "intermediary": "accept"}


def has_arrived(gateway: RunningGateway, message_id: str) -> bool:
    entry = gateway.store.snapshot().find_outbound(message_id)
    return entry is not None and entry.state.has_arrived


async def test_an_acknowledgement_alone_is_overtaken_by_a_doubt(tmp_path, peer):
    """It may be an intermediary's, which says nothing about the way behind it."""
    async with running(tmp_path, peer, terms=OVER_AN_OWNER) as gateway:
        message_id = await gateway.submit(b"<a/>", to=peer)
        await peer.hear("NewOrder")
        await peer.acknowledge_2001(message_id)
        await gateway.until_state(message_id, "acknowledged")
        await peer.refuse_2001(message_id, "DeliveryFailure", "Warning")
        await gateway.until_state(message_id, "in_doubt")


@pytest.mark.statement(ruling="R-39")
@pytest.mark.parametrize("severity", ["Error", "Warning"])
async def test_on_a_direct_link_an_acknowledgement_is_the_last_word(tmp_path, peer, severity):
    """Nobody else can have acknowledged; one notice says that it was not processed, whatever comes.

    The API shows both: acknowledged, and why it is of no use.
    """
    async with running(tmp_path, peer, terms={"profile": "rm-2001"}) as gateway:
        message_id = await gateway.submit(b"<a/>", to=peer)
        await peer.hear("NewOrder")
        await peer.acknowledge_2001(message_id)
        await gateway.until_state(message_id, "acknowledged")
        await peer.refuse_2001(message_id, "DeliveryFailure", severity)
        await gateway.until(lambda: gateway.notices() != [])
        await gateway.restart()
        await peer.refuse_2001(message_id, "DeliveryFailure", severity)
        await gateway.until_row(Event.ERROR_RECEIVED, 2)
        assert gateway.notices() == [("NotProcessed", "Warning", "DeliveryFailure")]
        found = await gateway.get(f"/v1/messages/{message_id}")
        assert (found["state"], found["error_code"]) == ("acknowledged", "DeliveryFailure")


@pytest.mark.statement(ruling="R-39")
@pytest.mark.parametrize("word", ["acknowledgement", "receipt", "failure"])
async def test_a_word_in_a_stranger_s_name_is_an_orphan_and_a_security_event(tmp_path, peer, word):
    """By the Acknowledgment element, or by whom a DeliveryFailure says that it is from."""
    stranger = element("urn:duns:999999999")
    async with running(tmp_path, peer, terms={"profile": "rm-2001", **PATIENT}) as gateway:
        message_id = await gateway.submit(b"<a/>", to=peer)
        await peer.hear("NewOrder")
        if word == "acknowledgement":
            await peer.acknowledge_2001(message_id, particulars=stranger)
        elif word == "receipt":
            words = (f"{SERVICES}MessageDeliveryReceipt", "DeliveryReceipt")
            await peer.post(peer.signal_2001(message_id, words, particulars=stranger))
        else:
            errors = error_list("DeliveryFailure", "Error")
            named = {"particulars": errors, "from_party": "http://stranger.example/msh"}
            await peer.post(peer.signal_2001(message_id, ERROR, **named))
        alarm = await gateway.until_row(Event.SECURITY_EVENT)
        assert alarm.message_id == message_id
        is_told_what_to_do = 'intermediary = "accept"' in (alarm.reason or "")
        assert is_told_what_to_do is (word == "acknowledgement")
        assert (gateway.state_of(message_id), gateway.notices()) == ("sending", [])
        await peer.acknowledge_2001(message_id, particulars=element(peer.party))
        await gateway.until_state(message_id, "acknowledged")


async def test_an_intermediary_that_accepts_acknowledges_in_its_own_name(tmp_path, peer):
    """Where the agreement says that one stands between."""
    async with running(tmp_path, peer, terms={**OVER_AN_OWNER, **PATIENT}) as gateway:
        message_id = await gateway.submit(b"<a/>", to=peer)
        await peer.hear("NewOrder")
        await peer.acknowledge_2001(message_id, particulars=element("urn:duns:888888888"))
        await gateway.until_state(message_id, "acknowledged")


@pytest.mark.statement("S3-25", ruling="R-14")
@pytest.mark.parametrize(
    "terms", [{"strict_release": True}, {"notify_failures": False}], ids=["strict", "agreed"]
)
async def test_notices_over_the_network_can_be_off(tmp_path, peer, terms):
    """The refusal is journalled here all the same."""
    async with handed_over(tmp_path, peer, **terms) as gateway:
        await refuse(gateway)
        await gateway.until_row(Event.APPLICATION_REFUSED)
        await gateway.everything_said()
        assert not peer.has_unheard()


@pytest.mark.statement("S1-52", ruling="R-14")
async def test_rm_2000_has_no_notices(tmp_path):
    """Its text knows none; the message stays acknowledged there."""
    peer = Peer("urn:duns:111111111")
    await peer.listen()
    async with running(tmp_path, peer) as gateway:
        await peer.send(M, 1)
        await peer.hear("Acknowledgement")
        await gateway.until_handed_over(M)
        await refuse(gateway)
        await gateway.everything_said()
        assert not peer.has_unheard()
    await peer.close()
