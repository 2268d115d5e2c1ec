"""The application's inbox: ordered, replayable by offset, with the application's own progress."""

import asyncio
from collections.abc import Sequence

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.clock import Clock
from onceonly.gateway.growth import Growth
from onceonly.gateway.receiving.failure_notices import FailureNotices, are_sent
from onceonly.gateway.rows import Rows
from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.errors import LocalError, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.message import DeliverySemantics, Message
from onceonly.message.word import Word
from onceonly.protocol.effects import Journal
from onceonly.protocol.keeping import may_follow, report_processing, taken_back
from onceonly.protocol.receiving import InboundStatus, ProcessingState
from onceonly.store.contract.entries import InboxItem, InboxStanding, OwedNotice, StoredPayload
from onceonly.store.contract.store import Snapshot, Store, Transaction
from onceonly.store.group import GroupCommit
from onceonly.store.spool import Spool

PAGE_BYTES_MAX = 32 << 20
"""Payload bytes of one answer: its JSON or Arrow form is in memory as a whole, twice."""

PAYLOAD_BYTES_INLINE_MAX = 8 << 20
"""Largest payload that goes along with its item; a larger one is fetched by itself."""

OFFSETS_SHOWN_MAX = 20
"""Offsets that the refusal of an ambiguous MessageId names; a BestEffort message has no bound."""

REPORTED_PER_STEP = 200
"""Items whose state moves in one step: some 20 ms in which no other step runs."""


class WholeItem(Word):
    """An item and the bytes of its payloads, where they are few enough."""

    item: InboxItem
    bodies: list[bytes | None]


class Inbox:
    """Reads and progress of one gateway's inbox."""

    def __init__(  # noqa: PLR0913 - because what an application says concerns its partners too
        self,
        *,
        store: Store,
        group: GroupCommit,
        agreements: Agreements,
        rows: Rows,
        clock: Clock,
        spool: Spool,
        growth: Growth,
        failure_notices: FailureNotices,
    ) -> None:
        self._store = store
        self._group = group
        self._agreements = agreements
        self._rows = rows
        self._clock = clock
        self._spool = spool
        self._growth = growth
        self._failure_notices = failure_notices

    async def read(self, after: int, limit: int, wait_s: float) -> Sequence[InboxItem]:
        """Items above the offset; waits up to `wait_s` seconds while there are none."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        while True:
            grown = self._growth.watch()
            items = await asyncio.to_thread(self._list, after, limit)
            left_s = until - loop.time()
            if items or left_s <= 0:
                grown.cancel()
                return items
            await asyncio.wait((grown,), timeout=left_s)
            grown.cancel()

    def _list(self, after: int, limit: int) -> Sequence[InboxItem]:
        # The snapshot is taken here because it belongs to the thread that takes it.
        return self._store.snapshot().list_inbox(after, limit)

    def last_offset(self) -> int:
        """The greatest offset given so far."""
        return self._store.snapshot().last_offset()

    def with_payloads(self, items: Sequence[InboxItem]) -> Sequence[WholeItem]:
        """The items with their payloads' bytes, as many as one answer holds; for a thread.

        At least one, where there is one. The bytes of a payload above `PAYLOAD_BYTES_INLINE_MAX`
        are None: they are to be had one by one. Raises `StoreFailed`.
        """
        snapshot = self._store.snapshot()
        whole: list[WholeItem] = []
        room = PAGE_BYTES_MAX
        for item in items:
            room -= item.message.size_bytes
            if whole and room < 0:
                break
            payloads = snapshot.list_inbox_payloads(item.offset)
            whole.append(WholeItem(item, [self._body(payload) for payload in payloads]))
        return whole

    def _body(self, stored: StoredPayload) -> bytes | None:
        is_large = stored.payload.size_bytes > PAYLOAD_BYTES_INLINE_MAX
        if stored.body is not None or is_large:
            return stored.body
        return b"".join(self._spool.open_reader(stored.payload.digest))

    def find(self, message_id: str | None, offset: int | None) -> InboxItem:
        """The item at the offset, which must have the MessageId if that is said too.

        By a MessageId alone only where one item has it: two partners may have one, and what came
        as BestEffort may have come twice. Raises `LocalError` (NotFound, Ambiguous).
        """
        snapshot = self._store.snapshot()
        if offset is None:
            assert message_id is not None, "an item has an offset or a MessageId"
            offset = _only_offset(snapshot, message_id)
        item = snapshot.find_inbox_item(offset)
        if item is None or message_id not in (None, item.message.message_id):
            raise _not_found(message_id, offset)
        return item

    def get(self, message_id: str | None, offset: int | None) -> InboxItem:
        """The item, as long as it is to be processed.

        Raises `LocalError` (NotFound, Ambiguous, Cancelled).
        """
        item = self.find(message_id, offset)
        standing = _standing(self._store.snapshot(), item)
        if standing.status is InboundStatus.CANCELLED:
            raise taken_back()
        return item

    def payload(self, message_id: str | None, number: int, offset: int | None) -> StoredPayload:
        """One payload of an item. Raises `LocalError` (NotFound, Ambiguous)."""
        item = self.find(message_id, offset)
        payloads = self._store.snapshot().list_inbox_payloads(item.offset)
        if number >= len(payloads):
            name = item.message.message_id
            raise LocalError("NotFound", f"message {name!r} has {len(payloads)} payloads")
        return payloads[number]

    async def report(
        self, message_id: str | None, processing: ProcessingState, offset: int | None
    ) -> InboxItem:
        """Record the application's processing state; it only moves forward (I44).

        Raises `LocalError` (NotFound, Ambiguous, ProcessingWentBack, Cancelled, Refused).
        """
        item = self.find(message_id, offset)

        def step(txn: Transaction) -> None:
            standing = _standing(txn, item)
            if standing.is_refused:
                name = item.message.message_id
                raise LocalError("Refused", f"{name!r} was refused by the application")
            self._put(txn, item, processing, _reported(standing, processing))

        await self._group.transact(step)
        return self.find(None, item.offset)

    def _put(
        self,
        txn: Transaction,
        item: InboxItem,
        processing: ProcessingState,
        rows: Sequence[Journal],
    ) -> None:
        # Made first: an agreement that is configured no more is found out before anything is
        # written.
        records = self._records(item.message, rows)
        if records:
            txn.put_processing(item.offset, processing)
            txn.append(records)

    async def report_range(self, after: int, up_to: int, processing: ProcessingState) -> int:
        """Record the state for every item above `after` up to `up_to`; how many it moved.

        For an application that works through the inbox in order. What has come further stays as
        it is; what the application refused, and whose agreement is configured no more, is left
        alone. Raises `StoreFull`; what was moved until then stays moved.
        """
        moved = 0
        while True:

            def step(txn: Transaction, after: int = after) -> tuple[int, int | None]:
                items = txn.list_unfinished(after, up_to, processing, REPORTED_PER_STEP)
                count = sum(self._move(txn, item, processing) for item in items)
                return count, items[-1].offset if items else None

            count, last = await self._group.transact(step)
            moved += count
            if last is None:
                return moved
            after = last

    def _move(self, txn: Transaction, item: InboxItem, processing: ProcessingState) -> bool:
        standing = _standing(txn, item)
        current = standing.processing
        if standing.status is InboundStatus.CANCELLED or not may_follow(current, processing):
            return False
        is_known = self._agreements.find(item.message.agreement_id) is not None
        if not is_known or standing.is_refused:
            return False
        self._put(txn, item, processing, _reported(standing, processing))
        return current is not processing

    async def refuse(self, message_id: str | None, reason: str, offset: int | None) -> InboxItem:
        """Record that the application will not process the message, and tell its From Party.

        The From Party is told where the agreement has failure notices (seed 001 §1.6, R-14);
        refusing again changes nothing. Raises `LocalError` (NotFound, Ambiguous,
        ProcessingWentBack, Cancelled).
        """
        item = self.find(message_id, offset)
        message = item.message

        def step(txn: Transaction) -> OwedNotice | None:
            standing = _standing(txn, item)
            if standing.is_refused:
                return None
            _reported(standing, ProcessingState.IN_PROGRESS)
            refused = Journal(Event.APPLICATION_REFUSED, reason=reason)
            txn.append(self._records(message, (refused,)))
            txn.put_refused(item.offset)
            notice = self._notice(message, reason)
            if notice is not None:
                self._failure_notices.owe(txn, notice)
            return notice

        notice = await self._group.transact(step)
        if notice is not None:
            self._failure_notices.release(notice)
        return self.find(None, item.offset)

    def _notice(self, message: Message, reason: str) -> OwedNotice | None:
        agreement = self._agreement(message)
        is_reliable = message.semantics is not DeliverySemantics.BEST_EFFORT
        if not is_reliable or not are_sent(agreement.profile, agreement.terms):
            return None
        return OwedNotice(
            message.key,
            agreement.id,
            message.conversation_id,
            message.semantics,
            Severity.ERROR,
            reason,
        )

    def _records(self, message: Message, rows: Sequence[Journal]) -> list[Record]:
        now = self._clock.now()
        agreement = self._agreement(message)
        return [
            self._rows.about_message(message.key, agreement, Direction.IN, row, now) for row in rows
        ]

    def _agreement(self, message: Message) -> Agreement:
        """Raises `LocalError` (UnknownAgreement) where the configuration has lost it."""
        agreement = self._agreements.find(message.agreement_id)
        if agreement is None:
            raise LocalError(
                "UnknownAgreement", f"agreement {message.agreement_id!r} is configured no more"
            )
        return agreement


def _standing(txn: Snapshot, item: InboxItem) -> InboxStanding:
    """How the item stands: that of its offset, since several may have its MessageId (R-16)."""
    standing = txn.find_inbox_standing(item.offset)
    if standing is None:
        raise _not_found(item.message.message_id, item.offset)
    return standing


def _reported(standing: InboxStanding, processing: ProcessingState) -> tuple[Journal, ...]:
    return report_processing(standing.status, standing.processing, processing)


def _only_offset(snapshot: Snapshot, message_id: str) -> int:
    offsets = snapshot.list_inbox_offsets(message_id, OFFSETS_SHOWN_MAX + 1)
    if not offsets:
        raise _not_found(message_id, None)
    if len(offsets) > 1:
        shown = list(offsets[:OFFSETS_SHOWN_MAX])
        said = ", ".join(map(str, shown)) + (" and more" if len(offsets) > len(shown) else "")
        text = f"several items of the inbox have MessageId {message_id!r}: say which, by its offset"
        raise LocalError("Ambiguous", f"{text} ({said})", {"offsets": shown})
    return offsets[0]


def _not_found(message_id: str | None, offset: int | None) -> LocalError:
    named = "message" if message_id is None else f"message {message_id!r}"
    place = "" if offset is None else f" at offset {offset}"
    return LocalError("NotFound", f"no {named} in the inbox{place}")
