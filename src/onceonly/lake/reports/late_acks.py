"""Report 10: acknowledgements that came after the failure notice, or for nothing known."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import ROW_ORDER, is_event, is_passing, is_true, subject
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
from onceonly.protocol.effects import NoticeKind

DEFINITION: Final = Definition(
    "late_acks",
    10,
    "one row per orphan acknowledgement, and per late one that came to the sender of its message",
    "what the notices had said too early, and what nobody had asked for",
    (
        text("party", "who received it"),
        *KEY_COLUMNS,
        text("kind", "late or orphan"),
        instant("at", "when it came"),
        instant("notified_at", "the application had been told of a failure"),
        duration("after_us", "since then"),
        flag("was_corrected", "the application was told of it afterwards; null for an orphan"),
        text("reason", "what stands beside it, in words"),
        ordinal("seq", "number of its row in that journal"),
    ),
)


def table(journal: DataFrame) -> DataFrame:
    """The late and the orphan acknowledgements in the journal."""
    message = Window.partitionBy("party", *KEY)
    before = message.orderBy(*ROW_ORDER).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_notice = is_event(Event.NOTIFIED)
    failure = is_notice & (F.col("reason") == F.lit(NoticeKind.DELIVERY_FAILURE.value))
    correction = is_notice & (F.col("reason") == F.lit(NoticeKind.ACKNOWLEDGED_LATE.value))
    is_late = is_event(Event.LATE_ACK_RECEIVED)
    rows = (
        journal.where(is_event(Event.NOTIFIED, Event.LATE_ACK_RECEIVED, Event.ORPHAN_ACK_RECEIVED))
        # What is late for an intermediary is told to no application.
        .where(is_event(Event.ORPHAN_ACK_RECEIVED) | ~is_passing())
        .withColumns({"message_id": subject(), "from_party": F.coalesce("from_party", "party")})
        .withColumns(
            {
                "told": F.min(F.when(failure, F.col("at"))).over(before),
                "corrected_seq": F.max(F.when(correction, F.col("seq"))).over(message),
            }
        )
    )
    since_told = F.when(
        F.col("told").isNotNull(), F.greatest(F.col("at") - F.col("told"), F.lit(0))
    )
    is_corrected = is_true(F.col("corrected_seq") > F.col("seq"))
    return (
        rows.where(~is_notice)
        .withColumns(
            {
                "kind": F.when(is_late, F.lit("late")).otherwise(F.lit("orphan")),
                "notified_at": F.when(is_late, F.timestamp_micros("told")),
                "after_us": F.when(is_late, since_told),
                "was_corrected": F.when(is_late, is_corrected),
            }
        )
        .withColumn("at", F.timestamp_micros("at"))
        .select(*DEFINITION.names)
    )
