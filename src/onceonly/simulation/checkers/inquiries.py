"""Questions about a message, the answers, and what follows from them (R-21; I29, I44).

Knows the rows and letters of the machine that asks, and what the asked one writes down. A recovery
ends when something is said about the message, or an operator is told; until then it is in the
store. `answers` judges whether answers are true.
"""

from collections.abc import Iterator

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S, US_PER_S
from onceonly.message.message import AckRequested, DeliverySemantics
from onceonly.message.signals import InquiryKind, MessageStatus, ReportedProcessing
from onceonly.message.terms import DeliveryTerms, Remedy
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.events import Outcome, Settlement
from onceonly.protocol.outbound import Exposure, OutboundStatus
from onceonly.simulation.cast import name_of
from onceonly.simulation.checkers.arrival import says_no
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Course
from onceonly.simulation.checkers.letter import LetterKind
from onceonly.simulation.checkers.receiver import is_remembered
from onceonly.simulation.checkers.sender import is_fence, release_ns
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.simulation.network import CLIENT_WAIT_NS
from onceonly.store.contract.entries import Incident, OutboundEntry

WORDS = frozenset(
    {
        Event.REPORT_RECEIVED,
        Event.ACK_RECEIVED,
        Event.LATE_ACK_RECEIVED,
        Event.REQUEUED,
        Event.RESPONSE_RECEIVED,
        Event.CANCELLED,
        Event.EXPIRED,
        Event.SETTLED,
    }
)
"""Rows of the asker that end a question, or show that it is not needed."""

SLACK_NS = 30 * NS_PER_S
"""From the instant at which a response is late until a row says so."""

STAMP_US = US_PER_S
"""A Timestamp on the wire is no finer."""

_STATUSES = frozenset(MessageStatus)
_PROCESSINGS = frozenset(ReportedProcessing)
RECEIVED = (MessageStatus.RECEIVED, MessageStatus.PROCESSED)
_AT_WORK = (ReportedProcessing.IN_PROGRESS, ReportedProcessing.COMPLETE)

_QUESTIONS = frozenset({"inquire", "cancel", "resend"})
"""What operators do that rows tell from a recovery's own questions by nothing."""


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every message at its sender, and what receivers confirm."""
    for course, terms in case.sending():
        if case.is_set_back(*case.path(course)):
            continue
        yield from _heard(course)
        if course.is_origin and not case.is_reconfigured(course):
            yield from _ends(case, course, terms)
            yield from _shown(case, course)
            yield from _found(course, terms)
            yield from _taken_back(course)
            if not is_operated(case, course):
                yield from _budget(case, course, terms)
                yield from _pings(course, terms)
                yield from _remedy(case, course, terms)
                yield from _new_version(case, course, terms)
                yield from _asked_after_a_word(case, course, terms)
    for course in case.courses.values():
        if not case.is_set_back(course.node):
            yield from _begun_work(case, course)
    for node in case.machines:
        if not case.is_set_back(node):
            yield from _told_operators(case, node)


def _at(invariant: str, course: Course, text: str, order: int) -> Violation:
    return Violation(invariant, f"{course}: {text}", order)


def is_operated(case: WorldCase, course: Course) -> bool:
    """Whether an operator asked about the message, or had it sent again."""
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
        if one.letter.kind is LetterKind.REPORT and one.letter.word != "Pong"
    ]
    noted = [row for row in course.out if row.record.event is Event.REPORT_RECEIVED]
    for number, row in enumerate(noted):
        if len(heard) <= number or heard[number] > row.order:
            text = f"{number + 1} reports were taken, and its partner had not made as many"
            yield _at("I29", course, text, row.order)


# A recovery has an end, and its questions are counted.


def causes_of(course: Course, terms: DeliveryTerms) -> list[Row]:
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
        if (
            terms.recovery.inquires
            and row.at_ns in doubts
            and _leaves_a_doubt(row)
            and not _denies_a_word(course, row)
        )
        or row.record.event is Event.RESPONSE_OVERDUE
    ]


def _is_refused_for_good(row: Row) -> bool:
    """Refused for good, and not after its fence, which a slow disk may put into the same commit."""
    return row.record.event is Event.FAILED and not is_fence(row.record)


def _leaves_a_doubt(row: Row) -> bool:
    """Given up, or refused where an earlier copy may have arrived; R-11 asks nothing of numbers."""
    if says_no(row.record):
        return row.record.error_code != ErrorCode.INVALID_SEQUENCE_NUMBER
    return row.record.event is Event.EXHAUSTED


def _denies_a_word(course: Course, row: Row) -> bool:
    """Whether the partner denies with it what a person had said: an operator looks (R-49)."""
    said = (Event.SETTLED, Event.REQUEUED, Event.TRANSMITTING, *ACKNOWLEDGED)
    before = [one for one in course.out if one.order < row.order and one.record.event in said]
    return bool(before) and before[-1].record.event is Event.SETTLED


def _is_certain_end(entry: OutboundEntry | None) -> bool:
    """Whether it failed and never left, as a late outcome may show: nobody has to be asked."""
    return (
        entry is not None
        and entry.state.status is OutboundStatus.FAILED
        and entry.state.exposure is Exposure.NEVER
    )


def _ends(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """R-21, I25: an answer, another word about the message, or an operator knows."""
    causes = causes_of(course, terms)
    if not causes:
        return
    snapshot = case.world.nodes[course.node].snapshot()
    last, message_id = causes[-1], course.key[2]
    is_ended = (
        any(row.record.event in WORDS and row.order > last.order for row in course.out)
        or case.was_resumed(course, last.order, NEVER)
        or is_operators(case, course)
        or _is_certain_end(snapshot.find_outbound(message_id))
    )
    if not is_ended and message_id not in snapshot.list_recovering():
        text = f"{last.record.event}, and no answer came, nobody asks, and no operator knows"
        yield _at("R-21", course, text, last.order)


NO_RESPONSE = "there is no response to send again"
NO_ANSWER = ("no useful answer",)
_INSTEAD_OF_A_REMEDY = (*NO_ANSWER, "not recognized", "not received", "refused by its")
_OF_RECOVERY = (*_INSTEAD_OF_A_REMEDY, "the partner refuses to say", "processed, but without")
"""How the reasons of such incidents begin; those of closed pairs and wrong numbers differ."""


def is_operators(
    case: WorldCase, course: Course, beginnings: tuple[str, ...] = _OF_RECOVERY
) -> bool:
    """Whether an incident says that a recovery came to nothing."""
    incidents = case.world.nodes[course.node].snapshot().list_incidents(is_open=False)
    return any(
        tuple(one.pair) == course.key[:2] and one.reason.startswith(beginnings) for one in incidents
    )


_ANSWER_BEHIND = {
    "the partner refuses to say": MessageStatus.UNAUTHORIZED.value,
    "not recognized": MessageStatus.NOT_RECOGNIZED.value,
    "not received": MessageStatus.NOT_RECOGNIZED.value,
    "refused by its receiver": MessageStatus.NOT_RECOGNIZED.value,
    "processed, but without": NO_RESPONSE,
}
"""What the row of the answer says that an incident speaks of."""


def _told_operators(case: WorldCase, node: str) -> Iterator[Violation]:
    """An incident about an answer needs an answer that came before it."""
    for incident in case.world.nodes[node].snapshot().list_incidents(is_open=False):
        word = next(
            (word for words, word in _ANSWER_BEHIND.items() if incident.reason.startswith(words)),
            None,
        )
        if word is not None and not any(
            row.record.event is Event.REPORT_RECEIVED
            and word in (row.record.reason or "")
            and (row.record.from_party, row.record.to_party) == tuple(incident.pair)
            for row in case.rows_of[node]
        ):
            text = f"{node}: operators hear: {incident.reason}, and nobody has said so"
            yield Violation("R-21", text, case.end_order)
        yield from _asked_as_often(case, node, incident)


def _asked_as_often(case: WorldCase, node: str, incident: Incident) -> Iterator[Violation]:
    """Who gives up asking has asked as often as agreed; a restart is no reset."""
    beginning, _, times = incident.reason.rpartition(", asked ")
    if not beginning.startswith(NO_ANSWER) or case.happened(node, "reconfigured"):
        return
    agreed = {
        terms.recovery.inquiries
        for (where, agreement_id), terms in case.terms.items()
        if where == node and case.is_between(agreement_id, incident.pair)
    }
    if int(times.split()[0]) not in agreed:
        text = f"{node}: {incident.reason}; agreed: {', '.join(map(str, agreed))}"
        yield Violation("R-21", text, case.end_order)


def _budget(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """R-21, L5: so many questions of a kind for each cause, and one more for each crash."""
    causes = causes_of(course, terms)
    asked = next((row for row in course.out if is_question(row, InquiryKind.STATUS)), None)
    is_wanted = terms.recovery.inquires or terms.recovery.response_within_s is not None
    if asked is not None and not is_wanted:
        yield _at("R-21", course, "its status was asked for, and no rule says so", asked.order)
    for kind in (InquiryKind.STATUS, InquiryKind.RESPONSE):
        rows = [row for row in course.out if is_question(row, kind)]
        deaths = case.deaths_between(course.node, 0, NEVER)
        # If the application had been told before, the recovery causes no notice.
        untold = sum(
            row.record.event is Event.EXHAUSTED and row not in causes for row in course.out
        )
        allowed = (len(causes) + untold) * terms.recovery.inquiries + deaths
        if len(rows) > allowed:
            text = f"{kind} was asked {len(rows)} times, {allowed} were due"
            yield _at("R-21", course, text, rows[allowed].order)


def _pings(course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """Level 2: a partner is asked whether it is there before it is asked more, where agreed."""
    pings_first = terms.recovery.pings_before_inquiry
    if terms.recovery.ping_above_bytes is None and not pings_first:
        sent = course.first_out(Event.PING_SENT)
        if sent is not None:
            yield _at("R-21", course, "its partner was pinged, and nobody wanted it", sent.order)
    if not pings_first:
        return
    pongs = [
        row.order
        for row in course.out
        if row.record.event is Event.PONG_RECEIVED and row.record.reason == "available"
    ]
    causes = causes_of(course, terms)
    begun = causes[0].order if causes else NEVER
    asked = next((row for row in course.out if is_question(row, InquiryKind.STATUS)), None)
    is_by_rule = asked is not None and asked.order > begun
    if asked is not None and is_by_rule and not any(begun < one < asked.order for one in pongs):
        yield _at("R-21", course, "asked, and it had not said that it is there", asked.order)


def is_question(row: Row, kind: InquiryKind) -> bool:
    """Whether the row tells of a question of that kind."""
    return row.record.event is Event.INQUIRY_SENT and row.record.reason == kind.value


def _shown(case: WorldCase, course: Course) -> Iterator[Violation]:
    """What operators see of a message is what the partner last said of it."""
    status = processing = ""
    for row in course.out:
        said = said_in(row)
        status, processing = said[0] or status, said[1] or processing
    snapshot = case.world.nodes[course.node].snapshot()
    if not status or snapshot.find_outbound(course.key[2]) is None:
        return
    shown = snapshot.get_recovery(course.key[2])
    if (shown.status or "", shown.processing or "") != (status, processing):
        text = f"shown as {shown.status}, {shown.processing}; its partner said {status}"
        yield _at("R-21", course, f"{text}, {processing}", case.end_order)


# What is done where the partner does not know the message.


def _remedy(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """R-21: by rule; but nothing by rule where the partner may have forgotten it (R-19)."""
    if not terms.recovery.inquires or terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return
    for cause in causes_of(course, terms):
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


def _first_word(case: WorldCase, course: Course, cause: Row) -> Row | None:
    """The first report after the cause, if it says that the partner does not know the message."""
    first = first_report(case, course, cause)
    if first is None or not (first.record.reason or "").startswith(MessageStatus.NOT_RECOGNIZED):
        return None
    return first


def first_report(case: WorldCase, course: Course, cause: Row) -> Row | None:
    """What the partner answered, if that is the first thing that came after the cause."""
    words = (row for row in course.out if row.record.event in WORDS and row.order > cause.order)
    first = next(words, None)
    if first is None or first.record.event is not Event.REPORT_RECEIVED:
        return None
    return None if case.was_resumed(course, cause.order, first.order) else first


def _left_alone(course: Course, report: Row) -> Iterator[Violation]:
    """Nothing is done until the next answer, which may be in time if a clock was set right."""
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


def _remedied(case: WorldCase, course: Course, remedy: Remedy, report: Row) -> Iterator[Violation]:
    if remedy is Remedy.WAIT or is_operators(case, course, _INSTEAD_OF_A_REMEDY):
        return
    rows = [row for row in course.out if row.order > report.order]
    if any(row.record.event is Event.SETTLED for row in rows):
        return
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


def _new_version(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """S4-25: another id for what was taken back, where that is the rule, and only there."""
    snapshot = case.world.nodes[course.node].snapshot()
    if snapshot.find_outbound(course.key[2]) is None:
        return
    is_replaced = snapshot.get_recovery(course.key[2]).replaced_by is not None
    is_rule = terms.recovery.when_not_received is Remedy.NEW_VERSION
    if is_replaced and not is_rule:
        yield _at("R-21", course, "sent under another id, and no rule says so", case.end_order)
    cancelled = course.first_out(Event.CANCELLED)
    if cancelled is None or is_replaced or not is_rule:
        return
    # Not replaced is what was cancelled because its response was late, and what a person's word had
    # ended before the partner confirmed the cancel: then he decides what is sent.
    ends = (Event.RESPONSE_OVERDUE, Event.SETTLED)
    if not any(row.record.event in ends and row.order < cancelled.order for row in course.out):
        yield _at("R-21", course, "taken back by rule, and not sent under another", cancelled.order)


def _found(course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """Level 3: an answer that the partner has the message counts as an acknowledgement."""
    is_over = terms.ack_requested is AckRequested.SIGNED  # A status is no evidence.
    for row in course.out:
        status, processing = said_in(row)
        is_over = is_over or row.record.event in ENDS
        is_at_work = status == MessageStatus.PROCESSED or processing in _AT_WORK
        may_be_withheld = terms.strict_release and not is_at_work
        is_by_rule = row.record.event in ACKNOWLEDGED and row.record.reason == _BY_REPORT
        if is_by_rule and terms.strict_release and not _was_at_work(course, row):
            yield _at("R-12", course, "acknowledged, and may be withheld", row.order)
        if is_over or status not in RECEIVED or may_be_withheld:
            continue
        if not any(
            one.record.event in ACKNOWLEDGED and one.at_ns <= row.at_ns for one in course.out
        ):
            yield _at("R-21", course, f"{status}, and not acknowledged by that", row.order)


def _taken_back(course: Course) -> Iterator[Violation]:
    """R-08: a confirmed cancel ends the message, in the same commit where nothing had before."""
    for row in course.out:
        if is_confirmed(row) and not any(
            one.record.event in ENDS and one.at_ns <= row.at_ns for one in course.out
        ):
            yield _at("R-21", course, "its cancel is confirmed, and it goes on", row.order)


_BY_REPORT = "the partner says that it has it"
"""Why a message is acknowledged of which no acknowledgement came."""


def _was_at_work(course: Course, acknowledged: Row) -> bool:
    """Whether the answer of that commit shows that work may have begun."""
    answers = [
        row
        for row in course.out
        if row.at_ns == acknowledged.at_ns and row.record.event is Event.REPORT_RECEIVED
    ]
    said = map(said_in, answers)
    return any((row.record.reason or "").startswith("cancel refused") for row in answers) or any(
        status == MessageStatus.PROCESSED or word in _AT_WORK for status, word in said
    )


ACKNOWLEDGED = (Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED)
ENDS = (Event.CANCELLED, Event.EXPIRED, Event.FAILED, Event.SENT)


def said_in(row: Row) -> tuple[str, str]:
    """Status and processing in the row of an answer; empty where it does not say."""
    if row.record.event is not Event.REPORT_RECEIVED:
        return "", ""
    words = (row.record.reason or "").rpartition(": ")[2].split(", ")
    status = next((word for word in words if word in _STATUSES), "")
    return status, next((word for word in words if word in _PROCESSINGS), "")


def is_called_lost(row: Row) -> bool:
    """Whether the row says that a person called the message not delivered (R-49)."""
    return row.record.event is Event.SETTLED and row.record.outcome == Settlement.NOT_DELIVERED


def _is_of_cancel(row: Row) -> bool:
    if row.record.event is Event.REPORT_RECEIVED:
        return (row.record.reason or "").startswith("cancel")
    return row.record.event in (Event.CANCELLED, Event.EXPIRED)


def is_confirmed(row: Row) -> bool:
    """Whether the row tells that the partner confirmed a cancel."""
    is_report = row.record.event is Event.REPORT_RECEIVED
    return is_report and (row.record.reason or "").startswith("cancel confirmed")


def _asked_after_a_word(
    case: WorldCase, course: Course, terms: DeliveryTerms
) -> Iterator[Violation]:
    """R-49: after a person's word nobody asks, but about the response to what was delivered.

    Unless the partner denied the word, which begins the doubt again.
    """
    settled = next((row for row in course.out if row.record.event is Event.SETTLED), None)
    if settled is None:
        return
    if terms.recovery.response_within_s is not None and not is_called_lost(settled):
        return
    denied = (row.order for row in course.out if says_no(row.record))
    until = min((order for order in denied if order > settled.order), default=NEVER)
    since_ns = settled.at_ns + release_ns(case, course.node)
    for asked in case.signals:
        is_about_it = asked.source == course.node and asked.letter.ref == course.key[2]
        is_question = asked.letter.kind is LetterKind.INQUIRY
        if is_about_it and is_question and asked.order < until and asked.at_ns > since_ns:
            text = f"its partner was asked after a person's word ({asked.packet})"
            yield _at("R-49", course, text, asked.order)


# Taking back what is worked on.


def _begun_work(case: WorldCase, course: Course) -> Iterator[Violation]:
    """I44, R-08: a cancel is confirmed only while work on the message surely has not begun.

    What was forgotten is unknown, and its sender does not take it back (R-19).
    """
    confirmed = course.first_into(Event.CANCEL_CONFIRMED)
    handed = course.first_into(Event.HANDED_OVER)
    if confirmed is None or handed is None or handed.order > confirmed.order:
        return
    if course.line is None or not is_remembered(course.terms):
        return
    if case.has_forgotten(course.node, confirmed.order):
        return
    changed = course.first_into(Event.PROCESSING_CHANGED)
    begun = changed is not None and changed.order < confirmed.order
    if begun or not course.terms.reports_processing:
        text = f"its cancel was confirmed, and {name_of(course.key[1])} may have begun its work"
        yield _at("I44", course, text, confirmed.order)
