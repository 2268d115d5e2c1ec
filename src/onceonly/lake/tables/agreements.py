"""Every agreement as it was used."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    flag,
    instant,
    text,
)

DEFINITION: Final = Definition(
    "agreements",
    None,
    "one row per party, agreement, pair, profile and semantics that messages went under",
    "from when to when an agreement was used in which form. The journal tells the use, not "
    "the text: what was agreed about times and retries is not in it",
    (
        text("party", "whose journal tells it"),
        text("agreement_id", "TPAId or CPAId"),
        *PAIR_COLUMNS,
        text("profile", "the wire form and its rules"),
        text("semantics", "the agreed delivery semantics"),
        flag("is_acknowledged", "false where the transport is to be reliable itself"),
        instant("valid_from_at", "first message"),
        instant("valid_until_at", "last message; null where no other form of it was used since"),
        count("messages", "messages", "submitted or stored under it"),
        flag("is_current", "no other form of the agreement was used since"),
    ),
)
