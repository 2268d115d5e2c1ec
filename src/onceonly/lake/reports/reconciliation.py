"""Report 3 in short: how many messages of each pair fell into each class."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.verdicts import CLASSES

PAIR: Final = ("from_party", "to_party")


def matrix(judged: DataFrame) -> DataFrame:
    """Messages per pair and verdict."""
    return (
        judged.groupBy(*PAIR, "verdict", "standing")
        .agg(F.count("*").alias("messages"))
        .orderBy(*PAIR, severity())
    )


def severity() -> Column:
    """The place of a row's verdict among the classes: the gravest first."""
    order = [F.when(F.col("verdict") == row.verdict.value, i) for i, row in enumerate(CLASSES)]
    return F.coalesce(*order)
