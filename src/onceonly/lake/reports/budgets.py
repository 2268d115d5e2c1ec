"""Report 13: how late a failure may be known, against how long a message lives."""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import US_PER_S, one_if
from onceonly.lake.reports.columns import by_agreement, ended, is_there
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    duration,
    flag,
    ordinal,
    text,
)
from onceonly.lake.verdicts import is_promised
from onceonly.message.terms import DeliveryTerms

DEFINITION: Final = Definition(
    "budgets",
    13,
    "one row per agreement and pair that messages were submitted under",
    "the longest time to a verdict, set against TimeToLive and PersistDuration. The journal "
    "has no terms: those columns are null unless the agreements' terms are given",
    (
        text("agreement_id", "TPAId or CPAId"),
        *PAIR_COLUMNS,
        count("messages", "messages", "submitted"),
        count("open", "messages", "of them without a verdict"),
        ordinal("most_attempts", "greatest number of a transmission that was seen"),
        duration(
            "longest_verdict_us",
            "longest measured from the first transmission to acknowledgement, notice or end",
        ),
        duration("oldest_open_us", "age of the oldest message without a verdict"),
        duration("worst_case_us", "longest wait for a verdict that the terms allow (R-06)"),
        duration("time_to_live_us", "TimeToLive"),
        duration("persist_duration_us", "PersistDuration"),
        duration(
            "margin_us",
            "the shorter of the two less the worst case; below 0 a retry outlives its message",
        ),
        flag("is_at_risk", "the margin is below 0"),
    ),
)


Terms = Mapping[str, DeliveryTerms]
"""What was agreed, by agreement id; an agreement that is not in it is not known."""


def table(judged: DataFrame, *, as_of: int, terms: Terms) -> DataFrame:
    """The budgets at `as_of` (µs UTC) under `terms`."""
    is_open = is_promised() & ended().isNull()
    took = ended() - F.col("first_sent_at")
    age = F.lit(as_of) - F.col("submitted_at")
    return (
        judged.where(is_there("submitted_at"))
        .groupBy("agreement_id", *PAIR)
        .agg(
            F.count("*").alias("messages"),
            F.sum(one_if(is_open)).alias("open"),
            F.max("attempt_max").alias("most_attempts"),
            F.max(F.when(took >= F.lit(0), took)).alias("longest_verdict_us"),
            F.max(F.when(is_open, age)).alias("oldest_open_us"),
        )
        .withColumns(agreed(terms))
        .withColumn("margin_us", lifetime() - F.col("worst_case_us"))
        .withColumn("is_at_risk", F.col("margin_us") < F.lit(0))
        .select(*DEFINITION.names)
    )


def agreed(terms: Terms) -> dict[str, Column]:
    """The terms' durations as columns beside `agreement_id`, null where they are not known."""
    return {
        "worst_case_us": _durations({name: one.verdict_after_s for name, one in terms.items()}),
        "time_to_live_us": _durations({name: one.time_to_live_s for name, one in terms.items()}),
        "persist_duration_us": _durations(
            {name: one.persist_duration_s for name, one in terms.items()}
        ),
    }


def lifetime() -> Column:
    """The shorter of TimeToLive and PersistDuration."""
    return F.least("time_to_live_us", "persist_duration_us")


def _durations(seconds: Mapping[str, int | None]) -> Column:
    return by_agreement(
        {name: None if value is None else value * US_PER_S for name, value in seconds.items()}
    )
