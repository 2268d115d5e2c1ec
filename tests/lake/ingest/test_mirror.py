"""A far source is copied as it is, piece by piece, and what it withdraws goes where it was bad."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import fsspec
import pytest

from onceonly.lake import jobs, manifest
from onceonly.lake.ingest import mirror, segments
from onceonly.lake.manifest import Manifest, Quarantined, Shelf
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTY = "party=p"


class Far:
    """A source in memory, and the lake that mirrors it."""

    def __init__(self, lake: Path) -> None:
        self.lake = str(lake)
        self.name = uuid.uuid4().hex
        self.files = fsspec.filesystem("memory")

    def put(self, name: str, content: bytes) -> None:
        self.files.pipe_file(f"/{self.name}/journal/{PARTY}/{name}", content)

    def remove(self, name: str) -> None:
        self.files.rm(f"/{self.name}/journal/{PARTY}/{name}")

    def fetched(self) -> dict[str, bytes]:
        """What is in the mirror after one more fetch."""
        folder = Path(mirror.fetch(f"memory://{self.name}", self.lake), "journal", PARTY)
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def refuse(self, name: str) -> None:
        place = mirror.fetch(f"memory://{self.name}", self.lake).removeprefix(f"{self.lake}/")
        one = Quarantined(f"{place}/journal/{PARTY}/{name}", 1, 1, "unreadable", None)
        manifest.publish(Shelf(self.lake, PARTY), Manifest(quarantined=(one,)))


@pytest.fixture
def far(tmp_path: Path) -> Far:
    return Far(tmp_path)


def test_a_file_comes_in_pieces_and_whole(far: Far, monkeypatch: pytest.MonkeyPatch):
    """However large it is, no more than a piece is in memory; hidden files stay where they are."""
    monkeypatch.setattr(mirror, "BYTES_AT_ONCE", 7)
    far.put("a", bytes(range(256)))
    far.put("_b", b"hidden")
    assert far.fetched() == {"a": bytes(range(256))}


def test_a_file_larger_than_any_segment_does_not_fill_the_disk(
    far: Far, monkeypatch: pytest.MonkeyPatch
):
    """An empty file stands for it, so that it is quarantined and named."""
    monkeypatch.setattr(segments, "SEGMENT_BYTES_MAX", 100)
    far.put("a", b"x" * 101)
    far.put("b", b"x" * 100)
    assert far.fetched() == {"a": b"", "b": b"x" * 100}


def test_a_bad_copy_goes_when_its_original_does(far: Far):
    """So it does not stay in quarantine for ever; copies whose rows count stay."""
    far.put("bad", b"1")
    far.put("good", b"2")
    far.refuse("bad")
    far.remove("bad")
    far.remove("good")
    far.put("new", b"3")
    assert far.fetched() == {"good": b"2", "new": b"3"}
    far.put("bad", b"1")
    assert far.fetched() == {"bad": b"1", "good": b"2", "new": b"3"}


def test_a_lake_that_cannot_be_written_is_no_fault_of_its_source(far: Far):
    """A full disk or a folder that nobody may write: the source was read."""
    far.put("a", b"1")
    Path(far.lake, "mirrored").write_bytes(b"no folder")
    with pytest.raises(OSError, match="mirrored"):
        mirror.fetch(f"memory://{far.name}", far.lake)


@pytest.mark.spark
def test_an_ingest_that_cannot_copy_ends_with_1(
    spark: SparkSession, far: Far, capsys: pytest.CaptureFixture[str]
):
    """Another try may not meet a full disk: no mistake in what the job was asked for."""
    far.put("a", b"1")
    Path(far.lake, "mirrored").write_bytes(b"no folder")
    job = ["ingest", "--lake", f"memory://{far.name}", "--into", far.lake]
    assert jobs.main(job) == 1
    assert f"memory://{far.name} cannot be copied into {far.lake}" in capsys.readouterr().err


@pytest.mark.spark
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_source_by_http_is_refused_by_name(spark: SparkSession, tmp_path: Path, scheme: str):
    """Spark has a file system for it, and nobody can list a folder: no traceback, no empty lake."""
    with pytest.raises(LocalError, match="HTTP lists no folders") as refused:
        jobs.ingest(f"{scheme}://partner.example/lake", into=str(tmp_path))
    assert refused.value.name == "NoSource"


def test_a_source_that_cannot_be_read_is_named(far: Far):
    """No such driver, no such place: one error for both."""
    for source in ("nothing://far", f"memory://{far.name}"):
        with pytest.raises(LocalError, match="cannot be read") as refused:
            mirror.fetch(source, far.lake)
        assert refused.value.name == "NoSource"
