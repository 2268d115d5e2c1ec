"""Rows of a DataFrame as rows of a job: pure functions of what is in them.

The MessageId of a row, its payload and its header come from its columns and the options alone,
never from the task, the attempt, the time or the session's time zone, so that a row that is tried
again is the same row. A text that is no UTF-8 spoils its row alone: it goes as what is no text,
which the gateway rejects by the field's name. A time in a year that Python does not have goes as
the number that is stored.
"""

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import repeat
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyspark.sql.types import BinaryType, NullType, StringType, StructType

from pyspark_onceonly.options import Options

HEADER_FIELDS = {
    "to": "to",
    "service": "service",
    "action": "action",
    "agreement": "agreement",
    "conversation_id": "conversation",
    "ref": "ref",
    "content_type": "content_type",
    "payload_name": "name",
}
"""Columns, and options of the same names, and what the API calls them."""

_NO_TEXT: Final = ["not UTF-8"]
"""Stands for a text that cannot be said in JSON."""


class RowShape(NamedTuple):
    """How a row becomes a message; picklable, so that tasks have it."""

    job: str
    columns: tuple[str, ...]
    message_id_column: str | None
    payload_column: str | None
    fixed: tuple[tuple[str, str], ...]
    """Header fields that every row has by an option, where its column has no better value."""
    header: tuple[tuple[str, str], ...] = ()
    """Header fields that have a column, and which."""

    def of_job(self, job: str) -> "RowShape":
        """The same for another job."""
        return self._replace(job=job)

    def lines(self, batch: pa.RecordBatch, numbers: Sequence[int]) -> Iterator[bytes]:
        """The rows as the API takes them, one line each."""
        columns = {name: batch.column(n) for n, name in enumerate(self.columns)}
        ids = self._message_ids(columns)
        column = columns.get(self.payload_column or "")
        payloads = repeat({}, len(numbers)) if column is None else _payloads(column)
        named = {field: columns[name] for field, name in self.header}
        headers = [self._field(named.get(name), name, len(numbers)) for name in HEADER_FIELDS]
        for number, message_id, payload, *values in zip(
            numbers, ids, payloads, *headers, strict=True
        ):
            row: dict[str, Any] = {"row": number, "message_id": message_id, **payload}
            row |= {
                field: value
                for field, value in zip(HEADER_FIELDS.values(), values, strict=True)
                if value is not None
            }
            if not payload:
                row.pop("content_type", None)
                row.pop("name", None)
            yield _to_json(row).encode()

    def _message_ids(self, columns: Mapping[str, pa.Array]) -> Sequence[Any]:
        if self.message_id_column is not None:
            return _texts(columns[self.message_id_column])
        values = [_values(_in_utc(columns[name])) for name in sorted(self.columns)]
        return [_hashed(self.job, self.columns, row) for row in zip(*values, strict=True)]

    def _field(self, column: pa.Array | None, name: str, count: int) -> Sequence[Any]:
        default = dict(self.fixed).get(name)
        if column is None:
            return [default] * count
        return [default if value is None else value for value in _texts(column)]


def shape_of(options: Options, schema: StructType, job: str) -> RowShape:
    """Raises `ValueError` for a column that is not there, or cannot be what it is named for.

    So it does where two columns have one name.
    """
    columns = schema.fieldNames()
    if twice := [name for name, count in Counter(columns).items() if count > 1]:
        # As after a join. Which of them makes a MessageId, or is one, nobody could say.
        raise ValueError(f"several columns are named {twice[0]!r}: drop or rename all but one")
    asked, payload = options.find("message_id_column"), _payload_column(options, columns)
    named = None if asked is None else _column(options, asked, columns)
    # A `TO` that is not seen, as in a table of a database, is a wrong partner.
    header = {name: options.find_column(name, columns) for name in HEADER_FIELDS}
    texts = (name for name in columns if name == named or name in header.values())
    binary = [name for name in texts if isinstance(schema[name].dataType, BinaryType)]
    if binary:
        raise ValueError(f"column {binary[0]!r} is binary, and has to be a text: cast it")
    if payload is not None and not isinstance(schema[payload].dataType, _PAYLOADS):
        kind = schema[payload].dataType.simpleString()
        raise ValueError(f"column {payload!r} is {kind}; a payload is string or binary: cast it")
    fixed = tuple(
        (name, value) for name in HEADER_FIELDS if (value := options.find(name)) is not None
    )
    told = tuple((field, name) for field, name in header.items() if name is not None)
    return RowShape(job, tuple(columns), named, payload, fixed, told)


def _column(options: Options, name: str, columns: Sequence[str]) -> str:
    found = options.find_column(name, columns)
    if found is None:
        raise ValueError(f"there is no column {name!r}; there are {', '.join(columns)}")
    return found


_PAYLOADS = (StringType, BinaryType, NullType)


def _payload_column(options: Options, columns: Sequence[str]) -> str | None:
    """A message sent without its payload cannot be called back, so `none` must be explicit."""
    named = options.find("payload_column")
    if options.word("payload", "column", "none") == "none":
        if named is not None:
            raise ValueError("option payload is 'none', so there is no payload_column")
        return None
    if named is not None:
        return _column(options, named, columns)
    found = options.find_column("payload", columns)
    if found is None:
        raise ValueError(
            f"there is no column 'payload'; there are {', '.join(columns)}: name one with the "
            "option payload_column, or send messages without with payload=none"
        )
    return found


_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _values(column: pa.Array) -> Sequence[Any]:
    """The values as Python has them; `_NO_TEXT` for one with a text that is no UTF-8.

    One with a time that Python does not have has numbers for its times: microseconds, or days.
    """
    try:
        values: list[Any] = column.to_pylist()
    except (UnicodeDecodeError, OverflowError):
        return [_value(column.slice(n, 1)) for n in range(len(column))]
    return values


def _value(cell: pa.Array) -> Any:
    try:
        return cell[0].as_py()
    except UnicodeDecodeError:
        return _NO_TEXT
    except OverflowError:
        return _value(cell.cast(_retyped(cell.type, _number)))


def _in_utc(column: pa.Array) -> pa.Array:
    """The same in every session: Arrow gives instants in the time zone of its own."""
    return column.cast(_retyped(column.type, _utc))


def _retyped(kind: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type with what `leaf` makes of those that it is made of."""
    if pa.types.is_struct(kind):
        return pa.struct([_field(field, leaf) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_field(kind.key_field, leaf), _field(kind.item_field, leaf))
    if pa.types.is_list(kind):
        return pa.list_(_field(kind.value_field, leaf))
    return leaf(kind)


def _field(field: pa.Field, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.Field:
    return field.with_type(_retyped(field.type, leaf))


def _utc(kind: pa.DataType) -> pa.DataType:
    is_instant = pa.types.is_timestamp(kind) and kind.tz is not None
    return pa.timestamp(kind.unit, "UTC") if is_instant else kind


def _number(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.int64()
    return pa.int32() if pa.types.is_date32(kind) else kind


def _texts(column: pa.Array) -> Sequence[Any]:
    """The values as texts; null and `_NO_TEXT` stay as they are."""
    # A nested one has always been as Python shows it, and ids that are made of that stay.
    values = _values(column if pa.types.is_nested(column.type) else _in_utc(column))
    return [value if value is None or value is _NO_TEXT else _text(value) for value in values]


def _text(value: Any) -> str:
    is_time = isinstance(value, datetime)
    return value.isoformat(timespec="microseconds") if is_time else str(value)


def _payloads(column: pa.Array) -> Iterator[dict[str, Any]]:
    for value in _values(column):
        if value is None:
            yield {}
        elif isinstance(value, bytes):
            yield {"payload_base64": b64encode(value).decode()}
        else:
            yield {"payload": value}


def _hashed(job: str, columns: Sequence[str], row: Sequence[Any]) -> Any:
    """A MessageId of the job's name and everything in the row, under the columns' names."""
    if any(value is _NO_TEXT for value in row):
        return _NO_TEXT
    named = json.dumps([job, sorted(columns), row], ensure_ascii=False, default=_plain)
    return f"{sha256(named.encode()).hexdigest()}@row.onceonly"


def _plain(value: Any) -> str:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return _text(value)
