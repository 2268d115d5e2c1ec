"""Report 11: where the SequenceNumbers of a pair do not simply go on."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import ROW_ORDER, is_event, is_outbound, is_passing, is_true
from onceonly.lake.stretches import ROWS_AT_ONCE, with_greatest_before
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    instant,
    ordinal,
    text,
)
from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.message.message import SEQUENCE_NUMBER_MAX, DeliverySemantics

DEFINITION: Final = Definition(
    "sequence_gaps",
    11,
    "one row per number that does not follow the one before it, in either party's journal",
    "missing ranges, resets, wraps, and what arrived out of order; numbers alone never make a"
    " duplicate",
    (
        text("party", "whose journal tells it"),
        text("side", "sending or receiving"),
        *PAIR_COLUMNS,
        text(
            "kind",
            "gap, reset, wrap, back, same, refused or announced (the sender says that it "
            "begins again)",
        ),
        ordinal("previous_number", "the number before it"),
        ordinal("sequence_number", "the number that came"),
        count("missing", "numbers", "between the two, of a gap"),
        instant("at", "when"),
        text("message_id", "the message that brought it"),
        text("reason", "what stands beside it, in words"),
        ordinal("seq", "number of its row in that journal"),
    ),
)


def table(journal: DataFrame, *, stretch_rows: int = ROWS_AT_ONCE) -> DataFrame:
    """What does not simply go on; the first number that a journal tells has nothing before it.

    Repeated transmissions of a message carry its number again and are no news.
    """
    side = F.when(is_outbound(), F.lit("sending")).otherwise(F.lit("receiving"))
    is_number = is_event(Event.TRANSMITTING, Event.STORED)
    number = F.when(is_number, F.struct(*ROW_ORDER, "sequence_number", "message_id"))
    told = (
        journal.where(is_event(*_TELLING))
        .where(_is_told() & ~is_passing())
        .withColumn("side", side)
    )
    rows = (
        with_greatest_before(
            told,
            "before",
            number,
            line=("party", "side", "from_party", "to_party"),
            order=ROW_ORDER,
            length=stretch_rows,
        )
        .withColumns(
            {
                "previous_number": F.col("before.sequence_number"),
                "previous_id": F.col("before.message_id"),
            }
        )
        .where(~is_number | is_true(F.col("message_id") != F.col("previous_id")))
        .withColumn("kind", _kind())
    )
    is_gap = F.col("kind") == F.lit("gap")
    between = F.col("sequence_number") - F.col("previous_number") - F.lit(1)
    return (
        rows.where(F.col("kind").isNotNull())
        .withColumns({"missing": F.when(is_gap, between), "at": F.timestamp_micros("at")})
        .select(*DEFINITION.names)
    )


_TELLING: Final = (Event.TRANSMITTING, Event.STORED, Event.REJECTED, Event.SEQUENCE_RESET)


def _is_told() -> Column:
    """Rows with a number of a reliable message, or about numbers."""
    is_numbered = F.col("sequence_number").isNotNull()
    reliable = F.coalesce("semantics", F.lit("")) != F.lit(DeliverySemantics.BEST_EFFORT.value)
    refused = F.col("error_code") == F.lit(ErrorCode.INVALID_SEQUENCE_NUMBER.value)
    return (
        (is_event(Event.TRANSMITTING, Event.STORED) & is_numbered & reliable)
        # Outbound it is the same refusal once more, at the message that the refused one answers.
        | is_true(is_event(Event.REJECTED) & refused & ~is_outbound())
        | is_event(Event.SEQUENCE_RESET)
    )


def _kind() -> Column:
    number, before = F.col("sequence_number"), F.col("previous_number")
    return (
        F.when(is_event(Event.SEQUENCE_RESET), F.lit("announced"))
        .when(is_event(Event.REJECTED), F.lit("refused"))
        .when(before.isNull() | (number == before + 1), F.lit(None))
        .when((number == 1) & (before == SEQUENCE_NUMBER_MAX), F.lit("wrap"))
        .when(number == 1, F.lit("reset"))
        .when(number == before, F.lit("same"))
        .when(number < before, F.lit("back"))
        .otherwise(F.lit("gap"))
    )
