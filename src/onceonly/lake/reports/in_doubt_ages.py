"""Report 2 over time: how many messages were in doubt, and for how long."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import bin_start
from onceonly.lake.reports.columns import (
    AGE_CLASSES,
    OLDEST,
    is_there,
    stands_acknowledged,
)
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    instant,
    text,
)
from onceonly.lake.verdicts import is_promised, stands_settled

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


_FOR_EVER_US: Final = 1 << 61
"""An age that nothing reaches, and small enough to be added to."""
_CLASS: Final = ("age_bucket", "from_us", "below_us")


def table(judged: DataFrame, *, as_of: int, width_us: int) -> DataFrame:
    """Open doubts at the ends of bins of `width_us`, the last of which ends at `as_of` (µs UTC).

    A doubt ends with an acknowledgement, a final verdict or an operator's word; that somebody sends
    the message again does not end it. A message of which no byte ever left is not in doubt.
    """
    since = F.least("exhausted_at", "notified_at")
    acked = F.when(stands_acknowledged(), F.greatest("acked_at", "late_acked_at"))
    ends = ("failed_at", "expired_at", "cancelled_at")
    said = F.when(stands_settled(), F.col("settled_at"))
    settled = F.least(acked, said, *map(F.col, ends))
    is_certain = (F.col("notices_error") > 0) & (F.col("notices_warning") == 0)
    items = (
        judged.where(is_promised() & is_there("first_sent_at") & ~is_certain)
        .withColumns({"since": since, "until": settled})
        .where(F.col("since").isNotNull() & (F.col("since") <= F.lit(as_of)))
        .where(F.col("until").isNull() | (F.col("until") > F.col("since")))
    )
    last = as_of - as_of % width_us
    over = F.lit(last + width_us)

    def reached(at: Column) -> Column:
        """The first bin at whose end the instant has come, or the one after the last."""
        first = bin_start(at - F.lit(1), width_us)
        return F.coalesce(F.when(at <= F.lit(as_of), first), over)

    since = F.col("since")
    turns = items.select(*PAIR, "since", "until", F.inline(_classes()).alias(*_CLASS)).select(
        *PAIR,
        "age_bucket",
        F.greatest(bin_start(since, width_us), reached(since + F.col("from_us"))).alias("enters"),
        F.least(reached(since + F.col("below_us")), reached(F.col("until"))).alias("leaves"),
    )
    one, gone = F.lit(1), F.lit(-1)
    steps = F.array(
        F.struct(F.col("enters").alias("bin"), one.alias("messages")),
        F.struct(F.col("leaves").alias("bin"), gone.alias("messages")),
    )
    moves = (
        turns.where("enters < leaves")
        .select(*PAIR, "age_bucket", F.inline(steps))
        .groupBy(*PAIR, "age_bucket", "bin")
        .agg(F.sum("messages").alias("more"))
    )
    line = Window.partitionBy(*PAIR, "age_bucket").orderBy("bin")
    bins = F.sequence(F.col("bin"), F.col("next") - F.lit(width_us), F.lit(width_us).cast("bigint"))
    return (
        moves.withColumns({"messages": F.sum("more").over(line), "next": F.lead("bin").over(line)})
        .where("messages > 0")
        .withColumn("start", F.explode(bins))
        .withColumn("bin_at", F.timestamp_micros("start"))
        .select(*DEFINITION.names)
    )


def _classes() -> Column:
    """The age classes, as an array of `_CLASS`."""
    names = [*(word for _, word in AGE_CLASSES), OLDEST]
    limits = [F.lit(us).cast("bigint") for us in (0, *(us for us, _ in AGE_CLASSES), _FOR_EVER_US)]
    rows = zip(map(F.lit, names), limits, limits[1:], strict=False)
    return F.array(*[F.struct(*row) for row in rows])
