"""Rows in bins of time, made dense: a silence is drawn as one."""

from typing import Final

from onceonly.lake.page.findings import Row, Rows
from onceonly.lake.tables.definition import Definition

BINS_DRAWN: Final = 400
"""Most bins in a picture: the last ones of what was asked for in too narrow bins."""


def starts_of(rows: Rows, width_us: int) -> list[int]:
    """The starts of the bins from the first of the rows to the last, none left out."""
    if not rows:
        return []
    last = max(row["bin_at"] for row in rows)
    first = max(min(row["bin_at"] for row in rows), last - (BINS_DRAWN - 1) * width_us)
    return list(range(first, last + 1, width_us))


def every_bin(definition: Definition, rows: Rows, width_us: int) -> list[Row]:
    """One row for each bin, in order; where the report has none its counts and spans are 0."""
    empty = {one.name: 0 if one.type == "bigint" else None for one in definition.columns}
    known = {row["bin_at"]: row for row in rows}
    return [known.get(at, {**empty, "bin_at": at}) for at in starts_of(rows, width_us)]
