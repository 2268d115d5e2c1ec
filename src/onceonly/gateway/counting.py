"""Counts what the journal says, beside everything else: the counters over time.

The journal is read by a thread and grouped there by the store; the result is written in one small
step. So no message waits for it, and none costs more for it. What a crash cuts off is counted after
the next start, from where the counters end.
"""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import structlog

from onceonly.gateway.bugs import Bugs
from onceonly.gateway.office import Office
from onceonly.steps.counting import count
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.counters import JournalSums

EVERY_S: Final = 2.0
"""Seconds between two looks for rows that are not counted: so old may counters be."""

ROWS_PER_READ: Final = 2_000
"""Most rows of one question, whose read keeps a checkpoint waiting for some 10 ms."""

ROWS_PER_STEP: Final = 20_000
SUMS_PER_STEP: Final = 100
"""Most rows that one step counts; fewer where they are of so many minutes and agreements, since
each of these sums is written thrice, which takes the event loop some 60 µs."""

PAUSE_S: Final = 0.01
"""Between two steps while old rows are caught up with: others have the disk first."""

PATIENCE_S: Final = 0.05

COUNTING: Final = "counting what the journal says"

log: Any = structlog.get_logger("onceonly")


class Counting:
    """Counts for one gateway; `live` runs beside its life."""

    def __init__(self, *, office: Office, bugs: Bugs) -> None:
        self._office = office
        self._bugs = bugs
        self._folding = asyncio.Lock()

    async def live(self, stop: asyncio.Event) -> None:
        """Count from time to time until `stop` is set. A bug ends one look, and not the next."""
        while not stop.is_set():
            try:
                await self._bugs.contain(COUNTING, self.catch_up(stop.is_set), _go_on)
            except StoreFull as error:
                log.warning("store full; what happens is counted later", error=str(error))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await stop.wait()

    async def catch_up(self, is_over: Callable[[], bool] = lambda: False) -> int:
        """Count every row that there is now; returns how many.

        Raises `StoreFull`; what was counted before stays counted.
        """
        counted = 0
        async with self._folding:
            while not is_over():
                tally = await asyncio.to_thread(self._read)
                if tally is None:
                    break
                step = partial(count, tally=tally)
                await self._office.transact(step, patience_s=PATIENCE_S)
                counted += tally.up_to - tally.after
                await asyncio.sleep(PAUSE_S)
        return counted

    def _read(self) -> JournalSums | None:
        # The snapshot is taken here because it belongs to the thread that takes it.
        snapshot = self._office.snapshot()
        after, last_seq = snapshot.counted_seq(), snapshot.last_seq()
        found: JournalSums | None = None
        for begin in range(after, min(last_seq, after + ROWS_PER_STEP), ROWS_PER_READ):
            up_to = min(last_seq, begin + ROWS_PER_READ)
            sums = snapshot.tally_journal(begin, up_to)
            found = sums if found is None else found.plus(sums)
            if len(found.counts) > SUMS_PER_STEP:
                break
        return found


async def _go_on(bug: Exception) -> int:
    """The next look comes soon."""
    del bug
    return 0
