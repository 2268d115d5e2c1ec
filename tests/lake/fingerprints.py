"""Whether two lakes hold the same rows, in whatever order and folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.journal.segment import to_records
from onceonly.lake import model, runner

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from onceonly.journal.record import Record


def fingerprint(rows: DataFrame) -> tuple[int, int]:
    """Count of rows, and a sum over the hashes of all of them: order plays no part."""
    hashes = rows.select(F.xxhash64(*sorted(rows.columns)).cast("decimal(38,0)").alias("hash"))
    [found] = hashes.agg(F.count("*").alias("rows"), F.sum("hash").alias("sum")).collect()
    return found["rows"], int(found["sum"] or 0)


def fingerprints(spark: SparkSession, lake: str) -> dict[str, tuple[int, int]]:
    return {
        "journal": fingerprint(runner.journal(spark, [lake])),
        "lifecycle": fingerprint(model.partial(runner.journal(spark, [lake]))),
        "coverage": fingerprint(model.merge_coverage(runner.read(spark, [lake], "coverage"))),
    }


def rows_in(spark: SparkSession, lake: Path) -> set[Record]:
    """The rows of a lake, each once."""
    rows = runner.journal(spark, [str(lake)]).toArrow().combine_chunks()
    records = to_records(rows)
    assert len(records) == len(set(records))
    return set(records)
