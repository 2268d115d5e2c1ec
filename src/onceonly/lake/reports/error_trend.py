"""Report 17 over time."""

from typing import Final

from onceonly.lake.tables.definition import (
    Definition,
    count,
    instant,
    text,
)

DEFINITION: Final = Definition(
    "error_trend",
    17,
    "one row per bin, phase and code",
    "whether an error grows",
    (
        instant("bin_at", "start of the bin"),
        text("phase", "as in error_pareto"),
        text("code", "as in error_pareto"),
        count("occurrences", "rows", "with it"),
    ),
)
