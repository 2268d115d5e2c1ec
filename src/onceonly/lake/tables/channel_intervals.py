"""When each pair was open, suspended or quarantined."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    duration,
    instant,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "channel_intervals",
    None,
    "one row per state of a pair, from the row that began it to the next one",
    "how long a pair stood still and on whose word; a pair that was never closed has no row",
    (
        text("party", "whose journal tells it"),
        text("side", "sending or receiving"),
        *PAIR_COLUMNS,
        text("state", "open, suspended or quarantined"),
        instant("from_at", "the state began"),
        instant("until_at", "it ended; null where it goes on"),
        duration("length_us", "until its end, or until the instant of judgement; never below 0"),
        text("reason", "on whose word, or why"),
        ordinal("seq", "number of the row that began it"),
    ),
)
