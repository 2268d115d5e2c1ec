"""What a newer program would do to a store before it can use it, and a rehearsal on a copy.

Knows the steps of `migrate`, and the space that they can take. Changes nothing of the store: its
file is read only, and a rehearsal works on a copy of it, with the code that the next start runs.
"""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import apsw

from onceonly.message.word import Word
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.failures import from_sqlite
from onceonly.store.sqlite.look import FoundStore, connect, look_at
from onceonly.store.sqlite.migrate import read_migrations
from onceonly.store.sqlite.store import open_sqlite

TIMES_OF_FILE: Final = 2
"""Space that the steps can take, in sizes of the file: a step that writes every page again has each
of them in the log until the end, and the file may grow by as much again."""

PAGES_PER_STEP: Final = 4_096
"""Pages copied between two looks at whether the store changed."""


class Upgrade(Word):
    """What the next start would do to the store first."""

    found: FoundStore
    steps: tuple[str, ...]
    """Names of the steps, in order; empty if there is nothing to do."""
    store_bytes: int
    needed_bytes: int
    """Free space that is enough in any case."""
    free_bytes: int


class Rehearsal(Word):
    """What the steps took on a copy."""

    took_s: float
    grown_bytes: int


def plan_of(path: Path, party: str) -> Upgrade:
    """Look at the store. Raises `StoreRefused` as `look_at` does: above all for a newer one."""
    found = look_at(path, party)
    folder = next(one for one in (path, *path.parents) if one.exists())
    size = path.stat().st_size if found.is_there else 0
    missing = read_migrations()[found.version :] if found.is_there else ()
    return Upgrade(
        found,
        tuple(step.name for step in missing),
        size,
        TIMES_OF_FILE * size if missing else 0,
        shutil.disk_usage(folder).free,
    )


def rehearse(path: Path, party: str, folder: Path, clock_at: Callable[[], int]) -> Rehearsal:
    """Copy the store into a new folder below `folder`, run the steps on the copy, and remove it.

    Raises `StoreRefused`, and `OSError` where there is no space for the copy.
    """
    with TemporaryDirectory(dir=folder, prefix="rehearsal-") as place:
        copy = Path(place) / path.name
        _copy(path, copy, is_in_use=look_at(path, party).is_in_use)
        before, began_s = copy.stat().st_size, time.monotonic()
        open_sqlite(copy, party=party, clock_at=clock_at).close()
        return Rehearsal(time.monotonic() - began_s, copy.stat().st_size - before)


def _copy(path: Path, copy: Path, *, is_in_use: bool) -> None:
    try:
        source, target = connect(path, is_in_use=is_in_use), apsw.Connection(str(copy))
        try:
            source.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            with target.backup("main", source, "main") as run:
                while not run.done:
                    run.step(PAGES_PER_STEP)
        finally:
            source.close()
            target.close()
    except apsw.FullError as error:
        raise OSError(f"no space for a copy of {path} in {copy.parent}") from error
    except apsw.Error as error:
        raise StoreRefused(f"{path} cannot be copied: {from_sqlite(error)}") from error
