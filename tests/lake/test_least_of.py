"""The least values of a group, as many as are asked for."""

from __future__ import annotations

import random
from itertools import groupby
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import least_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
MOST = 5


def test_the_least_of_all_tasks_are_kept_in_their_order(spark: SparkSession):
    """Of groups that lie in many tasks, of few values and of none; a null is no value."""
    chance = random.Random(7)
    sizes = {"many": 200, "few": 3, "none": 0}
    rows = [(group, f"{chance.random():.6f}") for group, size in sizes.items() for _ in range(size)]
    rows += [(group, None) for group in sizes for _ in range(4)]
    chance.shuffle(rows)
    frame = spark.createDataFrame(rows, "name string, value string").repartition(8)
    found = frame.groupBy("name").agg(least_of(F.col("value"), MOST).alias("least")).collect()
    values = {
        name: sorted(value for _, value in group if value is not None)
        for name, group in groupby(sorted(rows, key=lambda row: row[0]), key=lambda row: row[0])
    }
    assert {row["name"]: row["least"] for row in found} == {
        name: every[:MOST] for name, every in values.items()
    }


def test_structs_are_compared_from_their_first_field(spark: SparkSession):
    """A field without a value comes first."""
    rows = [("b", "1"), ("a", "3"), (None, "4"), ("a", None), ("c", "0"), ("a", "2")]
    frame = spark.createDataFrame(rows, "place string, name string").repartition(3)
    names = least_of(F.struct("place", "name"), 4).getField("name")
    [found] = frame.agg(names.alias("names")).collect()
    assert found["names"] == ["4", None, "2", "3"]
