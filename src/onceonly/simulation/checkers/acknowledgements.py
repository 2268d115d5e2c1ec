"""What is said of a message to its sender: its acknowledgements and receipts, and silence.

I3 to I6 and I8: after the store, as often as it is owed, in the right words, and never for
nothing; R-03, seed 001 §1.3.3 and §2.1.1. `answers` judges what is answered to questions.
"""

from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S
from onceonly.message.message import AckRequested
from onceonly.message.terms import ResponseChoice
from onceonly.simulation.cast import speaker, uri
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Course, Going
from onceonly.simulation.checkers.letter import LetterKind
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row

ANSWERED_NS = 30_000_000_000
"""How long a living process may have a copy before it says anything about it, with a full queue and
the waits for a full disk. Time in which the process is frozen does not count."""

SIGNALS = (LetterKind.ACK, LetterKind.RECEIPT)


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every message at every machine."""
    for course in case.courses.values():
        if case.is_set_back(course.node):
            continue
        yield from _signals(case, course)
        stored = course.first_into(Event.STORED)
        if stored is not None:
            yield from _one_response(course)
            yield from _acknowledged_for_nothing(case, course)
            yield from _answers(case, course)
            yield from _answered_in_the_end(case, course)
            yield from _in_work(course)
            yield from _while_in_work(case, course, stored)
            yield from _rode(case, course)
            yield from _passed_on(course)
            if not case.is_his_own(course):
                yield from _receipt(case, course)
        if course.is_destination:
            yield from _silence(case, course)
            if not case.comes_from_outside(course):
                yield from _unasked(course)


def _at(invariant: str, course: Course, text: str, order: int) -> Violation:
    return Violation(invariant, f"{course}: {text}", order)


def _signals(case: WorldCase, course: Course) -> Iterator[Violation]:
    """I3 for whoever stores, I6 for everybody, as the bytes say it."""
    stored = course.first_into(Event.STORED)
    is_relay = stored is None and not course.is_destination
    for said in course.said:
        if said.letter.kind in SIGNALS:
            yield from _form(case, course, said)
            if not is_relay and (stored is None or stored.order > said.order):
                text = f"acknowledged before it was stored ({said.packet})"
                yield _at("I3", course, text, said.order)
    for copy in course.sent:
        yield from _response_before_store(case, course, copy)


def _response_before_store(case: WorldCase, course: Course, copy: Going) -> Iterator[Violation]:
    """An acknowledgement that the business response carries (seed 001 §1.3.3.1)."""
    letter = copy.letter
    if not (letter.acknowledges and letter.ref and course.is_origin):
        return
    request = case.at(course.node, (letter.to_party, letter.from_party, letter.ref))
    stored = None if request is None else request.first_into(Event.STORED)
    if stored is None or stored.order > copy.order:
        yield _at("I3", course, f"acknowledges {letter.ref} before it was stored", copy.order)


def _form(case: WorldCase, course: Course, said: Going) -> Iterator[Violation]:
    """A signal goes to the SenderURI of the copy, which a hostile partner may choose freely.

    Without RoutingHeaders it goes from party to party, also where intermediaries stand between.
    """
    letter = said.letter
    is_odd = case.is_his_own(course) and case.comes_from_outside(course)
    assert course.line is not None, "it is acknowledged under an agreement"
    profile = course.line.profile
    from_, to = str(speaker(said.source, profile)), str(speaker(said.target, profile))
    if not profile.has_routing_headers:
        to, from_, _ = course.key
    to = letter.to_party if is_odd else to
    hop = (uri(said.source), to if is_odd else uri(said.target))
    hops = (hop,) if profile.has_routing_headers else ()
    wrong = [
        what
        for what, is_wrong in (
            ("a payload", bool(letter.parts)),
            ("a SequenceNumber", bool(letter.numbers)),
            ("another semantics than BestEffort", not letter.is_best_effort),
            ("another From", letter.from_party != from_),
            ("another To", letter.to_party != to),
            ("another RoutingHeader", letter.hops != hops),
        )
        if is_wrong
    ]
    if wrong:
        text = f"its acknowledgement has {', '.join(wrong)} ({said.packet})"
        yield _at("I6", course, text, said.order)


def _one_response(course: Course) -> Iterator[Violation]:
    """I5, R-03: every repeat is answered with the first stored response, byte for byte."""
    terms = course.terms
    if terms.response_choice is ResponseChoice.MOST_RECENT:
        return
    first: Going | None = None
    for said in course.said:
        if said.letter.kind is not LetterKind.ACK:
            continue
        if first is None:
            first = said
        elif said.body != first.body:
            yield _at("I5", course, f"{said.packet} is another response", said.order)


def _answers(case: WorldCase, course: Course) -> Iterator[Violation]:
    """I4: each copy that was stored or known is acknowledged, unless the process died."""
    terms = course.terms
    is_answered_elsewhere = terms.sync_reply_mode.has_response or terms.ack_status.is_passed_on
    if not terms.is_acknowledged or is_answered_elsewhere:
        return
    owed = [
        row
        for row in course.into
        if owes_answer(row) and not _waits_for_a_repeat(case, course, row)
    ]
    acks = [one for one in course.said if one.letter.kind is LetterKind.ACK]
    said = sorted([*acks, *course.responses], key=lambda one: one.order)
    at = 0
    for row in owed:
        death = case.next_death(course.node, row.order)
        while at < len(said) and said[at].order < row.order:
            at += 1
        if at < len(said) and said[at].order < death:
            at += 1
        elif (
            death == NEVER
            and was_long_awake(case, course.node, row.at_ns)
            and not _is_taken_back(course, row)
        ):
            yield _at("I4", course, f"{row.record.event}, and no acknowledgement", row.order)


def _answered_in_the_end(case: WorldCase, course: Course) -> Iterator[Violation]:
    """I4, where the answer waits for the application or for the hand-over: it comes all the same.

    Copies are not counted here: several copies that come during one wait share its answer. A
    response that was made but has not left answers nothing.
    """
    terms = course.terms
    waits_s = terms.timeout_s if terms.sync_reply_mode.has_response else 0
    if not (terms.is_acknowledged and (waits_s or terms.ack_status.is_passed_on)):
        return
    last = [row for row in course.into if owes_answer(row)][-1]
    asked_ns = last.at_ns + waits_s * NS_PER_S
    is_steady = case.death_of(last) == NEVER
    if not is_steady or not was_long_awake(case, course.node, asked_ns):
        return
    # If the clock is set forward while the sender waits, the message may be old and forgotten.
    is_aged = case.has_jumped(course.node, course.into[0].at_ns, asked_ns)
    if is_aged and case.has_forgotten(course.node, NEVER):
        return
    acks = (one for one in course.said if one.letter.kind is LetterKind.ACK)
    is_answered = any(one.order > last.order for one in (*acks, *course.responses))
    if not is_answered and not _is_taken_back(course, last):
        yield _at("I4", course, f"{last.record.event}, and no acknowledgement", last.order)


def _in_work(course: Course) -> Iterator[Violation]:
    """Seed 001 §1.3.3 (9b): silence about a copy means that its first response is still made."""
    mode = course.terms.sync_reply_mode
    answers = [
        *course.responses,
        *(one for one in course.said if one.letter.kind is LetterKind.ACK),
    ]
    for row in course.into:
        if row.record.event is not Event.DUPLICATE_ELIMINATED or owes_answer(row):
            continue
        if not mode.has_response or any(one.order < row.order for one in answers):
            text = f"unanswered, as {row.record.reason}, and there is an answer"
            yield _at("I4", course, text, row.order)


def _while_in_work(case: WorldCase, course: Course, stored: Row) -> Iterator[Violation]:
    """Seed 001 §1.3.3.1: an acknowledgement that the response carries is not sent before it.

    As long as somebody waits for the response, in the process that stored the message.
    """
    terms = course.terms
    waits_s = min(terms.timeout_s, _EXCHANGE_WAITS_S)
    if not terms.sync_reply_mode.has_response or not terms.is_acknowledged:
        return
    if terms.ack_requested is AckRequested.SIGNED:
        return  # What is signed goes by itself.
    # With a fast clock a wait is over sooner.
    fast_ppm = max(0, case.machines[course.node].drift_ppm)
    until_ns = stored.at_ns + waits_s * NS_PER_S * 1_000_000 // (1_000_000 + fast_ppm)
    death = case.death_of(stored)
    is_asked = any(
        row.record.event in (Event.INQUIRY_RECEIVED, Event.CANCEL_CONFIRMED) for row in course.into
    )
    is_moved = case.is_reconfigured(course) or bool(case.happened(course.node, "full"))
    is_simple = not is_asked and not is_moved
    # Mail and what came in an answer have none to wait in, and a response has no response.
    line = course.line
    if line is None or {line.scheme, line.resend_scheme} - {"http", "https", ""}:
        return
    if any(one.packet.startswith("answer to") or one.letter.ref for one in course.taken):
        return
    for said in course.said:
        is_early = said.at_ns < until_ns and said.order < death and is_simple
        is_first = not any(one.order < said.order for one in course.responses)
        if said.letter.kind is LetterKind.ACK and is_early and is_first:
            text = f"{said.packet} acknowledges it while its response is in work"
            yield _at("I4", course, text, said.order)


_EXCHANGE_WAITS_S = 15
"""Longest that the answer of a transport is waited for."""


def _rode(case: WorldCase, course: Course) -> Iterator[Violation]:
    """E2: an acknowledgement on a response in the transport's answer has its row."""
    rode = [
        one
        for one in course.responses
        if one.packet.startswith("answer to") and one.letter.acknowledges
    ]
    if not rode or case.next_death(course.node, rode[0].order) != NEVER:
        return
    is_over = was_long_awake(case, course.node, rode[0].at_ns)
    if is_over and course.first_into(Event.ACK_SENT) is None:
        yield _at(
            "E2", course, f"acknowledged by {rode[0].packet}, and no row says so", rode[0].order
        )


def _passed_on(course: Course) -> Iterator[Violation]:
    """Seed 004 level 0 c: an acknowledgement that says "passed on" is true when it leaves."""
    handed = course.first_into(Event.HANDED_OVER)
    for said in course.said:
        is_said = said.letter.kind is LetterKind.ACK and said.letter.is_passed_on
        if is_said and (handed is None or handed.order > said.order):
            yield _at("I3", course, f"{said.packet} says passed on before it was", said.order)


def _unasked(course: Course) -> Iterator[Violation]:
    """Seed 001 §1.3: BestEffort and what a reliable transport brought are not acknowledged."""
    if course.terms.is_acknowledged:
        return
    for said in course.said:
        if said.letter.kind is LetterKind.ACK:
            yield _at("I4", course, f"{said.packet} acknowledges what asks for none", said.order)


def _waits_for_a_repeat(case: WorldCase, course: Course, row: Row) -> bool:
    """Whether the copy's process died in the commit of the row, and no start answers for it.

    A start goes on with messages that its own application has not got yet, and acknowledges them. A
    repeat, or a message that an intermediary accepted, is acknowledged when another copy comes;
    that acknowledgement is the answer to the later copy.
    """
    is_taken_up = course.is_destination and row.record.event is Event.STORED
    return case.was_recovered(row) and not is_taken_up


def _is_taken_back(course: Course, stored: Row) -> bool:
    """R-08: confirmed before an acknowledgement could leave, which it need not any more."""
    cancel = course.first_into(Event.CANCEL_CONFIRMED)
    return cancel is not None and cancel.order > stored.order


def owes_answer(row: Row) -> bool:
    """Whether a copy was stored or known, and nobody works on what answers it."""
    event = row.record.event
    if event is Event.DUPLICATE_ELIMINATED:
        return _IN_WORK not in (row.record.reason or "")
    return event is Event.STORED


_IN_WORK = "business response is in work"
"""The reason in the row of a copy whose response is still being made. The rows of other copies may
name what differs in them."""


def _acknowledged_for_nothing(case: WorldCase, course: Course) -> Iterator[Violation]:
    """I5, I8, R-20: a copy is acknowledged once, and other content under its MessageId never.

    Counted, where nothing else asks for one: no start, no inquiry, nothing that was withheld, and
    no full disk, on which a repeat is acknowledged without a row (fault D4).
    """
    if len(case.happened(course.node, "started")) > 1 or case.happened(course.node, "full"):
        return
    if any(row.record.event is Event.WITHHELD for row in course.into):
        return
    if any(row.record.event is Event.INQUIRY_RECEIVED for row in case.rows_of[course.node]):
        return
    stored = course.first_into(Event.STORED)
    damaged = sum(
        row.record.event is Event.REJECTED and stored is not None and row.order > stored.order
        for row in course.into
    )  # Each says which message it is of, and is answered as any other copy.
    owed = sum(owes_answer(row) for row in course.into) + damaged
    if course.line is not None and not course.line.profile.response_acknowledges:
        # The answer to each copy waits, and has the acknowledgement alone when no response came.
        owed += sum(_IN_WORK in (row.record.reason or "") for row in course.into)
    acks = [one for one in course.said if one.letter.kind is LetterKind.ACK]
    if len(acks) > owed:
        is_other = any(row.record.event is Event.COLLISION_DETECTED for row in course.into)
        text = f"{len(acks)} acknowledgements for {owed} copies of it"
        yield _at("I8" if is_other else "I5", course, text, acks[owed].order)


def _silence(case: WorldCase, course: Course) -> Iterator[Violation]:
    """I4: a whole copy that a living process took leaves a row or an answer."""
    for copy in course.taken:
        death = case.next_death(course.node, copy.order)
        if death != NEVER or not was_long_awake(case, course.node, copy.at_ns):
            continue
        has_row = any(row.order > copy.order for row in course.into)
        has_answer = any(one.order > copy.order for one in course.said)
        is_excused = (
            case.is_misaddressed(copy)
            or case.is_full(course.node, copy.at_ns)
            or case.answers_a_repeat(copy)
        )
        if not has_row and not has_answer and not is_excused:
            yield _at("I4", course, f"{copy.packet} came, and nothing followed", copy.order)


def was_long_awake(case: WorldCase, node: str, at_ns: int) -> bool:
    """Whether the process had the time to answer what it had then, before the world ended."""
    return case.awake_from(node, at_ns, ANSWERED_NS) + ANSWERED_NS < case.end_ns


def _receipt(case: WorldCase, course: Course) -> Iterator[Violation]:
    """Whoever asked for a delivery receipt gets one, once the application has the message."""
    handed = course.first_into(Event.HANDED_OVER)
    is_wanted = course.terms.delivery_receipt_requested is not AckRequested.NONE
    if handed is None or not is_wanted or case.was_recovered(handed):
        return
    is_steady = case.next_death(course.node, handed.order) == NEVER
    is_sent = any(one.letter.kind is LetterKind.RECEIPT for one in course.said) or any(
        row.record.event is Event.RECEIPT_SENT for row in course.into
    )
    if is_steady and was_long_awake(case, course.node, handed.at_ns) and not is_sent:
        text = "handed over, and no delivery receipt was sent (seed 001 §2.1.1.2)"
        yield _at("I4", course, text, handed.order)
