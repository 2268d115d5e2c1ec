"""Report 14: messages and bytes by pair, service, action and time."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import bin_start, one_if
from onceonly.lake.quantiles import Quantiles, summed
from onceonly.lake.reports.columns import is_there
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    instant,
    size,
    text,
)

DEFINITION: Final = Definition(
    "volume",
    14,
    "one row per bin, pair, service and action",
    "what was exchanged, as submitted; as stored where the sender's journal is not in the lake",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        text("service", "Service"),
        text("action", "Action"),
        count("messages", "messages", "submitted, or stored where only the receiver tells"),
        count("received_only", "messages", "of them known from the receiver's journal only"),
        size("payload_bytes", "size of the payloads, as far as the journals tell it"),
        size("p50_bytes", "median size"),
        size("p95_bytes", "19 of 20"),
        size("largest_bytes", "largest"),
    ),
)


def table(judged: DataFrame, *, width_us: int) -> DataFrame:
    """The volume in bins of `width_us`, each message once."""
    is_stored = ~is_there("submitted_at")
    size_bytes = F.when(is_stored, F.col("stored_bytes")).otherwise(F.col("sent_bytes"))
    at = F.coalesce("submitted_at", "stored_at")
    exchanged = (
        judged.withColumns({"at": at, "size_bytes": size_bytes})
        .where(is_there("at"))
        .withColumn("bin_at", F.timestamp_micros(bin_start(F.col("at"), width_us)))
    )
    totals = summed(
        exchanged,
        ("bin_at", *PAIR, "service", "action"),
        [
            F.count("*").alias("messages"),
            F.sum(one_if(is_stored)).alias("received_only"),
            F.sum(F.coalesce("size_bytes", F.lit(0))).alias("payload_bytes"),
            F.max("size_bytes").alias("largest_bytes"),
        ],
        Quantiles("size_bytes", {"p50_bytes": 500, "p95_bytes": 950}),
        are_few=True,
    )
    return totals.select(*DEFINITION.names)
