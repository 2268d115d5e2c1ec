"""Report 7, the scorecard: how many messages kept the target of their agreement."""

from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import US_PER_S, one_if
from onceonly.lake.quantiles import Quantiles, mean, summed
from onceonly.lake.reports.columns import (
    acknowledged,
    is_final,
    is_there,
    of,
    stands_acknowledged,
    utc_day,
)
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    day,
    duration,
    flag,
    share,
    text,
)
from onceonly.lake.verdicts import is_promised

DEFINITION: Final = Definition(
    "sla",
    7,
    "one row per pair, agreement and month of the submission",
    "met and missed, against a target that is given to the report: the journal knows neither "
    "targets nor penalties",
    (
        day("month", "first day of the month"),
        *PAIR_COLUMNS,
        text("agreement_id", "TPAId or CPAId"),
        count(
            "messages",
            "messages",
            "submitted in the month, for which an acknowledgement was agreed",
        ),
        duration("target_us", "longest time from submission to acknowledgement"),
        share("target_share", "how many have to keep it"),
        count("met", "messages", "acknowledged within the target, and not denied since"),
        count(
            "missed",
            "messages",
            "acknowledged later, failed, or still open although the target is over",
        ),
        count("pending", "messages", "open, with time left"),
        count("excused", "messages", "taken back by the sender, which counts for nothing"),
        share("met_share", "met of met and missed"),
        flag("is_kept", "met_share reaches target_share; null where nothing is decided yet"),
        duration("mean_us", "from submission to acknowledgement, mean"),
        duration("p95_us", "19 of 20"),
        duration("worst_us", "longest"),
    ),
)


class SlaTarget(NamedTuple):
    """What a scorecard is kept against. Durations in microseconds."""

    within_us: int = 86_400 * US_PER_S
    """Longest time from submission to acknowledgement."""
    share: float = 0.99
    """How many of the messages have to keep it."""


def table(judged: DataFrame, *, as_of: int, target: SlaTarget, are_few: bool = False) -> DataFrame:
    """The scorecard at `as_of` (µs UTC). Whether messages `are_few`: as in `quantiles.summed`."""
    took = acknowledged() - F.col("submitted_at")
    due = F.col("submitted_at") + F.lit(target.within_us)
    # What an intermediary acknowledged and could not deliver afterwards has met nothing.
    is_met = stands_acknowledged() & (took <= F.lit(target.within_us))
    is_taken_back = is_there("cancelled_at") & ~stands_acknowledged()
    is_over = stands_acknowledged() | is_final() | (due < F.lit(as_of))
    is_missed = ~is_met & ~is_taken_back & is_over
    rows = judged.where(is_promised() & is_there("submitted_at"))
    months = F.trunc(utc_day(F.col("submitted_at")), "month")
    fates = {
        "is_met": is_met,
        "is_missed": is_missed,
        "is_pending": ~is_met & ~is_taken_back & ~is_over,
        "is_excused": is_taken_back,
    }
    timed = rows.withColumns({"month": months, "took_us": F.when(took >= 0, took), **fates})
    met, missed, pending, excused = (F.sum(one_if(F.col(name))) for name in fates)
    by = ("month", *PAIR, "agreement_id")
    totals = summed(
        timed,
        by,
        [
            F.count("*").alias("messages"),
            F.lit(target.within_us).cast("bigint").alias("target_us"),
            F.lit(target.share).alias("target_share"),
            met.alias("met"),
            missed.alias("missed"),
            pending.alias("pending"),
            excused.alias("excused"),
            of(met, met + missed).alias("met_share"),
            mean(F.col("took_us")).alias("mean_us"),
            F.max("took_us").alias("worst_us"),
        ],
        Quantiles("took_us", {"p95_us": 950}),
        are_few=are_few,
    )
    kept = totals.withColumn("is_kept", F.col("met_share") >= F.col("target_share"))
    return kept.select(*DEFINITION.names)
