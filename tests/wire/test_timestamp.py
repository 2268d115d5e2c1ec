"""Instants on the wire."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.instant import from_datetime
from onceonly.wire.timestamp import (
    EARLIEST_AT,
    LATEST_AT,
    cut_to_milliseconds,
    read_timestamp,
    write_extended_timestamp,
    write_timestamp,
)


@pytest.mark.statement("S0-60")
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("19991110T102344.000Z", datetime(1999, 11, 10, 10, 23, 44, tzinfo=UTC)),
        ("19991110T102344Z", datetime(1999, 11, 10, 10, 23, 44, tzinfo=UTC)),
        ("19991110T102344,5Z", datetime(1999, 11, 10, 10, 23, 44, 500_000, tzinfo=UTC)),
        ("19991110T102344.123456789Z", datetime(1999, 11, 10, 10, 23, 44, 123_456, tzinfo=UTC)),
        ("19991110T102344+0130", datetime(1999, 11, 10, 8, 53, 44, tzinfo=UTC)),
        ("1999-11-10T10:23:44Z", datetime(1999, 11, 10, 10, 23, 44, tzinfo=UTC)),
        ("1999-11-10T10:23:44.25-01:30", datetime(1999, 11, 10, 11, 53, 44, 250_000, tzinfo=UTC)),
        ("2000-02-29T00:00:00+14:00", datetime(2000, 2, 28, 10, tzinfo=UTC)),
        (
            "1999-11-10T10:23:44.1234567890123Z",
            datetime(1999, 11, 10, 10, 23, 44, 123_456, tzinfo=UTC),
        ),
        ("1999-11-10T10:23:44", datetime(1999, 11, 10, 10, 23, 44, tzinfo=UTC)),
        ("1999-11-10T10:23:44.5", datetime(1999, 11, 10, 10, 23, 44, 500_000, tzinfo=UTC)),
        ("19991110T102344.000", datetime(1999, 11, 10, 10, 23, 44, tzinfo=UTC)),
        ("1999-12-31T24:00:00Z", datetime(2000, 1, 1, tzinfo=UTC)),
        ("1999-12-31T24:00:00.0000000-01:00", datetime(2000, 1, 1, 1, tzinfo=UTC)),
        ("19991110T240000Z", datetime(1999, 11, 11, tzinfo=UTC)),
        ("00010101T000000Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("99991231T235959.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    ],
)
def test_compact_and_extended_forms_are_read(text, moment):
    """S0-60, A2 and R-42: the sample's form, and every dateTime of XML Schema. Without a zone it is
    UTC, digits behind microseconds are cut, 24:00 is the next day."""
    assert read_timestamp(text) == from_datetime(moment)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00000101T000000Z",
        "100000101T000000Z",
        "-0010101T000000Z",
        "19991110T240001Z",
        "1999-11-10T24:01:00Z",
        "1999-11-10T24:00:00.0000001Z",
        "19991110T240000.001Z",
        "19991110T102344,123.456Z",
        "19991110T102344Z.000Z",
        "19991110T102344+0100.000Z",
        "1999-11-10T10:23:44+01:00.000Z",
        "19991310T102344.000Z",
        "19991110T102344.00\u0660Z",
        "1999-11-10T25:00:00Z",
        "9999-12-31T24:00:00Z",
        "19991231T235960Z",
        "2016-12-31T23:59:60Z",
        "1999-11-10",
        "1999-11-10T10:23Z",
        "19990229T000000Z",
        "19991310T000000Z",
        "1999-11-10T102344Z",
        "19991110T10:23:44Z",
        "19991110 102344Z",
        "19991110T102344.Z",
        "19991110T102344+1500",
        "19991110T102344+0160",
        "00010101T000000+0001",
        "99991231T235959-0001",
        "\u0661\u0669\u0669\u06691110T102344Z",
        "19991110t102344z",
        " 19991110T102344Z",
        "19991110T102344Z\n",
    ],
)
def test_what_names_no_instant_is_refused(text):
    """X15: year 0 or 10000, an end of day that goes on, a leap second, no such day."""
    with pytest.raises(RemoteError) as refused:
        read_timestamp(text)
    assert refused.value.code is ErrorCode.VALUE_NOT_RECOGNIZED


def test_a_refused_time_is_named_and_quoted():
    """By the element's own name, with a time that would be read."""
    with pytest.raises(RemoteError, match=r"TimeToLive 'now' is no instant .* such as 2001-"):
        read_timestamp("now", "TimeToLive")


@pytest.mark.statement("S0-60")
def test_the_compact_form_is_written():
    """S0-60: milliseconds, cut and not rounded."""
    moment = datetime(1999, 11, 10, 10, 23, 44, 999_999, tzinfo=UTC)
    assert write_timestamp(from_datetime(moment)) == "19991110T102344.999Z"


def test_a_time_is_cut_to_the_millisecond_before_it():
    assert [cut_to_milliseconds(at) for at in (0, 999, 1_999, -1)] == [0, 0, 1_000, -1_000]


@given(st.integers(EARLIEST_AT, LATEST_AT))
def test_what_is_written_reads_back_to_the_millisecond(at):
    """For every instant that a journal can hold."""
    assert read_timestamp(write_timestamp(at)) == cut_to_milliseconds(at) == at // 1000 * 1000


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2001-02-15T11:12:12Z", 982_235_532_000_000),
        ("2001-02-15T11:12:12Z", 982_235_532_000_999),
        ("2001-02-15T11:12:12.001Z", 982_235_532_001_000),
        ("2001-02-15T11:12:12.250Z", 982_235_532_250_000),
        ("0001-01-01T00:00:00Z", EARLIEST_AT),
        ("9999-12-31T23:59:59.999Z", LATEST_AT),
    ],
)
def test_rm_2001_writes_the_date_time_of_xml_schema(text, at):
    """With milliseconds where there are any, and none in the specification's examples."""
    assert write_extended_timestamp(at) == text
    assert read_timestamp(text) == at // 1000 * 1000
