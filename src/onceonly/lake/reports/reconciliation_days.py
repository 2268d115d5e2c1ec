"""Report 3: how many messages of each pair and day fell into each class."""

from typing import Final

from pyspark.sql import DataFrame

from onceonly.lake.reports.reconciliation import added
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    day,
    size,
    text,
)

DEFINITION: Final = Definition(
    "reconciliation",
    3,
    "one row per day, pair and verdict that has messages",
    "what both journals together say about each day's messages",
    (
        day("day", "of the submission; where the sender's journal lacks it, of the first row"),
        *PAIR_COLUMNS,
        text("verdict", "the class"),
        text("standing", "what the class asks of people"),
        count("messages", "messages", "in the class"),
        count("one_sided", "messages", "of them with one party's journal only"),
        size("payload_bytes", "size of their payloads"),
    ),
)


def table(counts: DataFrame) -> DataFrame:
    """The class matrix per day and pair, of `reconciliation.counts` or a union of them."""
    return added(counts).select(*DEFINITION.names)
