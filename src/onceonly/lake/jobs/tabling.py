"""Write tables of the catalogue: each replaces its own folder and no other."""

from collections.abc import Sequence
from typing import Final

from onceonly.lake import catalogue, runner, storage
from onceonly.lake.formats import Target
from onceonly.lake.jobs.case import Case

TABLES_FOLDER: Final = "tables"
"""Folder of a lake directory with a folder for each table."""


def write_tables(
    case: Case,
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
    for table in tables:
        runner.write_table(table.make(evidence), places[table.name], target.table_format)
    return places


def folder(lake: str, name: str) -> str:
    """Where the table of that name is kept in the lake directory."""
    return f"{storage.lake_url(lake)}/{TABLES_FOLDER}/{name}"
