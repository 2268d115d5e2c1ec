"""Actions in bulk: a frozen selection, looked at first, and each message acted on once."""

import asyncio
from typing import Any

import pytest
from calling import refused
from packages import ORDER
from peer import PATIENCE_S
from running_gateway import RunningGateway, running

from onceonly.gateway.application import bulk
from onceonly.gateway.application.bulk import Bulks
from onceonly.gateway.growth import Growth
from onceonly.message.event import Event
from onceonly.steps import bulk as steps
from onceonly.steps import operating
from onceonly.store.contract.conditions import StoreExhausted

pytestmark = pytest.mark.anyio

BULK = "/v1/bulk"
WHY = "the partner asked us to"


async def queue(gateway: RunningGateway, peer, count: int) -> list[str]:
    """The first has its turn and is sent, and the others wait behind it: no byte of them left."""
    names = [f"m-{number}" for number in range(count + 1)]
    for name in names:
        await gateway.submit(ORDER, to=peer, message_id=name)
    await peer.hear("Normal")
    return names[1:]


async def prepared(gateway: RunningGateway, do: str, **where: Any) -> Any:
    body = {"do": do, "where": where, "reason": WHY}
    answer = await gateway.call("POST", BULK, json=body)
    assert answer.status == 201, answer
    return answer.json


async def started(
    gateway: RunningGateway, number: int, count: int, *, by: str | None = None
) -> Any:
    headers = {} if by is None else {"onceonly-operator": by}
    answer = await gateway.call(
        "POST", f"{BULK}/{number}/start", json={"count": count}, headers=headers
    )
    assert answer.status == 202, answer
    return answer.json


async def until_done(gateway: RunningGateway, number: int, state: str = "done") -> Any:
    await gateway.until(lambda: gateway.parts.bulks.find(number).state == state)
    return await gateway.get(f"{BULK}/{number}")


async def results(gateway: RunningGateway, number: int) -> list[Any]:
    found: list[Any] = []
    after = 0
    while after is not None:
        page = await gateway.get(f"{BULK}/{number}/results?after={after}&limit=2")
        found += page["results"]
        after = page["next_after"]
    return found


def cancelled(gateway: RunningGateway) -> list[str | None]:
    return [row.message_id for row in gateway.rows(Event.CANCELLED)]


async def test_preparing_counts_and_does_nothing(gateway, peer):
    """How many, and the first five of them, by the criteria of a list."""
    names = await queue(gateway, peer, 7)
    found = await prepared(gateway, "cancel", state="queued", to=peer.party)
    assert (found["items"], found["left"], found["state"]) == (7, 7, "prepared")
    assert [one["message_id"] for one in found["samples"]] == names[:5]
    assert found["where"] == {"state": "queued", "to": peer.party}
    assert cancelled(gateway) == []
    assert (await gateway.get(BULK))["bulks"][0]["number"] == found["number"]


async def test_what_is_started_is_done_with_each_and_told(gateway, peer):
    """What fits later is not among them: the selection is frozen."""
    names = await queue(gateway, peer, 20)
    found = await prepared(gateway, "cancel", state="queued")
    late = await gateway.submit(ORDER, to=peer, message_id="late")
    await started(gateway, found["number"], 20)
    ended = await until_done(gateway, found["number"])
    assert (ended["done"], ended["skipped"], ended["failed"], ended["left"]) == (20, 0, 0, 0)
    assert cancelled(gateway) == names
    assert gateway.state_of(late) == "queued"
    told = await results(gateway, found["number"])
    assert [(one["item"], one["message_id"], one["outcome"]) for one in told] == [
        (number, name, "done") for number, name in enumerate(names, 1)
    ]


async def test_it_starts_for_who_knows_the_number(gateway, peer):
    """Whoever looked at it types it; starting twice is starting once."""
    await queue(gateway, peer, 3)
    number = (await prepared(gateway, "cancel", state="queued"))["number"]
    answer = await gateway.call("POST", f"{BULK}/{number}/start", json={"count": 4})
    assert refused(answer) == (409, "CountDiffers")
    assert cancelled(gateway) == []
    await started(gateway, number, 3)
    await started(gateway, number, 3)
    await until_done(gateway, number)
    answer = await gateway.call("POST", f"{BULK}/{number}/start", json={"count": 3})
    assert refused(answer) == (409, "NotStartable")
    assert len(cancelled(gateway)) == 3


async def test_what_fits_no_more_is_skipped_with_a_reason(gateway, peer):
    """The world has changed since; nothing is forced."""
    names = await queue(gateway, peer, 3)
    number = (await prepared(gateway, "cancel", state="queued"))["number"]
    await gateway.call("POST", f"/v1/messages/{names[1]}/cancel")
    await started(gateway, number, 3)
    ended = await until_done(gateway, number)
    assert (ended["done"], ended["skipped"]) == (2, 1)
    skipped = (await results(gateway, number))[1]
    assert (skipped["outcome"], skipped["error"]) == ("skipped", "NotCancellable")
    assert "cancelled already" in skipped["text"]


async def test_a_certain_end_is_resent_and_the_result_says_as_what(gateway, peer):
    """Without a word only what cannot arrive twice; with the action that says so, the rest."""
    names = await queue(gateway, peer, 2)
    for name in names:
        await gateway.call("POST", f"/v1/messages/{name}/cancel")
    number = (await prepared(gateway, "resend", state="cancelled"))["number"]
    await started(gateway, number, 2)
    assert (await until_done(gateway, number))["skipped"] == 2
    assert {one["error"] for one in await results(gateway, number)} == {"NotResendable"}
    number = (await prepared(gateway, "resend-anyway", state="cancelled"))["number"]
    await started(gateway, number, 2)
    assert (await until_done(gateway, number))["done"] == 2
    rows = gateway.rows(Event.RESENT)
    assert [row.message_id for row in rows] == names
    assert all(WHY in (row.reason or "") for row in rows)
    for one in await results(gateway, number):
        detail = await gateway.get(f"/v1/messages/{one['message_id']}")
        assert one["text"] == f"as {detail['resent_as']}"


async def test_partners_are_asked_in_bulk(gateway, peer):
    """What never left is skipped: nobody can know of it."""
    await queue(gateway, peer, 1)
    number = (await prepared(gateway, "ask"))["number"]
    await started(gateway, number, 2)
    ended = await until_done(gateway, number)
    assert (ended["done"], ended["skipped"]) == (1, 1)
    assert (await results(gateway, number))[1]["error"] == "NeverSent"
    await peer.hear("StatusRequest")


async def test_resuming_takes_up_only_what_was_parked(gateway, peer):
    """Everything else is skipped, also what does not exist any more."""
    await queue(gateway, peer, 1)
    number = (await prepared(gateway, "resume"))["number"]
    await started(gateway, number, 2)
    await until_done(gateway, number)
    assert {one["error"] for one in await results(gateway, number)} == {"NotParked"}


async def test_it_stops_and_goes_on(gateway, peer, monkeypatch):
    """What is done stays done; what was prepared alone can be stopped, too."""
    monkeypatch.setattr(bulk, "ITEMS_PER_TURN", 1)
    names = await queue(gateway, peer, 12)
    number = (await prepared(gateway, "cancel", state="queued"))["number"]
    await started(gateway, number, 12)
    await gateway.until(lambda: len(cancelled(gateway)) >= 3)
    answer = await gateway.call("POST", f"{BULK}/{number}/stop")
    assert (answer.status, answer.json["state"]) == (200, "stopped")
    assert answer.json["done"] < 12
    assert (await gateway.call("POST", f"{BULK}/{number}/stop")).json == answer.json
    await started(gateway, number, 12)
    await until_done(gateway, number)
    assert cancelled(gateway) == names


async def test_a_restart_goes_on_with_what_is_left(gateway, peer, monkeypatch):
    """Each message once, wherever the process ended."""
    monkeypatch.setattr(bulk, "ITEMS_PER_TURN", 1)
    names = await queue(gateway, peer, 12)
    number = (await prepared(gateway, "cancel", state="queued"))["number"]
    await started(gateway, number, 12)
    await gateway.until(lambda: len(cancelled(gateway)) >= 3)
    await gateway.restart()
    assert (await until_done(gateway, number))["done"] == 12
    assert cancelled(gateway) == names


async def test_a_bug_in_one_message_leaves_the_others(gateway, peer, monkeypatch):
    """Its item failed, and nothing of it was written (R-43)."""
    gateway.expects_bugs = True
    names = await queue(gateway, peer, 3)
    cancel = operating.cancel

    def broken(txn, ground, message_id, **more):
        if message_id == names[1]:
            raise RuntimeError("planted")
        return cancel(txn, ground, message_id, **more)

    monkeypatch.setattr(operating, "cancel", broken)
    number = (await prepared(gateway, "cancel", state="queued"))["number"]
    await started(gateway, number, 3)
    ended = await until_done(gateway, number)
    assert (ended["done"], ended["failed"]) == (2, 1)
    failed = (await results(gateway, number))[1]
    assert (failed["outcome"], failed["error"]) == ("failed", "InternalError")
    assert "planted" in failed["text"]
    assert cancelled(gateway) == [names[0], names[2]]


async def test_work_that_an_error_has_ended_goes_on(gateway, peer, monkeypatch):
    """The next second, and not only after a restart (R-43)."""
    gateway.expects_bugs = True
    names = await queue(gateway, peer, 3)
    number = (await prepared(gateway, "cancel", state="queued"))["number"]
    snapshot, failures = gateway.store.snapshot, [StoreExhausted("no descriptor is free")]

    class Exhausted:
        def __getattr__(self, name: str) -> Any:
            if name == "list_open_items" and failures:
                raise failures.pop()
            return getattr(snapshot(), name)

    monkeypatch.setattr(gateway.store, "snapshot", Exhausted)
    await started(gateway, number, 3)
    await gateway.everything_said()
    assert (failures, cancelled(gateway)) == ([], [])
    gateway.parts.bulks.sweep()
    assert (await until_done(gateway, number))["done"] == 3
    assert cancelled(gateway) == names


async def test_items_wait_for_room(tmp_path, peer, monkeypatch):
    """A full queue says nothing about a message, so none is skipped for it."""
    monkeypatch.setattr(bulk, "PAUSE_S", 0.01)
    async with running(tmp_path, peer, gateway={"queued_max": 4}) as gateway:
        names = await queue(gateway, peer, 3)
        for name in names:
            await gateway.call("POST", f"/v1/messages/{name}/cancel")
        kept = [await gateway.submit(ORDER, to=peer, message_id=f"k-{n}") for n in range(3)]
        number = (await prepared(gateway, "resend-anyway", state="cancelled"))["number"]
        await started(gateway, number, 3)
        assert (await gateway.get(f"{BULK}/{number}"))["left"] == 3
        for name in kept:
            await gateway.call("POST", f"/v1/messages/{name}/cancel")
        assert (await until_done(gateway, number))["done"] == 3


async def test_items_wait_for_the_disk(gateway, peer, monkeypatch):
    """R-28: nothing is stored while it is full, and everything afterwards."""
    monkeypatch.setattr(bulk, "PAUSE_S", 0.01)
    names = await queue(gateway, peer, 3)
    number = (await prepared(gateway, "cancel", state="queued"))["number"]
    before = gateway.store.refusals
    reach = gateway.parts.desk.failpoints.reach

    def fill(point: str) -> None:
        if point == "before-bulk-item" and gateway.store.refusals == before:
            gateway.store.is_full = True
        reach(point)

    monkeypatch.setattr(gateway.parts.desk.failpoints, "reach", fill)
    await started(gateway, number, 3)
    await gateway.until(lambda: gateway.store.refusals > before)
    gateway.store.is_full = False
    assert (await until_done(gateway, number))["done"] == 3
    assert cancelled(gateway) == names


async def test_too_many_are_refused_and_forgotten(gateway, peer, monkeypatch):
    """Half of a selection would be another action than was meant."""
    monkeypatch.setattr(steps, "ITEMS_MAX", 2)
    await queue(gateway, peer, 3)
    body = {"do": "cancel", "where": {"state": "queued"}, "reason": WHY}
    assert refused(await gateway.call("POST", BULK, json=body)) == (409, "TooManyItems")
    assert (await gateway.get(BULK))["bulks"] == []


async def test_nothing_that_is_not_there_can_be_asked_for(gateway):
    """404, for each of the calls."""
    for method, path, body in (
        ("GET", "", None),
        ("GET", "/results", None),
        ("POST", "/start", {"count": 0}),
        ("POST", "/stop", {}),
    ):
        answer = await gateway.call(method, f"{BULK}/7{path}", json=body)
        assert refused(answer) == (404, "NotFound"), path


async def test_a_selection_that_a_crash_cut_off_is_never_started(gateway):
    """It has not all of its messages."""
    parts = gateway.parts

    def select(txn, ground):
        return steps.select(txn, ground, steps.BulkAction.CANCEL, WHY, "{}")

    number = (await parts.desk.transact(select)).number
    answer = await gateway.call("POST", f"{BULK}/{number}/start", json={"count": 0})
    assert refused(answer) == (409, "NotStartable")
    answer = await gateway.call("POST", f"{BULK}/{number}/stop")
    assert refused(answer) == (409, "NotStartable")


async def test_what_is_over_is_forgotten(gateway, peer, monkeypatch):
    """What ended as long ago as jobs are kept, and after a day what was never started."""
    await queue(gateway, peer, 3)
    done = (await prepared(gateway, "cancel", state="queued"))["number"]
    await started(gateway, done, 3)
    await until_done(gateway, done)
    waits = (await prepared(gateway, "cancel", state="cancelled"))["number"]
    await gateway.live_a_round(purge_interval_s=0)
    assert [one["number"] for one in (await gateway.get(BULK))["bulks"]] == [done, waits]
    newest = (await gateway.get(f"{BULK}?order=newest"))["bulks"]
    assert [one["number"] for one in newest] == [waits, done]
    parts = gateway.parts
    impatient = Bulks(
        desk=parts.desk,
        tasks=parts.tasks,
        bugs=parts.bugs,
        growth=Growth(),
        forget_after_s=lambda: -1,
    )
    assert await impatient.forget_over() == 4
    assert [one["number"] for one in (await gateway.get(BULK))["bulks"]] == [waits]
    monkeypatch.setattr(bulk, "PREPARED_S", -1)
    assert await impatient.forget_over() == 4
    assert (await gateway.get(BULK))["bulks"] == []


async def test_a_reload_says_at_once_how_long_what_is_over_is_kept(tmp_path, peer):
    """`forget_job_after` of the file that runs, not of the start."""
    drill = {"clock_offset_file": "offset"}
    async with running(tmp_path, peer, drill=drill) as gateway:
        await queue(gateway, peer, 1)
        number = (await prepared(gateway, "cancel", state="queued"))["number"]
        await started(gateway, number, 1)
        await until_done(gateway, number)
        (tmp_path / "offset").write_text(str(2 * 3600), "ascii")
        assert await gateway.parts.bulks.forget_over() == 0
        path = gateway.configuration.path
        text = path.read_text("utf-8")
        path.write_text(text.replace("[gateway]", '[gateway]\nforget_job_after = "PT1H"'), "utf-8")
        answer = await gateway.call("POST", "/v1/reload")
        assert answer.json["changed"] == "forget_job_after changed"
        await gateway.parts.bulks.forget_over()
        assert (await gateway.get(BULK))["bulks"] == []


async def test_messages_go_on_beside_it(gateway, peer, other_peer, monkeypatch):
    """A message that is submitted meanwhile waits for a turn of items, and for no more of them."""
    await queue(gateway, peer, 200)
    number = (await prepared(gateway, "cancel", state="queued"))["number"]
    await started(gateway, number, 200)
    await gateway.until(lambda: len(cancelled(gateway)) >= 1)
    await gateway.submit(ORDER, to=peer, message_id="beside")
    assert len(cancelled(gateway)) < 200, "it was not after all of them"
    async with asyncio.timeout(PATIENCE_S):
        assert (await until_done(gateway, number))["done"] == 200
