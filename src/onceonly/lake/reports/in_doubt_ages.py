"""Report 2 over time: how many messages were in doubt, and for how long."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    instant,
    text,
)

DEFINITION: Final = Definition(
    "in_doubt_ages",
    2,
    "one row per bin, pair and age class that has messages in doubt at the end of the bin",
    "whether doubts are settled or pile up",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        text("age_bucket", "age at the end of the bin, in classes"),
        count("messages", "messages", "in doubt at the end of the bin"),
    ),
)
