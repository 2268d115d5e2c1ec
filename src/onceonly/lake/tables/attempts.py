"""Every transmission of anything: the raw material of retry, availability and error reports."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import (
    ROW_ORDER,
    is_event,
    is_outbound,
    is_passing,
    is_true,
    key_hash,
)
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    duration,
    instant,
    ordinal,
    text,
)
from onceonly.message.event import Event

DEFINITION: Final = Definition(
    "attempts",
    None,
    "one row per transmission: of a message, an acknowledgement, an error, an inquiry, a "
    "report, a receipt, a notice, or an intermediary's copy",
    "what the transport knew about it; accepted is not acknowledged. Of messages the "
    "beginning is known too, and one that a crash cut off has no end",
    (
        text("party", "who transmitted"),
        *KEY_COLUMNS,
        text("what", "message, acknowledgement, error, inquiry, report, receipt, notice or copy"),
        text("peer", "the other end: the partner, or of an intermediary's the next address"),
        ordinal("attempt", "number of the transmission; begins again at 1 after a resume"),
        instant("began_at", "its first byte may have left; null where only the end is journalled"),
        instant("ended_at", "it ended; null where a crash cut it off, or it is still under way"),
        duration("took_us", "from beginning to end, by the clock that never jumps"),
        text("outcome", "accepted, refused or unknown; null where it has no end"),
        ordinal("status_code", "HTTP status or SMTP reply, where there was one"),
        text("transport", "how it travelled"),
        text("endpoint", "where it was posted"),
        text("agreement_id", "TPAId or CPAId"),
        ordinal("hop", "which hop transmitted, where an intermediary did"),
        text("reason", "what the transport said, in words"),
        ordinal("seq", "number of its row in that journal"),
    ),
)


WHAT: Final = {
    Event.TRANSMITTED: "message",
    Event.ACK_SENT: "acknowledgement",
    Event.ACK_RELAYED: "acknowledgement",
    Event.ERROR_SENT: "error",
    Event.ERROR_RELAYED: "error",
    Event.RECEIPT_SENT: "receipt",
    Event.PING_SENT: "inquiry",
    Event.INQUIRY_SENT: "inquiry",
    Event.REPORT_SENT: "report",
    Event.FAILURE_NOTICE_SENT: "notice",
    Event.FORWARDED: "copy",
}
"""What each row about an end of a transmission had sent."""

_ENDS: Final = ("at", "monotonic_ns", "store_epoch", "event", "outcome", "status_code", "reason")


def table(journal: DataFrame, *also: str) -> DataFrame:
    """The transmissions in the journal.

    An end belongs to the latest beginning with its number: a number is used again after a resume.
    """
    ended = journal.where(is_event(*[event for event in WHAT if event is not Event.TRANSMITTED]))
    return (
        _of_messages(journal)
        .unionByName(_with_no_beginning(ended))
        .withColumns({"what": _what(), "peer": peer()})
        .select(*DEFINITION.names, *also)
    )


def _of_messages(journal: DataFrame) -> DataFrame:
    one = Window.partitionBy(key_hash(), "party", *KEY, "attempt").orderBy(*ROW_ORDER)
    rows = journal.where(is_event(Event.TRANSMITTING, Event.TRANSMITTED))
    following = {f"end_{name}": F.lead(name).over(one) for name in _ENDS}
    begins = is_event(Event.TRANSMITTING)
    is_ended = begins & is_true(F.col("end_event") == F.lit(Event.TRANSMITTED.value))
    before = F.lag("event").over(one)
    is_alone = ~begins & is_true(F.coalesce(before, F.lit("")) != F.lit(Event.TRANSMITTING.value))
    paired = rows.withColumns({**following, "is_alone": is_alone})
    is_measured = is_ended & (F.col("end_store_epoch") == F.col("store_epoch"))

    def end_of(name: str) -> Column:
        return F.when(is_ended, F.col(f"end_{name}")).when(F.col("is_alone"), F.col(name))

    return (
        paired.where(begins | F.col("is_alone"))
        .withColumns(
            {
                "began_at": F.when(begins, F.timestamp_micros("at")),
                "ended_at": F.timestamp_micros(end_of("at")),
                "took_us": F.when(
                    is_measured, F.expr("(end_monotonic_ns - monotonic_ns) div 1000")
                ),
                "outcome": end_of("outcome"),
                "status_code": end_of("status_code"),
                "reason": end_of("reason"),
                "event": F.lit(Event.TRANSMITTED.value),
            }
        )
        .drop(*following, "is_alone")
    )


def _with_no_beginning(rows: DataFrame) -> DataFrame:
    return rows.withColumns(
        {
            "began_at": F.lit(None).cast("timestamp"),
            "ended_at": F.timestamp_micros("at"),
            "took_us": F.lit(None).cast("bigint"),
        }
    )


def _what() -> Column:
    words = [F.when(is_event(event), F.lit(word)) for event, word in WHAT.items()]
    return F.coalesce(*words)


def peer() -> Column:
    """Who is at the other end of the transmission that the row tells of."""
    partner = F.when(is_outbound(), F.col("to_party")).otherwise(F.col("from_party"))
    return F.when(is_passing(), F.col("endpoint")).otherwise(partner)
