"""Counters in the write transaction of the SQLite store: the contract's `CounterTransaction`.

Knows into which tables a fold goes; must not begin, commit or roll back.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in counters.py

from collections.abc import Sequence

import msgspec
from msgspec.structs import astuple

from onceonly.message.identity import Pair
from onceonly.store.contract.counters import (
    CounterTransaction,
    EventCounts,
    PairTimes,
    RareRow,
    Span,
)
from onceonly.store.sqlite.counter_reading import SqliteCounterReading
from onceonly.store.sqlite.later import SqliteLater


class SqliteCounterWriting(SqliteLater, SqliteCounterReading, CounterTransaction):
    """Writes of counters, on the one writer connection."""

    def put_counts(
        self, span: Span, begins_at: int, agreement_id: str, counts: EventCounts
    ) -> None:
        text = msgspec.json.encode(counts).decode()
        self._write("put_counter", span, agreement_id, begins_at, text)

    def forget_counts(self, span: Span, before_at: int) -> None:
        self._write("forget_counters", span, before_at)

    def put_pair_times(self, pair: Pair, times: PairTimes) -> None:
        self._write("put_pair_times", *pair, *astuple(times))

    def add_listed(self, rows: Sequence[RareRow]) -> None:
        for row in rows:
            self._write("add_listed", *astuple(row))

    def put_counted_seq(self, seq: int) -> None:
        self._write("put_counted_seq", seq)
