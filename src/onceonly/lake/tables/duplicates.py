"""Every copy that was eliminated, and every MessageId that came with two contents."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import ROW_ORDER, is_event, is_passing, is_true, key_hash
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
from onceonly.message.event import Event
from onceonly.protocol.events import Outcome

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

_ARRIVALS: Final = (Event.DUPLICATE_ELIMINATED, Event.COLLISION_DETECTED)


def table(journal: DataFrame, *also: str) -> DataFrame:
    """The arrivals that were no new message.

    `after_us` goes by the clock that never jumps while the gateway was not restarted in between.
    """
    wanted = is_event(Event.STORED, Event.ACK_SENT, *_ARRIVALS)
    message = Window.partitionBy(key_hash(), "party", *KEY)
    before = message.orderBy(*ROW_ORDER).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    same = Window.partitionBy(key_hash(), "party", *KEY, "event").orderBy(*ROW_ORDER)
    left = is_event(Event.ACK_SENT) & (F.col("outcome") != F.lit(Outcome.REFUSED.value))
    stored = F.when(is_event(Event.STORED), F.struct("seq", "at", "monotonic_ns", "store_epoch"))
    rows = journal.where(wanted & ~is_passing()).withColumns(
        {
            "stored": F.min(stored).over(before),
            "was_answered_before": is_true(F.max(left).over(before)),
            "number": F.row_number().over(same).cast("bigint"),
        }
    )
    by_monotonic = F.expr("(monotonic_ns - stored.monotonic_ns) div 1000")
    is_one_life = F.col("store_epoch") == F.col("stored.store_epoch")
    by_wall = F.greatest(F.col("at") - F.col("stored.at"), F.lit(0))
    is_repeat = is_event(Event.DUPLICATE_ELIMINATED)
    return (
        rows.where(is_event(*_ARRIVALS))
        .withColumns(
            {
                "kind": F.when(is_repeat, F.lit("repeat")).otherwise(F.lit("collision")),
                "arrived_at": F.timestamp_micros("at"),
                "after_us": F.when(is_one_life, by_monotonic).when(
                    F.col("stored").isNotNull(), by_wall
                ),
            }
        )
        .select(*DEFINITION.names, *also)
    )
