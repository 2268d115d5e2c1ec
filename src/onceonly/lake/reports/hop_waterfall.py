"""Report 18: where a message that passes intermediaries spends its time, and where it is lost."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    duration,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "hop_waterfall",
    18,
    "one row per pair and stage on the way, in order; an intermediary has two",
    "how long each stage takes, by one clock each: time on the wire is what is left of the "
    "sender's turnaround. Only messages that reached an intermediary count",
    (
        *PAIR_COLUMNS,
        ordinal("step", "place in the waterfall"),
        text("stage", "queue, turnaround, hold, ack hold, receive, hand over or wire"),
        text("place", "the party whose clock it is; null for the wire"),
        ordinal("hop", "number of the hop, of an intermediary"),
        count("entered", "messages", "that came to the stage"),
        count("left", "messages", "that were seen to leave it"),
        count("lost", "messages", "that did not leave it, longer ago than the grace"),
        duration("p50_us", "median"),
        duration("p95_us", "19 of 20"),
        duration("mean_us", "mean"),
    ),
)
