"""Rows of a list as a file, piece by piece: CSV, NDJSON or Parquet, in bounded memory.

Knows the types that the API lists, and how their members become columns; must not know where rows
come from or where the file goes. A CSV is read by people, so nothing in it is invisible and nothing
is a formula; the other two have texts as they are.
"""

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, Protocol

import msgspec
from msgspec import UNSET, inspect

from onceonly.api.history import JournalRow
from onceonly.api.inbox import InboxItem
from onceonly.api.messages import OutboundMessage
from onceonly.message.printable import printable
from onceonly.message.word import Word

Form = Literal["csv", "ndjson", "parquet"]
FORMS: Final[tuple[Form, ...]] = ("csv", "ndjson", "parquet")
MEDIA: Final[dict[Form, str]] = {
    "csv": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}

GROUP_ROWS: Final = 10_000
"""Rows of a row group of Parquet, which is what is in memory: about 10 MB."""

FORMULA_SIGNS: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a formula of a spreadsheet begins; the last four are as broad as East Asian signs."""

Kind = Literal["text", "number", "boolean", "instant"]


class ExportedMember(Word, kw_only=True):
    """One column: a member of the rows, under the name that it has in JSON."""

    name: str
    kind: Kind
    value: Callable[[Any], Any]


class Exporter(Protocol):
    """Writes one file; each call returns the bytes that come next."""

    def begin(self) -> bytes:
        """What is before the first row."""
        ...

    def rows(self, rows: Sequence[Word]) -> bytes:
        """The next rows."""
        ...

    def end(self) -> bytes:
        """What is after the last row; nothing more is written."""
        ...


def exporter(form: Form, row_type: type[Word]) -> Exporter:
    """One that writes a file of rows of this type."""
    columns = columns_of(row_type)
    match form:
        case "csv":
            return _Csv(columns)
        case "ndjson":
            return _Lines()
        case "parquet":
            return _Parquet(columns)


def columns_of(row_type: type[Word]) -> tuple[ExportedMember, ...]:
    """The members of a row that are one value: texts, numbers, instants; and names together.

    Of a list of objects, as payloads are, there is the number; a single object is left out.
    """
    columns = []
    for field in msgspec.structs.fields(row_type):
        found = _kind_of(inspect.type_info(field.type))
        if found is not None:
            kind, shown = found
            value = _member(field.name, shown)
            columns.append(ExportedMember(name=field.encode_name, kind=kind, value=value))
    return tuple(columns)


def _member(name: str, shown: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    def value(row: Any) -> Any:
        found = getattr(row, name)
        if found is UNSET:
            return None  # A member that this row has not is an empty cell.
        return found if shown is None else shown(found)

    return value


_SIMPLE: Final[dict[type[inspect.Type], Kind]] = {
    inspect.BoolType: "boolean",
    inspect.IntType: "number",
    inspect.StrType: "text",
    inspect.LiteralType: "text",
}


def _kind_of(found: inspect.Type) -> tuple[Kind, Callable[[Any], Any] | None] | None:
    """The kind of a member, and what makes its value one; None if it is left out."""
    if isinstance(found, inspect.Metadata):
        schema = found.extra_json_schema or {}
        is_instant = schema.get("format") == "date-time"
        return ("instant", None) if is_instant else _kind_of(found.type)
    if isinstance(found, inspect.UnionType):
        [one] = [kind for kind in found.types if not isinstance(kind, inspect.NoneType)]
        return _kind_of(one)
    if isinstance(found, inspect.EnumType):
        return "text", lambda value: None if value is None else value.value
    if isinstance(found, inspect.VarTupleType):
        is_names = isinstance(found.item_type, inspect.StrType)
        return ("text", " ".join) if is_names else ("number", len)
    kind = _SIMPLE.get(type(found))
    return None if kind is None else (kind, None)


class _Lines:
    """NDJSON: each row as the API has it."""

    def begin(self) -> bytes:
        return b""

    def rows(self, rows: Sequence[Word]) -> bytes:
        return b"".join(_json(row) + b"\n" for row in rows)

    def end(self) -> bytes:
        return b""


def _json(row: Word) -> bytes:
    try:
        return msgspec.json.encode(row)
    except UnicodeEncodeError:
        # Half a surrogate pair has no UTF-8, but it has an escape.
        return json.dumps(msgspec.to_builtins(row), separators=(",", ":")).encode("ascii")


class _Csv:
    """RFC 4180, with a head line."""

    def __init__(self, columns: Sequence[ExportedMember]) -> None:
        self._columns = columns

    def begin(self) -> bytes:
        return _csv([[column.name for column in self._columns]])

    def rows(self, rows: Sequence[Word]) -> bytes:
        return _csv([[csv_cell(one.value(row)) for one in self._columns] for row in rows])

    def end(self) -> bytes:
        return b""


def _csv(lines: Sequence[Sequence[str]]) -> bytes:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerows(lines)
    return written.getvalue().encode()


def csv_cell(value: Any) -> str:
    """A value as a spreadsheet may read it, whoever chose the text (attack R15).

    A text that begins as a formula has an apostrophe before it, and controls are escapes.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    cell = printable(value)
    return f"'{cell}" if cell.lstrip().startswith(FORMULA_SIGNS) else cell


class _Parquet:
    """Row groups of `GROUP_ROWS`, each of which leaves as soon as it is full."""

    def __init__(self, columns: Sequence[ExportedMember]) -> None:
        import pyarrow as pa  # noqa: PLC0415 - because a command's --help must stay quick
        import pyarrow.parquet as pq  # noqa: PLC0415 - because a command's --help must stay quick

        types = {
            "text": pa.utf8(),
            "number": pa.int64(),
            "boolean": pa.bool_(),
            "instant": pa.timestamp("us", tz="UTC"),
        }
        self._arrow = pa
        self._columns = columns
        self._schema = pa.schema([pa.field(one.name, types[one.kind]) for one in columns])
        self._sink = _Sink()
        self._writer = pq.ParquetWriter(self._sink, self._schema, compression="zstd")
        self._waiting: list[Any] = []
        self._rows = 0

    def begin(self) -> bytes:
        return self._sink.taken()

    def rows(self, rows: Sequence[Word]) -> bytes:
        # Converted at once: columns take a tenth of what the rows take.
        columns = [
            self._array(*both, rows) for both in zip(self._columns, self._schema, strict=True)
        ]
        self._waiting.append(self._arrow.RecordBatch.from_arrays(columns, schema=self._schema))
        self._rows += len(rows)
        if self._rows >= GROUP_ROWS:
            self._write()
        return self._sink.taken()

    def end(self) -> bytes:
        if self._rows:
            self._write()
        self._writer.close()
        return self._sink.taken()

    def _write(self) -> None:
        table = self._arrow.Table.from_batches(self._waiting)
        self._waiting, self._rows = [], 0
        self._writer.write_table(table, row_group_size=GROUP_ROWS)

    def _array(self, column: ExportedMember, field: Any, rows: Sequence[Word]) -> Any:
        values = [column.value(row) for row in rows]
        if column.kind == "instant":
            return self._arrow.array(values, self._arrow.utf8()).cast(field.type)
        if column.kind == "text":
            values = [None if value is None else _in_utf8(value) for value in values]
        return self._arrow.array(values, field.type)


def _in_utf8(text: str) -> str:
    """The text, with an escape for half a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode()


class _Sink(io.RawIOBase):
    """What was written and not taken yet."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written += data
        return len(data)

    def taken(self) -> bytes:
        """What was written since the last time."""
        taken = bytes(self._written)
        self._written.clear()
        return taken


class ExportedList(Word, kw_only=True):
    """A list that can be a file: what its rows are, and the name of the file."""

    row_type: type[Word]
    name: str


MESSAGES: Final = ExportedList(row_type=OutboundMessage, name="messages")
INBOX: Final = ExportedList(row_type=InboxItem, name="inbox")
JOURNAL: Final = ExportedList(row_type=JournalRow, name="journal")
