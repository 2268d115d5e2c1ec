"""What operators ask for is done: a call that ends without an error leaves its rows.

Knows the calls that are about one message (seed 004 levels 3 to 5). `sequence` and `time_and_store`
judge whether closed pairs stay closed, and open when they are resumed.
"""

from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S
from onceonly.message.signals import InquiryKind
from onceonly.simulation.cast import name_of
from onceonly.simulation.checkers.acknowledgements import was_long_awake
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Course
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Operated, Row
from onceonly.simulation.network import CLIENT_WAIT_NS

ROW_NS = CLIENT_WAIT_NS + 10 * NS_PER_S
"""From the end of the call until the row about the question that it asked."""


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every call of an operator that had its answer, at a machine that lived on."""
    for operated in case.history.operated:
        node = operated.node
        is_set_back = case.is_set_back(node) or case.happened(node, "full", "broken")
        is_steady = case.next_death(node, operated.order) == NEVER and not is_set_back
        if not is_steady or not was_long_awake(case, node, operated.at_ns + ROW_NS):
            continue
        if operated.what == "suspend" and not _has_closed(case, operated):
            text = f"{node}: an operator suspended a pair, and no row says so"
            yield Violation("I27", text, operated.order)
        if operated.what == "redeliver":
            yield from _redelivered(case, operated)
            continue
        for course in _about(case, operated):
            if not any(_is_done(operated.what, row) for row in _rows(case, course)):
                text = f"{course}: an operator called {operated.what}, and nothing was done"
                yield Violation("R-21", text, operated.order)


def _redelivered(case: WorldCase, operated: Operated) -> Iterator[Violation]:
    """At least once for each call that had its answer, whatever was killed meanwhile."""
    node, message_id = operated.node, operated.message_id
    same = [
        one
        for one in case.history.operated
        if (one.node, one.what, one.message_id) == (node, "redeliver", message_id)
    ]
    courses = [
        course
        for course in case.courses.values()
        if (course.node, course.key[2]) == (node, message_id)
    ]
    asked = sum(course.asked_again() for course in courses)
    if asked < len(same):
        text = f"{node}: {message_id} was to be handed over again {len(same)} times, and {asked}"
        yield Violation("R-21", f"{text} rows say so", operated.order)


def _has_closed(case: WorldCase, operated: Operated) -> bool:
    closing = (Event.PAIR_SUSPENDED, Event.PAIR_QUARANTINED)
    return any(
        row.order < operated.order and row.record.event in closing
        for row in case.rows_of[operated.node]
    )


def _about(case: WorldCase, operated: Operated) -> Iterator[Course]:
    for course in case.courses.values():
        is_it = (course.node, course.key[2]) == (operated.node, operated.message_id)
        if is_it and name_of(course.key[0]) == operated.node:
            yield course


def _rows(case: WorldCase, course: Course) -> Iterator[Row]:
    """Those of the message, and of its pair."""
    yield from course.out
    for row in case.rows_of[course.node]:
        if row.record.event is Event.PAIR_RESUMED:
            yield row


def _is_done(what: str, row: Row) -> bool:
    event, reason = row.record.event, row.record.reason
    if what == "cancel":
        is_asked = event is Event.INQUIRY_SENT and reason == InquiryKind.CANCEL
        return is_asked or event in (Event.CANCELLED, Event.EXPIRED)
    if what == "settle":
        return event is Event.SETTLED
    if what == "inquire":
        return event is Event.INQUIRY_SENT and reason == InquiryKind.STATUS
    if what == "resend":
        return event in (Event.REQUEUED, Event.PAIR_RESUMED, Event.RESENT)
    return True
