"""Report 1, the delivery ledger: the whole life of each message in one row, with its verdict."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import ROW_ORDER, is_event, is_passing, key_hash
from onceonly.lake.header_terms import COLUMNS
from onceonly.lake.marks import ever
from onceonly.lake.model import FOLDS
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    count,
    flag,
    instant,
    size,
    text,
)
from onceonly.message.event import Event

INSTANTS: Final = (
    "submitted_at",
    "first_sent_at",
    "last_sent_at",
    "stored_at",
    "acked_at",
    "late_acked_at",
    "handed_over_at",
    "notified_at",
    "exhausted_at",
    "failed_at",
    "expired_at",
    "cancelled_at",
    "settled_at",
    "last_at",
)
COUNTS: Final = (
    "transmissions",
    "sends_accepted",
    "sends_refused",
    "sends_unknown",
    "acks_received",
    "acks_sent",
    "repeats",
    "hand_overs",
    "hand_overs_asked",
    "collisions",
    "rejections",
)
BYTES: Final = ("sent_bytes", "stored_bytes")
HEADER: Final = (
    "conversation_id",
    "agreement_id",
    "semantics",
    "service",
    "action",
    "digest",
    "header_digest",
)
_OF_ONE_MESSAGE: Final = tuple(name for name in HEADER if name not in COLUMNS)
"""What lives do not keep, since it is of one message only."""

_HASH: Final = "key_hash"
_LINE: Final = (_HASH, *KEY)

VERDICT: Final = ("verdict", "standing", "is_two_sided", "differs", "settled_as")

_MEANINGS: Final = {fold.name: fold.meaning for fold in FOLDS}

DEFINITION: Final = Definition(
    "delivery_ledger",
    1,
    "one row per message, whichever journal knows it",
    "when it was submitted, sent, stored, acknowledged and handed over, how often, and the verdict",
    (
        *KEY_COLUMNS,
        text("verdict", "its class, the first that holds"),
        text("standing", "what the class asks of people"),
        flag("is_two_sided", "both parties' journals are in the lake"),
        text("differs", "what is told with different digests: payloads, header or both"),
        text("settled_as", "the word with which an operator ended a doubt"),
        *[text(name, "as submitted") for name in HEADER],
        *[instant(name, _MEANINGS[name]) for name in INSTANTS],
        *[count(name, "rows", _MEANINGS[name]) for name in COUNTS],
        *[size(name, _MEANINGS[name]) for name in BYTES],
    ),
)


def table(judged: DataFrame, journal: DataFrame, *also: str) -> DataFrame:
    """The ledger of `verdicts.verdict`'s rows; the header is that of the first Submitted.

    `also` are more columns of theirs that it keeps.
    """
    told = F.struct(*ROW_ORDER, *_OF_ONE_MESSAGE)
    header = (
        journal.where(is_event(Event.SUBMITTED) & ~is_passing())
        .select(key_hash().alias(_HASH), *KEY, told.alias("told"))
        # A message is submitted once: to fold its rows before they travel would only sort them.
        .repartition(*_LINE)
        .groupBy(*_LINE)
        .agg(F.min("told").alias("first"))
        .select(*_LINE, *[F.col(f"first.{name}").alias(name) for name in _OF_ONE_MESSAGE])
    )
    is_submitted = ever(Event.SUBMITTED)
    terms = {str(name): F.when(is_submitted, F.col(name)) for name in HEADER if name in COLUMNS}
    return (
        judged.withColumn(_HASH, key_hash())
        .join(header, list(_LINE), "left")
        .withColumns(terms)
        .select(
            *KEY,
            *VERDICT,
            *HEADER,
            *[_instant(name) for name in INSTANTS],
            *COUNTS,
            *BYTES,
            *also,
        )
    )


def _instant(name: str) -> Column:
    return F.timestamp_micros(name).alias(name)
