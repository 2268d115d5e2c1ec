"""Which errors of SQLite and of the file system end by themselves, and which end the process.

This is the one place that decides it (rulings R-22 and R-28): no space is a condition that passes;
everything else that a write, a read or a commit can raise means that the store cannot be trusted.
"""

import errno

import apsw

from onceonly.store.store import StoreFailed, StoreFull

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Disk full, quota used up, file-size limit reached: fault D4."""


def from_sqlite(error: apsw.Error) -> StoreFull | StoreFailed:
    """The contract's name for `error`."""
    if isinstance(error, apsw.FullError) or _is_index_growth(error):
        return StoreFull(f"no space for the store: {error}")
    if isinstance(error, apsw.BusyError):
        return StoreFailed(f"another process writes to the store: {error}")
    return StoreFailed(f"{type(error).__name__}: {error}")


def from_system(error: OSError, what: str) -> StoreFull | StoreFailed:
    """The contract's name for `error`, which stopped `what`."""
    if error.errno in _NO_SPACE:
        return StoreFull(f"no space for {what}: {error.strerror}")
    return StoreFailed(f"{what}: {error}")


def _is_index_growth(error: apsw.Error) -> bool:
    # The shared-memory index of the log could not be made longer. It holds nothing durable, and
    # SQLite asks for its space before it writes a frame, so this is a full disk like any other.
    return getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE
