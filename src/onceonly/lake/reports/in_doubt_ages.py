"""Report 2 over time: how many messages were in doubt, and for how long."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import bin_start
from onceonly.lake.reports.columns import age_class, is_there, stands_acknowledged
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    instant,
    text,
)
from onceonly.lake.verdicts import is_promised

DEFINITION: Final = Definition(
    "in_doubt_ages",
    2,
    "one row per bin, pair and age class that has messages in doubt at the end of the bin",
    "whether doubts are settled or pile up",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        text("age_bucket", "age at the end of the bin, in classes"),
        count("messages", "messages", "in doubt at the end of the bin"),
    ),
)


def table(judged: DataFrame, *, as_of: int, width_us: int) -> DataFrame:
    """Open doubts at the ends of bins of `width_us`, the last of which ends at `as_of` (µs UTC).

    A doubt ends with an acknowledgement or a final verdict; that somebody sends the message again
    does not end it. What no byte ever left of is no doubt. Grows with doubts times the bins that
    each one lasts.
    """
    since = F.least("exhausted_at", "notified_at")
    acked = F.when(stands_acknowledged(), F.greatest("acked_at", "late_acked_at"))
    settled = F.least(acked, F.col("failed_at"), F.col("expired_at"), F.col("cancelled_at"))
    is_certain = (F.col("notices_error") > 0) & (F.col("notices_warning") == 0)
    items = (
        judged.where(is_promised() & is_there("first_sent_at") & ~is_certain)
        .withColumns({"since": since, "until": settled})
        .where(F.col("since").isNotNull() & (F.col("since") <= F.lit(as_of)))
        .where(F.col("until").isNull() | (F.col("until") > F.col("since")))
    )
    first = bin_start(F.col("since"), width_us)
    last = bin_start(F.least(F.coalesce("until", F.lit(as_of)), F.lit(as_of)), width_us)
    starts = F.sequence(first, last, F.lit(width_us).cast("bigint"))
    end = F.least(F.col("start") + F.lit(width_us), F.lit(as_of))
    is_open = F.col("until").isNull() | (F.col("until") > F.col("end"))
    return (
        items.withColumn("start", F.explode(starts))
        .withColumn("end", end)
        .where(is_open)
        .withColumns(
            {
                "bin_at": F.timestamp_micros("start"),
                "age_bucket": age_class(F.col("end") - F.col("since")),
            }
        )
        .groupBy("bin_at", *PAIR, "age_bucket")
        .agg(F.count("*").alias("messages"))
    )
