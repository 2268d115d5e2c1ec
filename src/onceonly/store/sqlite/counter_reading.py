"""Questions about counters to the SQLite store: the contract's `CounterSnapshot`.

Knows which named query answers which question; must not write. The journal is grouped by SQLite,
which needs no lock of the interpreter for it, so that a fold keeps no other thread waiting.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in counters.py

from collections.abc import Mapping, Sequence

from onceonly.api.decoding import decoded
from onceonly.journal.record import Record
from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.store.contract.counters import (
    LOOKED_AT_MAX,
    EventCounts,
    JournalSums,
    Latency,
    ListedFilter,
    ListedPage,
    PairTimes,
    Span,
    tally,
)
from onceonly.store.sqlite import mapping
from onceonly.store.sqlite.asking import SqliteQuestions


class SqliteCounterReading(SqliteQuestions):
    """Reads of counters over one connection."""

    def counted_seq(self) -> int:
        found: int | None = self._get("get_counted_seq")
        return found or 0

    def tally_journal(self, after: int, up_to: int) -> JournalSums:
        groups = self._list("tally_events", after, up_to)
        times: dict[Pair, PairTimes] = {}
        for from_party, to_party, heard_at, changed_at in self._list("tally_pairs", after, up_to):
            times[Pair(from_party, to_party)] = PairTimes(heard_at, changed_at)
        return tally(
            after,
            up_to,
            groups=[mapping.to_group(row) for row in groups],
            latencies=[Latency(*row) for row in self._list("tally_latencies", after, up_to)],
            listed=[mapping.to_listed(row) for row in self._list("tally_listed", after, up_to)],
            pairs=times,
        )

    def find_counts(self, span: Span, begins_at: int, agreement_id: str) -> EventCounts | None:
        found = self._get("find_counter", span, agreement_id, begins_at)
        return None if found is None else decoded(found, EventCounts)

    def list_counts(
        self, span: Span, agreement_id: str, from_at: int, to_at: int
    ) -> Sequence[tuple[int, EventCounts]]:
        found = self._list("list_counters", span, agreement_id, from_at, to_at)
        return [(begins_at, decoded(counts, EventCounts)) for begins_at, counts in found]

    def list_totals(self) -> Sequence[tuple[str, EventCounts]]:
        return [(name, decoded(counts, EventCounts)) for name, counts in self._list("list_totals")]

    def list_pair_times(self) -> Mapping[Pair, PairTimes]:
        return {Pair(*row[:2]): PairTimes(*row[2:]) for row in self._list("list_pair_times")}

    def list_listed(self, wanted: ListedFilter) -> ListedPage:
        place = wanted.event, wanted.before
        span = wanted.since_at, wanted.until_at
        rest = *span, wanted.partner, wanted.limit
        found = self._list("list_listed", *place, LOOKED_AT_MAX, *rest)
        records = [mapping.to_record(row) for row in found]
        if len(records) == wanted.limit:
            return ListedPage(records, records[-1].seq)
        return ListedPage(records, self._get("find_listed_end", *place, LOOKED_AT_MAX - 1))

    def find_first_of(self, message_id: str, event: Event, after: int) -> Record | None:
        row = self._get("find_first_of", message_id, event, after)
        return None if row is None else mapping.to_record(row)
