"""Report 22: what is kept, in which state, and for how long already."""

from typing import Final

from onceonly.lake.tables.definition import (
    Definition,
    count,
    size,
    text,
)

DEFINITION: Final = Definition(
    "retention",
    22,
    "one row per party, role, state and age class",
    "messages and payload bytes by state and age, and what the next purge may take. The "
    "journal knows the sizes of payloads, not what they take on a disk; purgeable is null "
    "unless the agreements' terms are given",
    (
        text("party", "whose store"),
        text("role", "sender or receiver"),
        text("state", "queued, sending, in doubt, settled, stored or handed over"),
        text("age_bucket", "time since it was submitted or stored, in classes"),
        count("messages", "messages", "that were taken in and not known to be purged one by one"),
        size("payload_bytes", "size of their payloads"),
        count(
            "remembered",
            "messages",
            "whose MessageIds the receiver must know to eliminate repeats",
        ),
        count("purgeable", "messages", "past PersistDuration and twice the accuracy, and settled"),
    ),
)
