"""Report 22: what purges have taken."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_event
from onceonly.lake.reports.columns import utc_day
from onceonly.lake.tables.definition import (
    Definition,
    count,
    day,
    text,
)
from onceonly.message.event import Event

DEFINITION: Final = Definition(
    "purges",
    22,
    "one row per party, day and kind of what was forgotten",
    "how many rows the gateway forgot; which ones is not in the journal",
    (
        text("party", "whose store"),
        day("day", "of the purge"),
        text(
            "what",
            "in the gateway's words: received, sent under an agreement, files of the spool",
        ),
        count("forgotten", "rows or files", "in all"),
        count("steps", "transactions", "in which"),
    ),
)


_WORDS: Final = r"^(\d+) (.*)$"
"""How a Purged row's `reason` says how many of what."""


def table(journal: DataFrame) -> DataFrame:
    """The purges in the journal."""
    count = F.regexp_extract("reason", _WORDS, 1).try_cast("bigint")
    return (
        journal.where(is_event(Event.PURGED))
        .withColumns(
            {
                "day": utc_day(F.col("at")),
                "what": F.regexp_extract("reason", _WORDS, 2),
                "count": count,
            }
        )
        .groupBy("party", "day", "what")
        # The numbers are words of a stranger: too much of them is null, and ends nobody's report.
        .agg(F.try_sum("count").alias("forgotten"), F.count("*").alias("steps"))
    )
