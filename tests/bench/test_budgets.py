"""What a message may take, counted without a clock: two gateways, real stores, real sockets.

Each message goes when nothing of the one before is left to do on either side, so how the work falls
into commits is a matter of the code and hardly of the machine.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import uvloop

sys.path.insert(0, str(Path(__file__).parent))

from budgets import BUDGETS, ROOM

from onceonly.gateway.application.submissions import Submission, Submissions
from onceonly.store.sqlite.store import SqliteStore
from onceonly.store.sqlite.writing import SqliteTransaction

ROOT = Path(__file__).parents[2]
MESSAGES = 200
BEFORE = 3
"""Not counted: then the connections are there, and each side knows the layout of what it reads."""
FEW = 20
"""For a plant: one more for each message is as many more per message, however few they are."""

Counted = Callable[..., dict[str, float]]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Counted:
    """What a message takes under an entry of the table. The bench lies beside the package."""
    # How quick this disk is decides where a commit runs, and must not decide what is counted.
    monkeypatch.setattr(SqliteStore, "is_quick", True)
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    from bench import bodies, counts, gateway, workload  # noqa: PLC0415 - because its place is not on the path before

    async def run(name: str, messages: int) -> dict[str, float]:
        profile, _, signed = name.partition(" signs ")
        case = workload.case_of(1, messages, profile=profile, signed=signed or "nothing")
        counter = counts.Counts()
        async with AsyncExitStack() as stack:
            sides = {}
            place = tmp_path / name
            place.mkdir()
            for side, config in workload.write_configurations(place, case).items():
                sides[side] = await stack.enter_async_context(gateway.running_gateway(config))
            (seller,) = workload.sellers_of(case)
            documents = bodies.bodies()
            await gateway.exchange_all(sides, seller, BEFORE, documents, counter)
            counter.begin()
            await gateway.exchange_all(sides, seller, messages, documents, counter)
            found = counter.end(messages)
            told = sides["sender"].store.snapshot().count_by_status()
            assert told["acknowledged"] == messages + BEFORE
            return found

    def run_in_loop(name: str, messages: int = MESSAGES) -> dict[str, float]:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(run(name, messages))

    return run_in_loop


def off(profile: str, found: dict[str, float]) -> dict[str, float]:
    """By how much each figure is off its bound that is further off than there is room."""
    bounds = BUDGETS[profile]
    assert found.keys() == bounds.keys() == ROOM.keys()
    distances = {name: round(found[name] - bounds[name], 3) for name in bounds}
    return {name: by for name, by in distances.items() if abs(by) > ROOM[name]}


@pytest.mark.parametrize("profile", BUDGETS)
def test_a_message_takes_what_its_budget_says(counted: Counted, profile: str):
    """Not more; and a bound that is no longer tight is lowered in the change that made it so."""
    found = counted(profile)
    assert not off(profile, found), found


@pytest.fixture
def one_more_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the step that stores a message which comes in: a look that nobody needs."""
    store = SqliteTransaction.add_inbound

    def add_inbound(self: SqliteTransaction, *arguments: Any, **more: Any) -> Any:
        self.find_outbound("a MessageId that nobody has")
        return store(self, *arguments, **more)

    monkeypatch.setattr(SqliteTransaction, "add_inbound", add_inbound)


def test_one_statement_more_is_seen(counted: Counted, one_more_statement: None):
    """And nothing else is wrong then."""
    assert off("rm-2000", counted("rm-2000", FEW)).keys() - {"pages_written"} == {"statements"}


@pytest.fixture
def one_more_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever submits waits for a second step, in which nothing is written."""
    submit = Submissions.submit

    async def submit_twice(self: Submissions, submission: Submission) -> Any:
        await self._desk.transact(lambda txn, _: txn.last_offset())
        return await submit(self, submission)

    monkeypatch.setattr(Submissions, "submit", submit_twice)


def test_one_commit_more_is_seen(counted: Counted, one_more_commit: None):
    """With its step and its statements."""
    assert {"steps", "commits", "statements"} <= off("rm-2000", counted("rm-2000", FEW)).keys()
