"""Report 6 as a heat map: turnaround by hour and weekday of the sending."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    duration,
    ordinal,
)

DEFINITION: Final = Definition(
    "turnaround_heat",
    6,
    "one row per pair, weekday and hour with acknowledged messages",
    "at which hours of the week acknowledgements are slow",
    (
        *PAIR_COLUMNS,
        ordinal("weekday", "1 is Monday, 7 Sunday, UTC"),
        ordinal("hour", "0 to 23, UTC"),
        count("messages", "messages", "first sent in that hour and acknowledged"),
        duration("p50_us", "median from the first transmission"),
        duration("p95_us", "19 of 20"),
    ),
)
