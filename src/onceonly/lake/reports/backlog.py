"""Report 15: what waits, how long, and behind what."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    duration,
    instant,
)

DEFINITION: Final = Definition(
    "backlog",
    15,
    "one row per bin and pair, from its first submission to the judgement",
    "queue depth at the end of the bin, the age of its oldest message, and what held it up",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        count("submitted", "messages", "in the bin"),
        count("started", "messages", "first sent in the bin"),
        count("settled", "messages", "that came to a verdict in the bin"),
        count("queued", "messages", "submitted and not sent at the end of the bin"),
        count("in_flight", "messages", "sent and without a verdict at the end of the bin"),
        duration("oldest_queued_us", "age of the oldest queued message at the end of the bin"),
        duration(
            "longest_turn_us",
            "longest time from first transmission to verdict of what was settled in the "
            "bin: others wait behind it",
        ),
        duration("suspended_us", "of the bin, the pair was suspended or quarantined by its sender"),
    ),
)
