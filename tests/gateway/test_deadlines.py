"""Deadlines are as true as the states that ask for them: committed, or of the open transaction."""

import asyncio

import pytest

from onceonly.gateway.clock import Clock
from onceonly.gateway.sending.deadlines import Deadlines, Waits
from onceonly.message.instant import NS_PER_S
from onceonly.store.memory.store import MemoryStore


@pytest.fixture
def store():
    return MemoryStore(party="urn:us", clock_at=lambda: 0)


def test_steps_of_one_transaction_see_what_those_before_them_asked_for(store):
    """A message may be stepped twice in one batch."""
    waits = Waits()
    txn = store.begin()
    waits.begin(txn)
    waits.put("m", 5)
    waits.begin(txn)
    assert waits.find("m") == 5
    waits.put("m", None)
    assert waits.find("m") is None


def test_what_a_full_disk_undid_was_never_asked_for(store):
    """The state waits as before, and so does its deadline (R-28)."""
    waits = Waits()
    waits.settle("m", 5)
    waits.begin(store.begin())
    waits.put("m", None)
    store.rollback()
    waits.begin(store.begin())
    assert waits.find("m") == 5
    waits.settle("m", None)
    assert waits.find("m") is None


def test_a_timer_rings_for_the_deadline_that_it_was_set_for():
    """Whoever hears it can tell whether its wait is over meanwhile."""

    async def run() -> None:
        clock, waits = Clock(), Waits()
        rung: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        deadlines = Deadlines(clock, waits, lambda key, due_ns: rung.put_nowait((key, due_ns)))
        soon_ns = clock.now().monotonic_ns + NS_PER_S // 100
        deadlines.settle({"m": soon_ns, "given up": soon_ns})
        deadlines.settle({"given up": None})
        assert await rung.get() == ("m", soon_ns)
        assert waits.find("m") == soon_ns, "until a step says otherwise"
        assert rung.empty()

    asyncio.run(run())
