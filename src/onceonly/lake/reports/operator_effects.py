"""Report 26: what people asked for, and what became of those messages."""

from typing import Final

from onceonly.lake.tables.definition import (
    Definition,
    count,
    instant,
    text,
)

DEFINITION: Final = Definition(
    "operator_effects",
    26,
    "one row per party, actor, action, reason and verdict",
    "whether resends and cancels helped",
    (
        text("party", "whose gateway"),
        text("actor", "who, where the journal names somebody"),
        text("action", "as in operator_actions"),
        text("reason", "why, in words"),
        text("verdict", "class of the message that it was about; null where it was about a pair"),
        text("standing", "what the class asks of people"),
        count("actions", "actions", "carried out"),
        count("messages", "messages", "that they were about"),
        instant("first_at", "first time"),
        instant("last_at", "last time"),
    ),
)
