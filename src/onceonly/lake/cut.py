"""What of the journals counts in a judgement of the past: pure functions on their rows.

`--as-of T` counts rows whose `at` is not later than T, and nothing that came of later ones. So a
judgement at T is the same, row for row, whatever later rows were taken in since. A row that is not
later than T and comes late does change it: it is new evidence.
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

FOLDER: Final = "folder"
"""The column that says which party's shelf a row is from."""


def until(rows: DataFrame, at: int) -> DataFrame:
    """The rows that are not later than an instant, in microseconds UTC."""
    return rows.where(F.col("at") <= F.lit(at))


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
