"""A person's word ends a doubt at the gateway: once, with his name, and nothing leaves (R-49)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from asking import report
from calling import refused
from packages import ORDER
from peer import NO_CONTENT, UNAVAILABLE, Peer
from peer_2001 import Peer2001
from running_gateway import BRIEF, RunningGateway, running
from test_bulk import prepared, results, started, until_done
from test_contained import incidents, slipped
from test_custody import MESSAGE, ONE_TRY, between

from onceonly.message.event import Event
from onceonly.store.contract.entries import Role

__all__ = ["slipped"]

pytestmark = [pytest.mark.anyio, pytest.mark.statement(ruling="R-49")]

TERMS: dict[str, Any] = {"profile": "rm-2001", **BRIEF}
WORDS = ("delivered", "not-delivered")
STATES = {word: f"settled_{word.replace('-', '_')}" for word in WORDS}


@pytest.fixture
async def partner() -> AsyncIterator[Peer2001]:
    """The partner of agreement cpa-ab-1, behind a proxy that answers for it."""
    one = Peer2001()
    await one.listen()
    one.answer_always = UNAVAILABLE
    yield one
    await one.close()


@pytest.fixture
async def open_pair(tmp_path, partner) -> AsyncIterator[RunningGateway]:
    """A gateway that soon gives up, and goes on with the pair."""
    async with running(tmp_path, partner, terms=TERMS) as alive:
        yield alive


async def in_doubt(gateway: RunningGateway, partner: Any, **header: Any) -> str:
    message_id = await gateway.submit(ORDER, to=partner, **header)
    await gateway.until_state(message_id, "in_doubt")
    return message_id


async def back(peer: Peer) -> None:
    """What was sent until now is heard; from now on the peer answers itself."""
    while peer.has_unheard():
        await peer.hear()
    peer.answer_always = NO_CONTENT


async def settle(gateway: RunningGateway, message_id: str, word: str, **more: Any) -> Any:
    body = {"as": word, "reason": "their clerk looked", **more}
    return await gateway.call("POST", f"/v1/messages/{message_id}/settle", json=body)


async def test_a_doubt_says_whether_the_message_can_be_sent_again(open_pair, partner):
    """As a resend would: under rm-2001 nothing but its time is against it."""
    message_id = await in_doubt(open_pair, partner)
    path = f"/v1/messages/{message_id}"
    assert (await open_pair.get(path))["way_on"] == "resend"
    answer = await open_pair.call("POST", f"{path}/resend", json={})
    assert (answer.status, answer.json["state"]) == (200, "sending")
    assert (await open_pair.get(path))["way_on"] is None


@pytest.mark.parametrize("word", WORDS)
async def test_a_doubt_ends_in_every_list_and_count(open_pair, partner, word):
    """With a row that says who and why, one notice, and a journal that holds no more attempts."""
    message_id = await in_doubt(open_pair, partner)
    attempts = len(open_pair.rows(Event.TRANSMITTING))
    answer = await settle(open_pair, message_id, word)
    assert (answer.status, answer.json["state"]) == (200, STATES[word])
    assert answer.json["is_final"] is True
    assert answer.json["is_certain"] is None
    [row] = open_pair.rows(Event.SETTLED)
    assert (row.outcome, row.reason) == (word, "their clerk looked")
    assert row.actor == open_pair.rows(Event.ASKED)[-1].actor
    [notice] = [one for one in open_pair.notices() if one[0] == "SettledByOperator"]
    assert notice[1] == ("Warning" if word == "delivered" else "Error")
    for state, count in (("in_doubt", 0), (STATES[word], 1)):
        page = await open_pair.get(f"/v1/messages?state={state}")
        assert len(page["messages"]) == count
        assert open_pair.store.snapshot().count_by_status()[state] == count
    metrics, _ = open_pair.parts.operations.metrics()
    assert f'onceonly_messages{{status="{STATES[word]}"}} 1.0' in metrics
    await open_pair.restart()
    assert open_pair.state_of(message_id) == STATES[word]
    assert len(open_pair.rows(Event.TRANSMITTING)) == attempts


async def test_what_is_not_in_doubt_is_refused_by_name(open_pair, partner):
    """It says what is possible; without a reason no word counts; nobody knows an unknown one."""
    message_id = await in_doubt(open_pair, partner)
    assert refused(await settle(open_pair, "unknown", "delivered")) == (404, "NotFound")
    for body in ({"reason": "  "}, {"as": "perhaps"}, {"fate": "delivered"}):
        assert refused(await settle(open_pair, message_id, "delivered", **body))[0] == 400
    await settle(open_pair, message_id, "delivered")
    again = await settle(open_pair, message_id, "not-delivered")
    assert refused(again) == (409, "NotSettleable")
    assert "resend it anyway" in again.json["error"]["text"]
    assert len(open_pair.rows(Event.SETTLED)) == 1


async def test_after_not_delivered_the_content_goes_out_under_its_key(open_pair, partner):
    """Without another word; a late acknowledgement of the first then tells an operator."""
    message_id = await in_doubt(open_pair, partner, key="PO-7")
    await settle(open_pair, message_id, "not-delivered")
    path = f"/v1/messages/{message_id}/resend"
    answer = await open_pair.call("POST", path, json={"reason": "as they asked"})
    new = answer.json["resent_as"]
    replayed = await open_pair.submitted(ORDER, to=partner, key="PO-7")
    assert (answer.status, replayed.json["message_id"]) == (200, new)
    await partner.acknowledge_2001(message_id)
    await open_pair.until_state(message_id, "acknowledged")
    page = await open_pair.get("/v1/incidents")
    [reason] = [one["reason"] for one in page["incidents"] if not one["is_trouble"]]
    assert "had called not delivered" in reason
    assert ("AcknowledgedLate", "Warning", "DeliveryFailure") in open_pair.notices()


async def test_after_delivered_it_takes_another_word(open_pair, partner):
    """`anyway`, with a reason."""
    message_id = await in_doubt(open_pair, partner)
    await settle(open_pair, message_id, "delivered")
    path = f"/v1/messages/{message_id}/resend"
    assert refused(await open_pair.call("POST", path, json={})) == (409, "NotResendable")
    anyway = {"anyway": True, "reason": "they looked at the wrong one"}
    answer = await open_pair.call("POST", path, json=anyway)
    assert answer.json["resent_as"] is not None


@pytest.mark.parametrize("word", WORDS)
async def test_a_suspended_pair_stays_so_and_begins_again_at_1(tmp_path, peer, word):
    """Resuming is its own verb; then the next message goes, and the settled one does not."""
    peer.answer_always = UNAVAILABLE
    terms = {**BRIEF, "on_exhausted": "suspend"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        message_id = await in_doubt(gateway, peer)
        later = await gateway.submit(ORDER, to=peer)
        await settle(gateway, message_id, word)
        assert gateway.pair_state(Role.SENDER, peer) == "suspended"
        assert len(gateway.rows(Event.SEQUENCE_RESET)) == 1
        await back(peer)
        await gateway.resume(peer)
        assert (await peer.hear("Normal")).message_id == later
        assert gateway.rows(Event.TRANSMITTING)[-1].sequence_number == 1


async def test_an_answer_of_the_partner_still_counts(tmp_path, peer):
    """It says after the word that it has the message: that is a fact."""
    peer.answer_always = UNAVAILABLE
    async with running(tmp_path, peer, terms={**BRIEF, "on_exhausted": "fail"}) as gateway:
        message_id = await in_doubt(gateway, peer)
        await back(peer)
        await settle(gateway, message_id, "delivered")
        await gateway.call("POST", f"/v1/messages/{message_id}/status-request")
        await report(peer, await peer.hear("StatusRequest"), status="Received")
        await gateway.until_state(message_id, "acknowledged")


async def test_a_question_that_is_open_ends(tmp_path, peer):
    """A cancel that is confirmed later sends no new version any more."""
    peer.answer_always = UNAVAILABLE
    async with running(tmp_path, peer, terms={**BRIEF, "on_exhausted": "fail"}) as gateway:
        message_id = await in_doubt(gateway, peer)
        await back(peer)
        path = f"/v1/messages/{message_id}"
        await gateway.call("POST", f"{path}/resend", json={"new_version": True})
        asked = await peer.hear("CancelRequest")
        await settle(gateway, message_id, "not-delivered")
        assert (await gateway.get(path))["recovery"]["phase"] == "at-rest"
        await report(peer, asked, accepted="true", status="NotRecognized")
        await gateway.until_state(message_id, "cancelled")
        assert (await gateway.get(path))["resent_as"] is None


async def test_the_incident_of_a_parked_message_is_resolved(slipped, peer):
    """Nobody has to take it up any more (R-43)."""
    name = "m-1@b.example.com"
    await slipped.submit(b"<a/>", to=peer, message_id=name)
    await slipped.until_state(name, "in_doubt")
    await slipped.until_row(Event.INTERNAL_ERROR)
    assert incidents(slipped) == [name]
    await settle(slipped, name, "not-delivered")
    assert incidents(slipped) == []


async def test_a_word_about_what_is_carried_for_others_stays_here(tmp_path):
    """Its From Party was told of the doubt by a notice, and is not told of the word."""
    async with between(tmp_path, ONE_TRY) as ends:
        await ends.send()
        await ends.relay.until_state(MESSAGE, "in_doubt")
        await ends.relay.until_row(Event.FAILURE_NOTICE_SENT)
        await settle(ends.relay, MESSAGE, "not-delivered")
        await ends.relay.restart()
        assert len(ends.relay.rows(Event.FAILURE_NOTICE_SENT)) == 1
        assert ends.relay.state_of(MESSAGE) == "settled_not_delivered"


async def test_doubts_are_settled_in_bulk(open_pair, partner):
    """A frozen selection; what has an end by then is skipped, and the reason names the action."""
    names = [await in_doubt(open_pair, partner) for _ in range(3)]
    number = (await prepared(open_pair, "settle-delivered", state="in_doubt"))["number"]
    await settle(open_pair, names[1], "not-delivered")
    await started(open_pair, number, 3, by="Ann")
    ended = await until_done(open_pair, number)
    assert (ended["done"], ended["skipped"]) == (2, 1)
    assert (await results(open_pair, number))[1]["error"] == "NotSettleable"
    said = [row for row in open_pair.rows(Event.SETTLED) if row.outcome == "delivered"]
    assert [row.message_id for row in said] == [names[0], names[2]]
    assert all(f"(bulk action {number})" in (row.reason or "") for row in said)
    assert {row.actor for row in said} == {ended["started_by"]}
    assert ended["started_by"].startswith("Ann (")
