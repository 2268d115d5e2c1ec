"""The sending side's life between commits: timers, transmissions, and what they report back.

Departures leave only after the commit of their step. Deadlines are not durable: after a restart
everything in flight gets `Restarted` instead, and is transmitted again at once.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from onceonly.gateway.clock import Clock
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.outbound import (
    Departure,
    Draft,
    MessageWork,
    NextWork,
    Outcome,
    PairWork,
    SendingSteps,
    Work,
    read_package,
)
from onceonly.gateway.persistence import persist
from onceonly.gateway.tasks import Tasks
from onceonly.message.identity import Pair
from onceonly.message.instant import Now
from onceonly.message.package import Package
from onceonly.message.signals import Acknowledgment, ErrorEntry, ErrorSignal
from onceonly.protocol import pairing, sending
from onceonly.protocol.events import (
    AckReceived,
    Cancelled,
    DeadlineReached,
    ErrorReceived,
    Restarted,
    SendingEvent,
    TimePassed,
    Transmitted,
)
from onceonly.store.group import GroupCommit
from onceonly.store.spool import Spool
from onceonly.store.store import OutboundEntry, Store, StoredPayload, Transaction
from onceonly.transport.transport import Outgoing, Transport

OVERDUE_BATCH = 200
"""Messages per sweep step: keeps one step short while a backlog expires."""


class PackageBody:
    """A package's bytes around its payloads, from memory or from the spool."""

    def __init__(self, package: Package, payloads: Sequence[StoredPayload], spool: Spool) -> None:
        self._package = package
        self._payloads = payloads
        self._spool = spool

    @property
    def size_bytes(self) -> int:
        """Length of the package."""
        return self._package.size_bytes(tuple(stored.payload for stored in self._payloads))

    def whole(self) -> bytes | None:
        """All of it, where every payload is in memory."""
        if any(stored.body is None for stored in self._payloads):
            return None
        return b"".join(self._pieces())

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes in bounded pieces."""
        for piece in self._pieces():
            yield piece

    def _pieces(self) -> Iterator[bytes]:
        yield self._package.segments[0]
        for stored, segment in zip(self._payloads, self._package.segments[1:], strict=True):
            if stored.body is not None:
                yield stored.body
            else:
                yield from self._spool.open_reader(stored.payload.digest)
            yield segment


class Dispatch:
    """Runs the sending side of every pair of this gateway."""

    def __init__(  # noqa: PLR0913 - because this is where the sending side's parts meet
        self,
        *,
        steps: SendingSteps,
        store: Store,
        group: GroupCommit,
        spool: Spool,
        transport: Transport,
        clock: Clock,
        failpoints: Failpoints,
        tasks: Tasks,
    ) -> None:
        self._steps = steps
        self._store = store
        self._group = group
        self._spool = spool
        self._transport = transport
        self._clock = clock
        self._failpoints = failpoints
        self._tasks = tasks
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._is_draining = False

    async def start(self) -> None:
        """Take up what a stop or a crash left in flight, and the queues behind it."""

        def work(txn: Transaction) -> list[Work]:
            in_flight = [
                MessageWork(entry.message_id, Restarted()) for entry in txn.list_in_flight()
            ]
            return [
                *in_flight,
                *(NextWork(pair) for pair in txn.list_waiting_pairs()),
            ]

        await self._run(work)

    def drain(self) -> None:
        """Begin no further transmission; those under way may end."""
        self._is_draining = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def enqueue(self, txn: Transaction, draft: Draft, state: sending.Outbound, now: Now) -> Outcome:
        """In a submission's step: give the stored message its turn if the pair is free."""
        message = draft.message
        pair = message.pair
        entry = OutboundEntry(message.message_id, pair, message.agreement_id, state)
        work = (self._steps.queued(entry),)
        outcome = self._steps.run(txn, now, work, entry=entry, draft=draft)
        self._failpoints.reach("before-commit")
        return outcome

    def release(self, outcome: Outcome) -> None:
        """After the commit: set the timers and let the departures go."""
        if outcome.departures:
            self._failpoints.reach("after-commit")
        for message_id in outcome.touched:
            self._set_timer(message_id)
        if self._is_draining:
            return
        for departure in outcome.departures:
            self._tasks.start(self._transmit(departure))

    async def on_acknowledgment(self, signal: Acknowledgment) -> bool:
        """Take an acknowledgement; False if it fits no message of ours (R-20)."""
        return await self._on_signal(signal, (AckReceived(),))

    async def on_error(self, signal: ErrorSignal) -> bool:
        """Take an ErrorList; False if it fits no message of ours (R-20)."""
        return await self._on_signal(signal, tuple(map(_error_received, signal.errors)))

    async def cancel(self, message_id: str) -> bool:
        """Take a message back; False if there is none. Raises `LocalError` (NotCancellable)."""
        return await self._on_events(message_id, (Cancelled(),), lambda _: True)

    async def suspend(self, pair: Pair, reason: str) -> None:
        """Suspend a pair on an operator's word."""
        await self._run(lambda _: [PairWork(pair, pairing.SuspendRequested(reason))])

    async def resume(self, pair: Pair) -> None:
        """Resume a pair on an operator's word (seed 000 §2.1.4.3)."""
        await self._run(lambda _: [PairWork(pair, pairing.ResumeRequested())])

    async def sweep(self) -> None:
        """Tell overdue messages that their time has passed (R-08)."""
        at = self._clock.at()
        if not self._store.snapshot().list_overdue(at, 1):
            return

        def work(txn: Transaction) -> list[Work]:
            overdue = txn.list_overdue(at, OVERDUE_BATCH)
            return [MessageWork(entry.message_id, TimePassed()) for entry in overdue]

        await self._run(work)

    async def _run(self, work: Callable[[Transaction], list[Work]]) -> None:
        def step(txn: Transaction) -> Outcome:
            return self._steps.run(txn, self._clock.now(), work(txn))

        self.release(await self._group.transact(step))

    async def _on_signal(
        self, signal: Acknowledgment | ErrorSignal, events: Sequence[SendingEvent]
    ) -> bool:
        """Ruling R-20: RefToMessageId and the peer's identity must both fit."""
        senders = {str(party) for party in signal.header.from_ids}
        return await self._on_events(
            signal.header.ref_to_message_id,
            events,
            lambda entry: senders <= self._identities(entry),
        )

    async def _on_events(
        self,
        message_id: str,
        events: Sequence[SendingEvent],
        fits: Callable[[OutboundEntry], bool],
    ) -> bool:
        def step(txn: Transaction) -> Outcome | None:
            entry = txn.find_outbound(message_id)
            if entry is None or not fits(entry):
                return None
            work = [MessageWork(message_id, event) for event in events]
            return self._steps.run(txn, self._clock.now(), work, entry=entry)

        outcome = await self._group.transact(step)
        if outcome is None:
            return False
        self.release(outcome)
        return True

    def _identities(self, entry: OutboundEntry) -> set[str]:
        agreement = self._steps.agreement(entry.agreement_id)
        return {agreement.receiver_uri, agreement.send_to, *map(str, agreement.their_ids)}

    async def _transmit(self, departure: Departure) -> None:
        self._failpoints.reach("before-transmit")
        package, payloads = departure.package, departure.payloads
        if package is None or payloads is None:
            package, payloads = read_package(self._store.snapshot(), departure.message_id)
        body = PackageBody(package, payloads, self._spool)
        outgoing = Outgoing(departure.agreement.send_to, package.content_type, body)
        transmission = await self._transport.send(outgoing)
        self._failpoints.reach("after-transmit")
        await self._report(departure.message_id, Transmitted(departure.attempt, transmission))

    async def _report(self, message_id: str, event: SendingEvent) -> None:
        """Tell the machine what happened; it has to know, if need be once there is space."""
        work = (MessageWork(message_id, event),)
        outcome = await persist(
            self._group, lambda txn: self._steps.run(txn, self._clock.now(), work)
        )
        self.release(outcome)

    def _set_timer(self, message_id: str) -> None:
        timer = self._timers.pop(message_id, None)
        if timer is not None:
            timer.cancel()
        due_ns = self._steps.due_ns.get(message_id)
        if due_ns is None or self._is_draining:
            return
        wait_s = self._clock.real_wait_s(due_ns)
        loop = asyncio.get_running_loop()
        self._timers[message_id] = loop.call_later(wait_s, self._reach_deadline, message_id)

    def _reach_deadline(self, message_id: str) -> None:
        del self._timers[message_id]
        if self._is_draining:
            return None
        due_ns = self._steps.due_ns.get(message_id)
        if due_ns is not None and self._clock.real_wait_s(due_ns) > 0:
            return self._set_timer(message_id)
        # Without a deadline: a step that ended the wait is being committed, or was undone by a
        # full disk. The machine sees which, and only in the second case sends again.
        self._tasks.start(self._report(message_id, DeadlineReached()))
        return None


def _error_received(entry: ErrorEntry) -> ErrorReceived:
    text = ": ".join(part for part in (entry.code_text, entry.description) if part)
    return ErrorReceived(entry.code, entry.severity, entry.min_retry_s, text)
