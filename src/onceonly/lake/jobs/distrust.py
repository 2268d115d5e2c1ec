"""`distrust`: a person sets aside rows that were taken in and are not true, and gives a reason."""

from onceonly.lake import activity, lease, manifest, storage
from onceonly.lake.ingest import batch, register
from onceonly.lake.jobs.ingestion import IngestSummary, summary
from onceonly.lake.jobs.session import start
from onceonly.lake.manifest import INGESTED_FOLDER, Shelf
from onceonly.message.errors import LocalError


def distrust(lake: str, segment: str, *, reason: str, master: str | None = None) -> IngestSummary:
    """Stop counting the lake's rows of a segment; the reason stays in manifest and report.

    The segment that came first is believed, although a partner may have forged it, since its last
    rows contradict nothing yet. Only people can decide which content is true. The present file of
    that name is taken in instead, if it is whole and has another content. `segment` is the name
    that `ingest` prints. Raises `LocalError`: NoLake, NotCounted, LakeBusy, NoReason, NoJava,
    Restless or Disturbed.
    """
    if not reason.strip():
        raise LocalError("NoReason", "the reason is what an auditor will read: a text, not empty")
    place = storage.lake_url(lake)
    shelf = _shelf_of(place, segment)
    # Before Spark starts: whoever has to wait for another ingest is told at once.
    with lease.ingesting(f"{place}/{INGESTED_FOLDER}"):
        spark = start([place], master)
        with activity.step(spark, f"without {segment}"):
            batch.set_aside(spark, shelf, segment, reason.strip())
    return summary([place])


def _shelf_of(lake: str, segment: str) -> Shelf:
    for shelf in manifest.shelves([lake]):
        if register.named(register.known(shelf), [segment]):
            return shelf
    raise LocalError("NotCounted", f"no row of {segment} counts in {lake}")
