"""Checks of lakes and places before a job starts, so that a typing error destroys nothing.

Knows names of files and folders, and no Spark: whoever has to correct something waits for no JVM.
"""

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from onceonly.journal.segment import JOURNAL_FOLDER
from onceonly.lake import manifest, storage
from onceonly.lake.gold import days
from onceonly.lake.ingest import mirror, register
from onceonly.lake.ingest.intake import Intake
from onceonly.lake.ingest.segments import AT_MAX
from onceonly.lake.manifest import INGESTED_FOLDER, Shelf, shelves
from onceonly.lake.runs import PARTIALS_FOLDER, RUNS_FOLDER
from onceonly.message.errors import LocalError

_DELTA_LOG: Final = "_delta_log"
_OF_A_TABLE: Final = frozenset({"_SUCCESS", "._SUCCESS.crc", _DELTA_LOG, "_temporary"})
_PARTS: Final = ("part-", ".part-")
_OF_A_LAKE: Final = (
    *(JOURNAL_FOLDER, INGESTED_FOLDER, mirror.FOLDER, days.FOLDER),
    *(RUNS_FOLDER, PARTIALS_FOLDER),
)

AS_OF_MIN: Final = 10**15
"""Of September 2001. Seconds and milliseconds of our time are less, and would judge in 1970; its
nanoseconds are more than `AT_MAX`, and would make bins of time without an end."""


def require_instant(as_of: int | None) -> None:
    """Raises `LocalError` (NotMicroseconds) for an instant of judgement in another unit."""
    if as_of is not None and not AS_OF_MIN <= as_of <= AT_MAX:
        when = "of long ago" if as_of < AS_OF_MIN else "of the far future"
        text = f"an instant of judgement is in microseconds since 1970, and {as_of} is {when}"
        raise LocalError("NotMicroseconds", text)


def require_ingested(lakes: Sequence[str]) -> None:
    """Raises `LocalError` (NothingIngested) where no segment was ever looked for.

    A missing mount and a forgotten ingest look the same, and must not look like success. Raises
    what `manifest.load` does, too, for a party of the lakes that cannot be read.
    """
    places = [storage.lake_url(lake) for lake in lakes]
    found = shelves(places)
    if not found and not any(storage.is_folder(f"{one}/{INGESTED_FOLDER}") for one in places):
        raise LocalError("NothingIngested", f"nothing was ever ingested into {', '.join(places)}")
    for shelf in found:
        manifest.load(shelf)


def require_sources(sources: Sequence[str]) -> None:
    """Raises `LocalError` (NoLake) for a source on this machine that does not exist.

    What is to be read through a network is known only to whoever reads it.
    """
    for source in sources:
        if storage.is_local(source) and not storage.is_folder(source):
            raise LocalError("NoLake", f"there is no lake directory {source}")


def require_any(shelves: Iterable[Shelf]) -> None:
    """Raises `LocalError` (NewerLake, BadManifest) where no party can be taken in.

    One that can is, whatever is wrong with the others.
    """
    refused = []
    for shelf in shelves:
        try:
            manifest.load_or_renew(shelf)
        except LocalError as error:
            refused.append(error)
        else:
            return
    if refused:
        raise refused[0]


def require_places(places: Iterable[str]) -> None:
    """Raises `OSError` for a place on this machine in which no folder can be made or changed."""
    for place in filter(storage.is_local, places):
        path = Path(place).absolute()
        # Not `Path.exists`, which raises for what is below a folder that may not be entered.
        near = next(one for one in (path, *path.parents) if os.path.lexists(one))
        if not near.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{near} is no folder", str(path))
        if not os.access(near, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"{near} may not be written", str(path))


def require_file(file: Path) -> None:
    """Raises `OSError` where the file cannot be made or replaced."""
    require_places([str(file.parent)])
    if file.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder is there, and no file", str(file))
    if file.exists() and not os.access(file, os.W_OK):
        raise PermissionError(errno.EACCES, "the file may not be replaced", str(file))


def not_ingested(lakes: Sequence[str]) -> list[str]:
    """What is published in the lakes and not in them yet, a line for each party, for people."""
    lines = []
    for shelf in shelves(lakes, within=JOURNAL_FOLDER):
        intake = Intake(shelf, shelf.journal)
        held, listed = register.known(shelf), storage.each_listed(intake.journal)
        fresh = register.unseen(held, intake.prefix, listed)
        if fresh:
            lines.append(f"not ingested yet: {len(fresh)} segments in {shelf.journal}")
    return lines


def require_place_of_a_table(place: str, lakes: Sequence[str]) -> None:
    """Raises `LocalError` (NotEmpty) where something else than a table would be replaced."""
    if not storage.is_arrows_own(place):
        return
    where = storage.lake_url(place)
    if any(
        _is_within(where, f"{storage.lake_url(lake)}/{part}")
        for lake in lakes
        for part in _OF_A_LAKE
    ):
        raise LocalError("NotEmpty", f"{where} is of a lake: a table there would replace evidence")
    folder, _, name = where.rpartition("/")
    if storage.look_up(folder, [name]):
        raise LocalError("NotEmpty", f"{where} is a file, and no folder of a table")
    for entry in storage.entries(where):
        if entry.name not in _OF_A_TABLE and not entry.name.startswith(_PARTS):
            text = f"{where} holds {entry.name}, which is of no table: name a new or empty folder"
            raise LocalError("NotEmpty", text)


def require_no_delta_table(place: str) -> None:
    """Raises `LocalError` (NotEmpty) where Parquet would replace a Delta table, history and all."""
    if not storage.is_arrows_own(place):
        return
    where = storage.lake_url(place)
    if any(entry.name == _DELTA_LOG for entry in storage.entries(where)):
        text = f"{where} is a Delta table: --table-format delta writes the next version of it"
        raise LocalError("NotEmpty", f"{text}; for plain Parquet name another folder, or remove it")


def _is_within(place: str, folder: str) -> bool:
    if storage.is_local(place) and storage.is_local(folder):
        return Path(place).resolve().is_relative_to(Path(folder).resolve())
    return f"{place}/".startswith(f"{folder}/")
