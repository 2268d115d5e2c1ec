"""`compact`: merges the small folders of many batches, and removes those that nobody reads."""

from onceonly.lake import compaction, lease, manifest, runs
from onceonly.lake.jobs import prerequisites
from onceonly.lake.jobs.ingestion import IngestSummary
from onceonly.lake.jobs.session import Lakes, directories, start
from onceonly.message.errors import LocalError


def compact(
    lake: Lakes, *, master: str | None = None, keep_s: float = compaction.KEEP_S
) -> IngestSummary:
    """Fold the small folders of many batches into one; no verdict changes.

    Folders that were replaced more than `keep_s` seconds ago are removed, and so are tables of
    former runs: no job may still run that began to read them before that.

    Raises `LocalError` (NoLake, NewerLake, BadManifest, NoJava), `OSError` for a lake that cannot
    be written.
    """
    found = manifest.shelves(directories(lake))
    for shelf in found:
        manifest.load(shelf)
    prerequisites.require_places(shelf.root for shelf in found)
    spark = start(lake, master)
    done = IngestSummary(
        {
            f"{shelf.lake}/{shelf.folder}": compaction.compact(spark, shelf, keep_s=keep_s)
            for shelf in found
        }
    )
    for place in directories(lake):
        _sweep(place, keep_s)
    return done


def _sweep(place: str, keep_s: float) -> None:
    """Remove what runs left, unless one is at work there, which does so itself."""
    try:
        with lease.tabling(place):
            runs.sweep(place, keep_s=keep_s)
    except LocalError as error:
        if error.name != "LakeBusy":
            raise
