"""The journal of a gateway that publishes nowhere, row by row."""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, InputPartition

from onceonly.client import Client, End
from pyspark_onceonly.offsets import Range, planned, until
from pyspark_onceonly.options import GatewayAddress
from pyspark_onceonly.patience import patiently


class JournalRows(NamedTuple):
    """How rows of the journal are read; picklable."""

    gateway: GatewayAddress

    def end(self) -> End:
        """The greatest `seq` so far, and whose."""
        with self.gateway.client() as client:
            return patiently(client.journal_end, self.gateway.patience_s)

    def read(self, wanted: Range) -> Iterator[pa.RecordBatch]:
        """The rows above `wanted.after` up to `wanted.up_to`."""
        with self.gateway.client() as client:
            after = wanted.after
            while after < wanted.up_to:
                table = self._page(client, after)
                if table.num_rows == 0:
                    return
                after = table.column("seq")[-1].as_py()
                table = table.filter(pc.less_equal(table["seq"], wanted.up_to))
                yield from table.replace_schema_metadata(None).to_batches()

    def _page(self, client: Client, after: int) -> pa.Table:
        stream = patiently(lambda: client.journal_stream(after), self.gateway.patience_s)
        with pa.ipc.open_stream(stream) as reader:
            return reader.read_all()


class JournalReader(DataSourceReader):
    """`spark.read.format("onceonly").option("read", "journal")`: the journal as it is now."""

    def __init__(
        self, rows: JournalRows, after: int, up_to: int | None, per_partition: int
    ) -> None:
        self._rows = rows
        self._after = after
        self._up_to = up_to
        self._per_partition = per_partition

    def partitions(self) -> list[InputPartition]:
        """Ranges of rows."""
        last = until(self._rows, self._after, self._up_to)
        return planned(self._after, last, self._per_partition)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one range."""
        return self._rows.read(partition.value)
