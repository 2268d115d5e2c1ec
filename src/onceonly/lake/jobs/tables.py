"""Write tables of the catalogue: each replaces its own folder and no other."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from onceonly.lake import activity, catalogue, runner, storage
from onceonly.lake.catalogue import CatalogueEntry
from onceonly.lake.formats import Target
from onceonly.lake.jobs.case import JudgedCase

TABLES_FOLDER: Final = "tables"
"""Folder of a lake directory with a folder for each table."""
AT_ONCE: Final = 2
"""Tables that are written at the same time: one is planned while the other's rows are made."""


def write_tables(
    case: JudgedCase,
    names: Sequence[str],
    lake: str,
    target: Target,
) -> dict[str, str]:
    """Write these tables into the lake directory, or the target's catalog; name to place.

    Raises `LocalError` (UnknownTable) before anything is written.
    """
    tables = [catalogue.find(name) for name in names]
    evidence = case.evidence()
    places = {table.name: target.place(folder(lake, table.name), table.name) for table in tables}

    def write(table: CatalogueEntry) -> None:
        with activity.step(case.journal.sparkSession, table.name):
            runner.write_table(table.make(evidence), places[table.name], target.table_format)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(write, tables):
            pass  # What went wrong in one is raised here.
    return places


def folder(lake: str, name: str) -> str:
    """Where the table of that name is kept in the lake directory."""
    return f"{storage.lake_url(lake)}/{TABLES_FOLDER}/{name}"
