"""Streams of rows that are numbered from 1: ranges, admission control, `availableNow`.

An offset has the number of the last row that was read, the number where the stream began, what is
read, and which store gave the numbers. All are in the checkpoint, so a restarted query knows them.
If the gateway has another store, or an older copy whose last row is before a number of the
checkpoint, rows would be skipped without a word; so the query then ends with a named error.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from onceonly.client import End
from onceonly.message.errors import LocalError

Offset = dict[str, Any]
"""`offset` and `from`; `read` says `inbox` or `journal`, `store` is the store's id.

`reported` is up to where an inbox was reported complete before the offset was made. The last three
are not in the oldest checkpoints.
"""

REPORTED_AT_ONCE = 5_000
"""Offsets of one report: some 30 commits of the gateway, well below a client's patience."""


class Range(NamedTuple):
    """Rows above `after` up to `up_to`."""

    after: int
    up_to: int


class Numbered(NamedTuple):
    """Where a stream begins, and how much it takes at a time."""

    after: int | None
    """None: after everything that is there when the stream begins."""
    per_batch: int
    per_partition: int


class NumberedRows(Protocol):
    """Rows by number, read anywhere."""

    def end(self) -> End:
        """The greatest number so far, and whose."""
        ...

    def read(self, wanted: Range) -> Iterator[pa.RecordBatch]:
        """The rows of a range."""
        ...


def pieces(after: int, up_to: int, length: int) -> Iterator[Range]:
    """The range in pieces of at most `length`."""
    for start in range(after, up_to, length):
        yield Range(start, min(start + length, up_to))


def ranges(after: int, up_to: int, length: int) -> Iterator[InputPartition]:
    """The same, as Spark plans them."""
    return map(InputPartition, pieces(after, up_to, length))


def planned(after: int, up_to: int, length: int) -> list[InputPartition]:
    """Like `ranges` for a batch, but at least one, since Spark needs one to read."""
    return list(ranges(after, up_to, length)) or [InputPartition(Range(after, after))]


def until(rows: NumberedRows, after: int, up_to: int | None) -> int:
    """Where a batch ends: at `up_to`, or at the last row, since a range after it would not end."""
    if up_to is not None and up_to <= after:
        return up_to
    last = rows.end().last
    return last if up_to is None else min(last, up_to)


def begin(start: Offset, end: Offset) -> int:
    """The row after which the batch between the two offsets begins.

    Spark asks for the initial offset more than once, and "after everything" is another row each
    time. So the first batch begins where its end offset, which is in the checkpoint, says that the
    stream begins.
    """
    first: int = start["offset"] if start["from"] == end["from"] else end["from"]
    return first


def check_store(end: End, number: int, store_id: str | None) -> None:
    """Raises `LocalError` (StoreReplaced) where the gateway has never given this number."""
    is_other = None not in (store_id, end.store_id) and store_id != end.store_id
    if is_other or end.last < number:
        whose = " of another store" if is_other else ""
        text = (
            f"the gateway's store is new, or an older copy: its numbers end at {end.last}, and the "
            f"query is at {number}{whose}; begin again, with a new checkpoint and an `after` within"
        )
        raise LocalError("StoreReplaced", text)


class NumberedStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream over numbered rows."""

    def __init__(self, kind: str, rows: NumberedRows, numbered: Numbered) -> None:
        self._kind = kind
        self._rows = rows
        self._numbered = numbered
        self._target: int | None = None
        self._end = End(-1, None)
        """What the gateway was last seen to have."""

    def _ask(self) -> int:
        self._end = self._rows.end()
        return self._end.last

    def _at(self, number: int, first: int) -> Offset:
        found = {"offset": number, "from": first, "read": self._kind}
        store_id = self._end.store_id
        return found if store_id is None else {**found, "store": store_id}

    def _check(self, offset: Offset) -> None:
        """Raises `LocalError` (StoreReplaced, OtherSource)."""
        if offset.get("read", self._kind) != self._kind:
            text = f"the checkpoint is of the {offset['read']}, and the query reads {self._kind}"
            raise LocalError("OtherSource", text)
        if self._end.last < offset["offset"]:
            self._ask()
        check_store(self._end, offset["offset"], offset.get("store"))

    def initialOffset(self) -> Offset:  # noqa: N802 - because Spark calls it so
        """Where a query begins that has no checkpoint."""
        last = self._ask()
        first = last if self._numbered.after is None else self._numbered.after
        return self._at(first, first)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - because Spark calls it so
        """Admission control."""
        return ReadMaxRows(self._numbered.per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - because Spark calls it so
        """Rows that come from now on are left to the next run."""
        self._target = self._ask()

    def latestOffset(self, start: Offset, limit: Any) -> Offset:  # noqa: N802 - because Spark calls it so
        """Where the next batch ends; its start, where nothing is new."""
        last = self._ask() if self._target is None else self._target
        self._check(start)
        if isinstance(limit, ReadMaxRows):
            last = min(last, start["offset"] + limit.max_rows)
        if last <= start["offset"]:
            return start
        return self._at(last, start["from"])

    def reportLatestOffset(self) -> Offset | None:  # noqa: N802 - because Spark calls it so
        """Nothing beyond what `latestOffset` says."""
        return None

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Ranges of the batch, which may be one that was planned before a restart."""
        self._check(end)
        return list(ranges(begin(start, end), end["offset"], self._numbered.per_partition))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one range."""
        return self._rows.read(partition.value)

    def commit(self, end: Offset) -> None:
        """Nothing: Spark never calls it for the last batch, so it is no word to rely on."""
