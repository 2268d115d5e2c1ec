"""A lake that an older version made is taken over by what it holds, without a segment.

`golden/lake-of-version-2.tar.xz` is such a lake, made by the program at commit bcf3a5e4: the world
of `healthy(seed=21, messages=4)` with every plant, taken in by three ingests, judged, and with two
tables; beside it, in `later`, the segment that was published after that.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from journals import MUCH_LATER

from onceonly.lake import compaction, jobs, manifest, runner, take_over
from onceonly.lake.ingest import register
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDER = Path(__file__).parents[2] / "golden" / "lake-of-version-2.tar.xz"
VERDICTS = {
    "DELIVERED_TWICE": 1,
    "CONTENT_MISMATCH": 1,
    "COLLISION": 1,
    "RECEIVED_NOT_SENT": 2,
    "ACKED_NOT_STORED": 1,
    "NOT_DELIVERED_TO_APP": 1,
    "ORPHAN_ACK": 1,
    "ACK_LOST": 1,
    "FAILED_BUT_DELIVERED": 1,
    "SENT_NOT_RECEIVED": 1,
    "SETTLED_WRONGLY": 1,
    "MATCHED": 9,
    "ACKED_WITHOUT_EVIDENCE": 1,
    "MATCHED_LATE": 1,
    "SETTLED_RIGHTLY": 1,
    "TAKEN_BACK": 1,
    "FAILED_NOT_DELIVERED": 1,
    "BEST_EFFORT": 0,
    "REFUSED": 1,
    "ONE_SIDED": 0,
    "IN_FLIGHT": 0,
}
"""What the older version said of that lake, at `MUCH_LATER`."""


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    with tarfile.open(OLDER) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "lake"


def test_jobs_that_meet_an_older_lake_say_whose_move_it_is(spark: SparkSession, lake: Path):
    """Each of them, and none changes anything."""
    del spark
    place = str(lake)
    for job in (jobs.ingest, jobs.reconcile, jobs.compact):
        with pytest.raises(LocalError, match=f"run onceonly lake take-over {place}") as refused:
            job(place)
        assert refused.value.name == "OlderLake"
    assert all(map(manifest.is_to_take_over, manifest.shelves([place])))


@pytest.mark.spark
def test_what_was_taken_over_has_the_same_verdicts_and_goes_on(spark: SparkSession, lake: Path):
    """With no segment of before within reach, and with the next one taken in."""
    journal = lake / "journal"
    journal.rename(lake.parent / "away")
    done = jobs.take_over(str(lake))
    assert [one.rows for one in done.parties.values()] == [107, 76]
    found = jobs.reconcile(str(lake), as_of=MUCH_LATER)
    assert found.verdicts == VERDICTS
    before = [manifest.load(shelf) for shelf in manifest.shelves([str(lake)])]
    assert jobs.take_over(str(lake)).parties == {}
    assert [manifest.load(shelf) for shelf in manifest.shelves([str(lake)])] == before
    (lake.parent / "away").rename(journal)
    shutil.copytree(lake.parent / "later" / "journal", journal, dirs_exist_ok=True)
    summary = jobs.ingest(str(lake))
    assert list(summary.last_seq.values()) == [112, 76]
    assert [one.bad_seq for one in summary.quarantined] == [9_001]
    numbers = runner.journal(spark, [str(lake)]).groupBy("party", "seq").count()
    assert numbers.count() == 112 + 76
    jobs.compact(str(lake), keep_s=0)
    assert not list(lake.glob("ingested/*/lifecycle/*"))
    assert runner.journal(spark, [str(lake)]).count() == 112 + 76


def test_only_tables_that_are_nobody_elses_are_removed(lake: Path):
    """Of Spark's Parquet under the name of a table; a file of somebody's keeps all beside it."""
    tables = lake / "tables"
    (tables / "volume" / "notes.txt").write_text("mine")
    (tables / "theirs").mkdir()
    (tables / "theirs" / "part-0.parquet").touch()
    (tables / "sla" / "_delta_log").mkdir(parents=True)
    (tables / "sla" / "part-0.parquet").touch()
    kept = {path for path in tables.rglob("*") if "delivery_ledger" not in path.parts}
    said: list[str] = []
    done = jobs.take_over(str(lake), tell=said.append)
    assert done.tables == ("delivery_ledger",)
    assert set(tables.rglob("*")) == kept
    assert len(said) == 3
    assert "volume stays: notes.txt" in said[2]


def test_a_register_that_is_taken_over_is_laid_out_by_ranges(
    lake: Path, monkeypatch: pytest.MonkeyPatch
):
    """In files of a bounded size that say what is in them, and nothing is lost."""
    monkeypatch.setattr(take_over, "LOOKS_PER_FILE", 1)
    [first, _] = manifest.shelves([str(lake)])
    old = manifest.old_manifest(first)
    assert old is not None
    looks = register.looks(first, old)
    assert take_over.take_over(first) is not None
    found = manifest.load(first)
    files = [register.register_file(name) for name in found.products[register.PRODUCT]]
    assert [(one.first, one.last, one.looks) for one in files] == [(1, 56, 1), (57, 107, 1)]
    assert register.looks(first, found) == looks
    assert set(found.products) == {"journal", "coverage", "segments"}
    assert take_over.take_over(first) is None


DIES = """
import os, signal, sys
from onceonly.lake import jobs, storage
lake, count = sys.argv[1:]
put, calls = storage._put_in_place, 0
def dying(*arguments):
    global calls
    calls += 1
    if calls == int(count):
        os.kill(os.getpid(), signal.SIGKILL)
    put(*arguments)
storage._put_in_place = dying
jobs.take_over(lake)
"""


@pytest.mark.spark
def test_who_is_killed_while_taking_over_begins_again(spark: SparkSession, lake: Path):
    """Before each file gets its name: of a register, of a manifest, of the other party's."""
    for count in (1, 2, 2):
        dead = subprocess.run(
            [sys.executable, "-c", DIES, str(lake), str(count)],
            capture_output=True,
            check=False,
            env=os.environ,
        )
        assert dead.returncode == -signal.SIGKILL, dead.stderr
    jobs.take_over(str(lake))
    assert jobs.reconcile(str(lake), as_of=MUCH_LATER).verdicts == VERDICTS
    assert runner.journal(spark, [str(lake)]).count() == 107 + 76
    assert compaction.KEEP_S > 0
