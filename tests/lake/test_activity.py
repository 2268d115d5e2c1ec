"""What a job is at can be asked while it runs."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from onceonly.lake import activity

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_a_step_is_named_while_it_runs_with_its_tasks(spark: SparkSession, tmp_path: Path):
    """A task that waits for us is one of one, and not done."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def wait(_: object) -> None:
        with gate.open() as opened:
            opened.read()

    def work() -> str:
        with activity.step(spark, "delivery_ledger"):
            spark.sparkContext.parallelize([1], 1).foreach(wait)
            return str(spark.sparkContext.getLocalProperty("spark.job.description"))

    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        # To open this end takes until the task has opened the other one.
        with gate.open("w"):
            assert activity.now() == activity.Activity(("delivery_ledger",), 0, 1)
        assert working.result() == "delivery_ledger"
    assert activity.now().steps == ()


def test_a_step_within_another_gives_its_words_back(spark: SparkSession):
    """Spark's own words too: those of a query that streams are its name and its batch."""
    context = spark.sparkContext
    context.setJobDescription("batch 3")
    try:
        with activity.step(spark, "outer"):
            with activity.step(spark, "inner"):
                assert activity.now().steps == ("outer", "inner")
            assert context.getLocalProperty("spark.job.description") == "outer"
        assert context.getLocalProperty("spark.job.description") == "batch 3"
    finally:
        context.setLocalProperty("spark.job.description", None)
