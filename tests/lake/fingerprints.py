"""Whether two lakes hold the same rows, in whatever order and folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import model, runner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def fingerprint(rows: DataFrame) -> tuple[int, int]:
    """Count of rows, and a sum over the hashes of all of them: order plays no part."""
    hashes = rows.select(F.xxhash64(*sorted(rows.columns)).cast("decimal(38,0)").alias("hash"))
    [found] = hashes.agg(F.count("*").alias("rows"), F.sum("hash").alias("sum")).collect()
    return found["rows"], int(found["sum"])


def fingerprints(spark: SparkSession, lake: str) -> dict[str, tuple[int, int]]:
    return {
        "journal": fingerprint(runner.journal(spark, [lake])),
        "lifecycle": fingerprint(model.merge(runner.read(spark, [lake], "lifecycle"))),
        "coverage": fingerprint(model.merge_coverage(runner.read(spark, [lake], "coverage"))),
    }
