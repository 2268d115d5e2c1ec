"""When each pair was open, suspended or quarantined."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import ROW_ORDER, is_event, is_outbound
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    duration,
    instant,
    ordinal,
    text,
)
from onceonly.message.event import Event

DEFINITION: Final = Definition(
    "channel_intervals",
    None,
    "one row per state of a pair, from the row that began it to the next one",
    "how long a pair stood still and on whose word; a pair that was never closed has no row",
    (
        text("party", "whose journal tells it"),
        text("side", "sending or receiving"),
        *PAIR_COLUMNS,
        text("state", "open, suspended or quarantined"),
        instant("from_at", "the state began"),
        instant("until_at", "it ended; null where it goes on"),
        duration("length_us", "until its end, or until the instant of judgement; never below 0"),
        text("reason", "on whose word, or why"),
        ordinal("seq", "number of the row that began it"),
    ),
)


STATES: Final = {
    Event.PAIR_RESUMED: "open",
    Event.PAIR_SUSPENDED: "suspended",
    Event.PAIR_QUARANTINED: "quarantined",
}
"""The state that each row begins."""


def table(journal: DataFrame, *, as_of: int) -> DataFrame:
    """The states of the pairs, up to `as_of` (µs UTC)."""
    pair = Window.partitionBy("party", "side", "from_party", "to_party").orderBy(*ROW_ORDER)
    side = F.when(is_outbound(), F.lit("sending")).otherwise(F.lit("receiving"))
    words = [F.when(is_event(event), F.lit(word)) for event, word in STATES.items()]
    until = F.lead("at").over(pair)
    return (
        journal.where(is_event(*STATES))
        .withColumn("side", side)
        .withColumns({"state": F.coalesce(*words), "until": until})
        .withColumns(
            {
                "from_at": F.timestamp_micros("at"),
                "until_at": F.timestamp_micros("until"),
                # A clock that was set back between two rows makes no time.
                "length_us": F.greatest(F.coalesce("until", F.lit(as_of)) - F.col("at"), F.lit(0)),
            }
        )
        .select(*DEFINITION.names)
    )
