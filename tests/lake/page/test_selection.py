"""What is cut for the page is cut rightly: sums of what adds up, the worst lines, UTC instants."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import pytest
from journals import DAWN
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.page import selection
from onceonly.lake.reports import reconciliation, volume

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_instants_come_as_microseconds(spark: SparkSession):
    """A driver in another time zone would read a timestamp as its own wall clock."""
    frame = spark.range(1).selectExpr(f"timestamp_micros({DAWN}) AS at", "'x' AS word", "7L AS n")
    [row] = selection.plain(frame).collect()
    assert row.asDict() == {"at": DAWN, "word": "x", "n": 7}
    assert not isinstance(row["at"], datetime)


def test_sums_are_made_only_of_what_adds_up(spark: SparkSession):
    """Counts and sizes are summed, the largest is the largest, a median of medians is null."""
    declared = ", ".join(f"{one.name} {one.type}" for one in volume.DEFINITION.columns)
    rows = [
        (None, "a", "b", "s", "x", 2, 1, 100, 50, 90, 95),
        (None, "a", "b", "s", "x", 3, 0, 300, 90, 95, 99),
        (None, "a", "c", "s", "x", 1, 0, 10, 10, 10, 10),
    ]
    frame = spark.createDataFrame(rows, declared)
    summed = selection.summed(frame, volume.DEFINITION, ["from_party", "to_party"])
    assert tuple(summed.columns) == volume.DEFINITION.names
    found = {row["to_party"]: row.asDict() for row in summed.collect()}
    assert found["b"]["messages"] == 5
    assert found["b"]["payload_bytes"] == 400
    assert found["b"]["largest_bytes"] == 99
    assert found["b"]["p50_bytes"] is None
    assert found["c"]["messages"] == 1


def test_all_pairs_can_be_taken_as_one(spark: SparkSession):
    """Only the parties change; nothing is grouped or dropped."""
    frame = spark.createDataFrame(
        [("a", "b", 1), ("b", "a", 2)], "from_party string, to_party string, n int"
    )
    rows = selection.as_one_pair(frame).collect()
    assert {(row["from_party"], row["to_party"]) for row in rows} == {("all", "all")}
    assert sorted(row["n"] for row in rows) == [1, 2]


def test_pairs_are_chosen_by_both_names_even_if_one_is_missing(spark: SparkSession):
    """An orphan acknowledgement has no receiver; its pair is a pair."""
    columns = "from_party string, to_party string"
    frame = spark.createDataFrame([("a", "b"), ("b", "a"), ("a", None)], columns)
    chosen = selection.of_pairs(frame, [("a", "b"), ("a", None)])
    assert {tuple(row) for row in chosen.collect()} == {("a", "b"), ("a", None)}
    assert selection.of_pairs(frame, []).collect() == []


def test_the_clocks_that_are_farthest_apart_come_first(spark: SparkSession):
    """By the farthest bin of a pair, in whichever direction; all bins of the pair come with it.

    A bin outside the accuracy goes before all, then what the bounds prove: wide ones, of a night
    without answers, have a middle that says nothing.
    """
    columns = "from_party string, to_party string, bin_at long, lower_us long, upper_us long"
    rows = [
        *[("a", "b", 1, 0, 10), ("a", "b", 2, -950, -850)],
        *[("a", "c", 1, 250, 350), ("a", "d", 1, -1_000, 90_000), ("b", "c", 1, 5, 15)],
    ]
    derived = ("(lower_us + upper_us) div 2 AS skew_us", "from_party = 'a' AS is_within_accuracy")
    clocks = spark.createDataFrame(rows, columns).selectExpr("*", *derived)
    first = selection.farthest_first(clocks)
    assert first.columns == clocks.columns
    told = [(row["from_party"], row["to_party"], row["bin_at"]) for row in first.collect()]
    assert told == [("b", "c", 1), ("a", "b", 1), ("a", "b", 2), ("a", "c", 1), ("a", "d", 1)]


def test_the_most_frequent_errors_are_shown(spark: SparkSession):
    """By their sum over time, not by their highest bin."""
    columns = "bin_at long, phase string, code string, occurrences long"
    rows = [(1, "t", "x", 5), (2, "t", "x", 5), (1, "t", "y", 9), (1, "v", "x", 1)]
    chosen = selection.most_frequent(spark.createDataFrame(rows, columns), 1).collect()
    assert {(row["phase"], row["code"]) for row in chosen} == {("t", "x")}


def test_the_pairs_that_differ_most_are_told_apart_and_the_totals_are_of_all(spark: SparkSession):
    """More pairs than a page has room for hide no difference."""
    columns = "from_party string, to_party string, verdict string, standing string"
    rows = [
        *[("a", None, "ORPHAN_ACK", "alarm")] * 2,
        *[("b", "c", "MATCHED", "agreed")] * 5,
        *[("b", "d", "MATCHED", "agreed"), ("b", "d", "ACK_LOST", "doubt")],
        *[("c", "d", "MATCHED", "agreed")] * 3,
    ]
    proven = ("sent_digests", "received_digests", "header_submitted", "header_stored")
    judged = (
        spark.createDataFrame(rows, columns)
        .withColumns({name: F.lit(1) for name in proven})
        .withColumns({"is_two_sided": F.lit(True), "marks": F.lit(0).cast("long")})
        .withColumns({name: F.lit(1) for name in ("submitted_at", "first_at")})
        .withColumns({name: F.lit(1) for name in ("sent_bytes", "stored_bytes")})
    )
    counts = reconciliation.counts(judged)
    shown = [tuple(row) for row in reconciliation.matrix(counts, 3).collect()]
    assert shown == [
        ("a", None, "ORPHAN_ACK", "alarm", 2),
        ("b", "c", "MATCHED", "agreed", 5),
        ("b", "d", "MATCHED", "agreed", 1),
        ("b", "d", "ACK_LOST", "doubt", 1),
    ]
    totals = {row["verdict"]: row["messages"] for row in reconciliation.totals(counts).collect()}
    assert totals == {"ORPHAN_ACK": 2, "MATCHED": 9, "ACK_LOST": 1}
