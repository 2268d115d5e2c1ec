"""Every message as each party keeps it: the header that evidence needs."""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import ROW_ORDER, is_event, is_passing, key_hash
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    instant,
    ordinal,
    size,
    text,
)
from onceonly.message.event import Event

DEFINITION: Final = Definition(
    "messages",
    None,
    "one row per party and message that it submitted, stored, or took into its care",
    "what the message was: its header, size and digest, and who keeps it in which role",
    (
        text("party", "whose journal tells it"),
        text("role", "sender, receiver or intermediary"),
        *KEY_COLUMNS,
        instant("kept_at", "in that party's persistent storage"),
        ordinal("seq", "number of that row in its journal"),
        text("ref_to_message_id", "the message that it answers"),
        text("conversation_id", "ConversationId"),
        text("agreement_id", "TPAId or CPAId"),
        text("profile", "the wire form and its rules"),
        text("semantics", "the agreed delivery semantics"),
        text("service", "Service"),
        text("action", "Action"),
        size("size_bytes", "sum of the payloads"),
        text("digest", "SHA-256 of the payloads, hexadecimal"),
        text("header_digest", "SHA-256 of the canonical header, hexadecimal"),
        text("actor", "who submitted it, where a job or a person did"),
    ),
)


def table(journal: DataFrame, *also: str) -> DataFrame:
    """The messages that these journals took in, each once per party and role."""
    role = (
        F.when(is_passing(), F.lit("intermediary"))
        .when(is_event(Event.SUBMITTED), F.lit("sender"))
        .otherwise(F.lit("receiver"))
    )
    of_one = Window.partitionBy(key_hash(), "party", "role", *KEY).orderBy(*ROW_ORDER)
    return (
        journal.where(is_event(Event.SUBMITTED, Event.STORED))
        .withColumn("role", role)
        # Not by `row_number`: Spark then looks for the first ones before the rows travel as well,
        # and sorts them for it, where nearly all are the only ones.
        .withColumn("before", F.lag(F.lit(1)).over(of_one))
        .where("before IS NULL")
        .withColumn("kept_at", F.timestamp_micros("at"))
        .select(*DEFINITION.names, *also)
    )
