"""The verdict on each message: report 3, two-party reconciliation (product, "Reports").

The theory
----------
A message has two halves, like a tally stick: what its sender wrote and what its receiver wrote.
Laid together they fall into exactly one class of `CLASSES`; the first class whose predicate holds
is the verdict, so precedence is the order of the table: alarms before doubts before agreement.

What is *absent* proves something only after a while, since journals are published late:
`Policy.grace_us` is that while, counted back from `as_of`, the instant of judgement. Before it is
over a message that lacks something is `IN_FLIGHT`. What is *present* counts at once. Where the
other party's journal is not in the lake at all, nothing can be matched: `ONE_SIDED`. One journal
that tells both halves is no second witness.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake.expressions import US_PER_S, always, as_bits, is_overdue, is_true
from onceonly.lake.marks import (
    ever,
    ever_passing,
    is_by_transport,
    is_without_promise,
    lacks_evidence,
    was_told,
)
from onceonly.message.event import Event
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol.events import Settlement


class Policy(NamedTuple):
    """What the judge allows. Durations in microseconds."""

    grace_us: int = 300 * US_PER_S
    """How long evidence may be under way before its absence counts: publishing every minute,
    ingesting every minute, and a margin."""
    clock_accuracy_us: int = 30 * US_PER_S
    """How far the parties' wall clocks may differ (mshTimeAccuracy)."""
    verdict_within_us: int = 86_400 * US_PER_S
    """Longest life of a message without a verdict at its sender (invariant L1)."""
    retries: int | None = None
    """Most retries that any agreement of the lake allows; None where nobody knows them all, and
    then the budget is not checked (I18)."""

    def under(self, terms: Iterable[DeliveryTerms]) -> "Policy":
        """The policy where these are among the lake's terms: lives and clocks as they allow.

        A message may wait for its turn as well, so no terms shorten its life. Nor do they bound
        the retries or tighten the clocks: messages under other agreements, of which nobody told,
        may have more.
        """
        every = list(terms)
        waits = [(one.verdict_after_s or 0) * US_PER_S for one in every]
        accuracies = [one.msh_time_accuracy_s * US_PER_S for one in every]
        return self._replace(
            verdict_within_us=max([self.verdict_within_us, *waits]),
            clock_accuracy_us=max([self.clock_accuracy_us, *accuracies]),
        )


class Standing(StrEnum):
    """What a class asks of people."""

    AGREED = "agreed"
    """Both journals tell the same end."""
    OPEN = "open"
    """Not decided yet; time or the other journal will tell."""
    DOUBT = "doubt"
    """A difference that the two-army problem allows; an operator settles it."""
    ALARM = "alarm"
    """The promise was broken, or someone interfered."""
    OUTSIDE = "outside"
    """Nothing was promised."""


class Verdict(StrEnum):
    """The classes of report 3."""

    DELIVERED_TWICE = "DELIVERED_TWICE"
    CONTENT_MISMATCH = "CONTENT_MISMATCH"
    COLLISION = "COLLISION"
    RECEIVED_NOT_SENT = "RECEIVED_NOT_SENT"
    ACKED_NOT_STORED = "ACKED_NOT_STORED"
    NOT_DELIVERED_TO_APP = "NOT_DELIVERED_TO_APP"
    ORPHAN_ACK = "ORPHAN_ACK"
    FAILED_BUT_DELIVERED = "FAILED_BUT_DELIVERED"
    ACK_LOST = "ACK_LOST"
    SENT_NOT_RECEIVED = "SENT_NOT_RECEIVED"
    SETTLED_WRONGLY = "SETTLED_WRONGLY"
    ACKED_WITHOUT_EVIDENCE = "ACKED_WITHOUT_EVIDENCE"
    MATCHED = "MATCHED"
    MATCHED_LATE = "MATCHED_LATE"
    SETTLED_RIGHTLY = "SETTLED_RIGHTLY"
    FAILED_NOT_DELIVERED = "FAILED_NOT_DELIVERED"
    TAKEN_BACK = "TAKEN_BACK"
    BEST_EFFORT = "BEST_EFFORT"
    REFUSED = "REFUSED"
    ONE_SIDED = "ONE_SIDED"
    IN_FLIGHT = "IN_FLIGHT"


class Differs(StrEnum):
    """What of the content is told differently."""

    PAYLOADS = "payloads"
    HEADER = "header"
    BOTH = "both"


class Facts(NamedTuple):
    """The lifecycle as yes and no; never null."""

    promised: Column
    """Somebody owes more than to try, and it can be seen (`is_judged`)."""
    submitted: Column
    sent: Column
    acked: Column
    acked_late: Column
    carried: Column
    """A transport that is to be reliable itself took it, which ends it for its sender (R-48)."""
    told: Column
    """The application knows of a failure, or took the message back."""
    given_up: Column
    """That, and nobody took the message up again since."""
    cancelled: Column
    said_delivered: Column
    """An operator ended the doubt with this word, and the partner has not denied it since."""
    said_undelivered: Column
    stored: Column
    withheld: Column
    """Stored, and not handed over since its acknowledgement never left (R-12)."""
    confirmed: Column
    """The receiver confirmed that its sender took it back (R-08)."""
    in_custody: Column
    """An intermediary acknowledged it and delivers it further (R-13)."""
    handed: Column
    handed_twice: Column
    collided: Column
    rejected: Column
    orphaned: Column
    altered: Column
    lacks_evidence: Column
    """A signed acknowledgement was asked for, and the sender keeps none (R-31)."""
    two_sided: Column
    """Both parties' journals are in the lake."""
    store_overdue: Column
    """Acknowledged longer ago than the grace."""
    send_overdue: Column
    """Sent longer ago than the grace."""
    stored_long_ago: Column
    custody_overdue: Column
    """Acknowledged by an intermediary longer ago than a message may be without a verdict."""

    @property
    def matches(self) -> Column:
        """Both journals tell of one delivery."""
        is_done = self.acked | self.carried
        return self.two_sided & self.submitted & is_done & self.stored & self.handed


class VerdictClass(NamedTuple):
    """One row of the table: what the class means and when it holds."""

    verdict: Verdict
    standing: Standing
    meaning: str
    holds: Callable[[Facts], Column]


CLASSES: Final = (
    VerdictClass(
        Verdict.DELIVERED_TWICE,
        Standing.ALARM,
        "The receiving application got the message more than once, and nobody had asked for it: "
        "rows HandedOver after the first, without a row HandedOverAgain for each of them.",
        lambda f: f.promised & f.handed_twice,
    ),
    VerdictClass(
        Verdict.CONTENT_MISMATCH,
        Standing.ALARM,
        "The digests of Submitted, Stored and HandedOver are not all the same, be it those of the "
        "payloads or of the header: `differs` says which.",
        lambda f: f.altered,
    ),
    VerdictClass(
        Verdict.COLLISION,
        Standing.ALARM,
        "The receiver saw the MessageId again with other content (CollisionDetected).",
        lambda f: f.collided,
    ),
    VerdictClass(
        Verdict.RECEIVED_NOT_SENT,
        Standing.ALARM,
        "Stored longer ago than the grace, and the sender's journal has no Submitted.",
        lambda f: f.two_sided & f.stored & f.stored_long_ago & ~f.submitted,
    ),
    VerdictClass(
        Verdict.ACKED_NOT_STORED,
        Standing.ALARM,
        "Acknowledged longer ago than the grace, not by an intermediary that is to deliver it "
        "further, and the receiver's journal has no Stored.",
        lambda f: f.promised & f.two_sided & f.acked & f.store_overdue & ~f.stored & ~f.in_custody,
    ),
    VerdictClass(
        Verdict.TAKEN_BACK,
        Standing.AGREED,
        "The sender took the message back, and the receiver confirmed that it is never processed.",
        lambda f: f.submitted & f.confirmed & (f.cancelled | ~f.acked),
    ),
    VerdictClass(
        Verdict.NOT_DELIVERED_TO_APP,
        Standing.ALARM,
        "Stored longer ago than the grace, and neither handed to the application nor rightly "
        "withheld from it: withheld is what waits for an acknowledgement that has never left.",
        lambda f: f.stored & f.stored_long_ago & ~f.handed & (f.acked | ~f.withheld),
    ),
    VerdictClass(
        Verdict.ORPHAN_ACK,
        Standing.ALARM,
        "An acknowledgement came for a message that was never sent, or from the wrong peer, and "
        "nothing of it was ever stored.",
        lambda f: f.orphaned & ~f.sent & ~f.stored,
    ),
    VerdictClass(
        Verdict.BEST_EFFORT,
        Standing.OUTSIDE,
        "Sent under BestEffort, which promises nothing; or by a transport that is to be reliable "
        "itself, with one journal only: then its sender's last word is that it was sent.",
        lambda f: ~f.promised,
    ),
    VerdictClass(
        Verdict.SETTLED_WRONGLY,
        Standing.DOUBT,
        "An operator ended the doubt with a word, and the receiver's journal says otherwise: "
        "`settled_as` has the word. Of what he called delivered it has nothing, the grace being "
        "over; or it has what he called not delivered, and the content may be there twice.",
        lambda f: (
            f.submitted
            & f.two_sided
            & (
                (f.said_undelivered & f.stored & ~f.withheld)
                | (f.said_delivered & ~f.acked & ~f.stored & f.send_overdue)
            )
        ),
    ),
    VerdictClass(
        Verdict.ACKED_WITHOUT_EVIDENCE,
        Standing.ALARM,
        "A signed acknowledgement was asked for, the sender's journal says acknowledged longer ago "
        "than the grace, and it has no EvidenceKept for the acknowledgement (R-31).",
        lambda f: f.submitted & f.acked & f.store_overdue & f.lacks_evidence,
    ),
    VerdictClass(
        Verdict.MATCHED,
        Standing.AGREED,
        "Submitted, stored, handed over once with the same digests, and acknowledged in time; or "
        "sent, where the transport is to be reliable itself.",
        lambda f: f.matches & ~f.acked_late & ~f.told,
    ),
    VerdictClass(
        Verdict.MATCHED_LATE,
        Standing.AGREED,
        "Delivered once and acknowledged, but only after the sender had been told of a failure.",
        lambda f: f.matches & (f.acked_late | f.told),
    ),
    VerdictClass(
        Verdict.ONE_SIDED,
        Standing.OPEN,
        "The journal of the other party is not in the lake, so there is nothing to match.",
        lambda f: ~f.two_sided,
    ),
    VerdictClass(
        Verdict.SETTLED_RIGHTLY,
        Standing.AGREED,
        "An operator ended the doubt with a word, and the receiver's journal says the same: "
        "`settled_as` has the word. No acknowledgement came.",
        lambda f: (
            f.submitted
            & ~f.acked
            & (
                (f.said_delivered & f.handed)
                | (f.said_undelivered & f.send_overdue & (~f.stored | f.withheld))
            )
        ),
    ),
    VerdictClass(
        Verdict.FAILED_BUT_DELIVERED,
        Standing.DOUBT,
        "The sender was told of a failure, no acknowledgement came, and the receiver has it.",
        lambda f: f.submitted & f.given_up & ~f.acked & ~f.carried & f.stored & ~f.withheld,
    ),
    VerdictClass(
        Verdict.FAILED_NOT_DELIVERED,
        Standing.AGREED,
        "The sender was told of a failure or took the message back, and the application of the "
        "receiver never got it; if it was sent, longer ago than the grace.",
        lambda f: (
            f.submitted
            & f.given_up
            & (~f.sent | f.send_overdue)
            & ((~f.stored & (~f.acked | f.in_custody)) | (f.withheld & ~f.acked))
        ),
    ),
    VerdictClass(
        Verdict.ACK_LOST,
        Standing.DOUBT,
        "Stored longer ago than the grace, and the sender has neither acknowledgement nor notice.",
        lambda f: f.submitted & f.stored & f.stored_long_ago & ~f.acked & ~f.carried,
    ),
    VerdictClass(
        Verdict.SENT_NOT_RECEIVED,
        Standing.DOUBT,
        "Last sent longer ago than the grace, never stored, and the sender has no verdict; or that "
        "of a transport only, or of an intermediary for longer than a message may be without.",
        lambda f: (
            f.submitted
            & f.sent
            & f.send_overdue
            & ~f.stored
            & (~f.acked | (f.in_custody & f.custody_overdue))
        ),
    ),
    VerdictClass(
        Verdict.REFUSED,
        Standing.OUTSIDE,
        "Refused by the receiver, never stored, and unknown to the sender's journal.",
        lambda f: f.rejected & ~f.submitted & ~f.stored,
    ),
    VerdictClass(
        Verdict.IN_FLIGHT,
        Standing.OPEN,
        "None of the above: under way, or its evidence is.",
        lambda _: always(),
    ),
)
"""Every class, in the order in which they are tried; the first that holds is the verdict."""

_CLASS_OF: Final = {row.verdict: row for row in CLASSES}
STANDING_OF: Final = {row.verdict: row.standing for row in CLASSES}
DIFFERENCES: Final = tuple(
    row.verdict for row in CLASSES if row.standing in (Standing.ALARM, Standing.DOUBT)
)
"""What makes `reconcile` end with the exit code for differences."""


def verdict(lifecycle: DataFrame, coverage: DataFrame, *, as_of: int, policy: Policy) -> DataFrame:
    """The lifecycles with `verdict`, `standing`, `is_two_sided`, `differs` and `settled_as`.

    At `as_of`, µs UTC.

    `coverage` says whose journals are in the lake (`model.merge_coverage`).
    """
    asked = facts(as_of, policy)
    judged = with_sides(lifecycle, coverage).withColumn(FACTS, as_bits(asked))
    known = Facts(*[_is_set(1 << place) for place in range(len(asked))])
    word = F.lit(None).cast("string")
    for row in reversed(CLASSES):
        word = F.when(row.holds(known), F.lit(row.verdict.value)).otherwise(word)
    standing = F.coalesce(
        *[
            F.when(F.col("verdict").isin(_of_standing(standing)), F.lit(standing.value))
            for standing in Standing
        ]
    )
    return (
        judged.withColumn("verdict", word)
        .drop(FACTS)
        .withColumns({"standing": standing, "differs": _differs(), "settled_as": settled_as()})
    )


WORDS: Final = ("verdict", "standing", "differs", "settled_as")
"""The words that `verdict` adds to a life, beside `is_two_sided`."""

FACTS: Final = "facts"
"""The yes and no of a message as the bits of one number, while its class is sought.

Every class asks for many of them. Spark writes out each question again; asked of the lifecycle's
columns they make a method too long for the JVM to compile, which is then most of the work.
"""


def _is_set(bit: int) -> Column:
    return F.col(FACTS).bitwiseAND(F.lit(bit)) != F.lit(0)


def _of_standing(standing: Standing) -> list[str]:
    return [row.verdict.value for row in CLASSES if row.standing is standing]


def with_sides(lifecycle: DataFrame, coverage: DataFrame) -> DataFrame:
    """The lifecycles with `is_two_sided`: whether both parties' journals are in the lake."""
    known = witnesses(coverage)
    senders = known.select(F.col("holder").alias("from_party"), F.col("journal").alias("of_sender"))
    receivers = known.select(F.col("holder").alias("to_party"), F.col("journal").alias("of_other"))
    return (
        lifecycle.join(F.broadcast(senders), "from_party", "left")
        .join(F.broadcast(receivers), "to_party", "left")
        .withColumn("is_two_sided", is_true(F.col("of_sender") != F.col("of_other")))
        .select(*lifecycle.columns, "is_two_sided")
    )


def witnesses(coverage: DataFrame) -> DataFrame:
    """Whose journal tells the deeds of each `holder`: `journal`, its own where there is one.

    A gateway may send under several PartyIds and keep one journal for all of them.
    """
    is_own = F.col("party") == F.col("holder")
    told = coverage.where(F.col("holder").isNotNull() & (is_own | (F.col("deeds") > F.lit(0))))
    own = F.max(F.when(is_own, F.col("party")))
    return told.groupBy("holder").agg(F.coalesce(own, F.min("party")).alias("journal"))


def false_witnesses(coverage: DataFrame) -> DataFrame:
    """Journals that tell the deeds of a party for whom another one speaks: `deeds` of `holder`."""
    told = coverage.where(F.col("deeds") > F.lit(0)).select("party", "holder", "deeds")
    spoken = told.join(F.broadcast(witnesses(coverage)), "holder")
    return spoken.where(F.col("journal") != F.col("party")).drop("journal")


def is_so(wanted: Verdict, *, as_of: int, policy: Policy) -> Column:
    """Whether what a class says is true of a message, whichever class that came before it took it.

    A message may have more than one thing wrong with it, and is in one class.
    """
    return _CLASS_OF[wanted].holds(facts(as_of, policy))


def facts(as_of: int, policy: Policy) -> Facts:
    """What the classes are made of, over a lifecycle `with_sides`."""
    acked_at = F.least("acked_at", "late_acked_at")
    return Facts(
        promised=is_judged(),
        submitted=ever(Event.SUBMITTED),
        sent=ever(Event.TRANSMITTING),
        acked=ever(Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED),
        acked_late=ever(Event.LATE_ACK_RECEIVED),
        carried=is_by_transport() & ever(Event.SENT),
        told=was_told(),
        given_up=was_told() & ~is_taken_up(),
        cancelled=ever(Event.CANCELLED),
        said_delivered=_is_said("said_delivered_seq"),
        said_undelivered=_is_said("said_undelivered_seq"),
        stored=ever(Event.STORED),
        withheld=ever(Event.WITHHELD) & ~ever(Event.HANDED_OVER),
        confirmed=ever(Event.CANCEL_CONFIRMED),
        in_custody=ever_passing(Event.STORED),
        handed=ever(Event.HANDED_OVER),
        handed_twice=is_true(F.col("hand_overs") > F.lit(1) + F.col("hand_overs_asked")),
        collided=ever(Event.COLLISION_DETECTED),
        rejected=ever(Event.REJECTED),
        orphaned=ever(Event.ORPHAN_ACK_RECEIVED),
        altered=is_altered(),
        lacks_evidence=lacks_evidence(),
        two_sided=F.col("is_two_sided"),
        store_overdue=is_overdue(acked_at, policy.grace_us, as_of),
        send_overdue=is_overdue(F.col("last_sent_at"), policy.grace_us, as_of),
        stored_long_ago=is_overdue(F.col("stored_at"), policy.grace_us, as_of),
        custody_overdue=is_overdue(acked_at, policy.verdict_within_us, as_of),
    )


def turns(policy: Policy) -> list[Column]:
    """The instants after which another fact holds of a life: a verdict turns then or never.

    While no turn of a life lies between two instants of judgement, its verdict is the same.
    """
    acked_at = F.least("acked_at", "late_acked_at")
    return [
        acked_at + F.lit(policy.grace_us),
        F.col("last_sent_at") + F.lit(policy.grace_us),
        F.col("stored_at") + F.lit(policy.grace_us),
        acked_at + F.lit(policy.verdict_within_us),
    ]


def is_taken_up() -> Column:
    """Whether the message was sent or queued once more after it had been given up.

    Order is the journal's own: an operator's resume, or a resend by rule, begins it again.
    """
    begun = F.greatest("last_sent_seq", "last_requeued_seq")
    return is_true(begun > F.greatest("given_up_seq", "final_seq"))


def stands_settled() -> Column:
    """Whether a person's word ended the doubt, and no denial of the partner began it again."""
    return is_true(_last_word() > F.coalesce("given_up_seq", F.lit(0)))


def settled_as() -> Column:
    """The last word with which an operator ended a doubt; null where there was none."""
    words = (
        ("said_delivered_seq", Settlement.DELIVERED),
        ("said_undelivered_seq", Settlement.NOT_DELIVERED),
    )
    last = _last_word()
    return F.coalesce(*[F.when(F.col(name) == last, F.lit(word.value)) for name, word in words])


def _last_word() -> Column:
    return F.greatest("said_delivered_seq", "said_undelivered_seq")


def _is_said(name: str) -> Column:
    return stands_settled() & is_true(F.col(name) == _last_word())


def is_promised() -> Column:
    """Whether the gateways owed an acknowledgement: not under BestEffort or method Transport."""
    return ~is_without_promise()


def is_judged() -> Column:
    """Whether a delivery was promised by the gateways, or by a transport between them (R-48).

    What a transport promised shows only in both journals; asked of lifecycles `with_sides`.
    """
    return is_promised() | (is_by_transport() & F.col("is_two_sided"))


def is_unproven() -> Column:
    """Whether both sides agree on a delivery, and one of them does not say of which content."""
    agreed = F.col("verdict").isin(Verdict.MATCHED.value, Verdict.MATCHED_LATE.value)
    return agreed & is_true((F.col("sent_digests") == 0) | (F.col("received_digests") == 0))


def is_altered() -> Column:
    """Whether two of the message's digests differ, in whichever rows they stand."""
    return _has_other_payloads() | _has_other_header()


def _has_other_payloads() -> Column:
    return is_true(F.col("content_min") < F.col("content_max"))


def _has_other_header() -> Column:
    return is_true(F.col("header_min") < F.col("header_max"))


def _differs() -> Column:
    """Which of the two digests are not all the same; null where both are."""
    return (
        F.when(_has_other_payloads() & _has_other_header(), F.lit(Differs.BOTH.value))
        .when(_has_other_payloads(), F.lit(Differs.PAYLOADS.value))
        .when(_has_other_header(), F.lit(Differs.HEADER.value))
    )


def is_header_unproven() -> Column:
    """Whether a side has the message and does not say what its header was (R-37).

    A gateway of before did not know; one that leaves it out has something to explain.
    """
    is_told = F.col("header_submitted") + F.col("header_stored") == F.lit(2)
    is_on_both = ever(Event.SUBMITTED) & ever(Event.STORED)
    return F.col("is_two_sided") & is_on_both & ~is_true(is_told)
