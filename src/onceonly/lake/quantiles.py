"""Quantiles and means that are the same however the rows lie in files and tasks (E4).

Spark's `percentile_approx` gives other numbers for another cut of the same rows, from some thousand
on, and its `avg` adds floating-point numbers, whose sum depends on their order. A judgement would
then not come out again once the lake has grown. So the quantile of a share is the least value that
at least so many of the values do not exceed. Shares are in thousandths. Null is no value.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

_THOUSAND: Final = 1_000
_HUNDRED: Final = 100
LISTED_MAX: Final = 500_000
"""A list has room for so many values, of some 20 bytes each."""
_BUCKETS, _BUCKETS_OF_A_CURVE = 64, 1_024
"""From one power of two to the next. The more there are, the fewer values have to be ranked."""
_VALUE, _BUCKET, _RANK, _RANKS = "value", "bucket", "rank", "ranks"
_BEFORE, _UNTIL, _TOTAL = "before", "until", "total"


class Quantiles(NamedTuple):
    """What is asked of one value of the rows of a group."""

    value: str
    """The column that has it."""
    named: Mapping[str, int]
    """The share of each quantile, by the name of its column."""
    curve: str | None = None
    """The name of a column with all 101 percentiles in an array, which is null without a value."""

    def of(self, at: Callable[[Column], Column], total: Column) -> dict[str, Column]:
        """What is asked, by name, where `at` gives the value of a rank among `total` values."""
        found = {name: at(_rank(F.lit(share), total)) for name, share in self.named.items()}
        if self.curve is not None:
            percents = F.sequence(F.lit(0), F.lit(_HUNDRED))
            points = F.transform(percents, lambda one: at(_rank(one, total, _HUNDRED)))
            found[self.curve] = F.when(total > 0, points)
        return found


def summed(
    rows: DataFrame,
    by: Sequence[str],
    sums: Sequence[Column],
    *wanted: Quantiles,
    are_few: bool = False,
) -> DataFrame:
    """One row per group: the aggregates `sums`, and what is `wanted` of some values.

    It is faster, and gives the same, where the values of each group `are_few`: where a list has
    room for them, as for those of a bin of time.
    """
    if are_few:
        return _listed(rows, by, sums, wanted)
    whole = rows.groupBy(*by).agg(*sums)
    for one in wanted:
        found = _selected(rows, by, one)
        named = found.withColumnsRenamed({name: f"of_{name}" for name in by})
        whole = whole.join(named, _is_same(by), "left").drop(*(f"of_{name}" for name in by))
    return whole


def mean(value: Column) -> Column:
    """An aggregate: the mean of whole numbers that are not negative, without its fraction.

    Null where their sum is more than 64 bits hold: a hundred million times a day, in microseconds.
    """
    return (F.try_sum(value) / F.count(value)).cast("bigint")


def _listed(
    rows: DataFrame, by: Sequence[str], sums: Sequence[Column], wanted: Sequence[Quantiles]
) -> DataFrame:
    """By a sorted list of each group's values."""
    lists = {f"values_{n}": one for n, one in enumerate(wanted)}
    values = [F.sort_array(F.collect_list(one.value)).alias(name) for name, one in lists.items()]
    found: dict[str, Column] = {}
    for name, one in lists.items():
        found |= one.of(_in_list(name), F.size(name))
    return rows.groupBy(*by).agg(*sums, *values).withColumns(found).drop(*lists)


def _in_list(name: str) -> Callable[[Column], Column]:
    return lambda rank: F.try_element_at(F.col(name), rank.cast("int"))


def _selected(rows: DataFrame, by: Sequence[str], wanted: Quantiles) -> DataFrame:
    """By counting values in buckets first: only those in buckets with a wanted rank are sorted.

    No group is in one task, unless all its values are nearly the same. What is sent to every task
    is a row for each wanted rank of a group whose bucket has other values beside it.
    """
    told = rows.select(*by, F.col(wanted.value).alias(_VALUE)).where(F.col(_VALUE).isNotNull())
    told = told.withColumn(_BUCKET, _bucket(_BUCKETS_OF_A_CURVE if wanted.curve else _BUCKETS))
    group = Window.partitionBy(*by)
    heights = told.groupBy(*by, _BUCKET).agg(
        F.count("*").alias("values"), F.min(_VALUE).alias("least"), F.max(_VALUE).alias("greatest")
    )
    hit = (
        heights.withColumns(
            {
                _UNTIL: F.sum("values").over(group.orderBy(_BUCKET)),
                _TOTAL: F.sum("values").over(group),
            }
        )
        .withColumn(_BEFORE, F.col(_UNTIL) - F.col("values"))
        .withColumn(_RANKS, _ranks(wanted))
        .where(F.size(_RANKS) > 0)
    )
    is_one_value = F.col("least") == F.col("greatest")
    found = hit.where(is_one_value).select(
        *by, _TOTAL, F.explode(_RANKS).alias(_RANK), F.col("least").alias(_VALUE)
    )
    others = hit.where(~is_one_value).select(
        *[F.col(name).alias(f"of_{name}") for name in (*by, _BUCKET)], _TOTAL, _BEFORE, _RANKS
    )
    place = F.row_number().over(Window.partitionBy(*by, _BUCKET).orderBy(_VALUE))
    sorted_ones = (
        told.join(F.broadcast(others), _is_same((*by, _BUCKET)))
        .withColumn(_RANK, place + F.col(_BEFORE))
        .where(F.array_contains(_RANKS, F.col(_RANK)))
    )
    every = found.unionByName(sorted_ones.select(*by, _TOTAL, _RANK, _VALUE))
    entries = F.sort_array(F.collect_list(F.struct(_RANK, _VALUE)))
    at = F.map_from_entries(entries).alias("at")
    totals = every.groupBy(*by).agg(at, F.max(_TOTAL).alias(_TOTAL))
    asked = wanted.of(lambda rank: F.try_element_at(F.col("at"), rank), F.col(_TOTAL))
    return totals.select(*by, *[column.alias(name) for name, column in asked.items()])


def _rank(share: Column, total: Column, whole: int = _THOUSAND) -> Column:
    """The number, from 1, of the least value that the share of all values does not exceed."""
    return F.greatest(F.ceil(share * total / F.lit(whole)), F.lit(1))


def _ranks(wanted: Quantiles) -> Column:
    """The ranks that are wanted of those after `_BEFORE` and up to `_UNTIL`, each once."""
    before, until, total = F.col(_BEFORE), F.col(_UNTIL), F.col(_TOTAL)
    named = F.array(*[_rank(F.lit(share), total) for share in wanted.named.values()])
    ranks = F.filter(named, lambda rank: (rank > before) & (rank <= until))
    if wanted.curve is not None:
        # A few thousand buckets do not compare themselves with each of a hundred ranks.
        first = F.when(before == 0, F.lit(0)).otherwise(_percents(before, total) + 1)
        last = _percents(until, total)
        here = F.when(first <= last, F.sequence(first, last)).otherwise(
            F.array().cast("array<bigint>")
        )
        ranks = F.concat(ranks, F.transform(here, lambda one: _rank(one, total, _HUNDRED)))
    return F.array_distinct(ranks)


def _percents(rank: Column, total: Column) -> Column:
    """The greatest percentile whose rank is at most this."""
    return F.floor(F.lit(_HUNDRED) * rank / total)


def _bucket(in_an_octave: int) -> Column:
    """A number that is never less for a greater value; it may be the same."""
    value = F.col(_VALUE).cast("double")
    size = F.floor(F.log2(F.abs(value) + 1) * F.lit(in_an_octave))
    return F.when(value < 0, -size).otherwise(size)


def _is_same(names: Sequence[str]) -> Column:
    """Whether a row is of the group that the other frame calls so, with `of_` before each name."""
    return reduce(and_, (F.col(name).eqNullSafe(F.col(f"of_{name}")) for name in names))
