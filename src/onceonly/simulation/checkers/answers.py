"""What a machine says of a message when it is asked, and what its own application may say (I44).

Knows the state of a message at every place in the order, from the rows of the machine that has it.
An answer is true if it was true at some time between the arrival of the question and the answer: an
observer cannot tell which of two commits in one instant came first. Seed 004 levels 3 and 5, S4-22
to S4-26; `inquiries` judges what follows from an answer.
"""

from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.message.instant import US_PER_S
from onceonly.message.signals import MessageStatus, ReportedProcessing
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import Word, changed
from onceonly.protocol.receiving import ProcessingState
from onceonly.simulation.checkers.acknowledgements import was_long_awake
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Coming, Course, Going, is_passed_on, passes
from onceonly.simulation.checkers.letter import LetterKind
from onceonly.simulation.checkers.receiver import is_remembered
from onceonly.simulation.checkers.sender import NOT_DELIVERED
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.simulation.timeline import NS_PER_MS

_PROCESSING = [state.value for state in ProcessingState]

ANSWER_S = 60
"""Between the decision about a question and the Timestamp of its answer, at most."""

UNKNOWN = MessageStatus.NOT_RECOGNIZED.value


class _Standing(Word):
    """How a message stands at a machine."""

    is_stored: bool = False
    is_handed_over: bool = False
    is_cancelled: bool = False
    processing: str = ProcessingState.NOT_STARTED.value

    def after(self, row: Row) -> "_Standing":
        match row.record.event:
            case Event.STORED | Event.ARRIVED_IN_TRANSIT:
                return changed(self, is_stored=True)
            case Event.HANDED_OVER:
                return changed(self, is_handed_over=True)
            case Event.CANCEL_CONFIRMED:
                return changed(self, is_cancelled=True)
            case Event.PROCESSING_CHANGED:
                return changed(self, processing=row.record.reason or "")
            case _:
                return self


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every question, every message that one was about, and everyone that an application has."""
    yield from _unanswered(case)
    for course in case.courses.values():
        line = course.line
        if case.is_set_back(course.node):
            continue
        yield from _processing(course)
        yield from _taken_back(case, course)
        if line is None or not is_remembered(course.terms):
            continue
        if not case.has_forgotten(course.node, NEVER) and not case.is_reconfigured(course):
            for said in course.said:
                if said.letter.kind is LetterKind.REPORT and not is_passed_on(said):
                    yield from _report(case, course, course.terms, said)
        if course.is_destination:
            yield from _at_work(case, course, course.terms)


def _at(course: Course, text: str, order: int) -> Violation:
    return Violation("I44", f"{course}: {text}", order)


# What partners are told.


def _unanswered(case: WorldCase) -> Iterator[Violation]:
    """L4, R-20: an inquiry of a partner is answered, once, by whoever lives on."""
    told = {
        (one.source, one.letter.ref) for one in case.signals if one.letter.kind is LetterKind.REPORT
    }
    for asked in case.heard:
        node, letter = asked.target, asked.letter
        if letter.kind is not LetterKind.INQUIRY or (node, letter.message_id) in told:
            continue
        if passes(asked):
            continue
        is_honest = not case.is_misaddressed(asked) and asked.source in case.machines
        is_hindered = case.happened(node, "full", "broken", "restored")
        is_steady = case.next_death(node, asked.order) == NEVER and not is_hindered
        if is_honest and is_steady and was_long_awake(case, node, asked.at_ns):
            text = f"{node}: {asked.packet} asks ({letter.word}), and was never answered"
            yield Violation("L4", text, asked.order)


def _report(
    case: WorldCase, course: Course, terms: DeliveryTerms, said: Going
) -> Iterator[Violation]:
    letter, asked = said.letter, _asked(case, course, said)
    if asked is None:
        return
    standings = _standings(course, asked.order, said.order)
    answers = {_answer(case, course, terms, one) for one in standings}
    told = letter.said("status"), letter.said("processing")
    if letter.word == "StatusResponse":
        if told not in answers:
            yield _at(course, f"said to be {_words(told)}, and it is {_list(answers)}", said.order)
        elif told[0] != UNKNOWN:
            yield from _with_acknowledgement(course, terms, asked.order, said)
    elif letter.word == "CancelResponse":
        if not _is_from_the_future(asked, said, terms):
            yield from _cancel_answer(case, course, terms, said, standings)
    elif letter.word == "ResponseNotice":
        yield from _response_answer(case, course, said, asked.order)


def _asked(case: WorldCase, course: Course, said: Going) -> Coming | None:
    """The question that came, where the asker is the partner."""
    came = (
        one
        for one in case.heard
        if one.target == course.node
        and one.letter.message_id == said.letter.ref
        and one.source == said.target
        and not one.is_damaged
    )
    return next(came, None)


def _standings(course: Course, first: int, last: int) -> list[_Standing]:
    now = _Standing()
    found = []
    for row in course.into:
        if row.order > last:
            break
        if row.order > first:
            found.append(now)
        now = now.after(row)
    return [*found, now]


def _answer(
    case: WorldCase, course: Course, terms: DeliveryTerms, standing: _Standing
) -> tuple[str, str]:
    """The status and the processing state that are to be told."""
    if not standing.is_stored or standing.is_cancelled:
        return UNKNOWN, ""
    if course.node in case.modes(course):
        return MessageStatus.FORWARDED.value, ""
    is_known = terms.reports_processing or standing.processing != ProcessingState.NOT_STARTED
    processing = standing.processing if is_known else ReportedProcessing.NOT_KNOWN.value
    if course.line is not None and not course.line.profile.has_cancels:
        processing = ""  # It has no words for that.
    is_done = standing.processing == ProcessingState.COMPLETE
    word = MessageStatus.PROCESSED if is_done else MessageStatus.RECEIVED
    return word.value, processing


def _words(told: tuple[str, str]) -> str:
    return ", ".join(filter(None, told)) or "nothing"


def _list(answers: set[tuple[str, str]]) -> str:
    return " or ".join(sorted(map(_words, answers)))


def _with_acknowledgement(
    course: Course, terms: DeliveryTerms, asked: int, said: Going
) -> Iterator[Violation]:
    """S4-22: who has lost the acknowledgement gets it once more with the answer."""
    is_relayed = course.first_into(Event.ARRIVED_IN_TRANSIT) is not None
    is_another = terms.sync_reply_mode.has_response or is_relayed
    if not terms.is_acknowledged or is_another:
        return
    acks = (one for one in course.said if one.letter.kind is LetterKind.ACK)
    if not any(asked < one.order < said.order for one in acks):
        yield _at(course, f"{said.packet} says it is here, without acknowledgement", said.order)


def _is_from_the_future(asked: Coming, said: Going, terms: DeliveryTerms) -> bool:
    """R-19: a cancel from the future is refused, since its tombstone would be kept until then."""
    ahead_us = asked.letter.timestamp_at - said.letter.timestamp_at
    most_s = terms.timestamp_ahead_max_s + terms.msh_time_accuracy_s
    return ahead_us > (most_s - ANSWER_S) * US_PER_S


def _cancel_answer(
    case: WorldCase,
    course: Course,
    terms: DeliveryTerms,
    said: Going,
    standings: list[_Standing],
) -> Iterator[Violation]:
    """S4-26: confirmed as long as no work can have begun, and then for good."""
    is_passed_on = course.node in case.modes(course)
    is_accepted = said.letter.said("accepted") == "true"
    if is_accepted and not standings[-1].is_cancelled:
        yield _at(course, "its cancel was promised before it was durable", said.order)
    elif not is_accepted and not is_passed_on:
        can_stop = terms.reports_processing
        started = ProcessingState.NOT_STARTED
        if all(
            one.is_cancelled or not one.is_handed_over or (can_stop and one.processing == started)
            for one in standings
        ):
            yield _at(course, "its cancel was refused, and nobody had begun", said.order)


def _response_answer(
    case: WorldCase, course: Course, said: Going, asked: int
) -> Iterator[Violation]:
    """Level 5 (2b): the business response goes once more, if there is one."""
    is_accepted = said.letter.said("accepted") == "true"
    is_made = any(
        one.node == course.node
        and one.ref_to_message_id == course.key[2]
        and one.order < said.order
        for one in case.history.accepted
    )
    if is_accepted and not is_made:
        yield _at(course, "a response was promised, and there is none", said.order)
    elif not is_accepted and any(
        one.order < asked and not _is_given_up(case, one) for one in course.responses
    ):
        yield _at(course, "a response was denied, and one had left", said.order)


def _is_given_up(case: WorldCase, response: Going) -> bool:
    letter = response.letter
    course = case.at(response.source, (letter.from_party, letter.to_party, letter.message_id))
    return course is not None and any(row.record.event in NOT_DELIVERED for row in course.out)


# What the application says.


def _at_work(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """An application that asks before it begins may do so once its report is durable (seed 004)."""
    if not terms.reports_processing or not course.delivered:
        return
    begun = course.first_into(Event.PROCESSING_CHANGED)
    for worked in course.worked:
        if begun is None or begun.order > worked.order:
            yield _at(course, "worked on, and no row says that it has begun", worked.order)
    read = course.delivered[0]
    habits = case.machines[course.node].habits
    thinks_ns = habits.thinks_ms * NS_PER_MS
    is_steady = case.next_death(course.node, read.order) == NEVER
    is_over = was_long_awake(case, course.node, read.at_ns + thinks_ns)
    ends = (Event.CANCEL_CONFIRMED, Event.APPLICATION_REFUSED)
    if is_steady and is_over and not course.worked and not any(map(course.first_into, ends)):
        yield _at(course, "read, and its application may not begin", read.order)


def _processing(course: Course) -> Iterator[Violation]:
    """The processing states only move forward; those of BestEffort are of many copies (R-16)."""
    last = 0
    if course.line is None or not is_remembered(course.terms):
        return
    for row in course.into:
        if row.record.event is Event.PROCESSING_CHANGED:
            state = _PROCESSING.index(row.record.reason or "")
            if state <= last:
                text = f"went from {_PROCESSING[last]} to {row.record.reason}"
                yield _at(course, text, row.order)
            last = max(last, state)


def _taken_back(case: WorldCase, course: Course) -> Iterator[Violation]:
    """After a tombstone nothing is stored, handed over or worked on (R-08).

    It is also not set again while it is remembered: an asker that asks twice gets the same answer.
    """
    confirmed = course.first_into(Event.CANCEL_CONFIRMED)
    if confirmed is None:
        return
    for row in course.into:
        event = row.record.event
        is_again = event is Event.CANCEL_CONFIRMED and not case.has_forgotten(
            course.node, row.order
        )
        is_late = event in (Event.STORED, Event.HANDED_OVER) or is_again
        if row.order > confirmed.order and is_late:
            yield _at(course, f"{event} after its cancel was confirmed", row.order)
    terms = None if course.line is None else course.terms
    for worked in course.worked:
        if worked.order > confirmed.order and terms is not None and terms.reports_processing:
            yield _at(course, "worked on after its cancel was confirmed", worked.order)
