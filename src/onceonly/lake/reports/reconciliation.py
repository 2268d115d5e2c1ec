"""Report 3: how many messages of each pair fell into each class, and which ones differ."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.schemas import KEY
from onceonly.lake.verdicts import CLASSES, DIFFERENCES

PAIR: Final = ("from_party", "to_party")


def matrix(judged: DataFrame) -> DataFrame:
    """Messages per pair and verdict."""
    return (
        judged.groupBy(*PAIR, "verdict", "standing")
        .agg(F.count("*").alias("messages"))
        .orderBy(*PAIR, _severity())
    )


def differences(judged: DataFrame) -> DataFrame:
    """Every message in a class that somebody has to look at, the gravest first."""
    wanted = [verdict.value for verdict in DIFFERENCES]
    return (
        judged.where(F.col("verdict").isin(wanted))
        .select(
            *KEY,
            "verdict",
            "standing",
            "submitted_at",
            "last_sent_at",
            "transmissions",
            "stored_at",
            F.least("acked_at", "late_acked_at").alias("acked_at"),
            "notified_at",
            "hand_overs",
            "collisions",
        )
        .orderBy(_severity(), *KEY)
    )


def _severity() -> Column:
    order = [F.when(F.col("verdict") == row.verdict.value, i) for i, row in enumerate(CLASSES)]
    return F.coalesce(*order)
