"""Report 6 over time: quantiles of the turnaround in bins of the time of sending."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    duration,
    instant,
)

DEFINITION: Final = Definition(
    "turnaround_bins",
    6,
    "one row per bin of the first transmission and pair with acknowledged messages",
    "whether acknowledgements get slower",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        count("messages", "messages", "first sent in the bin and acknowledged"),
        duration("p50_us", "median from the first transmission"),
        duration("p90_us", "9 of 10"),
        duration("p95_us", "19 of 20"),
        duration("p99_us", "99 of 100"),
    ),
)
