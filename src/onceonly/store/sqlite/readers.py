"""The connections that read: one for each thread that asks, and all of them closed together.

A thread cannot be ended from outside. Whoever waited for its answer may be gone when the store
closes, while the thread is in the middle of a query. Such a query is interrupted, and a thread that
asks afterwards is told that the store is closed.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

import apsw

from onceonly.store.contract.conditions import StoreFailed
from onceonly.store.sqlite.reading import SqliteSnapshot

INTERRUPT_PAUSE_S: Final = 0.001
"""Between two looks at whether an interrupted query has ended. SQLite looks for an interrupt every
few thousand instructions, so one or two are enough unless the disk is slow."""


class Readers:
    """Snapshots of one store, each for the thread that asked for it; `connect` opens a connection.

    All methods may be called from any thread.
    """

    def __init__(self, connect: Callable[[], apsw.Connection]) -> None:
        self._connect = connect
        self._of_thread = threading.local()
        self._opening = threading.Lock()
        self._opened: list[apsw.Connection] = []
        self._is_closed = False

    def of_thread(self) -> SqliteSnapshot:
        """The snapshot of the calling thread.

        Raises `StoreFailed` after `close`, and what `connect` raises.
        """
        snapshot: SqliteSnapshot | None = getattr(self._of_thread, "snapshot", None)
        if snapshot is None:
            with self._opening:
                if self._is_closed:
                    raise StoreFailed("the store is closed")
                reader = self._connect()
                self._opened.append(reader)
            snapshot = self._of_thread.snapshot = SqliteSnapshot(reader)
        return snapshot

    def close(self) -> None:
        """Interrupt what is being read, and close every connection; returns when all are closed.

        In the threads concerned, what is being read and what they ask for later raises
        `StoreFailed`.
        """
        with self._opening:
            self._is_closed = True
        for reader in self._opened:
            while not _is_closed_now(reader):
                time.sleep(INTERRUPT_PAUSE_S)


def _is_closed_now(reader: apsw.Connection) -> bool:
    try:
        reader.close(force=True)
    except apsw.ThreadingViolationError:  # A thread is inside of a query.
        reader.interrupt()
        return False
    return True
