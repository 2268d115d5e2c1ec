"""`compact`: the small batches of many ingests into one."""

from onceonly.lake import manifest, runner
from onceonly.lake.jobs.ingesting import IngestSummary
from onceonly.lake.jobs.session import Lakes, directories, start


def compact(lake: Lakes, *, master: str | None = None) -> IngestSummary:
    """Fold the small batches of many ingests into one per party; no verdict changes."""
    spark = start(lake, master)
    shelves = manifest.shelves(directories(lake))
    known = {f"{shelf.lake}/{shelf.folder}": runner.compact(spark, shelf) for shelf in shelves}
    return IngestSummary(
        batches={name: len(found.products.get("lifecycle", ())) for name, found in known.items()},
        last_seq={
            name: max((last for _, last in found.ranges), default=0)
            for name, found in known.items()
        },
    )
