"""Report 3, row by row: every message in a class that somebody has to look at."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.reports.columns import acknowledged
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    count,
    instant,
    text,
)
from onceonly.lake.verdicts import DIFFERENCES

DEFINITION: Final = Definition(
    "differences",
    3,
    "one row per message in a class whose standing is alarm or doubt",
    "which messages differ between the parties, and the evidence of both on each",
    (
        *KEY_COLUMNS,
        text("verdict", "the class"),
        text("standing", "alarm or doubt"),
        text("differs", "what is told with different digests: payloads, header or both"),
        text("settled_as", "the word with which an operator ended a doubt"),
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


def table(judged: DataFrame) -> DataFrame:
    """The messages that differ; readers sort them."""
    wanted = [verdict.value for verdict in DIFFERENCES]
    return (
        judged.where(F.col("verdict").isin(wanted))
        .withColumns(
            {
                "submitted_at": F.timestamp_micros("submitted_at"),
                "last_sent_at": F.timestamp_micros("last_sent_at"),
                "stored_at": F.timestamp_micros("stored_at"),
                "acked_at": F.timestamp_micros(acknowledged()),
                "notified_at": F.timestamp_micros("notified_at"),
            }
        )
        .select(*DEFINITION.names)
    )
