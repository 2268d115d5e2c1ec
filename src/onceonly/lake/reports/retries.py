"""Report 8: what first tries and retries are worth."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import one_if
from onceonly.lake.reports.columns import ended, is_acknowledged, of
from onceonly.lake.reports.reconciliation import PAIR
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    ordinal,
    share,
    size,
)
from onceonly.lake.verdicts import is_promised

DEFINITION: Final = Definition(
    "retries",
    8,
    "one row per pair and number of a transmission",
    "how many messages got that far, and how many were acknowledged before the next one was "
    "begun. An acknowledgement counts for the last transmission before it, though an earlier "
    "one may have caused it",
    (
        *PAIR_COLUMNS,
        ordinal("transmission", "1 for the first try; the count goes on after a resume"),
        count(
            "reached",
            "messages",
            "sent at least that often, and acknowledged, given up or sent again since",
        ),
        count("acknowledged", "messages", "acknowledged while it was the last transmission"),
        count(
            "needless",
            "messages",
            "of them whose receiver had an earlier copy already: it eliminated one",
        ),
        count("given_up", "messages", "that ended without an acknowledgement at that number"),
        count(
            "waiting",
            "messages",
            "for which it is the last one so far, and no end is known; not in reached",
        ),
        share("effectiveness_share", "acknowledged of reached"),
        size(
            "payload_bytes",
            "payload bytes that these transmissions carried, the waiting ones too",
        ),
    ),
)


def table(judged: DataFrame) -> DataFrame:
    """The transmissions of the pairs by their number."""
    is_needless = is_acknowledged() & (F.col("repeats") > 0) & (F.col("transmissions") > 1)
    is_ended = ended().isNotNull()
    by_last = (
        judged.where(is_promised() & (F.col("transmissions") > 0))
        .groupBy(*PAIR, "transmissions")
        .agg(
            F.count("*").alias("messages"),
            F.sum(one_if(is_acknowledged())).alias("acked"),
            F.sum(one_if(is_needless)).alias("needless_then"),
            F.sum(one_if(~is_acknowledged() & is_ended)).alias("ended_then"),
            F.sum(one_if(~is_ended)).alias("waiting_then"),
            F.sum(F.coalesce("sent_bytes", F.lit(0))).alias("bytes_each"),
        )
    )
    # Few rows: one for each pair and number. Whoever was sent n times was sent 1 to n times.
    steps = F.sequence(F.lit(1).cast("bigint"), F.col("transmissions"))
    is_last = F.col("transmission") == F.col("transmissions")
    gone_on = F.col("messages") - F.when(is_last, F.col("waiting_then")).otherwise(F.lit(0))

    def then(name: str) -> Column:
        return F.sum(F.when(is_last, F.col(name)).otherwise(F.lit(0)))

    return (
        by_last.withColumn("transmission", F.explode(steps))
        .groupBy(*PAIR, "transmission")
        .agg(
            F.sum(gone_on).alias("reached"),
            then("acked").alias("acknowledged"),
            then("needless_then").alias("needless"),
            then("ended_then").alias("given_up"),
            then("waiting_then").alias("waiting"),
            F.sum("bytes_each").alias("payload_bytes"),
        )
        .withColumn("effectiveness_share", of(F.col("acknowledged"), F.col("reached")))
        .select(*DEFINITION.names)
    )
