"""Every transmission that ended: the raw material of retry, availability and error reports."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_event
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import Definition
from onceonly.message.event import Event

DEFINITION: Final = Definition(
    "attempts",
    "one row per transmission of a message or an acknowledgement that ended",
    "what the transport knew about it: accepted, refused or unknown; none of them is a verdict",
)


def table(journal: DataFrame) -> DataFrame:
    """The transmissions in the journal."""
    return journal.where(is_event(Event.TRANSMITTED, Event.ACK_SENT)).select(
        *KEY,
        F.when(is_event(Event.TRANSMITTED), "message").otherwise("acknowledgement").alias("what"),
        F.timestamp_micros("at").alias("ended_at"),
        "attempt",
        "transport",
        "endpoint",
        "outcome",
        "status_code",
        "reason",
    )
