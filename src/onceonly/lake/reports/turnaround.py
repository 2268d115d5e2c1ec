"""Report 6, acknowledgement turnaround: how long a pair waits for its acknowledgements."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import never, one_if
from onceonly.lake.quantiles import Quantiles, summed
from onceonly.lake.reports.columns import (
    acknowledged,
    is_acknowledged,
    is_there,
    of,
    turnaround,
)
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    column,
    count,
    duration,
    share,
)
from onceonly.lake.verdicts import is_promised

DEFINITION: Final = Definition(
    "turnaround",
    6,
    "one row per pair that sent messages for which acknowledgements were agreed",
    "quantiles of the time to the acknowledgement, from the first and from the last "
    "transmission, by the sender's own wall clock",
    (
        *PAIR_COLUMNS,
        count("messages", "messages", "sent"),
        count("acknowledged", "messages", "of them acknowledged, in time or late"),
        count(
            "untimed",
            "messages",
            "acknowledged before they were sent: the clock was set back; in no quantile",
        ),
        duration("p50_us", "median from the first transmission"),
        duration("p90_us", "9 of 10 from the first transmission"),
        duration("p95_us", "19 of 20 from the first transmission"),
        duration("p99_us", "99 of 100 from the first transmission"),
        duration("worst_us", "longest from the first transmission"),
        duration("last_p50_us", "median from the last transmission before the judgement"),
        duration("last_p95_us", "19 of 20 from the last transmission"),
        duration(
            "timeout_us",
            "limit that the next column is about, for every pair alike: the Timeout that all the "
            "given agreements have; null where none is given or they differ",
        ),
        share(
            "over_timeout_share",
            "of what was sent, not acknowledged within that limit; what is younger counts"
            " for nothing",
        ),
        column(
            "curve_us",
            "array<bigint>",
            "µs",
            "percentiles 0 to 100 from the first transmission",
        ),
    ),
)


_QUANTILES: Final = {"p50_us": 500, "p90_us": 900, "p95_us": 950, "p99_us": 990}


def table(
    judged: DataFrame, *, as_of: int, timeout_us: int | None = None, are_few: bool = False
) -> DataFrame:
    """The quantiles per pair at `as_of` (µs UTC), and the share over `timeout_us` where given.

    Whether the messages `are_few` is as in `quantiles.summed`.
    """
    since_last = F.col("acked_us") - F.col("last_sent_at")
    sent = (
        judged.where(is_promised() & is_there("first_sent_at"))
        .withColumns({"acked_us": acknowledged(), "took_us": turnaround()})
        .withColumn("since_last_us", F.when(since_last >= 0, since_last))
    )
    late, decided = _over(as_of, timeout_us)
    told = {"is_acknowledged": is_acknowledged(), "is_late": late, "is_decided": decided}
    totals = summed(
        sent.withColumns(told),
        PAIR,
        [
            F.count("*").alias("messages"),
            F.sum(one_if(F.col("is_acknowledged"))).alias("acknowledged"),
            F.sum(one_if(F.col("is_acknowledged") & ~is_there("took_us"))).alias("untimed"),
            F.max("took_us").alias("worst_us"),
            F.lit(timeout_us).cast("bigint").alias("timeout_us"),
            of(F.sum(one_if(F.col("is_late"))), F.sum(one_if(F.col("is_decided")))).alias(
                "over_timeout_share"
            ),
        ],
        Quantiles("took_us", _QUANTILES, "curve_us"),
        Quantiles("since_last_us", {"last_p50_us": 500, "last_p95_us": 950}),
        are_few=are_few,
    )
    return totals.select(*DEFINITION.names)


def _over(as_of: int, timeout_us: int | None) -> tuple[Column, Column]:
    """Whether the message was not acknowledged within the limit, and whether that is decided."""
    if timeout_us is None:
        return never(), never()
    limit = F.col("first_sent_at") + F.lit(timeout_us)
    is_late = F.coalesce(F.col("acked_us") > limit, limit < F.lit(as_of))
    return is_late, is_late | is_acknowledged()
