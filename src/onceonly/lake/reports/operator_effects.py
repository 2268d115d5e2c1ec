"""Report 26: what people asked for, and what became of those messages."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.schemas import KEY
from onceonly.lake.tables import operator_actions
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


def table(judged: DataFrame, journal: DataFrame) -> DataFrame:
    """The actions by what they led to."""
    verdicts = judged.select(*KEY, "verdict", "standing")
    return (
        operator_actions.table(journal)
        .join(verdicts, list(KEY), "left")
        .groupBy("party", "actor", "action", "reason", "verdict", "standing")
        .agg(
            F.count("*").alias("actions"),
            F.count_distinct("message_id").alias("messages"),
            F.min("at").alias("first_at"),
            F.max("at").alias("last_at"),
        )
        .select(*DEFINITION.names)
    )
