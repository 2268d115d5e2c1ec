"""The ledger costs what changed: days of the run before are linked, and its rows are the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent / "gold"))

from fingerprints import fingerprint
from journals import MUCH_LATER, publish
from test_gold import exchanges

from onceonly.lake import jobs, storage
from onceonly.lake.jobs.case import open_case
from onceonly.lake.tables import delivery_ledger
from onceonly.lake.verdicts import Policy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def files(lake: str) -> dict[str, int]:
    """Day and number of each file on the disk, in the current ledger."""
    [folder] = jobs.run(lake).tables["delivery_ledger"].folders
    found = Path(lake, folder).glob("*.parquet")
    return {f"{one.name[:10]} {one.stat().st_ino}": one.stat().st_nlink for one in found}


@pytest.mark.spark
def test_only_days_with_other_lives_are_written(spark: SparkSession, tmp_path: Path):
    """The last row is of one message: the files of all other days are those of the run before."""
    there, _ = exchanges(5)
    lake = str(tmp_path)
    publish(tmp_path, there.receiver)
    publish(tmp_path, there.sender, last=len(there.sender.records) - 1)
    jobs.ingest(lake)
    jobs.reconcile(lake, as_of=MUCH_LATER)
    first = files(lake)
    publish(tmp_path, there.sender, first=len(there.sender.records))
    jobs.ingest(lake)
    jobs.reconcile(lake, as_of=MUCH_LATER)
    last = files(lake)
    assert {one[:10] for one in last.keys() - first.keys()} == {"2025-10-11"}
    assert {one[:10] for one in last} == {one[:10] for one in first}
    case = open_case(spark, [lake], MUCH_LATER, Policy())
    whole = delivery_ledger.table(case.judged, case.journal)
    kept = jobs.table(spark, lake, "delivery_ledger")
    assert kept.columns == whole.columns
    expected = fingerprint(whole)
    assert fingerprint(kept) == expected
    # Nothing is written where nothing is new; the tables of the run before may go.
    jobs.reconcile(lake, as_of=MUCH_LATER)
    jobs.compact(lake, keep_s=0)
    assert files(lake).keys() == last.keys()
    assert fingerprint(jobs.table(spark, lake, "delivery_ledger")) == expected


def test_files_are_moved_up_and_linked_by_their_beginnings(tmp_path: Path):
    """What is hidden stays behind; a linked file survives the folder that it came from."""
    for day in ("2025-10-09", "2025-10-10"):
        folder = tmp_path / "old" / f"day={day}"
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_text(day)
        (folder / ".part-0.parquet.crc").write_text("checked")
    storage.lay_flat(str(tmp_path / "old"))
    names = sorted(one.name for one in (tmp_path / "old").iterdir())
    assert names == ["2025-10-09-part-0.parquet", "2025-10-10-part-0.parquet"]
    storage.link_files(str(tmp_path / "old"), str(tmp_path / "new"), ["2025-10-10"])
    storage.remove(str(tmp_path / "old"))
    [linked] = (tmp_path / "new").iterdir()
    assert (linked.name, linked.read_text()) == ("2025-10-10-part-0.parquet", "2025-10-10")
