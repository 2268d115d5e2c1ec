"""DeliveryFailure notices that one machine owes another (L3; R-14, seed 001 §1.6).

Owed from the step that found a message undeliverable: where an application refused it, or where
an intermediary that had accepted it gave it up. A debt is durable until the transport took a
notice, or every try is used up. `sender` judges whether the From Party takes it.
"""

from collections import Counter
from collections.abc import Iterator

from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S
from onceonly.message.terms import Intermediary
from onceonly.protocol.events import Outcome
from onceonly.simulation.checkers.arrival import ACKNOWLEDGED, is_doubt, shows_arrival
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Course
from onceonly.simulation.checkers.sender import NOT_DELIVERED
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.simulation.plan import Line
from onceonly.steps.notices import RETRIES_MAX

CALM_NS = 90 * NS_PER_S
"""Time after healing for a try that is under way, with every wait of its transport."""


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every debt that a row tells of."""
    for course in case.courses.values():
        if case.is_set_back(course.node):
            continue
        debt = _debt(case, course)
        if debt is None:
            yield from _unagreed(course)
            continue
        if _is_paid(course, debt):
            yield from _over(case, course, debt)
        else:
            yield from _unpaid(case, course, debt)


def _debt(case: WorldCase, course: Course) -> Row | None:
    """The row with which the last notice about the message became owed."""
    line = course.line
    dropped = course.first_into(Event.DROPPED)
    if dropped is not None:
        return dropped  # Whatever was agreed: its sender believes that it arrived.
    if line is None or not _are_agreed(line):
        return None if line is None else _custody_debt(case, course)
    # Who asked for no acknowledgement is told of nothing that came after it.
    if not course.is_destination or not course.terms.is_acknowledged:
        return _custody_debt(case, course)
    return course.first_into(Event.APPLICATION_REFUSED)


def _are_agreed(line: Line) -> bool:
    """R-14: rm-2000 has no such notice on the wire."""
    return line.profile.has_failure_notices and line.terms.notifies_failures


def _unagreed(course: Course) -> Iterator[Violation]:
    """R-14: no notice goes where none was agreed."""
    sent = course.first_into(Event.FAILURE_NOTICE_SENT)
    if sent is not None and course.is_destination:
        text = f"{course}: a failure notice was sent, and none is agreed"
        yield Violation("R-14", text, sent.order)


def _custody_debt(case: WorldCase, course: Course) -> Row | None:
    """From the row with which it was given up; a route notes no notice of its own."""
    terms = case.terms_out(course)
    if case.modes(course).get(course.node) is not Intermediary.ACCEPT or terms is None:
        return None
    given_up = course.first_out(Event.EXHAUSTED) if terms.notifies_failures else None
    is_early = given_up is not None and _is_acknowledged_before(course, given_up)
    return None if is_early else given_up


def _is_acknowledged_before(course: Course, given_up: Row) -> bool:
    acknowledged = course.first_out(Event.ACK_RECEIVED)
    return acknowledged is not None and acknowledged.order < given_up.order


def _tries(course: Course, debt: Row) -> list[Row]:
    return [
        row
        for row in course.into
        if row.record.event is Event.FAILURE_NOTICE_SENT and row.order > debt.order
    ]


def _is_paid(course: Course, debt: Row) -> bool:
    return any(
        row.record.outcome == Outcome.ACCEPTED or (row.record.attempt or 0) > RETRIES_MAX
        for row in _tries(course, debt)
    )


def _over(case: WorldCase, course: Course, debt: Row) -> Iterator[Violation]:
    """A notice that was taken is not owed any more, and is not posted again.

    A doubt that becomes a certainty, or another cause, is another notice.
    """
    taken: Counter[str | None] = Counter()
    for row in _tries(course, debt):
        if row.record.outcome != Outcome.ACCEPTED:
            continue
        taken[row.record.reason] += 1
        if taken[row.record.reason] > _times_owed(course, row):
            text = f"{course}: its notice was taken, and posted again"
            yield Violation("L3", text, row.order)
            break
    owed = case.world.nodes[course.node].snapshot().list_owed_notices()
    if any(tuple(one.key) == tuple(course.key) for one in owed):
        yield Violation("L3", f"{course}: its notice was taken, and is still owed", case.end_order)


def _times_owed(course: Course, posted: Row) -> int:
    """How often a notice of that reason became owed before this one was posted.

    The next hop posts its own notice again if it cannot know that the first one was received. If an
    acknowledgement in between ended the doubt, the later notice is a new doubt (R-09).
    """
    reports = (one for one in _overturning(course) if one.order < posted.order)
    return max(1, sum(_passes_on(posted, report) for report in reports))


def _overturning(course: Course) -> Iterator[Row]:
    """The notices of the next hop that found the message acknowledged.

    A doubt never changes what the To Party itself said.
    """
    is_acknowledged = has_arrived = False
    for row in course.out:
        event, code = row.record.event, row.record.error_code
        if event in NOT_DELIVERED:
            return
        has_arrived = has_arrived or shows_arrival(row.record)
        if event in ACKNOWLEDGED:
            is_acknowledged = True
        elif has_arrived and is_doubt(row.record):
            continue
        elif event is Event.ERROR_RECEIVED and code == ErrorCode.DELIVERY_FAILURE:
            if is_acknowledged:
                yield row
            is_acknowledged = False


def _passes_on(posted: Row, report: Row) -> bool:
    """Whether the notice has the words of that report, which it puts its own before."""
    return (posted.record.reason or "").endswith(f": {report.record.reason}")


def _unpaid(case: WorldCase, course: Course, debt: Row) -> Iterator[Violation]:
    """Still owed is right while there is time for another try; to have forgotten it never is."""
    owed = case.world.nodes[course.node].snapshot().list_owed_notices()
    tries = _tries(course, debt)
    if not any(tuple(one.key) == tuple(course.key) for one in owed):
        text = f"{course}: its notice was tried {len(tries)} times, and is owed no more"
        yield Violation("L3", text, debt.order)
        return
    if case.healed_order == NEVER:
        return
    terms = case.terms_out(course) or (None if course.line is None else course.terms)
    pause_ns = 0 if terms is None else terms.retry_interval_s * NS_PER_S
    last_ns = max(debt.at_ns, case.healed_ns, tries[-1].at_ns if tries else 0)
    if case.end_ns > last_ns + CALM_NS + 2 * pause_ns:
        text = f"{course}: its notice is owed, and nobody tries any more"
        yield Violation("L3", text, case.end_order)
