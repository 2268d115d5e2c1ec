"""Report 16 as a timeline: when a partner was up and when it was down."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, GroupedData, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import ROW_ORDER, always, is_event, one_if
from onceonly.lake.stretches import STRETCH, stretch
from onceonly.lake.tables import attempts
from onceonly.lake.tables.definition import (
    Definition,
    count,
    duration,
    instant,
    text,
)
from onceonly.protocol.events import Outcome

DEFINITION: Final = Definition(
    "outages",
    16,
    "one row per party, peer and run of transmissions with the same result",
    "from when to when a partner could or could not be reached",
    (
        text("party", "who transmitted"),
        text("peer", "the partner, or of an intermediary's transmissions the address"),
        text("state", "up or down"),
        instant("from_at", "the first transmission of the run ended"),
        instant("until_at", "the first one of the next run ended; null for the last run"),
        duration(
            "length_us",
            "until then, or until the last transmission of the run where it is the last; "
            "never below 0",
        ),
        count("transmissions", "transmissions", "in the run"),
    ),
)


_PEER: Final = ("party", "peer")


def runs_within(journal: DataFrame, *, stretch_rows: int) -> DataFrame:
    """The runs within each stretch (`STRETCH`) of the journals: what `runs` is made of."""
    is_up = F.col("outcome") == F.lit(Outcome.ACCEPTED.value)
    ended = (
        journal.where(is_event(*attempts.WHAT) & F.col("outcome").isNotNull())
        .withColumns({"peer": attempts.peer(), "is_up": is_up})
        .where(F.col("peer").isNotNull())
        .withColumn(STRETCH, stretch("seq", stretch_rows))
    )
    counts = {one.value: one_if(F.col("outcome") == F.lit(one.value)) for one in Outcome}
    # A peer may be nearly all of a journal, and its order one task's. Runs within stretches of
    # the journal are few, and are joined where one goes on in the next stretch.
    within = _in_runs(ended, (*_PEER, STRETCH), ROW_ORDER).agg(
        F.min_by("at", "place").alias("from_us"),
        F.max_by("at", "place").alias("last_us"),
        F.count("*").alias("transmissions"),
        *[F.sum(one).alias(name) for name, one in counts.items()],
    )
    return within.withColumnRenamed("run", "part")


def runs(within: DataFrame) -> DataFrame:
    """The runs, with `from_us`, `last_us`, `until_us` (µs UTC) and a count for each outcome.

    `within` is what `runs_within` gives of every stretch.
    """
    sums = ("transmissions", *[one.value for one in Outcome])
    grouped = _in_runs(within, _PEER, (STRETCH, "part")).agg(
        F.min_by("from_us", "place").alias("from_us"),
        F.max_by("last_us", "place").alias("last_us"),
        *[F.sum(name).alias(name) for name in sums],
    )
    following = F.lead("from_us").over(Window.partitionBy(*_PEER).orderBy("run"))
    until = F.coalesce("until_us", "last_us")
    return grouped.withColumn("until_us", following).withColumn(
        "length_us", F.greatest(until - F.col("from_us"), F.lit(0))
    )


def _in_runs(rows: DataFrame, line: Sequence[str], order: Sequence[str]) -> GroupedData:
    """The rows of a line, grouped into runs (`run`, numbered) in which all have one `is_up`.

    `place` numbers the rows in their order: one number, since Spark would sort once more for a
    least row of several columns.
    """
    in_order = Window.partitionBy(*line).orderBy(*order)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    changes = F.coalesce(F.lag("is_up").over(in_order) != F.col("is_up"), always())
    numbered = rows.withColumn("changes", one_if(changes)).withColumns(
        {"run": F.sum("changes").over(so_far), "place": F.row_number().over(in_order)}
    )
    return numbered.groupBy(*line, "run", "is_up")


def table(runs: DataFrame) -> DataFrame:
    """The timeline, of the `runs` of a journal."""
    return runs.withColumns(
        {
            "state": F.when(F.col("is_up"), F.lit("up")).otherwise(F.lit("down")),
            "from_at": F.timestamp_micros("from_us"),
            "until_at": F.timestamp_micros("until_us"),
        }
    ).select(*DEFINITION.names)
