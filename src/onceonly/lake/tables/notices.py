"""Every notice that an application was owed and got (invariants I22 to I24)."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_event
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    instant,
    ordinal,
    text,
)
from onceonly.message.event import Event

DEFINITION: Final = Definition(
    "notices",
    None,
    "one row per time that a gateway had to tell an application something",
    "what the application was told, and how sure the gateway was. A late acknowledgement of a "
    "message that stays cancelled or expired adds a row each time it comes; the notification "
    "inbox has one notice of them. Whether the application took it is not in the journal",
    (
        text("party", "whose application"),
        *KEY_COLUMNS,
        instant("told_at", "put into the notification inbox"),
        text("kind", "DeliveryFailure, AcknowledgedLate or NotProcessed"),
        text(
            "severity",
            "Error where certainly nothing was delivered, Warning where it may have been, or was",
        ),
        text("error_code", "code on the wire"),
        ordinal("seq", "number of its row in that journal"),
    ),
)


def table(journal: DataFrame, *also: str) -> DataFrame:
    """The notices in the journal."""
    return (
        journal.where(is_event(Event.NOTIFIED))
        .withColumns({"told_at": F.timestamp_micros("at"), "kind": F.col("reason")})
        .select(*DEFINITION.names, *also)
    )
