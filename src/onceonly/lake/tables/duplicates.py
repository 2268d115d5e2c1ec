"""Report 9, every copy that was eliminated, with the likeliest cause.

The cause is read off counts of both halves, message by message:

    more copies arrived than were sent        the network doubled the surplus
    more acknowledgements left than came       that many were lost on the way back
    the rest                                   the acknowledgement was slower than the retry
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import seconds
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    duration,
    flag,
    instant,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "duplicates",
    None,
    "one row per eliminated copy or collision, as it arrived",
    "when it came and what was known then. Why copies came is told per message and pair in "
    "duplicate_causes",
    (
        text("party", "the receiver"),
        *KEY_COLUMNS,
        text("kind", "repeat, or collision where the MessageId came with another content"),
        ordinal("number", "1 for the first such arrival of the message"),
        instant("arrived_at", "when it came"),
        duration("after_us", "since the original was stored"),
        flag(
            "was_answered_before",
            "an acknowledgement that the transport did not refuse had left",
        ),
        ordinal("sequence_number", "SequenceNumber of the copy"),
        text("reason", "what stands beside it, in words"),
        ordinal("seq", "number of its row in that journal"),
    ),
)

DOUBLED: Final = "doubled on the way"
ACK_LOST: Final = "acknowledgement lost"
ACK_SLOW: Final = "acknowledgement slow"
CAUSES: Final = {DOUBLED: "doubled", ACK_LOST: "after_lost_ack", ACK_SLOW: "after_slow_ack"}
"""Cause in words, to the column that counts it."""


def table(lifecycle: DataFrame) -> DataFrame:
    """The messages with eliminated copies; the three causes add up to `repeats`."""
    surplus = F.greatest(F.col("repeats") + 1 - F.col("transmissions"), F.lit(0))
    lost = F.greatest(F.col("acks_sent") - F.col("acks_received"), F.lit(0))
    return (
        lifecycle.where(F.col("repeats") > 0)
        .select(
            *KEY,
            "repeats",
            seconds(F.col("first_repeat_at") - F.col("stored_at")).alias("first_after_s"),
            F.least("repeats", surplus).alias("doubled"),
            lost.alias("acks_lost"),
        )
        .withColumn(
            "after_lost_ack", F.least(F.col("repeats") - F.col("doubled"), F.col("acks_lost"))
        )
        .withColumn("after_slow_ack", F.col("repeats") - F.col("doubled") - F.col("after_lost_ack"))
    )
