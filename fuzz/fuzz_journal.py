"""Fuzzes the reader of journal segments: rows, or a refusal by name.

The input is a Parquet file. What Arrow refuses is refused; what it reads is rows of a journal or
an error that the reader promises.
"""

import pyarrow as pa
import pyarrow.parquet as pq

from onceonly.journal.record import Record, chain
from onceonly.journal.segment import to_records
from onceonly.message.errors import LocalError

REFUSALS = (pa.ArrowException, OSError, KeyError, ValueError)


def read(data: bytes) -> list[Record]:
    """Rows that can be chained and written again."""
    try:
        table = pq.read_table(pa.BufferReader(data), use_threads=False)
        records = to_records(table)
    except REFUSALS as error:
        raise LocalError("BrokenSegment", str(error)) from error
    for record in records:
        assert len(chain(record.chain_hash, record)) == 64
    return records
