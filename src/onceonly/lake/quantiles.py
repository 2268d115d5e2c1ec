"""Quantiles and means that are the same however the rows lie in files and tasks (E4).

Spark's `percentile_approx` gives other numbers for another cut of the same rows, from some thousand
on, and its `avg` adds floating-point numbers, whose sum depends on their order. A judgement would
then not come out again once the lake has grown. So values are ranked here: the quantile of a share
is the least value that at least so many of the values do not exceed. Shares are in thousandths.
Null is no value.
"""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

_THOUSAND: Final = 1_000
_HUNDRED: Final = 100


def ranked(rows: DataFrame, value: str, *by: str) -> DataFrame:
    """The rows with the rank of this value in their group, for `quantiles` and `curve`.

    One task sorts the rows of a group, and writes to disk what it has no memory for: they should
    have few columns, and those computed already that are summed up afterwards.
    """
    group = Window.partitionBy(*by)
    rank = F.row_number().over(group.orderBy(F.col(value).asc_nulls_last()))
    # Where there is no value there is a number as well, greater than the ranks of all values.
    return rows.withColumns({_rank(value): rank, _values(value): F.count(value).over(group)})


def quantiles(value: str, named: Mapping[str, int]) -> list[Column]:
    """Aggregates over a group of rows that are `ranked`: the quantiles of these shares, by name."""

    def quantile(share: int) -> Column:
        least = F.ceil(F.lit(share) * F.col(_values(value)) / F.lit(_THOUSAND))
        wanted = F.greatest(least, F.lit(1).cast("bigint"))
        return F.max(F.when(F.col(_rank(value)) == wanted, F.col(value)))

    return [quantile(share).alias(name) for name, share in named.items()]


def curve(value: str) -> Column:
    """An aggregate over such a group: an array of all 101 percentiles; null without a value."""
    rank, values = F.col(_rank(value)), F.col(_values(value))
    # A value is every percentile after those of the rank before it, up to its own.
    until = F.floor(F.try_divide(F.lit(_HUNDRED) * rank, values))
    after = F.floor(F.try_divide(F.lit(_HUNDRED) * (rank - 1), values))
    after = F.when(rank > 1, after).otherwise(F.lit(-1))
    here = F.transform(F.sequence(after + 1, until), lambda cent: F.struct(cent, F.col(value)))
    points = F.when((rank <= values) & (until > after), here)
    ordered = F.sort_array(F.flatten(F.collect_list(points)))
    return F.when(F.count(value) > 0, F.transform(ordered, lambda point: point[value]))


def mean(value: Column) -> Column:
    """An aggregate: the mean of whole numbers that are not negative, without its fraction.

    Null where their sum is more than 64 bits hold: a hundred million times a day, in microseconds.
    """
    return (F.try_sum(value) / F.count(value)).cast("bigint")


def _rank(value: str) -> str:
    return f"{value}_rank"


def _values(value: str) -> str:
    return f"{value}_values"
