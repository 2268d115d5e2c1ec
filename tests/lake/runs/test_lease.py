"""One ingest at a time, however a lake of this machine is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from onceonly.lake import lease, manifest
from onceonly.lake.manifest import Manifest, Shelf
from onceonly.message.errors import LocalError


@pytest.mark.parametrize("first", ["path", "url", "link"])
@pytest.mark.parametrize("second", ["path", "url", "link"])
def test_one_lake_under_two_names_takes_one_ingest(tmp_path: Path, first: str, second: str):
    """By its path, as `file://`, and through a link."""
    lake = tmp_path / "a lake"
    lake.mkdir()
    (tmp_path / "link").symlink_to(lake)
    names = {"path": str(lake), "url": f"file://{lake}", "link": str(tmp_path / "link")}
    with (
        lease.ingesting(f"{names[first]}/ingested"),
        pytest.raises(LocalError, match="another ingest") as refused,
        lease.ingesting(f"{names[second]}/ingested"),
    ):
        pass
    assert refused.value.name == "LakeBusy"


def test_a_lake_elsewhere_has_no_lock():
    """An object store knows none: its operator keeps the rule."""
    with lease.ingesting("memory://lake/ingested"), lease.ingesting("memory://lake/ingested"):
        pass
    assert "only one ingest at a time" in (lease.guard("memory://lake/ingested") or "")


def test_a_lake_of_this_machine_needs_no_other_guard(tmp_path: Path):
    """So nothing is said about it."""
    assert lease.guard(str(tmp_path / "ingested")) is None
    assert lease.guard(f"file://{tmp_path}/ingested") is None


def test_a_shelf_is_one_by_its_path_and_by_its_url(tmp_path: Path):
    """What stands quoted in the folder of a party stays quoted, as Spark has it."""
    here, there = (Shelf(lake, "party=urn%3Ax") for lake in (str(tmp_path), f"file://{tmp_path}"))
    manifest.change(there, lambda found: found.without_retired(0))
    manifest.publish(there, Manifest(batches=7))
    assert manifest.load(here).batches == 7
    assert [shelf.folder for shelf in manifest.shelves([f"file://{tmp_path}"])] == ["party=urn%3Ax"]
    assert [path.name for path in (tmp_path / "ingested").iterdir()] == ["party=urn%3Ax"]
