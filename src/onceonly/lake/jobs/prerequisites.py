"""Checks of lakes and places before a job starts, so that a typing error destroys nothing.

Knows names of files and folders, and no Spark.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from onceonly.journal.segment import JOURNAL_FOLDER
from onceonly.lake import storage
from onceonly.lake.ingest import mirror, register
from onceonly.lake.ingest.intake import Intake
from onceonly.lake.manifest import INGESTED_FOLDER, shelves
from onceonly.message.errors import LocalError

_DELTA_LOG: Final = "_delta_log"
_OF_A_TABLE: Final = frozenset({"_SUCCESS", "._SUCCESS.crc", _DELTA_LOG, "_temporary"})
_PARTS: Final = ("part-", ".part-")
_OF_A_LAKE: Final = (JOURNAL_FOLDER, INGESTED_FOLDER, mirror.FOLDER)


def require_ingested(lakes: Sequence[str]) -> None:
    """Raises `LocalError` (NothingIngested) where no segment was ever looked for.

    A missing mount and a forgotten ingest look the same, and must not look like success.
    """
    places = [storage.lake_url(lake) for lake in lakes]
    found = shelves(places)
    if not found and not any(storage.is_folder(f"{one}/{INGESTED_FOLDER}") for one in places):
        raise LocalError("NothingIngested", f"nothing was ever ingested into {', '.join(places)}")


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
