"""A lake in an object store, by a real server of its protocol on this machine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from onceonly.lake import jobs, lease, manifest, runner, storage
from onceonly.lake.manifest import Manifest, Quarantined, Shelf
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

WRITERS = 8

# The server runs in a thread of this process, and leaves its sockets to the collector of garbage.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_a_condition_lets_one_of_many_writers_through(bucket: str):
    """To create a file, and to replace one that all have read."""
    place = f"{bucket}/lake/ingested/party=urn%3Ax"
    assert storage.is_exclusive(place)
    assert storage.entries(place) == []
    for number in range(10):
        url = f"{place}/{number}"

        def create(writer: int, url: str = url) -> bool:
            return storage.create_bytes(url, b"%d" % writer)

        with ThreadPoolExecutor(WRITERS) as pool:
            created = list(pool.map(create, range(WRITERS)))
        read = storage.read_marked(url)
        assert read is not None

        def put(writer: int, url: str = url, mark: str = read.mark) -> bool:
            return storage.replace_bytes_if(url, b"new %d" % writer, mark)

        with ThreadPoolExecutor(WRITERS) as pool:
            replaced = list(pool.map(put, range(WRITERS)))
        assert created.count(True) == replaced.count(True) == 1
        assert read.content == b"%d" % created.index(True)
        assert storage.read_bytes(url) == b"new %d" % replaced.index(True)
    assert not storage.replace_bytes_if(f"{place}/none", b"", "a mark")


def test_an_ingest_says_what_keeps_others_out(bucket: str):
    """No lock; and of a store that ignores conditions that only one may run."""
    assert "conditional puts" in (lease.guard(f"{bucket}/lake/ingested") or "")


def _with(one: Quarantined, found: Manifest) -> Manifest:
    return replace(found, quarantined=(*found.quarantined, one))


def test_two_writers_of_a_manifest_lose_nothing(bucket: str):
    """Each entry of the log is one writer's; who comes second begins from what the first left."""
    shelf = Shelf(f"{bucket}/lake", "party=urn%3Ax")
    manifest.change(shelf, lambda found: found.without_retired(0))

    def write(writer: int) -> None:
        for number in range(5):
            one = Quarantined(f"{writer}-{number}", 1, 1, "a fault", None)
            manifest.change(shelf, partial(_with, one))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, range(2)))
    found = {one.segment for one in manifest.load(shelf).quarantined}
    assert found == {f"{writer}-{number}" for writer in range(2) for number in range(5)}


def published(bucket: str, folder: Path) -> int:
    """The journals of two parties in a lake in the bucket and in a folder; how many rows."""
    from journals import healthy, publish  # noqa: PLC0415 - because of the path that conftest sets

    there, _ = healthy(seed=1, messages=20)
    for ledger in (there.sender, there.receiver):
        publish(folder, ledger)
    for file in folder.rglob("*.parquet"):
        assert storage.create_bytes(f"{bucket}/lake/{file.relative_to(folder)}", file.read_bytes())
    return len(there.sender.records) + len(there.receiver.records)


def rows(summary: jobs.IngestSummary) -> int:
    """How many rows are in, of all parties."""
    return sum(found.rows for found in summary.manifests.values())


@pytest.mark.spark
def test_a_lake_in_a_bucket_is_ingested_and_judged(
    spark: SparkSession, bucket: str, tmp_path: Path
):
    """As a folder is: the same verdicts, and the tables in the bucket."""
    number, lake, told = published(bucket, tmp_path), f"{bucket}/lake", []
    in_bucket, in_folder = jobs.ingest(lake, tell=told.append), jobs.ingest(str(tmp_path))
    assert "conditional puts" in told[0]
    assert rows(in_bucket) == rows(in_folder) == number
    as_of = 1_900_000_000_000_000
    judged = [
        jobs.reconcile(one, tables=["messages"], as_of=as_of) for one in (lake, str(tmp_path))
    ]
    assert judged[0].verdicts == judged[1].verdicts
    assert judged[0].tables["messages"].startswith(f"{lake}/tables/messages")
    tables = [jobs.table(spark, one, "messages") for one in (lake, str(tmp_path))]
    assert tables[0].count() == tables[1].count() > 0


@pytest.mark.spark
def test_two_ingests_at_the_same_time_count_each_row_once(
    spark: SparkSession, bucket: str, tmp_path: Path
):
    """One of them may find that it came second, and say so; a third has nothing to do."""
    number, lake = published(bucket, tmp_path), f"{bucket}/lake"

    def ingest(_: int) -> None:
        try:
            jobs.ingest(lake)
        except LocalError as error:
            assert error.name in jobs.NOT_THE_CALLERS, error  # noqa: PT017 - because none need come

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(ingest, range(2)))
    found = jobs.ingest(lake)
    assert rows(found) == number
    assert found.is_trusted
    assert runner.journal(spark, [lake]).count() == number
