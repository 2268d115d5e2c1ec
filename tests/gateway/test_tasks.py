"""Work beside its caller: what it begins counts to it, and none of it outlives the end."""

import asyncio

import pytest

from onceonly.gateway.tasks import Tasks

pytestmark = pytest.mark.anyio

PATIENCE_S = 30.0


async def test_what_work_began_is_waited_for_with_it() -> None:
    """The child is begun by work that is over at once, and still comes to its end."""
    failures: list[tuple[str, BaseException]] = []
    tasks = Tasks(lambda place, error: failures.append((place, error)))
    said: list[str] = []

    async def child() -> None:
        await asyncio.to_thread(int)
        said.append("child")

    async def parent() -> None:
        tasks.start(child())
        said.append("parent")

    tasks.start(parent())
    await tasks.end(PATIENCE_S)
    assert said == ["parent", "child"]
    assert not failures


async def test_nothing_begins_behind_the_end() -> None:
    """A last commit may still release somebody who wants to go on: over a closed store."""
    failures: list[tuple[str, BaseException]] = []
    tasks = Tasks(lambda place, error: failures.append((place, error)))
    released = asyncio.Event()

    async def late() -> None:
        raise AssertionError

    async def wait() -> None:
        await released.wait()

    tasks.start(wait())
    await tasks.end(0)
    tasks.start(late())
    await tasks.settle(PATIENCE_S)
    assert not tasks.running
    assert not failures


async def test_what_work_ends_with_is_told_with_its_place() -> None:
    """Nothing vanishes; what it means is for the caller to say (R-43)."""
    failures: list[tuple[str, BaseException]] = []
    tasks = Tasks(lambda place, error: failures.append((place, error)))
    bug = KeyError("a bug")

    async def fail() -> None:
        raise bug

    tasks.start(fail(), place="failing")
    await tasks.end(PATIENCE_S)
    assert failures == [("failing", bug)]
