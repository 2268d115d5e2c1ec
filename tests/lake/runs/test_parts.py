"""What is counted of parts of the lives, as of days, adds up to what is counted of all at once."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pytest
from cases import evidence, kept, planted_records
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import invariants
from onceonly.lake.reports import reconciliation, reconciliation_days

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onceonly.journal.record import Record
    from onceonly.lake.catalogue import Evidence

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark
PARTS = 3


@pytest.fixture(scope="module")
def case(frame: Frame) -> Evidence:
    return kept(evidence(frame(planted_records())))


def in_parts(judged: DataFrame, made: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """The union of what is made of each part."""
    part = F.pmod(F.xxhash64("message_id"), F.lit(PARTS))
    parts = [made(judged.where(part == F.lit(number))) for number in range(PARTS)]
    return reduce(DataFrame.unionByName, parts)


def same(one: DataFrame, other: DataFrame) -> bool:
    assert one.columns == other.columns
    rows = sorted(map(repr, one.collect()))
    assert rows
    return rows == sorted(map(repr, other.collect()))


def test_the_classes_of_parts_add_up(case: Evidence):
    """Totals, the matrix of the pairs, and the table by day."""
    whole = reconciliation.counts(case.judged)
    parts = in_parts(case.judged, reconciliation.counts)
    assert same(reconciliation.totals(parts), reconciliation.totals(whole))
    assert same(reconciliation.matrix(parts, 3), reconciliation.matrix(whole, 3))
    assert same(reconciliation_days.table(parts), reconciliation_days.table(whole))
    assert same(reconciliation.added(parts), whole)


def test_the_sheets_of_parts_add_up(case: Evidence):
    """The lines that ask each message alone; those that need the order are asked of all lives."""

    def alone(judged: DataFrame) -> DataFrame:
        tried = invariants.breaches_alone(judged, as_of=case.as_of, policy=case.policy)
        return invariants.tallies(tried)

    in_order = invariants.tallies(
        invariants.breaches_in_order(case.judged, as_of=case.as_of, policy=case.policy)
    )
    tried = invariants.breaches(case.judged, as_of=case.as_of, policy=case.policy)
    whole = invariants.sheet(invariants.tallies(tried))
    parts = in_parts(case.judged, alone)
    assert same(invariants.sheet(parts.unionByName(in_order)), whole)
    assert same(invariants.sheet(invariants.merged(parts).unionByName(in_order)), whole)
