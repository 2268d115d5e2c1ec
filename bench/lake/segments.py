"""From rows that Spark made to published segments: numbers, hash chain, Parquet.

The chain runs through all rows of a journal in turn, so it is the one step that no cluster shares
out; one process per journal, and Arrow prepares the text that is hashed.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onceonly.journal.record import CHAIN_START, CHAINED, COLUMNS
from onceonly.journal.segment import ROW_GROUP_ROWS, SEGMENT_SCHEMA, segment_name

ROWS_PER_SEGMENT: Final = 50_000
"""As many as `gateway.publish` puts into one."""


def publish(party: str, raw: Path, cut: int, targets: tuple[Path, Path]) -> tuple[int, int]:
    """Number, chain and publish one party's rows.

    Those before the instant `cut` go into the first target, the others into the second one.
    Returns how many went where.
    """
    counts = [0, 0]
    previous, seq = CHAIN_START, 0
    for target, told in _segments(raw, cut):
        rows = told.num_rows
        numbers = pa.array(range(seq + 1, seq + rows + 1), pa.int64())
        numbered = told.append_column("seq", numbers).append_column(
            "store_epoch", pa.array([1] * rows, pa.int64())
        )
        hashes = _chain(previous, numbered)
        chained = numbered.append_column("chain_hash", pa.array(hashes, pa.utf8()))
        name = segment_name(party, seq + 1, seq + rows)
        path = targets[target] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            chained.select(list(COLUMNS)).cast(SEGMENT_SCHEMA),
            path,
            compression="zstd",
            row_group_size=ROW_GROUP_ROWS,
            store_schema=False,
        )
        previous, seq = hashes[-1], seq + rows
        counts[target] += rows
    return counts[0], counts[1]


def _segments(raw: Path, cut: int) -> Iterator[tuple[int, pa.Table]]:
    """Rows in journal order, in segments: first those before the cut, then those after it."""
    waiting: dict[int, pa.Table] = {}
    chunks = sorted(raw.glob("chunk=*"), key=lambda path: int(path.name.split("=")[1]))
    for chunk in chunks:
        read = pa.concat_tables(pq.read_table(file) for file in sorted(chunk.glob("*.parquet")))
        early = read.column("true_at").to_numpy() < cut
        for target, rows in ((0, read.filter(early)), (1, read.filter(~early))):
            if target == 1 and rows.num_rows and 0 in waiting:
                yield 0, waiting.pop(0)
            held = [waiting.pop(target)] if target in waiting else []
            table = pa.concat_tables([*held, rows])
            while table.num_rows >= ROWS_PER_SEGMENT:
                yield target, table.slice(0, ROWS_PER_SEGMENT)
                table = table.slice(ROWS_PER_SEGMENT)
            if table.num_rows:
                waiting[target] = table
    yield from sorted(waiting.items(), key=lambda item: item[0])


def _chain(previous: str, table: pa.Table) -> list[str]:
    hashes = []
    for text in _texts(table):
        previous = sha256(f"{previous}|{text}".encode()).hexdigest()
        hashes.append(previous)
    return hashes


def _texts(table: pa.Table) -> list[str]:
    """What `record.chain` hashes behind the previous hash, column by column."""
    columns = [_counted(table.column(name)) for name in CHAINED]
    return [str(text) for text in _joined(columns).to_pylist()]


def _counted(column: pa.ChunkedArray) -> Any:
    text = pc.cast(column, pa.utf8())
    length = pc.cast(pc.utf8_length(text), pa.utf8())
    return pc.fill_null(pc.binary_join_element_wise(length, text, ":"), "~")


def _joined(columns: list[Any]) -> Any:
    return pc.binary_join_element_wise(*columns, "|")
