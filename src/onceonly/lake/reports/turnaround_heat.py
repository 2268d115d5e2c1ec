"""Report 6 as a heat map: turnaround by hour and weekday of the sending."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import US_PER_S
from onceonly.lake.quantiles import Quantiles, summed
from onceonly.lake.reports.columns import turnaround
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    duration,
    ordinal,
)

DEFINITION: Final = Definition(
    "turnaround_heat",
    6,
    "one row per pair, weekday and hour with acknowledged messages",
    "at which hours of the week acknowledgements are slow",
    (
        *PAIR_COLUMNS,
        ordinal("weekday", "1 is Monday, 7 Sunday, UTC"),
        ordinal("hour", "0 to 23, UTC"),
        count("messages", "messages", "first sent in that hour and acknowledged"),
        duration("p50_us", "median from the first transmission"),
        duration("p95_us", "19 of 20"),
    ),
)


_HOUR_US: Final = 3_600 * US_PER_S
_THURSDAY: Final = 3
"""Of 1970-01-01, counted from Monday 0."""


def table(judged: DataFrame, *, are_few: bool = False) -> DataFrame:
    """The hours of the week in which something that is acknowledged was sent, UTC.

    Whether the messages `are_few` is as in `quantiles.summed`.
    """
    hours = F.floor(F.col("first_sent_at") / _HOUR_US)
    days = F.floor(hours / 24)
    timed = (
        judged.withColumn("took_us", turnaround())
        .where(F.col("took_us").isNotNull())
        .withColumns(
            {
                "weekday": (F.pmod(days + _THURSDAY, F.lit(7)) + 1).cast("bigint"),
                "hour": F.pmod(hours, F.lit(24)).cast("bigint"),
            }
        )
    )
    return summed(
        timed,
        (*PAIR, "weekday", "hour"),
        [F.count("*").alias("messages")],
        Quantiles("took_us", {"p50_us": 500, "p95_us": 950}),
        are_few=are_few,
    )
