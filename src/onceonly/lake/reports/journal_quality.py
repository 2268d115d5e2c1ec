"""Report 27: how good the evidence itself is."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.journal.record import SCHEMA_VERSION
from onceonly.lake.expressions import ROW_ORDER, any_of, is_event, is_true, one_if
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
        count("rows", "rows", "each counted once"),
        instant("first_at", "first row"),
        instant("last_at", "last row"),
        count("missing", "rows", "numbers that no row has"),
        count("quarantined", "segments", "kept apart: damaged, edited, or no journal's"),
        count("forks", "rows", "whose number another row has too"),
        ordinal("first_bad_seq", "first number at which one of these shows"),
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


STRETCH_ROWS: Final = 1 << 16
"""Rows that one task looks through at a time: a journal may be longer than a machine is."""


def table(  # noqa: PLR0913 - because the evidence, and by whom and when it is judged, are many
    journal: DataFrame,
    judged: DataFrame,
    coverage: DataFrame,
    wholeness: DataFrame,
    *,
    as_of: int,
    policy: Policy,
    stretch_rows: int = STRETCH_ROWS,
) -> DataFrame:
    """The quality of each party's evidence at `as_of` (µs UTC), judged by `policy`.

    `wholeness` has the columns `wholeness.COLUMNS`, as the ingest found them: it verified every
    row's hash. A party all of whose segments are in quarantine has a row by it, and no journal.

    A gateway that sends under several PartyIds has one row, under the name of its journal. Who only
    refused what was meant for somebody else does not answer for that one's evidence.
    """
    owners = witnesses(coverage).withColumnRenamed("journal", "party")
    faults = (
        _faults(judged, as_of, policy)
        .join(owners, "holder", "left")
        .withColumn("party", F.coalesce("party", "holder"))
        .groupBy("party")
        .agg(
            F.sum("order_violations").alias("order_violations"),
            F.sum("unmatched_messages").alias("unmatched_messages"),
        )
    )
    zeros = {name: F.coalesce(name, F.lit(0)) for name in (*_COUNTS, *_OF_MESSAGES)}
    return (
        _rows(_in_stretches(journal, stretch_rows), policy)
        .join(wholeness, "party", "full")
        .withColumn("has_journal", F.col("rows") > 0)
        .join(faults, "party", "full")
        .withColumns({**zeros, "has_journal": is_true(F.col("has_journal"))})
        .select(*DEFINITION.names)
    )


_OF_MESSAGES: Final = ("order_violations", "unmatched_messages")


def _rows(stretched: DataFrame, policy: Policy) -> DataFrame:
    """What each party's own rows show, each beside the row before it."""
    line = Window.partitionBy("party", "stretch").orderBy(*ROW_ORDER)
    before = {
        f"previous_{name}": F.lag(name).over(line)
        for name in ("at", "monotonic_ns", "store_epoch", "event")
    }
    went = F.col("at") - F.col("previous_at")
    is_one_life = F.col("store_epoch") == F.col("previous_store_epoch")
    jump = F.abs(went - F.expr("(monotonic_ns - previous_monotonic_ns) div 1000"))
    is_jump = is_one_life & (jump > F.lit(policy.clock_accuracy_us))
    known = [event.value for event in Event]
    opens = is_event(Event.STARTED) & F.col("previous_event").isNotNull()
    return (
        stretched.withColumns(before)
        .where("is_here")
        .groupBy("party")
        .agg(
            F.timestamp_micros(F.min("at")).alias("first_at"),
            F.timestamp_micros(F.max("at")).alias("last_at"),
            F.sum(one_if(~F.col("event").isin(known))).alias("unknown_events"),
            F.sum(one_if(F.col("schema_version") > F.lit(SCHEMA_VERSION))).alias("newer_rows"),
            (F.max("store_epoch") - F.min("store_epoch")).alias("restarts"),
            F.sum(one_if(opens & (F.col("previous_event") != F.lit(Event.STOPPED.value)))).alias(
                "unclean_stops"
            ),
            F.sum(one_if(went < 0)).alias("backward_steps"),
            F.sum(one_if(is_jump)).alias("clock_jumps"),
            F.max(F.when(is_jump, jump)).alias("largest_jump_us"),
            F.sum(one_if(is_event(Event.DRILL))).alias("drills"),
        )
    )


def _in_stretches(rows: DataFrame, length: int) -> DataFrame:
    """Every row in its `stretch`; the last one of each also before the next, and not `is_here`."""
    own = F.floor(F.col("seq") / length)
    is_last = F.pmod("seq", F.lit(length)) == length - 1
    stretches = F.when(is_last, F.array(own, own + 1)).otherwise(F.array(own))
    return rows.withColumn("stretch", F.explode(stretches)).withColumn(
        "is_here", F.col("stretch") == own
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
    is_unsent = is_so(Verdict.RECEIVED_NOT_SENT, as_of=as_of, policy=policy)
    is_unstored = is_so(Verdict.ACKED_NOT_STORED, as_of=as_of, policy=policy)
    lacks_sender = is_unsent | (one_sided & ~has_sender)
    lacks_receiver = is_unstored | (one_sided & ~has_receiver)
    faults = F.array(
        _fault("from_party", _is_out_of_order(*sender), lacks_sender),
        _fault("to_party", _is_out_of_order(*receiver), lacks_receiver),
    )
    return judged.select(F.inline(faults)).where(F.col("holder").isNotNull())


def _is_out_of_order(*orders: tuple[str, str]) -> Column:
    """Whether some later row has a smaller number than the earlier one, both being there."""
    return any_of(*[F.col(later) < F.col(earlier) for later, earlier in orders])


def _fault(holder: str, violates: Column, lacks: Column) -> Column:
    return F.struct(
        F.col(holder).alias("holder"),
        one_if(violates).alias("order_violations"),
        one_if(lacks).alias("unmatched_messages"),
    )
