"""From a party's rows to its published segments: order, numbers, hash chain, Parquet.

The chain runs through all rows of a journal in turn, so there is one process per journal, and Arrow
prepares the text that is hashed.
"""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onceonly.journal.record import CHAIN_START, COLUMNS, SCHEMA_VERSION, chained_columns
from onceonly.journal.segment import ROW_GROUP_ROWS, SEGMENT_SCHEMA, segment_name

ROWS_PER_SEGMENT: Final = 50_000
"""As many as `gateway.publish` puts into one."""


class Journal(NamedTuple):
    """One party's rows, in files that a message's number orders."""

    party: str
    raw: Path
    births: list[int]
    """Per file: no row of it or of a later one is before this instant."""
    cut: int
    """Rows before this instant go into the first target, the others into the second one."""


def publish(journal: Journal, targets: tuple[Path, Path]) -> tuple[int, int]:
    """Order, number, chain and publish one party's rows. Returns how many went where."""
    counts = [0, 0]
    previous, seq = CHAIN_START, 0
    for target, told in _segments(journal):
        rows = told.num_rows
        numbers = pa.array(range(seq + 1, seq + rows + 1), pa.int64())
        numbered = told.append_column("seq", numbers).append_column(
            "store_epoch", pa.array([1] * rows, pa.int64())
        )
        hashes = _chain(previous, numbered)
        chained = numbered.append_column("chain_hash", pa.array(hashes, pa.utf8()))
        name = segment_name(journal.party, seq + 1, seq + rows)
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


def _segments(journal: Journal) -> Iterator[tuple[int, pa.Table]]:
    """Rows in journal order, in segments: first those before the cut, then those after it."""
    target, waiting = 0, None
    for rows in _in_order(journal):
        early = _before(rows, journal.cut)
        for side, part in enumerate((rows.slice(0, early), rows.slice(early))):
            if not part.num_rows:
                continue
            if side != target and waiting is not None:
                yield target, waiting
                waiting = None
            target = side
            table = part if waiting is None else pa.concat_tables([waiting, part])
            while table.num_rows >= ROWS_PER_SEGMENT:
                yield target, table.slice(0, ROWS_PER_SEGMENT)
                table = table.slice(ROWS_PER_SEGMENT)
            waiting = table if table.num_rows else None
    if waiting is not None:
        yield target, waiting


def _in_order(journal: Journal) -> Iterator[pa.Table]:
    """All rows, in parts; what may come behind rows of the next file is held until then."""
    held = None
    # An instant that never comes stands behind the last file.
    nexts = [*journal.births[1:], 1 << 62]
    for file, born in zip(sorted(journal.raw.glob("*.parquet")), nexts, strict=True):
        read = pq.read_table(file)
        rows = read if held is None else pa.concat_tables([held, read])
        rows = rows.sort_by([(name, "ascending") for name in ("true_at", "n", "position")])
        done = _before(rows, born)
        yield rows.slice(0, done)
        held = rows.slice(done)


def _before(rows: pa.Table, instant: int) -> int:
    """How many of these rows, which are in order, are before the instant."""
    return int(rows.column("true_at").to_numpy().searchsorted(instant))


def _chain(previous: str, table: pa.Table) -> list[str]:
    hashes = []
    for text in _texts(table):
        previous = sha256(f"{previous}|{text}".encode()).hexdigest()
        hashes.append(previous)
    return hashes


def _texts(table: pa.Table) -> list[str]:
    """What `record.chain` hashes behind the previous hash, column by column."""
    columns = [_counted(table.column(name)) for name in chained_columns(SCHEMA_VERSION)]
    return [str(text) for text in _joined(columns).to_pylist()]


def _counted(column: pa.ChunkedArray) -> Any:
    text = pc.cast(column, pa.utf8())
    length = pc.cast(pc.utf8_length(text), pa.utf8())
    return pc.fill_null(pc.binary_join_element_wise(length, text, ":"), "~")


def _joined(columns: list[Any]) -> Any:
    return pc.binary_join_element_wise(*columns, "|")
