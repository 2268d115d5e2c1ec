"""Every acknowledgement, sent, passed on and received."""

from typing import Final

from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    flag,
    instant,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "acks",
    None,
    "one row per acknowledgement that left, was passed on, or came",
    "which acknowledgements there were of a message, on either side and on the way; an orphan"
    " names a message that its sender does not know",
    (
        text("party", "who sent, relayed or received it"),
        *KEY_COLUMNS,
        text("what", "sent, relayed, received, late, repeated or orphan"),
        instant("at", "when"),
        ordinal("attempt", "the transmission that was under way when it came"),
        text("outcome", "how its own transmission ended, where it was sent or relayed"),
        flag("is_intermediate", "an intermediary wrote the row"),
        text("reason", "what stands beside it, in words"),
        ordinal("seq", "number of its row in that journal"),
    ),
)
