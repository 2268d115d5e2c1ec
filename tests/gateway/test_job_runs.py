"""Runs of one job: what an earlier start left is neither sent nor taken from a later one."""

from itertools import permutations
from json import dumps
from random import Random
from typing import Any
from unittest.mock import ANY

import pytest
from job_rows import a_row, counted, dropped, known, release, stage, staged
from running_gateway import running

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio


def refused_as(answer: Any) -> tuple[int, str]:
    return answer.status, answer.json["error"]["name"]


async def call_release(gateway: Any, run: str, staged_rows: int) -> Any:
    return await gateway.call("POST", f"/v1/jobs/j/release?run={run}&staged={staged_rows}")


# --- Two drivers of one job ----------------------------------------------------------------------


async def test_a_driver_that_aborts_takes_nothing_from_the_next(gateway, peer):
    """The first one's drop comes while the second has staged; the second sends every row."""
    rows = [a_row(peer, f"m-{n}", n) for n in range(3)]
    await staged(gateway, *rows, run="first")
    assert await staged(gateway, *rows[:2], run="second") == ["accepted"] * 2
    assert await dropped(gateway, run="first") == 1
    assert await staged(gateway, rows[2], run="second") == ["accepted"]
    assert (await call_release(gateway, "second", 3)).status == 200
    await gateway.until(lambda: known(gateway) == ["m-0", "m-1", "m-2"])


async def test_a_release_that_lacks_rows_is_refused_before_anything_is_released(gateway, peer):
    """As when somebody has dropped the job meanwhile."""
    await staged(gateway, a_row(peer, "m-0", 0), run="first")
    assert refused_as(await call_release(gateway, "first", 2)) == (409, "JobChanged")
    assert known(gateway) == []
    assert await dropped(gateway) == 1
    await staged(gateway, a_row(peer, "other", 0), run="second")
    assert refused_as(await call_release(gateway, "first", 1)) == (409, "RunOver")
    assert known(gateway) == []
    assert (await counted(gateway))["staged"] == 1


async def test_of_two_runs_at_once_the_newer_wins(gateway, peer):
    """The older may neither stage nor be released any more, so no row is sent twice or never."""
    await staged(gateway, a_row(peer, "m-0", 0), run="first")
    await staged(gateway, a_row(peer, "m-0", 0), a_row(peer, "m-1", 1), run="second")
    again = await stage(gateway, a_row(peer, "m-0", 0), run="first")
    assert refused_as(again) == (409, "RunOver")
    assert refused_as(await call_release(gateway, "first", 1)) == (409, "RunOver")
    assert (await call_release(gateway, "second", 2)).status == 200
    await gateway.until(lambda: known(gateway) == ["m-0", "m-1"])


@pytest.mark.parametrize("had_staged", [True, False])
async def test_a_straggler_of_a_dropped_run_stages_nothing(gateway, peer, had_staged):
    """Neither before the next run nor beside it, and the next run goes on over it."""
    row = a_row(peer, "m-0", 0)
    if had_staged:
        await staged(gateway, row, run="first")
    await staged(gateway, row, run="second")
    await dropped(gateway, run="first")
    assert refused_as(await stage(gateway, row, run="first")) == (409, "RunOver")
    assert await staged(gateway, a_row(peer, "m-1", 1), run="second") == ["accepted"]
    assert (await call_release(gateway, "second", 2)).status == 200


async def test_a_dropped_run_is_remembered_over_the_end_of_its_job(tmp_path, peer):
    """And forgotten once nothing of it can be under way."""
    drill = {"clock_offset_file": "offset"}
    async with running(tmp_path, peer, drill=drill) as gateway:
        row = a_row(peer, "m-0", 0)
        await staged(gateway, row, run="first")
        assert await dropped(gateway, run="first") == 1
        assert (await gateway.get("/v1/jobs"))["jobs"] == []
        assert refused_as(await stage(gateway, row, run="first")) == (409, "RunOver")
        (tmp_path / "offset").write_text(str(8 * 86_400))
        await staged(gateway, row, job="other")
        await gateway.parts.purge.sweep()
        assert gateway.store.snapshot().find_run("j", "first") is None


# --- What a dead run left ------------------------------------------------------------------------


async def test_a_mended_row_replaces_what_a_dead_run_staged(gateway, peer):
    """It was never sent, so its MessageId is free: the mended order leaves, and no other."""
    await staged(gateway, a_row(peer, "PO-1", 0, payload="<Order>wrong</Order>"), run="dead")
    assert await staged(gateway, a_row(peer, "PO-1", 0), run="mended") == ["accepted"]
    assert (await call_release(gateway, "mended", 1)).status == 200
    assert (await peer.hear("Normal")).payloads == [b"<Order>PO-1</Order>"]
    assert (await counted(gateway))["rows"] == 1


@pytest.mark.parametrize("moved", [0, 1 << 32, 5])
async def test_a_job_counts_what_its_last_run_was_told(gateway, peer, moved):
    """Mended and run again, under the same numbers or, behind a repartition, under others."""
    rows = [a_row(peer, f"m-{n}", n) for n in range(4)]
    wrong = [{**rows[n], "to": "urn:party:nobody"} for n in (1, 2)]
    await staged(gateway, rows[0], *wrong, rows[3], run="first")
    await release(gateway, run="first")
    shape = await counted(gateway)
    assert (shape["rows"], shape["accepted"], shape["rejected"]) == (4, 2, 2)
    again = [{**one, "row": one["row"] + moved} for one in (rows[0], rows[1], wrong[1], rows[3])]
    outcomes = await staged(gateway, *again, run="second")
    assert outcomes == ["replayed", "accepted", "rejected", "replayed"]
    await release(gateway, run="second")
    shape = await counted(gateway)
    assert (shape["rows"], shape["accepted"], shape["rejected"]) == (4, 3, 1)
    found = await gateway.get("/v1/jobs/j/rejects")
    assert [row["message_id"] for row in found["rejects"]] == ["m-2"]


async def test_a_run_that_is_dropped_leaves_what_the_one_before_was_told(gateway, peer):
    """It may have mended what was rejected; nothing of it was sent."""
    wrong = a_row(peer, "m-1", 1, to="urn:party:nobody")
    await staged(gateway, a_row(peer, "m-0", 0), wrong, run="first")
    await release(gateway, run="first")
    for number, row in enumerate((wrong, a_row(peer, "m-1", 1))):
        await staged(gateway, row, run=f"aborted-{number}")
        await dropped(gateway, run=f"aborted-{number}")
        shape = await counted(gateway)
        assert (shape["rows"], shape["accepted"], shape["rejected"]) == (2, 1, 1)


async def test_a_refusal_that_is_told_again_is_one_row_of_the_journal(gateway, peer):
    """However often the job is run: the journal tells what is new."""
    for run in ("a", "b", "c"):
        await staged(gateway, a_row(peer, "m-1", 1, to="urn:party:nobody"), run=run)
        await release(gateway, run=run)
    assert len(gateway.rows(Event.REJECTED)) == 1
    assert (await counted(gateway))["rejected"] == 1


async def test_a_message_of_another_job_is_one_replay_however_often_it_is_run(gateway, peer):
    """Its row is the last run's, under whatever number."""
    await staged(gateway, a_row(peer, "m-0", 0), job="other")
    await release(gateway, job="other")
    await gateway.until(lambda: known(gateway) == ["m-0"])
    for run, number in (("a", 0), ("b", 7), ("c", 0)):
        assert await staged(gateway, a_row(peer, "m-0", number), run=run) == ["replayed"]
        await release(gateway, run=run)
        assert (await counted(gateway))["replayed"] == 1


async def test_a_mended_content_type_replaces_what_a_dead_run_staged(gateway, peer):
    """It is the same content, and yet another package."""
    await staged(gateway, a_row(peer, "PO-1", 0, content_type="text/plain"), run="dead")
    assert await staged(gateway, a_row(peer, "PO-1", 0), run="mended") == ["accepted"]
    [payload] = gateway.store.snapshot().find_staged("j", 0).message.payloads
    assert payload.content_type == "application/xml"


async def test_a_row_that_is_not_in_the_frame_any_more_is_not_sent(gateway, peer):
    """It stays staged, until it is dropped; its number may be another message's now."""
    await staged(gateway, a_row(peer, "gone", 0), a_row(peer, "kept", 1), run="dead")
    assert await staged(gateway, a_row(peer, "kept", 0), run="mended") == ["accepted"]
    assert (await call_release(gateway, "mended", 1)).status == 200
    await gateway.until(lambda: known(gateway) == ["kept"])
    shape = await counted(gateway)
    assert (shape["rows"], shape["staged"]) == (2, 1)
    assert await dropped(gateway) == 1
    assert known(gateway) == ["kept"]


async def test_a_release_of_the_job_sends_what_every_run_has_staged(gateway, peer):
    """As an operator asks for it, who names no run."""
    await staged(gateway, a_row(peer, "m-0", 0), run="dead")
    await staged(gateway, a_row(peer, "m-1", 1), run="next")
    await staged(gateway, a_row(peer, "m-2", 2))
    await release(gateway)
    await gateway.until(lambda: known(gateway) == ["m-0", "m-1", "m-2"])


async def test_a_replay_of_a_dead_run_is_no_replay(gateway, peer):
    """Its first row is not in the frame any more, so the second one is the message."""
    await staged(gateway, a_row(peer, "m-0", 0), a_row(peer, "m-0", 1), run="dead")
    assert await staged(gateway, a_row(peer, "x", 0), run="next") == ["accepted"]
    assert await staged(gateway, a_row(peer, "m-0", 1), run="next") == ["accepted"]
    assert (await call_release(gateway, "next", 2)).status == 200
    await gateway.until(lambda: known(gateway) == ["x", "m-0"])


async def test_a_release_that_is_repeated_changes_nothing(gateway, peer):
    """Also with the rows staged again by the next run: all are replays of what was sent."""
    rows = [a_row(peer, f"m-{n}", n) for n in range(2)]
    await staged(gateway, *rows, run="first")
    for _ in range(2):
        assert (await call_release(gateway, "first", 2)).status == 200
    await gateway.until(lambda: len(known(gateway)) == 2)
    before = await counted(gateway)
    assert await staged(gateway, *reversed(rows), run="again") == ["replayed"] * 2
    assert (await call_release(gateway, "again", 0)).status == 200
    assert await counted(gateway) == {**before, "staged_at": ANY}
    assert refused_as(await stage(gateway, rows[0], run="first")) == (409, "RunOver")


# --- Attempts of one task ------------------------------------------------------------------------

FRAME = ("a", "a", "b", "c")
"""MessageIds of the rows of one task; two rows are one message."""


@pytest.mark.parametrize("order", sorted(set(permutations(FRAME))))
@pytest.mark.parametrize("seen", range(1, len(FRAME) + 1))
async def test_an_attempt_in_another_order_counts_as_the_first_would(gateway, peer, order, seen):
    """After an attempt that died anywhere: rows in are rows known, and each message is one."""
    first = [a_row(peer, name, n) for n, name in enumerate(FRAME)]
    second = [a_row(peer, name, n) for n, name in enumerate(order)]
    for row in first[:seen]:
        await staged(gateway, row, run="r")
    outcomes = [(await staged(gateway, row, run="r"))[0] for row in second]
    assert (outcomes.count("accepted"), outcomes.count("replayed")) == (3, 1)
    assert [(await staged(gateway, row, run="r"))[0] for row in second] == outcomes
    shape = await counted(gateway)
    assert (shape["rows"], shape["accepted"], shape["replayed"]) == (4, 3, 1)
    assert (await call_release(gateway, "r", 3)).status == 200
    await gateway.until(lambda: known(gateway) == list(dict.fromkeys(order)))


async def test_numbers_of_what_was_sent_are_no_obstacle(gateway, peer):
    """A job that grew and is run again: its new rows count once each, however they come."""
    await staged(gateway, a_row(peer, "x", 0), a_row(peer, "y", 1), run="first")
    await call_release(gateway, "first", 2)
    await gateway.until(lambda: len(known(gateway)) == 2)
    for order in ("aab", "baa", "aba"):
        for attempt in range(2):
            rows = [a_row(peer, name, n) for n, name in enumerate(order)]
            found = [(await staged(gateway, row, run=order))[0] for row in rows[attempt - 1 :]]
        assert found.count("accepted") == 2, (order, found)
        shape = await counted(gateway)
        assert (shape["rows"], shape["staged"], shape["replayed"]) == (5, 2, 1), order
    assert (await call_release(gateway, "aba", 2)).status == 200
    await gateway.until(lambda: len(known(gateway)) == 4)


@pytest.mark.parametrize("seed", range(24))
async def test_whatever_attempts_there_were_the_last_ones_count(gateway, peer, seed):
    """Tasks whose rows come in any order, twins in them, requests repeated, numbers taken."""
    chance = Random(seed)
    left = chance.sample("abcdefg", 3)
    await staged(gateway, *(a_row(peer, name, n) for n, name in enumerate(left)), run="before")
    sent = set(left) if chance.random() < 0.5 else set()
    if sent:
        await release(gateway, run="before")
        await gateway.until(lambda: len(known(gateway)) == len(sent))
    tasks = [chance.choices("abcdefg", k=chance.randint(1, 5)) for _ in range(2)]

    async def attempt(task: int, share: float = 1) -> list[str]:
        order, found = chance.sample(tasks[task], len(tasks[task])), ""
        outcomes = []
        for n, name in enumerate(order[: max(1, round(share * len(order)))]):
            for _ in range(chance.randint(1, 2)):
                [found] = await staged(gateway, a_row(peer, name, (task << 32) + n), run="r")
            outcomes.append(found)
        return outcomes

    for _ in range(chance.randint(0, 6)):
        await attempt(chance.randint(0, 1), chance.random())
    outcomes = [*await attempt(0), *await attempt(1)]
    accepted = {name for task in tasks for name in task} - sent
    assert outcomes.count("accepted") == len(accepted)
    run = gateway.store.snapshot().find_run("j", "r")
    assert run.staged == len(accepted)
    assert (await call_release(gateway, "r", len(accepted))).status == 200
    await gateway.until(lambda: set(known(gateway)) == accepted | sent)
    assert len(known(gateway)) == len(accepted | sent)


async def test_of_attempts_at_once_the_latest_stages(gateway, peer):
    """In its block; a new run begins anew, and whoever names no attempt is asked for none."""
    block = 1 << 32
    first, other = a_row(peer, "m-0", 0), a_row(peer, "m-1", block)
    assert (await stage(gateway, first, run="r", attempt=7)).status == 200
    assert (await stage(gateway, first, run="r", attempt=9)).status == 200
    for body in ((first,), (other, first)):
        assert refused_as(await stage(gateway, *body, run="r", attempt=8)) == (409, "AttemptOver")
    assert (await counted(gateway))["rows"] == 1
    assert (await stage(gateway, other, run="r", attempt=8)).status == 200
    assert (await stage(gateway, first, run="r", attempt=9)).status == 200
    assert (await stage(gateway, first, run="r")).status == 200
    assert (await stage(gateway, first, run="s", attempt=1)).status == 200


async def test_an_attempt_is_over_after_a_restart_too(gateway, peer):
    """Whose a block is, is durable."""
    row = a_row(peer, "m-0", 0)
    await stage(gateway, row, run="r", attempt=2)
    await gateway.restart()
    assert refused_as(await stage(gateway, row, run="r", attempt=1)) == (409, "AttemptOver")


@pytest.mark.parametrize("query", ["attempt=1", "run=r&attempt=-1", "run=r&attempt=x"])
async def test_an_attempt_that_is_none_is_refused(gateway, peer, query):
    """It is a number, and of a run."""
    path, row = f"/v1/jobs/j/messages?{query}", a_row(peer, "m-0", 0)
    answer = await gateway.call("POST", path, content=dumps(row).encode())
    assert refused_as(answer) == (400, "InvalidField")


async def test_rows_of_an_attempt_have_numbers(gateway, peer):
    """Without one nobody knows whose block it is in."""
    answer = await stage(gateway, a_row(peer, "m-0"), run="r", attempt=1)
    assert refused_as(answer) == (400, "InvalidField")


@pytest.mark.parametrize("seed", range(24))
async def test_attempts_at_once_count_as_the_latest_would(gateway, peer, seed):
    """Any number of them, each in its own order, one row of one of them at a time."""
    chance = Random(seed)
    frame = chance.choices("abcde", k=chance.randint(1, 7))
    attempts = [chance.sample(frame, len(frame)) for _ in range(chance.randint(2, 4))]
    told: list[list[str]] = [[] for _ in attempts]
    latest = 0
    while len(told[-1]) < len(frame):
        attempt = chance.randrange(len(attempts))
        at = len(told[attempt])
        if at == len(frame):
            continue
        row = a_row(peer, attempts[attempt][at], at)
        answer = await stage(gateway, row, run="r", attempt=attempt)
        latest = max(latest, attempt)
        assert (answer.status == 409) == (attempt < latest)
        told[attempt].append(answer.status == 200 and answer.json["rows"][0]["outcome"])
    expected = [len(set(frame)), len(frame) - len(set(frame))]
    assert [told[-1].count("accepted"), told[-1].count("replayed")] == expected
    shape = await counted(gateway)
    assert [shape["accepted"], shape["replayed"]] == expected
    assert (await call_release(gateway, "r", expected[0])).status == 200
    await gateway.until(lambda: known(gateway) == list(dict.fromkeys(attempts[-1])))


async def test_one_message_in_two_tasks_is_a_message_and_a_replay(gateway, peer):
    """Whichever comes first; the tasks' numbers are in blocks of their own."""
    block = 1 << 32
    assert await staged(gateway, a_row(peer, "m", block), run="r") == ["accepted"]
    assert await staged(gateway, a_row(peer, "m", 0), run="r") == ["replayed"]
    assert (await counted(gateway))["rows"] == 2


async def test_a_row_that_is_computed_otherwise_in_a_later_attempt_is_its_latest(gateway, peer):
    """Under its number it is the same row, and nothing of it was sent."""
    first = a_row(peer, "m", 0, payload="<At>1</At>")
    assert await staged(gateway, first, run="r") == ["accepted"]
    other = a_row(peer, "m", 0, payload="<At>2</At>")
    assert await staged(gateway, other, run="r") == ["accepted"]
    assert await staged(gateway, {**other, "row": 1, "payload": "3"}, run="r") == ["rejected"]
    await release(gateway, run="r")
    assert (await peer.hear("Normal")).payloads == [b"<At>2</At>"]


async def test_rejects_are_listed_beyond_displaced_rows(gateway, peer):
    """Their numbers may have nineteen digits."""
    number, count = (1 << 56) - 1, 20
    await staged(gateway, a_row(peer, "m-0", number), a_row(peer, "bad", 0, to="urn:nobody"))
    await staged(gateway, *(a_row(peer, f"m-{n}", number) for n in range(1, count)))
    await staged(gateway, a_row(peer, "bad", number, to="urn:nobody"))
    page = await gateway.get("/v1/jobs/j/rejects?limit=1")
    rest = await gateway.get(f"/v1/jobs/j/rejects?limit=1&after={page['next_after']}")
    assert [row["row"] for row in rest["rejects"]] == [number + (count << 56)]
    assert rest["next_after"] > 10**18
    assert (await gateway.get(f"/v1/jobs/j/rejects?after={rest['next_after']}"))["rejects"] == []
    beyond = await gateway.call("GET", f"/v1/jobs/j/rejects?after={1 << 63}")
    assert refused_as(beyond) == (400, "InvalidField")
