"""Report 3 in short: how many messages of each pair fell into each class."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import one_if
from onceonly.lake.reports.columns import utc_day
from onceonly.lake.verdicts import CLASSES, DIFFERENCES, is_header_unproven, is_unproven

PAIR: Final = ("from_party", "to_party")


CLASS: Final = (*PAIR, "verdict", "standing")
_KEYS: Final = ("day", *CLASS)
SUMS: Final = ("messages", "one_sided", "payload_bytes", "unproven", "header_unproven")


def counts(judged: DataFrame, *also: str) -> DataFrame:
    """Messages per UTC day, pair and class: of how many what is not said, and their bytes.

    The day is that of the submission; where the sender's journal lacks it, of the first row.
    Counts of parts of the lives, in a union, are counts too: all that takes them adds them up.
    `also` are columns by which the lives are cut into parts.
    """
    size_bytes = F.coalesce("sent_bytes", "stored_bytes", F.lit(0))
    return (
        judged.withColumn("day", utc_day(F.coalesce("submitted_at", "first_at")))
        .groupBy(*_KEYS, *also)
        .agg(
            F.count("*").alias("messages"),
            F.sum(one_if(~F.col("is_two_sided"))).alias("one_sided"),
            F.sum(size_bytes).alias("payload_bytes"),
            F.sum(one_if(is_unproven())).alias("unproven"),
            F.sum(one_if(is_header_unproven())).alias("header_unproven"),
        )
    )


def added(counts: DataFrame) -> DataFrame:
    """The counts of parts of the lives, as those of the whole."""
    return counts.groupBy(*_KEYS).agg(*[F.sum(name).alias(name) for name in SUMS])


def totals(counts: DataFrame) -> DataFrame:
    """Messages per verdict, and of how many the content or the header is not said by a side."""
    names = ("messages", "unproven", "header_unproven")
    return counts.groupBy("verdict").agg(*[F.sum(name).alias(name) for name in names])


def matrix(counts: DataFrame, pairs: int) -> DataFrame:
    """Messages per pair and verdict, of so many pairs: most differences first, then the busiest."""
    counted = counts.groupBy(*PAIR, "verdict", "standing").agg(F.sum("messages").alias("messages"))
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
