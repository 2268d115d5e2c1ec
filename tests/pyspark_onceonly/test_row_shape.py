"""How a row of a DataFrame becomes a row of a job, without Spark or a gateway."""

import json
from base64 import b64decode
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from pyspark_onceonly.options import Options
from pyspark_onceonly.row_shape import shape_of

FIXED = {"to": "urn:b", "service": "Ordering", "action": "NewOrder"}


def rows(columns: dict[str, Any], job: str = "j", **options: str) -> list[dict[str, Any]]:
    """The API's rows of these columns."""
    batch = pa.RecordBatch.from_pydict(columns)
    return rows_of(batch, job, **options)


def rows_of(batch: pa.RecordBatch, job: str = "j", **options: str) -> list[dict[str, Any]]:
    schema = from_arrow_schema(batch.schema)
    shape = shape_of(Options({**FIXED, **options}), schema, job)
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


def test_a_header_column_is_known_in_any_case() -> None:
    """As Spark knows it: one from a database in capitals names the partner like any other."""
    columns = {"ORDER_ID": ["a", "b"], "payload": ["x", "y"], "TO": ["urn:c", None]}
    first, second = rows(columns, message_id_column="ORDER_ID")
    assert (first["to"], second["to"]) == ("urn:c", "urn:b")


def test_columns_are_found_by_their_names_in_any_case() -> None:
    """The id, the payload and its usual name, as Spark finds them."""
    columns = {"ORDER_ID": ["a"], "Body": ["x"], "PAYLOAD": ["y"]}
    [named] = rows(columns, message_id_column="order_id", payload_column="body")
    assert (named["message_id"], named["payload"]) == ("a", "x")
    [usual] = rows(columns, message_id_column="Order_Id")
    assert usual["payload"] == "y"


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"id": ["a"], "ID": ["b"], "payload": ["x"]}, {"message_id_column": "Id"}),
        ({"id": ["a"], "ID": ["b"], "payload": ["x"]}, {"message_id_column": "id"}),
        ({"payload": ["x"], "Payload": ["y"]}, {}),
        ({"body": ["x"], "BODY": ["y"]}, {"payload_column": "body"}),
        ({"to": ["a"], "To": ["b"], "payload": ["x"]}, {}),
    ],
)
def test_columns_that_differ_in_case_alone_are_refused(
    columns: dict[str, Any], options: dict[str, str]
) -> None:
    """Where one of them is meant, with both names; a session that knows case means one."""
    with pytest.raises(ValueError, match="two differ in case alone"):
        rows(columns, **options)


@pytest.mark.parametrize("options", [{}, {"message_id_column": "id", "case_sensitive": "true"}])
def test_columns_of_one_name_are_refused(options: dict[str, str]) -> None:
    """As after a join: rows that differ in the first of them alone would be one message."""
    names = ["id", "id", "payload"]
    twice = pa.RecordBatch.from_arrays([pa.array([text]) for text in "axy"], names=names)
    with pytest.raises(ValueError, match="several columns are named 'id': drop or rename"):
        rows_of(twice, **options)


def test_a_session_that_knows_case_means_one_column() -> None:
    """With the option for it, as `spark.sql.caseSensitive` has it."""
    columns = {"id": ["a"], "ID": ["b"], "payload": ["x"], "TO": ["urn:other"], "to": ["urn:c"]}
    [row] = rows(columns, message_id_column="ID", case_sensitive="true")
    assert (row["message_id"], row["to"]) == ("b", "urn:c")
    with pytest.raises(ValueError, match="there is no column 'Id'"):
        rows(columns, message_id_column="Id", case_sensitive="true")


def test_a_payload_is_text_or_bytes_or_nothing() -> None:
    """Bytes go as base64; a null is a message without one, like each of `payload=none`."""
    [binary] = rows({"id": ["a"], "payload": [b"\x00\xff"]}, message_id_column="id")
    assert b64decode(binary["payload_base64"]) == b"\x00\xff"
    [empty] = rows(
        {"id": ["a"], "payload": pa.array([None], pa.utf8())},
        message_id_column="id",
        content_type="text/plain",
    )
    [none] = rows(
        {"id": ["a"], "payload": ["x"]},
        message_id_column="id",
        content_type="text/plain",
        payload="none",
    )
    for row in (empty, none):
        assert not row.keys() & {"payload", "payload_base64", "content_type", "name"}
    [other] = rows({"id": ["a"], "body": ["x"]}, message_id_column="id", payload_column="body")
    assert other["payload"] == "x"


def test_an_id_column_of_any_type_names_the_message() -> None:
    """A number as its digits; a null has no id, which the gateway rejects."""
    ids = [
        row["message_id"] for row in rows({"id": [7, None]}, message_id_column="id", payload="none")
    ]
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
    first, second = (row["message_id"] for row in rows(columns, payload="none"))
    assert first != second
    turned = {name: values[::-1] for name, values in reversed(columns.items())}
    found = rows(turned, payload="none")
    assert [row["message_id"] for row in found] == [second, first]
    found = rows(columns, job="k", payload="none")
    assert [row["message_id"] for row in found] != [first, second]
    assert len({row["message_id"] for row in rows({"n": [1, 1]}, payload="none")}) == 1


@pytest.mark.parametrize("named", [True, False])
def test_the_id_is_the_same_in_every_time_zone(named: bool) -> None:
    """Arrow gives an instant in the zone of the session, which differs from run to run."""

    def ids(zone: str) -> list[str]:
        at = pa.array([0, 1_234_567_890_123_456], pa.timestamp("us", tz="UTC"))
        nested = pa.array([[value] for value in at.to_pylist()], pa.list_(pa.timestamp("us", zone)))
        columns = {"at": at.cast(pa.timestamp("us", tz=zone)), "nested": nested}
        options = {"message_id_column": "at"} if named else {}
        return [row["message_id"] for row in rows(columns, payload="none", **options)]

    assert ids("America/New_York") == ids("Asia/Tokyo") == ids("UTC")
    assert ids("UTC")[1].startswith("2009-02-13T23:31:30.123456+00:00") is named


ALWAYS = "91f92fe81b96c19f17bcc655d4a0fa20c2f0cd29bd7159cb93c50a4fdc1d4c6f"


def test_the_id_of_a_row_is_what_it_always_was() -> None:
    """Another one would send again what was sent."""
    columns = {
        "n": pa.array([7], pa.int64()),
        "t": ["é"],
        "b": [b"\x00"],
        "d": [date(2026, 1, 2)],
        "dec": [Decimal("1.50")],
        "f": [0.1],
        "no": pa.array([None], pa.utf8()),
        "at": pa.array([1_234_567_890_123_456], pa.timestamp("us", tz="Asia/Tokyo")),
        "ntz": pa.array([1_234_567_890_000_000], pa.timestamp("us")),
        "s": [{"k": [datetime(2026, 1, 2, tzinfo=UTC)]}],
        "m": pa.array([[("k", date(2026, 1, 2))]], pa.map_(pa.utf8(), pa.date32())),
    }
    [row] = rows(columns, payload="none")
    assert row["message_id"] == f"{ALWAYS}@row.onceonly"
    [row] = rows(columns, payload="none", message_id_column="at")
    assert row["message_id"] == "2009-02-13T23:31:30.123456+00:00"


BEYOND = (
    -(2**63),
    -62_135_596_800_000_001,
    -62_135_596_800_000_000,
    253_402_300_799_999_999,
    253_402_300_800_000_000,
    2**63 - 1,
)
"""Around the first and the last instant of Python's years in UTC; other zones have less."""


def test_a_time_that_python_does_not_have_is_told_by_its_number() -> None:
    """The same in every time zone, alone or inside of something; its neighbours are as ever."""

    def ids(zone: str, **options: str) -> list[str]:
        at = pa.array(BEYOND, pa.int64()).cast(pa.timestamp("us", tz=zone))
        ends = pa.array(range(len(BEYOND) + 1), pa.int32())
        columns = {"at": at, "nested": pa.ListArray.from_arrays(ends, at)}
        return [row["message_id"] for row in rows(columns, payload="none", **options)]

    assert ids("America/New_York") == ids("Asia/Tokyo") == ids("UTC")
    assert len(set(ids("UTC"))) == len(BEYOND)
    named = [
        ids(zone, message_id_column="at") for zone in ("America/New_York", "Asia/Tokyo", "UTC")
    ]
    texts = [str(number) for number in BEYOND]
    texts[2:4] = "0001-01-01T00:00:00.000000+00:00", "9999-12-31T23:59:59.999999+00:00"
    assert named == [texts] * 3
    days = pa.array([-(2**31), 0, 2**31 - 1], pa.int32()).cast(pa.date32())
    naive = pa.array([-(2**63), 0, 2**63 - 1], pa.int64()).cast(pa.timestamp("us"))
    columns = {"payload": ["x"] * 3, "ref": days, "conversation_id": naive}
    found = rows(columns)
    assert [row["ref"] for row in found] == ["-2147483648", "1970-01-01", "2147483647"]
    first = rows({name: values[1:2] for name, values in columns.items()})
    assert found[1]["message_id"] == first[0]["message_id"]
    assert found[1]["conversation"] == "1970-01-01T00:00:00.000000"


def test_a_time_in_a_zone_that_python_does_not_know_is_told_in_utc() -> None:
    """Spark's sessions know zones such as this one."""
    at = pa.array([0], pa.int64()).cast(pa.timestamp("us", tz="GMT+05:00"))
    [row] = rows_of(pa.RecordBatch.from_pydict({"at": at}), payload="none", message_id_column="at")
    assert row["message_id"] == "1970-01-01T00:00:00.000000+00:00"


def broken(text: bytes) -> pa.Array:
    """A column of two texts of which the first is no UTF-8, as a cast in Spark makes it."""
    return pa.array([text, b"good"]).view(pa.utf8())


@pytest.mark.parametrize("column", ["payload", "id", "ref", "content_type"])
def test_a_text_that_is_no_utf_8_spoils_its_own_row_alone(column: str) -> None:
    """It goes as what the gateway rejects by the field's name."""
    whole = {name: ["x", "y"] for name in ("id", "payload", "ref", "content_type")}
    batch = pa.RecordBatch.from_pydict({**whole, column: broken(b"\xff")})
    first, second = rows_of(batch, message_id_column="id")
    field = "message_id" if column == "id" else column
    assert (first[field], second[field]) == (["not UTF-8"], "good")


def test_a_row_with_such_a_text_has_no_id_of_its_own() -> None:
    """Its id would be made of what cannot be said; a text that nobody needs harms nobody."""
    batch = pa.RecordBatch.from_pydict({"n": [1, 2], "note": broken(b"\xff")})
    first, second = rows_of(batch, payload="none")
    assert first["message_id"] == ["not UTF-8"]
    assert second["message_id"].endswith("@row.onceonly")
    named = rows_of(batch, payload="none", message_id_column="n")
    assert [row["message_id"] for row in named] == ["1", "2"]


def test_a_column_that_is_not_there_is_named() -> None:
    """Before any task begins."""
    for option in ("message_id_column", "payload_column"):
        with pytest.raises(ValueError, match="there is no column 'nothing'"):
            rows({"id": ["a"], "payload": ["x"]}, **{option: "nothing"})


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        ({"body": ["x"]}, {}, "no column 'payload'; there are body: name one"),
        ({"body": ["x"]}, {"payload_column": "body", "payload": "none"}, "no payload_column"),
        ({"payload": [1.5]}, {}, "'payload' is double; a payload is string or binary"),
        ({"payload": [["x"]]}, {}, "'payload' is array<string>; a payload is"),
        ({"n": [b"a"]}, {"payload": "none", "message_id_column": "n"}, "'n' is binary"),
        ({"to": [b"a"]}, {"payload": "none"}, "'to' is binary"),
        ({"To": [b"a"]}, {"payload": "none"}, "'To' is binary"),
        ({"to": ["a"], "TO": ["b"]}, {"payload": "none"}, "to, TO two differ in case alone"),
        ({"n": [1]}, {"payload": "xml"}, "legal: column, none"),
    ],
)
def test_what_would_be_sent_wrong_is_refused(
    columns: dict[str, Any], options: dict[str, str], text: str
) -> None:
    """Before any task begins, since no message can be called back."""
    with pytest.raises(ValueError, match=text):
        rows(columns, **options)


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
