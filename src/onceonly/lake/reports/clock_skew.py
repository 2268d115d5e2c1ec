"""Report 19: how far the receiver's wall clock is ahead of the sender's."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import bin_start
from onceonly.lake.quantiles import Quantiles, summed
from onceonly.lake.reports.columns import acknowledged
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    column,
    count,
    duration,
    flag,
    instant,
)

DEFINITION: Final = Definition(
    "clock_skew",
    19,
    "one row per bin of the first transmission and pair, from messages that both journals "
    "tell whole and that were sent once",
    "a store lies between the first transmission and its acknowledgement, so every message "
    "bounds the difference from both sides; the bin's bounds are the tightest of them",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        count("messages", "messages", "that bound it"),
        duration("lower_us", "the receiver's clock is ahead by at least this"),
        duration("upper_us", "and by at most this"),
        duration("skew_us", "the middle of the two"),
        duration(
            "median_us",
            "median of the messages' own middles: half-differences of the stamps",
        ),
        flag(
            "is_consistent",
            "the bounds do not cross; else a clock was set or drifted within the bin",
        ),
        flag("is_within_accuracy", "some difference within mshTimeAccuracy is possible"),
        column(
            "drift_ppm",
            "double",
            "parts per million",
            "change of the middle since the pair's bin before",
        ),
    ),
)


_PPM: Final = 1_000_000


def table(judged: DataFrame, *, width_us: int, accuracy_us: int) -> DataFrame:
    """The bounds in bins of `width_us`, held against `accuracy_us` (mshTimeAccuracy).

    A message that an intermediary acknowledged itself gives no bound: its acknowledgement may come
    before the store. A message that was sent again gives only a wide bound, whose middle is half of
    its waiting time.
    """
    after, until = F.col("stored_at") - F.col("first_sent_at"), F.col("stored_at") - F.col("acked")
    bounded = judged.withColumn("acked", acknowledged()).where(
        F.col("acked").isNotNull()
        & F.col("first_sent_at").isNotNull()
        & F.col("stored_at").isNotNull()
        & (F.col("custodies") == 0)
        & (F.col("transmissions") == 1)
    )
    pair = Window.partitionBy(*PAIR).orderBy("bin")
    change = F.col("skew_us") - F.lag("skew_us").over(pair)
    passed = F.col("bin") - F.lag("bin").over(pair)
    accuracy = F.lit(accuracy_us)
    bounds = bounded.withColumns(
        {
            "bin": bin_start(F.col("first_sent_at"), width_us),
            "upper": after,
            "lower": until,
            "middle": F.floor((after + until) / 2),
        }
    )
    totals = summed(
        bounds,
        ("bin", *PAIR),
        [
            F.count("*").alias("messages"),
            F.max("lower").alias("lower_us"),
            F.min("upper").alias("upper_us"),
        ],
        Quantiles("middle", {"median_us": 500}),
        are_few=True,
    )
    return (
        totals.withColumn("skew_us", F.floor((F.col("lower_us") + F.col("upper_us")) / 2))
        .withColumns(
            {
                "bin_at": F.timestamp_micros("bin"),
                "is_consistent": F.col("lower_us") <= F.col("upper_us"),
                "is_within_accuracy": (F.col("lower_us") <= accuracy)
                & (F.col("upper_us") >= -accuracy),
                "drift_ppm": change / passed * _PPM,
            }
        )
        .select(*DEFINITION.names)
    )
