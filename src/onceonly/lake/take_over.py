"""A lake of the layout of before becomes one of this layout, by what it holds itself.

Rows and coverage stay in their folders. The register is laid out by ranges, the partial lives that
nobody reads any more retire, and the next manifest names all of it: until it is there, the lake is
as it was. So whoever is killed in between begins again, and a lake that was taken over stays as it
is. No segment is asked for.
"""

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from onceonly.lake import lease, manifest, storage
from onceonly.lake.ingest import register
from onceonly.lake.ingest.register import Register
from onceonly.lake.ingest.segments import Look
from onceonly.lake.manifest import Manifest, Retired, Shelf

LOOKS_PER_FILE: Final = 2 * register.LOOKS_MAX
_KEPT: Final = ("journal", "coverage")
_FILE: Final = re.compile(r"part-[^/]*\.parquet|_SUCCESS")
_BESIDE: Final = re.compile(r"\.(part-[^/]*\.parquet|_SUCCESS)\.crc")


class TakenOver(NamedTuple):
    """What became of one party's share of a lake."""

    rows: int
    segments: int
    retired: int
    """Folders and files that no reader needs any more; a later ingest or compaction removes them
    when no job can read them any more."""


def take_over(shelf: Shelf) -> TakenOver | None:
    """Take one party over; None where that was done before. Raises `LocalError` like `load`."""
    with lease.changing(shelf.root):
        old = manifest.old_manifest(shelf)
        if old is None:
            manifest.load(shelf)
            return None
        looks = Register(shelf, old).everything()
        files = tuple(_laid_out(shelf, looks))
        new = _of_this_layout(old, files, time.time_ns() // 1_000)
        manifest.publish(shelf, new)
    return TakenOver(new.rows, len(looks), len(new.retired) - len(old.retired))


def _laid_out(shelf: Shelf, looks: dict[str, Look]) -> Iterator[str]:
    ordered = sorted(looks.values(), key=lambda one: (one.first_seq, one.segment))
    for start in range(0, len(ordered), LOOKS_PER_FILE):
        yield register.written(shelf, ordered[start : start + LOOKS_PER_FILE])


def _of_this_layout(old: Manifest, files: tuple[str, ...], now: int) -> Manifest:
    kept = {name: folders for name, folders in old.products.items() if name in _KEPT}
    gone = [
        Retired(folder, now)
        for name, folders in old.products.items()
        if name not in _KEPT
        for folder in folders
    ]
    products = {**kept, register.PRODUCT: files}
    lineage = old.lineage or manifest.fresh_name()
    return replace(old, products=products, retired=(*old.retired, *gone), lineage=lineage)


def clear_table(folder: str) -> str | None:
    """Remove the files of a table of the layout of before; returns why not, where there are others.

    Only files that Spark wrote there as Parquet, and only where nothing else is beside them: what
    else there is may need them. Folders of the layout of now are none of that.
    """
    entries = [one.name for one in storage.entries(folder)]
    old = [name for name in entries if _FILE.fullmatch(name) or _BESIDE.fullmatch(name)]
    others = [name for name in entries if name not in old and not _RUN.fullmatch(name)]
    if not old:
        return None
    if others:
        return f"{folder} stays: {others[0]} in it is of nobody known here"
    for name in old:
        storage.remove(f"{folder}/{name}")
    if len(old) == len(entries):
        storage.remove(folder)
    return None


_RUN: Final = re.compile(r"[0-9a-f]{16}")
