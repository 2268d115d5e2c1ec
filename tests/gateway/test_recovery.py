"""The rules of levels 2 to 5, from the sender's side: what is asked, and what answers do."""

from copy import deepcopy
from typing import Any

import pytest
from asking import report
from peer import Arrival, Peer, bodies
from running_gateway import BRIEF, NEVER_S, RunningGateway, running

from onceonly.message.event import Event
from onceonly.store.contract.entries import Role

pytestmark = pytest.mark.anyio

ORDER = b"<Order/>"
GIVES_UP: dict[str, Any] = {
    "timeout": 1,
    "retries": 0,
    "retry_interval": NEVER_S,
    "inquire_status": True,
}
"""Gives up after 20 ms, then asks; an unanswered question is not asked again."""

LATE: dict[str, Any] = {
    "timeout": NEVER_S,
    "retries": 0,
    "retry_interval": NEVER_S,
    "response_within": "PT1H",
}
"""The business response is awaited for an hour."""

CLOCK = {"clock_offset_file": "offset"}


async def given_up(gateway: RunningGateway, peer: Peer) -> tuple[str, Arrival]:
    """A message that nobody acknowledged, and the inquiry that follows."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    return message_id, await peer.hear()


async def recovery(gateway: RunningGateway, message_id: str) -> dict[str, Any]:
    found = await gateway.get(f"/v1/messages/{message_id}")
    return {**found["recovery"], "response": found["response"]["state"]}


async def until_phase(gateway: RunningGateway, message_id: str, phase: str) -> None:
    snapshot = gateway.store.snapshot
    await gateway.until(lambda: snapshot().get_recovery(message_id).phase.value == phase)


async def until_at_rest(gateway: RunningGateway, message_id: str) -> None:
    await until_phase(gateway, message_id, "at-rest")


# --- Level 2 -------------------------------------------------------------------------------------


@pytest.mark.statement("S4-14")
@pytest.mark.statement("S4-16")
@pytest.mark.statement("S4-17")
@pytest.mark.parametrize(
    "terms", [{"level": 2, "time_to_live": "P29D"}, {"ping_before_send_above": 0}]
)
async def test_a_ping_goes_before_the_message(tmp_path, peer, terms):
    """The message follows at once after a good answer."""
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        ping = await peer.hear("Ping")
        assert not gateway.rows(Event.TRANSMITTING)
        await report(peer, ping)
        assert (await peer.hear("Normal")).message_id == message_id
        await peer.acknowledge(message_id)
        await gateway.until_state(message_id, "acknowledged")
        assert [row.event for row in gateway.rows(Event.PING_SENT, Event.PONG_RECEIVED)] == [
            Event.PING_SENT,
            Event.PONG_RECEIVED,
        ]


@pytest.mark.statement("S4-16")
@pytest.mark.parametrize("is_answered", [True, False])
async def test_without_a_good_answer_the_message_never_leaves(tmp_path, peer, is_answered):
    """After the last Ping the application is told with severity Error: no byte left."""
    terms = {**BRIEF, "retries": 1, "ping_before_send_above": 0}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        for _ in range(2):
            ping = await peer.hear("Ping")
            if is_answered:
                await report(peer, ping, accepted="false")
        await gateway.until(gateway.notices)
        assert gateway.notices() == [("DeliveryFailure", "Error", "DeliveryFailure")]
        assert peer.heard("Normal") == []
        assert gateway.state_of(message_id) == "sending"
        assert gateway.pair_state(Role.SENDER, peer) == "suspended"


async def test_small_messages_go_without_a_ping(tmp_path, peer):
    """Level 2 can be kept for large payloads."""
    async with running(tmp_path, peer, terms={"ping_before_send_above": len(ORDER)}) as gateway:
        await gateway.submit(ORDER, to=peer)
        sent = await peer.hear("Normal")
        await peer.acknowledge(sent.message_id)
        await gateway.submit(ORDER + b" ", to=peer)
        assert (await peer.hear()).kind == "Ping"


async def test_a_ping_that_was_under_way_at_a_stop_is_sent_again(tmp_path, peer):
    """The message waits for its answer after the restart as before."""
    async with running(tmp_path, peer, terms={"ping_before_send_above": 0}) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        first = await peer.hear("Ping")
        await gateway.restart()
        second = await peer.hear("Ping")
        await report(peer, first)
        await report(peer, second)
        assert (await peer.hear("Normal")).message_id == message_id
        assert len(peer.heard("Ping")) == 2


# --- Level 3 -------------------------------------------------------------------------------------


@pytest.mark.statement("S4-18")
@pytest.mark.statement("S4-20")
async def test_after_giving_up_the_partner_is_asked_about_the_message(tmp_path, peer):
    """The StatusRequest names the message, and none goes out before."""
    async with running(tmp_path, peer, terms={**BRIEF, "inquire_status": True}) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear_several("Normal", 3)
        asked = await peer.hear("StatusRequest")
        assert asked.ref == message_id
        assert asked.text("Header/TPAInfo/TPAId") == peer.agreement
        assert gateway.rows(Event.EXHAUSTED, Event.INQUIRY_SENT)[0].event is Event.EXHAUSTED


@pytest.mark.statement("S4-22")
@pytest.mark.parametrize("processing", ["not-started", "in-progress", "complete", "not-known"])
async def test_received_completes_the_message(tmp_path, peer, processing):
    """The acknowledgement was lost, not the message: the pair goes on."""
    async with running(tmp_path, peer, terms=GIVES_UP) as gateway:
        message_id, asked = await given_up(gateway, peer)
        status = "Processed" if processing == "complete" else "Received"
        await report(peer, asked, status=status, processing=processing)
        await gateway.until_state(message_id, "acknowledged")
        assert gateway.pair_state(Role.SENDER, peer) == "open"
        assert gateway.open_incidents() == []
        found = await recovery(gateway, message_id)
        assert (found["phase"], found["status"], found["processing"]) == (
            "at-rest",
            status,
            processing,
        )


@pytest.mark.statement("S4-24")
async def test_by_rule_the_original_is_sent_again(tmp_path, peer):
    """Same id, same number, same bytes."""
    terms = {**GIVES_UP, "when_not_received": "resend"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id, asked = await given_up(gateway, peer)
        await report(peer, asked, status="NotRecognized")
        assert (await peer.hear("Normal")).message_id == message_id
        assert len(bodies(peer.heard("Normal"))) == 1
        await peer.acknowledge(message_id)
        await gateway.until_state(message_id, "acknowledged")


@pytest.mark.statement("S4-25", ruling="R-21")
async def test_by_rule_a_new_version_follows_the_confirmed_cancel(tmp_path, peer):
    """New id, same content; not before the receiver has confirmed that the old one is gone."""
    terms = {**GIVES_UP, "when_not_received": "new-version"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id, asked = await given_up(gateway, peer)
        await report(peer, asked, status="NotRecognized")
        cancel = await peer.hear("CancelRequest")
        assert (cancel.ref, gateway.state_of(message_id)) == (message_id, "in_doubt")
        await report(peer, cancel)
        again = await peer.hear("Normal")
        assert again.message_id != message_id
        assert (again.payloads, again.number) == ([ORDER], "000000001")
        assert gateway.state_of(message_id) == "cancelled"
        assert (await recovery(gateway, message_id))["replaced_by"] == again.message_id
        await peer.acknowledge(again.message_id)
        await gateway.until_state(again.message_id, "acknowledged")


@pytest.mark.statement("S4-26", ruling="R-08")
async def test_by_rule_the_message_is_cancelled_and_the_pair_goes_on(tmp_path, peer):
    """The doubt is over, so the next message has its turn."""
    terms = {**GIVES_UP, "when_not_received": "cancel"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id, asked = await given_up(gateway, peer)
        following = await gateway.submit(b"<Next/>", to=peer)
        await report(peer, asked, status="NotRecognized")
        await report(peer, await peer.hear("CancelRequest"))
        assert (await peer.hear("Normal")).message_id == following
        assert gateway.state_of(message_id) == "cancelled"


@pytest.mark.statement("S4-27")
async def test_by_rule_nothing_is_done_but_wait(tmp_path, peer):
    """The message stays in doubt, and a late acknowledgement still counts."""
    async with running(tmp_path, peer, terms=GIVES_UP) as gateway:
        message_id, asked = await given_up(gateway, peer)
        await report(peer, asked, status="NotRecognized")
        await until_at_rest(gateway, message_id)
        assert gateway.state_of(message_id) == "in_doubt"
        await peer.acknowledge(message_id)
        await gateway.until_state(message_id, "acknowledged")


@pytest.mark.statement("S4-19")
@pytest.mark.statement("S4-28")
async def test_level_4_pings_before_the_message_and_recovers_after_it(tmp_path, peer):
    """The whole trace: Ping, message, given up, Ping, status, acknowledged."""
    # The Timeout is also the wait for a Pong: long enough for one on a busy machine.
    brief = {"timeout": 100, "retries": 1, "retry_interval": 100}
    terms = {**brief, "level": 4, "time_to_live": "P1D", "ping_before_inquiry": True}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await report(peer, await peer.hear("Ping"))
        await peer.hear_several("Normal", 2)
        await report(peer, await peer.hear("Ping"))
        asked = await peer.hear("StatusRequest")
        await report(peer, asked, status="Received", processing="not-known")
        await gateway.until_state(message_id, "acknowledged")


@pytest.mark.statement("S4-20", ruling="R-21")
async def test_questions_without_an_answer_end_with_an_incident(tmp_path, peer):
    """Asked `inquiries` times and no more."""
    terms = {**GIVES_UP, "retry_interval": 1, "inquiries": 2}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        await peer.hear_several("StatusRequest", 2)
        await until_at_rest(gateway, message_id)
        await gateway.everything_said()
        assert len(peer.heard("StatusRequest")) == 2
        reasons = [one["reason"] for one in (await gateway.get("/v1/incidents"))["incidents"]]
        assert any("StatusRequest" in reason for reason in reasons)
        await gateway.resume(peer)
        assert (await gateway.get("/v1/incidents"))["incidents"] == []


async def test_an_acknowledgement_ends_the_questions(tmp_path, peer):
    """It is the answer to all of them."""
    async with running(tmp_path, peer, terms={**GIVES_UP, "retry_interval": 1}) as gateway:
        message_id, _ = await given_up(gateway, peer)
        await peer.acknowledge(message_id)
        await gateway.until_state(message_id, "acknowledged")
        await until_at_rest(gateway, message_id)


async def test_a_restart_asks_again(tmp_path, peer):
    """What was asked may have been lost; the answer to the earlier question is not awaited."""
    async with running(tmp_path, peer, terms=GIVES_UP) as gateway:
        message_id, _ = await given_up(gateway, peer)
        await gateway.restart()
        asked = await peer.hear("StatusRequest")
        await report(peer, asked, status="Received", processing="not-known")
        await gateway.until_state(message_id, "acknowledged")


async def test_an_answer_that_comes_after_a_restart_fits_the_last_question(tmp_path, peer):
    """The id of the last inquiry is durable (an operator's is not asked again)."""
    async with running(tmp_path, peer) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        await gateway.until_row(Event.TRANSMITTED)
        await gateway.call("POST", f"/v1/messages/{message_id}/status-request")
        asked = await peer.hear("StatusRequest")
        await gateway.restart()
        await report(peer, asked, status="NotRecognized")
        found = await recovery(gateway, message_id)
        assert found["status"] == "NotRecognized"


@pytest.mark.statement("S4-22", ruling="R-20")
@pytest.mark.parametrize("wrong", ["agreement's partner", "inquiry", "message", "kind"])
async def test_a_report_that_does_not_fit_is_dropped(tmp_path, peer, other_peer, wrong):
    """It must refer to our inquiry, be about its message, and come from its partner."""
    async with running(tmp_path, peer, other_peer, terms=GIVES_UP) as gateway:
        message_id, asked = await given_up(gateway, peer)
        said = {"status": "Received", "processing": "not-known"}
        if wrong == "agreement's partner":
            await report(other_peer, asked, **said)
        elif wrong == "inquiry":
            await report(peer, _under_id(asked, "q-9@a.example.com"), **said)
        elif wrong == "message":
            await report(peer, asked, about="another@a.example.com", **said)
        else:
            await report(peer, _of_kind(asked, "CancelRequest"))
        assert gateway.state_of(message_id) == "in_doubt"
        [row] = gateway.rows(Event.REPORT_RECEIVED)
        assert "fits no inquiry" in str(row.reason)


def _under_id(asked: Arrival, message_id: str) -> Arrival:
    document = deepcopy(asked.document)
    [element] = [one for one in document.iter() if one.tag.endswith("}MessageId")]
    element.text = message_id
    return asked._replace(document=document)


def _of_kind(asked: Arrival, kind: str) -> Arrival:
    document = deepcopy(asked.document)
    document.attrib["MessageType"] = kind
    return asked._replace(document=document)


# --- Level 5 -------------------------------------------------------------------------------------


async def overdue(gateway: RunningGateway, peer: Peer) -> tuple[str, Arrival]:
    """A message whose response is late, and the status request that follows two hours on."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(message_id)
    await gateway.until_state(message_id, "acknowledged")
    (gateway.configuration.path.parent / "offset").write_text("7200", "ascii")
    await gateway.parts.desk.sweep()
    return message_id, await peer.hear("StatusRequest")


@pytest.mark.statement("S4-30")
@pytest.mark.statement("S4-31")
async def test_a_late_response_leads_to_an_inquiry(tmp_path, peer):
    """Its time is apart from that of the acknowledgement, which came."""
    async with running(tmp_path, peer, terms=LATE, drill=CLOCK) as gateway:
        message_id, asked = await overdue(gateway, peer)
        assert asked.ref == message_id
        assert (await recovery(gateway, message_id))["response"] == "overdue"
        await report(peer, asked, status="Received", processing="in-progress")
        await until_at_rest(gateway, message_id)
        assert not peer.has_unheard()


@pytest.mark.statement("S4-32")
async def test_a_late_response_of_finished_work_is_asked_for_again(tmp_path, peer):
    """And when it comes, the wait is over."""
    async with running(tmp_path, peer, terms=LATE, drill=CLOCK) as gateway:
        message_id, asked = await overdue(gateway, peer)
        await report(peer, asked, status="Processed", processing="complete")
        again = await peer.hear("ResponseRequest")
        assert again.ref == message_id
        await report(peer, again)
        await peer.send("r-1@a.example.com", 1, edit=_answering(message_id))
        await gateway.until_handed_over("r-1@a.example.com")
        assert (await recovery(gateway, message_id))["response"] == "received"
        assert gateway.rows(Event.RESPONSE_RECEIVED, message_id=message_id)


@pytest.mark.statement("S4-32", ruling="R-08")
async def test_late_work_that_has_not_begun_is_cancelled_by_rule(tmp_path, peer):
    """Even though the message was acknowledged: the receiver's tombstone is the fact."""
    terms = {**LATE, "when_not_started": "cancel"}
    async with running(tmp_path, peer, terms=terms, drill=CLOCK) as gateway:
        message_id, asked = await overdue(gateway, peer)
        await report(peer, asked, status="Received", processing="not-started")
        await report(peer, await peer.hear("CancelRequest"))
        await gateway.until_state(message_id, "cancelled")
        assert (await recovery(gateway, message_id))["response"] == "not-expected"


@pytest.mark.statement("S4-31")
async def test_an_acknowledged_message_that_is_not_known_any_more_is_not_sent_again(tmp_path, peer):
    """The receiver may have forgotten the id, so that a resend could be a second delivery."""
    terms = {**LATE, "when_not_received": "resend"}
    async with running(tmp_path, peer, terms=terms, drill=CLOCK) as gateway:
        message_id, asked = await overdue(gateway, peer)
        await report(peer, asked, status="NotRecognized")
        await gateway.until(gateway.open_incidents)
        assert gateway.state_of(message_id) == "acknowledged"
        assert len(peer.heard("Normal")) == 1


@pytest.mark.statement("S4-27")
async def test_a_response_in_time_is_not_asked_for(tmp_path, peer):
    """It completes the wait, and its own acknowledgement is all that is sent."""
    terms = {"response_within": "P1D"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        await peer.acknowledge(message_id)
        await peer.send("r-1@a.example.com", 1, edit=_answering(message_id))
        await peer.hear("Acknowledgement")
        await gateway.parts.desk.sweep()
        assert (await recovery(gateway, message_id))["response"] == "received"
        assert not peer.has_unheard()


@pytest.mark.statement("S4-32", ruling="R-20")
async def test_a_response_from_somebody_else_is_none(tmp_path, peer, other_peer):
    """Another partner's message that names ours says nothing about it."""
    terms = {"response_within": "P1D"}
    async with running(tmp_path, peer, other_peer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        await other_peer.send("r-1@c.example.com", 1, edit=_answering(message_id))
        await gateway.until_handed_over("r-1@c.example.com")
        assert (await recovery(gateway, message_id))["response"] == "awaited"


def _answering(message_id: str) -> Any:
    reference = f"<RefToMessageId>{message_id}</RefToMessageId>\n    </MessageData>"
    return lambda document: document.replace("</MessageData>", reference)
