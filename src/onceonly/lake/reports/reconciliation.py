"""Report 3 in short: how many messages of each pair fell into each class."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import one_if
from onceonly.lake.verdicts import CLASSES, DIFFERENCES, is_header_unproven, is_unproven

PAIR: Final = ("from_party", "to_party")


def totals(judged: DataFrame) -> DataFrame:
    """Messages per verdict, and of how many the content or the header is not said by a side."""
    return judged.groupBy("verdict").agg(
        F.count("*").alias("messages"),
        F.sum(one_if(is_unproven())).alias("unproven"),
        F.sum(one_if(is_header_unproven())).alias("header_unproven"),
    )


def matrix(judged: DataFrame, pairs: int) -> DataFrame:
    """Messages per pair and verdict, of so many pairs: most differences first, then the busiest."""
    counted = judged.groupBy(*PAIR, "verdict", "standing").agg(F.count("*").alias("messages"))
    is_grave = F.col("verdict").isin([verdict.value for verdict in DIFFERENCES])
    weighed = counted.groupBy(*PAIR).agg(
        F.sum(F.when(is_grave, F.col("messages"))).alias("differing"),
        F.sum("messages").alias("messages"),
    )
    most = weighed.orderBy(F.desc_nulls_last("differing"), F.desc("messages"), *PAIR)
    chosen = most.limit(pairs).select(*[F.col(n).alias(f"of_{n}") for n in PAIR])
    # An orphan acknowledgement has no receiver, and is of a pair like any other.
    sender, receiver = [F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in PAIR]
    rows = counted.join(F.broadcast(chosen), sender & receiver, "left_semi")
    return rows.orderBy(*PAIR, severity())


def severity() -> Column:
    """The place of a row's verdict among the classes: the gravest first."""
    order = [F.when(F.col("verdict") == row.verdict.value, i) for i, row in enumerate(CLASSES)]
    return F.coalesce(*order)
