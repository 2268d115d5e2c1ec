"""Report 17: which errors there were, the most frequent first."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import bin_start, is_event, is_outbound, is_true, one_if
from onceonly.lake.tables.definition import (
    Definition,
    count,
    instant,
    share,
    text,
)
from onceonly.message.event import Event
from onceonly.protocol.events import Outcome

DEFINITION: Final = Definition(
    "error_pareto",
    17,
    "one row per phase, code, party, peer and transport",
    "where errors come from. One failure may show in several phases: a refused transmission, "
    "and later the verdict",
    (
        text("phase", "submit, transmit, answer, arrival, acknowledge or verdict"),
        text("code", "code on the wire, or the transport's: HTTP 503, refused, unknown"),
        text("party", "whose journal tells it"),
        text("peer", "the other party, where the row names it"),
        text("transport", "how it travelled, where the row tells"),
        count("occurrences", "rows", "with it"),
        count("messages", "messages", "that it happened to"),
        instant("first_at", "first time"),
        instant("last_at", "last time"),
        share("phase_share", "of the phase's occurrences"),
        share("cumulative_share", "of the phase's occurrences, with every more frequent one"),
    ),
)


_OUTGOING: Final = (Event.TRANSMITTED, Event.FORWARDED)
_ANSWERING: Final = (
    Event.ACK_SENT,
    Event.ACK_RELAYED,
    Event.ERROR_SENT,
    Event.RECEIPT_SENT,
    Event.REPORT_SENT,
)
_ARRIVING: Final = (Event.REJECTED, Event.COLLISION_DETECTED)
_DECIDING: Final = (Event.EXHAUSTED, Event.EXPIRED, Event.FAILED)
_TELLING: Final = (*_OUTGOING, Event.ERROR_RECEIVED, *_ARRIVING, *_ANSWERING, *_DECIDING)


def errors(journal: DataFrame) -> DataFrame:
    """The journal's rows that tell of an error, with `phase`, `code` and `peer`."""
    peer = F.when(is_outbound(), F.col("to_party")).otherwise(F.col("from_party"))
    return (
        # Files that have none of these events are then not read.
        journal.where(is_event(*_TELLING))
        .withColumn("phase", _phase())
        .where(F.col("phase").isNotNull())
        .withColumns({"code": _code(), "peer": peer})
    )


def by_bin(journal: DataFrame, width_us: int, *also: str) -> DataFrame:
    """The errors by bin of `width_us`, phase, code and place; instants in microseconds UTC.

    `bin` is the start of the bin. A message counts in the first bin of a phase, code and place.
    """
    kind = ("phase", *_PLACE, *also)
    is_of_one = F.col("message_id").isNotNull()
    message = F.struct(F.coalesce("from_party", "party"), "to_party", "message_id")
    # A row about no message is one of many, and none of them is the first of a message.
    line = Window.partitionBy(*kind, "message")
    is_first = F.col("message").isNotNull() & (F.col("bin") == F.min("bin").over(line))
    return (
        errors(journal)
        .groupBy(
            *kind,
            bin_start(F.col("at"), width_us).alias("bin"),
            F.when(is_of_one, message).alias("message"),
        )
        .agg(
            F.count("*").alias("occurrences"),
            F.min("at").alias("first_at"),
            F.max("at").alias("last_at"),
        )
        .withColumn("messages", one_if(is_first))
        .groupBy(*kind, "bin")
        .agg(
            F.sum("occurrences").alias("occurrences"),
            F.sum("messages").alias("messages"),
            F.min("first_at").alias("first_at"),
            F.max("last_at").alias("last_at"),
        )
    )


_PLACE: Final = ("code", "party", "peer", "transport")


def table(bins: DataFrame) -> DataFrame:
    """The errors by phase and code, of what `by_bin` gives of all rows of each message."""
    phase = Window.partitionBy("phase")
    ranked = phase.orderBy(F.col("occurrences").desc(), *_PLACE)
    so_far = ranked.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    whole = F.sum("occurrences").over(phase)
    return (
        bins.groupBy("phase", *_PLACE)
        .agg(
            F.sum("occurrences").alias("occurrences"),
            F.sum("messages").alias("messages"),
            F.timestamp_micros(F.min("first_at")).alias("first_at"),
            F.timestamp_micros(F.max("last_at")).alias("last_at"),
        )
        .withColumns(
            {
                "phase_share": F.col("occurrences") / whole,
                "cumulative_share": F.sum("occurrences").over(so_far) / whole,
            }
        )
        .select(*DEFINITION.names)
    )


def _phase() -> Column:
    is_bad = is_true(F.col("outcome") != F.lit(Outcome.ACCEPTED.value))
    return (
        F.when(is_event(Event.REJECTED) & F.col("actor").isNotNull(), F.lit("submit"))
        # What came back about a message of ours, and could not be taken.
        .when(is_event(Event.REJECTED) & is_outbound(), F.lit("answer"))
        .when(is_event(*_OUTGOING) & is_bad, F.lit("transmit"))
        .when(is_event(Event.ERROR_RECEIVED), F.lit("answer"))
        .when(is_event(*_ARRIVING), F.lit("arrival"))
        .when(is_event(*_ANSWERING) & is_bad, F.lit("acknowledge"))
        .when(is_event(*_DECIDING), F.lit("verdict"))
    )


def _code() -> Column:
    """The code on the wire; of a transmission, what the transport said."""
    is_mail = F.coalesce("transport", F.lit("")).startswith("smtp")
    protocol = F.when(is_mail, F.lit("SMTP")).otherwise(F.lit("HTTP"))
    status = F.concat_ws(" ", protocol, F.col("status_code").cast("string"))
    said = F.when(F.col("status_code").isNotNull(), status).otherwise(F.col("outcome"))
    by_transport = F.col("phase").isin("transmit", "acknowledge")
    return F.when(by_transport, said).otherwise(F.coalesce("error_code", F.lit("none")))
