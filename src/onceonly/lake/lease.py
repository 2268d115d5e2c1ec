"""Who may change a lake: one ingest at a time, and one change of a manifest at a time.

A lock of the operating system ends with the process that holds it, however that dies. It is on the
folder itself, whether its name is a path, a link or `file://…`. An object store has no such locks;
there the operator must make sure that only one ingest runs at a time.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from onceonly.lake import storage
from onceonly.message.errors import LocalError

_INGEST: Final = ".ingest.lock"
_CHANGE: Final = ".manifest.lock"


@contextmanager
def ingesting(folder: str) -> Iterator[None]:
    """Hold the lock for ingests into a lake. Raises `LocalError` (LakeBusy) if it is taken."""
    place = _local(folder)
    if place is None:
        yield
        return
    with Path(place, _INGEST).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LocalError("LakeBusy", f"another ingest into {folder} is running") from None
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
