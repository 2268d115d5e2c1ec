"""Every acknowledgement, sent, passed on and received."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_event, is_passing, subject
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    flag,
    instant,
    ordinal,
    text,
)
from onceonly.message.event import Event

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


WHAT: Final = {
    Event.ACK_SENT: "sent",
    Event.ACK_RELAYED: "relayed",
    Event.ACK_RECEIVED: "received",
    Event.LATE_ACK_RECEIVED: "late",
    Event.REPEATED_ACK_RECEIVED: "repeated",
    Event.ORPHAN_ACK_RECEIVED: "orphan",
}
"""What each row says of an acknowledgement."""


def table(journal: DataFrame, *also: str) -> DataFrame:
    """The acknowledgements in the journal."""
    words = [F.when(is_event(event), F.lit(word)) for event, word in WHAT.items()]
    return (
        journal.where(is_event(*WHAT))
        .withColumns(
            {
                "message_id": subject(),
                "from_party": F.coalesce("from_party", "party"),
                "what": F.coalesce(*words),
                "at": F.timestamp_micros("at"),
                "is_intermediate": is_passing(),
            }
        )
        .select(*DEFINITION.names, *also)
    )
