"""An ingest that goes on takes what appears, and needs no restart for it."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING

import fsspec
import pytest
from journals import BUYER, SELLER, healthy, publish

from onceonly.journal.segment import party_folder
from onceonly.lake import jobs, manifest, runner
from onceonly.lake.ingest import batch
from onceonly.lake.ingest.intake import Intake, intakes
from onceonly.lake.ingest.stream import IngestRun
from onceonly.lake.jobs.prerequisites import not_ingested
from onceonly.lake.manifest import Manifest, Quarantined, Shelf
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from onceonly.lake.ingest.change import Change
    from onceonly.lake.ingest.register import KnownSegments
    from onceonly.lake.ingest.segments import Look
    from onceonly.lake.manifest import Distrusted

pytestmark = pytest.mark.spark

ROUNDS_MAX = 200


class DoneError(Exception):
    """Everything was taken."""


class Partners:
    """Two gateways that publish while the ingest runs; asked once a round what there is."""

    def __init__(self, lake: Path) -> None:
        self.lake = lake
        there, _ = healthy(seed=14, messages=8)
        self.buyer, self.seller = there.sender, there.receiver
        self.story = self.told()
        self.is_done: Callable[[], bool] = lambda: True
        self.rounds = 0

    def found(self, party: str) -> Manifest:
        return manifest.load(Shelf(str(self.lake), party_folder(party)))

    def told(self) -> Iterator[Callable[[], bool]]:
        """Deeds, and after each of them when the next one is due."""
        publish(self.lake, self.buyer, last=20)
        yield lambda: self.found(BUYER).rows == 20
        publish(self.lake, self.seller)
        second = publish(self.lake, self.buyer, first=21, last=40)
        whole = second.read_bytes()
        second.write_bytes(whole[:-60])
        yield lambda: bool(self.found(SELLER).rows and self.found(BUYER).quarantined)
        assert self.found(SELLER).rows == len(self.seller.records)
        second.unlink()
        yield lambda: not self.found(BUYER).quarantined
        second.write_bytes(whole)
        yield lambda: self.found(BUYER).rows == 40
        assert self.found(BUYER).quarantined == ()

    def intakes(self) -> list[Intake]:
        self.rounds += 1
        assert self.rounds < ROUNDS_MAX, "the ingest does not come to an end"
        if self.is_done():
            following = next(self.story, None)
            if following is None:
                raise DoneError
            self.is_done = following
        return intakes(str(self.lake), str(self.lake))


def test_a_running_ingest_takes_new_parties_and_mended_segments(
    spark: SparkSession, tmp_path: Path
):
    """A party appears, a segment is half there, gone, and then whole: every row is in, and once."""
    told: list[Quarantined] = []
    partners = Partners(tmp_path)
    run = IngestRun(spark, partners.intakes, lambda _, one: told.append(one))
    with pytest.raises(DoneError):
        run.go_on(1)
    assert len(told) == 1
    assert not spark.streams.active


def test_a_segment_that_is_still_being_written_waits_and_ends_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It changes at each of the tries; that is said, and it is taken when it is at rest."""
    there, _ = healthy(seed=15, messages=8)
    path = publish(tmp_path, there.sender, last=20)
    decide, shelf = batch.decide, Shelf(str(tmp_path), party_folder(BUYER))
    ages = iter(range(1, batch.TRIES_MAX + 1))

    def grow_and_decide(
        before: KnownSegments, found: list[Look], aside: Distrusted | None
    ) -> Change:
        for age in itertools.islice(ages, 1):
            os.utime(path, (age, age))
        return decide(before, found, aside)

    def find() -> list[Intake]:
        if manifest.load(shelf).rows:
            raise DoneError
        return intakes(str(tmp_path), str(tmp_path))

    monkeypatch.setattr(batch, "decide", grow_and_decide)
    warned: list[str] = []
    with pytest.raises(DoneError):
        IngestRun(spark, find, lambda *_: None, warned.append).go_on(1)
    assert len(warned) == 1
    assert warned[0].startswith("Restless: segments in ")


def test_a_source_that_cannot_be_reached_for_a_while_ends_nothing(
    spark: SparkSession, tmp_path: Path
):
    """It is said in every round, and what it holds is taken when it is back."""
    del spark
    far = fsspec.filesystem("memory")
    there, _ = healthy(seed=16, messages=8)
    path = publish(tmp_path / "local", there.sender, last=20)
    folder = f"/lost/journal/{party_folder(BUYER)}"
    said: list[str] = []

    def tell(line: str) -> None:
        said.append(line.partition(" ")[0])
        if said == ["quarantined"] or said[-2:] == ["NoSource:", "quarantined"]:
            far.rm("/lost", recursive=True)
        elif said == ["quarantined", "NoSource:"]:
            far.pipe_file(f"{folder}/{path.name}", path.read_bytes())
            far.pipe_file(f"{folder}/other.txt", b"")
        else:
            raise DoneError

    far.pipe_file(f"{folder}/notes.txt", b"")
    lake = str(tmp_path / "lake")
    with pytest.raises(DoneError):
        jobs.ingest("memory://lost", into=lake, trigger="1s", tell=tell)
    assert said == ["quarantined", "NoSource:", "quarantined", "NoSource:"]
    assert manifest.load(Shelf(lake, party_folder(BUYER))).rows == 20
    with pytest.raises(LocalError, match="cannot be read"):
        jobs.ingest(["memory://lost", str(tmp_path / "local")], into=lake)
    assert len(manifest.load(Shelf(lake, party_folder(BUYER))).ranges) == 1


def test_a_batch_that_cannot_be_taken_ends_the_ingest_with_a_line(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nothing is passed over: the next run finds the batch again."""
    there, _ = healthy(seed=15, messages=8)
    publish(tmp_path, there.sender, last=20)

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(runner, "write", full)
        for trigger in ("available-now", "1s"):
            with pytest.raises(LocalError, match="no space left on device"):
                jobs.ingest(str(tmp_path), trigger=trigger)
    [found] = jobs.ingest(str(tmp_path)).manifests.values()
    assert found.rows == 20


KEPT = ("metadata", "offsets/0")
"""Files of a query that Spark does not sync: without one it does not start, or ends at once."""


def lose(lake: Path, party: str, kept: str) -> None:
    [checkpoint] = (lake / "ingested" / party_folder(party)).glob("checkpoint-*")
    (checkpoint / kept).write_bytes(b"")
    (checkpoint / kept).with_name(f".{Path(kept).name}.crc").unlink()


def test_a_query_that_lost_what_it_kept_begins_anew(spark: SparkSession, tmp_path: Path):
    """After a power cut its files are empty; the rows come all the same, and nobody has to help."""
    ledgers = [healthy(seed=17, messages=8, names=(name, SELLER))[0].sender for name in KEPT]
    said: list[str] = []

    def rows() -> set[int]:
        return {manifest.load(shelf).rows for shelf in manifest.shelves([str(tmp_path)])}

    def queries() -> set[Path]:
        return set(tmp_path.glob("ingested/*/checkpoint-*/commits/0"))

    def go_on_until(is_done: Callable[[], bool]) -> None:
        def find() -> list[Intake]:
            if is_done():
                raise DoneError
            return intakes(str(tmp_path), str(tmp_path))

        with pytest.raises(DoneError):
            IngestRun(spark, find, lambda *_: None, said.append).go_on(1)

    for ledger in ledgers:
        publish(tmp_path, ledger, last=20)
    go_on_until(lambda: rows() == {20} and len(queries()) == len(KEPT))
    for ledger in ledgers:
        publish(tmp_path, ledger, first=21, last=40)
        lose(tmp_path, ledger.party, ledger.party)
    go_on_until(lambda: rows() == {40} and len(said) >= len(KEPT))
    assert all("is listed again" in line for line in said)
    assert len(said) == len(KEPT)


@pytest.mark.parametrize("trigger", ["available-now", "1s"])
def test_a_party_that_fails_keeps_no_other_out(spark: SparkSession, tmp_path: Path, trigger: str):
    """One manifest is broken; of the other party everything is in when that is said."""
    there, _ = healthy(seed=18, messages=8)
    publish(tmp_path, there.sender, last=20)
    publish(tmp_path, there.receiver, last=15)
    broken = tmp_path / "ingested" / party_folder(BUYER) / "manifest.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    with pytest.raises(LocalError, match="is no manifest") as refused:
        jobs.ingest(str(tmp_path), trigger=trigger)
    assert refused.value.name == "BadManifest"
    assert manifest.load(Shelf(str(tmp_path), party_folder(SELLER))).rows == 15


def test_a_file_whose_name_is_no_text_keeps_nothing_out(spark: SparkSession, tmp_path: Path):
    """A copy from another system left it there; whoever asks what is not ingested is told of it."""
    there, _ = healthy(seed=18, messages=8)
    folder = publish(tmp_path, there.sender, last=20).parent
    os.close(os.open(os.fsencode(folder) + b"/\xff\xfe", os.O_CREAT))
    [found] = jobs.ingest(str(tmp_path)).manifests.values()
    assert (found.rows, found.quarantined) == (20, ())
    assert not_ingested([str(tmp_path)]) == [f"not ingested yet: 1 segments in {folder}"]
