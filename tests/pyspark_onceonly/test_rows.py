"""How a row of a DataFrame becomes a row of a job, without Spark or a gateway."""

import json
from base64 import b64decode
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyspark_onceonly.options import Options
from pyspark_onceonly.rows import shape_of

FIXED = {"to": "urn:b", "service": "Ordering", "action": "NewOrder"}


def rows(columns: dict[str, Any], job: str = "j", **options: str) -> list[dict[str, Any]]:
    """The API's rows of these columns."""
    batch = pa.RecordBatch.from_pydict(columns)
    shape = shape_of(Options({**FIXED, **options}), batch.schema.names, job)
    return [json.loads(line) for line in shape.lines(batch, range(batch.num_rows))]


def test_header_fields_come_from_columns_or_options() -> None:
    """A column wins where it has a value; what is nowhere is left out."""
    first, second = rows(
        {"id": ["a", "b"], "payload": ["x", "y"], "to": ["urn:c", None], "ref": ["r", None]},
        message_id_column="id",
        content_type="text/plain",
        conversation_id="c-1",
    )
    assert first == {
        "row": 0,
        "message_id": "a",
        "payload": "x",
        "to": "urn:c",
        "service": "Ordering",
        "action": "NewOrder",
        "conversation": "c-1",
        "ref": "r",
        "content_type": "text/plain",
    }
    assert second["to"] == "urn:b"
    assert "ref" not in second


def test_a_payload_is_text_or_bytes_or_nothing() -> None:
    """Bytes go as base64; a null, like a frame without the column, is a message without one."""
    [binary] = rows({"id": ["a"], "payload": [b"\x00\xff"]}, message_id_column="id")
    assert b64decode(binary["payload_base64"]) == b"\x00\xff"
    [empty] = rows(
        {"id": ["a"], "payload": pa.array([None], pa.utf8())},
        message_id_column="id",
        content_type="text/plain",
    )
    [none] = rows({"id": ["a"]}, message_id_column="id", content_type="text/plain")
    for row in (empty, none):
        assert not row.keys() & {"payload", "payload_base64", "content_type", "name"}
    [other] = rows({"id": ["a"], "body": ["x"]}, message_id_column="id", payload_column="body")
    assert other["payload"] == "x"


def test_an_id_column_of_any_type_names_the_message() -> None:
    """A number as its digits; a null has no id, which the gateway rejects."""
    ids = [row["message_id"] for row in rows({"id": [7, None]}, message_id_column="id")]
    assert ids == ["7", None]


def test_without_an_id_column_the_id_is_a_function_of_job_and_row() -> None:
    """Whatever stands in the row, and in whatever order its columns and neighbours come."""
    columns = {
        "n": [1, 2],
        "t": ["x", "x"],
        "b": [b"\x00", None],
        "d": [Decimal("1.50"), None],
        "at": [datetime(2026, 1, 2, tzinfo=UTC)] * 2,
        "s": [{"k": [1.5]}, None],
    }
    first, second = (row["message_id"] for row in rows(columns))
    assert first != second
    turned = {name: values[::-1] for name, values in reversed(columns.items())}
    assert [row["message_id"] for row in rows(turned)] == [second, first]
    assert [row["message_id"] for row in rows(columns, job="k")] != [first, second]
    assert len({row["message_id"] for row in rows({"n": [1, 1]})}) == 1


def test_a_column_that_is_not_there_is_named() -> None:
    """Before any task begins."""
    for option in ("message_id_column", "payload_column"):
        with pytest.raises(ValueError, match="there is no column 'nothing'"):
            rows({"id": ["a"]}, **{option: "nothing"})


def test_options_are_read_strictly() -> None:
    """A wrong value is named with the legal ones."""
    with pytest.raises(ValueError, match="option api is missing"):
        Options({}).gateway()
    with pytest.raises(ValueError, match="legal: binary, text"):
        Options({"payload": "xml"}).word("payload", "binary", "text")
    for wrong in ("-1", "1.5", "many", "0"):
        with pytest.raises(ValueError, match="a whole number from 1"):
            Options({"Rows_Per_Batch": wrong}).whole("rows_per_batch", 5, 1)
    found = Options({"API": "http://x", "Patience_S": "3"}).gateway()
    assert (found.api, found.token, found.patience_s) == ("http://x", None, 3.0)
