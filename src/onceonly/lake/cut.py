"""What of the journals counts in a judgement of the past: pure functions on their rows.

`--as-of T` counts rows whose `at` is not later than T, and nothing that came of later ones. So a
judgement at T is the same, row for row, whatever later rows were taken in since. A row that is not
later than T and comes late does change it: it is new evidence. `--evidence RUN` counts the rows
that a run had, and no others, whenever others came and whatever time they are of.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import schemas
from onceonly.lake.manifest import Range
from onceonly.lake.wholeness import Tail

FOLDER: Final = "folder"
"""The column that says which party's shelf a row is from."""


def until(rows: DataFrame, at: int) -> DataFrame:
    """The rows that are not later than an instant, in microseconds UTC."""
    return rows.where(F.col("at") <= F.lit(at))


def are_in(ranges: Sequence[Range]) -> Column:
    """Whether the number of a row is in one of the ranges, which are in order and apart."""
    return _are_in(list(ranges)) if ranges else F.lit(False)  # noqa: FBT003 - because Spark takes it so


def _are_in(ranges: list[Range]) -> Column:
    # As a tree: a chain of a thousand gaps would be deeper than Spark's planner can follow.
    if len(ranges) == 1:
        return F.col("seq").between(*map(F.lit, ranges[0]))
    half = len(ranges) // 2
    is_before = F.col("seq") < F.lit(ranges[half][0])
    return F.when(is_before, _are_in(ranges[:half])).otherwise(_are_in(ranges[half:]))


def came_by(batch: int) -> Column:
    """Whether a row of bronze was taken in with that batch or before it."""
    return F.coalesce(F.col(schemas.BATCH), F.lit(0)) <= F.lit(batch)


def held(rows: DataFrame, ranges: Sequence[Range], batch: int, tail: Tail | None) -> DataFrame:
    """One row on the `rows` of bronze that are in the ranges.

    How many there are, how many came `by_batch`, and how many `tails`: by number and hash the last.
    """
    last, chain_hash = tail or (0, "")
    is_tail = (F.col("seq") == F.lit(last)) & (F.col("chain_hash") == F.lit(chain_hash))
    return rows.where(are_in(ranges)).agg(
        F.count("*").alias("rows"),
        F.count_if(came_by(batch)).alias("by_batch"),
        F.count_if(is_tail).alias("tails"),
    )


def counted(rows: DataFrame) -> DataFrame:
    """Per `FOLDER`: what its journal comes to as far as these rows go, each of which is there once.

    `rows`, how many `numbers` they have, `last_seq` and `last_hash` of the last one, and
    `first_fork`, the first number that two of them have.
    """
    numbers = rows.groupBy(FOLDER, "seq").agg(
        F.count("*").alias("rows"), F.max("chain_hash").alias("chain_hash")
    )
    return numbers.groupBy(FOLDER).agg(
        F.sum("rows").alias("rows"),
        F.count("*").alias("numbers"),
        F.max("seq").alias("last_seq"),
        F.max_by("chain_hash", "seq").alias("last_hash"),
        F.min(F.when(F.col("rows") > F.lit(1), F.col("seq"))).alias("first_fork"),
    )
