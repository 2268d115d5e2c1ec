"""Whoever is killed, whenever: every row is in once when an ingest has run to its end."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dying import died
from fingerprints import fingerprints
from journals import PLANTS, healthy, plant, publish

from onceonly.lake import jobs, runner

if TYPE_CHECKING:
    from journals import Ledger
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

INGEST_WITHIN_S = 900
WATCH_EVERY_S = 0.01

INGEST = """
from onceonly.lake import jobs, manifest
manifest.ENTRIES_MAX = 2
jobs.ingest(*given)
"""

PLACES = (
    ("runner.write", "after", 1),
    ("runner.write", "before", 2),
    ("manifest.append", "before", 1),
    ("storage._link", "before", 1),
    ("manifest.append", "after", 1),
    ("storage._put_in_place", "before", 2),
    ("manifest.snapshot", "after", 1),
    ("ingest.batch.take", "after", 1),
)
"""Before and after everything that an ingest leaves behind. `storage._link` gives an entry of the
manifest's log its name, and `storage._put_in_place` renames a file: first that of the register,
then the next snapshot of the manifest, which is due with every second entry here."""


def driver(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def pieces(ledger: Ledger, count: int) -> list[tuple[int, int]]:
    """The rows in so many runs, some of which overlap the one before."""
    last = len(ledger.records)
    bounds = [last * number // count for number in range(count + 1)]
    return [
        (max(1, low + 1 - (7 if number % 3 == 2 else 0)), high)
        for number, (low, high) in enumerate(pairwise(bounds))
    ]


def require_whole(spark: SparkSession, lake: Path) -> None:
    """What a dead ingest left can be judged: the rows that count are whole up to the last one."""
    found = runner.holdings(spark, [str(lake)])
    lasts = [known.last_seq for [(_, known)] in found.copies.values()]
    assert [one.tail[0] if one.tail else 0 for one in found.marks()] == lasts
    assert not any(one.breaches for one in found.wholeness())


@pytest.mark.long
def test_a_driver_that_is_killed_anywhere_has_done_nothing_or_all(
    spark: SparkSession, tmp_path: Path
):
    """One life after the other on one lake, each killed at another place; then equal by hash."""
    there, _ = healthy(seed=11, messages=12)
    plant(there, PLANTS)
    lake, whole = tmp_path / "lake", tmp_path / "whole"
    runs = pieces(there.sender, len(PLACES))
    for (first, last), (place, when, count) in zip(runs, PLACES, strict=True):
        publish(lake, there.sender, first=first, last=last)
        died(spark, INGEST, str(lake), place=place, when=when, count=count)
        require_whole(spark, lake)
    publish(lake, there.receiver)
    publish(whole, there.sender)
    publish(whole, there.receiver)
    jobs.ingest(str(lake))
    jobs.ingest(str(whole))
    assert fingerprints(spark, str(lake)) == fingerprints(spark, str(whole))
    assert jobs.ingest(str(lake)).is_trusted


def traces(lake: Path) -> list[Path]:
    """Everything that ingests have left in the lake by now."""
    # Not by `rglob`, which fails on a folder that Spark removes meanwhile.
    return [Path(place, name) for place, _, names in os.walk(lake / "ingested") for name in names]


def wait_for_traces(process: subprocess.Popen[str], lake: Path, count: int) -> bool:
    """Whether there are so many traces before the process ends."""
    for _ in range(round(INGEST_WITHIN_S / WATCH_EVERY_S)):
        if len(traces(lake)) >= count:
            return True
        try:
            process.wait(WATCH_EVERY_S)
        except subprocess.TimeoutExpired:
            continue
        return False
    pytest.fail("the ingest did not come so far")


ALONE = "import sys; from onceonly.lake import jobs; jobs.ingest(sys.argv[1], master=sys.argv[2])"


@pytest.mark.long
def test_a_driver_that_is_killed_at_any_moment_has_done_nothing_or_all(
    spark: SparkSession, tmp_path: Path
):
    """Killed from outside behind its n-th trace in the lake, twice over."""
    chance = random.Random(3)
    there, _ = healthy(seed=12, messages=20)
    lake, whole = tmp_path / "lake", tmp_path / "whole"
    for first, last in pieces(there.sender, 2):
        publish(lake, there.sender, first=first, last=last)
        process = driver(ALONE, str(lake), "local[2]")
        wait_for_traces(process, lake, len(traces(lake)) + chance.randrange(3, 30))
        process.kill()
        process.wait()
        require_whole(spark, lake)
    publish(whole, there.sender)
    jobs.ingest(str(lake))
    jobs.ingest(str(whole))
    assert fingerprints(spark, str(lake)) == fingerprints(spark, str(whole))
