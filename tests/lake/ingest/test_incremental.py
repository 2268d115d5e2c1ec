"""Many small ingests and one large one give the same rows, however the journal was cut (E4)."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fingerprints import fingerprint, fingerprints
from journals import PLANTS, healthy, plant, publish

from onceonly.lake import jobs, manifest, model, runner

if TYPE_CHECKING:
    from journals import Ledger
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PAIRS = 2
STAGES = 3


def ledgers() -> list[Ledger]:
    """Pairs of journals with a message of every fate in each."""
    found = []
    for number in range(PAIRS):
        names = (f"urn:buyer:{number}", f"urn:seller:{number}")
        there, _ = healthy(seed=number, messages=12, names=names)
        plant(there, PLANTS)
        found += [there.sender, there.receiver]
    return found


def cuts(chance: random.Random, count: int) -> list[tuple[int, int]]:
    """Ranges that cover the rows: some overlap, some repeat, all in random order."""
    bounds = sorted({0, count, *(chance.randrange(count) for _ in range(9))})
    ranges = [(low + 1, high) for low, high in pairwise(bounds)]
    doubled = [(max(1, low - chance.randrange(12)), high) for low, high in ranges[1::3]]
    ranges += doubled
    chance.shuffle(ranges)
    return ranges


@pytest.mark.long
def test_many_ingests_give_the_rows_of_one(spark: SparkSession, tmp_path: Path):
    """Random cuts, orders, overlaps and repeats in three stages, then folded: equal by hash."""
    chance = random.Random(20)
    journals = ledgers()
    at_once, by_stages = tmp_path / "at-once", tmp_path / "by-stages"
    for ledger in journals:
        publish(at_once, ledger)
    jobs.ingest(str(at_once))
    expected = fingerprints(spark, str(at_once))

    plan = [(ledger, rows) for ledger in journals for rows in cuts(chance, len(ledger.records))]
    chance.shuffle(plan)
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        for stage in range(STAGES):
            for ledger, (first, last) in plan[stage::STAGES]:
                publish(by_stages, ledger, first=first, last=last)
            jobs.ingest(str(by_stages))
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert fingerprints(spark, str(by_stages)) == expected
    for shelf in manifest.shelves([str(by_stages)]):
        found = manifest.load(shelf)
        assert (len(found.ranges), found.missing, found.forks) == (1, [], 0)

    before = [manifest.load(shelf) for shelf in manifest.shelves([str(by_stages)])]
    jobs.compact(str(by_stages))
    assert fingerprints(spark, str(by_stages)) == expected
    for shelf, old in zip(manifest.shelves([str(by_stages)]), before, strict=True):
        # Readers that hold the manifest of before the compaction still find every folder of it.
        assert all(
            Path(path).is_dir() for name in runner.OF_ROWS for path in shelf.paths(old, name)
        )
        assert all(len(manifest.load(shelf).products[name]) == 1 for name in runner.OF_ROWS)

    jobs.compact(str(by_stages), keep_s=0)
    for shelf in manifest.shelves([str(by_stages)]):
        for product in runner.OF_ROWS:
            [kept] = manifest.load(shelf).products[product]
            assert [f"{product}/{one.name}" for one in Path(shelf.root, product).iterdir()] == [
                kept
            ]
    # Two lakes that hold the same journals are one evidence, and no row counts twice.
    both = [str(at_once), str(by_stages)]
    assert fingerprint(runner.journal(spark, both)) == expected["journal"]
    lives = model.partial(runner.journal(spark, both))
    assert fingerprint(lives) == expected["lifecycle"]
    assert all(one.breaches == 0 for one in runner.wholeness(spark, both))
