"""Every notice that an application was owed and got (invariants I22 to I24)."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_event
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import Definition
from onceonly.message.event import Event

DEFINITION: Final = Definition(
    "notices",
    "one row per notice in an application's notification inbox",
    "what the application was told, and how sure the gateway was",
)


def table(journal: DataFrame) -> DataFrame:
    """The notices in the journal."""
    return journal.where(is_event(Event.NOTIFIED)).select(
        *KEY,
        F.timestamp_micros("at").alias("told_at"),
        F.col("reason").alias("kind"),
        "severity",
        "error_code",
    )
