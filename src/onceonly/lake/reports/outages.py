"""Report 16 as a timeline: when a partner was up and when it was down."""

from typing import Final

from onceonly.lake.tables.definition import (
    Definition,
    count,
    duration,
    instant,
    text,
)

DEFINITION: Final = Definition(
    "outages",
    16,
    "one row per party, peer and run of transmissions with the same result",
    "from when to when a partner could or could not be reached",
    (
        text("party", "who transmitted"),
        text("peer", "the partner, or of an intermediary's transmissions the address"),
        text("state", "up or down"),
        instant("from_at", "the first transmission of the run ended"),
        instant("until_at", "the first one of the next run ended; null for the last run"),
        duration(
            "length_us",
            "until then, or until the last transmission of the run where it is the last; "
            "never below 0",
        ),
        count("transmissions", "transmissions", "in the run"),
    ),
)
