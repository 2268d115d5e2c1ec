"""Report 9: how many copies were eliminated, and why they came."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_true
from onceonly.lake.quantiles import Quantiles, summed
from onceonly.lake.reports.columns import is_there, utc_day
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    column,
    count,
    day,
    duration,
)

DEFINITION: Final = Definition(
    "duplicate_causes",
    9,
    "one row per pair and day of the receiver's store",
    "repeats per thousand messages, how late they were, and the likeliest causes, which add "
    "up to the repeats. Causes need both journals",
    (
        day("day", "on which the originals were stored"),
        *PAIR_COLUMNS,
        count("stored", "messages", "stored"),
        count("repeats", "copies", "of them eliminated"),
        column("per_thousand", "double", "copies", "eliminated per thousand messages stored"),
        count("doubled", "copies", "the network brought more than were sent"),
        count("by_resend", "copies", "somebody had the message sent again"),
        count("after_lost_ack", "copies", "an acknowledgement had left and never came"),
        count("after_slow_ack", "copies", "the acknowledgement was slower than the retry"),
        count("unexplained", "copies", "without the sender's journal"),
        count(
            "collisions",
            "arrivals",
            "with a known MessageId and another content: an alarm, no duplicate",
        ),
        duration("first_p50_us", "from the store to the first repeat, median"),
        duration("first_p95_us", "19 of 20"),
    ),
)


CAUSES: Final = {
    "doubled on the way": "doubled",
    "sent again on somebody's word": "by_resend",
    "acknowledgement lost": "after_lost_ack",
    "acknowledgement slow": "after_slow_ack",
    "no evidence of the sender": "unexplained",
}
"""Cause in words, to the column that counts it."""


def causes(judged: DataFrame) -> DataFrame:
    """The judged lifecycles with a count of eliminated copies for each cause; they add up."""
    zero = F.lit(0).cast("bigint")
    repeats = F.col("repeats")
    # After an intermediary that owns the delivery, copies and acknowledgements are its own.
    is_known = is_there("submitted_at") & is_true(F.col("custodies") == 0)
    surplus = F.greatest(repeats + 1 - F.col("transmissions"), zero)
    was_resumed = is_true(F.col("last_sent_at") > F.col("exhausted_at"))
    again = F.when(was_resumed, F.greatest(F.coalesce("starts", zero) - 1, zero)).otherwise(zero)
    lost = F.greatest(F.col("acks_sent") - F.col("acks_received"), zero)
    rest = repeats - F.col("doubled")
    return (
        judged.withColumn("unexplained", F.when(is_known, zero).otherwise(repeats))
        .withColumn("doubled", F.when(is_known, F.least(repeats, surplus)).otherwise(zero))
        .withColumn("by_resend", F.when(is_known, F.least(rest, again)).otherwise(zero))
        .withColumn(
            "after_lost_ack",
            F.when(is_known, F.least(rest - F.col("by_resend"), lost)).otherwise(zero),
        )
        .withColumn(
            "after_slow_ack",
            F.when(is_known, rest - F.col("by_resend") - F.col("after_lost_ack")).otherwise(zero),
        )
    )


def table(judged: DataFrame) -> DataFrame:
    """The duplicates per pair and day."""
    delay = F.col("first_repeat_at") - F.col("stored_at")
    stored = causes(judged.where(is_there("stored_at"))).withColumns(
        {"day": utc_day(F.col("stored_at")), "delay_us": F.when(delay >= 0, delay)}
    )
    by = ("day", *PAIR)
    totals = summed(
        stored,
        by,
        [
            F.count("*").alias("stored"),
            F.sum("repeats").alias("repeats"),
            (F.sum("repeats") * 1000 / F.count("*")).alias("per_thousand"),
            *[F.sum(name).alias(name) for name in CAUSES.values()],
            F.sum("collisions").alias("collisions"),
        ],
        Quantiles("delay_us", {"first_p50_us": 500, "first_p95_us": 950}),
        are_few=True,
    )
    return totals.select(*DEFINITION.names)
