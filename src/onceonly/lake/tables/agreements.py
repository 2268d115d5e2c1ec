"""Every agreement as it was used."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.journal.record import METHOD_TRANSPORT
from onceonly.lake.expressions import is_event, is_passing
from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    flag,
    instant,
    text,
)
from onceonly.message.event import Event

DEFINITION: Final = Definition(
    "agreements",
    None,
    "one row per party, agreement, pair, profile and semantics that messages went under",
    "from when to when an agreement was used in which form. The journal tells the use, not "
    "the text: what was agreed about times and retries is not in it",
    (
        text("party", "whose journal tells it"),
        text("agreement_id", "TPAId or CPAId"),
        *PAIR_COLUMNS,
        text("profile", "the wire form and its rules"),
        text("semantics", "the agreed delivery semantics"),
        flag("is_acknowledged", "false where the transport is to be reliable itself"),
        instant("valid_from_at", "first message"),
        instant("valid_until_at", "last message; null where no other form of it was used since"),
        count("messages", "messages", "submitted or stored under it"),
        flag("is_current", "no other form of the agreement was used since"),
    ),
)


_FORM: Final = (
    "party",
    "agreement_id",
    "from_party",
    "to_party",
    "profile",
    "semantics",
    "is_acknowledged",
)


def table(journal: DataFrame) -> DataFrame:
    """The agreements as the journal's messages used them."""
    by_transport = F.coalesce("reason", F.lit("")).startswith(METHOD_TRANSPORT)
    used = journal.where(is_event(Event.SUBMITTED, Event.STORED) & ~is_passing())
    forms = (
        used.withColumn("is_acknowledged", ~by_transport)
        .groupBy(*_FORM)
        .agg(
            F.min("at").alias("from_us"),
            F.max("at").alias("until_us"),
            F.count("*").alias("messages"),
        )
    )
    same = Window.partitionBy("party", "agreement_id", "from_party", "to_party")
    return (
        forms.withColumn("is_current", F.col("until_us") == F.max("until_us").over(same))
        .withColumns(
            {
                "valid_from_at": F.timestamp_micros("from_us"),
                "valid_until_at": F.when(~F.col("is_current"), F.timestamp_micros("until_us")),
            }
        )
        .select(*DEFINITION.names)
    )
