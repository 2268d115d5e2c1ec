"""Looks at a store without opening it: nothing is made, counted or migrated.

For `onceonly check`, which runs beside a gateway or before its first start. Knows what opening
would find; must not know what the rows mean.
"""

import fcntl
import os
from pathlib import Path
from urllib.parse import quote

import apsw

from onceonly.message.word import Word
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.contract.rules import check_owner
from onceonly.store.failures import from_sqlite
from onceonly.store.sqlite.migrate import get_version, read_migrations
from onceonly.store.sqlite.queries import SQL
from onceonly.store.sqlite.store import check_restored, check_version, verified_journal_end


class FoundStore(Word):
    """A store that can be opened now, or as soon as another process closes it."""

    is_there: bool
    is_in_use: bool = False
    """A running gateway has it open."""
    is_older: bool = False
    """Opening it will migrate it to a newer schema."""
    version: int = 0
    """Steps of the schema that it has."""


def look_at(path: Path, party: str) -> FoundStore:
    """How `party` would find its store at `path`.

    Raises `StoreRefused` if `party` can neither open it nor make it there, as far as that can be
    seen without opening it.
    """
    check_version(apsw.sqlite_lib_version())
    check_restored(path)
    if not path.exists():
        _check_place(path)
        return FoundStore(is_there=False)
    for one in (path, path.parent):
        if not os.access(one, os.R_OK | os.W_OK):
            raise StoreRefused(f"{one} cannot be read and written by this account")
    is_in_use = _is_locked(path.with_name(path.name + ".lock"))
    try:
        version = _check_content(path, party, is_in_use=is_in_use)
    except apsw.Error as error:
        raise StoreRefused(f"{path} cannot be opened: {from_sqlite(error)}") from error
    is_older = version < len(read_migrations())
    return FoundStore(is_there=True, is_in_use=is_in_use, is_older=is_older, version=version)


def _check_place(path: Path) -> None:
    """Raise `StoreRefused` if the missing folders, or the store in them, cannot be made."""
    folder = next(one for one in path.parents if one.exists())
    if not folder.is_dir():
        raise StoreRefused(f"{folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StoreRefused(f"nothing can be made in {folder} by this account")


def _is_locked(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreRefused(f"cannot open the lock file {path}: {error.strerror}") from error
    try:
        # A shared lock, freed at once: a gateway that starts at this moment is hardly ever refused.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        return False
    finally:
        os.close(file)


def _check_content(path: Path, party: str, *, is_in_use: bool) -> int:
    """The store's schema version. Raises `StoreRefused`, or `apsw.Error` if it is no database."""
    connection = connect(path, is_in_use=is_in_use)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        version = get_version(connection)
        if version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise StoreRefused(f"{path} is a database, and no store of onceonly")
        if version:
            owner, _ = connection.execute(SQL["get_store"]).get or (party, 0)
            check_owner(owner, party)
        if version == len(read_migrations()):
            verified_journal_end(connection)
        return version
    finally:
        connection.close()


def connect(path: Path, *, is_in_use: bool) -> apsw.Connection:
    """A connection that only reads. Raises `apsw.Error`."""
    # Without a log everything is in the file, which can be read without making files beside it.
    has_log = is_in_use or path.with_name(f"{path.name}-wal").exists()
    name = f"file:{quote(str(path))}?mode=ro{'' if has_log else '&immutable=1'}"
    return apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
