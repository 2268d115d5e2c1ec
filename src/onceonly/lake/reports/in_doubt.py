"""Report 2, the in-doubt register: every message whose fate its sender does not know."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_event, is_outbound, is_passing
from onceonly.lake.reports.columns import age_class, is_given_up, is_there
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    count,
    duration,
    instant,
    size,
    text,
)
from onceonly.lake.verdicts import Verdict, is_promised
from onceonly.message.event import Event
from onceonly.message.signals import MessageStatus

DEFINITION: Final = Definition(
    "in_doubt",
    2,
    "one row per outbound message whose fate its sender does not know: it was sent, and given up "
    "waiting for, or an intermediary that had acknowledged it doubts the delivery",
    "what is open, for how long, what evidence there is, and the one thing to do about it",
    (
        *KEY_COLUMNS,
        text("agreement_id", "TPAId or CPAId"),
        instant("submitted_at", "accepted from the application"),
        instant("first_sent_at", "first transmission began"),
        instant("last_sent_at", "last transmission began"),
        instant("in_doubt_since_at", "the retries were used up, or the application was told"),
        duration("age_us", "since then, at the instant of judgement"),
        text("age_bucket", "that, in classes"),
        count("transmissions", "transmissions", "that began"),
        count("sends_refused", "transmissions", "of which the transport says that they failed"),
        size("sent_bytes", "size of the payloads"),
        text("last_answer", "what the partner last said about it; null where nothing"),
        instant("last_answer_at", "when"),
        text("partner_evidence", "stored, not stored, or no journal of the partner in the lake"),
        text("verdict", "the message's class"),
        text("suggested_action", "what to do next; resending the same message is always safe"),
    ),
)


STORED: Final = "stored"
NOT_STORED: Final = "not stored"
NO_JOURNAL: Final = "no journal"

SETTLE_DELIVERED: Final = "settle as delivered"
SETTLE_TAKEN_BACK: Final = "settle as taken back"
SEND_AGAIN: Final = "send the same message again"
ASK_ON_THE_WAY: Final = "ask again: an intermediary has it"
WAIT_FOR_EVIDENCE: Final = "wait for the partner's journal"
ASK: Final = "ask the partner for its status, or for its journal"


def doubted(judged: DataFrame) -> DataFrame:
    """The judged lifecycles in doubt, with `in_doubt_since` (µs UTC)."""
    return judged.where(
        is_promised() & is_there("submitted_at") & is_there("first_sent_at") & is_given_up()
    ).withColumn("in_doubt_since", F.least("exhausted_at", "notified_at"))


def table(judged: DataFrame, journal: DataFrame, *, as_of: int) -> DataFrame:
    """The register at `as_of` (µs UTC); the gravest verdicts are not first, readers sort."""
    age_us = F.lit(as_of) - F.col("in_doubt_since")
    return (
        doubted(judged)
        .join(_told(journal), list(KEY), "left")
        .withColumns(
            {
                "age_us": F.greatest(age_us, F.lit(0)),
                "partner_evidence": _evidence(),
                "sent_bytes": F.col("sent_bytes"),
            }
        )
        .withColumns(
            {
                "age_bucket": age_class(F.col("age_us")),
                "suggested_action": _action(),
                "submitted_at": F.timestamp_micros("submitted_at"),
                "first_sent_at": F.timestamp_micros("first_sent_at"),
                "last_sent_at": F.timestamp_micros("last_sent_at"),
                "in_doubt_since_at": F.timestamp_micros("in_doubt_since"),
            }
        )
        .select(*DEFINITION.names)
    )


def _told(journal: DataFrame) -> DataFrame:
    """What the sender's journal has beside the lifecycle: the last answer."""
    return (
        journal.where(is_event(Event.REPORT_RECEIVED))
        # Who delivers further asks the next one, and numbers its rows by its own journal.
        .where(is_outbound() & ~is_passing())
        .groupBy(*KEY)
        .agg(F.max(F.struct("seq", "at", "reason")).alias("last"))
        .select(
            *KEY,
            F.col("last.reason").alias("last_answer"),
            F.timestamp_micros("last.at").alias("last_answer_at"),
        )
    )


def _evidence() -> Column:
    return (
        F.when(is_there("stored_at"), F.lit(STORED))
        .when(F.col("is_two_sided"), F.lit(NOT_STORED))
        .otherwise(F.lit(NO_JOURNAL))
    )


def _says(*statuses: MessageStatus) -> Column:
    # The answer may go on after the status: how far the application is.
    status = F.substring_index(F.coalesce("last_answer", F.lit("")), ",", 1)
    return status.isin([status.value for status in statuses])


def _action() -> Column:
    is_withheld = (F.col("withholdings") > 0) & (F.col("hand_overs") == 0)
    is_waiting = F.col("verdict") == F.lit(Verdict.IN_FLIGHT.value)
    return (
        F.when(is_there("cancel_confirmed_at"), F.lit(SETTLE_TAKEN_BACK))
        .when(is_there("stored_at") & ~is_withheld, F.lit(SETTLE_DELIVERED))
        .when(is_there("stored_at"), F.lit(SEND_AGAIN))
        .when(_says(MessageStatus.RECEIVED, MessageStatus.PROCESSED), F.lit(SETTLE_DELIVERED))
        .when(_says(MessageStatus.FORWARDED), F.lit(ASK_ON_THE_WAY))
        .when(_says(MessageStatus.NOT_RECOGNIZED), F.lit(SEND_AGAIN))
        .when(F.col("is_two_sided") & ~is_waiting, F.lit(SEND_AGAIN))
        .when(F.col("is_two_sided"), F.lit(WAIT_FOR_EVIDENCE))
        .otherwise(F.lit(ASK))
    )
