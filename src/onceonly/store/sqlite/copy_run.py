"""A copy of an open database into a new file, made in steps while its owner goes on writing.

Knows SQLite's backup interface; must not know what the rows mean or where a copy belongs.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.failures import from_sqlite

PAGES_PER_STEP: Final = 256
"""Copied at once: one MiB, which takes a millisecond or two."""


class CopyRun:
    """The contract's `Copy`, of the database of an open connection."""

    # ruff: noqa: D102 - because the methods are documented where they are promised, in Copy

    def __init__(self, source: apsw.Connection, path: Path) -> None:
        try:
            self._target = apsw.Connection(str(path))
            # It becomes durable as a whole, by `seal`; until then nobody reads it.
            self._target.pragma("synchronous", "off")
            self._run = self._target.backup("main", source, "main")
        except apsw.Error as error:
            raise StoreRefused(f"{path}: {from_sqlite(error)}") from error
        self._path = path

    def step(self, pages: int = PAGES_PER_STEP) -> bool:
        try:
            self._run.step(pages)
        except (apsw.BusyError, apsw.LockedError):
            return False  # An operator's shell holds the database; the next step tries again.
        except apsw.Error as error:
            raise StoreRefused(f"{self._path}: {from_sqlite(error)}") from error
        return self._run.done

    @property
    def progress(self) -> tuple[int, int]:
        return self._run.page_count - self._run.remaining, self._run.page_count

    def end(self) -> None:
        with suppress(apsw.Error):
            self._run.close(force=True)
        self._target.close(force=True)
