"""A Spark session for a job, and how a caller may name the lakes."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import SparkSession

from onceonly.lake import manifest, runner

APP_NAME: Final = "onceonly"

NOT_THE_CALLERS: Final = frozenset({"IngestFailed", "LakeBusy", "Restless", "Disturbed"})
"""Names of errors that another try may not meet: no mistake in what the caller asked for."""

Lakes = str | Sequence[str]
"""One lake directory, or several: paths or URLs."""


def directories(lake: Lakes) -> list[str]:
    """The lake directories, one or many."""
    return [lake] if isinstance(lake, str) else list(lake)


def start(lake: Lakes, master: str | None, *, has_catalog: bool = False) -> SparkSession:
    """The running session, or a new one that fits what has been published in the lakes.

    A new one keeps its catalog if `has_catalog`.
    """
    lakes = directories(lake)
    if SparkSession.getActiveSession() is not None:
        # It is as it is: no folder has to be listed for it.
        manifest.shelves(lakes)
        return runner.session(master, APP_NAME, has_catalog=has_catalog)
    size = manifest.journal_bytes(lakes) if lakes else None
    return runner.session(master, APP_NAME, journal_bytes=size, has_catalog=has_catalog)
