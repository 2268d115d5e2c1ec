"""A committed deadline comes true on the event loop."""

import asyncio

from onceonly.gateway.clock import Clock
from onceonly.gateway.outgoing.deadlines import Deadlines, Key
from onceonly.message.instant import NS_PER_S
from onceonly.store.contract.waits import Waiter


def test_a_timer_rings_for_the_deadline_that_it_was_set_for():
    """Whoever hears it can tell whether its wait is over meanwhile."""

    async def run() -> None:
        clock = Clock()
        rung: asyncio.Queue[tuple[Key, int]] = asyncio.Queue()
        deadlines = Deadlines(clock, lambda key, due_ns: rung.put_nowait((key, due_ns)))
        soon_ns = clock.now().monotonic_ns + NS_PER_S // 100
        waits, given_up = (Waiter.MESSAGE, "m"), (Waiter.RECOVERY, "m")
        deadlines.settle({waits: soon_ns, given_up: soon_ns})
        deadlines.settle({given_up: None})
        assert await rung.get() == (waits, soon_ns)
        assert rung.empty()

    asyncio.run(run())
