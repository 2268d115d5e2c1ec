"""Who may say what: a word counts only if its caller is entitled by what it is about (R-44).

Judged on lines whose agreements demand certificates, between honest machines: there every row that
changes something about a message has its cause in a package of a true neighbour. What a hostile
partner hears about messages that are not his is judged in every world. Elsewhere identity is what
the names say.
"""

from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.simulation.cast import name_of, path_of
from onceonly.simulation.checkers.case import WorldCase
from onceonly.simulation.checkers.course import Coming, Course
from onceonly.simulation.checkers.letter import LetterKind
from onceonly.simulation.checkers.sequence import is_wrong_number
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.simulation.imposture import impostor
from onceonly.simulation.plan import Line

_WORDS: dict[Event, frozenset[LetterKind]] = {
    Event.ACK_RECEIVED: frozenset(
        {LetterKind.ACK, LetterKind.RECEIPT, LetterKind.MESSAGE, LetterKind.REPORT}
    ),
    Event.LATE_ACK_RECEIVED: frozenset(
        {LetterKind.ACK, LetterKind.RECEIPT, LetterKind.MESSAGE, LetterKind.REPORT}
    ),
    Event.REPEATED_ACK_RECEIVED: frozenset(
        {LetterKind.ACK, LetterKind.RECEIPT, LetterKind.MESSAGE, LetterKind.REPORT}
    ),
    Event.RECEIPT_RECEIVED: frozenset({LetterKind.RECEIPT}),
    Event.ERROR_RECEIVED: frozenset({LetterKind.ERROR}),
    Event.REPORT_RECEIVED: frozenset({LetterKind.REPORT}),
    Event.RESPONSE_RECEIVED: frozenset({LetterKind.MESSAGE}),
    Event.ACK_RELAYED: frozenset({LetterKind.ACK, LetterKind.RECEIPT}),
}
"""By row: which signals of the next machine can be its cause; each causes one row at most."""

_COPIES = frozenset(
    {
        Event.STORED,
        Event.DUPLICATE_ELIMINATED,
        Event.COLLISION_DETECTED,
        Event.ARRIVED_IN_TRANSIT,
    }
)
"""Rows that a copy of the message causes. A refusal changes nothing, except one for a wrong number:
the second one in a row closes the pair (R-11)."""

_QUESTIONS = (Event.INQUIRY_RECEIVED, Event.CANCEL_CONFIRMED)
"""Rows of which a question about the message is the cause; each leaves one of each at most."""

_NOT_TOLD = frozenset({"", "NotRecognized"})
"""What is said of a message that nobody knows, and so of another's (R-44)."""


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every message of an honest line that demands certificates, and every word to the hostile."""
    if not case.outside.visited:
        return
    for course in case.courses.values():
        if _is_protected(case, course):
            yield from _words(course)
            yield from _copies(case, course)
            yield from _questions(case, course)
    yield from _told(case)


def honest_lines(case: WorldCase) -> Iterator[Line]:
    """Lines that demand certificates, and along which no machine is hostile."""
    for line in case.plan.lines:
        if line.is_certified and not case.outside.hostile & set(path_of(line)):
            yield line


def _is_protected(case: WorldCase, course: Course) -> bool:
    """Whether nobody else can speak for its ends: not under another agreement of theirs either."""
    ends = {name_of(course.key[0]), name_of(course.key[1])}
    between = [line for line in case.plan.lines if ends == {line.one, line.other}]
    honest = list(honest_lines(case))
    return bool(between) and all(line in honest for line in between)


def _wrong(course: Course, row: Row, text: str) -> Violation:
    return Violation("R-44", f"{course}: {row.record.event} {text}", row.order)


def _first_without(rows: list[Row], causes: list[Coming]) -> Row | None:
    """The first row with fewer causes before it than rows up to it."""
    for number, row in enumerate(rows, 1):
        if sum(one.order < row.order for one in causes) < number:
            return row
    return None


def _words(course: Course) -> Iterator[Violation]:
    """`heard` has what came from true neighbours alone."""
    for event, kinds in _WORDS.items():
        rows = [row for row in (*course.out, *course.into) if row.record.event is event]
        causes = [
            one
            for one in course.heard
            if one.letter.kind in kinds
            # An ErrorList has a row for each of its errors.
            for _ in one.letter.errors or (None,)
        ]
        row = _first_without(rows, causes)
        if row is not None:
            yield _wrong(course, row, "is noted, and no entitled neighbour had said so")


def _copies(case: WorldCase, course: Course) -> Iterator[Violation]:
    rows = [row for row in course.into if row.record.event in _COPIES or is_wrong_number(row)]
    causes = [one for one in course.taken if one.source in case.machines]
    row = _first_without(rows, causes)
    if row is not None:
        yield _wrong(course, row, "is noted, and no entitled neighbour had brought it")


def _questions(case: WorldCase, course: Course) -> Iterator[Violation]:
    causes = [
        one
        for one in case.heard
        if one.target == course.node
        and one.source in case.machines
        and one.letter.kind is LetterKind.INQUIRY
        and one.letter.ref == course.key[2]
    ]
    for event in _QUESTIONS:
        rows = [row for row in course.into if row.record.event is event]
        row = _first_without(rows, causes)
        if row is not None:
            yield _wrong(course, row, "is noted, and no entitled neighbour had asked")


def _told(case: WorldCase) -> Iterator[Violation]:
    """What the hostile asked under their own names is answered as about an unknown message."""
    asked = {
        one.letter.message_id: name
        for name in case.outside.hostile
        for one in case.heard
        if one.source == impostor(name) and one.letter.kind is LetterKind.INQUIRY
    }
    theirs = {
        course.key[2]
        for course in case.courses.values()
        if case.is_his_own(course) and (course.taken or course.sent)
    }
    for said in case.signals:
        by, letter = asked.get(said.letter.ref), said.letter
        if (
            letter.kind is not LetterKind.REPORT
            or said.target != by
            or letter.said("about") in theirs
        ):
            continue
        if letter.said("status") not in _NOT_TOLD:
            text = f"{said.source}: {by} asked about {letter.said('about')} of others, and was told"
            yield Violation("R-44", f"{text} {letter.said('status')} ({said.packet})", said.order)
