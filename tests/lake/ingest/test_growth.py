"""What an ingest leaves behind and asks for, however many there were before it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fingerprints import fingerprints
from journals import BUYER, healthy, publish

from onceonly.journal.segment import party_folder
from onceonly.lake import jobs, manifest, runner, storage, tiers
from onceonly.lake.manifest import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from onceonly.lake.storage import Listed

pytestmark = pytest.mark.spark

FILES_MAX = 8


def files(lake: Path) -> set[str]:
    """Everything that is in a lake besides the segments."""
    found = os.walk(lake / "ingested")
    return {f"{place}/{name}" for place, _, names in found for name in names}


def test_a_small_ingest_leaves_few_files_and_lists_a_folder_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Merges, register, manifest and all; and what is merged has the rows of one large ingest."""
    asked: list[str] = []
    each = storage.each_listed

    def note(url: str) -> Iterator[Listed]:
        asked.append(url)
        return each(url)

    def forbidden(url: str) -> list[Listed]:
        assert "/journal/" not in url, "a journal is listed once, and not as a whole"
        return list(each(url))

    monkeypatch.setattr(storage, "each_listed", note)
    monkeypatch.setattr(storage, "listed", forbidden)
    monkeypatch.setattr(manifest, "ENTRIES_MAX", 4)
    lake, whole = tmp_path / "lake", tmp_path / "whole"
    ledger = healthy(seed=31, messages=16)[0].sender
    shelf = Shelf(str(lake), party_folder(BUYER))
    left = []
    for first in range(1, 5 * (tiers.WIDTH + 3), 5):
        publish(lake, ledger, first=first, last=first + 4)
        asked.clear()
        before = files(lake)
        jobs.ingest(str(lake))
        left.append(len(files(lake) - before))
        assert asked == [shelf.journal]
    assert max(left) <= FILES_MAX
    assert sorted(left)[len(left) // 2] == 4
    found = manifest.load(shelf)
    assert all(len(found.products[name]) <= 4 for name in runner.OF_ROWS)
    publish(whole, ledger, last=5 * (tiers.WIDTH + 3))
    jobs.ingest(str(whole))
    assert fingerprints(spark, str(lake)) == fingerprints(spark, str(whole))
    before = files(lake)
    jobs.ingest(str(lake))
    assert files(lake) == before


def test_a_merge_that_fails_is_said_and_the_rows_are_in(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The next ingest tries it again."""
    del spark
    ledger = healthy(seed=32, messages=16)[0].sender

    def full(*_: object) -> list[str]:
        raise OSError("no space left on device")

    said: list[str] = []
    publish(tmp_path, ledger, last=5)
    with monkeypatch.context() as patch:
        patch.setattr(tiers, "due", full)
        [found] = jobs.ingest(str(tmp_path), tell=said.append).manifests.values()
    assert found.rows == 5
    assert len(said) == 1
    assert "keeps many small folders: no space left" in said[0]
