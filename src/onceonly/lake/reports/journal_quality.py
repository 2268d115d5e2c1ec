"""Report 27: how good the evidence itself is."""

from typing import Final

from onceonly.lake.tables.definition import (
    Definition,
    count,
    duration,
    flag,
    instant,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "journal_quality",
    27,
    "one row per party that has a journal, or that a journal names as a partner",
    "gaps, edits, forks, clocks that jumped, rows that contradict one another, and who gives "
    "no evidence. How late a segment came is in the lake's manifest, not in the journal",
    (
        text("party", "whose journal"),
        flag("has_journal", "rows of it are in the lake"),
        count("rows", "rows", "each counted once"),
        instant("first_at", "first row"),
        instant("last_at", "last row"),
        count("missing", "rows", "numbers that no row has"),
        count("edited", "rows", "whose hash is not theirs"),
        count("forks", "rows", "whose number another row has too"),
        ordinal("first_bad_seq", "first number at which one of these shows"),
        count("unknown_events", "rows", "with an event that this version does not know"),
        count("newer_rows", "rows", "of a schema version that this version does not know"),
        count("restarts", "openings", "of the store beyond the first"),
        count("unclean_stops", "openings", "that no orderly stop came before"),
        count("backward_steps", "rows", "with an earlier instant than the row before"),
        count(
            "clock_jumps",
            "jumps",
            "of the wall clock against the monotonic one by more than the agreed accuracy",
        ),
        duration("largest_jump_us", "the largest"),
        count(
            "order_violations",
            "messages",
            "whose rows contradict their order: handed over before stored, acknowledged "
            "before sent",
        ),
        count(
            "unmatched_messages",
            "messages",
            "that the other party's journal should tell and does not",
        ),
        count("drills", "rows", "that say that times and faults are not real"),
    ),
)
