"""Questions about a message, the answers, and what follows from them (R-21; I29, I44).

Knows the rows and letters of whoever asks, and what the asked one writes down. A recovery is over
by a word about the message, or an operator knows: in between it is in the store. That answers are
true is `time_and_store`'s matter.
"""

from collections.abc import Iterator

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S, US_PER_S
from onceonly.message.message import DeliverySemantics
from onceonly.message.signals import InquiryKind, MessageStatus
from onceonly.message.terms import DeliveryTerms, Remedy
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.events import Outcome
from onceonly.simulation.cast import name_of
from onceonly.simulation.checkers.case import NEVER, Case, Course
from onceonly.simulation.checkers.letter import Kind
from onceonly.simulation.checkers.receiver import is_remembered
from onceonly.simulation.checkers.sender import is_fence
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.simulation.network import CLIENT_WAIT_NS

WORDS = frozenset(
    {
        Event.REPORT_RECEIVED,
        Event.ACK_RECEIVED,
        Event.LATE_ACK_RECEIVED,
        Event.REQUEUED,
        Event.RESPONSE_RECEIVED,
        Event.CANCELLED,
        Event.EXPIRED,
    }
)
"""Rows of the asker that end a question, or show that it is not needed."""

SLACK_NS = 30 * NS_PER_S
"""From the instant at which a response is late until a row says so."""

STAMP_US = US_PER_S
"""A Timestamp on the wire is no finer."""

_QUESTIONS = frozenset({"inquire", "cancel", "resend"})
"""What operators do that rows tell from a recovery's own questions by nothing."""


def judge(case: Case) -> Iterator[Violation]:
    """Every message at its sender, and what receivers confirm."""
    for course, terms in case.sending():
        if case.is_set_back(*case.path(course)):
            continue
        yield from _heard(course)
        if course.is_origin and not case.is_reconfigured(course):
            yield from _ends(case, course, terms)
            yield from _response(case, course, terms)
            if not _is_operated(case, course):
                yield from _budget(case, course, terms)
                yield from _remedy(case, course, terms)
    for course in case.courses.values():
        if not case.is_set_back(course.node):
            yield from _begun_work(case, course)


def _at(invariant: str, course: Course, text: str, order: int) -> Violation:
    return Violation(invariant, f"{course}: {text}", order)


def _is_operated(case: Case, course: Course) -> bool:
    return any(
        action.kind == "operate"
        and action.args["what"] in _QUESTIONS
        and action.args["message_id"] == course.key[2]
        for action in case.plan.actions
    )


def _heard(course: Course) -> Iterator[Violation]:
    """I29, R-20: a report counts only from the next hop, and about the message it is about."""
    heard = [
        one.order
        for one in course.heard
        if one.letter.kind is Kind.REPORT and one.letter.word != "Pong"
    ]
    noted = [row for row in course.out if row.record.event is Event.REPORT_RECEIVED]
    for number, row in enumerate(noted):
        if len(heard) <= number or heard[number] > row.order:
            text = f"{number + 1} reports were taken, and its partner had not made as many"
            yield _at("I29", course, text, row.order)


# A recovery has an end, and its questions are counted.


def _causes(course: Course, terms: DeliveryTerms) -> list[Row]:
    """Rows with which a recovery begins: in doubt by now (level 3), no response (level 5)."""
    doubts = {
        row.at_ns
        for row in course.out
        if row.record.event is Event.NOTIFIED
        and row.record.severity == Severity.WARNING
        and row.record.reason == NoticeKind.DELIVERY_FAILURE
    }
    # Where the refused copy is the only one that left, that is the last word.
    doubts -= {row.at_ns for row in course.out if _is_refused_for_good(row)}
    return [
        row
        for row in course.out
        if (terms.recovery.inquires and row.at_ns in doubts and _leaves_a_doubt(row))
        or row.record.event is Event.RESPONSE_OVERDUE
    ]


def _is_refused_for_good(row: Row) -> bool:
    """And not past its fence, which a slow disk may bring into the same commit."""
    return row.record.event is Event.FAILED and not is_fence(row.record)


def _leaves_a_doubt(row: Row) -> bool:
    """Given up, or refused where an earlier copy may have arrived; R-11 asks nothing of numbers."""
    if row.record.event is Event.ERROR_RECEIVED:
        return row.record.error_code != ErrorCode.INVALID_SEQUENCE_NUMBER
    return row.record.event is Event.EXHAUSTED


def _ends(case: Case, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """R-21, I25: an answer, another word about the message, or an operator knows."""
    causes = _causes(course, terms)
    if not causes:
        return
    snapshot = case.world.nodes[course.node].snapshot()
    last, message_id = causes[-1], course.key[2]
    is_ended = (
        any(row.record.event in WORDS and row.order > last.order for row in course.out)
        or case.was_resumed(course, last.order, NEVER)
        or _is_operators(case, course)
    )
    if not is_ended and message_id not in snapshot.list_recovering():
        text = f"{last.record.event}, and no answer came, nobody asks, and no operator knows"
        yield _at("R-21", course, text, last.order)


def _is_operators(case: Case, course: Course) -> bool:
    """Whether an incident says that a recovery came to nothing."""
    incidents = case.world.nodes[course.node].snapshot().list_incidents(is_open=False)
    return any(
        tuple(one.pair) == course.key[:2] and one.reason.startswith(_OF_RECOVERY)
        for one in incidents
    )


_OF_RECOVERY = (
    "no useful answer",
    "the partner refuses to say",
    "not recognized",
    "not received",
    "refused by its receiver",
    "processed, but without",
)
"""How the reasons of such incidents begin; those of closed pairs and wrong numbers differ."""


def _budget(case: Case, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """R-21, L5: so many questions of a kind for each cause, and one more for each crash."""
    causes = _causes(course, terms)
    for kind in (InquiryKind.STATUS, InquiryKind.RESPONSE):
        asked = [
            row
            for row in course.out
            if row.record.event is Event.INQUIRY_SENT and row.record.reason == kind.value
        ]
        deaths = case.deaths_between(course.node, 0, NEVER)
        # A recovery of what the application had been told of before has no notice to show.
        untold = sum(
            row.record.event is Event.EXHAUSTED and row not in causes for row in course.out
        )
        allowed = (len(causes) + untold) * terms.recovery.inquiries + deaths
        if len(asked) > allowed:
            text = f"{kind} was asked {len(asked)} times, {allowed} were due"
            yield _at("R-21", course, text, asked[allowed].order)


# What is done where the partner does not know the message.


def _remedy(case: Case, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """R-21: by rule; but nothing by rule where the partner may have forgotten it (R-19)."""
    if not terms.recovery.inquires or terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return
    for cause in _causes(course, terms):
        report = _first_word(case, course, cause)
        made_at = case.made_at(course)
        if report is None or made_at is None:
            continue
        age_us = report.record.at - made_at
        remembers_us = (terms.persist_duration_s + terms.msh_time_accuracy_s) * US_PER_S
        if age_us > remembers_us + STAMP_US:
            yield from _left_alone(course, report)
        elif age_us < remembers_us - STAMP_US:
            yield from _remedied(case, course, terms.recovery.when_not_received, report)


def _first_word(case: Case, course: Course, cause: Row) -> Row | None:
    """The report behind the cause by which the partner does not know the message, if the first."""
    words = (row for row in course.out if row.record.event in WORDS and row.order > cause.order)
    first = next(words, None)
    if first is None or first.record.event is not Event.REPORT_RECEIVED:
        return None
    was_asked = not case.was_resumed(course, cause.order, first.order)
    says = (first.record.reason or "").startswith(MessageStatus.NOT_RECOGNIZED)
    return first if says and was_asked else None


def _left_alone(course: Course, report: Row) -> Iterator[Violation]:
    """Until the next answer, which may have come in time where a clock was set right."""
    for row in course.out:
        if row.order > report.order and row.record.event is Event.REPORT_RECEIVED:
            return
        event, reason = row.record.event, row.record.reason
        is_cancel = event is Event.INQUIRY_SENT and reason == InquiryKind.CANCEL.value
        is_by_rule = event is Event.REQUEUED or (is_cancel and _begun_ns(row) > report.at_ns)
        if row.order > report.order and is_by_rule:
            text = f"{event} by rule, though its partner may have processed and forgotten it"
            yield _at("R-21", course, text, row.order)
            return


def _begun_ns(asked: Row) -> int:
    """When the inquiry left at the earliest: its row stands at the end of its transmission."""
    return asked.at_ns - (CLIENT_WAIT_NS if asked.record.outcome == Outcome.UNKNOWN else 0)


def _remedied(case: Case, course: Course, remedy: Remedy, report: Row) -> Iterator[Violation]:
    if remedy is Remedy.WAIT or _is_operators(case, course):
        return
    rows = [row for row in course.out if row.order > report.order]
    if remedy is Remedy.RESEND:
        is_done = any(row.record.event is Event.REQUEUED for row in rows) or case.was_resumed(
            course, report.order, NEVER
        )
    else:
        is_done = any(_is_of_cancel(row) for row in rows) or (
            course.key[2] in case.world.nodes[course.node].snapshot().list_recovering()
        )
    if not is_done:
        text = f"not received, and {remedy} did not follow"
        yield _at("R-21", course, text, report.order)


def _is_of_cancel(row: Row) -> bool:
    if row.record.event is Event.REPORT_RECEIVED:
        return (row.record.reason or "").startswith("cancel")
    return row.record.event in (Event.CANCELLED, Event.EXPIRED)


# Expected responses (level 5).


def _response(case: Case, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """R-21: a business response that is expected comes, or a row says that it is late."""
    within_s = terms.recovery.response_within_s
    submitted = course.first_out(Event.SUBMITTED)
    if within_s is None or submitted is None or case.happened(course.node, "jumped"):
        return
    if _is_response(case, course):
        return  # None is expected to a response.
    due_ns = max(submitted.at_ns + within_s * NS_PER_S, case.healed_ns)
    said = (Event.RESPONSE_OVERDUE, Event.RESPONSE_RECEIVED, Event.CANCELLED, Event.EXPIRED)
    # What had failed before its cancel was confirmed stays failed, and nothing answers it.
    is_said = any(row.record.event in said or _is_confirmed(row) for row in course.out)
    if case.end_ns > due_ns + SLACK_NS and not is_said:
        text = f"no response came within {within_s} s, and no row says so"
        yield _at("R-21", course, text, case.end_order)


def _is_confirmed(row: Row) -> bool:
    is_report = row.record.event is Event.REPORT_RECEIVED
    return is_report and (row.record.reason or "").startswith("cancel confirmed")


def _is_response(case: Case, course: Course) -> bool:
    """Whether the message answers another, or is the new version of one that does."""
    return any(one.letter.ref for one in course.sent) or any(
        accepted.ref_to_message_id and accepted.key == course.key
        for accepted in case.history.accepted
    )


# Taking back what is worked on.


def _begun_work(case: Case, course: Course) -> Iterator[Violation]:
    """I44, R-08: a cancel is confirmed only while work on the message surely has not begun.

    What was forgotten is unknown, and its sender does not take it back (R-19).
    """
    confirmed = course.first_into(Event.CANCEL_CONFIRMED)
    handed = course.first_into(Event.HANDED_OVER)
    if confirmed is None or handed is None or handed.order > confirmed.order:
        return
    if course.line is None or not is_remembered(course.line.terms):
        return
    if case.has_forgotten(course.node, confirmed.order):
        return
    changed = course.first_into(Event.PROCESSING_CHANGED)
    begun = changed is not None and changed.order < confirmed.order
    if begun or not course.line.terms.reports_processing:
        text = f"its cancel was confirmed, and {name_of(course.key[1])} may have begun its work"
        yield _at("I44", course, text, confirmed.order)
