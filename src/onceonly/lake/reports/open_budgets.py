"""Report 13, message by message: how much time each open message has left."""

from typing import Final

from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    count,
    duration,
    flag,
    instant,
    text,
)

DEFINITION: Final = Definition(
    "open_budgets",
    13,
    "one row per submitted message without a verdict, for which one is owed",
    "when it will be given up and when it expires. Those columns are null unless the "
    "agreements' terms are given",
    (
        *KEY_COLUMNS,
        text("agreement_id", "TPAId or CPAId"),
        instant("submitted_at", "accepted from the application"),
        instant("first_sent_at", "first transmission began"),
        count("transmissions", "transmissions", "that began"),
        duration("age_us", "since the submission"),
        instant(
            "verdict_due_at",
            "latest verdict by the terms, counted from the first transmission",
        ),
        instant("expires_at", "its sender may not send it any more"),
        duration(
            "margin_us",
            "from the verdict to the expiry; below 0 a retry outlives the message",
        ),
        flag("is_overdue", "the verdict is due already"),
    ),
)
