"""Runs steps and posts signals: gives each step its `Ground`, and commits it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from onceonly.gateway.surroundings import Surroundings
from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement, Route
from onceonly.message.digest import Digests
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.message.package import Package
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import Transmission
from onceonly.steps.ground import Ground, House
from onceonly.steps.leaving import Leaving, Released
from onceonly.steps.signals import whole
from onceonly.steps.transmission import signal_endpoint_of, signal_headers
from onceonly.store.contract.conditions import StoreFailed, StoreFull
from onceonly.store.contract.store import Snapshot, Store, Transaction
from onceonly.store.group import GroupCommit
from onceonly.transport.transport import Outgoing, TakeReply

T = TypeVar("T")

Step = Callable[[Transaction, Ground], T]

FULL_STORE_PAUSE_S = 1.0
"""Seconds between two attempts to write what happened while the disk is full."""

PATIENCE_S = 0.002
"""How long a step that nobody waits for may wait for other steps of its group: about one fsync."""


class BytesBody:
    """A small body in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    @property
    def size_bytes(self) -> int:
        """Length of the content."""
        return len(self._content)

    def whole(self) -> bytes:
        """All of it."""
        return self._content

    async def chunks(self) -> AsyncIterator[bytes]:
        """All of it, in one piece."""
        yield self._content


class Office:
    """Runs the steps of one gateway in the shared transactions of its store, and posts signals."""

    def __init__(
        self, *, house: House, store: Store, group: GroupCommit, around: Surroundings
    ) -> None:
        self.house = house
        self.clock = around.clock
        self.failpoints = around.failpoints
        self._store = store
        self._group = group
        self._transport = around.transport
        self._chance = around.chance

    def ground(self) -> Ground:
        """A `Ground` for a run that begins now, or for work outside any step."""
        return Ground(self.house, self.clock.now(), self._chance.draw())

    def snapshot(self) -> Snapshot:
        """A view of the committed rows; only the thread that asks for it may use it."""
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
        """Run `step`, and return its result when everything that it wrote is durable.

        `point` is its name in a drill, if it has a result: `before-POINT` is reached in its
        transaction, `after-POINT` after the commit. Raises as `GroupCommit.transact` does.
        """
        result = await self._group.transact(self._run(step, point), patience_s=patience_s)
        return self._done(result, point)

    def next_commit(self) -> "asyncio.Future[None]":
        """A future that the next commit resolves; many may share it, so none of them cancels it."""
        return self._group.watch()

    def aside(self, work: Callable[[], T]) -> Awaitable[T]:
        """The result of `work`, which runs between two transactions and is no step."""
        return self._group.aside(work)

    async def persist(self, step: Step[T], *, point: str | None = None) -> T:
        """Like `transact`, for what must be written although the disk is full (R-28).

        It waits for space, without a limit.
        """
        run = self._run(step, point)
        while True:
            try:
                result = await self._group.transact(run, patience_s=PATIENCE_S)
            except StoreFull:
                await asyncio.sleep(FULL_STORE_PAUSE_S)
            else:
                return self._done(result, point)

    def _run(self, step: Step[T], point: str | None) -> Callable[[Transaction], T]:
        def run(txn: Transaction) -> T:
            result = step(txn, self.ground())
            if point is not None and result is not None:
                self.failpoints.reach(f"before-{point}")
            return result

        return run

    def _done(self, result: T, point: str | None) -> T:
        """After the commit."""
        if point is not None and result is not None:
            self.failpoints.reach(f"after-{point}")
        if isinstance(result, Leaving | Released):
            self._release(result)
        return result

    def _release(self, result: Leaving | Released) -> None:
        """The office sends nothing for a step, so its steps must not want to send anything."""
        raise AssertionError(f"a step of the office wants something to leave: {result}")

    def post(
        self,
        whose: Agreement | Route,
        action: str,
        signal: Package,
        endpoint: str | None = None,
        take_reply: TakeReply | None = None,
    ) -> Awaitable[Transmission]:
        """Transmit a signal once (R-20), to the address that was agreed unless another is given."""
        if endpoint is None:
            endpoint = whose.back_to if isinstance(whose, Route) else signal_endpoint_of(whose)
        body, headers = BytesBody(whole(signal)), signal_headers(whose, action)
        return self._transport.send(
            Outgoing(endpoint, signal.content_type, body, take_reply=take_reply, headers=headers)
        )

    def about_gateway(self, event: Event, reason: str | None = None) -> Record:
        """A row about the gateway itself."""
        return self.house.rows.about_gateway(event, self.clock.now(), reason)

    async def write(self, *rows: Record) -> None:
        """Write journal rows; waits for space if the disk is full."""
        await self.persist(lambda txn, _: txn.append(rows))

    async def note(
        self,
        key: MessageKey,
        agreement: Agreement,
        direction: Direction,
        effect: Journal,
        *,
        endpoint: str | None = None,
        digests: Digests | None = None,
    ) -> None:
        """Write a row of this instant about a message; waits for space if the disk is full."""
        now, rows = self.clock.now(), self.house.rows
        await self.write(
            rows.about_message(
                key, agreement, direction, effect, now, endpoint=endpoint, digests=digests
            )
        )
