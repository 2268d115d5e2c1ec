"""The format in which tables are written: plain Parquet, or one whose jars Spark was given.

Knows formats and what each wants to be told; `runner` does the writing. What is ingested stays
Parquet under the lake's own manifest in every case: only tables and the ledger are written so.
"""

from enum import StrEnum
from typing import NamedTuple

from onceonly.message.errors import LocalError


class TableFormat(StrEnum):
    """What a table is for whoever reads it."""

    PLAIN = "plain"
    """A folder of zstd Parquet, replaced as a whole."""
    DELTA = "delta"
    """A Delta table at the same path; each reconciliation is one more version of it."""
    ICEBERG = "iceberg"
    """An Iceberg table in a catalog that Spark is configured with."""


class Target(NamedTuple):
    """Where tables go, and as what."""

    table_format: TableFormat = TableFormat.PLAIN
    catalog: str | None = None
    """Catalog and namespace of the tables, such as `lake.onceonly`: for Iceberg only."""

    def place(self, folder: str, name: str) -> str:
        """Where a table is, that would be in `folder` as plain Parquet."""
        return folder if self.catalog is None else f"{self.catalog}.{name}"


def target(table_format: str, catalog: str | None) -> Target:
    """The target that was asked for. Raises `LocalError` (BadTarget) where its parts do not fit."""
    wanted = Target(TableFormat(table_format), catalog)
    is_iceberg = wanted.table_format is TableFormat.ICEBERG
    if is_iceberg and not catalog:
        raise LocalError(
            "BadTarget", "iceberg needs a catalog and namespace, such as lake.onceonly"
        )
    if catalog and not is_iceberg:
        raise LocalError("BadTarget", f"{wanted.table_format} tables have paths, and no catalog")
    return wanted
