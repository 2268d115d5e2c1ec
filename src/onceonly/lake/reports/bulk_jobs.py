"""Report 25: what became of the rows of each bulk job."""

from functools import reduce
from operator import add
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import is_event, is_outbound, is_true, one_if
from onceonly.lake.reports.columns import is_given_up, is_there, stands_acknowledged
from onceonly.lake.schemas import KEY
from onceonly.lake.tables.definition import (
    Definition,
    count,
    flag,
    instant,
    size,
    text,
)
from onceonly.lake.tables.operator_actions import JOB_ACTOR
from onceonly.lake.verdicts import stands_settled
from onceonly.message.event import Event

DEFINITION: Final = Definition(
    "bulk_jobs",
    25,
    "one row per party and job that submitted messages or had rows refused",
    "rows told add up: accepted and rejected; accepted again to what became of them. A row "
    "whose MessageId was known already is replayed and leaves no row in the journal, so "
    "replays are counted by the job's own report",
    (
        text("party", "whose gateway"),
        text("job", "the job's name"),
        instant("first_at", "first row taken or refused"),
        instant("last_at", "last one"),
        count("told", "rows", "that the journal tells: accepted and rejected"),
        count("accepted", "rows", "that became messages"),
        count(
            "rejected",
            "rows",
            "that the gateway refused; those that were accepted later are not among them",
        ),
        count("acknowledged", "messages", "acknowledged, in time or late, and not denied since"),
        count("sent", "messages", "sent, where nobody acknowledges"),
        count("failed", "messages", "failed or expired for good"),
        count("taken_back", "messages", "cancelled"),
        count("settled", "messages", "whose doubt an operator ended with a word"),
        count("in_doubt", "messages", "given up without knowing"),
        count("under_way", "messages", "queued or being sent"),
        flag("adds_up", "accepted is the sum of what became of them"),
        flag("is_settled", "nothing is under way or in doubt"),
        size("payload_bytes", "size of the payloads accepted"),
    ),
)


ID_TAKEN: Final = "MessageIdTaken"
"""Why a row is refused: another content has its MessageId."""

FATES: Final = (
    *("acknowledged", "taken_back", "failed", "sent", "settled", "in_doubt", "under_way"),
)
"""What may become of an accepted row; the first that holds."""


def rows_of_jobs(journal: DataFrame) -> DataFrame:
    """The rows that jobs had taken or refused, with `job` and `is_taken`."""
    told = is_event(Event.SUBMITTED) | (is_event(Event.REJECTED) & is_outbound())
    name = F.substring("actor", len(JOB_ACTOR) + 1, _NAME_CHARS_MAX)
    return journal.where(told & F.col("actor").startswith(JOB_ACTOR)).withColumns(
        {"job": name, "is_taken": is_event(Event.SUBMITTED)}
    )


_NAME_CHARS_MAX: Final = 1 << 20
"""More than any name of a job: the rest of the text."""


def table(judged: DataFrame, journal: DataFrame) -> DataFrame:
    """The jobs in the journal.

    Rows are told apart by their MessageIds, which are one gateway's own: a row that was refused and
    tried again counts once, as taken if it ever was. Refused rows without one count each, and one
    that was refused since its MessageId was another's is a row of its own.
    """
    is_taken = F.col("is_taken")
    lives = judged.select(*KEY, _fate().alias("fate"))
    counts = [F.sum(one_if(F.col("fate") == F.lit(fate))).alias(fate) for fate in FATES]
    ended = ("acknowledged", "sent", "failed", "taken_back", "settled")
    became = reduce(add, map(F.col, ended))
    open_ones = F.col("in_doubt") + F.col("under_way")
    return (
        _each_once(journal)
        .join(lives, list(KEY), "left")
        .groupBy("party", "job")
        .agg(
            F.timestamp_micros(F.min("first")).alias("first_at"),
            F.timestamp_micros(F.max("last")).alias("last_at"),
            F.count("*").alias("told"),
            F.sum(one_if(is_taken)).alias("accepted"),
            F.sum(one_if(~is_taken)).alias("rejected"),
            *counts,
            F.coalesce(F.sum("bytes"), F.lit(0)).alias("payload_bytes"),
        )
        .withColumns(
            {
                "adds_up": F.col("accepted") == became + open_ones,
                "is_settled": open_ones == F.lit(0),
            }
        )
        .select(*DEFINITION.names)
    )


def _each_once(journal: DataFrame) -> DataFrame:
    """The rows of the jobs; a refused row names no parties, so it belongs to no life."""
    nameless = F.when(F.col("message_id").isNull(), F.col("seq"))
    is_twin = is_true(F.col("error_code") == F.lit(ID_TAKEN))

    def of_taken(name: str) -> Column:
        return F.max(F.when(F.col("is_taken"), F.col(name)))

    return (
        rows_of_jobs(journal)
        .withColumns({"nameless": nameless, "is_twin": is_twin})
        .groupBy("party", "job", "message_id", "nameless", "is_twin")
        .agg(
            F.max("is_taken").alias("is_taken"),
            F.min("at").alias("first"),
            F.max("at").alias("last"),
            of_taken("size_bytes").alias("bytes"),
            of_taken("from_party").alias("from_party"),
            of_taken("to_party").alias("to_party"),
        )
    )


def _fate() -> Column:
    return (
        F.when(stands_acknowledged(), F.lit("acknowledged"))
        .when(is_there("cancelled_at"), F.lit("taken_back"))
        .when(is_there("failed_at") | is_there("expired_at"), F.lit("failed"))
        .when(is_there("sent_only_at"), F.lit("sent"))
        .when(stands_settled(), F.lit("settled"))
        .when(is_given_up(), F.lit("in_doubt"))
        .otherwise(F.lit("under_way"))
    )
