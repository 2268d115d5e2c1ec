"""Report 17 over time."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import bin_start
from onceonly.lake.tables.definition import (
    Definition,
    count,
    instant,
    text,
)

DEFINITION: Final = Definition(
    "error_trend",
    17,
    "one row per bin, phase and code",
    "whether an error grows",
    (
        instant("bin_at", "start of the bin"),
        text("phase", "as in error_pareto"),
        text("code", "as in error_pareto"),
        count("occurrences", "rows", "with it"),
    ),
)


def table(bins: DataFrame, *, width_us: int) -> DataFrame:
    """The errors in bins of `width_us`, of `error_pareto.by_bin` with bins that fit into these."""
    return (
        bins.withColumn("bin_at", F.timestamp_micros(bin_start(F.col("bin"), width_us)))
        .groupBy("bin_at", "phase", "code")
        .agg(F.sum("occurrences").alias("occurrences"))
    )
