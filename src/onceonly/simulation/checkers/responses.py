"""Business responses: what shows by them, what is late, and what is done about it (level 5, R-21).

Knows the rows of the machine that awaits a response, and the responses that came to it. `inquiries`
judges how questions end, and `answers` what the asked machine says.
"""

from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S, US_PER_S
from onceonly.message.signals import InquiryKind, ReportedProcessing
from onceonly.message.terms import DeliveryTerms, Remedy
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Course
from onceonly.simulation.checkers.inquiries import (
    ACKNOWLEDGED,
    ENDS,
    NO_ANSWER,
    NO_RESPONSE,
    RECEIVED,
    SLACK_NS,
    STAMP_US,
    WORDS,
    causes_of,
    first_report,
    is_called_lost,
    is_confirmed,
    is_operated,
    is_operators,
    is_question,
    said_in,
)
from onceonly.simulation.checkers.letter import LetterKind
from onceonly.simulation.checkers.sender import surely_left
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.simulation.network import CLIENT_WAIT_NS


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every message at its sender."""
    for course, terms in case.sending():
        is_judged = course.is_origin and not case.is_reconfigured(course)
        if not is_judged or case.is_set_back(*case.path(course)):
            continue
        yield from _response(case, course, terms)
        yield from _shows_arrival(case, course, terms)
        if not is_operated(case, course):
            yield from _once(course)
            yield from _in_time(case, course, terms)
            yield from _denied(case, course)
            yield from _late(case, course, terms)


def _at(invariant: str, course: Course, text: str, order: int) -> Violation:
    return Violation(invariant, f"{course}: {text}", order)


def _response(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """R-21: a business response that is expected comes, or a row says that it is late."""
    within_s = terms.recovery.response_within_s
    submitted = course.first_out(Event.SUBMITTED)
    if within_s is None or submitted is None or case.happened(course.node, "jumped"):
        return
    if _is_response(case, course):
        return  # None is expected to a response.
    left = [one.at_ns for one in course.sent if surely_left(one, case)]
    if not left:
        return  # There is nothing to answer.
    due_ns = max(max(submitted.at_ns, left[0]) + within_s * NS_PER_S, case.healed_ns)
    said = (Event.RESPONSE_OVERDUE, Event.RESPONSE_RECEIVED, Event.CANCELLED, Event.EXPIRED)
    # What had failed before its cancel was confirmed stays failed, and nothing answers it.
    is_said = any(
        row.record.event in said or is_confirmed(row) or is_called_lost(row) for row in course.out
    )
    if case.end_ns > due_ns + SLACK_NS and not is_said:
        text = f"no response came within {within_s} s, and no row says so"
        yield _at("R-21", course, text, case.end_order)


def _once(course: Course) -> Iterator[Violation]:
    """A response is said to be late or there, each once, and never late after there."""
    received = [row for row in course.out if row.record.event is Event.RESPONSE_RECEIVED]
    overdue = [row for row in course.out if row.record.event is Event.RESPONSE_OVERDUE]
    for rows in (received, overdue):
        if len(rows) > 1:
            yield _at("R-21", course, f"{rows[0].record.event} twice", rows[1].order)
    if received and overdue and overdue[-1].order > received[0].order:
        yield _at("R-21", course, "late, and it had come", overdue[-1].order)


def _in_time(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """Level 5 (1): not late before its time; and what came is there."""
    made_at, within_s = case.made_at(course), terms.recovery.response_within_s
    if made_at is None or within_s is None:
        return
    overdue, submitted = course.first_out(Event.RESPONSE_OVERDUE), course.first_out(Event.SUBMITTED)
    if overdue is not None and submitted is not None:
        is_early = overdue.record.at + STAMP_US < made_at + within_s * US_PER_S
        # A clock set back since then hides time that has passed; and a sweep that a slow disk held
        # up may have read one that was ahead, and is right again.
        has_waited = overdue.at_ns - submitted.at_ns >= within_s * NS_PER_S
        is_one_clock = not case.has_jumped(course.node, submitted.at_ns, overdue.at_ns)
        if is_early and not has_waited and is_one_clock:
            yield _at("R-21", course, "late, and its time had not passed", overdue.order)
        if not _had_left(course, overdue):
            yield _at("R-21", course, "its response is late, and it never left", overdue.order)
    if course.first_out(Event.RESPONSE_RECEIVED) is None:
        yield from _came_unnoticed(case, course)


def _had_left(course: Course, row: Row) -> bool:
    """Whether bytes had left before that row, or were about to: then nobody can tell."""
    before = [other.record.event for other in course.out if other.order < row.order]
    attempts = [event for event in before if event in (Event.TRANSMITTING, Event.TRANSMITTED)]
    is_under_way = attempts[-1:] == [Event.TRANSMITTING]
    return is_under_way or any(one.order < row.order for one in course.sent)


def _denied(case: WorldCase, course: Course) -> Iterator[Violation]:
    """If the partner says that there is no response, an operator is told."""
    for row in course.out:
        reason = row.record.reason or ""
        if row.record.event is not Event.REPORT_RECEIVED or not reason.endswith(NO_RESPONSE):
            continue
        if not any(
            one.letter.word == "ResponseNotice" and one.letter.said("accepted") == "false"
            for one in course.heard
            if one.order < row.order
        ):
            yield _at("R-21", course, "no response, and its partner did not say so", row.order)
        elif not is_operators(case, course, (*NO_ANSWER, "processed, but without")):
            yield _at("R-21", course, "no response, and no operator knows", row.order)


def _came_unnoticed(case: WorldCase, course: Course) -> Iterator[Violation]:
    """A response that was stored has a row that says that it came."""
    is_over = any(
        row.record.event in (Event.CANCELLED, Event.EXPIRED) or is_called_lost(row)
        for row in course.out
    )
    if _is_response(case, course) or is_over:
        return
    for stored in _stored_responses(case, course):
        text = f"{stored.record.message_id} answers it, unnoticed"
        yield _at("R-21", course, text, stored.order)
        return


def _stored_responses(case: WorldCase, course: Course) -> Iterator[Row]:
    """Responses to a message that its sender still knew."""
    for one in course.heard:
        letter = one.letter
        key = letter.from_party, letter.to_party, letter.message_id
        response = case.at(course.node, key) if letter.kind is LetterKind.MESSAGE else None
        stored = None if response is None else response.first_into(Event.STORED)
        if stored is not None and not case.has_forgotten(course.node, stored.order):
            yield stored


def _shows_arrival(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """Seed 001 §1.3.3 (8b): a response shows that its request arrived; in rm-2000 it does not."""
    is_2001 = course.line is not None and course.line.profile.response_acknowledges
    for row in course.out:
        is_shown = (row.record.reason or "").startswith("on the business response")
        carries = any(one.letter.acknowledges for one in course.heard if one.order < row.order)
        if row.record.event in ACKNOWLEDGED and is_shown and not (is_2001 or carries):
            yield _at("I30", course, f"acknowledged {row.record.reason} in rm-2000", row.order)
    for stored in _stored_responses(case, course) if is_2001 and terms.is_acknowledged else ():
        before = [row for row in course.out if row.at_ns <= stored.at_ns]
        has_left = any(row.record.event is Event.TRANSMITTING for row in before)
        is_known = any(row.record.event in (*ACKNOWLEDGED, *ENDS) for row in before)
        if has_left and not is_known:
            text = f"{stored.record.message_id} answers it, and it is not acknowledged"
            yield _at("L1", course, text, stored.order)


def _is_response(case: WorldCase, course: Course) -> bool:
    """Whether the message answers another, or is the new version of one that does."""
    return any(one.letter.ref for one in course.sent) or any(
        accepted.ref_to_message_id and accepted.key == course.key
        for accepted in case.history.accepted
    )


def _late(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """Level 5 (2b): a late response is seen to by rule, and only so."""
    for cause in causes_of(course, terms):
        report = first_report(case, course, cause)
        if report is None or cause.record.event is not Event.RESPONSE_OVERDUE:
            continue
        status, processing = said_in(report)
        if status in RECEIVED:
            yield from _overdue(case, course, terms, report, processing)


def _overdue(
    case: WorldCase, course: Course, terms: DeliveryTerms, report: Row, processing: str
) -> Iterator[Violation]:
    rules = terms.recovery
    after = [row for row in course.out if row.order > report.order]
    until = next(
        (row.order for row in after if row.record.event in WORDS),
        NEVER,
    )
    due = {
        InquiryKind.RESPONSE: processing == ReportedProcessing.COMPLETE
        and rules.when_complete is Remedy.ASK_AGAIN,
        InquiryKind.CANCEL: processing == ReportedProcessing.NOT_STARTED
        and rules.when_not_started is Remedy.CANCEL,
    }
    # If an answer comes too late, nobody asks any more, and an operator knows that.
    is_timely = not is_operators(case, course, NO_ANSWER)
    is_steady = is_timely and case.next_death(course.node, report.order) == NEVER
    is_over = report.at_ns + CLIENT_WAIT_NS + SLACK_NS < case.end_ns
    for kind, is_due in due.items():
        asked = next((row for row in after if is_question(row, kind)), None)
        if is_due and asked is None and is_steady and is_over:
            text = f"late, {processing}, and no {kind} followed"
            yield _at("R-21", course, text, report.order)
        elif not is_due and asked is not None and asked.order < until:
            yield _at("R-21", course, f"{kind}, and no rule says so", asked.order)
