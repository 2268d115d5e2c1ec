"""A segment keeps every row, the same bytes for the same rows, under a name any system takes."""

import hashlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onceonly.journal.record import (
    CHAIN_START,
    COLUMNS,
    SCHEMA_VERSION,
    Record,
    chain,
    linked,
    younger_than,
)
from onceonly.journal.segment import (
    SEGMENT_SCHEMA,
    party_folder,
    segment_name,
    to_parquet,
    to_records,
    to_table,
)
from onceonly.message.event import Direction, Event
from onceonly.message.word import changed

ROWS = [
    Record("urn:duns:1", Event.STARTED, 1_000, 5, seq=1, store_epoch=1, chain_hash="a" * 64),
    Record(
        "urn:duns:1",
        Event.TRANSMITTED,
        2_000_000_000_000_000,
        6,
        direction=Direction.OUT,
        from_party="urn:duns:1",
        to_party="urn:duns:2",
        message_id="m1@é.example",
        attempt=2,
        status_code=200,
        seq=2,
        store_epoch=1,
        chain_hash="b" * 64,
    ),
]


def read(body: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(body))


def test_schema_has_the_columns_of_a_record_in_their_order():
    """One fact, one definition: a column added to Record shows up here or this fails."""
    assert tuple(SEGMENT_SCHEMA.names) == COLUMNS


def test_rows_come_back_as_they_were():
    """Every value of every column survives Parquet, enums included."""
    assert to_records(read(to_parquet(ROWS))) == ROWS


def test_chain_can_be_verified_from_a_segment():
    """What was hashed before is hashed the same after a trip through Parquet (E3)."""
    row = ROWS[1]
    again = to_records(read(to_parquet(ROWS)))[1]
    assert chain(CHAIN_START, again) == chain(CHAIN_START, row)


def test_same_rows_give_the_same_bytes():
    """Publishing twice changes nothing."""
    assert to_parquet(ROWS) == to_parquet(list(ROWS))


def test_no_rows_are_an_empty_table():
    """Nothing to publish is a value, not an error."""
    assert to_table([]).num_rows == 0
    assert to_records(to_table([])) == []


def test_a_column_that_an_older_segment_lacks_is_null():
    """A journal of an older version stays readable."""
    assert to_records(to_table(ROWS).drop_columns(["hop"])) == ROWS


def test_name_orders_by_sequence():
    """Names sort as the rows do, so a listing is a history."""
    names = [segment_name("p", first, first + 8) for first in (1, 10, 100, 1_000_000)]
    assert names == sorted(names)
    assert names[0] == ("journal/party=p/segment-00000000000000000001-00000000000000000009.parquet")


@pytest.mark.parametrize(("first", "last"), [(0, 3), (5, 4), (-1, -1)])
def test_an_empty_range_has_no_name(first: int, last: int):
    """A segment without rows would hide a mistake of the publisher."""
    with pytest.raises(ValueError, match="no journal rows"):
        segment_name("p", first, last)


def test_folder_is_safe_for_every_party():
    """Separators, wildcards and other scripts cannot leave the folder or name two parties alike."""
    assert party_folder("urn:duns:1") == "party=urn%3Aduns%3A1"
    assert party_folder("../{a}*é") == "party=..%2F%7Ba%7D%2A%C3%A9"


def test_long_names_are_cut_and_stay_different():
    """A PartyId of 255 characters with a type fits a file system and stays unique."""
    one, other = ("é" * 255 + end for end in "ab")
    assert len(party_folder(one)) < 255
    assert party_folder(one) != party_folder(other)
    assert party_folder(one).endswith(hashlib.sha256(one.encode()).hexdigest()[:16])


def test_a_column_that_must_be_there_is_missed_by_name():
    """Found by fuzzing: `monotonic_ns` was missed with a TypeError that nobody expects."""
    with pytest.raises(KeyError, match="monotonic_ns"):
        to_records(to_table(ROWS).drop_columns(["monotonic_ns"]))


def test_a_column_of_another_type_is_no_column_of_a_journal():
    """A reader would count with texts."""
    table = to_table(ROWS)
    texts = table.column("seq").cast(pa.utf8())
    with pytest.raises(ValueError, match="seq is string, not int64"):
        to_records(table.set_column(table.schema.get_field_index("seq"), "seq", texts))


def test_a_row_is_hashed_with_the_columns_of_its_own_version():
    """Journals of before are verified as they were written: the hash is one of their time (E3)."""
    row = changed(ROWS[1], schema_version=1)
    names = [name for name in COLUMNS[:-1] if name not in younger_than(1)]
    text = "|".join(
        "~" if value is None else f"{len(str(value))}:{value}"
        for value in (getattr(row, name) for name in names)
    )
    expected = hashlib.sha256(f"{CHAIN_START}|{text}".encode()).hexdigest()
    assert chain(CHAIN_START, row) == expected
    assert chain(CHAIN_START, changed(row, schema_version=SCHEMA_VERSION)) != expected


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION + 1))
def test_the_store_adds_number_epoch_and_hash(version: int):
    """The columns of a row are those of its record, and the hash is the chain's."""
    record = changed(ROWS[1], schema_version=version)
    row = Record(*linked(record, seq=7, store_epoch=3, previous_hash=CHAIN_START))
    assert row == changed(record, seq=7, store_epoch=3, chain_hash=row.chain_hash)
    assert row.chain_hash == chain(CHAIN_START, row)


def test_the_hash_of_a_row_is_what_it_was_when_rows_were_first_published():
    """Whoever verifies an old segment counts in the same way."""
    record = Record(
        "urn:duns:1", Event.STORED, 5, 6, Direction.IN, message_id="m-1", hop=2, schema_version=2
    )
    row = linked(record, seq=1, store_epoch=1, previous_hash=CHAIN_START)
    assert row[-1] == "9c5e43b81e771cb3a6cf705fc38ccd887e4cf98906be0ed2b12bbdcbfb7f9e87"


@pytest.mark.parametrize("name", younger_than(1))
def test_nothing_can_be_filled_in_later(name: str):
    """A value in a column that a row's version does not have is an edit that shows (E3)."""
    row = changed(ROWS[1], schema_version=1)
    assert chain(CHAIN_START, changed(row, **{name: 1})) != chain(CHAIN_START, row)


@pytest.mark.statement(ruling="R-37")
def test_every_column_is_under_the_hash_of_a_row_of_today():
    """Another value in any of them gives another hash."""
    row = ROWS[1]
    assert (
        len({chain(CHAIN_START, changed(row, **{name: "x"})) for name in COLUMNS[:-1]})
        == len(COLUMNS) - 1
    )
