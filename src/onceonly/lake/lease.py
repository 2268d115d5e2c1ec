"""Who may change a lake: one ingest at a time, and one change of a manifest at a time.

A lock of the operating system ends with the process that holds it, however that dies. A lake at a
URL has no such locks; there the rule of one ingest at a time is its operator's to keep.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from onceonly.message.errors import LocalError

_INGEST: Final = ".ingest.lock"
_CHANGE: Final = ".manifest.lock"


@contextmanager
def ingesting(folder: str) -> Iterator[None]:
    """Alone to ingest into a lake. Raises `LocalError` (LakeBusy) where another process does."""
    if "://" in folder:
        yield
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    with Path(folder, _INGEST).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LocalError("LakeBusy", f"another ingest into {folder} is running") from None
        yield


@contextmanager
def changing(folder: str) -> Iterator[None]:
    """Alone to replace the manifest in `folder`; waits for others, who hold it for moments."""
    if "://" in folder:
        yield
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    with Path(folder, _CHANGE).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
