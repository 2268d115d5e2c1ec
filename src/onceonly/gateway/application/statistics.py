"""Counters over time and rare rows of the journal, as people ask for them. Only reads."""

from collections.abc import Sequence
from typing import Final

from onceonly.gateway.desk import Desk
from onceonly.journal.record import Record
from onceonly.message.event import Event
from onceonly.message.word import Word, changed
from onceonly.store.contract.counters import ALL, LISTED, EventCounts, ListedFilter, Span
from onceonly.store.contract.store import Snapshot

ANSWERS: Final = (Event.ACK_SENT, Event.ERROR_SENT, Event.RECEIPT_SENT)
"""Events that say how a repeat was answered."""


class Counted(Word):
    """Counters in order, and all of them together."""

    counters: Sequence[tuple[int, EventCounts]]
    together: EventCounts
    counted_seq: int
    last_seq: int


class ListedRow(Word):
    """A rare row; of a duplicate also the first copy, and the answer that it got."""

    record: Record
    first: Record | None = None
    answer: Record | None = None


class ListedRows(Word):
    """Rare rows, the newest first."""

    rows: Sequence[ListedRow]
    next_before: int | None
    counted_seq: int
    last_seq: int


class Statistics:
    """Answers from the counters of one gateway."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def now_at(self) -> int:
        """The wall clock."""
        return self._desk.clock.at()

    def count(self, span: Span, agreement_id: str | None, from_at: int, to_at: int) -> Counted:
        """The spans that begin from `from_at` on and before `to_at`."""
        snapshot = self._desk.snapshot()
        name = ALL if agreement_id is None else agreement_id
        found = snapshot.list_counts(span, name, from_at, to_at)
        together = EventCounts()
        for _, counts in found:
            together = together.plus(counts)
        return Counted(found, together, snapshot.counted_seq(), snapshot.last_seq())

    def list_rare(self, wanted: ListedFilter, event: Event | None) -> ListedRows:
        """Rows of one listed event, or of all of them together; `wanted.event` does not count."""
        snapshot = self._desk.snapshot()
        events = LISTED if event is None else (event,)
        pages = [snapshot.list_listed(changed(wanted, event=one)) for one in events]
        # Older rows of an event with another page are not known yet, so none is shown before them.
        known_to = max((page.next_before or 0 for page in pages), default=0)
        found = [row for page in pages for row in page.records if row.seq >= known_to]
        found.sort(key=lambda row: row.seq, reverse=True)
        shown = found[: wanted.limit]
        is_more = len(found) > len(shown)
        next_before = shown[-1].seq if is_more else known_to or None
        rows = [_with_first(snapshot, row) for row in shown]
        return ListedRows(rows, next_before, snapshot.counted_seq(), snapshot.last_seq())


def _with_first(snapshot: Snapshot, row: Record) -> ListedRow:
    if row.event is not Event.DUPLICATE_ELIMINATED or row.message_id is None:
        return ListedRow(row)
    first = snapshot.find_first_of(row.message_id, Event.STORED, 0)
    answers = [snapshot.find_first_of(row.message_id, event, row.seq) for event in ANSWERS]
    found = min((one for one in answers if one is not None), key=lambda one: one.seq, default=None)
    return ListedRow(row, first, found)
