"""DataFrames in: the inbox of a gateway, in order, by offset.

A range of offsets reads the same again, so that a batch that is replayed is the same batch; only
what its sender took back before work on it began, and what somebody else completed and the gateway
has forgotten, is missing then. Where it is asked to, the stream tells the gateway how far it has
come, from what Spark has in its checkpoint and nothing else: when the tasks of a batch are planned,
its offsets are in the write-ahead log (in progress), and when the next batch is looked for,
everything before it is in the commit log (complete).
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from onceonly.api.fields import NUMBER_MAX
from onceonly.api.words import ProcessingState
from onceonly.client import Client, End
from onceonly.message.errors import LocalError
from pyspark_onceonly.bodies import Bodies
from pyspark_onceonly.offsets import (
    REPORTED_AT_ONCE,
    Numbered,
    NumberedStream,
    Offset,
    Range,
    begin,
    pieces,
    planned,
    until,
)
from pyspark_onceonly.options import GatewayAddress
from pyspark_onceonly.patience import patiently
from pyspark_onceonly.selection import Selection, pushed


class InboxRows(NamedTuple):
    """How rows of the inbox are read; picklable."""

    gateway: GatewayAddress
    selection: Selection

    def end(self) -> End:
        """The greatest offset so far, and whose."""
        with self.gateway.client() as client:
            return patiently(client.inbox_end, self.gateway.patience_s)

    def read(self, wanted: Range) -> Iterator[pa.RecordBatch]:
        """The rows above `wanted.after` up to `wanted.up_to`."""
        with self.gateway.client() as client:
            for table in self._pages(client, wanted, self.selection.query):
                if self.selection.has_bytes:
                    table = Bodies(client, self.gateway.patience_s).fill(table)  # noqa: PLW2901 - because it is the same page
                yield from self._shown(table).to_batches()

    def last_within(self, wanted: Range, bytes_max: int) -> int:
        """The last offset of the range so that the payloads up to it have `bytes_max` bytes.

        The first row is within it whatever its size, or nothing would ever come after it.
        """
        room, last = bytes_max, wanted.after
        query = {**self.selection.query, "payloads": "none"}
        with self.gateway.client() as client:
            for table in self._pages(client, wanted, query):
                rows = zip(
                    table["offset"].to_pylist(), table["size_bytes"].to_pylist(), strict=True
                )
                for offset, size_bytes in rows:
                    room -= size_bytes
                    if room < 0 and last > wanted.after:
                        return last
                    last = offset
        return wanted.up_to

    def _pages(self, client: Client, wanted: Range, query: dict[str, Any]) -> Iterator[pa.Table]:
        """What the gateway has of the range. An answer without a row may have others after it."""
        after: int | None = wanted.after
        while after is not None and after < wanted.up_to:
            ask = partial(client.inbox_stream, after, wanted.up_to, **query)
            with pa.ipc.open_stream(patiently(ask, self.gateway.patience_s)) as reader:
                table = reader.read_all()
            if table.num_rows:
                yield table
            after = _next_after(table)

    def _shown(self, table: pa.Table) -> pa.Table:
        """The columns that are asked for, of the types that Spark was told."""
        schema = to_arrow_schema(self.selection.columns, timezone="UTC")
        columns = [self._column(table[field.name.lower()], field) for field in schema]
        return pa.Table.from_arrays(columns, schema=schema)

    def _column(self, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        if self.selection.payload == "text" and field.name.lower() == "payload":
            return _texts(column)
        if pa.types.is_list(field.type):
            return pa.chunked_array([_parts(column.combine_chunks(), field.type)])
        return column

    def check_purged(self, wanted: Range) -> None:
        """Raises `LocalError` (RowsPurged) where messages of the range were purged unread."""
        with self.gateway.client() as client:
            count = patiently(lambda: client.count_purged(*wanted), self.gateway.patience_s)
        if count:
            text = (
                f"{count} messages with offsets above {wanted.after} up to {wanted.up_to} were "
                "purged before the stream read them: keep them longer (persist_duration, "
                "archive_duration), or let this stream alone report them complete; with "
                "failOnDataLoss=false the stream goes on without them"
            )
            raise LocalError("RowsPurged", text)

    def report(self, after: int, up_to: int, processing: ProcessingState) -> None:
        """Tell the gateway how far the work has come."""
        with self.gateway.client() as client:
            for some in pieces(after, up_to, REPORTED_AT_ONCE):
                told = partial(client.report_range, *some, processing)
                patiently(told, self.gateway.patience_s)


def _next_after(table: pa.Table) -> int | None:
    """Where the next page begins; None after the last one."""
    told = (table.schema.metadata or {}).get(b"next_after")
    return None if told is None else int(told)


def _parts(column: pa.Array, kind: pa.ListType) -> pa.Array:
    """A list of parts with the members of `kind` alone."""
    parts = column.flatten()
    members = [parts.field(field.name) for field in kind.value_type]
    narrow = pa.StructArray.from_arrays(members, fields=list(kind.value_type))
    offsets = pc.subtract(column.offsets, column.offsets[0])
    return pa.ListArray.from_arrays(offsets, narrow, type=kind)


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """UTF-8 text; null where the bytes are none, which `payload=binary` still shows."""
    try:
        return pc.cast(column, pa.utf8())
    except pa.ArrowInvalid:
        return pa.chunked_array([pa.array(map(_text, column.to_pylist()), type=pa.utf8())])


def _text(body: bytes | None) -> str | None:
    try:
        return None if body is None else body.decode()
    except UnicodeDecodeError:
        return None


class InboxReader(DataSourceReader):
    """`spark.read.format("onceonly")`: what is in the inbox now. Reports nothing."""

    def __init__(self, rows: InboxRows, after: int, up_to: int | None, per_partition: int) -> None:
        self._rows = rows
        self._after = after
        self._up_to = up_to
        self._per_partition = per_partition

    def partitions(self) -> list[InputPartition]:
        """Ranges of offsets."""
        last = until(self._rows, self._after, self._up_to)
        return planned(self._after, last, self._per_partition)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one range."""
        return self._rows.read(partition.value)


class FilteredInboxReader(InboxReader):
    """The same, of a session with `spark.sql.python.filterPushdown.enabled=true`."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - because Spark calls it so
        """Ask the gateway for less; Spark looks at all of the filters again."""
        selection, up_to = self._rows.selection, NUMBER_MAX if self._up_to is None else self._up_to
        found = pushed(filters, selection.criteria, Range(self._after, up_to))
        self._rows = self._rows._replace(selection=selection._replace(criteria=found.criteria))
        self._after = found.wanted.after
        if found.wanted.up_to < up_to:
            self._up_to = found.wanted.up_to
        return filters


class StreamRange(NamedTuple):
    """A range of a stream's batch, and above which offset nothing of it may be purged unread."""

    wanted: Range
    known: int | None
    """None where that is no error."""


class InboxStream(NumberedStream):
    """`spark.readStream.format("onceonly")`: the inbox as it grows."""

    def __init__(
        self,
        rows: InboxRows,
        numbered: Numbered,
        *,
        reports: bool,
        bytes_max: int | None = None,
        fails_on_loss: bool = True,
    ) -> None:
        super().__init__("inbox", rows, numbered)
        self._inbox = rows
        self._reports = reports
        self._bytes_max = bytes_max
        self._fails_on_loss = fails_on_loss
        self._reported = 0

    def initialOffset(self) -> Offset:  # noqa: N802 - because Spark calls it so
        """Where a query begins that has no checkpoint, with what is `known` to be there by then.

        Some of that may have been purged before.
        """
        return {**super().initialOffset(), "known": self._end.last}

    def latestOffset(self, start: Offset, limit: Any) -> Offset:  # noqa: N802 - because Spark calls it so
        """Where the next batch ends. What is before its start is committed: complete.

        What is reported, which it is before the end is made, stands in the end: the next run need
        not say it again, and a run that dies anywhere leaves no gap.
        """
        latest = super().latestOffset(start, limit)
        if self._bytes_max is not None and latest != start:
            wanted = Range(begin(start, latest), latest["offset"])
            latest = {**latest, "offset": self._inbox.last_within(wanted, self._bytes_max)}
        told = max(self._reported, start["from"], start.get("reported", 0))
        if self._reports and start["offset"] > told:
            self._inbox.report(told, start["offset"], "complete")
            told = self._reported = start["offset"]
        if latest == start:
            return start
        # Older versions left it out, at first with all offsets, and then where nothing was read
        # yet: then the stream began with nothing after its start.
        is_at_first = start["offset"] == start["from"]
        known = start.get("known", start["from"] if is_at_first else self._end.last)
        return {**latest, "reported": told, "known": known}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Ranges of the batch, whose offsets Spark has written to its log: in progress."""
        found = super().partitions(start, end)
        if self._reports:
            self._inbox.report(begin(start, end), end["offset"], "in-progress")
        # An end of before there was `known` is of a batch whose rows nobody has counted.
        known = end.get("known", end["offset"]) if self._fails_on_loss else None
        return [InputPartition(StreamRange(one.value, known)) for one in found]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one range. Raises `LocalError` (RowsPurged)."""
        wanted, known = partition.value
        count = 0
        for batch in self._rows.read(wanted):
            count += batch.num_rows
            yield batch
        if known is None or count == wanted.up_to - wanted.after or known >= wanted.up_to:
            return
        self._inbox.check_purged(Range(max(wanted.after, known), wanted.up_to))
