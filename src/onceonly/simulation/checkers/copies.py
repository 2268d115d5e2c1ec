"""What left of one message, and what its application was told: beside the walk of `sender`.

I14, I17, I18, I22 and I26: each copy has its row before it, all are the same bytes, and none leaves
after the end. Knows the packages on the wire and the notices at the end.
"""

from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol.effects import NoticeKind
from onceonly.simulation.checkers.case import WorldCase
from onceonly.simulation.checkers.course import Course, Going
from onceonly.simulation.checkers.sender import NOT_DELIVERED, notifies, release_ns
from onceonly.simulation.checkers.violation import Violation


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every message at every machine that sends it."""
    for course, terms in case.sending():
        if not case.is_set_back(course.node):
            yield from _wire(case, course)
            yield from _notices(case, course, terms)


def _wire(case: WorldCase, course: Course) -> Iterator[Violation]:
    """I14, I17, I26 and I18 on the wire: no copy without a row, and all the same bytes."""
    begun = [row for row in course.out if row.record.event is Event.TRANSMITTING]
    over = next((row for row in course.out if row.record.event in NOT_DELIVERED), None)
    first: Going | None = None
    slack_ns = release_ns(case, course.node)
    for number, copy in enumerate(course.sent):
        # A response leaves on request as well, beside its own turn (seed 001 §1.3.3 (9), R-21).
        is_begun = len(begun) > number and begun[number].order < copy.order
        if not copy.letter.ref and not is_begun:
            yield _at("I14", course, f"copy {number + 1} left before its row", copy)
        if first is not None and copy.body != first.body:
            yield _at("I17", course, f"copy {number + 1} is not the first one again", copy)
        is_behind = over is not None and copy.order > over.order
        if over is not None and is_behind and copy.at_ns > over.at_ns + slack_ns:
            yield _at("I26", course, f"a copy left after {over.record.event}", copy)
        first = first or copy
    if course.is_origin and course.sent:
        submitted = course.first_out(Event.SUBMITTED)
        if submitted is None or submitted.order > course.sent[0].order:
            yield _at("I14", course, "it left before it was stored", course.sent[0])


def _at(invariant: str, course: Course, text: str, letter: Going) -> Violation:
    return Violation(invariant, f"{course}: {text} ({letter.packet})", letter.order)


def _notices(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """I22: in the notification inbox once per episode, as the rows say."""
    if not notifies(course, terms):
        return
    rows = [row for row in course.out if row.record.event is Event.NOTIFIED]
    found = case.notices(course.node).get(course.key[2], [])
    for kind in NoticeKind:
        said = sum(row.record.reason == kind for row in rows)
        given = sum(notice.kind is kind for notice in found)
        episodes = len({notice.episode for notice in found if notice.kind is kind})
        repeats = kind is NoticeKind.ACKNOWLEDGED_LATE and 0 < given <= said
        if given != episodes or (given != said and not repeats):
            text = f"{course}: {said} rows of {kind}, {given} notices, {episodes} episodes"
            yield Violation("I22", text, case.end_order)
