"""A segment: a closed run of journal rows as one immutable Parquet file.

Knows the columns' Arrow types, how rows become columns and bytes, and what a segment is called.
It must not know where segments are kept or who publishes and reads them. The same rows give the
same bytes under the same name, so publishing twice changes nothing (design, "The journal").
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import astuple

from onceonly.journal.record import COLUMNS, SCHEMA_VERSION, Record
from onceonly.message.event import Direction, Event

JOURNAL_FOLDER: Final = "journal"
"""Folder of the lake directory under which every party's segments are."""

ROW_GROUP_ROWS: Final = 65_536
"""Rows per row group: some ten megabytes of columns, which one task of a reader takes at once."""

_NUMBERS: Final = frozenset(
    {
        "at",
        "monotonic_ns",
        "sequence_number",
        "attempt",
        "status_code",
        "size_bytes",
        "hop",
        "message_timestamp_at",
        "time_to_live_at",
        "order_number",
        "schema_version",
        "seq",
        "store_epoch",
    }
)
_ALWAYS: Final = frozenset(
    {
        "party",
        "event",
        "at",
        "monotonic_ns",
        "schema_version",
        "seq",
        "store_epoch",
        "chain_hash",
    }
)

SEGMENT_SCHEMA: Final = pa.schema(
    [
        pa.field(name, pa.int64() if name in _NUMBERS else pa.utf8(), name not in _ALWAYS)
        for name in COLUMNS
    ],
    metadata={"onceonly.journal.schema_version": str(SCHEMA_VERSION)},
)
"""Every column of a record, in its order.

Instants are numbers of microseconds: some programs would read a timestamp column with a time zone,
and others without one.
"""

_FOLDER_NAME_BYTES_MAX: Final = 200
"""Less than the 255 bytes that a file system allows, with room for the prefix and the digest."""

_UNQUOTED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._")


def party_folder(party: str) -> str:
    """Name of the party's folder, `party=<quoted>`, as Hive-style readers expect it.

    Every byte except letters, digits, `-`, `.` and `_` is written as `%XX`. A name that is too long
    for a file system is cut and ends with `~` and a digest; the `party` column has the whole name.
    """
    quoted = "".join(chr(byte) if byte in _UNQUOTED else f"%{byte:02X}" for byte in party.encode())
    if len(quoted) > _FOLDER_NAME_BYTES_MAX:
        mark = sha256(party.encode()).hexdigest()[:16]
        quoted = f"{quoted[: _FOLDER_NAME_BYTES_MAX - 17]}~{mark}"
    return f"party={quoted}"


def segment_name(party: str, first_seq: int, last_seq: int) -> str:
    """The path of the segment with these rows, relative to the lake directory.

    Raises `ValueError` if the range is empty or does not begin above 0.
    """
    if not 0 < first_seq <= last_seq:
        raise ValueError(f"no journal rows are numbered {first_seq} to {last_seq}")
    return (
        f"{JOURNAL_FOLDER}/{party_folder(party)}/segment-{first_seq:020d}-{last_seq:020d}.parquet"
    )


def to_table(records: Sequence[Record]) -> pa.Table:
    """The rows as columns, in the given order."""
    rows = map(astuple, records)
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    arrays = [
        pa.array(values, type=field.type)
        for field, values in zip(SEGMENT_SCHEMA, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=SEGMENT_SCHEMA)


def to_parquet(records: Sequence[Record]) -> bytes:
    """The bytes of the segment with these rows (zstd, without wall time): always the same."""
    sink = pa.BufferOutputStream()
    pq.write_table(
        to_table(records),
        sink,
        compression="zstd",
        row_group_size=ROW_GROUP_ROWS,
        store_schema=False,
    )
    return bytes(sink.getvalue().to_pybytes())


def to_records(table: pa.Table) -> list[Record]:
    """The rows of a segment, as they were written; younger columns that it lacks are null.

    Raises `KeyError` if a required column is missing, `ValueError` if a column has another type or
    a value that is no word of the journal.
    """
    _check_columns(table.schema)
    rows = []
    for row in table.to_pylist():
        known = {name: row[name] for name in COLUMNS if name in row}
        known["event"] = Event(row["event"])
        if known.get("direction") is not None:
            known["direction"] = Direction(known["direction"])
        rows.append(Record(**known))
    return rows


def _check_columns(schema: pa.Schema) -> None:
    missing = sorted(_ALWAYS.difference(schema.names))
    if missing:
        raise KeyError(f"the segment lacks {', '.join(missing)}")
    for field in SEGMENT_SCHEMA:
        for at in schema.get_all_field_indices(field.name):
            if schema.field(at).type != field.type:
                raise ValueError(f"{field.name} is {schema.field(at).type}, not {field.type}")
