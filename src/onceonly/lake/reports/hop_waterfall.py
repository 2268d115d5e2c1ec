"""Report 18: where a message that passes intermediaries spends its time, and where it is lost."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_true, one_if
from onceonly.lake.reports.columns import acknowledged, quantiles
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.schemas import KEY
from onceonly.lake.tables import hops
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    duration,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "hop_waterfall",
    18,
    "one row per pair and stage on the way, in order; an intermediary has two",
    "how long each stage takes, by one clock each: time on the wire is what is left of the "
    "sender's turnaround. Only messages that reached an intermediary count",
    (
        *PAIR_COLUMNS,
        ordinal("step", "place in the waterfall"),
        text("stage", "queue, turnaround, hold, ack hold, receive, hand over or wire"),
        text("place", "the party whose clock it is; null for the wire"),
        ordinal("hop", "number of the hop, of an intermediary"),
        count("entered", "messages", "that came to the stage"),
        count("left", "messages", "that were seen to leave it"),
        count("lost", "messages", "that did not leave it, longer ago than the grace"),
        duration("p50_us", "median"),
        duration("p95_us", "19 of 20"),
        duration("mean_us", "mean"),
    ),
)


_STEPS_PER_HOP: Final = 2
_RECEIVER_STEP: Final = 1_000
"""Behind every hop that a message may have."""


def table(judged: DataFrame, journal: DataFrame, *, as_of: int, grace_us: int) -> DataFrame:
    """The stages; what entered one within `grace_us` of `as_of` (µs UTC) is not lost yet."""
    passages = _passages(journal)
    held = passages.groupBy(*KEY).agg(
        # Null as soon as one of them is not known.
        F.when(F.count("*") == F.count("held"), F.sum("held")).alias("held"),
        F.max(F.col("mode") == F.lit("accept")).alias("is_in_care"),
    )
    ends = judged.join(held, list(KEY)).withColumn("acked", acknowledged())
    is_entered = F.col("entered_at").isNotNull()
    is_left = F.col("took_us").isNotNull()
    is_lost = is_entered & ~is_left & (F.col("entered_at") + F.lit(grace_us) < F.lit(as_of))
    return (
        ends.select(*PAIR, F.inline(_at_the_ends()))
        .unionByName(passages.select(*PAIR, F.inline(_on_the_way())))
        .groupBy(*PAIR, "step", "stage", "place", "hop")
        .agg(
            F.sum(one_if(is_entered)).alias("entered"),
            F.sum(one_if(is_left)).alias("left"),
            F.sum(one_if(is_lost)).alias("lost"),
            *quantiles(F.col("took_us"), {"p50_us": 0.5, "p95_us": 0.95}),
            F.avg("took_us").cast("bigint").alias("mean_us"),
        )
        .where(F.col("entered") > 0)
        .select(*DEFINITION.names)
    )


def _passages(journal: DataFrame) -> DataFrame:
    """The hops with instants in microseconds; `held` is what one adds to the turnaround."""
    instants = ("arrived_at", "forwarded_at", "acked_at", "answered_at")
    hold = F.col("forwarded_at") - F.col("arrived_at")
    ack_hold = F.col("answered_at") - F.col("acked_at")
    return (
        hops.table(journal)
        .withColumns({name: F.unix_micros(name) for name in instants})
        .withColumn("held", hold + ack_hold)
    )


def _stage(
    step: Column, stage: str, place: Column, hop: Column, entered: Column, left: Column
) -> Column:
    took = left - entered
    return F.struct(
        step.cast("bigint").alias("step"),
        F.lit(stage).alias("stage"),
        place.alias("place"),
        hop.cast("bigint").alias("hop"),
        entered.alias("entered_at"),
        F.when(took >= F.lit(0), took).alias("took_us"),
    )


def _at_the_ends() -> Column:
    sender, receiver, no_hop = F.col("from_party"), F.col("to_party"), F.lit(None)
    names = ("submitted_at", "first_sent_at", "acked", "stored_at", "ack_sent_at", "handed_over_at")
    submitted, sent, acked, stored, answered, handed = map(F.col, names)
    received = F.greatest(answered - stored, F.lit(0))
    wire = acked - sent - F.col("held") - received
    is_whole = is_true(~F.col("is_in_care")) & wire.isNotNull()
    return F.array_compact(
        F.array(
            _stage(F.lit(1), "queue", sender, no_hop, submitted, sent),
            _stage(F.lit(2), "turnaround", sender, no_hop, sent, acked),
            _stage(F.lit(_RECEIVER_STEP), "receive", receiver, no_hop, stored, answered),
            _stage(F.lit(_RECEIVER_STEP + 1), "hand over", receiver, no_hop, stored, handed),
            F.when(
                is_whole,
                _stage(
                    F.lit(_RECEIVER_STEP + 2),
                    "wire",
                    F.lit(None).cast("string"),
                    no_hop,
                    sent,
                    sent + wire,
                ),
            ),
        )
    )


def _on_the_way() -> Column:
    step = F.lit(_STEPS_PER_HOP + 1) + F.col("hop") * F.lit(_STEPS_PER_HOP)
    names = ("party", "hop", "arrived_at", "forwarded_at", "acked_at", "answered_at")
    place, hop, arrived, forwarded, acked, answered = map(F.col, names)
    in_care = F.col("mode") == F.lit("accept")
    # Who owns the delivery answers for itself, as soon as it has stored the message.
    asked = F.when(in_care, arrived).otherwise(acked)
    return F.array(
        _stage(step, "hold", place, hop, arrived, forwarded),
        _stage(step + 1, "ack hold", place, hop, asked, answered),
    )
