"""Rows of a DataFrame as rows of a job: pure functions of what is in them.

The MessageId of a row, its payload and its header come from its columns and the options alone,
never from the task, the attempt or the time, so that a row that is tried again is the same row.
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import repeat
from typing import Any, NamedTuple

import pyarrow as pa

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


class RowShape(NamedTuple):
    """How a row becomes a message; picklable, so that tasks have it."""

    job: str
    columns: tuple[str, ...]
    message_id_column: str | None
    payload_column: str | None
    fixed: tuple[tuple[str, str], ...]
    """Header fields that every row has by an option, where its column has no better value."""

    def of_job(self, job: str) -> "RowShape":
        """The same for another job."""
        return self._replace(job=job)

    def lines(self, batch: pa.RecordBatch, numbers: Sequence[int]) -> Iterator[bytes]:
        """The rows as the API takes them, one line each."""
        columns = {name: batch.column(n) for n, name in enumerate(self.columns)}
        ids = self._message_ids(columns)
        column = columns.get(self.payload_column or "")
        payloads = repeat({}, len(numbers)) if column is None else _payloads(column)
        headers = [self._field(columns.get(name), name, len(numbers)) for name in HEADER_FIELDS]
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

    def _message_ids(self, columns: Mapping[str, pa.Array]) -> Sequence[str | None]:
        if self.message_id_column is not None:
            return _texts(columns[self.message_id_column])
        values = [columns[name].to_pylist() for name in sorted(self.columns)]
        return [_hashed(self.job, self.columns, row) for row in zip(*values, strict=True)]

    def _field(self, column: pa.Array | None, name: str, count: int) -> Sequence[str | None]:
        default = dict(self.fixed).get(name)
        if column is None:
            return [default] * count
        return [default if value is None else value for value in _texts(column)]


def shape_of(options: Options, columns: Sequence[str], job: str) -> RowShape:
    """Raises `ValueError` for a column that is named and not there."""
    named = options.find("message_id_column")
    payload = options.get("payload_column", "payload")
    for name in filter(None, (named, options.find("payload_column"))):
        if name not in columns:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(columns)}")
    fixed = tuple(
        (name, value) for name in HEADER_FIELDS if (value := options.find(name)) is not None
    )
    is_there = payload in columns
    return RowShape(job, tuple(columns), named, payload if is_there else None, fixed)


_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _texts(column: pa.Array) -> Sequence[str | None]:
    values: list[Any] = column.to_pylist()
    return [value if value is None else str(value) for value in values]


def _payloads(column: pa.Array) -> Iterator[dict[str, str]]:
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    for value in column.to_pylist():
        if value is None:
            yield {}
        elif is_text:
            yield {"payload": value}
        else:
            yield {"payload_base64": b64encode(value).decode()}


def _hashed(job: str, columns: Sequence[str], row: Sequence[Any]) -> str:
    """A MessageId of the job's name and everything in the row, under the columns' names."""
    named = json.dumps([job, sorted(columns), row], ensure_ascii=False, default=_plain)
    return f"{sha256(named.encode()).hexdigest()}@row.onceonly"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value)
