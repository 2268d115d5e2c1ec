"""Counters in the store of simulations: `CounterSnapshot` and `CounterTransaction`.

Knows the rows of counters; must not commit or roll back.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in counters.py

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from onceonly.journal.record import Record
from onceonly.message.errors import Severity
from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.store.contract.counters import (
    CHANGED,
    DOUBT,
    HEARD,
    LISTED,
    LOOKED_AT_MAX,
    CounterTransaction,
    EventCounts,
    Group,
    JournalSums,
    Latency,
    ListedFilter,
    ListedPage,
    PairTimes,
    RareRow,
    Span,
    tally,
)
from onceonly.store.memory.jobs import MemoryChanges
from onceonly.store.memory.tables import Tables

_COUNTED = "counted"


class MemoryCounterReading:
    """Reads of counters over tables."""

    _tables: Tables

    def counted_seq(self) -> int:
        return self._tables.numbers.get(_COUNTED, 0)

    def tally_journal(self, after: int, up_to: int) -> JournalSums:
        rows = [row for seq, row in self._tables.journal.items() if after < seq <= up_to]
        listed = [row for row in rows if row.event in LISTED]
        return tally(
            after,
            up_to,
            groups=_groups(rows),
            latencies=[self._latency(row) for row in rows if row.event is Event.ACK_RECEIVED],
            listed=[
                RareRow(row.seq, row.event, row.at, row.from_party, row.to_party) for row in listed
            ],
            pairs=_times(rows),
        )

    def _latency(self, row: Record) -> Latency:
        assert row.message_id is not None, "an acknowledgement is about a message"
        first = self.find_first_of(row.message_id, Event.SUBMITTED, 0)
        latency_us = None if first is None else row.at - first.at
        return Latency(row.at, row.agreement_id, row.attempt, latency_us)

    def find_counts(self, span: Span, begins_at: int, agreement_id: str) -> EventCounts | None:
        return self._tables.counters.get((span, agreement_id, begins_at))

    def list_counts(
        self, span: Span, agreement_id: str, from_at: int, to_at: int
    ) -> Sequence[tuple[int, EventCounts]]:
        return sorted(
            (begins_at, counts)
            for (its, agreement, begins_at), counts in self._tables.counters.items()
            if (its, agreement) == (span, agreement_id) and from_at <= begins_at < to_at
        )

    def list_totals(self) -> Sequence[tuple[str, EventCounts]]:
        return sorted(
            (agreement, counts)
            for (span, agreement, _), counts in self._tables.counters.items()
            if span is Span.TOTAL
        )

    def list_pair_times(self) -> Mapping[Pair, PairTimes]:
        return dict(sorted(self._tables.pair_times.items()))

    def list_listed(self, wanted: ListedFilter) -> ListedPage:
        newest = sorted(self._tables.listed.values(), key=lambda row: row.seq, reverse=True)
        older = [row for row in newest if row.event is wanted.event and row.seq < wanted.before]
        some = older[:LOOKED_AT_MAX]
        found = list(islice((row.seq for row in some if _fits(row, wanted)), wanted.limit))
        is_all = len(found) < wanted.limit and len(some) < LOOKED_AT_MAX
        last = found[-1] if len(found) == wanted.limit else some[-1].seq if some else 0
        records = [self._tables.journal[seq] for seq in found]
        return ListedPage(records, None if is_all else last)

    def find_first_of(self, message_id: str, event: Event, after: int) -> Record | None:
        rows = self._tables.journal.items()
        return next(
            (
                row
                for seq, row in rows
                if seq > after and (row.message_id, row.event) == (message_id, event)
            ),
            None,
        )


def _groups(rows: Iterable[Record]) -> list[Group]:
    found = Counter(
        (
            Span.MINUTE.begin_of(row.at),
            row.agreement_id,
            row.event,
            row.direction,
            row.event is Event.NOTIFIED
            and row.severity == Severity.WARNING
            and row.reason == DOUBT,
        )
        for row in rows
    )
    return [Group(*key, count) for key, count in found.items()]


def _times(rows: Iterable[Record]) -> dict[Pair, PairTimes]:
    times: dict[Pair, PairTimes] = {}
    for row in rows:
        if row.from_party is None or row.to_party is None or row.event not in HEARD | CHANGED:
            continue
        pair = Pair(row.from_party, row.to_party)
        before = times.get(pair, PairTimes())
        heard = [at for at in (before.heard_at, row.at if row.event in HEARD else None) if at]
        since = [at for at in (before.changed_at, row.at if row.event in CHANGED else None) if at]
        times[pair] = PairTimes(max(heard, default=None), max(since, default=None))
    return times


def _fits(row: RareRow, wanted: ListedFilter) -> bool:
    return wanted.since_at <= row.at < wanted.until_at and (
        wanted.partner is None or wanted.partner in (row.from_party, row.to_party)
    )


class MemoryCounterWriting(MemoryChanges, MemoryCounterReading, CounterTransaction):
    """Writes of counters over pending tables."""

    def put_counts(
        self, span: Span, begins_at: int, agreement_id: str, counts: EventCounts
    ) -> None:
        self._put(self._tables.counters, (span, agreement_id, begins_at), counts)

    def forget_counts(self, span: Span, before_at: int) -> None:
        for key in list(self._tables.counters):
            if key[0] is span and key[2] < before_at:
                self._remove(self._tables.counters, key)

    def put_pair_times(self, pair: Pair, times: PairTimes) -> None:
        self._put(self._tables.pair_times, pair, times)

    def add_listed(self, rows: Sequence[RareRow]) -> None:
        for row in rows:
            self._put(self._tables.listed, row.seq, row)

    def put_counted_seq(self, seq: int) -> None:
        self._put(self._tables.numbers, _COUNTED, seq)
