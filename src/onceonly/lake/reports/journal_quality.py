"""Report 27: how good the evidence itself is."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.journal.record import SCHEMA_VERSION
from onceonly.lake.expressions import ROW_ORDER, any_of, is_event, is_true, one_if
from onceonly.lake.stretches import IS_HERE, STRETCH, with_row_before
from onceonly.lake.tables.definition import (
    Definition,
    count,
    duration,
    flag,
    instant,
    ordinal,
    text,
)
from onceonly.lake.verdicts import Policy, Verdict, is_so, witnesses
from onceonly.message.event import Event

DEFINITION: Final = Definition(
    "journal_quality",
    27,
    "one row per party that published a journal, or that a journal names as a partner",
    "gaps, what is kept apart, forks, clocks that jumped, rows that contradict one another, and "
    "who gives no evidence. How late a segment came is in the lake's manifest, not in the journal",
    (
        text("party", "whose journal"),
        flag("has_journal", "rows of it are in the lake"),
        text(
            "status",
            "whole; else the gravest of: no journal, not whole, ends early (others tell of what "
            "it should have behind its end)",
        ),
        count("rows", "rows", "each counted once"),
        instant("first_at", "first row"),
        instant("last_at", "last row"),
        count("missing", "rows", "numbers that no row has"),
        count("quarantined", "segments", "kept apart: damaged, edited, or no journal's"),
        count("forks", "rows", "whose number another row has too"),
        ordinal("first_bad_seq", "first number at which one of these shows"),
        ordinal("last_seq", "number of its last row"),
        text("last_hash", "hash of its last row, which is over all rows before it"),
        count(
            "behind_end",
            "messages",
            "that it lacks, and others tell of at an instant after its last row: absence there "
            "proves nothing until the rest is ingested",
        ),
        count("unknown_events", "rows", "with an event that this version does not know"),
        count("newer_rows", "rows", "of a schema version that this version does not know"),
        count("restarts", "openings", "of the store beyond the first"),
        count("unclean_stops", "openings", "that no orderly stop came before"),
        count("backward_steps", "rows", "with an earlier instant than the row before"),
        count(
            "clock_jumps",
            "jumps",
            "of the wall clock against the monotonic one by more than the agreed accuracy",
        ),
        duration("largest_jump_us", "the largest"),
        count(
            "order_violations",
            "messages",
            "whose rows contradict their order: handed over before stored, acknowledged "
            "before sent",
        ),
        count(
            "unmatched_messages",
            "messages",
            "that the other party's journal should tell and does not",
        ),
        count("drills", "rows", "that say that times and faults are not real"),
    ),
)


_COUNTS: Final = tuple(
    column.name
    for column in DEFINITION.columns
    if column.unit in ("rows", "segments", "openings", "jumps")
)


def table(
    stretches: DataFrame,
    judged: DataFrame,
    coverage: DataFrame,
    wholeness: DataFrame,
    *,
    as_of: int,
    policy: Policy,
) -> DataFrame:
    """The quality of each party's evidence at `as_of` (µs UTC), judged by `policy`.

    `stretches` is what `by_stretch` gives of all journals.

    `wholeness` has the columns `wholeness.COLUMNS`, as the ingest found them: it verified every
    row's hash. A party all of whose segments are in quarantine has a row by it, and no journal.

    A gateway that sends under several PartyIds has one row, under the name of its journal. Who only
    refused what was meant for somebody else does not answer for that one's evidence.
    """
    owners = witnesses(coverage).withColumnRenamed("journal", "party")
    faults = (
        _faults(_with_ends(judged, coverage), as_of, policy)
        .join(owners, "holder", "left")
        .withColumn("party", F.coalesce("party", "holder"))
        .groupBy("party")
        .agg(
            F.sum("order_violations").alias("order_violations"),
            F.sum("unmatched_messages").alias("unmatched_messages"),
            F.sum("behind_end").alias("behind_end"),
        )
    )
    zeros = {name: F.coalesce(name, F.lit(0)) for name in (*_COUNTS, *_OF_MESSAGES)}
    return (
        _of_parties(stretches)
        .join(wholeness, "party", "full")
        .withColumn("has_journal", F.col("rows") > 0)
        .join(faults, "party", "full")
        .withColumns({**zeros, "has_journal": is_true(F.col("has_journal"))})
        .withColumn("status", _status())
        .select(*DEFINITION.names)
    )


_OF_MESSAGES: Final = ("order_violations", "unmatched_messages", "behind_end")

NO_JOURNAL: Final = "no journal"
NOT_WHOLE: Final = "not whole"
ENDS_EARLY: Final = "ends early"
WHOLE: Final = "whole"


def _status() -> Column:
    is_bad = F.col("missing") + F.col("quarantined") + F.col("forks") > 0
    return (
        F.when(~F.col("has_journal"), F.lit(NO_JOURNAL))
        .when(is_bad, F.lit(NOT_WHOLE))
        .when(F.col("behind_end") > 0, F.lit(ENDS_EARLY))
        .otherwise(F.lit(WHOLE))
    )


def _with_ends(judged: DataFrame, coverage: DataFrame) -> DataFrame:
    """The judged lifecycles with the ends of the journals that tell of either party's deeds."""
    ends = coverage.groupBy("party").agg(F.max("last_at").alias("end"))
    of_holders = witnesses(coverage).join(ends, F.col("journal") == F.col("party"))
    for holder, end in (("from_party", "sender_end"), ("to_party", "receiver_end")):
        of_this = of_holders.select(F.col("holder").alias(holder), F.col("end").alias(end))
        judged = judged.join(F.broadcast(of_this), holder, "left")
    return judged


def by_stretch(journal: DataFrame, *, accuracy_us: int, stretch_rows: int) -> DataFrame:
    """What each party's own rows show, each beside the row before it, per stretch (`STRETCH`).

    A clock jumps that changes by more than `accuracy_us` (mshTimeAccuracy).
    """
    stretched = with_row_before(journal, stretch_rows)
    line = Window.partitionBy("party", STRETCH).orderBy(*ROW_ORDER)
    before = {
        f"previous_{name}": F.lag(name).over(line)
        for name in ("at", "monotonic_ns", "store_epoch", "event")
    }
    went = F.col("at") - F.col("previous_at")
    is_one_life = F.col("store_epoch") == F.col("previous_store_epoch")
    jump = F.abs(went - F.expr("(monotonic_ns - previous_monotonic_ns) div 1000"))
    is_jump = is_one_life & (jump > F.lit(accuracy_us))
    known = [event.value for event in Event]
    opens = is_event(Event.STARTED) & F.col("previous_event").isNotNull()
    return (
        stretched.withColumns(before)
        .where(IS_HERE)
        .groupBy("party", STRETCH)
        .agg(
            F.min("at").alias("first_at"),
            F.max("at").alias("last_at"),
            F.sum(one_if(~F.col("event").isin(known))).alias("unknown_events"),
            F.sum(one_if(F.col("schema_version") > F.lit(SCHEMA_VERSION))).alias("newer_rows"),
            # Not the difference of two epochs: a restored store skips some (I35).
            F.sum(one_if(F.col("store_epoch") != F.col("previous_store_epoch"))).alias("restarts"),
            F.sum(one_if(opens & (F.col("previous_event") != F.lit(Event.STOPPED.value)))).alias(
                "unclean_stops"
            ),
            F.sum(one_if(went < 0)).alias("backward_steps"),
            F.sum(one_if(is_jump)).alias("clock_jumps"),
            F.max(F.when(is_jump, jump)).alias("largest_jump_us"),
            F.sum(one_if(is_event(Event.DRILL))).alias("drills"),
        )
    )


def _of_parties(stretches: DataFrame) -> DataFrame:
    """What `by_stretch` tells, of each party's whole journal."""
    ends = {"first_at": F.min, "last_at": F.max}
    sums = [name for name in stretches.columns if name in _COUNTS]
    return stretches.groupBy("party").agg(
        *[F.timestamp_micros(end(name)).alias(name) for name, end in ends.items()],
        *[F.sum(name).alias(name) for name in sums],
        F.max("largest_jump_us").alias("largest_jump_us"),
    )


def _faults(judged: DataFrame, as_of: int, policy: Policy) -> DataFrame:
    """Per message and holder: whether its rows contradict their order, or are not there."""
    sender = (
        ("first_sent_seq", "submitted_seq"),
        ("acked_seq", "first_sent_seq"),
    )
    receiver = (
        ("ack_sent_seq", "stored_seq"),
        ("handed_over_seq", "stored_seq"),
        ("first_repeat_seq", "stored_seq"),
    )
    has_sender = F.col("sender_rows") > 0
    has_receiver = F.col("receiver_rows") > 0
    one_sided = ~F.col("is_two_sided")

    def is_fact(wanted: Verdict) -> Column:
        return is_so(wanted, as_of=as_of, policy=policy)

    is_unsent, is_unstored = is_fact(Verdict.RECEIVED_NOT_SENT), is_fact(Verdict.ACKED_NOT_STORED)
    lacks_sender = is_unsent | (one_sided & ~has_sender)
    lacks_receiver = is_unstored | (one_sided & ~has_receiver)
    is_absent = is_unsent | is_fact(Verdict.ACK_LOST)
    behind_senders = is_absent & (F.col("stored_at") > F.col("sender_end"))
    # Of what was acknowledged and sent again it is the acknowledgement that counts.
    told_at = F.coalesce(F.least("acked_at", "late_acked_at"), F.col("last_sent_at"))
    is_absent = is_unstored | is_fact(Verdict.SENT_NOT_RECEIVED)
    behind_receivers = is_absent & (told_at > F.col("receiver_end"))
    faults = F.array(
        _fault("from_party", _is_out_of_order(*sender), lacks_sender, behind_senders),
        _fault("to_party", _is_out_of_order(*receiver), lacks_receiver, behind_receivers),
    )
    return judged.select(F.inline(faults)).where(F.col("holder").isNotNull())


def _is_out_of_order(*orders: tuple[str, str]) -> Column:
    """Whether some later row has a smaller number than the earlier one, both being there."""
    return any_of(*[F.col(later) < F.col(earlier) for later, earlier in orders])


def _fault(holder: str, violates: Column, lacks: Column, is_behind: Column) -> Column:
    return F.struct(
        F.col(holder).alias("holder"),
        one_if(violates).alias("order_violations"),
        one_if(lacks).alias("unmatched_messages"),
        one_if(is_behind).alias("behind_end"),
    )
