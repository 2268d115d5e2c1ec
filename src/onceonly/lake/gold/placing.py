"""Under which day a life is kept: pure functions."""

import datetime as dt
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from pyspark.sql.types import DateType, LongType, StructField, StructType

from onceonly.lake.gold.days import BY_DAY
from onceonly.lake.reports.columns import utc_day
from onceonly.lake.schemas import KEY

HASH: Final = "key_hash"
INDEX: Final = StructType([StructField(HASH, LongType()), StructField(BY_DAY, DateType())])
"""One row per hash of a key: the day under which the lives with that hash are kept."""

_FIRST_DAY: Final = dt.date(2000, 1, 1)
"""A clock that is wrong may say any day, and each makes a folder: those before are kept as one."""


def key_hash() -> Column:
    """The hash of a message's key."""
    return F.xxhash64(*KEY)


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


def torn(lives: DataFrame) -> DataFrame:
    """Of `HASH` and `BY_DAY` of lives: hashes with several days, and the least of these.

    Of keys that nobody chose there are none; a party that chooses its MessageIds can make some.
    """
    days = lives.groupBy(HASH).agg(F.min(BY_DAY).alias("least"), F.max(BY_DAY).alias("greatest"))
    return days.where(F.col("least") < F.col("greatest")).select(HASH, "least")
