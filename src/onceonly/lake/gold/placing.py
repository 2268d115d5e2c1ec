"""Under which day a life is kept, and each journal row with it: pure functions."""

import datetime as dt
from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from pyspark.sql.types import DateType, LongType, StructField, StructType

from onceonly.lake import marks, model
from onceonly.lake.expressions import is_event, is_true, never, subject
from onceonly.lake.gold.days import BY_DAY, RowsOfDay
from onceonly.lake.reports.columns import utc_day

HASH: Final = "key_hash"
INDEX: Final = StructType([StructField(HASH, LongType()), StructField(BY_DAY, DateType())])
"""One row per hash of a key: the day under which the lives with that hash are kept."""

_FIRST_DAY: Final = dt.date(2000, 1, 1)
"""A clock that is wrong may say any day, and each makes a folder: those before are kept as one."""
_LAST_DAY: Final = dt.date(2100, 1, 1)
"""As `_FIRST_DAY`, of rows that are about no message: their day must be the same in every run."""
SPANS_MAX: Final = 64
"""More spans of time than these are read as one."""
LOOKED_UP_MAX: Final = 100
"""So many hashes are looked up by themselves: Spark takes long to compare each page with more."""


def day_of(first_at: Column, today: dt.date) -> Column:
    """The UTC day of the first row, within days that a message can have; later ones are one."""
    latest = today + dt.timedelta(days=1)
    return F.greatest(F.least(utc_day(first_at), F.lit(latest)), F.lit(_FIRST_DAY))


def placed(new: DataFrame, index: DataFrame, today: dt.date) -> DataFrame:
    """Per hash of the keys in `new` (columns `HASH`, `first_at`): `BY_DAY`, and `is_new`.

    The day is that of the index; else the least of those that the lives with that hash have.
    """
    told = index.withColumnRenamed(BY_DAY, "told")
    met = new.groupBy(HASH).agg(F.min(day_of(F.col("first_at"), today)).alias("own"))
    return met.join(told, HASH, "left").select(
        HASH, F.coalesce("told", "own").alias(BY_DAY), F.col("told").isNull().alias("is_new")
    )


def in_order(index: DataFrame) -> DataFrame:
    """The index as it is to be written, so that its pages tell which hashes they may have."""
    return index.sortWithinPartitions(HASH)


def is_one_of(hashes: Collection[int]) -> Column:
    """Whether the entry is that of one of at most `LOOKED_UP_MAX` hashes; reads their pages alone.

    Not by `isin`: of more than ten values Spark tells a file the least and the greatest.
    """
    return reduce(or_, [F.col(HASH) == F.lit(one) for one in hashes], never())


def torn(lives: DataFrame) -> DataFrame:
    """Of `HASH` and `BY_DAY` of lives: hashes with several days, and the least of these.

    Of keys that nobody chose there are none; a party that chooses its MessageIds can make some.
    """
    days = lives.groupBy(HASH).agg(F.min(BY_DAY).alias("least"), F.max(BY_DAY).alias("greatest"))
    return days.where(F.col("least") < F.col("greatest")).select(HASH, "least")


def row_hash() -> Column:
    """The hash of the message that a journal row is about; null where it is about none.

    A row of a message's event that lacks the MessageId is one with all others like it.
    """
    is_about_one = subject().isNotNull() | is_event(*marks.OF_ENDS)
    of_message = F.xxhash64(F.coalesce("from_party", "party"), "to_party", subject())
    return F.when(is_about_one, of_message)


def others(journal: DataFrame) -> DataFrame:
    """Of rows that no life is made of: `first_at` and `last_at` per `HASH`.

    Those about no message have the hash null, and are told apart by `own`, their `day_of_row`.
    """
    rows = journal.where(~is_true(model.is_of_life())).select(row_hash().alias(HASH), "at")
    own = F.when(F.col(HASH).isNull(), day_of_row(F.col("at")))
    return (
        rows.withColumn("own", own)
        .groupBy(HASH, "own")
        .agg(F.min("at").alias("first_at"), F.max("at").alias("last_at"))
    )


def day_of_row(at: Column) -> Column:
    """The day of a row that is about no message."""
    return F.greatest(F.least(utc_day(at), F.lit(_LAST_DAY)), F.lit(_FIRST_DAY))


def is_astray() -> Column:
    """Whether what has rows from `first_at` to `last_at` has some of another day than `BY_DAY`."""
    ends = (day_of_row(F.col(end)) for end in ("first_at", "last_at"))
    return reduce(or_, (end != F.col(BY_DAY) for end in ends))


def rows_of(
    journal: DataFrame, astray: DataFrame | None, days: Mapping[str, RowsOfDay]
) -> DataFrame:
    """All journal rows of these days, each with its day (`BY_DAY`).

    A row is of the day of its message, so that what is asked of the rows of one message together
    is asked of the rows of one day. `astray` has one entry of the index for each hash of which a
    row `is_astray`, if there is one: all other rows are of the day of their instant.
    """
    wanted = [dt.date.fromisoformat(day) for day in days]
    rows = journal.where(is_within(days.values()))
    day = day_of_row(F.col("at"))
    if astray is not None:
        told = astray.withColumnRenamed(BY_DAY, "told")
        rows = rows.withColumn(HASH, row_hash()).join(told, HASH, "left").drop(HASH)
        day = F.coalesce("told", day)
    placed = rows.withColumn(BY_DAY, day).where(F.col(BY_DAY).isin(wanted))
    return placed.select(*journal.columns, BY_DAY)


def is_within(spans: Collection[RowsOfDay]) -> Column:
    """Whether a row may be of days with these spans."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted((one.first_at, one.last_at) for one in spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    if len(joined) > SPANS_MAX:
        joined = [(joined[0][0], joined[-1][1])]
    return reduce(or_, [F.col("at").between(*span) for span in joined], never())
