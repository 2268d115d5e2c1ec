"""Report 19: how far the receiver's wall clock is ahead of the sender's."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Column,
    Definition,
    count,
    duration,
    flag,
    instant,
)

DEFINITION: Final = Definition(
    "clock_skew",
    19,
    "one row per bin of the first transmission and pair, from messages that both journals "
    "tell whole",
    "a store lies between the first transmission and its acknowledgement, so every message "
    "bounds the difference from both sides; the bin's bounds are the tightest of them",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        count("messages", "messages", "that bound it"),
        duration("lower_us", "the receiver's clock is ahead by at least this"),
        duration("upper_us", "and by at most this"),
        duration("skew_us", "the middle of the two"),
        duration(
            "median_us",
            "median of the messages' own middles: half-differences of the stamps",
        ),
        flag(
            "is_consistent",
            "the bounds do not cross; else a clock was set or drifted within the bin",
        ),
        flag("is_within_accuracy", "some difference within mshTimeAccuracy is possible"),
        Column(
            "drift_ppm",
            "double",
            "parts per million",
            "change of the middle since the pair's bin before",
        ),
    ),
)
