"""Work beside its caller that may meet a bug of ours: none of it is made behind the end."""

import pytest
from running_gateway import running

pytestmark = pytest.mark.anyio

PATIENCE_S = 30.0


async def test_nothing_is_made_behind_the_end(tmp_path, peer):
    """A last commit may still release work: a coroutine that nobody awaits would say so."""
    made = []

    async def work():
        raise AssertionError

    async def instead(bug):
        raise AssertionError from bug

    def make():
        made.append(work)
        return work()

    async with running(tmp_path, peer) as alive:
        await alive.parts.tasks.end(0)
        alive.parts.bugs.start("working", make, instead)
        await alive.parts.tasks.settle(PATIENCE_S)
    assert made == []
