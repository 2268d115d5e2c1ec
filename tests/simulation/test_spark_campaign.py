"""A campaign as a Spark job: the same worlds as here, once each, whoever dies on the way."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession

from onceonly.lake import class_archive, java
from onceonly.lake.runner import LITTLE_JAVA, SETTINGS
from onceonly.message.word import changed
from onceonly.simulation.campaign import local, report, spark_job
from onceonly.simulation.campaign.code import code_digest
from onceonly.simulation.campaign.ledger import Ledger
from onceonly.simulation.campaign.worlds import run_range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.spark

SEEDS = 40
TASK = 10


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two cores, and three tries for every task."""
    running = SparkSession.getActiveSession()
    if running is not None:
        running.stop()
    home = java.prepare()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,3]").appName("onceonly simulation tests")
    settings = {
        **SETTINGS,
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join([LITTLE_JAVA, *class_archive.options()]),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges so short that a few seeds are several waves."""
    monkeypatch.setattr(spark_job, "RANGE", TASK)
    monkeypatch.setattr(spark_job, "TASKS_PER_CORE", 1)


def without_time(row: tuple[object, ...]) -> tuple[object, ...]:
    return row[:-1]


@pytest.mark.long
def test_spark_adds_up_what_one_process_adds_up(
    spark: SparkSession, small_tasks: None, tmp_path: Path
):
    """Counts, faults, points, states, violations and the fingerprint of all traces are equal."""
    found = spark_job.run(0, SEEDS, ledger=str(tmp_path)).summary
    here = local.run(0, SEEDS)
    times = {"seconds": 0, "seeds_per_s": 0, "core_seconds": 0}
    assert report.as_json(found) | times == report.as_json(here) | times
    assert report.complaints(found) == report.complaints(here)


def test_a_campaign_goes_on_where_it_was(spark: SparkSession, small_tasks: None, tmp_path: Path):
    """A range that stands in the ledger is never run again; the report is over all of them."""
    told: list[tuple[int, int]] = []
    first = spark_job.run(10, 30, ledger=str(tmp_path))
    more = spark_job.run(
        0, SEEDS, ledger=str(tmp_path), progress=lambda ran, wanted: told.append((ran, wanted))
    )
    again = spark_job.run(0, SEEDS, ledger=str(tmp_path))
    assert (first.ran, more.ran, again.ran) == (20, 20, 0)
    assert told == [(20, 20)]
    assert more.summary.seeds == again.summary.seeds == SEEDS
    assert more.summary.fingerprint == again.summary.fingerprint
    entries = Ledger(str(tmp_path)).done(code_digest(), spark_job.PROFILE)
    assert [(entry.lo, entry.hi, entry.seeds) for entry in entries] == [
        (lo, lo + TASK, TASK) for lo in range(0, SEEDS, TASK)
    ]


def test_rows_that_the_ledger_never_heard_of_count_once(
    spark: SparkSession, small_tasks: None, tmp_path: Path
):
    """A job that died between its rows and the ledger: the range runs again and counts once."""
    book = Ledger(str(tmp_path))
    lost = f"{book.url}/rows/{code_digest()[:16]}/wave-of-a-job-that-died"
    spark_job.frame(spark, [(0, 7)]).write.parquet(lost)
    campaign = spark_job.run(0, 20, ledger=str(tmp_path))
    assert campaign.ran == campaign.summary.seeds == 20
    assert "determinism" not in campaign.summary.invariants


def test_two_traces_of_one_seed_are_a_violation(spark: SparkSession):
    """A world that was another one the second time would not go unnoticed."""
    rows = [
        spark_job.row_of(result, 0, 0.0)
        for result in run_range(0, 1)
        for result in (result, changed(result, trace_hash="f" * 32))
    ]
    found = spark_job.summarise(spark.createDataFrame(rows, spark_job.ROW))
    assert found.seeds == 1
    assert found.invariants["determinism"] == 1


def test_a_task_whose_worker_is_killed_gives_the_same_rows(spark: SparkSession):
    """SIGKILL in the middle of a range: Spark runs it again, and every row is what it was."""
    rows_of = partial(spark_job.rows_of, code_digest())

    def dying_once(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[object, ...]]:
        context = TaskContext.get()
        is_first_try = context is not None and context.attemptNumber() == 0
        for number, row in enumerate(rows_of(ranges)):
            if is_first_try and number == TASK // 2:
                os.kill(os.getpid(), signal.SIGKILL)
            yield row

    ranges = [(0, TASK), (TASK, 2 * TASK)]
    survived = spark.sparkContext.parallelize(ranges, 2).mapPartitions(dying_once).collect()
    assert list(map(without_time, survived)) == list(map(without_time, rows_of(ranges)))


def test_workers_run_the_code_that_was_shipped(spark: SparkSession, tmp_path: Path):
    """Not what happens to be installed where they are: the zip comes first."""
    spark_job.run(0, 1, ledger=str(tmp_path))

    def where(_: int) -> str:
        from onceonly.simulation.campaign import code  # noqa: PLC0415 - because it is a worker that imports it

        return str(code.__file__)

    [found] = spark.sparkContext.parallelize([0], 1).map(where).collect()
    assert f"onceonly-{code_digest()[:16]}.zip" in found


def test_a_worker_with_other_code_is_refused(spark: SparkSession):
    """A result is never put down to code that did not make it."""
    with pytest.raises(spark_job.ForeignCode):
        list(spark_job.rows_of("0" * 64, [(0, 1)]))
