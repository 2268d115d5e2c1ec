"""`take-over`: a lake of the layout of before becomes one of this layout, without its segments."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from onceonly.lake import activity, compaction, lease, manifest, runner, storage
from onceonly.lake import take_over as party
from onceonly.lake.catalogue import NAMES
from onceonly.lake.jobs.session import start
from onceonly.lake.manifest import INGESTED_FOLDER, Shelf
from onceonly.lake.take_over import TakenOver

_TABLES: Final = "tables"


@dataclass(frozen=True, slots=True)
class TakeOverSummary:
    """What became of a lake."""

    parties: Mapping[str, TakenOver]
    """By party folder: those that were taken over now; none where all were before."""
    tables: tuple[str, ...]
    """Tables of before that were removed; the next run writes them again."""


def take_over(
    lake: str, *, master: str | None = None, tell: Callable[[str], None] = lambda _: None
) -> TakeOverSummary:
    """Take over a lake that an older version made; a second call changes nothing.

    No party is asked for a segment. Whoever is killed in between leaves the lake as it was or taken
    over, each party for itself, and the next call does the rest. Tables of before are removed where
    nothing but Parquet of Spark's is in their folders; `tell` gets a line for each that stays.
    Raises `LocalError`: NoLake, LakeBusy, NewerLake, BadManifest, NoJava; OlderLake for a lake in
    which no segment was looked at, which is to be ingested once more.
    """
    place = storage.lake_url(lake)
    shelves = manifest.shelves([place])
    with lease.ingesting(f"{place}/{INGESTED_FOLDER}"):
        old = [shelf for shelf in shelves if manifest.is_to_take_over(shelf)]
        for shelf in shelves:
            if shelf not in old:
                manifest.load(shelf)
        tables = _clear_tables(place, tell) if old else ()
        taken = {}
        for shelf in old:
            found = party.take_over(shelf)
            if found is not None:
                taken[shelf.folder] = found
        _fold_again(shelves, place, master)
    return TakeOverSummary(taken, tables)


def _clear_tables(lake: str, tell: Callable[[str], None]) -> tuple[str, ...]:
    cleared = []
    for name in storage.folders(f"{lake}/{_TABLES}"):
        folder = f"{lake}/{_TABLES}/{name}"
        if name not in NAMES:
            tell(f"{folder} stays: there is no table of that name")
            continue
        why = party.clear_table(folder)
        if why is None:
            cleared.append(name)
        else:
            tell(why)
    return tuple(cleared)


def _fold_again(shelves: list[Shelf], lake: str, master: str | None) -> None:
    """Fold coverage by the folds of this version, where others left it."""
    outdated = [shelf for shelf in shelves if runner.is_outdated(manifest.load(shelf))]
    if not outdated:
        return
    spark = start([lake], master)
    for shelf in outdated:
        with activity.step(spark, f"coverage of {shelf.folder}"):
            compaction.refold(spark, shelf)
