"""What is counted of the lives of each day, so that totals and sheet need not look at every life.

A judgement writes what it counts of its days into one folder beside their lives. A day that is
judged again is counted again, in the folder of that judgement; what the first one has of it is
passed over from then on.
"""

import datetime as dt
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from pyspark.sql.types import ArrayType, DateType, LongType, StringType, StructField, StructType

from onceonly.lake import invariants, runner, storage
from onceonly.lake.gold.days import BY_DAY, KeptDays
from onceonly.lake.reports import reconciliation
from onceonly.lake.verdicts import Policy

COUNTS, TALLIES = "counts", "tallies"
FOLDER: Final = "folder"
_PART: Final = [StructField(FOLDER, StringType()), StructField(BY_DAY, DateType())]
COUNTED: Final = StructType(
    [
        StructField("day", DateType()),
        *[StructField(name, StringType()) for name in reconciliation.CLASS],
        *[StructField(name, LongType()) for name in reconciliation.SUMS],
        *_PART,
    ]
)
"""What `reconciliation.counts` gives, per folder and day."""
TALLIED: Final = StructType(
    [
        *[StructField(name, LongType()) for name in ("tried", "broken", "messages")],
        StructField("least", ArrayType(StringType())),
        *_PART,
    ]
)
"""What `invariants.tallies` gives, per folder and day."""


def write(lives: DataFrame, place: str, *, as_of: int, policy: Policy) -> None:
    """Count the judged lives of some days, and write that to `place`."""
    tried = invariants.breaches_alone(lives, BY_DAY, as_of=as_of, policy=policy)
    parts = {
        COUNTS: reconciliation.counts(lives, BY_DAY),
        TALLIES: invariants.tallies(tried, BY_DAY),
    }
    for product, part in parts.items():
        # Few rows: one file, since every run looks at each.
        told = part.withColumn(FOLDER, F.lit(place.rpartition("/")[2])).coalesce(1)
        runner.write(told, f"{place}/{product}")
    storage.keep([f"{place}/{product}" for product in parts])


def counts(spark: SparkSession, kept: KeptDays) -> DataFrame:
    """What `reconciliation.counts` gives of the lives of each day."""
    return _read(spark, kept, COUNTS, COUNTED)


def tallies(spark: SparkSession, kept: KeptDays) -> DataFrame:
    """What `invariants.tallies` gives of `breaches_alone` of the lives of each day."""
    return _read(spark, kept, TALLIES, TALLIED)


def _read(spark: SparkSession, kept: KeptDays, product: str, schema: StructType) -> DataFrame:
    folders = sorted(set(kept.sums.values()))
    found = runner.folders_of(spark, schema, [f"{one}/{product}" for one in folders])
    valid = [(one.rpartition("/")[2], dt.date.fromisoformat(d)) for d, one in kept.sums.items()]
    in_force = spark.createDataFrame(valid, StructType(_PART))
    names = [field.name for field in _PART]
    return found.join(F.broadcast(in_force), names, "left_semi").drop(*names)
