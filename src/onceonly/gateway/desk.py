"""Where steps are run: each gets its ground, and nothing that it says leaves before its commit."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from onceonly.gateway.chance import Chance
from onceonly.gateway.clock import Clock
from onceonly.gateway.drill import Failpoints
from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.protocol.effects import Journal
from onceonly.steps.ground import Ground, House
from onceonly.store.contract.conditions import StoreFailed, StoreFull
from onceonly.store.contract.store import Snapshot, Store, Transaction
from onceonly.store.group import GroupCommit

T = TypeVar("T")

Step = Callable[[Transaction, Ground], T]

FULL_STORE_PAUSE_S = 1.0
"""Between attempts to write what happened while the disk is full."""

PATIENCE_S = 0.002
"""How long a step that nobody waits for looks out for company: about one fsync."""


class Desk:
    """Runs the steps of one gateway in the shared transactions of its store."""

    def __init__(
        self,
        *,
        house: House,
        store: Store,
        group: GroupCommit,
        clock: Clock,
        chance: Chance,
        failpoints: Failpoints,
    ) -> None:
        self.house = house
        self.clock = clock
        self.failpoints = failpoints
        self._store = store
        self._group = group
        self._chance = chance

    def ground(self) -> Ground:
        """The ground of a run that begins now, or of what is made outside any step."""
        return Ground(self.house, self.clock.now(), self._chance.draw())

    def snapshot(self) -> Snapshot:
        """Reads of committed rows; it belongs to the thread that asks for it."""
        return self._store.snapshot()

    def count_waiting(self) -> int:
        """Messages of ours without a verdict, as of the last commit."""
        return self._store.count_waiting()

    @property
    def failure(self) -> StoreFailed | None:
        """Why the store cannot be trusted any more; None as long as it can."""
        return self._group.failure

    async def transact(
        self, step: Step[T], *, point: str | None = None, patience_s: float = 0.0
    ) -> T:
        """The result of `step`, once everything that it wrote is durable.

        `point` names it in a drill, if it has a result: `before-POINT` is reached in its
        transaction, `after-POINT` after the commit. Raises as `GroupCommit.transact` does.
        """

        def run(txn: Transaction) -> T:
            result = step(txn, self.ground())
            if point is not None and result is not None:
                self.failpoints.reach(f"before-{point}")
            return result

        result = await self._group.transact(run, patience_s=patience_s)
        if point is not None and result is not None:
            self.failpoints.reach(f"after-{point}")
        return result

    async def persist(self, step: Step[T], *, point: str | None = None) -> T:
        """The same with patience, for what must be written although the disk is full (R-28).

        It waits for space as long as it takes.
        """
        while True:
            try:
                return await self.transact(step, point=point, patience_s=PATIENCE_S)
            except StoreFull:
                await asyncio.sleep(FULL_STORE_PAUSE_S)

    def about_gateway(self, event: Event, reason: str | None = None) -> Record:
        """A row about the gateway itself."""
        return self.house.rows.about_gateway(event, self.clock.now(), reason)

    async def write(self, *rows: Record) -> None:
        """Write journal rows that are made already, once there is space."""
        await self.persist(lambda txn, _: txn.append(rows))

    async def note(
        self,
        key: MessageKey,
        agreement: Agreement,
        direction: Direction,
        effect: Journal,
        *,
        endpoint: str | None = None,
    ) -> None:
        """Write a row about a message, once there is space."""
        now = self.clock.now()
        rows = self.house.rows
        await self.write(
            rows.about_message(key, agreement, direction, effect, now, endpoint=endpoint)
        )
