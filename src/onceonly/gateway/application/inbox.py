"""The application's inbox: ordered, replayable by offset, with the application's own progress."""

import asyncio
from collections.abc import Sequence
from functools import partial

from onceonly.gateway.desk import Desk
from onceonly.gateway.growth import Growth
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.message.word import Word
from onceonly.protocol.keeping import taken_back
from onceonly.protocol.receiving import InboundStatus, ProcessingState
from onceonly.steps import handing_over_again as steps
from onceonly.steps.processing import not_found, refuse, report, report_some, standing_of
from onceonly.store.contract.entries import InboxItem, StoredPayload
from onceonly.store.contract.listing import InboxFilter, JournalFilter, Listing
from onceonly.store.contract.store import Snapshot
from onceonly.store.spool import Spool
from onceonly.wire.timestamp import write_extended_timestamp

PAGE_BYTES_MAX = 32 << 20
"""Most payload bytes of one answer: its JSON or Arrow form is in memory as a whole, twice."""

PAYLOAD_BYTES_INLINE_MAX = 8 << 20
"""Largest payload that is sent with its item; a larger one must be fetched separately."""

OFFSETS_SHOWN_MAX = 20
"""Most offsets that the refusal of an ambiguous MessageId names: a BestEffort message may come any
number of times."""


Own = frozenset[str] | None
"""The agreements that a caller sees items of; None: it sees all."""


class WholeItem(Word):
    """An item and the bytes of its payloads; None for a payload that is too large."""

    item: InboxItem
    bodies: list[bytes | None]


def without_bytes(item: InboxItem) -> WholeItem:
    """The item with the bytes of none of its payloads."""
    return WholeItem(item, [None] * len(item.message.payloads))


class Inbox:
    """Reads and progress of one gateway's inbox."""

    def __init__(self, *, desk: Desk, spool: Spool, growth: Growth) -> None:
        self._desk = desk
        self._spool = spool
        self._growth = growth

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
        return self._desk.snapshot().list_inbox(after, limit)

    async def search(
        self, wanted: InboxFilter, wait_s: float, readers: asyncio.Semaphore
    ) -> Listing[InboxItem]:
        """Items that fit; where there are none, again when another item came, or after `wait_s`.

        It waits for one of `readers` to read, and holds none while it waits for an item.
        """
        grown = self._growth.watch()
        async with readers:
            found = await asyncio.to_thread(self._search, wanted)
        is_over = found.items or found.next_after is not None or wanted.is_newest_first
        if not is_over and wait_s > 0:
            await asyncio.wait((grown,), timeout=wait_s)
            async with readers:
                found = await asyncio.to_thread(self._search, wanted)
        grown.cancel()
        return found

    def _search(self, wanted: InboxFilter) -> Listing[InboxItem]:
        return self._desk.snapshot().search(wanted)

    def count_purged(self, after: int, up_to: int) -> int:
        """How many offsets above `after` up to `up_to` were given to messages that are purged."""
        snapshot = self._desk.snapshot()
        last = min(up_to, snapshot.last_offset())
        return max(0, last - after) - snapshot.count_offsets(after, last)

    def last_offset(self) -> int:
        """The greatest offset given so far."""
        return self._desk.snapshot().last_offset()

    def with_payloads(self, items: Sequence[InboxItem]) -> Sequence[WholeItem]:
        """The items with their payloads' bytes, as many as one answer holds; for a thread.

        At least one item, if there is any. The bytes of a payload above `PAYLOAD_BYTES_INLINE_MAX`
        are None: it must be fetched separately. Raises `StoreFailed`.
        """
        snapshot = self._desk.snapshot()
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

    def find(self, message_id: str | None, offset: int | None, own: Own = None) -> InboxItem:
        """The item at the offset; it must have the MessageId if that is given, too.

        With `own` it is under one of these agreements, or it is not there.

        A MessageId alone finds the newest item of the message, if no other message has it: two
        partners may use the same one, and a BestEffort message may have come twice. Raises
        `LocalError` (NotFound, Ambiguous).
        """
        snapshot = self._desk.snapshot()
        if offset is None:
            assert message_id is not None, "an item has an offset or a MessageId"
            offset = _only_offset(snapshot, message_id, own)
        item = snapshot.find_inbox_item(offset)
        is_named = item is not None and message_id in (None, item.message.message_id)
        if item is None or not is_named or not _is_own(item, own):
            raise not_found(message_id, offset)
        return item

    def get(self, message_id: str | None, offset: int | None, own: Own = None) -> InboxItem:
        """The item, unless its sender took the message back.

        Raises `LocalError` (NotFound, Ambiguous, Cancelled).
        """
        item = self.find(message_id, offset, own)
        standing = standing_of(self._desk.snapshot(), item)
        if standing.status is InboundStatus.CANCELLED:
            raise taken_back()
        return item

    def payload(
        self, message_id: str | None, number: int, offset: int | None, own: Own = None
    ) -> StoredPayload:
        """One payload of an item. Raises `LocalError` (NotFound, Ambiguous)."""
        item = self.find(message_id, offset, own)
        payloads = self._desk.snapshot().list_inbox_payloads(item.offset)
        if number >= len(payloads):
            name = item.message.message_id
            raise LocalError("NotFound", f"message {name!r} has {len(payloads)} payloads")
        return payloads[number]

    async def report(
        self,
        message_id: str | None,
        processing: ProcessingState,
        offset: int | None,
        own: Own = None,
    ) -> InboxItem:
        """Record the application's processing state; it only moves forward (I44).

        Raises `LocalError` (NotFound, Ambiguous, ProcessingWentBack, Cancelled, Refused).
        """
        item = self.find(message_id, offset, own)
        await self._desk.transact(lambda txn, ground: report(txn, ground, item, processing))
        return self.find(None, item.offset)

    async def report_range(
        self, after: int, up_to: int, processing: ProcessingState, own: Own = None
    ) -> int:
        """Record the state for every item above `after` up to `up_to`; returns how many changed.

        For an application that works through the inbox in order. An item in a later state stays as
        it is; so does one that the application refused, and one whose agreement is not configured
        any more. Raises `StoreFull`; items that were changed before that stay changed.
        """
        moved = 0
        while True:
            step = partial(report_some, after=after, up_to=up_to, processing=processing, own=own)
            count, last = await self._desk.transact(step)
            moved += count
            if last is None:
                return moved
            after = last

    async def refuse(
        self, message_id: str | None, reason: str, offset: int | None, own: Own = None
    ) -> InboxItem:
        """Record that the application will not process the message, and tell its From Party.

        The From Party is told if the agreement has failure notices (seed 001 §1.6, R-14);
        refusing again changes nothing. Raises `LocalError` (NotFound, Ambiguous,
        ProcessingWentBack, Cancelled).
        """
        item = self.find(message_id, offset, own)
        await self._desk.transact(lambda txn, ground: refuse(txn, ground, item, reason))
        return self.find(None, item.offset)

    async def hand_over_again(
        self,
        message_id: str | None,
        offset: int | None,
        own: Own = None,
        *,
        actor: str,
        reason: str,
        after: int | None = None,
    ) -> InboxItem:
        """Hand the message of an item over once more; returns the new item.

        With `after`, only if that was not done above this offset. Raises `LocalError` (NotFound,
        Ambiguous, Purged, Cancelled, UnknownAgreement, AlreadyHandedOver) and `StoreFull`.
        """
        found = await asyncio.to_thread(self._find_or_miss, message_id, offset, own)
        step = partial(
            steps.hand_over_again, offset=found.offset, actor=actor, reason=reason, after=after
        )
        item = await self._desk.transact(step)
        self._growth.announce()
        return item

    def _find_or_miss(self, message_id: str | None, offset: int | None, own: Own) -> InboxItem:
        """The item; where it is purged, the error says so, and when."""
        snapshot = self._desk.snapshot()
        try:
            return self.find(message_id, offset, own)
        except LocalError as error:
            if error.name != "NotFound" or own is not None:
                raise
            if message_id is None:
                assert offset is not None, "an item has an offset or a MessageId"
                raise _missing(snapshot, offset) from error
            rows = snapshot.list_journal_of(message_id)
            handed = [row for row in rows if row.event is Event.HANDED_OVER]
            if offset is not None or not handed:
                raise
            on = write_extended_timestamp(handed[-1].at)
            text = f"message {message_id!r} was handed over on {on}, and is purged"
            raise LocalError("Purged", f"{text}; {steps.ONLY_ITS_SENDER}") from error


def _missing(snapshot: Snapshot, offset: int) -> LocalError:
    missing = steps.missing(snapshot, offset)
    if missing.name != "Purged":
        return missing
    last = JournalFilter(event=Event.PURGED, is_newest_first=True, limit=1)
    on = [f" on {write_extended_timestamp(row.at)}" for row in snapshot.search(last).items]
    text = f"the message at offset {offset} is purged; the last purge was{''.join(on)}"
    return LocalError("Purged", f"{text}; {steps.ONLY_ITS_SENDER}") if on else missing


def _is_own(item: InboxItem, own: Own) -> bool:
    return own is None or item.message.agreement_id in own


def _only_offset(snapshot: Snapshot, message_id: str, own: Own) -> int:
    offsets = snapshot.list_inbox_offsets(message_id, OFFSETS_SHOWN_MAX + 1)
    if own is not None:
        # As many as are looked at are a handful; an item after them has its offset in the list.
        items = map(snapshot.find_inbox_item, offsets)
        offsets = [item.offset for item in items if item is not None and _is_own(item, own)]
    if not offsets:
        raise not_found(message_id, None)
    if len(offsets) > 1:
        shown = list(offsets[:OFFSETS_SHOWN_MAX])
        said = ", ".join(map(str, shown)) + (" and more" if len(offsets) > len(shown) else "")
        text = f"several messages have MessageId {message_id!r} in the inbox: say which, by offset"
        raise LocalError("Ambiguous", f"{text} ({said})", {"offsets": shown})
    return offsets[0]
