"""Whose a place is: a run writes its tables where nothing is, or where only runs have written.

Knows names of files and folders, and no Spark.
"""

from collections.abc import Sequence
from typing import Final

from onceonly.lake import catalogue, runs, storage
from onceonly.lake.formats import TableFormat, Target
from onceonly.lake.runs import DELTA_FOLDER, TABLES_FOLDER
from onceonly.message.errors import LocalError

_DELTA_LOG: Final = "_delta_log"


def require_own_places(lake: str, names: Sequence[str], target: Target) -> None:
    """Raises `LocalError` (NotEmpty) where a table of the lake would be written beside strangers.

    What plain tables of former versions left in `tables/<name>` is ours.
    """
    lake = storage.lake_url(lake)
    if target.table_format is TableFormat.ICEBERG:
        return
    for name in names:
        if target.table_format is TableFormat.DELTA:
            _require_delta(f"{lake}/{runs.delta_folder(name)}")
        _require_runs(f"{lake}/{TABLES_FOLDER}/{name}", f"{lake}/{runs.delta_folder(name)}")


def _require_runs(place: str, delta: str) -> None:
    for entry in storage.entries(place):
        if entry.name == _DELTA_LOG:
            text = f"{place} is a Delta table, whose place is {delta} since runs publish their sets"
            raise LocalError("NotEmpty", f"{text}: move the folder there to keep its history")
        if not runs.is_of_a_table(entry.name) and not runs.is_of_a_run(entry.name):
            text = f"{place} holds {entry.name}, which no run wrote: move it elsewhere"
            raise LocalError("NotEmpty", text)


def _require_delta(place: str) -> None:
    found = [entry.name for entry in storage.entries(place)]
    if found and _DELTA_LOG not in found:
        text = f"{place} holds {found[0]} and no Delta table: move it elsewhere"
        raise LocalError("NotEmpty", text)


def folder_apart(out: str | None, lake: str) -> str | None:
    """The folder of `--out`; None where it is the one that former versions had by default."""
    if out is None or _place(out) == _place(f"{lake}/{TABLES_FOLDER}/delivery_ledger"):
        return None
    return out


def require_no_place_of_a_run(out: str, lakes: Sequence[str]) -> None:
    """Raises `LocalError` (NotEmpty) where a table of its own would replace tables of runs."""
    where = _place(out)
    for lake in lakes:
        for folder in (TABLES_FOLDER, DELTA_FOLDER):
            whole = _place(f"{lake}/{folder}")
            of_runs = tuple(f"{whole}/{name}/" for name in catalogue.NAMES)
            if where == whole or f"{where}/".startswith(of_runs):
                text = f"{where} is of the runs of a lake: name a folder elsewhere (--out)"
                raise LocalError("NotEmpty", text)


def _place(url: str) -> str:
    """The one name of a place, whichever link leads there."""
    local = storage.local_path(url) if storage.is_arrows_own(url) else None
    return storage.lake_url(url) if local is None else str(local)
