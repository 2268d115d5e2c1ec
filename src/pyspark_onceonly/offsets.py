"""Streams of rows that are numbered from 1: ranges, admission control, `availableNow`.

An offset is the number of the last row that was read, and where the stream began: both are in
the checkpoint, so a restarted query knows them.
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


class Range(NamedTuple):
    """Rows above `after` up to `up_to`."""

    after: int
    up_to: int


class Numbered(NamedTuple):
    """Where a stream begins, and how much it takes at a time."""

    after: int | None
    """None: behind everything that is there when it begins."""
    per_batch: int
    per_partition: int


class Rows(Protocol):
    """Rows by number, read anywhere."""

    def last(self) -> int:
        """The greatest number so far."""
        ...

    def read(self, wanted: Range) -> Iterator[pa.RecordBatch]:
        """The rows of a range."""
        ...


def ranges(after: int, up_to: int, length: int) -> Iterator[InputPartition]:
    """The range in pieces of at most `length`."""
    for start in range(after, up_to, length):
        yield InputPartition(Range(start, min(start + length, up_to)))


class NumberedStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream over numbered rows."""

    def __init__(self, rows: Rows, numbered: Numbered) -> None:
        self._rows = rows
        self._numbered = numbered
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - because Spark calls it so
        """Where a query begins that has no checkpoint."""
        first = self._numbered.after
        first = self._rows.last() if first is None else first
        return {"offset": first, "from": first}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - because Spark calls it so
        """Admission control."""
        return ReadMaxRows(self._numbered.per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - because Spark calls it so
        """What comes from now on is for the next run."""
        self._target = self._rows.last()

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802 - because Spark calls it so
        """Where the next batch ends; its start, where nothing is new."""
        last = self._rows.last() if self._target is None else self._target
        if isinstance(limit, ReadMaxRows):
            last = min(last, start["offset"] + limit.max_rows)
        return {"offset": max(last, start["offset"]), "from": start["from"]}

    def reportLatestOffset(self) -> dict[str, int] | None:  # noqa: N802 - because Spark calls it so
        """Nothing beyond what `latestOffset` says."""
        return None

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Ranges of the batch."""
        return list(ranges(start["offset"], end["offset"], self._numbered.per_partition))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one range."""
        return self._rows.read(partition.value)

    def commit(self, end: dict[str, int]) -> None:
        """Nothing: Spark never calls it for the last batch, so it is no word to rely on."""
