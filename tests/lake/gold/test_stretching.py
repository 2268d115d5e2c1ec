"""Gold knows which stretches of a journal have other rows than before."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from onceonly.lake import stretches
from onceonly.lake.gold import stretching
from onceonly.lake.gold.days import Stretches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from onceonly.lake.gold.stretching import ByParty


def marks(spans: ByParty) -> dict[tuple[str, int], str]:
    """The mark of each stretch, of spans that are in order and apart."""
    found = {}
    for party, some in spans.items():
        ends = [end for one in some for end in (one.first, one.last)]
        assert ends == sorted(ends)
        for one in some:
            for number in range(one.first, one.last + 1):
                assert (party, number) not in found
                found[party, number] = one.mark
    return found


def test_a_stretch_has_the_mark_of_the_last_rows_in_it():
    chance, known, expected = random.Random(4), {}, {}
    for number in range(200):
        found = {
            party: chance.sample(range(30), chance.randint(1, 6))
            for party in chance.sample("abc", chance.randint(1, 3))
        }
        known = stretching.with_touched(known, found, f"m{number}")
        expected |= {(party, one): f"m{number}" for party, some in found.items() for one in some}
        assert marks(known) == expected


def test_what_has_other_marks_is_made_and_the_rest_is_kept():
    """A span of before may be cut, and is then the same in what is left of it."""
    before = {"a": (Stretches(0, 9, "m"),), "b": (Stretches(0, 0, "m"),)}
    now = stretching.with_touched(before, {"a": [4, 10], "c": [0]}, "n")
    same = stretching.same(now, before)
    assert marks(same) == {key: "m" for key in marks(before) if key != ("a", 4)}
    others = stretching.others(now, same)
    assert marks(others) == {("a", 4): "n", ("a", 10): "n", ("c", 0): "n"}
    assert marks(same) | marks(others) == marks(now)


def test_the_last_row_of_a_stretch_touches_the_next_too(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
):
    """What is asked there is asked beside the row before, which is that one; it counts once."""
    monkeypatch.setattr(stretches, "ROWS_AT_ONCE", 10)
    told = [("a", 5), ("a", 6), ("a", 19), ("b", 30)]
    rows = spark.createDataFrame(told, "party string, seq bigint")
    found = {tuple(row) for row in stretching.touched(rows).collect()}
    assert found == {("a", 0, 2), ("a", 1, 1), ("a", 2, 0), ("b", 3, 1)}


@pytest.mark.parametrize("spans_max", [stretching.SPANS_MAX, 1])
def test_rows_of_stretches_have_the_row_before_each(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, spans_max: int
):
    """Of many spans all rows are asked; what is not of them is left out afterwards."""
    monkeypatch.setattr(stretches, "ROWS_AT_ONCE", 10)
    monkeypatch.setattr(stretching, "SPANS_MAX", spans_max)
    columns = "party string, seq bigint"
    rows = spark.createDataFrame([(party, n) for party in "ab" for n in range(50)], columns)
    spans = {"a": (Stretches(1, 1, "m"), Stretches(4, 4, "n"))}
    found = {(row["party"], row["seq"]) for row in stretching.rows_of(rows, spans).collect()}
    assert found >= {("a", n) for n in (*range(9, 20), *range(39, 50))}
    told = rows.selectExpr("party", f"seq div 10 AS {stretches.STRETCH}", "seq")
    kept = stretching.within(told, spans).collect()
    assert {(row["party"], row["seq"]) for row in kept} == {
        ("a", n) for n in (*range(10, 20), *range(40, 50))
    }
