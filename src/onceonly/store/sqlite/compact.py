"""Gives the space of what was forgotten back to the disk: the store of a gateway that does not run.

SQLite keeps the pages of deleted rows in the file and uses them for the next rows. It can give them
back in small steps as well (`auto_vacuum`), but then every message writes two or three pages more,
5 percent, for as long as the store lives, and after that only its end can be cut off. A copy of
what is still there is made once, takes as long as reading and writing that, and is in order.

The copy takes the name of the store in one step. A crash before that leaves the old store, and one
after it the new one; both say the same.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import apsw

from onceonly.message.word import Word
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.failures import from_sqlite
from onceonly.store.files import OPERATING_SYSTEM
from onceonly.store.lock import StoreLock
from onceonly.store.sqlite.queries import SQL
from onceonly.store.sqlite.store import open_sqlite

COMING: Final = ".compacting"
"""End of the name of a copy that has not the name of the store yet."""

_LOGS: Final = ("-wal", "-shm", "-journal")


class Compacted(Word):
    """Sizes of the file."""

    bytes_before: int
    bytes_after: int


def compact(path: Path, *, party: str, clock_at: Callable[[], int]) -> Compacted:
    """Write the store again without its free pages.

    It needs as much free space as the store will have then. Raises `StoreRefused` where a gateway
    has it open, or it is damaged, newer or another party's, and `OSError`.
    """
    # As a start does: it writes the log again, moves it into the file, and looks at the journal.
    open_sqlite(path, party=party, clock_at=clock_at).close()
    lock = StoreLock(path.with_name(path.name + ".lock"))
    coming = path.with_name(path.name + COMING)
    try:
        before = path.stat().st_size
        _remove(coming)
        OPERATING_SYSTEM.make_private(coming)
        try:
            _copy(path, coming)
        except apsw.Error as error:
            raise StoreRefused(f"{path} cannot be compacted: {from_sqlite(error)}") from error
        OPERATING_SYSTEM.sync_entry(coming)
        _sync(coming)
        # An empty log by now; it would be taken for the log of the copy.
        for end in _LOGS:
            path.with_name(path.name + end).unlink(missing_ok=True)
        OPERATING_SYSTEM.sync_entry(path)
        coming.rename(path)
        OPERATING_SYSTEM.sync_entry(path)
        return Compacted(before, path.stat().st_size)
    finally:
        _remove(coming)
        lock.release()


def _copy(path: Path, coming: Path) -> None:
    """What is in the store, all in the file; compared by what every transaction counts on."""
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        source.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        source.execute("VACUUM INTO ?", (str(coming),))
        said = _facts(source)
    finally:
        source.close()
    copy = apsw.Connection(str(coming), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        if copy.pragma("quick_check") != "ok" or _facts(copy) != said:
            raise StoreRefused(f"the copy {coming} differs from {path}; the store is as it was")
    finally:
        copy.close()


def _facts(connection: apsw.Connection) -> list[object]:
    """Rows of every table, the end of the journal, and the schema."""
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
    tables = [name for (name,) in names.fetchall()]
    counts = [_count(connection, str(name)) for name in tables]
    version = connection.pragma("user_version")
    return [tables, counts, version, connection.execute(SQL["get_journal_end"]).get]


def _count(connection: apsw.Connection, table: str) -> object:
    statement = f'SELECT count(*) FROM "{table}"'  # noqa: S608 - because the schema is our own
    return connection.execute(statement).get


def _remove(path: Path) -> None:
    for end in ("", *_LOGS):
        path.with_name(path.name + end).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
