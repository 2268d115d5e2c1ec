"""Report 9: how many copies were eliminated, and why they came."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Column,
    Definition,
    count,
    day,
    duration,
)

DEFINITION: Final = Definition(
    "duplicate_causes",
    9,
    "one row per pair and day of the receiver's store",
    "repeats per thousand messages, how late they were, and the likeliest causes, which add "
    "up to the repeats. Causes need both journals",
    (
        day("day", "on which the originals were stored"),
        *PAIR_COLUMNS,
        count("stored", "messages", "stored"),
        count("repeats", "copies", "of them eliminated"),
        Column("per_thousand", "double", "copies", "eliminated per thousand messages stored"),
        count("doubled", "copies", "the network brought more than were sent"),
        count("by_resend", "copies", "somebody had the message sent again"),
        count("after_lost_ack", "copies", "an acknowledgement had left and never came"),
        count("after_slow_ack", "copies", "the acknowledgement was slower than the retry"),
        count("unexplained", "copies", "without the sender's journal"),
        count(
            "collisions",
            "arrivals",
            "with a known MessageId and another content: an alarm, no duplicate",
        ),
        duration("first_p50_us", "from the store to the first repeat, median"),
        duration("first_p95_us", "19 of 20"),
    ),
)
