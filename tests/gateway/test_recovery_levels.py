"""Levels 3 to 5 between two gateways of ours, in both profiles."""

from pathlib import Path
from typing import Any

import pytest
from chain import DESTINATION, ORIGIN, Chain, Plan, running_chain
from running_gateway import NEVER_S, RunningGateway, form

from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.store.contract.store import Transaction

pytestmark = pytest.mark.anyio

PROFILES = ("rm-2000", "rm-2001")
RULES: dict[str, Any] = {
    "timeout": 25,
    "retries": 0,
    "retry_interval": 25,
    "inquire_status": True,
    "inquiries": 1000,
    "reports_processing": True,
    "on_exhausted": "suspend",
}
"""Gives up after half a second, then asks twice a second until somebody answers."""


def plan(profile: str, **rules: Any) -> Plan:
    return Plan(profile=profile, modes=(), terms={**RULES, **rules})


async def given_up(two: Chain) -> str:
    """A message that left and was not stored, given up; then the destination has space again.

    Had no byte left, there would be no doubt and nothing to ask.
    """
    two.destination.store.is_full = True
    message_id = await two.submit()
    await two.origin.until_row(Event.EXHAUSTED)
    two.destination.store.is_full = False
    return message_id


async def recovery(two: Chain, message_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await two.origin.get(f"/v1/messages/{message_id}"))["recovery"]
    return found


@pytest.mark.statement("S4-24")
@pytest.mark.parametrize(
    ("profile", "turn"), [("rm-2000", "suspend"), ("rm-2001", "suspend"), ("rm-2001", "fail")]
)
async def test_what_was_not_received_is_sent_again(tmp_path: Path, profile: str, turn: str) -> None:
    """Without a turn only where there are no numbers."""
    rules = plan(profile, when_not_received="resend", on_exhausted=turn)
    async with running_chain(tmp_path, rules) as two:
        message_id = await given_up(two)
        await two.until_acknowledged(message_id)
        await two.until_delivered(message_id)
        again = Event.REQUEUED if turn == "fail" else Event.PAIR_RESUMED
        assert two.origin.rows(again)


@pytest.mark.statement("S4-25", ruling="R-21")
@pytest.mark.parametrize("profile", PROFILES)
async def test_a_new_version_takes_the_place_of_what_was_not_received(
    tmp_path: Path, profile: str
) -> None:
    """The old one can never be delivered any more, the new one is, once."""
    async with running_chain(tmp_path, plan(profile, when_not_received="new-version")) as two:
        message_id = await given_up(two)
        await two.until(lambda: two.origin.state_of(message_id) == "cancelled")
        new_id = (await recovery(two, message_id))["replaced_by"]
        await two.until_acknowledged(new_id)
        await two.until_delivered(new_id)


@pytest.mark.statement("S4-14")
@pytest.mark.statement("S4-28")
@pytest.mark.parametrize("profile", PROFILES)
async def test_level_4_sets_up_a_connection_first(tmp_path: Path, profile: str) -> None:
    """Ping, Pong, message, acknowledgement: without an operator."""
    terms = {"level": 4, "timeout": 25, "retries": 1, "retry_interval": 25, "time_to_live": "P1D"}
    rules = {"inquiries": 1000, "when_not_received": "resend", "on_exhausted": "suspend"}
    async with running_chain(
        tmp_path, Plan(profile=profile, modes=(), terms={**terms, **rules})
    ) as two:
        message_id = await two.submit()
        await two.until_acknowledged(message_id)
        first = two.origin.rows(Event.PING_SENT, Event.PONG_RECEIVED, Event.TRANSMITTING)
        assert [row.event for row in first] == [
            Event.PING_SENT,
            Event.PONG_RECEIVED,
            Event.TRANSMITTING,
        ]


@pytest.mark.statement("S4-26", ruling="R-08")
@pytest.mark.parametrize("profile", PROFILES)
async def test_a_message_is_cancelled_before_work_on_it_begins_and_not_after(
    tmp_path: Path, profile: str
) -> None:
    """Confirmed by the receiver, although it was delivered and acknowledged; then refused."""
    async with running_chain(tmp_path, plan(profile)) as two:
        first, second = await two.submit(), await two.submit()
        await two.until_acknowledged(first, second)
        await two.until_delivered(first, second)
        path = f"/v1/inbox/{second}/processing"
        started = await two.destination.call("POST", path, json={"processing": "in-progress"})
        assert started.status == 200
        for message_id in (first, second):
            answer = await two.origin.call("POST", f"/v1/messages/{message_id}/cancel")
            assert answer.status == 202
        await two.until(lambda: two.origin.state_of(first) == "cancelled")
        await two.origin.until_row(Event.REPORT_RECEIVED, 2)
        assert two.origin.state_of(second) == "acknowledged"
        assert two.delivered() == [second]
        said = (await two.origin.get(f"/v1/messages/{second}"))["report"]["said"]
        assert said == "cancel refused: Received, in-progress"


@pytest.mark.statement("S4-31")
@pytest.mark.statement("S4-32")
@pytest.mark.parametrize("profile", PROFILES)
async def test_level_5_asks_for_a_response_that_got_lost(tmp_path: Path, profile: str) -> None:
    """The work is complete and its response got lost; it is sent again on request."""
    terms = {"timeout": NEVER_S, "retries": 1, "retry_interval": NEVER_S}
    rules = {"response_within": "PT1H", "reports_processing": True}
    level_5 = Plan(profile=profile, modes=(), terms={**terms, **rules})
    async with running_chain(tmp_path, level_5) as two:
        message_id = await two.submit()
        await two.until_acknowledged(message_id)
        await two.until_delivered(message_id)
        path = f"/v1/inbox/{message_id}/processing"
        await two.destination.call("POST", path, json={"processing": "complete"})
        response_id = await answered_into_nothing(two, message_id)
        await hour_passes(two.origin, message_id)
        await two.until(lambda: response_id in two.origin.inbox_ids())
        found = await two.origin.get(f"/v1/messages/{message_id}")
        assert found["response"]["state"] == "received"
        asked = two.origin.rows(Event.INQUIRY_SENT, message_id=message_id)
        assert [row.reason for row in asked] == ["StatusRequest", "ResponseRequest"]


@pytest.mark.parametrize("is_given_up", [False, True], ids=["in its queue", "failed unsent"])
async def test_level_5_asks_nothing_about_what_never_left(
    tmp_path: Path, *, is_given_up: bool
) -> None:
    """Its pair is closed, or every connection was refused: there is nothing to answer."""
    rules = {**RULES, "response_within": "PT1H", "on_exhausted": "fail"}
    async with running_chain(tmp_path, Plan(profile="rm-2001", modes=(), terms=rules)) as two:
        if is_given_up:
            await two.destination.stop()
            message_id = await two.submit()
            await two.until(lambda: two.origin.state_of(message_id) == "failed")
        else:
            await two.origin.call("POST", f"/v1/partners/{DESTINATION}/suspend", json={})
            message_id = await two.submit()
        await hour_passes(two.origin, message_id)
        await two.origin.everything_said()
        assert two.origin.rows(Event.RESPONSE_OVERDUE, Event.INQUIRY_SENT) == []


async def answered_into_nothing(two: Chain, message_id: str) -> str:
    """A business response that left the destination and was not stored by the origin."""
    two.origin.store.is_full = True
    answer = {"to": ORIGIN, "service": "S", "action": "A", "ref": message_id}
    receipt = await two.destination.call("POST", "/v1/messages", files=form(answer, b"<Yes/>"))
    response_id: str = receipt.json["message_id"]
    await two.destination.until(
        lambda: two.destination.rows(Event.TRANSMITTED, message_id=response_id)
    )
    two.origin.store.is_full = False
    return response_id


async def hour_passes(gateway: RunningGateway, message_id: str) -> None:
    """The response is late."""

    def make_late(txn: Transaction) -> None:
        txn.put_recovery(message_id, changed(txn.get_recovery(message_id), response_due_at=0))

    await gateway.parts.group.transact(make_late)
    await gateway.parts.desk.sweep()
