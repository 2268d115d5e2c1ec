"""Who may change a lake: one ingest at a time, one writer of tables, one change of a manifest.

A lock of the operating system ends with the process that holds it, however that dies. It is on the
folder itself, whether its name is a path, a link or `file://…`. An object store has no such locks;
there the operator must make sure that only one ingest, and one run of `reconcile`, works at a time.
Where the store puts files on a condition, two ingests at the same time still count each row once.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from onceonly.lake import storage
from onceonly.message.errors import LocalError

_INGEST: Final = ".ingest.lock"
_TABLES: Final = ".tables.lock"
_CHANGE: Final = ".manifest.lock"


@contextmanager
def ingesting(folder: str) -> Iterator[None]:
    """Hold the lock for ingests into a lake. Raises `LocalError` (LakeBusy) if it is taken."""
    with _alone(folder, _INGEST, f"another ingest into {folder} is running"):
        yield


def guard(folder: str) -> str | None:
    """What keeps two ingests into a lake apart that is not on this machine, for people.

    None for a lake of this machine, whose lock does it.
    """
    if storage.local_path(folder) is not None:
        return None
    if storage.is_exclusive(folder):
        return (
            f"{folder}: no lock, but conditional puts: of two ingests one gives way, none is lost"
        )
    return (
        f"{folder}: no lock and no conditional puts here: make sure that only one ingest at a time "
        "runs into it"
    )


@contextmanager
def tabling(folder: str) -> Iterator[None]:
    """Hold the lock for the tables of a lake. Raises `LocalError` (LakeBusy) if it is taken."""
    with _alone(folder, _TABLES, f"another run writes the tables of {folder}: wait until it ends"):
        yield


@contextmanager
def _alone(folder: str, lock: str, taken: str) -> Iterator[None]:
    place = _local(folder)
    if place is None:
        yield
        return
    with Path(place, lock).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LocalError("LakeBusy", taken) from None
        yield


@contextmanager
def changing(folder: str) -> Iterator[None]:
    """Hold the lock for the manifest in `folder`; waits for others, who hold it only shortly."""
    place = _local(folder)
    if place is None:
        yield
        return
    with Path(place, _CHANGE).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _local(folder: str) -> Path | None:
    """The folder on this machine, there from now on; None where it is elsewhere."""
    path = storage.local_path(folder)
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
    return path
