"""Report 5: expected against acknowledged, in bins of the time of sending."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.model import stats
from onceonly.lake.reports.columns import of
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    instant,
    share,
)

DEFINITION: Final = Definition(
    "promise",
    5,
    "one row per bin of the first transmission and pair",
    "of what was sent then, how much is acknowledged, handed over, eliminated or open by now",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        count("sent", "messages", "first sent in the bin, for which an acknowledgement was agreed"),
        count("acknowledged", "messages", "of them acknowledged, in time or late"),
        count("handed_over", "messages", "of them that reached the receiving application"),
        count(
            "two_sided",
            "messages",
            "of them with both journals in the lake: only these can be known to be handed over",
        ),
        count(
            "settled",
            "messages",
            "of them not acknowledged, and failed, expired or taken back for good",
        ),
        count("eliminated", "copies", "of them eliminated as duplicates"),
        count("unpromised", "messages", "first sent in the bin for which none was agreed"),
        share("completeness_share", "acknowledged of sent"),
    ),
)


def table(judged: DataFrame, *, width_us: int) -> DataFrame:
    """The bins of `width_us`; a bin in which nothing was sent has no row."""
    return (
        stats(judged, width_us=width_us)
        .withColumns(
            {
                "bin_at": F.timestamp_micros("bin_at"),
                "completeness_share": of(F.col("acknowledged"), F.col("sent")),
            }
        )
        .select(*DEFINITION.names)
    )
