"""Report 13, message by message: how much time each open message has left."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.reports.budgets import Terms, agreed, lifetime
from onceonly.lake.reports.columns import ended, is_there
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    count,
    duration,
    flag,
    instant,
    text,
)
from onceonly.lake.verdicts import is_promised

DEFINITION: Final = Definition(
    "open_budgets",
    13,
    "one row per submitted message without a verdict, for which one is owed",
    "when it will be given up and when it expires. Those columns are null unless the "
    "agreements' terms are given",
    (
        *KEY_COLUMNS,
        text("agreement_id", "TPAId or CPAId"),
        instant("submitted_at", "accepted from the application"),
        instant("first_sent_at", "first transmission began"),
        count("transmissions", "transmissions", "that began"),
        duration("age_us", "since the submission"),
        instant(
            "verdict_due_at",
            "latest verdict by the terms, counted from the first transmission; null for what was "
            "given up once and taken up again",
        ),
        instant("expires_at", "its sender may not send it any more"),
        duration(
            "margin_us",
            "from the verdict to the expiry; below 0 a retry outlives the message",
        ),
        flag("is_overdue", "the verdict is due already"),
    ),
)


def table(judged: DataFrame, *, as_of: int, terms: Terms) -> DataFrame:
    """The open messages at `as_of` (µs UTC) under `terms`."""
    is_open = is_promised() & is_there("submitted_at") & ended().isNull()
    # When it was taken up again no fold tells.
    due = F.when(F.col("given_up_seq").isNull(), F.col("first_sent_at") + F.col("worst_case_us"))
    expiry = F.col("submitted_at") + lifetime()
    return (
        judged.where(is_open)
        .withColumns(agreed(terms))
        .withColumns({"due": due, "expiry": expiry})
        .withColumns(
            {
                "age_us": F.lit(as_of) - F.col("submitted_at"),
                "verdict_due_at": F.timestamp_micros("due"),
                "expires_at": F.timestamp_micros("expiry"),
                "margin_us": F.col("expiry") - F.col("due"),
                "is_overdue": F.col("due") < F.lit(as_of),
                "submitted_at": F.timestamp_micros("submitted_at"),
                "first_sent_at": F.timestamp_micros("first_sent_at"),
            }
        )
        .select(*DEFINITION.names)
    )
