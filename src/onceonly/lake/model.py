"""From journal rows to the life of each message: folds that may be cut anywhere.

The theory
----------
Every fact about a message is a least instant, a greatest instant or a sum over its rows, in
either journal. Such folds commute and associate, so a batch of rows can be folded alone
(`partial`), folded batches can be folded again (`merge`), and the result does not depend on how
rows were cut into files, in which order they came, or how late one party's journal arrived
(invariant E4). No per-message state is kept between batches.

Both journals fold into the same row: a fold of a sender's event is null in the receiver's half.
So one grouping replaces the outer join of the two halves, and nothing has a null-side case.

Rows of an intermediary (`hop` is set) are neither half: they tell how the message passed, and have
folds of their own.

Order within a journal is judged by `seq`, never by instants: a wall clock may jump (I40).
Strings stand in the grouping key only; a string `min` costs Spark most of the whole job.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.journal.record import METHOD_TRANSPORT
from onceonly.lake import header_terms, marks
from onceonly.lake.expressions import (
    bin_start,
    holder,
    is_event,
    is_outbound,
    is_passing,
    is_true,
    one_if,
    subject,
)
from onceonly.lake.marks import RECEIVER_EVENTS, SENDER_EVENTS
from onceonly.lake.quantiles import Quantiles, summed
from onceonly.lake.schemas import KEY
from onceonly.lake.verdicts import is_promised, stands_settled
from onceonly.message.errors import Severity
from onceonly.message.event import Event
from onceonly.message.message import DeliverySemantics
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.events import Outcome, Settlement


class How(StrEnum):
    """How a fold makes one value of two; the same for rows and for folded batches."""

    MIN = "min"
    MAX = "max"
    SUM = "sum"
    OR = "bit_or"


class Fold(NamedTuple):
    """One column of a lifecycle: `how` over `value` of the rows where `when` holds.

    `value` and `when` are SQL expressions over a journal row, in Spark's own language: the
    reference prints them as they are, and one call makes the column where typed building would
    make a dozen, each a round trip into the JVM.
    """

    name: str
    how: How
    value: str
    when: str
    meaning: str

    def of_rows(self) -> Column:
        """The fold over journal rows."""
        otherwise = " ELSE 0L" if self.how is How.SUM else ""
        is_for_all = self.when == "TRUE"
        share = (
            self.value if is_for_all else f"CASE WHEN {self.when} THEN {self.value}{otherwise} END"
        )
        return F.expr(f"{self.how}({share}) AS {self.name}")

    def in_numbers(self) -> "Fold":
        """The same fold over journal rows that have their `marks.KIND` and `marks.OF_ROW`."""
        value = marks.OF_ROW if self.value == marks.MARKS_OF_ROW else self.value
        return self._replace(value=value, when=marks.in_numbers(self.when, passing=PASSING))

    def of_folds(self) -> Column:
        """The fold over values of itself."""
        return F.expr(f"{self.how}({self.name}) AS {self.name}")


_RELEASING: Final = (
    Event.ACK_RECEIVED,
    Event.LATE_ACK_RECEIVED,
    Event.FAILED,
    Event.EXPIRED,
    Event.CANCELLED,
    Event.SENT,
    Event.SETTLED,
    Event.REQUEUED,
    Event.NOTIFIED,
)


def _is(*events: Event) -> str:
    words = ", ".join(f"'{event.value}'" for event in events)
    return f"event IN ({words})" if len(events) > 1 else f"event = {words}"


def _passing(name: str, event: Event, meaning: str) -> Fold:
    return Fold(name, How.SUM, "1L", f"{PASSING} = '{event.value}'", meaning)


def _any(name: str, condition: str, events: tuple[Event, ...], meaning: str) -> Fold:
    return Fold(name, How.MAX, f"CAST({condition} AS BIGINT)", _is(*events), meaning)


def _first(name: str, event: Event, meaning: str) -> Fold:
    return Fold(name, How.MIN, "at", _is(event), meaning)


def _last(name: str, event: Event, meaning: str) -> Fold:
    return Fold(name, How.MAX, "at", _is(event), meaning)


def _row_number(name: str, *events: Event) -> Fold:
    words = " or ".join(event.value for event in events)
    return Fold(name, How.MIN, "seq", _is(*events), f"journal number of the first {words}")


def _count(name: str, *events: Event, meaning: str = "", only: str = "") -> Fold:
    words = ", ".join(event.value for event in events)
    when = f"{_is(*events)} AND {only}" if only else _is(*events)
    return Fold(name, How.SUM, "1L", when, meaning or f"rows {words}")


def _outcome(name: str, event: Event, outcome: Outcome) -> Fold:
    meaning = f"rows {event.value} with outcome {outcome.value}"
    return _count(name, event, meaning=meaning, only=f"outcome = '{outcome.value}'")


_FAILURE_TOLD = f"reason = '{NoticeKind.DELIVERY_FAILURE.value}'"


def _notices(name: str, severity: Severity, meaning: str) -> Fold:
    only = f"{_FAILURE_TOLD} AND severity = '{severity.value}'"
    return _count(name, Event.NOTIFIED, meaning=meaning, only=only)


PASSING: Final = "passing"
"""The event of an intermediary's row; `event` is null there, so that no half takes it."""

CONTENT, HEADER = "content", "header"
"""The two digests of Submitted, Stored and HandedOver as numbers of 64 bits (xxHash).

Enough to see that two contents differ; fixed-width numbers fold fast where strings do not. The
receiver compares all 256 bits before it calls a copy a duplicate, and differences are shown with
the whole digest.
"""
_WITH_CONTENT: Final = (Event.SUBMITTED, Event.STORED, Event.HANDED_OVER)
_WITH_TERMS: Final = (Event.SUBMITTED, Event.STORED)
_CONTENT_MEANING: Final = "digest of Submitted, Stored and HandedOver, as a number of 64 bits"
_HEADER_MEANING: Final = f"header {_CONTENT_MEANING}"


FOLDS: Final = (
    # The sender's half.
    _first("submitted_at", Event.SUBMITTED, "accepted from the application"),
    _first("first_sent_at", Event.TRANSMITTING, "first transmission began"),
    _last("last_sent_at", Event.TRANSMITTING, "last transmission began"),
    _first("acked_at", Event.ACK_RECEIVED, "acknowledged"),
    _first("late_acked_at", Event.LATE_ACK_RECEIVED, "acknowledged after a failure notice"),
    _first("exhausted_at", Event.EXHAUSTED, "retries used up"),
    _first("failed_at", Event.FAILED, "failed, final"),
    _first("expired_at", Event.EXPIRED, "expired before any byte left"),
    _first("cancelled_at", Event.CANCELLED, "taken back, and surely never processed"),
    _first("sent_only_at", Event.SENT, "the transport took it, which is all that was agreed"),
    _first("settled_at", Event.SETTLED, "an operator ended the doubt with his word"),
    *[
        Fold(
            name,
            How.MAX,
            "seq",
            f"{_is(Event.SETTLED)} AND outcome = '{word.value}'",
            f"journal number of the last word that it was {word.value}",
        )
        for name, word in (
            ("said_delivered_seq", Settlement.DELIVERED),
            ("said_undelivered_seq", Settlement.NOT_DELIVERED),
        )
    ],
    Fold(
        "notified_at",
        How.MIN,
        "at",
        f"{_is(Event.NOTIFIED)} AND {_FAILURE_TOLD}",
        "the application was told of a delivery failure",
    ),
    _row_number("submitted_seq", Event.SUBMITTED),
    _row_number("first_sent_seq", Event.TRANSMITTING),
    _row_number("acked_seq", Event.ACK_RECEIVED),
    Fold(
        "last_acked_seq",
        How.MAX,
        "seq",
        _is(Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED),
        "journal number of the last acknowledgement that was news",
    ),
    _row_number("final_seq", Event.FAILED, Event.EXPIRED, Event.CANCELLED),
    _row_number("released_seq", *_RELEASING),
    Fold(
        "last_sent_seq",
        How.MAX,
        "seq",
        _is(Event.TRANSMITTING),
        f"journal number of the last {Event.TRANSMITTING.value}",
    ),
    Fold(
        "last_error_seq",
        How.MAX,
        "seq",
        f"{_is(Event.NOTIFIED)} AND {_FAILURE_TOLD} AND severity = '{Severity.ERROR.value}'",
        "journal number of the last failure notice that says no byte ever left",
    ),
    Fold(
        "given_up_seq",
        How.MAX,
        "seq",
        f"{_is(Event.EXHAUSTED)} OR ({_is(Event.NOTIFIED)} AND {_FAILURE_TOLD})",
        "journal number of the last row that gives the message up",
    ),
    Fold(
        "last_requeued_seq",
        How.MAX,
        "seq",
        _is(Event.REQUEUED),
        f"journal number of the last {Event.REQUEUED.value}",
    ),
    _count("submissions", Event.SUBMITTED),
    _count(
        "sent_digests",
        Event.SUBMITTED,
        meaning="rows of the sender's that say what the content was",
        only=f"{CONTENT} IS NOT NULL",
    ),
    _count("transmissions", Event.TRANSMITTING),
    _count(
        "starts",
        Event.TRANSMITTING,
        meaning="transmissions that began again at attempt 1",
        only="attempt = 1",
    ),
    _outcome("sends_accepted", Event.TRANSMITTED, Outcome.ACCEPTED),
    _outcome("sends_refused", Event.TRANSMITTED, Outcome.REFUSED),
    _outcome("sends_unknown", Event.TRANSMITTED, Outcome.UNKNOWN),
    _count(
        "acks_received",
        Event.ACK_RECEIVED,
        Event.LATE_ACK_RECEIVED,
        Event.REPEATED_ACK_RECEIVED,
    ),
    _count("orphan_acks", Event.ORPHAN_ACK_RECEIVED),
    _count("errors_received", Event.ERROR_RECEIVED),
    _notices("notices_error", Severity.ERROR, "failure notices that say no byte ever left"),
    _notices("notices_warning", Severity.WARNING, "failure notices that say a copy may be there"),
    _count(
        "notices_late",
        Event.NOTIFIED,
        meaning="notices that an acknowledgement came after all",
        only=f"reason = '{NoticeKind.ACKNOWLEDGED_LATE.value}'",
    ),
    Fold(
        "attempt_max",
        How.MAX,
        "attempt",
        _is(Event.TRANSMITTING, Event.TRANSMITTED),
        "greatest attempt number",
    ),
    Fold(
        "best_effort",
        How.MAX,
        f"CAST(semantics = '{DeliverySemantics.BEST_EFFORT.value}' AS BIGINT)",
        "semantics IS NOT NULL",
        "1 where the semantics promise nothing",
    ),
    _any(
        "transport_only",
        f"coalesce(reason, '') LIKE '{METHOD_TRANSPORT}%'",
        (Event.SUBMITTED, Event.STORED),
        "1 where the transport is to be reliable and nobody acknowledges",
    ),
    _any(
        "unbounded",
        f"semantics = '{DeliverySemantics.EXACTLY_ONCE.value}'",
        (Event.SUBMITTED,),
        "1 where no time to a verdict was agreed",
    ),
    _any(
        "numbered",
        "sequence_number IS NOT NULL",
        (Event.TRANSMITTING, Event.STORED),
        "1 where messages of the pair have numbers, and go one after the other",
    ),
    Fold(
        "sent_bytes", How.MAX, "size_bytes", _is(Event.SUBMITTED), "size of the payloads submitted"
    ),
    # The receiver's half.
    _first("stored_at", Event.STORED, "in the receiver's persistent storage"),
    _first("ack_sent_at", Event.ACK_SENT, "first transmission of the acknowledgement ended"),
    _first("handed_over_at", Event.HANDED_OVER, "in the receiving application's inbox"),
    _first("first_repeat_at", Event.DUPLICATE_ELIMINATED, "first repeat eliminated"),
    _first("cancel_confirmed_at", Event.CANCEL_CONFIRMED, "the receiver will never process it"),
    _row_number("cancel_confirmed_seq", Event.CANCEL_CONFIRMED),
    Fold(
        "last_work_seq",
        How.MAX,
        "seq",
        _is(Event.HANDED_OVER, Event.PROCESSING_CHANGED),
        "journal number of the last sign of the application's work",
    ),
    _row_number("stored_seq", Event.STORED),
    _row_number("ack_sent_seq", Event.ACK_SENT),
    _row_number("handed_over_seq", Event.HANDED_OVER),
    _row_number("first_repeat_seq", Event.DUPLICATE_ELIMINATED),
    _count("stores", Event.STORED),
    _count(
        "received_digests",
        Event.STORED,
        Event.HANDED_OVER,
        meaning="rows of the receiver's that say what the content was",
        only=f"{CONTENT} IS NOT NULL",
    ),
    _count("acks_sent", Event.ACK_SENT),
    _outcome("acks_accepted", Event.ACK_SENT, Outcome.ACCEPTED),
    _count("hand_overs", Event.HANDED_OVER),
    _count(
        "hand_overs_asked",
        Event.HANDED_OVER_AGAIN,
        meaning="hand-overs after the first that somebody asked for, since they were lost",
    ),
    _count("repeats", Event.DUPLICATE_ELIMINATED, meaning="copies eliminated as duplicates"),
    _count("withholdings", Event.WITHHELD),
    _count("collisions", Event.COLLISION_DETECTED),
    _count("rejections", Event.REJECTED),
    Fold("stored_bytes", How.MAX, "size_bytes", _is(Event.STORED), "size of the payloads stored"),
    # What it went under, as each end tells.
    *[
        Fold(f"{name}_{half}", How.MIN, f"terms_{half}", _is(event), meaning)
        for name, event in (("submitted", Event.SUBMITTED), ("stored", Event.STORED))
        for half, meaning in (
            ("high", f"number of the first {event.value} row, and half of the number of its terms"),
            ("low", "the same, with the other half"),
        )
    ],
    # On the way.
    _passing("custodies", Event.STORED, "intermediaries that took the message into their care"),
    _passing("acks_in_custody", Event.ACK_SENT, "acknowledgements of theirs"),
    _passing("copies_passing", Event.ARRIVED_IN_TRANSIT, "copies that reached an intermediary"),
    _passing("copies_forwarded", Event.FORWARDED, "copies that went on to a next hop"),
    _passing("acks_relayed", Event.ACK_RELAYED, "acknowledgements that went on to a previous hop"),
    # Both halves.
    Fold("marks", How.OR, marks.MARKS_OF_ROW, "TRUE", "what ever happened, one bit for each"),
    Fold("content_min", How.MIN, CONTENT, "TRUE", f"least {_CONTENT_MEANING}"),
    Fold("content_max", How.MAX, CONTENT, "TRUE", f"greatest {_CONTENT_MEANING}"),
    Fold("header_min", How.MIN, HEADER, "TRUE", f"least {_HEADER_MEANING}"),
    Fold("header_max", How.MAX, HEADER, "TRUE", f"greatest {_HEADER_MEANING}"),
    _any(
        "header_submitted",
        f"{HEADER} IS NOT NULL",
        (Event.SUBMITTED,),
        "1 where the sender's journal has the digest of the header",
    ),
    _any(
        "header_stored",
        f"{HEADER} IS NOT NULL",
        (Event.STORED,),
        "1 where the receiver's journal has the digest of the header",
    ),
    _count("sender_rows", *SENDER_EVENTS, meaning="rows of the sender's journal"),
    _count("receiver_rows", *RECEIVER_EVENTS, meaning="rows of the receiver's journal"),
    Fold("first_at", How.MIN, "at", "TRUE", "first row, in either journal"),
    Fold("last_at", How.MAX, "at", "TRUE", "last row, in either journal"),
)
"""Every column of a lifecycle beside its key: microseconds UTC, counts, journal numbers."""


RULES: Final = 3
"""Increased when `partial` takes other rows than before, so that older folds are not merged."""


def is_of_life() -> Column:
    """Whether the row is one of those that lifecycles are made of."""
    # An orphan acknowledgement names a message, but nobody knows for whom that was.
    is_named = F.col("to_party").isNotNull() | is_event(Event.ORPHAN_ACK_RECEIVED)
    # An end of a message cannot be its intermediary: such a row would hide what the end owes.
    is_tale = is_passing() & is_true(F.col("party").isin(F.col("from_party"), F.col("to_party")))
    # A row that our own gateway refused never was a message; only receivers refuse messages.
    is_own_refusal = is_event(Event.REJECTED) & is_outbound()
    is_told = subject().isNotNull() & marks.kind().isNotNull()
    return is_told & is_named & ~is_tale & ~is_true(is_own_refusal)


def partial(journal: DataFrame) -> DataFrame:
    """Lifecycles as far as these rows tell: one row per message key in them."""
    rows = journal.where(is_of_life())
    # The hash of null is a number as well.
    has_content = is_event(*_WITH_CONTENT) & ~is_passing()
    has_terms = is_event(*_WITH_TERMS) & ~is_passing()
    folded = rows.select(
        F.coalesce("from_party", "party").alias("from_party"),
        "to_party",
        subject().alias("message_id"),
        *_FOLDED_COLUMNS,
        marks.kind().alias(marks.KIND),
        F.when(has_terms, header_terms.number()).alias(header_terms.NUMBER),
        *[
            F.when(has_content & F.col(digest).isNotNull(), F.xxhash64(digest)).alias(name)
            for name, digest in ((CONTENT, "digest"), (HEADER, "header_digest"))
        ],
    )
    marked = folded.withColumns({marks.OF_ROW: F.expr(marks.MARKS_OF_ROW), **header_terms.halves()})
    return marked.groupBy(*KEY).agg(*[fold.in_numbers().of_rows() for fold in FOLDS])


_FOLDED_COLUMNS: Final = (
    "at",
    "seq",
    "attempt",
    "outcome",
    "severity",
    "reason",
    "semantics",
    "sequence_number",
    "size_bytes",
    "ack_requested",
)
"""Columns of a row that folds ask for, beside its kind and its content."""


def merge(partials: DataFrame, *also: Column) -> DataFrame:
    """Lifecycles from any union of partials of disjoint rows: one row per message key.

    `also` are more folds of columns that the partials have beside ours.
    """
    # A message has few partials, each in another file: folding them before the shuffle joins hardly
    # any, and costs as much as folding them after it.
    met = partials.repartition(*KEY)
    return met.groupBy(*KEY).agg(*[fold.of_folds() for fold in FOLDS], *also)


def terms(journal: DataFrame) -> DataFrame:
    """What the numbers of terms in these rows' lives stand for: `NUMBER` and the five words.

    A number may stand in several rows of a union of such frames; `with_terms` takes any.
    """
    told = journal.where(is_event(*_WITH_TERMS) & ~is_passing())
    return told.select(
        header_terms.number().alias(header_terms.NUMBER), *header_terms.COLUMNS
    ).distinct()


def with_terms(lives: DataFrame, terms: DataFrame) -> DataFrame:
    """The lives, judged or not, with the five words of `header_terms.COLUMNS` that each went under.

    `terms` is any union of what `terms` gave for the rows of these lives. Null where neither end's
    journal has the message.
    """
    # Two fives with one number are next to impossible, and must not make two lives of one.
    words = F.min(F.struct(*header_terms.COLUMNS)).alias("words")
    once = terms.groupBy(header_terms.NUMBER).agg(words).select(header_terms.NUMBER, "words.*")
    numbered = lives.withColumn(header_terms.NUMBER, header_terms.number_of_life())
    # Few numbers are those of all lives: a shuffle by them would put all lives into few tasks.
    named = numbered.join(F.broadcast(once), header_terms.NUMBER, "left")
    return named.select(*lives.columns, *header_terms.COLUMNS)


_OF_NO_STRANGER: Final = tuple(
    event
    for event in (*SENDER_EVENTS, *RECEIVER_EVENTS)
    if event not in (Event.REJECTED, Event.ERROR_SENT)
)
"""What a gateway writes of its own messages only. Every word here changes a verdict or a line of
the sheet, so none may be said for another unnamed. Refused is whatever a stranger sends, whomever
it names as its receiver."""

COVERAGE_KEY: Final = ("party", "holder")
COVERAGE_FOLDS: Final = (
    Fold("rows", How.SUM, "1L", "TRUE", "journal rows"),
    Fold("first_seq", How.MIN, "seq", "TRUE", "first row number"),
    Fold("last_seq", How.MAX, "seq", "TRUE", "last row number"),
    Fold("first_at", How.MIN, "at", "TRUE", "first instant"),
    Fold("last_at", How.MAX, "at", "TRUE", "last instant"),
    Fold("epochs", How.MAX, "store_epoch", "TRUE", "openings of the store"),
    _count("suspensions", Event.PAIR_SUSPENDED),
    _count("quarantines", Event.PAIR_QUARANTINED),
    _count("resumptions", Event.PAIR_RESUMED),
    _count("sequence_resets", Event.SEQUENCE_RESET),
    _count("security_events", Event.SECURITY_EVENT),
    _count("starts", Event.STARTED),
    _count("stops", Event.STOPPED),
    _count("drills", Event.DRILL),
    _count(
        "deeds",
        *_OF_NO_STRANGER,
        meaning="rows by which the holder sent or received a message, or that say how that ended",
    ),
)


def coverage(journal: DataFrame) -> DataFrame:
    """Whose deeds these rows tell, in whose journal, and from when to when."""
    rows = journal.withColumn("holder", holder())
    return rows.groupBy(*COVERAGE_KEY).agg(*[fold.of_rows() for fold in COVERAGE_FOLDS])


def merge_coverage(partials: DataFrame) -> DataFrame:
    """Coverage from any union of partials of disjoint rows."""
    return partials.groupBy(*COVERAGE_KEY).agg(*[fold.of_folds() for fold in COVERAGE_FOLDS])


def stats(judged: DataFrame, *, width_us: int) -> DataFrame:
    """How the exchange went, per pair and bin of the first transmission (`bin_at`, µs UTC).

    Bins go by the time of *sending*, so that each is complete as soon as its messages have a
    verdict. `judged` is what `verdicts.verdict` gives. Only messages for which an acknowledgement
    was agreed are `sent`; `timed` of them have a turnaround, by the sender's clock.
    """
    is_owed = is_promised()
    acked = F.least("acked_at", "late_acked_at")
    is_final = F.coalesce("failed_at", "expired_at", "cancelled_at").isNotNull()
    is_over = is_final | stands_settled()
    took = acked - F.col("first_sent_at")
    took = F.when(is_owed & (took >= F.lit(0)), took)
    bins = judged.where(F.col("first_sent_at").isNotNull()).withColumns(
        {"bin_at": bin_start(F.col("first_sent_at"), width_us), "took_us": took}
    )
    by = ("bin_at", "from_party", "to_party")
    return summed(
        bins,
        by,
        [
            F.sum(one_if(is_owed)).alias("sent"),
            F.sum(one_if(is_owed & acked.isNotNull())).alias("acknowledged"),
            F.sum(one_if(is_owed & (F.col("hand_overs") > 0))).alias("handed_over"),
            F.sum(one_if(is_owed & F.col("is_two_sided"))).alias("two_sided"),
            F.sum(one_if(is_owed & acked.isNull() & is_over)).alias("settled"),
            F.sum(F.when(is_owed, F.col("repeats")).otherwise(F.lit(0))).alias("eliminated"),
            F.sum(one_if(~is_owed)).alias("unpromised"),
            F.sum(F.when(is_owed, F.col("transmissions")).otherwise(F.lit(0))).alias(
                "transmissions"
            ),
            F.sum(F.when(is_owed, F.col("sent_bytes")).otherwise(F.lit(0))).alias("sent_bytes"),
            F.count("took_us").alias("timed"),
        ],
        Quantiles("took_us", _QUANTILES),
        are_few=True,
    )


_QUANTILES: Final = {"p50_us": 500, "p90_us": 900, "p95_us": 950, "p99_us": 990}
