"""From a folder of segments to rows that count, whoever else ingests and whatever was there."""

from __future__ import annotations

import itertools
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import pyarrow.parquet as pq
import pytest
from fingerprints import fingerprints, rows_in
from journals import BUYER, SELLER, Ledger, chained, healthy, publish

from onceonly.journal.segment import party_folder, segment_name
from onceonly.lake import jobs, manifest, runner
from onceonly.lake.ingest import batch
from onceonly.lake.ingest.intake import Intake
from onceonly.lake.lease import ingesting
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from onceonly.lake.ingest.change import Change
    from onceonly.lake.ingest.register import KnownSegments
    from onceonly.lake.ingest.segments import Look
    from onceonly.lake.manifest import Distrusted

pytestmark = pytest.mark.spark


def test_many_partitions_do_not_make_many_files_of_a_batch(spark: SparkSession, tmp_path: Path):
    """A session for a large journal cuts fine; what comes day by day is still one or two files."""
    publish(tmp_path, healthy(seed=13, messages=40)[0].sender)
    wanted = {"spark.sql.adaptive.enabled": "true", runner.PARTITIONS: "64"}
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        jobs.ingest(str(tmp_path))
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
    written = list(tmp_path.glob("ingested/*/journal/*/*.parquet"))
    assert 0 < len(written) <= int(spark.conf.get("spark.sql.shuffle.partitions") or "1")


def test_rows_are_on_the_disk_before_the_manifest_names_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Every file and folder of a batch and of a compaction; a power cut takes none of them back."""
    publish(tmp_path, healthy(seed=13, messages=5)[0].sender, last=20)
    synced: set[int] = set()
    sync = os.fsync

    def note(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        sync(descriptor)
        for entry in tmp_path.glob("ingested/*/log/.*.new"):
            of_rows = [entry.parent.parent / name for name in runner.OF_ROWS]
            paths = [path for folder in of_rows for path in (folder, *folder.rglob("*"))]
            assert {path.stat().st_ino for path in paths} <= synced
            checked.append(len(paths))

    checked: list[int] = []
    monkeypatch.setattr(os, "fsync", note)
    jobs.ingest(str(tmp_path))
    publish(tmp_path, healthy(seed=13, messages=5)[0].sender, first=21)
    jobs.ingest(str(tmp_path))
    jobs.compact(str(tmp_path))
    assert len(checked) >= 3
    assert min(checked) > 2 * len(runner.OF_ROWS)


def test_other_versions_of_the_journal_are_taken(spark: SparkSession, tmp_path: Path):
    """An older one has nulls, of a newer one unknown columns are left out and counted."""
    for party, how in (
        ("older", {"less": ("hop", "reason")}),
        ("newer", {"more": {"tenant": "x"}}),
    ):
        records = healthy(seed=4, messages=5, names=(party, SELLER))[0].sender.records
        path = tmp_path / segment_name(party, 1, len(records))
        path.parent.mkdir(parents=True)
        pq.write_table(chained(records, **how), path)
    summary = jobs.ingest(str(tmp_path))
    assert summary.is_trusted
    newer = summary.manifests[f"{tmp_path}/party=newer"]
    assert newer.unknown_columns == {"tenant": newer.rows}
    rows = runner.journal(spark, [str(tmp_path)])
    assert "tenant" not in rows.columns
    assert rows.where("party = 'older' AND reason IS NOT NULL").count() == 0
    assert all(one.breaches == 0 for one in runner.wholeness(spark, [str(tmp_path)]))


def test_evidence_that_comes_a_week_late_is_taken(spark: SparkSession, tmp_path: Path):
    """A copy keeps the age of its original: older files than those taken in are still new."""
    ledger = healthy(seed=5, messages=8)[0].sender
    publish(tmp_path, ledger, first=21, last=40)
    jobs.ingest(str(tmp_path))
    late = publish(tmp_path, ledger, first=1, last=20)
    long_ago = late.stat().st_mtime - 30 * 86_400
    os.utime(late, (long_ago, long_ago))
    [found] = jobs.ingest(str(tmp_path)).manifests.values()
    assert found.ranges == ((1, 40),)


def test_a_far_source_is_mirrored(spark: SparkSession, tmp_path: Path):
    """A scheme that Spark lacks: segments come through fsspec, and a changed one comes again."""
    local, lake = tmp_path / "local", tmp_path / "lake"
    ledger = healthy(seed=6, messages=8)[0].sender
    path = publish(local, ledger, first=1, last=20)
    memory = fsspec.filesystem("memory")
    place = f"/far/journal/{party_folder(BUYER)}/{path.name}"
    memory.pipe_file(place, path.read_bytes()[:-50])
    summary = jobs.ingest("memory://far", into=str(lake))
    assert "unreadable" in summary.quarantined[0].fault
    memory.pipe_file(place, path.read_bytes())
    summary = jobs.ingest("memory://far", into=str(lake))
    assert summary.is_trusted
    assert list(summary.last_seq.values()) == [20]
    memory.rm("/far", recursive=True)
    with pytest.raises(LocalError, match="cannot be read"):
        jobs.ingest("memory://far", into=str(lake))
    with pytest.raises(LocalError, match="needs a lake"):
        jobs.ingest("memory://far")


def test_one_ingest_at_a_time(spark: SparkSession, tmp_path: Path):
    """A second one is told, and changes nothing."""
    with ingesting(str(tmp_path / "ingested")):
        with pytest.raises(LocalError, match="another ingest"):
            jobs.ingest(str(tmp_path))
        # The script ends as the command does: another try may not meet this.
        assert jobs.main(["ingest", "--lake", str(tmp_path)]) == 1
    assert jobs.ingest(str(tmp_path)).manifests == {}


def test_what_another_ingest_published_meanwhile_is_not_published_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Where no lock keeps two apart, the second decides anew on what the first has left."""
    ledger = healthy(seed=12, messages=8)[0].sender
    path = publish(tmp_path, ledger, first=1, last=20)
    other = publish(tmp_path, ledger, first=21, last=40)
    intake = Intake(manifest.Shelf(str(tmp_path), party_folder(BUYER)), str(path.parent))
    decide = batch.decide

    def overtaken(before: KnownSegments, found: list[Look], aside: Distrusted | None) -> Change:
        monkeypatch.undo()
        batch.take(spark, intake, [path.name])
        return decide(before, found, aside)

    monkeypatch.setattr(batch, "decide", overtaken)
    batch.take(spark, intake, [path.name, other.name])
    found = manifest.load(intake.shelf)
    assert (found.rows, found.ranges, found.forks) == (40, ((1, 40),), 0)
    assert rows_in(spark, tmp_path) == set(ledger.records[:40])


def test_a_lake_is_one_by_its_path_and_by_its_url(spark: SparkSession, tmp_path: Path):
    """As `file://` its segments are found and taken; by its path they are in already."""
    ledger = healthy(seed=12, messages=8)[0].sender
    publish(tmp_path, ledger, first=1, last=20)
    [found] = jobs.ingest(f"file://{tmp_path}").manifests.values()
    assert (found.rows, found.batches) == (20, 1)
    [again] = jobs.ingest(str(tmp_path)).manifests.values()
    assert again == found
    assert rows_in(spark, tmp_path) == set(ledger.records[:20])


@pytest.mark.parametrize("trigger", ["now", "0s", "5 parsecs", "-1m"])
def test_a_trigger_that_is_none_is_refused(tmp_path: Path, trigger: str):
    """Before Spark is started."""
    with pytest.raises(LocalError, match="no trigger"):
        jobs.ingest(str(tmp_path), trigger=trigger)


def test_a_lake_of_before_segments_were_looked_at_is_ingested_once_more(
    spark: SparkSession, tmp_path: Path
):
    """Readers are told to; the ingest begins anew and takes every row."""
    ledger = healthy(seed=9, messages=5)[0].sender
    publish(tmp_path, ledger)
    shelf = manifest.Shelf(str(tmp_path), party_folder(BUYER))
    Path(shelf.root).mkdir(parents=True)
    (Path(shelf.root) / "manifest.json").write_text('{"version": 1, "generation": 1}')
    with pytest.raises(LocalError, match="ingest once more"):
        jobs.reconcile(str(tmp_path))
    [found] = jobs.ingest(str(tmp_path)).manifests.values()
    assert found.rows == len(ledger.records)
    (Path(shelf.root) / "manifest.json").write_text("{")
    with pytest.raises(LocalError, match="is no manifest"):
        manifest.load(shelf)


def test_a_party_whose_folder_vanished_keeps_its_rows(spark: SparkSession, tmp_path: Path):
    """What was taken in does not need its source any more."""
    ledger = healthy(seed=9, messages=5)[0].sender
    path = publish(tmp_path / "source", ledger)
    jobs.ingest(str(tmp_path / "source"), into=str(tmp_path / "lake"))
    shutil.rmtree(path.parent)
    [found] = jobs.ingest(str(tmp_path / "source"), into=str(tmp_path / "lake")).manifests.values()
    assert found.rows == len(ledger.records)


def test_one_party_from_two_sources_counts_once(spark: SparkSession, tmp_path: Path):
    """Each holds a part of the journal, and some of it both do."""
    ledger = healthy(seed=10, messages=8)[0].sender
    publish(tmp_path / "one", ledger, first=1, last=40)
    publish(tmp_path / "one", ledger, first=41, last=50)
    publish(tmp_path / "other", ledger, first=21, last=60)
    publish(tmp_path / "other", ledger, first=41, last=50)
    sources = [str(tmp_path / "one"), str(tmp_path / "other")]
    [found] = jobs.ingest(sources, into=str(tmp_path / "lake")).manifests.values()
    assert (found.rows, found.ranges, found.forks) == (60, ((1, 60),), 0)
    assert runner.journal(spark, [str(tmp_path / "lake")]).count() == 60


def test_a_store_that_was_rolled_back_shows_as_a_fork(spark: SparkSession, tmp_path: Path):
    """Both rows of every number are kept, and counted against the journal."""
    ledger = healthy(seed=10, messages=8)[0].sender
    publish(tmp_path, ledger, first=1, last=40)
    rolled_back = Ledger(BUYER, records=ledger.records[:30])
    for record in ledger.records[40:50]:
        rolled_back.write(record.event, record.at, reason="again")
    publish(tmp_path, rolled_back, first=21, last=40)
    summary = jobs.ingest(str(tmp_path))
    [found] = summary.manifests.values()
    assert (found.rows, found.forks, found.first_fork) == (50, 10, 31)
    assert not summary.is_trusted
    [whole] = runner.wholeness(spark, [str(tmp_path)])
    assert (whole.forks, whole.first_bad_seq) == (10, 31)


def test_coverage_of_an_older_version_is_folded_again(spark: SparkSession, tmp_path: Path):
    """Readers fold the rows themselves until an ingest or a compaction has."""
    ledger = healthy(seed=10, messages=8)[0].sender
    publish(tmp_path, ledger, first=1, last=40)
    jobs.ingest(str(tmp_path))
    expected = fingerprints(spark, str(tmp_path))
    [shelf] = manifest.shelves([str(tmp_path)])
    found = manifest.load(shelf)
    emptied = {**found.products, "coverage": ()}
    manifest.publish(shelf, replace(found, products=emptied, folds="older"))
    assert fingerprints(spark, str(tmp_path)) == expected
    jobs.compact(str(tmp_path))
    assert manifest.load(shelf).folds == found.folds
    assert fingerprints(spark, str(tmp_path)) == expected
    manifest.publish(shelf, replace(manifest.load(shelf), folds="older"))
    publish(tmp_path, ledger, first=41, last=60)
    jobs.ingest(str(tmp_path))
    assert manifest.load(shelf).folds == found.folds
    assert fingerprints(spark, str(tmp_path))["journal"][0] == 60


def test_a_file_that_never_rests_keeps_no_segment_out(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Somebody writes a log into the folder: that is said, and the segments beside it are in."""
    ledger = healthy(seed=12, messages=8)[0].sender
    path = publish(tmp_path, ledger, first=1, last=20)
    log = path.with_name("copied.log")
    log.touch()
    look_at, ages = batch.look_at, itertools.count(1)

    def write_and_look(*asked: Any) -> list[Look]:
        age = next(ages)
        os.utime(log, (age, age))
        return look_at(*asked)

    monkeypatch.setattr(batch, "look_at", write_and_look)
    intake = Intake(manifest.Shelf(str(tmp_path), party_folder(BUYER)), str(path.parent))
    with pytest.raises(LocalError, match="change while they are read") as refused:
        batch.take(spark, intake, [log.name, path.name])
    assert refused.value.name == batch.RESTLESS
    found = manifest.load(intake.shelf)
    assert (found.rows, found.quarantined) == (20, ())


def test_a_batch_that_cannot_be_written_leaves_nothing_behind(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """On a full disk every try would leave more there than the one before."""
    path = publish(tmp_path, healthy(seed=12, messages=8)[0].sender, first=1, last=20)
    intake = Intake(manifest.Shelf(str(tmp_path), party_folder(BUYER)), str(path.parent))
    write = runner.write

    def full(frame: DataFrame, place: str) -> None:
        if "/coverage/" in place:
            raise OSError("no space left on device")
        write(frame, place)

    monkeypatch.setattr(runner, "write", full)
    with pytest.raises(OSError, match="no space"):
        batch.take(spark, intake, [path.name])
    assert not [one for one in Path(intake.shelf.root).rglob("*") if one.is_file()]
