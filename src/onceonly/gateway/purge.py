"""Forgets in small steps what is not needed any more (R-19).

Knows when a message, a tombstone, a counter or a file of the spool may be forgotten; must not know
why it was stored. An id may be forgotten because the receiver refuses every copy for its age after
`keep_until_at`: a forgotten message cannot be delivered again, and the memory of delivered messages
stays finite. A message that the application has not confirmed, or that has no verdict, is never
forgotten (seeds 000 §2.1.3 (5), 001 §1.1.1 and §2.1.1.4).

Each step is one step of the group commit, so a purge never blocks others, and a journal row in the
same transaction says what was forgotten.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TypeVar

from onceonly.gateway.office import Office, Step
from onceonly.message.instant import NS_PER_S, US_PER_S, Now
from onceonly.message.word import Word
from onceonly.steps import purge
from onceonly.steps.ground import Ground
from onceonly.store.contract.jobs import JobPurge
from onceonly.store.contract.store import Store, Transaction
from onceonly.store.spool import KeptFile, Spool

T = TypeVar("T")

PATIENCE_S = 0.05
"""How long a step of a purge may wait, so that it shares the commit of others."""

UNMENTIONED_S = 3_600
"""How long a file must not be mentioned by any row before it is deleted: much longer than any
package needs from writing the file to its commit, including waits for a full disk."""

FILES_PER_LOOK = 1_000
"""Most files looked at without a pause, so that a stop never waits for a large spool."""

MARKED_MAX = 100_000
"""Most unmentioned files remembered between sweeps; the others follow when these are deleted."""


class Forgotten(Word):
    """How much a sweep forgot."""

    inbound: int = 0
    """Inbound messages, tombstones and transits."""
    outbound: int = 0
    pairs: int = 0
    files: int = 0
    jobs: int = 0
    """Rows of jobs that were never released, or whose messages are forgotten."""


class Purged(Word):
    """A sweep that ended."""

    forgotten: Forgotten
    at: int
    """When, microseconds UTC."""


class Retention(Word):
    """How long everything is kept after its end. Durations are whole seconds."""

    persist_duration_s: Mapping[str, int]
    """PersistDuration by the name of the agreement or route; messages of others are kept."""
    archive_duration_s: int = 0
    """Added to PersistDuration, for reasons of law or trade (S1-21)."""
    forget_pair_after_s: int | None = None
    """An idle counter of a sending pair is dropped (S0-56); None: never."""
    forget_job_after_s: int = 7 * 86_400
    """For rows staged and never released, and for jobs whose messages are all forgotten."""


class Purge:
    """Forgets for one gateway. `sweep` is called from time to time, never twice at once."""

    def __init__(self, *, office: Office, store: Store, spool: Spool, retention: Retention) -> None:
        self._office = office
        self._store = store
        self._spool = spool
        self.retention = retention
        """May be replaced between two steps."""
        self._sweeping = asyncio.Lock()
        self.last: Purged | None = None
        """What the last sweep of this process did."""
        self._marked: dict[KeptFile, int] = {}
        """Files that no row mentions, with the monotonic instant of the first look."""

    async def sweep(self) -> Forgotten:
        """Forget everything whose time is over; returns how much.

        Raises `StoreFull` (what was forgotten until then stays forgotten) and `StoreFailed`.
        """
        async with self._sweeping:
            before_at, settled_before = self.limits()
            outbound = 0
            for agreement_id, settled_before_at in settled_before.items():
                outbound += await self._forget_outbound(agreement_id, settled_before_at)
            # After the sent messages: the store keeps the received copy of a message that goes on
            # from here as long as the sent one, so both may be forgotten in one sweep.
            inbound = await self._forget_inbound(before_at)
            await self._forget_evidence(before_at)
            # After its messages: a conversation is forgotten when its last message may be.
            await self._forget_orders(before_at)
            pairs = await self._forget_pairs()
            jobs = await self._forget_jobs()
            done = Forgotten(inbound, outbound, pairs, await self._clear_spool(), jobs)
            self.last = Purged(done, self._office.clock.at())
            return done

    @property
    def is_running(self) -> bool:
        """Whether a sweep is under way."""
        return self._sweeping.locked()

    def limits(self) -> tuple[int, dict[str, int]]:
        """Before when a received message, and a message sent under each agreement, is over."""
        before_at = self._office.clock.at() - self.retention.archive_duration_s * US_PER_S
        durations = self.retention.persist_duration_s.items()
        return before_at, {name: before_at - s * US_PER_S for name, s in durations}

    async def _forget_inbound(self, before_at: int) -> int:
        def forget(txn: Transaction) -> int:
            return txn.purge_inbound(before_at, purge.ROWS_PER_STEP)

        return await self._repeat(forget, "received")

    async def _forget_orders(self, before_at: int) -> int:
        def forget(txn: Transaction) -> int:
            return txn.purge_orders(before_at, purge.ROWS_PER_STEP)

        return await self._repeat(forget, "conversations")

    async def _forget_outbound(self, agreement_id: str, settled_before_at: int) -> int:
        def forget(txn: Transaction) -> int:
            return txn.purge_outbound(agreement_id, settled_before_at, purge.ROWS_PER_STEP)

        return await self._repeat(forget, f"sent under {agreement_id}")

    async def _forget_evidence(self, before_at: int) -> int:
        def forget(txn: Transaction) -> int:
            return txn.purge_evidence(before_at, purge.ROWS_PER_STEP)

        return await self._repeat(forget, "signed envelopes")

    async def _forget_jobs(self) -> int:
        if not self._office.snapshot().list_jobs(0, 1):
            return 0  # Most gateways have no jobs, and need no step.
        before_at = self._office.clock.at() - self.retention.forget_job_after_s * US_PER_S
        forgotten, after = 0, 0

        def step(txn: Transaction, ground: Ground) -> JobPurge:
            purged = purge.purge_jobs(txn, ground, before_at, after)
            if purged.forgotten:
                self._office.failpoints.reach("before-purge")
            return purged

        while True:
            purged = await self._step(step)
            if purged.forgotten:
                self._office.failpoints.reach("after-purge")
            forgotten += purged.forgotten
            if purged.after is None:
                return forgotten
            after = purged.after

    async def _repeat(self, forget: Callable[[Transaction], int], what: str) -> int:
        def step(txn: Transaction, ground: Ground) -> int:
            count = purge.purge(txn, ground, forget, what)
            if count:
                self._office.failpoints.reach("before-purge")
            return count

        forgotten = 0
        while count := await self._step(step):
            self._office.failpoints.reach("after-purge")
            forgotten += count
        return forgotten

    async def _step(self, step: Step[T]) -> T:
        return await self._office.transact(step, patience_s=PATIENCE_S)

    async def _forget_pairs(self) -> int:
        after_s = self.retention.forget_pair_after_s
        if after_s is None:
            return 0
        before_at = self._office.clock.at() - after_s * US_PER_S
        return await self._step(partial(purge.forget_pairs, before_at=before_at))

    async def _clear_spool(self) -> int:
        now = self._office.clock.now()
        files = self._spool.list_kept()
        removed, kept = 0, set()
        while looked := await asyncio.to_thread(self._look_at_some, files, now):
            removed += looked.removed
            kept |= looked.unmentioned
        self._marked = {file: at_ns for file, at_ns in self._marked.items() if file in kept}
        if removed:
            self._office.failpoints.reach("after-clear")
            await self._step(partial(purge.note, count=removed, what="files of the spool"))
        return removed

    def _look_at_some(self, files: Iterator[KeptFile], now: Now) -> "_Look | None":
        # The snapshot is taken here because only the thread that takes it may use it. It has only
        # committed rows, so a purge that is not durable yet deletes no file.
        snapshot = self._store.snapshot()
        some = list(islice(files, FILES_PER_LOOK))
        unmentioned = {file for file in some if not snapshot.is_spooled(file.digest)}
        for file in islice(unmentioned - self._marked.keys(), MARKED_MAX - len(self._marked)):
            self._marked[file] = now.monotonic_ns
        long_ago_ns = now.monotonic_ns - UNMENTIONED_S * NS_PER_S
        over = [
            file for file in unmentioned if self._marked.get(file, now.monotonic_ns) <= long_ago_ns
        ]
        removed = sum(self._spool.remove(file) for file in over)
        return _Look(unmentioned.difference(over), removed) if some else None


class _Look(Word):
    """The result of looking at some files of the spool."""

    unmentioned: set[KeptFile]
    removed: int
