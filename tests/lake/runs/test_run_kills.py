"""Whoever is killed, whenever: readers find the tables of one run, and every row of them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dying import died
from journals import MUCH_LATER, PLANTS, SECOND, healthy, plant, publish

from onceonly.lake import jobs

if TYPE_CHECKING:
    from journals import Exchange
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

RUN_WITHIN_S = 900
WATCH_EVERY_S = 0.02
TABLES = ("differences", "in_doubt", "in_doubt_ages")
"""A run to which nothing came keeps the first of them, and writes the others."""

RUN = f"""
from onceonly.lake import jobs
lake, as_of = given
jobs.reconcile(lake, as_of=int(as_of), tables={TABLES})
"""

ALONE = f"import sys; given = sys.argv[1:]\n{RUN}"
"""The same with a JVM of its own."""

PLACES = (
    ("storage.link_files", "after", 1, False),
    ("runner.write_table", "after", 1, False),
    ("runner.write_table", "before", 2, False),
    ("runs.publish", "before", 1, False),
    ("runs.publish", "after", 1, True),
)
"""Before and after everything that a run leaves behind; whether readers have its tables then."""


def driver(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def killed(process: subprocess.Popen[str]) -> None:
    """With its JVM, which would go on for a moment."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def there() -> Exchange:
    """Journals by which the verdicts of some messages change with the instant of judgement."""
    there, _ = healthy(seed=5, messages=6)
    plant(there, PLANTS)
    return there


@pytest.fixture
def lake(spark: SparkSession, there: Exchange, tmp_path: Path) -> str:
    """A lake with these journals, ingested."""
    del spark
    publish(tmp_path, there.sender)
    publish(tmp_path, there.receiver)
    jobs.ingest(str(tmp_path))
    return str(tmp_path)


def seen(spark: SparkSession, lake: str) -> tuple[int, Counter[str], dict[str, int]]:
    """What a reader finds who reads several tables of the current set."""
    run = jobs.run(lake)
    verdicts = Counter(
        row["verdict"] for row in jobs.table(spark, lake, "verdicts", run=run.id).collect()
    )
    counted = {name: jobs.table(spark, lake, name, run=run.id).count() for name in TABLES}
    assert verdicts == Counter(run.verdicts), "every row of the ledger, and of this run"
    return run.as_of, verdicts, counted


@pytest.mark.long
def test_a_run_that_is_killed_anywhere_has_published_nothing_or_all(spark: SparkSession, lake: str):
    """One after the other on one lake; then a run goes through, and nothing is left of them."""
    died(spark, RUN, lake, str(MUCH_LATER), place="storage.lay_flat", when="after", count=1)
    assert not jobs.runs(lake)
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=TABLES)
    before = seen(spark, lake)
    for number, (place, when, count, is_published) in enumerate(PLACES, 1):
        as_of = MUCH_LATER + number * SECOND
        died(spark, RUN, lake, str(as_of), place=place, when=when, count=count)
        found = seen(spark, lake)
        assert found == ((as_of, *before[1:]) if is_published else before), place
        before = found
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=TABLES)
    named = {
        folder for run in jobs.runs(lake) for one in run.tables.values() for folder in one.folders
    }
    there = {f"tables/{one.parent.name}/{one.name}" for one in Path(lake, "tables").glob("*/*")}
    assert there == named


@pytest.mark.long
def test_a_reader_never_sees_two_runs_or_half_of_one(
    spark: SparkSession, lake: str, there: Exchange
):
    """It loops over three tables while runs come, some of which are killed at any moment."""
    chance = random.Random(7)
    # Every row is there, and no grace is over.
    early = SECOND + max(row.at for one in (there.sender, there.receiver) for row in one.records)
    by_instant = {}
    for as_of in (early, MUCH_LATER):
        jobs.reconcile(lake, as_of=as_of, tables=TABLES)
        by_instant[as_of] = seen(spark, lake)
    assert by_instant[early][1:] != by_instant[MUCH_LATER][1:]
    done, looks, wrong = threading.Event(), Counter[int](), []

    def read() -> None:
        while not done.is_set():
            found = seen(spark, lake)
            looks[found[0]] += 1
            if found != by_instant[found[0]]:
                wrong.append(found)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number, as_of in enumerate((early, early, MUCH_LATER)):
            process = driver(ALONE, lake, str(as_of))
            if number % 2 == 0:
                wait_for_traces(process, lake, traces(lake) + chance.randrange(1, 9))
                killed(process)
            else:
                assert process.wait(RUN_WITHIN_S) == 0
    finally:
        done.set()
        reader.join()
    assert not wrong
    assert looks.total() > 0


def traces(lake: str) -> int:
    """How many files runs have left in the lake by now."""
    # Not by `rglob`, which fails on a folder that is removed meanwhile.
    places = (*os.walk(f"{lake}/tables"), *os.walk(f"{lake}/runs"))
    return sum(len(names) for _, _, names in places)


def wait_for_traces(process: subprocess.Popen[str], lake: str, count: int) -> None:
    """Until there are so many traces, or the process ends."""
    for _ in range(round(RUN_WITHIN_S / WATCH_EVERY_S)):
        if traces(lake) >= count:
            return
        try:
            process.wait(WATCH_EVERY_S)
        except subprocess.TimeoutExpired:
            continue
        return
    pytest.fail("the run did not come so far")
