"""The small folders of many batches into few large ones; no row and no verdict changes.

Readers see the old folders or the new one, whichever their manifest named. What a manifest no
longer names stays for as long as a reader may still hold it, and is removed by a later compaction.
A folder that is large already is left alone, so that a compaction costs in proportion to what came
since the last one, not to the history. An ingest merges by itself what is small and alike (`tidy`).
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pyspark.sql import SparkSession

from onceonly.lake import activity, manifest, model, runner, storage, tiers
from onceonly.lake.ingest import register
from onceonly.lake.manifest import Manifest, Shelf
from onceonly.lake.storage import Listed

SMALL_BYTES: Final = 256 << 20
"""A folder of this size is large enough, and is not rewritten any more."""
FILE_BYTES: Final = 128 << 20
"""A folder of so many bytes is one file, a larger one as many more."""
KEEP_S: Final = 86_400.0
"""How long a folder is kept after the manifest stops naming it: longer than any job may read it."""


def compact(
    spark: SparkSession, shelf: Shelf, *, keep_s: float = KEEP_S, small_bytes: int = SMALL_BYTES
) -> Manifest:
    """Fold the party's small folders together; then remove those that no job can read any more."""
    known = manifest.load(shelf)
    if runner.is_outdated(known):
        known = refold(spark, shelf)
    for product in runner.OF_ROWS:
        small = [
            name
            for name in known.products.get(product, ())
            if storage.size(f"{shelf.root}/{name}") < small_bytes
        ]
        if len(small) > 1:
            with activity.step(spark, f"{product} of {shelf.folder}"):
                known = _fold(spark, shelf, product, small)
    return _sweep(shelf, keep_s)


def tidy(spark: SparkSession, shelf: Shelf) -> None:
    """What an ingest does of this by itself: a little, whenever many small folders have come.

    At most one merge of each product, of `tiers.WIDTH` folders that are small; and what was
    replaced longer ago than any job reads is removed, by name: nothing is listed.
    """
    known = manifest.load(shelf)
    for product in runner.OF_ROWS:
        names = tiers.due(
            known.products.get(product, ()), lambda name: storage.size(f"{shelf.root}/{name}")
        )
        if names:
            with activity.step(spark, f"{product} of {shelf.folder}"):
                known = _fold(spark, shelf, product, names)
    until = time.time_ns() // 1_000 - int(KEEP_S * 1_000_000)
    if known.retired and known.retired[0].retired_at < until:
        _drop_retired(shelf, until)


def refold(spark: SparkSession, shelf: Shelf) -> Manifest:
    """Fold coverage of a party again, by the folds of this version."""
    known = manifest.load(shelf)
    rows = runner.folders(spark, "journal", shelf.paths(known, "journal"))
    name = f"refold-{manifest.fresh_name()}"
    for product in runner.FOLDED:
        runner.write(runner.OF_ROWS[product](rows), f"{shelf.root}/{product}/{name}")
    storage.keep(f"{shelf.root}/{product}/{name}" for product in runner.FOLDED)

    def swap(found: Manifest) -> Manifest:
        if found.rows != known.rows:
            return found
        now = time.time_ns() // 1_000
        for product in runner.FOLDED:
            old = found.products.get(product, ())
            found = found.with_folders(product, old, f"{product}/{name}", now)
        return replace(found, folds=runner.FOLDS_MARK)

    return manifest.change(shelf, swap)


def _fold(spark: SparkSession, shelf: Shelf, product: str, names: list[str]) -> Manifest:
    paths = [f"{shelf.root}/{name}" for name in names]
    files = 1 + sum(map(storage.size, paths)) // FILE_BYTES
    if product == "coverage":
        folded = model.merge_coverage(runner.folders(spark, product, paths)).coalesce(files)
    else:
        folded = runner.bronze(spark, paths).coalesce(files).sortWithinPartitions("event", "seq")
    target = f"{product}/{_joined(names)}"
    runner.write(folded, f"{shelf.root}/{target}")
    storage.keep([f"{shelf.root}/{target}"])

    def swap(found: Manifest) -> Manifest:
        # An ingest that took all rows again meanwhile has retired what was folded here.
        if not set(names) <= set(found.products.get(product, ())):
            return found
        return found.with_folders(product, names, target, time.time_ns() // 1_000)

    return manifest.change(shelf, swap)


def _joined(names: Sequence[str]) -> str:
    """The name of a folder with what is in these."""
    ranges = [manifest.batches_in(name) or (0, 0) for name in names]
    return manifest.batch_name(min(low for low, _ in ranges), max(high for _, high in ranges))


def _sweep(shelf: Shelf, keep_s: float) -> Manifest:
    now = time.time_ns() // 1_000
    known = _drop_retired(shelf, now - int(keep_s * 1_000_000))
    in_use = known.in_use
    for product in (*runner.OF_ROWS, register.PRODUCT):
        for entry in storage.entries(f"{shelf.root}/{product}"):
            name = f"{product}/{entry.name}"
            is_old = name not in in_use
            if is_old and _is_left(shelf, name, entry, now - int(KEEP_S * 1_000_000)):
                storage.remove(f"{shelf.root}/{name}")
    return known


def _drop_retired(shelf: Shelf, until: int) -> Manifest:
    """Forget and remove what retired before an instant, in microseconds UTC."""
    retired = manifest.load(shelf).retired
    known = manifest.change(shelf, lambda found: found.without_retired(until))
    in_use = known.in_use
    for one in retired:
        if one.retired_at < until and one.folder not in in_use:
            storage.remove(f"{shelf.root}/{one.folder}")
    return known


def _is_left(shelf: Shelf, name: str, entry: Listed, until: int) -> bool:
    """Whether a dead job left the folder: no manifest named it, and it is too old to be in work."""
    # The folders of an object store have no age, what is in them has; of neither it is unknown.
    written_at = entry.modified_at or storage.newest(f"{shelf.root}/{name}")
    return 0 < written_at * 1_000 < until
