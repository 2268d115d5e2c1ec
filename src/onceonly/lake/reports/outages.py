"""Report 16 as a timeline: when a partner was up and when it was down."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import ROW_ORDER, is_event, one_if
from onceonly.lake.tables import attempts
from onceonly.lake.tables.definition import (
    Definition,
    count,
    duration,
    instant,
    text,
)
from onceonly.protocol.events import Outcome

DEFINITION: Final = Definition(
    "outages",
    16,
    "one row per party, peer and run of transmissions with the same result",
    "from when to when a partner could or could not be reached",
    (
        text("party", "who transmitted"),
        text("peer", "the partner, or of an intermediary's transmissions the address"),
        text("state", "up or down"),
        instant("from_at", "the first transmission of the run ended"),
        instant("until_at", "the first one of the next run ended; null for the last run"),
        duration(
            "length_us",
            "until then, or until the last transmission of the run where it is the last; "
            "never below 0",
        ),
        count("transmissions", "transmissions", "in the run"),
    ),
)


def runs(journal: DataFrame) -> DataFrame:
    """The runs, with `from_us`, `last_us`, `until_us` (µs UTC) and a count for each outcome."""
    line = Window.partitionBy("party", "peer").orderBy(*ROW_ORDER)
    so_far = line.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ended = journal.where(is_event(*attempts.WHAT) & F.col("outcome").isNotNull())
    is_up = F.col("outcome") == F.lit(Outcome.ACCEPTED.value)
    changes = F.coalesce(F.lag("is_up").over(line) != F.col("is_up"), F.lit(True))  # noqa: FBT003 - because a literal column has one argument
    grouped = (
        ended.withColumns({"peer": attempts.peer(), "is_up": is_up})
        .where(F.col("peer").isNotNull())
        .withColumn("changes", one_if(changes))
        .withColumn("run", F.sum("changes").over(so_far))
        .groupBy("party", "peer", "run", "is_up")
        .agg(
            F.min_by("at", F.struct(*ROW_ORDER)).alias("from_us"),
            F.max_by("at", F.struct(*ROW_ORDER)).alias("last_us"),
            F.count("*").alias("transmissions"),
            *[
                F.sum(one_if(F.col("outcome") == F.lit(outcome.value))).alias(outcome.value)
                for outcome in Outcome
            ],
        )
    )
    following = F.lead("from_us").over(Window.partitionBy("party", "peer").orderBy("run"))
    until = F.coalesce("until_us", "last_us")
    return grouped.withColumn("until_us", following).withColumn(
        "length_us", F.greatest(until - F.col("from_us"), F.lit(0))
    )


def table(journal: DataFrame) -> DataFrame:
    """The timeline."""
    return (
        runs(journal)
        .withColumns(
            {
                "state": F.when(F.col("is_up"), F.lit("up")).otherwise(F.lit("down")),
                "from_at": F.timestamp_micros("from_us"),
                "until_at": F.timestamp_micros("until_us"),
            }
        )
        .select(*DEFINITION.names)
    )
