"""What partners are told that ask: availability, status, cancels, and the response again."""

from typing import Any

import pytest
from asking import ask, report_of
from packages import stamp
from peer import Arrival, Peer
from running_gateway import OUR_PARTY, RunningGateway, running

from onceonly.message.event import Event
from onceonly.message.identity import MessageKey
from onceonly.message.instant import to_datetime
from onceonly.protocol.sending import Exposure

pytestmark = pytest.mark.anyio

M = "m-0001@a.example.com"
REPORTS: dict[str, Any] = {"reports_processing": True}


async def received(gateway: RunningGateway, peer: Peer, message_id: str = M) -> Arrival:
    """A message in the inbox, and its acknowledgement."""
    await peer.send(message_id, 1)
    acknowledgement = await peer.hear("Acknowledgement")
    await gateway.until(lambda: message_id in gateway.inbox_ids())
    return acknowledgement


async def process(gateway: RunningGateway, state: str, message_id: str = M) -> int:
    path = f"/v1/inbox/{message_id}/processing"
    return (await gateway.call("POST", path, json={"processing": state})).status


# --- Ping ----------------------------------------------------------------------------------------


@pytest.mark.statement("S4-15")
async def test_a_ping_is_answered_with_availability(gateway, peer):
    """Running, and able to take messages; matched by the MessageId of the Ping."""
    ping_id, reply = await ask(peer, "Ping")
    pong = await peer.hear("Pong")
    assert (reply.status, pong.ref) == (204, ping_id)
    assert report_of(pong)["accepted"] == "true"
    await gateway.everything_said()
    assert gateway.rows(Event.INQUIRY_RECEIVED, Event.REPORT_SENT)[-1].outcome == "accepted"


@pytest.mark.statement("S4-15")
async def test_a_draining_gateway_says_that_it_takes_no_messages(gateway, peer):
    """Until the operator takes it back; what comes all the same is taken."""
    await gateway.call("POST", "/v1/drain", json={"draining": True})
    assert (await gateway.get("/healthz"))["draining"] is True
    await ask(peer, "Ping")
    assert report_of(await peer.hear("Pong"))["accepted"] == "false"
    await gateway.call("POST", "/v1/drain", json={"draining": False})
    await ask(peer, "Ping")
    assert report_of(await peer.hear("Pong"))["accepted"] == "true"


@pytest.mark.statement("S4-15", ruling="R-28")
async def test_a_full_disk_takes_no_messages(gateway, peer):
    """It would have to refuse them, so it says so before they are sent."""
    gateway.store.is_full = True
    await ask(peer, "Ping")
    assert report_of(await peer.hear("Pong"))["accepted"] == "false"
    gateway.store.is_full = False


# --- Status --------------------------------------------------------------------------------------


@pytest.mark.statement("S4-21")
async def test_an_unknown_message_is_not_recognized(gateway, peer):
    """No record of the message; nobody is bound by that."""
    await ask(peer, "StatusRequest", M)
    answer = report_of(await peer.hear("StatusResponse"))
    assert (answer["status"], answer["about"]) == ("NotRecognized", M)
    assert "receivedAt" not in answer


@pytest.mark.statement("S4-22")
@pytest.mark.statement("S4-23")
@pytest.mark.statement("S1-07")
async def test_a_known_message_is_acknowledged_again_with_its_status(gateway, peer):
    """The same acknowledgement, when it was received, and "not known" of the work."""
    first = await received(gateway, peer)
    await ask(peer, "StatusRequest", M)
    again = await peer.hear("Acknowledgement")
    answer = report_of(await peer.hear("StatusResponse"))
    assert again.body == first.body
    assert (answer["status"], answer["processing"]) == ("Received", "not-known")
    entry = gateway.store.snapshot().find_inbound(MessageKey(peer.party, OUR_PARTY, M))
    assert answer["receivedAt"].startswith(_day(entry.received_at))


def _day(at: int) -> str:
    return to_datetime(at).strftime("%Y-%m-%dT%H:%M:%S")


@pytest.mark.statement("S4-22")
async def test_the_application_s_states_are_told(tmp_path, peer):
    """Not started, in progress, complete: as the application reports them."""
    async with running(tmp_path, peer, terms=REPORTS) as gateway:
        await received(gateway, peer)
        for state, status in (
            ("not-started", "Received"),
            ("in-progress", "Received"),
            ("complete", "Processed"),
        ):
            assert await process(gateway, state) == 200
            await ask(peer, "StatusRequest", M)
            await peer.hear("Acknowledgement")
            answer = report_of(await peer.hear("StatusResponse"))
            assert (answer["status"], answer["processing"]) == (status, state)


@pytest.mark.statement("S4-21", ruling="R-20")
@pytest.mark.parametrize("kind", ["StatusRequest", "CancelRequest", "ResponseRequest"])
async def test_another_partner_s_message_is_nobody_s_business(tmp_path, peer, other_peer, kind):
    """Answered to the letter like a question about a message that nobody sent (R-44)."""
    async with running(tmp_path, peer, other_peer, terms=REPORTS) as gateway:
        await received(gateway, peer)
        answers = []
        for about in (M, "nobodys@b.example.com"):
            await ask(other_peer, kind, about)
            answers.append(report_of(await other_peer.hear()) | {"about": ""})
        assert answers[0] == answers[1]
        assert gateway.inbox_ids() == [M]


@pytest.mark.statement(ruling="R-44")
async def test_a_cancel_takes_no_id_from_another_partner(tmp_path, peer, other_peer):
    """The tombstone is under the asker's own key: the other's message of that id is taken."""
    async with running(tmp_path, peer, other_peer, terms=REPORTS) as gateway:
        await ask(other_peer, "CancelRequest", M)
        assert report_of(await other_peer.hear())["accepted"] == "true"
        await received(gateway, peer)
        assert gateway.inbox_ids() == [M]


@pytest.mark.statement(ruling="R-44")
async def test_a_best_effort_message_is_found_beside_another_partner_s_of_that_id(
    tmp_path, peer, other_peer
):
    """It has no key to be known by, so it is looked for by its parties, not by its id alone."""
    async with running(tmp_path, peer, other_peer, terms=REPORTS) as gateway:
        await peer.send(M, None, semantics="BestEffort")
        await gateway.until(lambda: gateway.inbox_ids() == [M])
        await other_peer.send(M, None, semantics="BestEffort")
        await gateway.until(lambda: gateway.inbox_ids() == [M, M])
        await ask(peer, "StatusRequest", M)
        assert report_of(await peer.hear("StatusResponse"))["status"] != "NotRecognized"


@pytest.mark.statement(ruling="R-44")
async def test_an_asker_under_a_foreign_agreement_is_told_nothing(tmp_path, peer, other_peer):
    """Not even that: whoever names another's agreement makes us post to nobody."""
    async with running(tmp_path, peer, other_peer) as gateway:
        await received(gateway, peer)
        await ask(other_peer, "StatusRequest", M, agreement=peer.agreement)
        await gateway.until_row(Event.SECURITY_EVENT)
        await gateway.everything_said()
        assert not peer.has_unheard()
        assert not other_peer.has_unheard()


@pytest.mark.parametrize("kind", ["Ping", "StatusRequest"])
async def test_a_stranger_is_not_answered(gateway, peer, kind):
    """Ruling R-26: there is no agreed address to answer to."""
    about = "" if kind == "Ping" else M
    _, reply = await ask(peer, kind, about, sender_uri="http://stranger.example.com/msh")
    assert reply.status == 204
    await gateway.everything_said()
    assert not peer.has_unheard()
    assert len(gateway.rows(Event.SECURITY_EVENT)) == 1


# --- Cancel --------------------------------------------------------------------------------------


@pytest.mark.statement("S4-26", ruling="R-08")
async def test_a_message_that_never_came_can_be_cancelled_for_ever(gateway, peer):
    """The tombstone refuses the copy that arrives later, also after a restart."""
    await ask(peer, "CancelRequest", M)
    assert report_of(await peer.hear("CancelResponse"))["accepted"] == "true"
    await gateway.restart()
    await peer.send(M, 1)
    assert (await peer.hear("Error")).error_code == "DeliveryFailure"
    assert gateway.inbox_ids() == []
    await ask(peer, "CancelRequest", M)
    assert report_of(await peer.hear("CancelResponse"))["accepted"] == "true"
    await ask(peer, "StatusRequest", M)
    assert report_of(await peer.hear("StatusResponse"))["status"] == "NotRecognized"


@pytest.mark.statement(ruling="R-19")
async def test_a_cancel_from_the_future_is_refused(gateway, peer):
    """Its tombstone would be kept until then; the message itself is taken."""
    await ask(peer, "CancelRequest", M, timestamp=stamp(ago_s=-2 * 86_400))
    assert report_of(await peer.hear("CancelResponse"))["accepted"] == "false"
    await received(gateway, peer)


@pytest.mark.statement("S4-26", ruling="R-08")
async def test_a_message_whose_work_has_not_begun_can_be_cancelled(tmp_path, peer):
    """It leaves the inbox, and the application may not start any more."""
    async with running(tmp_path, peer, terms=REPORTS) as gateway:
        await received(gateway, peer)
        await ask(peer, "CancelRequest", M)
        assert report_of(await peer.hear("CancelResponse"))["accepted"] == "true"
        assert gateway.inbox_ids() == []
        assert gateway.rows(Event.CANCEL_CONFIRMED, message_id=M)
        path = f"/v1/inbox/{M}/processing"
        answer = await gateway.call("POST", path, json={"processing": "in-progress"})
        assert (answer.status, answer.json["error"]["name"]) == (409, "Cancelled")
        answer = await gateway.call("GET", f"/v1/inbox/{M}")
        assert (answer.status, answer.json["error"]["name"]) == (409, "Cancelled")


@pytest.mark.statement("S4-26")
@pytest.mark.parametrize(
    ("terms", "state", "told"),
    [
        (REPORTS, "in-progress", ("Received", "in-progress")),
        (REPORTS, "complete", ("Processed", "complete")),
        ({}, None, ("Received", "not-known")),
    ],
)
async def test_a_cancel_after_the_start_is_refused(tmp_path, peer, terms, state, told):
    """Also where the application does not say whether it has started."""
    async with running(tmp_path, peer, terms=terms) as gateway:
        await received(gateway, peer)
        if state is not None:
            await process(gateway, state)
        await ask(peer, "CancelRequest", M)
        answer = report_of(await peer.hear("CancelResponse"))
        assert answer["accepted"] == "false"
        assert (answer["status"], answer["processing"]) == told
        assert gateway.inbox_ids() == [M]


# --- The response again --------------------------------------------------------------------------


@pytest.mark.statement("S4-32")
async def test_the_stored_response_is_sent_again(gateway, peer):
    """The same bytes as the first time, after the word that it follows."""
    await received(gateway, peer)
    response_id = await gateway.submit(b"<OrderResponse/>", to=peer, ref=M)
    first = await peer.hear("Normal")
    await peer.acknowledge(response_id)
    await gateway.until_state(response_id, "acknowledged")
    await ask(peer, "ResponseRequest", M)
    answer = report_of(await peer.hear("ResponseNotice"))
    assert (answer["accepted"], answer["about"]) == ("true", M)
    assert (await peer.hear("Normal")).body == first.body
    assert gateway.state_of(response_id) == "acknowledged"


@pytest.mark.statement("S4-32")
async def test_a_response_that_was_given_up_for_good_is_not_sent_again(tmp_path, peer):
    """Its application knows that no byte left, and may have acted on it: that stays true (I26)."""
    terms = {"retries": 0, "timeout": 1, "on_exhausted": "fail"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        await received(gateway, peer)
        peer.refuse_connections()
        response_id = await gateway.submit(b"<OrderResponse/>", to=peer, ref=M)
        await gateway.until_state(response_id, "failed")
        await peer.listen()
        await ask(peer, "ResponseRequest", M)
        assert report_of(await peer.hear("ResponseNotice"))["accepted"] == "false"
        assert await gateway.parts.desk.send_copy(response_id) is None
        await gateway.everything_said()
        assert not peer.has_unheard()


@pytest.mark.statement("S4-32")
async def test_a_copy_that_leaves_on_request_is_not_forgotten(tmp_path, peer):
    """A verdict of "no byte ever left" is not to be had any more (I24)."""
    terms = {"timeout": 100, "retries": 1}
    async with running(tmp_path, peer, terms=terms) as gateway:
        await received(gateway, peer)
        peer.refuse_connections()
        response_id = await gateway.submit(b"<OrderResponse/>", to=peer, ref=M)
        await gateway.until_row(Event.TRANSMITTED)
        await peer.listen()
        await ask(peer, "ResponseRequest", M)
        assert report_of(await peer.hear("ResponseNotice"))["accepted"] == "true"
        assert (await peer.hear("Normal")).message_id == response_id
        entry = gateway.parts.store.snapshot().find_outbound(response_id)
        assert entry is not None
        assert entry.state.exposure is Exposure.LEFT


@pytest.mark.statement("S4-32")
async def test_without_a_response_none_is_promised(gateway, peer):
    """Known or not: there is nothing to send again."""
    await received(gateway, peer)
    for about, status in ((M, "Received"), ("m-9@a.example.com", "NotRecognized")):
        await ask(peer, "ResponseRequest", about)
        answer = report_of(await peer.hear("ResponseNotice"))
        assert (answer["accepted"], answer["status"]) == ("false", status)


# --- Reports that nobody asked for ---------------------------------------------------------------


@pytest.mark.statement("S4-22", ruling="R-20")
async def test_a_report_without_a_question_is_counted_and_dropped(gateway, peer):
    """Never answered, whatever it says."""
    _, reply = await ask(peer, "Pong", "q-1@b.example.com")
    assert reply.status == 204
    assert "fits no inquiry" in str(gateway.rows(Event.REPORT_RECEIVED)[0].reason)
    await gateway.everything_said()
    assert not peer.has_unheard()


@pytest.mark.statement("S4-22", ruling="R-12")
async def test_a_message_withheld_for_its_acknowledgement_is_handed_over_by_the_question(
    tmp_path, peer
):
    """The acknowledgement goes out with the status, and with it the reason to withhold it."""
    async with running(tmp_path, peer, terms={"strict_release": True}) as gateway:
        peer.refuse_connections()
        await peer.send(M, 1)
        await gateway.until_row(Event.WITHHELD)
        await peer.listen()
        await ask(peer, "StatusRequest", M)
        await peer.hear("Acknowledgement")
        assert report_of(await peer.hear("StatusResponse"))["status"] == "Received"
        await gateway.until_handed_over(M)


@pytest.mark.statement(ruling="R-12")
async def test_a_message_withheld_is_handed_over_on_an_operators_word(tmp_path, peer):
    """Not before an acknowledgement has left, whatever he says; and once."""
    async with running(tmp_path, peer, terms={"strict_release": True}) as gateway:
        peer.refuse_connections()
        await peer.send(M, 1)
        await gateway.until_row(Event.WITHHELD)
        path = f"/v1/messages/{M.replace('@', '%40')}/resume"
        answer = await gateway.call("POST", path, json={"reason": "they wait for it"})
        assert answer.json["taken_up"] == ["handed over"]
        await gateway.until(lambda: len(gateway.rows(Event.WITHHELD)) == 2)
        assert gateway.inbox_ids() == []
        await peer.listen()
        await gateway.call("POST", path, json={"reason": "they listen again"})
        await peer.hear("Acknowledgement")
        await gateway.until_handed_over(M)
        assert [row.reason for row in gateway.rows(Event.TAKEN_UP)] == [
            "they wait for it",
            "they listen again",
        ]
        again = await gateway.call("POST", path, json={"reason": "once more"})
        assert (again.status, again.json["error"]["name"]) == (409, "NotParked")
        assert gateway.inbox_ids() == [M]
