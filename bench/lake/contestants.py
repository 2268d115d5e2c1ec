"""The same reconciliation four times, and the two floors under it.

Each contestant reads the same segments and ends with the number of messages of each verdict. The
rules for DuckDB and polars are written out here once more, in their own words, so that they are
also a second opinion: all counts must be equal.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb
import polars as pl
from pyspark.sql import DataFrame

from onceonly.lake import marks, model
from onceonly.lake.verdicts import Policy, verdict
from onceonly.message.event import Event

Counts = dict[str, int]

_ENDS: Final = [
    *(event.value for event in (*marks.SENDER_EVENTS, *marks.RECEIVER_EVENTS)),
    Event.ORPHAN_ACK_RECEIVED.value,
]
_PASSING: Final = [event.value for event in marks.PASSING_EVENTS]
_GRACE_US: Final = Policy().grace_us
_WITHIN_US: Final = Policy().verdict_within_us


def spark(rows: DataFrame, as_of: int) -> Counts:
    """The product: partial and verdict as they are. What is folded at once needs no merge."""
    judged = verdict(model.partial(rows), model.coverage(rows), as_of=as_of, policy=Policy())
    found = judged.groupBy("verdict").count().collect()
    return {row["verdict"]: row["count"] for row in found}


def spark_lifecycles(rows: DataFrame) -> None:
    """Every column of every lifecycle, as ingesting makes them; written nowhere."""
    _run(model.partial(rows))


def group_count(rows: DataFrame) -> None:
    """Spark's own floor: the least that any account of each message costs."""
    _run(rows.groupBy("message_id").count())


def shuffle(rows: DataFrame) -> None:
    """Every row, whole, to where its message is: what a plain `collect_list` would begin with."""
    _run(rows.repartition("message_id"))


def _run(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


_FACTS: Final = """
WITH journal AS (
  SELECT *, coalesce(from_party, party) AS sender, hop IS NULL AS own,
    CASE WHEN event = 'OrphanAckReceived' THEN coalesce(ref_to_message_id, message_id,
                                                            'no MessageId, row ' || seq)
         ELSE message_id END AS id,
    event IN ('Submitted', 'Stored', 'HandedOver') AS with_content,
    coalesce(semantics = 'BestEffort', FALSE) AS by_best_effort,
    coalesce(reason, '') LIKE 'method Transport%' AS by_transport,
    event = 'Exhausted' OR (event = 'Notified'
                            AND coalesce(reason = 'DeliveryFailure', FALSE)) AS gives_up
  FROM read_parquet($files)
), holders AS (
  SELECT DISTINCT coalesce(CASE WHEN own AND direction = 'out' THEN from_party
                                WHEN own AND direction = 'in' THEN to_party END, party) AS holder
  FROM journal
), life AS (
  SELECT sender, to_party, id,
    bool_or(own AND event = 'Submitted') AS submitted,
    bool_or(own AND event = 'Transmitting') AS sent,
    max("at") FILTER (own AND event = 'Transmitting') AS last_sent_at,
    min("at") FILTER (own AND event IN ('AckReceived', 'LateAckReceived')) AS acked_at,
    bool_or(own AND event = 'LateAckReceived') AS acked_late,
    bool_or(own AND (event IN ('Failed', 'Expired', 'Cancelled')
                     OR (event = 'Notified' AND reason = 'DeliveryFailure'))) AS told,
    bool_or(own AND event = 'Cancelled') AS cancelled,
    min("at") FILTER (own AND event = 'Stored') AS stored_at,
    bool_or(own AND event = 'Withheld') AS held_back,
    bool_or(own AND event = 'CancelConfirmed') AS confirmed,
    bool_or(NOT own AND event = 'Stored') AS in_custody,
    count(*) FILTER (own AND event = 'HandedOver') AS hand_overs,
    count(*) FILTER (own AND event = 'HandedOverAgain') AS asked_again,
    bool_or(own AND event = 'CollisionDetected') AS collided,
    bool_or(own AND event = 'Rejected') AS rejected,
    bool_or(own AND event = 'OrphanAckReceived') AS orphaned,
    min(hash(digest)) FILTER (own AND with_content AND digest IS NOT NULL) AS least,
    max(hash(digest)) FILTER (own AND with_content AND digest IS NOT NULL) AS greatest,
    min(hash(header_digest)) FILTER (own AND with_content AND header_digest IS NOT NULL)
      AS least_header,
    max(hash(header_digest)) FILTER (own AND with_content AND header_digest IS NOT NULL)
      AS greatest_header,
    NOT bool_or(own AND event = 'Sent')
      AND (bool_or(own AND event = 'Submitted' AND NOT by_best_effort AND NOT by_transport)
           OR NOT bool_or(by_best_effort OR (own AND event IN ('Submitted', 'Stored')
                                             AND by_transport))) AS owed,
    bool_or(own AND event IN ('Submitted', 'Stored') AND by_transport)
      AND NOT bool_or(by_best_effort)
      AND NOT bool_or(own AND event = 'Submitted' AND NOT by_transport) AS entrusted,
    bool_or(own AND event = 'Sent') AS ended_by_sending,
    greatest(max(seq) FILTER (own AND event IN ('Transmitting', 'Requeued')), 0) AS begun_seq,
    greatest(max(seq) FILTER (own AND gives_up),
             min(seq) FILTER (own AND event IN ('Failed', 'Expired', 'Cancelled')), 0) AS ended_seq
  FROM journal
  WHERE id IS NOT NULL AND (to_party IS NOT NULL OR event = 'OrphanAckReceived')
    AND NOT (event = 'Rejected'
             AND (coalesce(direction = 'out', FALSE) OR coalesce(reason, '') LIKE 'signal %'))
    AND CASE WHEN own THEN list_contains($ends, event) ELSE list_contains($passing, event) END
  GROUP BY sender, to_party, id
), facts AS (
  SELECT *, acked_at IS NOT NULL AS acked, stored_at IS NOT NULL AS stored,
    hand_overs > 0 AS handed, held_back AND hand_overs = 0 AS withheld,
    told AND NOT (ended_seq > 0 AND begun_seq > ended_seq) AS given_up,
    coalesce(acked_at + $grace < $as_of, FALSE) AS acked_long_ago,
    coalesce(stored_at + $grace < $as_of, FALSE) AS stored_long_ago,
    coalesce(last_sent_at + $grace < $as_of, FALSE) AS sent_long_ago,
    in_custody AND coalesce(acked_at + $within < $as_of, FALSE) AS stuck,
    sender IN (SELECT holder FROM holders) AND
      coalesce(to_party IN (SELECT holder FROM holders), FALSE) AS two_sided
  FROM life
), agreed AS (
  SELECT *, owed OR (entrusted AND two_sided) AS promised,
    acked OR (entrusted AND ended_by_sending) AS done
  FROM facts
)
SELECT CASE
  WHEN promised AND hand_overs > 1 + asked_again THEN 'DELIVERED_TWICE'
  WHEN least < greatest OR least_header < greatest_header THEN 'CONTENT_MISMATCH'
  WHEN collided THEN 'COLLISION'
  WHEN two_sided AND stored_long_ago AND NOT submitted THEN 'RECEIVED_NOT_SENT'
  WHEN promised AND two_sided AND acked AND acked_long_ago AND NOT stored AND NOT in_custody
    THEN 'ACKED_NOT_STORED'
  WHEN submitted AND confirmed AND (cancelled OR NOT acked) THEN 'TAKEN_BACK'
  WHEN stored_long_ago AND NOT handed AND (acked OR NOT withheld) THEN 'NOT_DELIVERED_TO_APP'
  WHEN orphaned AND NOT sent AND NOT stored THEN 'ORPHAN_ACK'
  WHEN NOT promised THEN 'BEST_EFFORT'
  WHEN submitted AND done AND stored AND handed AND NOT acked_late AND NOT told THEN 'MATCHED'
  WHEN submitted AND done AND stored AND handed THEN 'MATCHED_LATE'
  WHEN NOT two_sided THEN 'ONE_SIDED'
  WHEN submitted AND given_up AND NOT done AND stored AND NOT withheld
    THEN 'FAILED_BUT_DELIVERED'
  WHEN submitted AND given_up AND (NOT sent OR sent_long_ago)
    AND ((NOT stored AND (NOT acked OR in_custody)) OR (withheld AND NOT acked))
    THEN 'FAILED_NOT_DELIVERED'
  WHEN submitted AND stored_long_ago AND NOT done THEN 'ACK_LOST'
  WHEN submitted AND sent AND sent_long_ago AND NOT stored AND (NOT acked OR stuck)
    THEN 'SENT_NOT_RECEIVED'
  WHEN rejected AND NOT submitted AND NOT stored THEN 'REFUSED'
  ELSE 'IN_FLIGHT' END AS verdict, count(*) AS messages
FROM agreed GROUP BY ALL
"""


def by_duckdb(files: Sequence[str], as_of: int, threads: int) -> Counts:
    """DuckDB, one query."""
    # What it writes where its memory ends goes beside the lake, and not to where somebody stands.
    spills = str(Path(files[0]).parents[3] / "duckdb")
    with duckdb.connect(config={"threads": threads, "temp_directory": spills}) as database:
        given = {
            "files": list(files),
            "ends": _ENDS,
            "passing": _PASSING,
            "grace": _GRACE_US,
            "within": _WITHIN_US,
            "as_of": as_of,
        }
        return dict(database.execute(_FACTS, given).fetchall())


def by_polars(files: Sequence[str], as_of: int) -> Counts:
    """Polars, lazily, by its streaming engine; it takes every core that there is."""
    nameless = pl.lit("no MessageId, row ") + pl.col("seq").cast(pl.String)
    rows = pl.scan_parquet(list(files)).with_columns(
        sender=pl.coalesce("from_party", "party"),
        own=pl.col("hop").is_null(),
        id=pl.when(pl.col("event") == "OrphanAckReceived")
        .then(pl.coalesce("ref_to_message_id", "message_id", nameless))
        .otherwise("message_id"),
    )
    holder = pl.coalesce(
        pl.when(pl.col("own") & (pl.col("direction") == "out")).then("from_party"),
        pl.when(pl.col("own") & (pl.col("direction") == "in")).then("to_party"),
        "party",
    )
    holders = rows.select(holder.alias("holder")).unique().collect(engine="streaming")
    life = _lives(rows)
    judged = _judged(life, holders["holder"], as_of)
    counted = judged.group_by("verdict").len().collect(engine="streaming")
    return dict(counted.iter_rows())


def _lives(rows: pl.LazyFrame) -> pl.LazyFrame:
    def ours(*events: str) -> pl.Expr:
        known = pl.col("event").is_in(events) if len(events) > 1 else pl.col("event") == events[0]
        return pl.col("own") & known

    def ever(condition: pl.Expr) -> pl.Expr:
        return condition.any()

    def at(condition: pl.Expr) -> pl.Expr:
        return pl.when(condition).then("at")

    wanted = (
        pl.when("own").then(pl.col("event").is_in(_ENDS)).otherwise(pl.col("event").is_in(_PASSING))
    )
    named = pl.col("to_party").is_not_null() | (pl.col("event") == "OrphanAckReceived")
    no_message = (pl.col("direction") == "out").fill_null(value=False) | pl.col(
        "reason"
    ).str.starts_with("signal ").fill_null(value=False)
    refused_here = (pl.col("event") == "Rejected") & no_message
    has_content = ours("Submitted", "Stored", "HandedOver") & pl.col("digest").is_not_null()
    content = pl.when(has_content).then(pl.col("digest").hash())
    has_header = ours("Submitted", "Stored", "HandedOver") & pl.col("header_digest").is_not_null()
    header = pl.when(has_header).then(pl.col("header_digest").hash())
    told = ours("Failed", "Expired", "Cancelled") | (
        ours("Notified") & (pl.col("reason") == "DeliveryFailure").fill_null(value=False)
    )
    by_best_effort = (pl.col("semantics") == "BestEffort").fill_null(value=False)
    by_transport = pl.col("reason").str.starts_with("method Transport").fill_null(value=False)
    gives_up = ours("Exhausted") | (
        ours("Notified") & (pl.col("reason") == "DeliveryFailure").fill_null(value=False)
    )

    def number(condition: pl.Expr) -> pl.Expr:
        return pl.when(condition).then("seq")

    return (
        rows.filter(
            pl.col("id").is_not_null() & named & wanted & ~refused_here.fill_null(value=False)
        )
        .group_by("sender", "to_party", "id")
        .agg(
            submitted=ever(ours("Submitted")),
            sent=ever(ours("Transmitting")),
            last_sent_at=at(ours("Transmitting")).max(),
            acked_at=at(ours("AckReceived", "LateAckReceived")).min(),
            acked_late=ever(ours("LateAckReceived")),
            told=ever(told),
            cancelled=ever(ours("Cancelled")),
            stored_at=at(ours("Stored")).min(),
            held_back=ever(ours("Withheld")),
            confirmed=ever(ours("CancelConfirmed")),
            in_custody=ever(~pl.col("own") & (pl.col("event") == "Stored")),
            hand_overs=ours("HandedOver").sum(),
            asked_again=ours("HandedOverAgain").sum(),
            collided=ever(ours("CollisionDetected")),
            rejected=ever(ours("Rejected")),
            orphaned=ever(ours("OrphanAckReceived")),
            least=content.min(),
            greatest=content.max(),
            least_header=header.min(),
            greatest_header=header.max(),
            only_sent=ever(ours("Sent")),
            unpromised=ever(by_best_effort | (ours("Submitted", "Stored") & by_transport)),
            by_best_effort=ever(by_best_effort),
            promised_here=ever(ours("Submitted") & ~by_best_effort & ~by_transport),
            begun_seq=number(ours("Transmitting", "Requeued")).max(),
            given_up_seq=number(gives_up).max(),
            final_seq=number(ours("Failed", "Expired", "Cancelled")).min(),
        )
    )


def _judged(life: pl.LazyFrame, holders: pl.Series, as_of: int) -> pl.LazyFrame:
    c = pl.col

    def is_long_ago(name: str, than_us: int = _GRACE_US) -> pl.Expr:
        return (c(name) + than_us < as_of).fill_null(value=False)

    known = holders.implode()
    two_sided = c("sender").is_in(known) & c("to_party").is_in(known).fill_null(value=False)
    acked, stored = c("acked_at").is_not_null(), c("stored_at").is_not_null()
    handed, submitted, told = c("hand_overs") > 0, c("submitted"), c("told")
    withheld = c("held_back") & ~handed
    entrusted = c("unpromised") & ~c("by_best_effort") & ~c("promised_here")
    owed = ~c("only_sent") & (c("promised_here") | ~c("unpromised"))
    promised = owed | (entrusted & two_sided)
    done = acked | (entrusted & c("only_sent"))
    ended = pl.max_horizontal("given_up_seq", "final_seq")
    given_up = told & ~(c("begun_seq") > ended).fill_null(value=False)
    sent_long_ago = is_long_ago("last_sent_at")
    stuck = c("in_custody") & is_long_ago("acked_at", than_us=_WITHIN_US)
    matched = submitted & done & stored & handed
    undelivered = (~stored & (~acked | c("in_custody"))) | (withheld & ~acked)
    classes = {
        "DELIVERED_TWICE": promised & (c("hand_overs") > 1 + c("asked_again")),
        "CONTENT_MISMATCH": (c("least") < c("greatest")).fill_null(value=False)
        | (c("least_header") < c("greatest_header")).fill_null(value=False),
        "COLLISION": c("collided"),
        "RECEIVED_NOT_SENT": two_sided & is_long_ago("stored_at") & ~submitted,
        "ACKED_NOT_STORED": promised
        & two_sided
        & is_long_ago("acked_at")
        & ~stored
        & ~c("in_custody"),
        "TAKEN_BACK": submitted & c("confirmed") & (c("cancelled") | ~acked),
        "NOT_DELIVERED_TO_APP": is_long_ago("stored_at") & ~handed & (acked | ~withheld),
        "ORPHAN_ACK": c("orphaned") & ~c("sent") & ~stored,
        "BEST_EFFORT": ~promised,
        "MATCHED": matched & ~c("acked_late") & ~told,
        "MATCHED_LATE": matched,
        "ONE_SIDED": ~two_sided,
        "FAILED_BUT_DELIVERED": submitted & given_up & ~done & stored & ~withheld,
        "FAILED_NOT_DELIVERED": submitted & given_up & (~c("sent") | sent_long_ago) & undelivered,
        "ACK_LOST": submitted & is_long_ago("stored_at") & ~done,
        "SENT_NOT_RECEIVED": submitted & c("sent") & sent_long_ago & ~stored & (~acked | stuck),
        "REFUSED": c("rejected") & ~submitted & ~stored,
    }
    word = pl.coalesce(
        *[pl.when(holds).then(pl.lit(name)) for name, holds in classes.items()], pl.lit("IN_FLIGHT")
    )
    return life.select(word.alias("verdict"))
