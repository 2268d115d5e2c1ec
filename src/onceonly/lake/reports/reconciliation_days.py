"""Report 3: how many messages of each pair and day fell into each class."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import one_if
from onceonly.lake.reports.columns import utc_day
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    day,
    size,
    text,
)

DEFINITION: Final = Definition(
    "reconciliation",
    3,
    "one row per day, pair and verdict that has messages",
    "what both journals together say about each day's messages",
    (
        day("day", "of the submission; where the sender's journal lacks it, of the first row"),
        *PAIR_COLUMNS,
        text("verdict", "the class"),
        text("standing", "what the class asks of people"),
        count("messages", "messages", "in the class"),
        count("one_sided", "messages", "of them with one party's journal only"),
        size("payload_bytes", "size of their payloads"),
    ),
)


def table(judged: DataFrame) -> DataFrame:
    """The class matrix per day and pair."""
    size_bytes = F.coalesce("sent_bytes", "stored_bytes", F.lit(0))
    return (
        judged.withColumn("day", utc_day(F.coalesce("submitted_at", "first_at")))
        .groupBy("day", *PAIR, "verdict", "standing")
        .agg(
            F.count("*").alias("messages"),
            F.sum(one_if(~F.col("is_two_sided"))).alias("one_sided"),
            F.sum(size_bytes).alias("payload_bytes"),
        )
    )
