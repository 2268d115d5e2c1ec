"""What operators and applications may ask for about a message, and what comes of it."""

import pytest
from asking import report
from peer import NO_CONTENT, bodies
from running_gateway import BRIEF, NEVER_S, OUR_PARTY, running

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

ORDER = b"<Order/>"


@pytest.mark.statement("S3-19")
async def test_the_interface_says_how_a_message_stands(tmp_path, peer):
    """Pending, acknowledged or failed, and how often it was sent."""
    async with running(tmp_path, peer, terms={**BRIEF, "on_exhausted": "suspend"}) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        found = await gateway.get(f"/v1/messages/{message_id}")
        assert (found["state"], found["is_final"]) == ("sending", False)
        await gateway.until_state(message_id, "in_doubt")
        found = await gateway.get(f"/v1/messages/{message_id}")
        assert (found["attempt"], found["error_code"]) == (3, "DeliveryFailure")
        await peer.acknowledge(message_id)
        await gateway.until_state(message_id, "acknowledged")
        found = await gateway.get(f"/v1/messages/{message_id}")
        assert (found["is_final"], found["acknowledgment"]["said"]) == (True, None)


@pytest.mark.statement("S4-20")
async def test_an_operator_may_ask_at_any_time_and_sets_no_rule_to_work(tmp_path, peer):
    """The rule says resend; the operator only wanted to know."""
    terms = {"inquire_status": True, "when_not_received": "resend"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        await gateway.until_row(Event.TRANSMITTED)
        answer = await gateway.call("POST", f"/v1/messages/{message_id}/status-request")
        assert answer.status == 202
        asked = await peer.hear("StatusRequest")
        await report(peer, asked, status="NotRecognized")
        found = await gateway.get(f"/v1/messages/{message_id}")
        assert (found["state"], found["recovery"]["status"]) == ("sending", "NotRecognized")
        assert found["report"]["said"] == "NotRecognized"
        assert not peer.has_unheard()


async def test_nothing_is_asked_about_a_message_that_never_left(gateway, peer):
    """Nobody could know of it."""
    await gateway.submit(ORDER, to=peer)
    queued = await gateway.submit(ORDER, to=peer)
    answer = await gateway.call("POST", f"/v1/messages/{queued}/status-request")
    assert (answer.status, answer.json["error"]["name"]) == (409, "NeverSent")
    answer = await gateway.call("POST", "/v1/messages/unknown/status-request")
    assert answer.status == 404


@pytest.mark.statement("S4-26", ruling="R-08")
async def test_a_cancel_is_final_when_the_receiver_confirms_it(gateway, peer):
    """202 until then; the next message waits for its turn meanwhile."""
    message_id = await gateway.submit(ORDER, to=peer)
    following = await gateway.submit(b"<Next/>", to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    answer = await gateway.call("POST", f"/v1/messages/{message_id}/cancel")
    assert (answer.status, answer.json["state"]) == (202, "sending")
    assert answer.json["recovery"]["phase"] == "cancelling"
    await report(peer, await peer.hear("CancelRequest"))
    assert (await peer.hear("Normal")).message_id == following
    found = await gateway.get(f"/v1/messages/{message_id}")
    assert (found["state"], found["is_final"]) == ("cancelled", True)
    again = await gateway.call("POST", f"/v1/messages/{message_id}/cancel")
    assert (again.status, again.json["error"]["name"]) == (409, "NotCancellable")


@pytest.mark.statement("S4-26")
async def test_a_cancel_that_is_refused_says_why(gateway, peer):
    """Work has begun; that it is there completes the message."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    await gateway.call("POST", f"/v1/messages/{message_id}/cancel")
    asked = await peer.hear("CancelRequest")
    await report(peer, asked, accepted="false", status="Received", processing="in-progress")
    await gateway.until_state(message_id, "acknowledged")
    found = await gateway.get(f"/v1/messages/{message_id}")
    assert found["report"]["said"] == "cancel refused: Received, in-progress"
    assert found["recovery"]["phase"] == "at-rest"


@pytest.mark.statement("S4-18")
async def test_a_message_that_is_still_tried_is_not_sent_again_by_hand(gateway, peer):
    """409 until the sender has given up."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    answer = await gateway.call("POST", f"/v1/messages/{message_id}/resend")
    assert (answer.status, answer.json["error"]["name"]) == (409, "NotResendable")


@pytest.mark.statement("S4-24")
@pytest.mark.parametrize("keeps_turn", [True, False])
async def test_an_operator_sends_a_message_again_that_was_given_up(tmp_path, peer, keeps_turn):
    """With a turn by resuming its pair, without one through the queue; its bytes are the same."""
    terms = {"timeout": 1, "retries": 0, "retry_interval": NEVER_S}
    profile = {"on_exhausted": "suspend" if keeps_turn else "fail"}
    async with running(tmp_path, peer, terms={**terms, **profile}) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        await gateway.until_state(message_id, "in_doubt")
        answer = await gateway.call("POST", f"/v1/messages/{message_id}/resend")
        if not keeps_turn:
            assert "SequenceNumber was taken back" in answer.json["error"]["text"]
            return
        assert answer.status == 200
        await peer.hear("Normal")
        assert len(bodies(peer.heard("Normal"))) == 1


@pytest.mark.statement("S4-25")
async def test_an_operator_asks_for_a_new_version(gateway, peer):
    """It goes out once the old one is cancelled for good."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    path = f"/v1/messages/{message_id}/resend"
    answer = await gateway.call("POST", path, json={"new_version": True})
    assert (answer.status, answer.json["recovery"]["wants_new_version"]) == (202, True)
    await report(peer, await peer.hear("CancelRequest"))
    assert (await peer.hear("Normal")).message_id != message_id
    answer = await gateway.call("POST", path, json={"new_version": "yes"})
    assert answer.status == 400


@pytest.mark.statement("S4-15")
@pytest.mark.parametrize(("said", "seen"), [("true", True), ("false", False)])
async def test_an_operator_pings_a_partner(gateway, peer, said, seen):
    """The answer waits for the Pong."""
    path = f"/v1/partners/{peer.party}/ping?wait=20"

    async def answer_ping() -> None:
        await report(peer, await peer.hear("Ping"), accepted=said)

    gateway.parts.tasks.start(answer_ping())
    [found] = (await gateway.call("POST", path)).json["pings"]
    assert (found["available"], found["outcome"]) == (seen, "accepted")
    assert len(gateway.rows(Event.PING_SENT, Event.PONG_RECEIVED)) == 2


async def test_a_ping_that_nobody_answers_says_so(gateway, peer):
    """Silence is one after the wait."""
    path = f"/v1/partners/{peer.party}/ping?wait=0.01"
    [found] = (await gateway.call("POST", path)).json["pings"]
    assert (found["available"], found["outcome"]) == (None, "accepted")


async def test_a_ping_of_somebody_who_is_away_ends_at_once(gateway, peer):
    """No connection is an answer, too."""
    peer.refuse_connections()
    path = f"/v1/partners/{peer.party}/ping?wait=60"
    [found] = (await gateway.call("POST", path)).json["pings"]
    assert (found["available"], found["outcome"]) == (None, "refused")
    assert (await gateway.call("POST", "/v1/partners/urn:duns:9/ping")).status == 404


@pytest.mark.statement("S1-46")
async def test_a_resend_may_take_another_way(tmp_path, peer, other_peer):
    """`resend_to` gets the same bytes; the rules stay."""
    terms = {**BRIEF, "resend_to": other_peer.uri}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        first, second = await peer.hear("Normal"), await other_peer.hear("Normal")
        assert first.body == second.body
        await peer.acknowledge(message_id)
        await gateway.until_state(message_id, "acknowledged")
        ends = {row.endpoint for row in gateway.rows(Event.TRANSMITTING)}
        assert ends == {peer.uri, other_peer.uri}


@pytest.mark.statement("S4-05")
async def test_what_an_acknowledgement_says_is_shown(gateway, peer):
    """Level 0: how far the receiver had looked."""
    message_id = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    status = '  <AckStatus xmlns="urn:onceonly:extension" assurance="content" passedOn="true"/>\n'
    await peer.acknowledge(message_id, errors=status)
    await gateway.until_state(message_id, "acknowledged")
    found = await gateway.get(f"/v1/messages/{message_id}")
    assert found["acknowledgment"]["said"] == "content, passed on"


async def test_partners_show_their_window_and_what_is_in_flight(gateway, peer):
    """A list, whatever the profile."""
    message_id = await gateway.submit(ORDER, to=peer)
    partners = (await gateway.get("/v1/partners"))["partners"]
    [sending] = [one for one in partners if one["role"] == "sender"]
    assert (sending["in_flight"], sending["window"]) == ([message_id], 1)
    assert sending["from"] == OUR_PARTY
    assert peer.answer_always is NO_CONTENT
