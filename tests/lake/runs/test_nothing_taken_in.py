"""A party of which nothing counts yet keeps nobody from judging the others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from journals import BUYER, MUCH_LATER, SELLER, healthy, publish

from onceonly.journal.segment import party_folder
from onceonly.lake import jobs, runner
from onceonly.lake.manifest import INGESTED_FOLDER
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ASKED, BEGUN, REFUSED = (party_folder(f"urn:{name}") for name in ("asked", "begun", "refused"))


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two parties with rows, and three without.

    Of one a query was begun, of one the first batch was written and does not count yet, and of one
    everything is quarantined.
    """
    place = tmp_path_factory.mktemp("lake")
    there, _ = healthy(seed=5, messages=3)
    publish(place, there.sender)
    publish(place, there.receiver)
    refused = place / "journal" / REFUSED
    refused.mkdir()
    (refused / "segment-x.parquet").write_bytes(b"no segment")
    assert not jobs.ingest(str(place)).is_trusted
    (place / INGESTED_FOLDER / ASKED / "checkpoint-0123456789ab").mkdir(parents=True)
    for product in ("journal", "coverage", "segments"):
        batch = (
            place / INGESTED_FOLDER / BEGUN / product / "batch-00000001-00000001-0123456789abcdef"
        )
        batch.mkdir(parents=True)
        (batch / "part-0.parquet").write_bytes(b"half of it")
    return str(place)


def test_a_party_that_has_nothing_has_no_last_row(spark: SparkSession, lake: str):
    """What is quarantined of one is a breach all the same."""
    held = runner.holdings(spark, [lake])
    marks = {one.folder: (one.rows > 0, one.tail is not None) for one in held.marks()}
    assert marks == {
        **dict.fromkeys([party_folder(BUYER), party_folder(SELLER)], (True, True)),
        **dict.fromkeys([ASKED, BEGUN, REFUSED], (False, False)),
    }
    whole = {one.folder: (one.rows > 0, one.quarantined) for one in held.wholeness()}
    assert whole == {
        party_folder(BUYER): (True, 0),
        party_folder(SELLER): (True, 0),
        REFUSED: (False, 1),
    }


@pytest.mark.long
def test_a_judgement_goes_on_without_a_party_that_has_nothing(lake: str, tmp_path: Path):
    """So does everything that begins with one, and whoever tidies up."""
    found = jobs.reconcile(lake, as_of=MUCH_LATER)
    assert found.verdicts["MATCHED"] == sum(found.verdicts.values()) == 6
    jobs.pack(lake, jobs.PackScope(BUYER, SELLER), out=tmp_path / "pack", as_of=MUCH_LATER)
    assert set(jobs.compact(lake, keep_s=0).batches.values()) == {0, 1}
    with pytest.raises(LocalError, match="no row of"):
        jobs.distrust(lake, f"journal/{REFUSED}/segment-x.parquet", reason="nobody knows it")


def test_the_jobs_of_a_schedule_are_told_that_nothing_is_judged(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """An ingest that failed leaves such a lake, and no difference in it looks like success."""
    (tmp_path / INGESTED_FOLDER / ASKED).mkdir(parents=True)
    jobs.main(["reconcile", "--lake", str(tmp_path), "--out", str(tmp_path / "ledger")])
    said = capsys.readouterr()
    assert f"no message in {tmp_path}: nothing is judged, and so nothing is proven" in said.err
    assert '"MATCHED": 0' in said.out
