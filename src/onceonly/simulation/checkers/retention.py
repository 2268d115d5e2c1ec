"""What a machine forgets: nothing before its time is over, and everything after (I10, R-19)."""

from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.message.identity import MessageKey
from onceonly.message.instant import NS_PER_S, US_PER_S
from onceonly.message.message import DeliverySemantics
from onceonly.protocol.receiving import ProcessingState
from onceonly.protocol.recovering import RecoveryPhase, ResponseStatus
from onceonly.simulation.checkers.case import WorldCase
from onceonly.simulation.checkers.course import Course
from onceonly.simulation.checkers.sender import VERDICTS
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row

JUMP_NS = 5 * NS_PER_S
"""Between a sweep's look at the clock and its last step, at most."""

SWEEP_NS = 60 * NS_PER_S
"""From the instant at which a sweep is due to its end, at most; and what clocks deviate."""

_REMEMBERED = (Event.STORED, Event.CANCEL_CONFIRMED, Event.DROPPED, Event.ARRIVED_IN_TRANSIT)


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every machine, by its own clock."""
    for node in case.world.nodes:
        if case.is_set_back(node):
            continue
        yield from _purges(case, node)
        yield from _sent_purges(case, node)
        yield from _kept_for_ever(case, node)


# Nothing too early: I10.


def _purges(case: WorldCase, node: str) -> Iterator[Violation]:
    """Never more was forgotten than could be, by the clock of the machine."""
    forgotten = 0
    could_be: set[object] = set()
    for row in case.own_rows[node]:
        count, _, what = (row.record.reason or "").partition(" ")
        if row.record.event is not Event.PURGED or what != "received":
            continue
        if case.has_jumped(node, row.at_ns - JUMP_NS, row.at_ns):
            return
        forgotten += int(count)
        could_be.update(_forgettable(case, node, row))
        if forgotten > len(could_be):
            text = f"{node}: forgot {forgotten} ids, and {len(could_be)} were past their time"
            yield Violation("I10", text, row.order)


def _sent_purges(case: WorldCase, node: str) -> Iterator[Violation]:
    """R-19, I21: what was sent is forgotten after its verdict and PersistDuration, not before."""
    forgotten: dict[str, int] = {}
    for row in case.own_rows[node]:
        count, _, agreement_id = (row.record.reason or "").partition(" sent under ")
        if row.record.event is not Event.PURGED or not agreement_id:
            continue
        if case.has_jumped(node, 0, row.at_ns):
            return
        forgotten[agreement_id] = forgotten.get(agreement_id, 0) + int(count)
        could_be = _settled_before(case, node, agreement_id, row)
        if forgotten[agreement_id] > could_be:
            text = f"{node}: forgot {forgotten[agreement_id]} messages sent, {could_be} were over"
            yield Violation("I10", text, row.order)
            return


def _settled_before(case: WorldCase, node: str, agreement_id: str, purge: Row) -> int:
    terms = case.terms.get((node, agreement_id))
    kept_us = 0 if terms is None else terms.persist_duration_s * US_PER_S
    courses = (
        course
        for course in case.courses.values()
        if course.node == node
        and any(row.record.agreement_id == agreement_id for row in course.out)
    )
    return sum(
        any(
            row.record.event in VERDICTS and row.record.at + kept_us < purge.record.at
            for row in course.out
        )
        for course in courses
    )


def _forgettable(case: WorldCase, node: str, purge: Row) -> Iterator[object]:
    for course in case.courses.values():
        if course.node != node or course.line is None:
            continue
        terms = course.terms
        is_endless = terms.semantics is DeliverySemantics.EXACTLY_ONCE
        lives_s = terms.persist_duration_s + terms.msh_time_accuracy_s
        for row in course.into:
            event = row.record.event
            if row.order > purge.order or event not in _REMEMBERED:
                continue
            if event is Event.ARRIVED_IN_TRANSIT:
                # A relay needs no memory at all (I36), and every copy may begin a new one.
                yield (course.key, row.order)
                continue
            is_past = purge.record.at > row.record.at + lives_s * US_PER_S
            if is_endless or not is_past:
                continue
            if event is not Event.STORED or _is_done(course, purge.order):
                yield (course.key, row.order)
                # A repetition is kept as long as the message, and is over when both are.
                yield from _repetitions(course, purge)


def _repetitions(course: Course, purge: Row) -> Iterator[object]:
    """The hand-overs that were asked for, each of which is a row of the store."""
    for row in course.repeated:
        if row.record.event is Event.HANDED_OVER and row.order < purge.order:
            yield (course.key, row.order)


def _is_done(course: Course, order: int) -> bool:
    """Handed over, and called complete or refused by the application; or ours to send on."""
    if not course.is_destination:
        return True
    handed = course.first_into(Event.HANDED_OVER)
    is_said = any(row.order < order and _is_last_word(row) for row in course.into)
    return is_said or (handed is None and course.first_into(Event.CANCEL_CONFIRMED) is not None)


def _is_last_word(row: Row) -> bool:
    if row.record.event is Event.PROCESSING_CHANGED:
        return row.record.reason == ProcessingState.COMPLETE
    ends = (Event.APPLICATION_REFUSED, Event.CANCEL_CONFIRMED, Event.DROPPED)
    return row.record.event in ends


# Finite memory: R-19.


def _kept_for_ever(case: WorldCase, node: str) -> Iterator[Violation]:
    """The second sweep after its time removes a message, if the process lives so long."""
    sweeps_ns = 2 * (case.machines[node].purge_interval_s * NS_PER_S + SWEEP_NS)
    begun = [one.at_ns for one in case.happened(node, "started", "thawed")]
    is_one_clock = not case.has_jumped(node, 0, case.end_ns)
    if not is_one_clock or max(case.healed_ns, *begun) + sweeps_ns > case.end_ns:
        return
    for course in case.courses.values():
        if course.node != node or case.is_reconfigured(course):
            continue
        last = _last_use(case, course)
        if last is None:
            continue
        kept_s = course.terms.persist_duration_s + 2 * course.terms.msh_time_accuracy_s
        if last.at_ns + kept_s * NS_PER_S + sweeps_ns < case.end_ns:
            text = f"over since {last.record.event}, and not forgotten"
            yield Violation("R-19", f"{course}: {text}", case.end_order)


def _last_use(case: WorldCase, course: Course) -> Row | None:
    """The row after which a message that its machine still has is not needed any more."""
    if course.line is None:
        return None
    snapshot = case.world.nodes[course.node].snapshot()
    if course.is_origin:
        entry = snapshot.find_outbound(course.key[2])
        recovery = snapshot.get_recovery(course.key[2])
        is_over = entry is not None and entry.state.status.is_final
        is_at_rest = recovery.phase is RecoveryPhase.AT_REST
        if is_over and is_at_rest and recovery.response is not ResponseStatus.AWAITED:
            return course.out[-1]
    elif course.is_destination:
        is_endless = course.terms.semantics is DeliverySemantics.EXACTLY_ONCE
        is_there = snapshot.find_inbound(MessageKey(*course.key)) is not None
        # A partner whose clock is ahead has its ids kept for longer, by the Timestamp.
        is_ahead = is_there and (case.made_at(course) or 0) > course.into[-1].record.at
        if is_there and not is_ahead and not is_endless and _is_done(course, case.end_order):
            return course.into[-1]
    return None
