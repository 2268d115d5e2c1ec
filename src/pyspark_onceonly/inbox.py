"""DataFrames in: the inbox of a gateway, in order, by offset.

A range of offsets reads the same again, so that a batch that is replayed is the same batch; only
what its sender took back before work on it began, and what somebody else completed and the gateway
has forgotten, is missing then. Where it is asked to, the stream tells the gateway how far it has
come, from what Spark has in its checkpoint and nothing else: when the tasks of a batch are planned,
its offsets are in the write-ahead log (in progress), and when the next batch is looked for,
everything before it is in the commit log (complete).
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from onceonly.api.words import ProcessingState
from onceonly.client import Client, End
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

_TEXT, _NUMBER = StringType(), LongType()

_PART = StructType(
    [
        StructField("content_type", _TEXT),
        StructField("name", _TEXT),
        StructField("size_bytes", _NUMBER),
        StructField("digest", _TEXT),
        StructField("body", BinaryType()),
    ]
)


def inbox_schema(payload: str) -> StructType:
    """The columns of an inbox; `payload` is `binary` or `text`."""
    content: DataType = StringType() if payload == "text" else BinaryType()
    return StructType(
        [
            StructField("offset", _NUMBER, nullable=False),
            StructField("message_id", _TEXT, nullable=False),
            StructField("from_party", _TEXT, nullable=False),
            StructField("to_party", _TEXT, nullable=False),
            StructField("agreement_id", _TEXT, nullable=False),
            StructField("conversation_id", _TEXT, nullable=False),
            StructField("service", _TEXT, nullable=False),
            StructField("action", _TEXT, nullable=False),
            StructField("ref_to_message_id", _TEXT),
            StructField("semantics", _TEXT, nullable=False),
            StructField("timestamp_at", _NUMBER, nullable=False),
            StructField("received_at", _NUMBER, nullable=False),
            StructField("handed_over_at", _NUMBER, nullable=False),
            StructField("processing", _TEXT, nullable=False),
            StructField("size_bytes", _NUMBER, nullable=False),
            StructField("digest", _TEXT, nullable=False),
            StructField("header_digest", _TEXT),
            StructField("content_type", _TEXT),
            StructField("name", _TEXT),
            StructField("payload", content),
            StructField("attachments", ArrayType(_PART), nullable=False),
            StructField("handed_over_again", _NUMBER, nullable=False),
        ]
    )


class InboxRows(NamedTuple):
    """How rows of the inbox are read; picklable."""

    gateway: GatewayAddress
    is_text: bool

    def end(self) -> End:
        """The greatest offset so far, and whose."""
        with self.gateway.client() as client:
            return patiently(client.inbox_end, self.gateway.patience_s)

    def read(self, wanted: Range) -> Iterator[pa.RecordBatch]:
        """The rows above `wanted.after` up to `wanted.up_to`."""
        with self.gateway.client() as client:
            after = wanted.after
            while after < wanted.up_to:
                table = _page(self.gateway, client, Range(after, wanted.up_to))
                if table.num_rows == 0:
                    return
                after = table.column("offset")[-1].as_py()
                table = Bodies(client, self.gateway.patience_s).fill(table)
                yield from self._shown(table).to_batches()

    def _shown(self, table: pa.Table) -> pa.Table:
        if not self.is_text:
            return table
        at = table.schema.get_field_index("payload")
        texts = _texts(table.column(at))
        return table.set_column(at, pa.field("payload", pa.utf8()), texts)

    def report(self, after: int, up_to: int, processing: ProcessingState) -> None:
        """Tell the gateway how far the work has come."""
        with self.gateway.client() as client:
            for some in pieces(after, up_to, REPORTED_AT_ONCE):
                told = partial(client.report_range, *some, processing)
                patiently(told, self.gateway.patience_s)


def _page(gateway: GatewayAddress, client: Client, wanted: Range) -> pa.Table:
    stream = patiently(lambda: client.inbox_stream(*wanted), gateway.patience_s)
    with pa.ipc.open_stream(stream) as reader:
        return reader.read_all()


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


class InboxStream(NumberedStream):
    """`spark.readStream.format("onceonly")`: the inbox as it grows."""

    def __init__(self, rows: InboxRows, numbered: Numbered, *, reports: bool) -> None:
        super().__init__("inbox", rows, numbered)
        self._inbox = rows
        self._reports = reports
        self._reported = 0

    def latestOffset(self, start: Offset, limit: Any) -> Offset:  # noqa: N802 - because Spark calls it so
        """Where the next batch ends. What is before its start is committed: complete.

        What is reported, which it is before the end is made, stands in the end: the next run need
        not say it again, and a run that dies anywhere leaves no gap.
        """
        latest = super().latestOffset(start, limit)
        told = max(self._reported, start["from"], start.get("reported", 0))
        if self._reports and start["offset"] > told:
            self._inbox.report(told, start["offset"], "complete")
            told = self._reported = start["offset"]
        return start if latest == start else {**latest, "reported": told}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Ranges of the batch, whose offsets Spark has written to its log: in progress."""
        found = super().partitions(start, end)
        if self._reports:
            self._inbox.report(begin(start, end), end["offset"], "in-progress")
        return found
