"""The application's inbox: ordered, replayable by offset, with the application's own progress."""

import asyncio
from collections.abc import Sequence

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.clock import Clock
from onceonly.gateway.growth import Growth
from onceonly.gateway.rows import Rows
from onceonly.message.errors import LocalError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.protocol.effects import Journal
from onceonly.protocol.keeping import may_follow
from onceonly.protocol.receiving import ProcessingState
from onceonly.store.group import GroupCommit
from onceonly.store.store import InboxItem, Store, StoredPayload, Transaction


class Inbox:
    """Reads and progress of one gateway's inbox."""

    def __init__(
        self,
        *,
        store: Store,
        group: GroupCommit,
        agreements: Agreements,
        rows: Rows,
        clock: Clock,
        growth: Growth,
    ) -> None:
        self._store = store
        self._group = group
        self._agreements = agreements
        self._rows = rows
        self._clock = clock
        self._growth = growth

    async def read(self, after: int, limit: int, wait_s: float) -> Sequence[InboxItem]:
        """Items above the offset; waits up to `wait_s` seconds while there are none."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        while True:
            grown = self._growth.watch()
            items = self._store.snapshot().list_inbox(after, limit)
            left_s = until - loop.time()
            if items or left_s <= 0:
                grown.cancel()
                return items
            await asyncio.wait((grown,), timeout=left_s)
            grown.cancel()

    def find(self, message_id: str, offset: int | None) -> InboxItem:
        """The item with this MessageId (and offset). Raises `LocalError` (NotFound)."""
        snapshot = self._store.snapshot()
        if offset is None:
            item = snapshot.find_inbox_item(message_id)
        else:
            item = next(iter(snapshot.list_inbox(offset - 1, 1)), None)
            if item is not None and (item.offset, item.message.message_id) != (offset, message_id):
                item = None
        if item is None:
            raise LocalError("NotFound", f"no message {message_id!r} in the inbox")
        return item

    def payload(self, message_id: str, number: int, offset: int | None) -> StoredPayload:
        """One payload of an item. Raises `LocalError` (NotFound)."""
        item = self.find(message_id, offset)
        payloads = self._store.snapshot().list_inbox_payloads(item.offset)
        if number >= len(payloads):
            raise LocalError("NotFound", f"message {message_id!r} has {len(payloads)} payloads")
        return payloads[number]

    async def report(
        self, message_id: str, processing: ProcessingState, offset: int | None
    ) -> InboxItem:
        """Record the application's processing state; it only moves forward (I44).

        Raises `LocalError` (NotFound, ProcessingWentBack).
        """
        item = self.find(message_id, offset)
        key = MessageKey(
            str(item.message.from_ids[0]), str(item.message.to_ids[0]), item.message.message_id
        )

        def step(txn: Transaction) -> None:
            entry = txn.find_inbound(key)
            assert entry is not None, f"{key} is in the inbox"
            if entry.processing is processing:
                return
            if not may_follow(entry.processing, processing):
                raise LocalError(
                    "ProcessingWentBack", f"{message_id!r} is {entry.processing.value} already"
                )
            agreement = self._agreements.find(entry.agreement_id)
            assert agreement is not None, f"{key} names agreement {entry.agreement_id!r}"
            txn.put_processing(key, processing)
            change = Journal(Event.PROCESSING_CHANGED, reason=processing.value)
            now = self._clock.now()
            txn.append((self._rows.about_message(key, agreement, Direction.IN, change, now),))

        await self._group.transact(step)
        return self.find(message_id, item.offset)
