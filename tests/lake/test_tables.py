"""Every table is what its definition says: its columns, their types, and nothing run on the way."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from cases import evidence, kept, planted_records, records
from journals import two_parties
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.catalogue import TABLES, CatalogueEntry, find
from onceonly.message.event import Event
from onceonly.message.word import changed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from onceonly.journal.record import Record
    from onceonly.lake.catalogue import Evidence

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark

every_table = pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])


@pytest.fixture(scope="module")
def planted(frame: Frame) -> Iterator[Evidence]:
    """A message of every fate."""
    case = kept(evidence(frame(planted_records())))
    yield case
    case.judged.unpersist()


def test_names_are_folders():
    """No two tables have the same name, and each is a plain word."""
    names = [table.name for table in TABLES]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() and name.islower() for name in names)


@every_table
def test_declared_columns_are_the_frame_s(table: CatalogueEntry, planted: Evidence):
    """Names, order and types: whoever reads the reference reads the table."""
    made = table.make(planted)
    declared = [(column.name, column.type) for column in table.definition.columns]
    assert [(field.name, field.dataType.simpleString()) for field in made.schema] == declared


@every_table
def test_units_stand_in_the_names(table: CatalogueEntry):
    """What is measured says so in its name, and what is said is said."""
    for column in table.definition.columns:
        assert column.meaning
        assert (column.unit == "µs") == column.name.endswith("_us"), column
        assert (column.unit == "bytes") == column.name.endswith("_bytes"), column
        assert (column.unit == "0 to 1") == column.name.endswith("_share"), column
        assert (column.type == "timestamp") == (
            column.name.endswith("_at") or column.name == "at"
        ), column
        assert (column.type == "boolean") == column.name.startswith(
            ("is_", "has_", "was_", "holds", "adds_")
        ), column


@every_table
def test_every_fate_is_a_row_or_none(table: CatalogueEntry, planted: Evidence):
    """With a message of every fate each table computes, and has no row twice."""
    rows = [repr(row) for row in table.make(planted).collect()]
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("name", ["attempts", "channel_intervals", "sequence_gaps", "outages"])
def test_a_table_does_not_depend_on_the_order_of_rows(name: str, planted: Evidence):
    """Whatever follows whatever does so by the journal's numbers, not by the files."""
    table = find(name)
    turned = planted._replace(journal=planted.journal.orderBy(F.col("seq").desc()))
    one, other = (sorted(map(repr, table.make(case).collect())) for case in (planted, turned))
    assert one == other


def rolled_back() -> list[Record]:
    """Two journals of which most numbers from 8 on stand twice: a backup was restored."""
    chance = random.Random(1)
    there, _ = two_parties()
    for number in range(6):
        there.matched_after_lost_ack(f"matched-{number}")
        there.given_up(f"given-up-{number}")
    there.of_pair(Event.PAIR_SUSPENDED, reason="maintenance")
    there.of_pair(Event.PAIR_RESUMED, reason="operator")
    rows = [row for row in records(there) if row.seq >= 8]
    again = []
    for row in rows:
        other = chance.choice([one for one in rows if one.party == row.party])
        at = other.at + chance.randrange(1, 10_000_000)
        size_bytes = None if other.size_bytes is None else other.size_bytes + 1
        again.append(changed(other, seq=row.seq, at=at, size_bytes=size_bytes, store_epoch=2))
    return records(there) + again


@pytest.fixture(scope="module")
def forked(frame: Frame) -> Iterator[tuple[Evidence, Evidence]]:
    """The same rows in two orders."""
    rows = rolled_back()
    turned = random.Random(2).sample(rows, len(rows))
    cases = kept(evidence(frame(rows))), kept(evidence(frame(turned).repartition(3)))
    yield cases
    for case in cases:
        case.judged.unpersist()


_BY_NUMBER = ("app_deliveries", "attempts", "channel_intervals", "duplicates", "messages")
_BY_NUMBERS_OF_ALL = ("delivery_ledger", "once_only", "journal_quality")


@pytest.mark.parametrize(
    "name", [*_BY_NUMBER, *_BY_NUMBERS_OF_ALL, "availability", "outages", "sequence_gaps", "volume"]
)
def test_a_number_given_twice_leaves_nothing_to_the_order_of_rows(
    name: str, forked: tuple[Evidence, Evidence]
):
    """Numbers that a rolled-back store gave again do not tell who is first; files must not (E4)."""
    one, other = (sorted(map(repr, find(name).make(case).collect())) for case in forked)
    assert one == other
