"""Which errors of SQLite and of the file system are temporary, and which end the process.

This is the only place that decides it (rulings R-22, R-28 and R-43). No space, no descriptor and no
memory are temporary, as long as nothing can be durable in part. A value or a row that the tables do
not allow is a bug in one step. Every other error of a write, a read or a commit means that the
store cannot be trusted.
"""

import errno

import apsw

from onceonly.store.contract.conditions import (
    StoreExhausted,
    StoreFailed,
    StoreFull,
    StoreMisused,
)

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Disk full, quota used up, file-size limit reached: fault D4."""

_NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})
"""The process or the machine has no free descriptor."""

_OF_ONE_STEP = (apsw.ConstraintError, apsw.MismatchError, apsw.RangeError, apsw.TooBigError)
"""A row that exists already, or a value that no column takes: the file itself is sound."""


def from_sqlite(error: apsw.Error) -> StoreFull | StoreFailed | StoreMisused:
    """The contract's error for `error`, which came before a COMMIT."""
    if isinstance(error, apsw.NoMemError | apsw.CantOpenError):
        return StoreExhausted(f"no descriptors or no memory for the store: {error}")
    if isinstance(error, _OF_ONE_STEP):
        return StoreMisused(f"{type(error).__name__}: {error}")
    return from_commit(error)


def from_commit(error: apsw.Error) -> StoreFull | StoreFailed:
    """The contract's error for `error` of a COMMIT, after which it is unknown what is durable."""
    if isinstance(error, apsw.FullError) or _is_index_growth(error):
        return StoreFull(f"no space for the store: {error}")
    if isinstance(error, apsw.BusyError):
        return StoreFailed(f"another process writes to the store: {error}")
    return StoreFailed(f"{type(error).__name__}: {error}")


def from_system(error: OSError, what: str) -> StoreFull | StoreFailed:
    """The contract's error for `error`, which stopped `what` before anything had to be durable."""
    if error.errno == errno.ENOMEM:
        return StoreExhausted(f"no memory for {what}: {error.strerror}")
    return from_sync(error, what)


def from_sync(error: OSError, what: str) -> StoreFull | StoreFailed:
    """The contract's error for `error`, which came while `what` was made durable.

    If a file could not be opened, nothing was synced and no sync failed: that is temporary, like no
    space.
    """
    if error.errno in _NO_DESCRIPTORS:
        return StoreExhausted(f"no descriptors for {what}: {error.strerror}")
    if error.errno in _NO_SPACE:
        return StoreFull(f"no space for {what}: {error.strerror}")
    return StoreFailed(f"{what}: {error}")


def _is_index_growth(error: apsw.Error) -> bool:
    # The shared-memory index of the log could not grow. It holds nothing durable, and SQLite asks
    # for its space before it writes a frame, so this is an ordinary full disk.
    return getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE
