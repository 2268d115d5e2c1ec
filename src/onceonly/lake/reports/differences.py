"""Report 3, row by row: every message in a class that somebody has to look at."""

from typing import Final

from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    count,
    instant,
    text,
)

DEFINITION: Final = Definition(
    "differences",
    3,
    "one row per message in a class whose standing is alarm or doubt",
    "which messages differ between the parties, and the evidence of both on each",
    (
        *KEY_COLUMNS,
        text("verdict", "the class"),
        text("standing", "alarm or doubt"),
        instant("submitted_at", "accepted from the application"),
        instant("last_sent_at", "last transmission began"),
        count("transmissions", "transmissions", "that began"),
        instant("stored_at", "in the receiver's persistent storage"),
        instant("acked_at", "acknowledged, in time or late"),
        instant("notified_at", "the application was told of a failure"),
        count("hand_overs", "hand-overs", "to the receiving application"),
        count("collisions", "arrivals", "with the same MessageId and another content"),
    ),
)
