"""Report 16: how much of the time a partner could be reached."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import one_if
from onceonly.lake.quantiles import mean
from onceonly.lake.reports.columns import of
from onceonly.lake.tables.definition import (
    Definition,
    count,
    duration,
    flag,
    share,
    text,
)
from onceonly.protocol.events import Outcome

DEFINITION: Final = Definition(
    "availability",
    16,
    "one row per party and peer that it transmitted to",
    "up and down time as the transmissions show it: down from a transmission that was not "
    "accepted until the next one that was. Nothing is known between transmissions, so a state"
    " lasts until the next one",
    (
        text("party", "who transmitted"),
        text("peer", "the partner, or of an intermediary's transmissions the address"),
        count("transmissions", "transmissions", "that ended"),
        count("accepted", "transmissions", "accepted"),
        count("refused", "transmissions", "refused"),
        count(
            "unknown",
            "transmissions",
            "whose outcome is not known: no answer in time, or a broken one",
        ),
        count("outages", "outages", "times down"),
        duration("up_us", "time up"),
        duration("down_us", "time down"),
        share("availability_share", "up of up and down"),
        duration("mtbf_us", "mean time up between outages; null without one"),
        duration("mttr_us", "mean length of the outages that ended"),
        duration("longest_outage_us", "longest"),
        flag("is_down", "the last transmission was not accepted"),
    ),
)


def table(runs: DataFrame) -> DataFrame:
    """The availability of every peer, of the `outages.runs` of a journal."""
    up, down = F.col("is_up"), ~F.col("is_up")
    is_over = down & F.col("until_us").isNotNull()

    def time(condition: Column) -> Column:
        # A clock that went to and fro for thousands of years measures nothing.
        return F.try_sum(F.when(condition, F.col("length_us")).otherwise(F.lit(0)))

    outages = F.sum(one_if(down))
    return (
        runs.groupBy("party", "peer")
        .agg(
            F.sum("transmissions").alias("transmissions"),
            *[F.sum(outcome.value).alias(outcome.value) for outcome in Outcome],
            outages.alias("outages"),
            time(up).alias("up_us"),
            time(down).alias("down_us"),
            F.when(outages > 0, (time(up) / outages).cast("bigint")).alias("mtbf_us"),
            mean(F.when(is_over, F.col("length_us"))).alias("mttr_us"),
            F.max(F.when(down, F.col("length_us"))).alias("longest_outage_us"),
            F.max_by(down, "run").alias("is_down"),
        )
        .withColumn("availability_share", of(F.col("up_us"), F.try_add("up_us", "down_us")))
        .select(*DEFINITION.names)
    )
