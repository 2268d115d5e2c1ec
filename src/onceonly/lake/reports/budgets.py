"""Report 13: how late a failure may be known, against how long a message lives."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    duration,
    flag,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "budgets",
    13,
    "one row per agreement and pair that messages were submitted under",
    "the longest time to a verdict, set against TimeToLive and PersistDuration. The journal "
    "has no terms: those columns are null unless the agreements' terms are given",
    (
        text("agreement_id", "TPAId or CPAId"),
        *PAIR_COLUMNS,
        count("messages", "messages", "submitted"),
        count("open", "messages", "of them without a verdict"),
        ordinal("most_attempts", "greatest number of a transmission that was seen"),
        duration(
            "longest_verdict_us",
            "longest measured from the first transmission to acknowledgement, notice or end",
        ),
        duration("oldest_open_us", "age of the oldest message without a verdict"),
        duration("worst_case_us", "longest wait for a verdict that the terms allow (R-06)"),
        duration("time_to_live_us", "TimeToLive"),
        duration("persist_duration_us", "PersistDuration"),
        duration(
            "margin_us",
            "the shorter of the two less the worst case; below 0 a retry outlives its message",
        ),
        flag("is_at_risk", "the margin is below 0"),
    ),
)
