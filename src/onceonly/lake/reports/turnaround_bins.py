"""Report 6 over time: quantiles of the turnaround in bins of the time of sending."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.model import stats
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    duration,
    instant,
)

DEFINITION: Final = Definition(
    "turnaround_bins",
    6,
    "one row per bin of the first transmission and pair with acknowledged messages",
    "whether acknowledgements get slower",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        count("messages", "messages", "first sent in the bin and acknowledged"),
        duration("p50_us", "median from the first transmission"),
        duration("p90_us", "9 of 10"),
        duration("p95_us", "19 of 20"),
        duration("p99_us", "99 of 100"),
    ),
)


def table(judged: DataFrame, *, width_us: int) -> DataFrame:
    """The bins of `width_us` in which something that is acknowledged was sent."""
    return (
        stats(judged, width_us=width_us)
        .where(F.col("timed") > 0)
        .withColumns({"bin_at": F.timestamp_micros("bin_at"), "messages": F.col("timed")})
        .select(*DEFINITION.names)
    )
