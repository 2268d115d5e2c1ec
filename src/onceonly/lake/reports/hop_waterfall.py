"""Report 18: where a message that passes intermediaries spends its time, and where it is lost.

A leg is the way between two neighbours, there and back. No clock sees it whole, but each neighbour
knows how long it waited for the acknowledgement of what it had sent or taken in: the leg between
them is the difference, whatever their clocks say. So the legs add up to the sender's turnaround.
What an intermediary holds is measured until its transmission to the next has ended, by which time
that one has gone on already; so it is told beside the legs, and not subtracted from them.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_overdue, is_true, one_if
from onceonly.lake.quantiles import Quantiles, mean, summed
from onceonly.lake.reports.columns import acknowledged
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
from onceonly.lake.verdicts import is_promised

DEFINITION: Final = Definition(
    "hop_waterfall",
    18,
    "one row per pair and stage on the way, in order; an intermediary has three",
    "how long each stage takes, by one clock each. The legs, there and back, add up to the "
    "turnaround; hold and ack hold last until the transmission onwards has ended, and lie within "
    "them. Only messages that reached an intermediary count; one that answers for itself has no "
    "legs",
    (
        *PAIR_COLUMNS,
        ordinal("step", "place in the waterfall"),
        text("stage", "queue, turnaround, leg, hold, ack hold, receive or hand over"),
        text("place", "the party whose clock it is; of a leg, the one that it leads to"),
        ordinal("hop", "number of the hop, of an intermediary"),
        count("entered", "messages", "that came to the stage"),
        count("left", "messages", "that were seen to leave it"),
        count(
            "lost",
            "messages",
            "that did not leave it, longer ago than the grace, as far as the journal tells that "
            "would show it",
        ),
        duration("p50_us", "median"),
        duration("p95_us", "19 of 20"),
        duration("mean_us", "mean"),
    ),
)


_OF_ENDS: Final = (
    *("submitted_at", "first_sent_at", "acked", "stored_at", "ack_sent_at", "handed_over_at"),
)
_OF_THE_WAY: Final = ("promised", "is_two_sided", "turnaround", "is_in_care", "chain")
_STEPS_PER_HOP: Final = 3
_RECEIVER_STEP: Final = 1_000
"""Greater than the number of every hop that a message may have."""


def ways(judged: DataFrame, journal: DataFrame, *also: str) -> DataFrame:
    """The way of each message that reached an intermediary, whatever time it is."""
    is_accepting = F.exists("chain", lambda at: at["mode"] == F.lit("accept"))
    return (
        judged.withColumns({"acked": acknowledged(), "promised": is_promised()})
        .withColumn("turnaround", F.col("acked") - F.col("first_sent_at"))
        .join(_chains(journal), list(KEY))
        .withColumn("is_in_care", is_accepting)
        .select(*PAIR, *_OF_ENDS, *_OF_THE_WAY, *also)
    )


def table(ways: DataFrame, *, as_of: int, grace_us: int, are_few: bool = False) -> DataFrame:
    """The stages of all `ways`; what entered one within `grace_us` of `as_of` is not lost yet.

    Both are in microseconds, `as_of` UTC. Whether the messages `are_few`: `quantiles.summed`.
    """
    is_lost = F.col("is_owed") & ~F.col("is_left")
    is_lost &= is_overdue(F.col("entered_at"), grace_us, as_of)
    stages = F.inline(F.concat(_at_the_ends(), _on_the_way(), _legs()))
    entered = ways.select(*PAIR, stages).where("entered_at IS NOT NULL")
    entered = entered.withColumn("is_lost", is_true(is_lost))
    # The number first: where it differs, no text is compared.
    by = ("step", *PAIR, "stage", "place", "hop")
    totals = summed(
        entered,
        by,
        [
            F.count("*").alias("entered"),
            F.sum(one_if(F.col("is_left"))).alias("left"),
            F.sum(one_if(F.col("is_lost"))).alias("lost"),
            mean(F.col("took_us")).alias("mean_us"),
        ],
        Quantiles("took_us", {"p50_us": 500, "p95_us": 950}),
        are_few=are_few,
    )
    return totals.select(*DEFINITION.names)


def _chains(journal: DataFrame) -> DataFrame:
    """The intermediaries of each message, in their order; instants and `waited` in microseconds."""
    instants = ("arrived_at", "forwarded_at", "acked_at", "answered_at")
    at = F.struct(
        *("hop", "party", "mode"),
        *[F.unix_micros(name).alias(name) for name in instants],
        (F.unix_micros("acked_at") - F.unix_micros("arrived_at")).alias("waited"),
    )
    chain = F.sort_array(F.collect_list(at))
    return hops.table(journal).groupBy(*KEY).agg(chain.alias("chain"))


def _stage(  # noqa: PLR0913 - because a stage is so many things
    step: Column,
    stage: str,
    place: Column,
    hop: Column,
    entered: Column,
    *,
    is_left: Column,
    took: Column,
    is_owed: Column,
) -> Column:
    return F.struct(
        step.cast("bigint").alias("step"),
        F.lit(stage).alias("stage"),
        place.alias("place"),
        hop.cast("bigint").alias("hop"),
        entered.alias("entered_at"),
        is_true(is_left).alias("is_left"),
        is_true(is_owed).alias("is_owed"),
        # A clock that was set back measures nothing.
        F.when(took >= F.lit(0), took).alias("took_us"),
    )


def _by_one_clock(
    step: Column, stage: str, place: Column, hop: Column, entered: Column, left: Column
) -> Column:
    is_left, is_owed = left.isNotNull(), F.lit(1) == F.lit(1)
    took = left - entered
    return _stage(step, stage, place, hop, entered, is_left=is_left, took=took, is_owed=is_owed)


def _at_the_ends() -> Column:
    sender, receiver, no_hop = F.col("from_party"), F.col("to_party"), F.lit(None)
    submitted, sent, acked, stored, answered, handed = map(F.col, _OF_ENDS)
    here, there = F.lit(1), F.lit(_RECEIVER_STEP)
    # Where nothing was promised nobody acknowledges.
    waits = F.array(
        _by_one_clock(here + 1, "turnaround", sender, no_hop, sent, acked),
        _by_one_clock(there + 1, "receive", receiver, no_hop, stored, answered),
    )
    return F.concat(
        F.array(
            _by_one_clock(here, "queue", sender, no_hop, submitted, sent),
            _by_one_clock(there + 2, "hand over", receiver, no_hop, stored, handed),
        ),
        F.filter(waits, lambda _: F.col("promised")),
    )


def _step(hop: Column) -> Column:
    return F.lit(_STEPS_PER_HOP) + hop * F.lit(_STEPS_PER_HOP)


def _on_the_way() -> Column:
    def of(at: Column) -> Column:
        step, place, hop, arrived = _step(at["hop"]), at["party"], at["hop"], at["arrived_at"]
        # Who owns the delivery answers for itself, as soon as it has stored the message.
        asked = F.when(at["mode"] == F.lit("accept"), arrived).otherwise(at["acked_at"])
        asked = F.when(F.col("promised"), asked)
        return F.array(
            _by_one_clock(step + 1, "hold", place, hop, arrived, at["forwarded_at"]),
            _by_one_clock(step + 2, "ack hold", place, hop, asked, at["answered_at"]),
        )

    return F.flatten(F.transform("chain", of))


def _legs() -> Column:
    """From neighbour to neighbour, where every one of them waits for the next."""

    def towards(at: Column, place: Column) -> Column:
        before = F.get("chain", place - 1)
        is_first = place == F.lit(0)
        waited = F.when(is_first, F.col("turnaround")).otherwise(before["waited"])
        entered = F.when(is_first, F.col("first_sent_at")).otherwise(before["forwarded_at"])
        arrived = at["arrived_at"].isNotNull()
        return _stage(
            _step(at["hop"]),
            "leg",
            at["party"],
            at["hop"],
            entered,
            is_left=arrived,
            took=waited - at["waited"],
            is_owed=arrived,
        )

    last = F.element_at("chain", -1)
    to_the_receiver = _stage(
        F.lit(_RECEIVER_STEP),
        "leg",
        F.col("to_party"),
        F.lit(None),
        last["forwarded_at"],
        is_left=F.coalesce("stored_at", "acked").isNotNull(),
        took=last["waited"],
        is_owed=F.col("is_two_sided"),
    )
    every = F.concat(F.transform("chain", towards), F.array(to_the_receiver))
    return F.filter(every, lambda _: ~F.col("is_in_care"))
