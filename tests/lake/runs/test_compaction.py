"""What a compaction removes: what was dropped long ago, and what nobody writes any more."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from onceonly.lake import compaction, storage
from onceonly.lake.manifest import Manifest, Shelf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOW_S = time.time()
LONG_AGO_S = NOW_S - 2 * compaction.KEEP_S


class Store(MemoryFileSystem):
    """An object store: folders have no age, and files one where the store tells it."""

    protocol = "store"
    ages: Mapping[str, float] = MappingProxyType({})

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("store://")))

    def find(self, *where: Any, **how: Any) -> Any:
        found = super().find(*where, **how)
        if how.get("detail"):
            for path in self.ages.keys() & found.keys():
                found[path]["mtime"] = self.ages[path]
        return found


@pytest.mark.parametrize(
    ("ages", "is_kept"),
    [
        ({"part-0": LONG_AGO_S, "_temporary/0/part-1": NOW_S}, True),
        ({"part-0": LONG_AGO_S, "_temporary/0/part-1": LONG_AGO_S}, False),
        ({"part-0": None}, True),
    ],
    ids=["being written", "left", "of no known age"],
)
def test_what_a_running_ingest_writes_into_an_object_store_stays(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    ages: dict[str, float | None],
    is_kept: bool,
):
    """A folder there is as old as the newest file in it; of no known age, nobody removes it."""
    fsspec.register_implementation("store", Store, clobber=True)
    store = fsspec.filesystem("store")
    shelf = Shelf("store://lake", "party=p")
    batch = "/lake/ingested/party=p/journal/batch-1"
    known = {f"{batch}/{name}": age for name, age in ages.items() if age is not None}
    monkeypatch.setattr(Store, "store", {})
    monkeypatch.setattr(Store, "pseudo_dirs", [""])
    monkeypatch.setattr(Store, "ages", known)
    for name in ages:
        store.pipe_file(f"{batch}/{name}", b"rows")
    compaction.compact(spark, shelf)
    found = [one.name for one in storage.entries(f"{shelf.root}/journal")]
    assert found == (["batch-1"] if is_kept else [])


class Name(str):
    """A name that tells how often it was compared with another."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_a_compaction_of_many_folders_compares_no_two_of_them():
    """A year of ingests leaves tens of thousands, and the first compaction has to end."""
    folders = [Name(f"journal/batch-{number}") for number in range(500)]
    known = Manifest(products={"journal": tuple(folders)})
    replaced = [Name(f"journal/batch-{number}") for number in range(500)]
    after = known.with_folders("journal", replaced, "journal/compact", 1)
    assert after.products == {"journal": ("journal/compact",)}
    assert after.in_use == {"journal/compact", *folders}
    assert Name.compared < 10 * len(folders)
