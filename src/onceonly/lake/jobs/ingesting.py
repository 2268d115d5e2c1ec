"""`ingest`: every published segment into the lake, once."""

from dataclasses import dataclass
from typing import Any, Final

from onceonly.journal.segment import JOURNAL_FOLDER
from onceonly.lake import manifest, runner
from onceonly.lake.jobs.session import Lakes, directories, start

AVAILABLE_NOW: Final = "available-now"


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What is in the lake after an ingest, per party folder: published batches and last row."""

    batches: dict[str, int]
    last_seq: dict[str, int]


def ingest(
    lake: Lakes, *, master: str | None = None, trigger: str = AVAILABLE_NOW
) -> IngestSummary:
    """Take in every segment published since the last time; again, it changes nothing.

    `trigger` is `available-now`, or an interval such as `1 minute`, which runs until stopped.
    Raises `LocalError` (NoLake, NoJava).
    """
    spark = start(lake, master)
    how: dict[str, Any] = (
        {"availableNow": True} if trigger == AVAILABLE_NOW else {"processingTime": trigger}
    )
    shelves = manifest.shelves(directories(lake), within=JOURNAL_FOLDER)
    runner.ingest(spark, shelves, how)
    known = {f"{shelf.lake}/{shelf.folder}": manifest.load(shelf) for shelf in shelves}
    return IngestSummary(
        batches={name: len(found.batches) for name, found in known.items()},
        last_seq={
            name: max((last for _, last in found.ranges), default=0)
            for name, found in known.items()
        },
    )
