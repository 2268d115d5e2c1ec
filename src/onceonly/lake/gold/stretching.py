"""Which stretches of the journals' numbers have other rows than before: pure functions.

What is asked of journal rows in their order, and not by message, is asked of each stretch of them
by itself (`stretches`): then only stretches with new rows have to be asked again.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import stretches
from onceonly.lake.expressions import never
from onceonly.lake.gold.days import Stretches
from onceonly.lake.stretches import IS_HERE, STRETCH, with_row_before

SPANS_MAX: Final = 256
"""More spans of stretches than these are not told apart: every stretch is asked then."""

ByParty = Mapping[str, Sequence[Stretches]]


def touched(rows: DataFrame) -> DataFrame:
    """`party` and `STRETCH` of rows, and of those that have one of them before their first.

    `rows` is how many there are.
    """
    length = stretches.ROWS_AT_ONCE
    ends = rows.groupBy("party", stretches.stretch("seq", length).alias(STRETCH)).agg(
        F.max("seq").alias("seq"), F.count("*").alias("rows")
    )
    # Of the greatest alone, since it is the last of its stretch if any row is.
    told = with_row_before(ends, length)
    own = F.when(F.col(IS_HERE), F.col("rows")).otherwise(F.lit(0))
    return told.groupBy("party", STRETCH).agg(F.sum(own).alias("rows"))


def with_touched(known: ByParty, found: Mapping[str, Iterable[int]], mark: str) -> ByParty:
    """With a new mark for the stretches in which rows were found; spans in order, and apart."""
    whole = dict(known)
    for party, numbers in found.items():
        spans = list(whole.get(party, ()))
        for first, last in _spans(numbers):
            spans = [part for one in spans for part in _without(one, first, last)]
            spans.append(Stretches(first, last, mark))
        whole[party] = tuple(sorted(spans))
    return dict(sorted(whole.items()))


def same(now: ByParty, before: ByParty) -> ByParty:
    """The spans of now whose rows are those of before."""
    found = {}
    for party, spans in now.items():
        there = before.get(party, ())
        kept = [
            one
            for one in spans
            if any(
                old.mark == one.mark and old.first <= one.first and one.last <= old.last
                for old in there
            )
        ]
        if kept:
            found[party] = tuple(kept)
    return found


def others(now: ByParty, than: ByParty) -> ByParty:
    """The spans of now that are not among those."""
    apart = {
        party: tuple(one for one in spans if one not in than.get(party, ()))
        for party, spans in now.items()
    }
    return {party: spans for party, spans in apart.items() if spans}


def within(told: DataFrame, spans: ByParty) -> DataFrame:
    """What is told of these stretches, of a frame with `party` and `STRETCH`."""
    rows = [(party, one.first, one.last) for party, some in spans.items() for one in some]
    columns = "of_party string, first bigint, last bigint"
    wanted = told.sparkSession.createDataFrame(rows, columns)
    is_wanted = F.col("party") == F.col("of_party")
    is_wanted &= F.col(STRETCH).between(F.col("first"), F.col("last"))
    return told.join(F.broadcast(wanted), is_wanted, "left_semi")


def rows_of(journal: DataFrame, spans: ByParty) -> DataFrame:
    """Journal rows among which all of these stretches are, with the row before each."""
    length = stretches.ROWS_AT_ONCE
    merged = {
        (one.first * length - 1, (one.last + 1) * length - 1)
        for some in spans.values()
        for one in some
    }
    if len(merged) > SPANS_MAX:
        return journal
    rows = journal.where(reduce(or_, [F.col("seq").between(*ends) for ends in merged], never()))
    return rows if len(spans) > SPANS_MAX else rows.where(F.col("party").isin(*spans))


def _spans(numbers: Iterable[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for one in sorted(numbers):
        if spans and one == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], one
        else:
            spans.append((one, one))
    return spans


def _without(span: Stretches, first: int, last: int) -> list[Stretches]:
    """What is left of a span without the stretches from `first` to `last`."""
    if span.last < first or last < span.first:
        return [span]
    low, high = span._replace(last=first - 1), span._replace(first=last + 1)
    return [one for one in (low, high) if one.first <= one.last]
