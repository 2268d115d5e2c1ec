"""What came before in a long order is found without one task that sorts all of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from cases import planted_records, records
from journals import healthy
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.reports import outages, sequence_gaps
from onceonly.lake.stretches import with_greatest_before

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from onceonly.journal.record import Record

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark
LINE = ("line", "pair")
ORDER = ("place", "message_id")


def turns(spark: SparkSession, messages: int, pairs: int) -> DataFrame:
    """Turns with equal places, and with places, ends and pairs that are missing."""
    choice = random.Random(13)
    names = [None, *[f"pair-{number}" for number in range(pairs - 1)]]
    rows = [
        (
            choice.choice(names),
            f"m-{number}",
            choice.choice([1, 2]),
            choice.choice([None, *[choice.randrange(1, messages)] * 9]),
            choice.choice([None, *[choice.randrange(1, 10 * messages)] * 4]),
        )
        for number in range(messages)
    ]
    schema = "pair string, message_id string, line bigint, place bigint, end bigint"
    return spark.createDataFrame(rows, schema).repartition(5)


def with_earlier(rows: DataFrame, length: int) -> DataFrame:
    return with_greatest_before(
        rows, "earlier", F.col("end"), line=LINE, order=ORDER, length=length
    )


def same(one: DataFrame, other: DataFrame) -> bool:
    assert one.columns == other.columns
    return sorted(map(repr, one.collect())) == sorted(map(repr, other.collect()))


@pytest.mark.parametrize("length", [1, 7, 64, 100_000])
def test_what_came_before_does_not_depend_on_the_stretches(spark: SparkSession, length: int):
    """However long the stretches are, it is what a window over each whole line says."""
    rows = turns(spark, messages=600, pairs=3)
    whole = Window.partitionBy(*LINE).orderBy(*ORDER).rowsBetween(Window.unboundedPreceding, -1)
    expected = rows.withColumn("earlier", F.max("end").over(whole))
    assert same(with_earlier(rows, length), expected)


def test_one_busy_pair_does_not_sit_in_one_task(spark: SparkSession):
    """The rows that are sorted are spread over the tasks, though all are of one pair."""
    rows = turns(spark, messages=2_000, pairs=1).where("line = 1 AND place IS NOT NULL")

    def by_task(length: int) -> list[int]:
        # Spark leaves out a window of which nobody asks anything.
        asked = F.count("*").alias("count"), F.max("earlier")
        found = with_earlier(rows, length).groupBy(F.spark_partition_id()).agg(*asked)
        return [row["count"] for row in found.collect()]

    whole = rows.count()
    assert by_task(1 << 40) == [whole]  # As a window over the whole pair would.
    assert max(by_task(50)) < 0.7 * whole


def test_outages_and_gaps_do_not_depend_on_the_stretches(frame: Frame):
    """Where a stretch ends, a run goes on, and a number has the one before it."""
    there, _ = healthy(seed=5, messages=40)
    journal = frame(records(there) + planted_records()).persist()

    def runs(journal: DataFrame, stretch_rows: int) -> DataFrame:
        return outages.runs(outages.runs_within(journal, stretch_rows=stretch_rows))

    for made in (runs, sequence_gaps.table):
        whole = made(journal, stretch_rows=1 << 40)
        assert whole.count() > 0
        for stretch_rows in (1, 3, 50):
            assert same(made(journal, stretch_rows=stretch_rows), whole)
    journal.unpersist()
