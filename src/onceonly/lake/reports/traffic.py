"""Reports 5, 6, 8 and 14: how the exchange went, from first copy to acknowledgement.

All counts are of messages, in bins of their *send* time, so that every bin is complete as soon as
its messages have a verdict.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import bin_start, is_event, one_if, seconds
from onceonly.lake.reports.duplicate_causes import CAUSES
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.message.event import Event

CURVE_POINTS: Final = 100
"""Steps of the distribution curve: one per cent each."""
_ACCURACY: Final = 10_000
_PERCENTILES: Final = {"p50_s": 0.5, "p90_s": 0.9, "p95_s": 0.95, "p99_s": 0.99, "worst_s": 1.0}


def _acknowledged() -> Column:
    return F.least("acked_at", "late_acked_at")


def promise(judged: DataFrame, *, width_us: int) -> DataFrame:
    """Report 5, per bin: messages sent, acknowledged, handed over, and copies eliminated."""
    return (
        judged.where(F.col("first_sent_at").isNotNull())
        .withColumn("bin_at", bin_start(F.col("first_sent_at"), width_us))
        .groupBy("bin_at")
        .agg(
            F.count("*").alias("sent"),
            F.sum(one_if(_acknowledged().isNotNull())).alias("acknowledged"),
            F.sum(one_if(F.col("hand_overs") > 0)).alias("handed_over"),
            F.sum("repeats").alias("eliminated"),
        )
        .orderBy("bin_at")
    )


def _turnaround() -> Column:
    return seconds(_acknowledged() - F.col("first_sent_at"))


def turnaround(judged: DataFrame) -> DataFrame:
    """Report 6, per pair: seconds from the first transmission to the acknowledgement.

    `curve_s` has the `CURVE_POINTS` + 1 percentiles from 0 to 100.
    """
    points = [step / CURVE_POINTS for step in range(CURVE_POINTS + 1)]
    named = [
        F.percentile_approx("turnaround_s", share, _ACCURACY).alias(name)
        for name, share in _PERCENTILES.items()
    ]
    return (
        judged.withColumn("turnaround_s", _turnaround())
        .where(F.col("turnaround_s").isNotNull())
        .groupBy(*PAIR)
        .agg(
            F.count("*").alias("messages"),
            *named,
            F.percentile_approx("turnaround_s", points, _ACCURACY).alias("curve_s"),
        )
        .orderBy(*PAIR)
    )


def retries(judged: DataFrame) -> DataFrame:
    """Report 8: messages by the number of transmissions that they took, and how they ended."""
    return (
        judged.where(F.col("transmissions") > 0)
        .groupBy("transmissions")
        .agg(
            F.count("*").alias("messages"),
            F.sum(one_if(_acknowledged().isNotNull())).alias("acknowledged"),
        )
        .orderBy("transmissions")
    )


def outcomes(judged: DataFrame) -> DataFrame:
    """Per pair: how transmissions ended; `cut_off` are those that a crash kept from ending."""
    ended = ("sends_accepted", "sends_refused", "sends_unknown")
    sums = [F.sum(name).alias(name) for name in (*ended, "transmissions", "repeats")]
    rest = F.col("transmissions") - F.col(ended[0]) - F.col(ended[1]) - F.col(ended[2])
    return (
        judged.groupBy(*PAIR)
        .agg(*sums)
        .withColumn("cut_off", F.greatest(rest, F.lit(0)))
        .orderBy(*PAIR)
    )


def volume(journal: DataFrame) -> DataFrame:
    """Report 14: messages and bytes by pair, Service and Action, as submitted."""
    return (
        journal.where(is_event(Event.SUBMITTED))
        .groupBy(*PAIR, "service", "action")
        .agg(
            F.count("*").alias("messages"),
            F.sum("size_bytes").alias("bytes"),
            F.percentile_approx("size_bytes", 0.5, _ACCURACY).alias("median_bytes"),
            F.max("size_bytes").alias("largest_bytes"),
        )
        .orderBy(*PAIR, "service", "action")
    )


def duplicate_causes(duplicates: DataFrame) -> DataFrame:
    """Report 9, per pair: eliminated copies by cause (`duplicate_causes.causes`)."""
    sums = [F.sum(name).alias(name) for name in CAUSES.values()]
    return duplicates.groupBy(*PAIR).agg(*sums).orderBy(*PAIR)
