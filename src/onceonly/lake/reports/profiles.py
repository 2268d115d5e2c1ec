"""Report 28: which profile messages went under, and what evidence of receipt there is of them."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_event, is_inbound, is_outbound, is_passing, one_if
from onceonly.lake.marks import PROOF_OF_RECEIPT, asked_for_evidence, ever, keeps_evidence
from onceonly.lake.reports.columns import is_acknowledged
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import PAIR_COLUMNS, Definition, column, count, text
from onceonly.lake.verdicts import DIFFERENCES
from onceonly.message.event import Event

SIGNERS_MAX: Final = 20
"""Of a pair, each way: far more than keys that anybody changes; a stranger may write any number."""

DEFINITION: Final = Definition(
    "profiles",
    28,
    "one row per pair, agreement and profile that messages went under",
    "which wire form was used, and of how many messages the sender can prove that they arrived. "
    "`evidence_asked` adds up to `evidence_kept`, `evidence_missing` and `unacknowledged`. What is "
    "in a signed envelope the journal does not hold, only its digest: onceonly message evidence "
    "has it",
    (
        *PAIR_COLUMNS,
        text("agreement_id", "TPAId or CPAId; the sender's word where both tell"),
        text("profile", "the wire form and its rules; the sender's word where both tell"),
        count("messages", "messages", "under it"),
        count("differing", "messages", "in a class that must not be, or that somebody must settle"),
        count("evidence_asked", "messages", "that asked for a signed acknowledgement"),
        count("evidence_kept", "messages", "of these: their sender keeps a signed one as evidence"),
        count("evidence_missing", "messages", "of these: acknowledged, and no evidence is kept"),
        count("unacknowledged", "messages", "of these: without an acknowledgement so far"),
        count("signed", "messages", "whose signed envelope their receiver keeps"),
        column(
            "receipt_signers",
            "array<string>",
            "",
            "SHA-256 of the certificates that signed the acknowledgements kept by the sender",
        ),
        column(
            "message_signers",
            "array<string>",
            "",
            "SHA-256 of the certificates that signed the messages kept by the receiver",
        ),
    ),
)

_PROOF_OF_ORIGIN: Final = "message"
"""`reason` of an EvidenceKept row whose envelope is the message itself."""


def table(judged: DataFrame, journal: DataFrame) -> DataFrame:
    """The profiles of the judged messages."""
    asked, proven, acknowledged = asked_for_evidence(), keeps_evidence(), is_acknowledged()
    is_grave = F.col("verdict").isin([verdict.value for verdict in DIFFERENCES])
    return (
        judged.where(ever(Event.SUBMITTED, Event.STORED))
        .join(_signatures(journal), list(KEY), "left")
        .groupBy("from_party", "to_party", "agreement_id", "profile")
        .agg(
            F.count("*").alias("messages"),
            F.sum(one_if(is_grave)).alias("differing"),
            F.sum(one_if(asked)).alias("evidence_asked"),
            F.sum(one_if(asked & proven)).alias("evidence_kept"),
            F.sum(one_if(asked & ~proven & acknowledged)).alias("evidence_missing"),
            F.sum(one_if(asked & ~proven & ~acknowledged)).alias("unacknowledged"),
            F.sum(one_if(F.col("is_signed"))).alias("signed"),
            _each_once("receipt_signer").alias("receipt_signers"),
            _each_once("message_signer").alias("message_signers"),
        )
        .select(*DEFINITION.names)
    )


def _signatures(journal: DataFrame) -> DataFrame:
    """Who signed what is kept of each message of which something is kept."""
    is_receipt = is_outbound() & (F.col("reason") == F.lit(PROOF_OF_RECEIPT))
    is_origin = is_inbound() & (F.col("reason") == F.lit(_PROOF_OF_ORIGIN))
    return (
        journal.where(is_event(Event.EVIDENCE_KEPT) & ~is_passing())
        # Its rows are in two journals: to fold them before they travel would only sort them.
        .repartition(*KEY)
        .groupBy(*KEY)
        .agg(
            F.max(F.when(is_receipt, F.col("signer"))).alias("receipt_signer"),
            F.max(F.when(is_origin, F.col("signer"))).alias("message_signer"),
            F.max(is_origin).alias("is_signed"),
        )
    )


def _each_once(signer: str) -> Column:
    return F.slice(F.array_sort(F.collect_set(signer)), 1, SIGNERS_MAX)
