"""Which messages and which columns are asked for, without Spark's JVM or a gateway."""

from __future__ import annotations

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.types import LongType, StringType, StructType

from onceonly.api.fields import NUMBER_MAX
from onceonly.api.inbox import InboxQuery
from pyspark_onceonly.offsets import Range
from pyspark_onceonly.options import Options
from pyspark_onceonly.selection import (
    CRITERIA,
    Selection,
    check_columns,
    chosen_columns,
    inbox_schema,
    pushed,
    selection_of,
)
from pyspark_onceonly.source import USES

EVERYTHING = Range(0, NUMBER_MAX)


def test_without_payloads_no_column_has_bytes() -> None:
    """And the other columns are as they are otherwise."""
    whole, without = inbox_schema("binary"), inbox_schema("none")
    assert [one for one in whole.fieldNames() if one != "payload"] == without.fieldNames()
    assert "binary" not in without.simpleString()


@pytest.mark.parametrize(
    ("columns", "has_bytes"),
    [
        ("offset, Message_ID", False),
        ("content_type,size_bytes", False),
        ("offset,payload", True),
        ("attachments", True),
    ],
)
def test_only_a_column_with_bytes_makes_the_gateway_send_them(
    columns: str, *, has_bytes: bool
) -> None:
    """A `count()` over the others costs no payload."""
    options = Options({"columns": columns})
    found = selection_of(options, chosen_columns(options))
    assert found.has_bytes is has_bytes
    assert found.query == ({} if has_bytes else {"payloads": "none"})
    assert not Selection(inbox_schema("none"), {}, "none").has_bytes


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"columns": "offset,ofset"}, "option columns names 'ofset'; there are offset, "),
        ({"columns": "offset,OFFSET"}, "names a column twice"),
        ({"columns": ""}, "option columns names ''; there are offset, "),
        ({"columns": "payload", "payload": "none"}, "option columns names 'payload'"),
    ],
)
def test_columns_that_are_not_there_are_refused(options: dict[str, str], text: str) -> None:
    """With those that are."""
    with pytest.raises(ValueError, match=text):
        chosen_columns(Options(options))


def test_a_schema_by_hand_is_one_of_the_inbox() -> None:
    """By name without case, with the types of the inbox; any order, and nullable as it likes."""
    check_columns(StructType().add("Message_Id", StringType()).add("offset", LongType()), "binary")
    with pytest.raises(ValueError, match="the schema names 'id'; there are offset"):
        check_columns(StructType().add("id", StringType()), "binary")
    with pytest.raises(ValueError, match="column offset is bigint, and the schema says string"):
        check_columns(StructType().add("offset", StringType()), "binary")


def test_every_criterion_is_one_of_the_api() -> None:
    """Under the same name, so that what is learnt at the command line holds."""
    selection = Selection(inbox_schema("none"), dict.fromkeys(CRITERIA, "x"))
    InboxQuery(**selection.query)


@pytest.mark.parametrize(
    ("filters", "criteria", "wanted"),
    [
        ([EqualTo(("from_party",), "urn:a")], {"from": "urn:a"}, EVERYTHING),
        ([EqualNullSafe(("Service",), "S")], {"service": "S"}, EVERYTHING),
        ([EqualTo(("action",), "A"), EqualTo(("action",), "B")], {"action": "A"}, EVERYTHING),
        ([EqualTo(("message_id",), "m")], {}, EVERYTHING),
        ([EqualTo(("attachments", "name"), "n")], {}, EVERYTHING),
        ([IsNotNull(("offset",)), IsNotNull(("received_at",))], {}, EVERYTHING),
        ([GreaterThan(("offset",), 7), LessThanOrEqual(("offset",), 9)], {}, Range(7, 9)),
        ([GreaterThanOrEqual(("offset",), 7), LessThan(("offset",), 9)], {}, Range(6, 8)),
        ([EqualTo(("offset",), 7)], {}, Range(6, 7)),
        (
            [
                GreaterThanOrEqual(("received_at",), 1_500_000),
                LessThan(("received_at",), 2_000_000),
            ],
            {"since": "1970-01-01T00:00:01.500000Z", "until": "1970-01-01T00:00:02.000000Z"},
            EVERYTHING,
        ),
        (
            [GreaterThan(("received_at",), 0), LessThanOrEqual(("received_at",), 0)],
            {"since": "1970-01-01T00:00:00.000001Z", "until": "1970-01-01T00:00:00.000001Z"},
            EVERYTHING,
        ),
        ([LessThan(("received_at",), 1 << 62)], {}, EVERYTHING),
        ([GreaterThan(("received_at",), -(1 << 62))], {}, EVERYTHING),
    ],
)
def test_what_filters_say_is_asked_of_the_gateway(
    filters: list[Filter], criteria: dict[str, str], wanted: Range
) -> None:
    """Never less than they leave: of two that exclude each other the first one."""
    assert pushed(filters, {}, EVERYTHING) == (criteria, wanted)


def test_a_filter_widens_nothing_that_an_option_asks_for() -> None:
    """The option stays, and Spark looks at the filter."""
    filters = [
        EqualTo(("service",), "Ordering"),
        GreaterThan(("received_at",), 5),
        GreaterThan(("offset",), 3),
    ]
    given = {"service": "Billing", "since": "2026-11-25T00:00:00Z"}
    assert pushed(filters, given, Range(5, 10)) == (given, Range(5, 10))


def test_names_that_differ_in_case_alone_are_one_column():
    """In the option and in a schema, unless the session knows case."""
    with pytest.raises(ValueError, match="twice"):
        chosen_columns(Options({"columns": "offset,OFFSET"}))
    twice = StructType().add("offset", LongType()).add("OFFSET", LongType())
    with pytest.raises(ValueError, match="names offset twice: offset, OFFSET"):
        check_columns(twice, "binary")
    with pytest.raises(ValueError, match="the schema names 'OFFSET'"):
        check_columns(twice, "binary", Options({"case_sensitive": "true"}))


def test_every_option_is_known_in_any_case():
    """As Spark has them: of each use, in capitals."""
    for use, names in USES.items():
        given = Options({name.upper(): "x" for name in names})
        given.check(use, USES)
        assert {name for name in names if given.find(name) != "x"} == set()
