"""What people and programs outside the gateways asked for."""

from typing import Final

from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    instant,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "operator_actions",
    None,
    "one row per journal row that tells of somebody's word",
    "suspensions, resumes, resends, cancels and whatever else names who asked for it. Today's"
    " gateways name no person: actor is then null, and the words tell that an operator it was",
    (
        text("party", "whose gateway"),
        instant("at", "when it was carried out"),
        text("actor", "who, where the journal names somebody"),
        text("action", "suspend, resume, resend, cancel, or the event in the journal's word"),
        *KEY_COLUMNS,
        text("reason", "why, in words"),
        ordinal("seq", "number of its row in that journal"),
    ),
)
