"""Every hand-over to an application, and how far the application got with it."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import ROW_ORDER, is_event, is_passing, key_hash
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
from onceonly.message.signals import ReportedProcessing

DEFINITION: Final = Definition(
    "app_deliveries",
    None,
    "one row per hand-over of a message to the receiving application",
    "when it was handed over and worked on; a second row of one message is a broken promise "
    "unless nothing was promised, or somebody asked for it",
    (
        text("party", "whose application"),
        *KEY_COLUMNS,
        ordinal("number", "1 for the first hand-over of the message, 2 for the second"),
        instant("asked_at", "somebody asked for it, since the application had lost the message"),
        instant("stored_at", "in the receiver's persistent storage"),
        instant("handed_over_at", "in the application's inbox"),
        duration("waited_us", "from the store to the inbox"),
        instant("in_progress_at", "the application said that it had begun"),
        instant("complete_at", "the application said that it was done"),
        instant("refused_at", "the application said that it will not process it"),
        text("digest", "SHA-256 of what was handed over, where the journal has it"),
        ordinal("seq", "number of its row in that journal"),
    ),
)


_EVENTS: Final = (
    Event.STORED,
    Event.HANDED_OVER,
    Event.HANDED_OVER_AGAIN,
    Event.PROCESSING_CHANGED,
    Event.APPLICATION_REFUSED,
)


def table(journal: DataFrame, *also: str) -> DataFrame:
    """The hand-overs in the journal."""
    message = Window.partitionBy(key_hash(), "party", *KEY)
    in_turn = message.orderBy(*ROW_ORDER)
    before = in_turn.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # What was asked for has its number in each of its rows; the others have none.
    hand_over = Window.partitionBy(key_hash(), "party", *KEY, F.coalesce("attempt", F.lit(1)))

    def first_of(condition: Column, within: WindowSpec = hand_over) -> Column:
        return F.min(F.when(condition, F.col("at"))).over(within)

    said = {word: is_event(Event.PROCESSING_CHANGED) & _says(word) for word in ReportedProcessing}
    rows = journal.where(is_event(*_EVENTS) & ~is_passing()).withColumns(
        {
            "number": F.sum(F.when(is_event(Event.HANDED_OVER), F.lit(1))).over(before),
            "stored_us": first_of(is_event(Event.STORED), message),
            "asked_us": first_of(is_event(Event.HANDED_OVER_AGAIN)),
            "begun_us": first_of(said[ReportedProcessing.IN_PROGRESS]),
            "done_us": first_of(said[ReportedProcessing.COMPLETE]),
            "refused_us": first_of(is_event(Event.APPLICATION_REFUSED)),
        }
    )
    return (
        rows.where(is_event(Event.HANDED_OVER))
        .withColumns(
            {
                "asked_at": F.timestamp_micros("asked_us"),
                "stored_at": F.timestamp_micros("stored_us"),
                "handed_over_at": F.timestamp_micros("at"),
                "waited_us": F.when(
                    F.col("stored_us").isNotNull(),
                    F.greatest(F.col("at") - F.col("stored_us"), F.lit(0)),
                ),
                "in_progress_at": F.timestamp_micros("begun_us"),
                "complete_at": F.timestamp_micros("done_us"),
                "refused_at": F.timestamp_micros("refused_us"),
            }
        )
        .select(*DEFINITION.names, *also)
    )


def _says(word: ReportedProcessing) -> Column:
    return F.col("reason") == F.lit(word.value)
