"""`compact`: merges the small folders of many batches, and removes those that nobody reads."""

from onceonly.lake import compaction, manifest
from onceonly.lake.jobs import prerequisites
from onceonly.lake.jobs.ingestion import IngestSummary
from onceonly.lake.jobs.session import Lakes, directories, start


def compact(
    lake: Lakes, *, master: str | None = None, keep_s: float = compaction.KEEP_S
) -> IngestSummary:
    """Fold the small folders of many batches into one; no verdict changes.

    Folders that were replaced more than `keep_s` seconds ago are removed: no job may still run that
    began to read them before that. Raises `LocalError` (NoLake, NewerLake, BadManifest, NoJava),
    `OSError` for a lake that cannot be written.
    """
    found = manifest.shelves(directories(lake))
    for shelf in found:
        manifest.load(shelf)
    prerequisites.require_places(shelf.root for shelf in found)
    spark = start(lake, master)
    return IngestSummary(
        {
            f"{shelf.lake}/{shelf.folder}": compaction.compact(spark, shelf, keep_s=keep_s)
            for shelf in found
        }
    )
