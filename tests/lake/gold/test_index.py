"""The index tells the days of a few keys from the pages that have them, however large it is."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from journals import MUCH_LATER, publish
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from test_gold import POLICY, exchanges, is_equal

from onceonly.lake import jobs, runner
from onceonly.lake.gold import placing, refreshing
from onceonly.lake.gold.days import BY_DAY
from onceonly.lake.jobs.case import open_case

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ENTRIES = 400_000
PAGE_ROWS = 20_000
"""Parquet's own."""


def index(spark: SparkSession, lake: Path) -> DataFrame:
    """An index of very many keys, written as gold writes one."""
    entries = spark.range(ENTRIES).select(
        F.xxhash64("id").alias(placing.HASH), F.lit(date(2026, 1, 1)).alias(BY_DAY)
    )
    runner.write(placing.in_order(entries.coalesce(1)), str(lake))
    return runner.folder(spark, str(lake), placing.INDEX)


def rows_read(frame: DataFrame) -> int:
    """How many rows Spark took from the pages of files; it was not asked for them before."""
    query = frame._jdf.queryExecution()
    query.toRdd().count()
    leaf = query.executedPlan().collectLeaves().head()
    return int(leaf.metrics().apply("numOutputRows").value())


def test_the_days_of_a_few_keys_are_read_from_their_pages(spark: SparkSession, tmp_path: Path):
    whole = index(spark, tmp_path)
    assert rows_read(whole) == ENTRIES
    for count in (0, 1, 3):
        hashes = {row[placing.HASH] for row in whole.sample(0.001, 7).limit(count).collect()}
        found = whole.where(placing.is_one_of(hashes))
        assert len(hashes) == count
        assert rows_read(found) <= PAGE_ROWS * count
        assert {row[placing.HASH] for row in found.collect()} == hashes


@pytest.mark.long
def test_gold_is_the_same_however_the_index_is_asked(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Few keys by themselves, many by a join with all of them, and very many by any."""
    there, _ = exchanges(5)
    lake, rows = str(tmp_path), len(there.sender.records)
    publish(tmp_path, there.receiver)
    for part, (few, many) in enumerate([(0, 0), (10**6, 0), (0, 10**6), (0, 0)]):
        monkeypatch.setattr(placing, "LOOKED_UP_MAX", few)
        monkeypatch.setattr(refreshing, "HASHES_EVERYWHERE", many)
        publish(tmp_path, there.sender, first=part * rows // 4 + 1, last=(part + 1) * rows // 4)
        jobs.ingest(lake)
        open_case(spark, [lake], MUCH_LATER, POLICY)
    assert is_equal(spark, [lake], MUCH_LATER)
