"""The intake of one party: the folder with its segments, and the shelf of the lake for them.

Knows names. The name of a segment is its path relative to the lake, so that a lake may be moved; or
its full path or URL if it is outside.
"""

from hashlib import sha256
from typing import NamedTuple

from onceonly.journal.segment import JOURNAL_FOLDER
from onceonly.lake import storage
from onceonly.lake.manifest import Shelf


class Intake(NamedTuple):
    """Segments of one party in one place."""

    shelf: Shelf
    journal: str
    """The folder that holds them; only ever read."""

    @property
    def checkpoint(self) -> str:
        """Where the query keeps what it has seen: full paths, good for this place only."""
        mark = sha256(self.journal.encode()).hexdigest()[:12]
        return f"{self.shelf.root}/checkpoint-{mark}"

    @property
    def prefix(self) -> str:
        """What the names of its segments begin with."""
        inside = f"{self.shelf.lake}/"
        place = self.journal.removeprefix(inside) if self.journal.startswith(inside) else None
        return f"{self.journal if place is None else place}/"

    def name(self, file: str) -> str:
        """How a file in the folder is called in the lake."""
        return self.prefix + file

    def file(self, spark_path: str) -> str:
        """Name within the folder, of a path as Spark tells it."""
        return spark_path.rpartition(f"/{JOURNAL_FOLDER}/{self.shelf.folder}/")[2]


def url(lake: str, segment: str) -> str:
    """Where a segment lies, by its name."""
    is_outside = "://" in segment or segment.startswith("/")
    return segment if is_outside else f"{lake}/{segment}"


def intakes(source: str, lake: str) -> list[Intake]:
    """Every party that publishes in the source directory, in a fixed order."""
    folders = storage.folders(f"{source}/{JOURNAL_FOLDER}")
    return [
        Intake(Shelf(lake, folder), f"{source}/{JOURNAL_FOLDER}/{folder}")
        for folder in folders
        if folder.startswith("party=")
    ]
