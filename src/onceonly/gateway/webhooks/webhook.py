"""One webhook: tells it the events of the journal in their order, each until it is delivered.

The place in the journal is durable and moves in the transaction that notes the outcome, so no event
is lost by a crash, and at most the one whose outcome it cut off is told again, under the same id.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Final

from onceonly.api.events import KIND_OF
from onceonly.gateway.certificates import digest_of_file
from onceonly.gateway.config import Webhook
from onceonly.gateway.desk import Desk
from onceonly.gateway.webhooks.posting import Posted, Poster
from onceonly.gateway.webhooks.signing import body_of, headers_of
from onceonly.journal.record import Record
from onceonly.message.instant import US_PER_S
from onceonly.message.word import changed
from onceonly.steps import webhooks as steps
from onceonly.store.contract.store import Snapshot
from onceonly.store.contract.webhooks import DeliveryState, WebhookDelivery, WebhookSnapshot

LOOK_S: Final = 0.5
"""Pause between two looks for new rows."""

ROWS_PER_READ: Final = 500

OWED_ROWS_MAX: Final = 10_000
"""Rows that are looked at to count what a webhook was not told."""

PASSED_BY_MAX: Final = 10_000
"""Rows without an event for it after which its place is noted: a restart looks at no more again."""

PAUSES_S: Final = (1, 5, 15, 60, 300, 900, 1800, 3600)
"""Pauses after the first failed attempts; the last one is repeated."""


class Told:
    """One webhook of a gateway that runs."""

    def __init__(
        self, wanted: Webhook, *, desk: Desk, poster: Poster, keys: Sequence[bytes]
    ) -> None:
        self.wanted = wanted
        self.ended = asyncio.Event()
        """Set once nothing is posted any more."""
        self.trouble: str | None = None
        self.attempts = 0
        """Failed attempts at the event whose turn it is."""
        self._desk = desk
        self._poster = poster
        self._keys = keys
        self._kinds = frozenset(wanted.kinds)
        self._rows: deque[Record] = deque()
        """Rows after `_seq` that were read already: a row of the journal never changes."""
        self._seq = 0
        self._noted_seq = 0
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()

    @property
    def seq(self) -> int:
        """Up to this row everything was told; 0 before it has begun."""
        return self._seq

    def is_as(self, wanted: Webhook) -> bool:
        """Whether it is told just as `wanted` says, down to the certificates that are trusted."""
        return self.wanted == wanted and self._poster.believed == digest_of_file(wanted.trusted)

    def count_owed(self) -> int:
        """Events that it was not told yet, `ROWS_PER_READ` at most; reads the store."""
        snapshot = self._desk.snapshot()
        seq = self._seq or deliveries_of(snapshot).find_webhook_seq(self.wanted.id)
        if seq is None:
            return 0
        rows = snapshot.list_journal(seq, OWED_ROWS_MAX)
        owed = sum(KIND_OF[row.event] in self._kinds for row in rows)
        again = deliveries_of(snapshot).list_deliveries(
            self.wanted.id, 0, ROWS_PER_READ, DeliveryState.REPLAY
        )
        return min(owed + len(again), ROWS_PER_READ)

    def is_stopped(self) -> bool:
        """Whether nothing more is posted."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Post nothing more; an attempt that is under way ends."""
        self._stop.set()
        self._hurry.set()

    def hurry(self) -> None:
        """Try at once what waits for its next attempt."""
        self._hurry.set()

    async def work(self) -> None:
        """Tell what happens until the gateway stops."""
        await self.begin()
        while not self.is_stopped():
            if not await self.look():
                await self.pause(LOOK_S)

    async def begin(self) -> None:
        """Find the place in the journal; a new webhook begins at its end."""
        self._rows.clear()
        begin = partial(steps.begin, webhook=self.wanted.id)
        self._seq = self._noted_seq = await self._desk.persist(begin)

    async def close(self) -> None:
        """Close the connections, after the work has ended."""
        await self._poster.close()

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until somebody is in a hurry."""
        try:
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
        except TimeoutError:
            return
        if not self.is_stopped():
            self._hurry.clear()

    async def look(self) -> bool:
        """Tell one event, of those asked for once more first; False if there was nothing to do."""
        asked = await asyncio.to_thread(self._find_replay)
        if asked is not None:
            record, delivery = asked
            await self._attempt(record, delivery, is_replay=True)
            return True
        has_rows = await self._has_rows()
        while self._rows:
            record = self._rows[0]
            if KIND_OF[record.event] in self._kinds:
                await self._tell(record)
                return True
            self._seq = record.seq
            self._rows.popleft()
        if self._seq - self._noted_seq >= PASSED_BY_MAX:
            step = partial(steps.pass_by, webhook=self.wanted.id, seq=self._seq)
            await self._desk.persist(step)
            self._noted_seq = self._seq
        return has_rows

    async def _has_rows(self) -> bool:
        """Whether there are rows that it was not told; what was read is used up first."""
        if not self._rows:
            self._rows.extend(await asyncio.to_thread(self._read))
        return bool(self._rows)

    def _read(self) -> Sequence[Record]:
        return self._desk.snapshot().list_journal(self._seq, ROWS_PER_READ)

    def _find_replay(self) -> tuple[Record, WebhookDelivery] | None:
        snapshot = self._desk.snapshot()
        found = deliveries_of(snapshot).list_deliveries(self.wanted.id, 0, 1, DeliveryState.REPLAY)
        if not found:
            return None
        (record,) = snapshot.list_journal(found[0].seq - 1, 1)
        return record, found[0]

    async def _tell(self, record: Record) -> None:
        """One attempt at the event whose turn it is, and a pause if it failed."""
        found = await asyncio.to_thread(self._find_delivery, record.seq)
        at = self._desk.clock.at()
        new = WebhookDelivery(self.wanted.id, record.seq, DeliveryState.PENDING, 0, at)
        state = await self._attempt(record, found or new, is_replay=False)
        if state is not DeliveryState.PENDING:
            self._seq = self._noted_seq = record.seq
            self._rows.popleft()
            self.attempts = 0
            return
        self.attempts += 1
        await self.pause(PAUSES_S[min(self.attempts, len(PAUSES_S)) - 1])

    def _find_delivery(self, seq: int) -> WebhookDelivery | None:
        return deliveries_of(self._desk.snapshot()).find_delivery(self.wanted.id, seq)

    async def _attempt(
        self, record: Record, delivery: WebhookDelivery, *, is_replay: bool
    ) -> DeliveryState:
        at, body = self._desk.clock.at(), body_of(record)
        self._desk.failpoints.reach("before-post")
        posted = await self._poster.post(body, headers_of(record, body, self._keys, at=at))
        self._desk.failpoints.reach("after-post")
        self.trouble = posted.reason
        tried = changed(
            delivery,
            state=self._state_after(delivery, posted, at, is_replay=is_replay),
            attempts=delivery.attempts + 1,
            last_at=at,
            status_code=posted.status_code,
            reason=posted.reason,
        )
        await self._desk.persist(partial(steps.note_attempt, delivery=tried, is_replay=is_replay))
        return tried.state

    def _state_after(
        self, delivery: WebhookDelivery, posted: Posted, at: int, *, is_replay: bool
    ) -> DeliveryState:
        if posted.reason is None:
            return DeliveryState.DELIVERED
        # A replay is one attempt: whoever asked for it looks at what became of it.
        is_over = at - delivery.first_at >= self.wanted.give_up_after_s * US_PER_S
        return DeliveryState.DEAD if is_replay or is_over else DeliveryState.PENDING


def told_of(wanted: Webhook, desk: Desk) -> Told:
    """The webhook, ready to be told. Raises `OSError` for certificates that cannot be used."""
    poster = Poster(wanted.url, trusted=wanted.trusted, timeout_s=wanted.timeout_s)
    return Told(wanted, desk=desk, poster=poster, keys=wanted.secrets)


def deliveries_of(snapshot: Snapshot) -> WebhookSnapshot:
    """The snapshot as one that knows webhooks."""
    assert isinstance(snapshot, WebhookSnapshot), "the start has checked the store"
    return snapshot
