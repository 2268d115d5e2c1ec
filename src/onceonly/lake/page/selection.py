"""What of a report fits on a page: pure functions from frames to smaller frames.

A page has room for some pairs and some hundred rows, whatever the size of the lake. Sums over pairs
are made here only of what may be added up; what may not (quantiles) is asked of the report again,
over a lifecycle in which all pairs are one.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from pyspark.sql.types import TimestampType

from onceonly.lake.expressions import any_of, is_true, least_of
from onceonly.lake.page.findings import CONTENT_UNPROVEN, HEADER_UNPROVEN, Due, Value
from onceonly.lake.reports.reconciliation import PAIR, severity
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import Definition
from onceonly.lake.verdicts import DIFFERENCES, is_header_unproven, is_unproven

OF_A_CAUSE: Final = 3
"""Messages that stand for a cause by name."""
ALL_PAIRS: Final = "all"
"""Stands for both parties where all pairs are taken as one."""


def as_one_pair(frame: DataFrame) -> DataFrame:
    """The frame as if all pairs were one; MessageIds are then no keys any more."""
    return frame.withColumns({name: F.lit(ALL_PAIRS) for name in PAIR})


def plain(frame: DataFrame) -> DataFrame:
    """The frame with microseconds UTC instead of timestamps.

    A driver would read those in the time zone of its machine.
    """
    instants = [one.name for one in frame.schema.fields if isinstance(one.dataType, TimestampType)]
    return frame.withColumns({name: F.unix_micros(name) for name in instants})


def of_pairs(frame: DataFrame, pairs: Sequence[tuple[str | None, str | None]]) -> DataFrame:
    """The rows of these pairs."""
    wanted = [
        F.col("from_party").eqNullSafe(F.lit(sender))
        & F.col("to_party").eqNullSafe(F.lit(receiver))
        for sender, receiver in pairs
    ]
    return frame.where(reduce(Column.__or__, wanted)) if wanted else frame.limit(0)


def summed(frame: DataFrame, of: Definition, by: Sequence[str]) -> DataFrame:
    """Counts and sizes added up over everything but `by`; of the largest the largest.

    The columns stay as they are declared; those that cannot be added up are null.
    """
    sums = {name: F.sum(name) for name in of.names if _adds_up(of, name)}
    sums |= {name: F.max(name) for name in of.names if name.startswith(_EXTREMES)}
    sums = {name: value for name, value in sums.items() if name not in by}
    grouped = frame.groupBy(*by).agg(*[value.alias(name) for name, value in sums.items()])
    kept = {*by, *sums}
    columns = [
        F.col(one.name) if one.name in kept else F.lit(None).cast(one.type).alias(one.name)
        for one in of.columns
    ]
    return grouped.select(*columns)


def over_all_pairs(frame: DataFrame, of: Definition, by: Sequence[str]) -> DataFrame:
    """A table of pairs as one of all of them, `ALL_PAIRS` in the place of both parties.

    What `summed` gives, with shares made of the sums.
    """
    return _shared(summed(frame, of, by)).withColumns({name: F.lit(ALL_PAIRS) for name in PAIR})


def rebinned(frame: DataFrame, of: Definition, width_us: int) -> DataFrame:
    """The table in wider bins, whose width is so many of its own; only of what adds up."""
    start = F.unix_micros("bin_at")
    wider = frame.withColumn("bin_at", F.timestamp_micros(start - F.pmod(start, F.lit(width_us))))
    by = [one.name for one in of.columns if one.type not in ("bigint", "double")]
    return _shared(summed(wider, of, by))


_SHARES: Final = {
    "completeness_share": ("acknowledged", "sent"),
    "effectiveness_share": ("acknowledged", "reached"),
}
"""What is a part of what."""


def _shared(sums: DataFrame) -> DataFrame:
    shares = {name: F.try_divide(*parts) for name, parts in _SHARES.items() if name in sums.columns}
    return sums.withColumns(shares) if shares else sums


def _adds_up(of: Definition, name: str) -> bool:
    [column] = [one for one in of.columns if one.name == name]
    is_sum = column.type == "bigint" and column.unit not in ("", "µs")
    return is_sum and not name.startswith((*_EXTREMES, "p50", "p95"))


_EXTREMES: Final = ("largest", "longest", "oldest")
"""How the name of a column begins, of which the greatest counts."""


def gravest_first(differences: DataFrame) -> DataFrame:
    """The differences in the order of the classes; but before all others a few of each cause.

    So whoever takes the first ones meets every cause, however many messages the gravest one has.
    """
    cause = Window.partitionBy("verdict", *_TOLD_APART).orderBy(*KEY)
    placed = differences.withColumn("place", F.row_number().over(cause))
    is_behind = F.col("place") > F.lit(OF_A_CAUSE)
    return placed.orderBy(is_behind, severity(), *PAIR, "message_id").drop("place")


def causes(judged: DataFrame) -> DataFrame:
    """Messages that differ, or are not proven, by what they have in common.

    One row per cause, differs and settled_as: `messages`, and `examples`, the first
    `OF_A_CAUSE` MessageIds. A cause is a class of alarm or doubt, `CONTENT_UNPROVEN` or
    `HEADER_UNPROVEN`; a message may be of several.
    """
    differs = F.col("verdict").isin([verdict.value for verdict in DIFFERENCES])
    every = F.array(
        F.when(differs, F.col("verdict")),
        F.when(is_unproven(), F.lit(CONTENT_UNPROVEN)),
        F.when(is_header_unproven(), F.lit(HEADER_UNPROVEN)),
    )
    told = judged.select(*KEY, F.explode(F.array_compact(every)).alias("cause"), *_TOLD_APART)
    is_class = ~F.col("cause").isin(CONTENT_UNPROVEN, HEADER_UNPROVEN)
    apart = told.withColumns({name: F.when(is_class, F.col(name)) for name in _TOLD_APART})
    return apart.groupBy("cause", *_TOLD_APART).agg(
        F.count("*").alias("messages"),
        least_of(F.struct(*KEY), OF_A_CAUSE).getField("message_id").alias("examples"),
    )


_TOLD_APART: Final = ("differs", "settled_as")


def of_those(frame: DataFrame, chosen: DataFrame, key: Sequence[str]) -> DataFrame:
    """The rows of `frame` whose key is one of the few in `chosen`."""
    return frame.join(F.broadcast(chosen.select(*key).distinct()), list(key), "left_semi")


def due_first(frame: DataFrame, due: Sequence[Due], *by: Column | str) -> DataFrame:
    """The rows that ask somebody to act before all others, whatever order `by` they have else.

    Whoever takes the first ones has what is due, however much there is of the rest.
    """
    asking = dict.fromkeys(one.where for one in due)
    return frame.orderBy(*[F.desc(_asks(where)) for where in asking], *by)


def counted(due: Due) -> Column:
    """An aggregate: `Due.number` of the rows."""
    asks = _asks(due.where)
    if due.adds:
        return F.coalesce(F.sum(F.when(asks, F.col(due.adds))), F.lit(0))
    if due.each:
        return F.count_distinct(F.when(asks, F.struct(*due.each)))
    return F.count_if(asks)


def _asks(where: tuple[tuple[str, tuple[Value, ...]], ...]) -> Column:
    return reduce(Column.__and__, [_is_one(name, values) for name, values in where])


def _is_one(name: str, values: tuple[Value, ...]) -> Column:
    if not values:
        return is_true(F.col(name) > F.lit(0))
    return any_of(*[F.col(name).eqNullSafe(F.lit(value)) for value in values])


def farthest_first(clocks: DataFrame) -> DataFrame:
    """Pair after pair, those whose clocks are farthest apart first: surely so, then by the middle.

    A pair with a bin outside the agreed accuracy comes before all that have none.
    """
    pair = Window.partitionBy(*PAIR)
    surely = F.greatest(F.col("lower_us"), -F.col("upper_us"), F.lit(0))
    reaches = {
        "is_inside": F.min("is_within_accuracy").over(pair),
        "surely": F.max(surely).over(pair),
        "reach": F.max(F.abs("skew_us")).over(pair),
    }
    ordered = ("is_inside", F.desc("surely"), F.desc("reach"), *PAIR, "bin_at")
    return clocks.withColumns(reaches).orderBy(*ordered).drop(*reaches)


def most_frequent(trend: DataFrame, kinds: int) -> DataFrame:
    """The rows of the most frequent phases and codes."""
    key = ("phase", "code")
    sums = trend.groupBy(*key).agg(F.sum("occurrences").alias("sum"))
    return of_those(trend, sums.orderBy(F.desc("sum"), *key).limit(kinds), key)
