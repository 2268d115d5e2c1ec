"""Report 10: acknowledgements that came after the failure notice, or for nothing known."""

from typing import Final

from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    duration,
    flag,
    instant,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "late_acks",
    10,
    "one row per late or orphan acknowledgement",
    "what the notices had said too early, and what nobody had asked for",
    (
        text("party", "who received it"),
        *KEY_COLUMNS,
        text("kind", "late or orphan"),
        instant("at", "when it came"),
        instant("notified_at", "the application had been told of a failure"),
        duration("after_us", "since then"),
        flag("was_corrected", "the application was told of it afterwards; null for an orphan"),
        text("reason", "what stands beside it, in words"),
        ordinal("seq", "number of its row in that journal"),
    ),
)
