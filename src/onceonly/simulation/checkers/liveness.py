"""After the world has healed: everything ends, everybody is told, nothing is held back.

L1 to L7, I21, I25, R-17. A doubt may stay if nothing in the agreement ends it before its fence,
which may come after the end of the world; then the application has its notice.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.message.instant import NS_PER_S, US_PER_S
from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol.outbound import OutboundStatus
from onceonly.protocol.pairing import PairStatus
from onceonly.simulation.cast import name_of
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Course
from onceonly.simulation.checkers.receiver import is_remembered
from onceonly.simulation.checkers.sender import SLOW_CALLS, VERDICTS, is_expiry, notifies
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.simulation.network import Fate
from onceonly.store.contract.entries import Role

CALM_NS = 90 * NS_PER_S
"""Time after healing until everything under way has ended: late copies, waits of clients."""

SETTLE_NS = 60 * NS_PER_S
"""From the last thing that happens to a message until it is at rest, beside its own waits."""


def judge(case: WorldCase) -> Iterator[Violation]:
    """The end of the world."""
    if case.world.is_livelocked:
        yield Violation("L5", "the world would not come to rest", case.end_order)
        return
    if case.healed_order == NEVER:
        return
    for course, terms in case.sending():
        if case.is_set_back(*case.path(course)):
            continue
        yield from _exhausted_in_calm(case, course, terms)
        yield from _delivered(case, course, terms)
        yield from _operator_was_told(case, course, terms)
        yield from _expired_early(case, course, terms)
    yield from _verdicts(case)
    yield from _handed_over(case)
    yield from _drained(case)


def _at(invariant: str, course: Course, text: str, order: int) -> Violation:
    return Violation(invariant, f"{course}: {text}", order)


def _expired_early(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """I21: what never left expires after its time is over, and not before."""
    expired, made_at = course.first_out(Event.EXPIRED), case.made_at(course)
    if expired is None or made_at is None:
        return
    lives_s = min(terms.time_to_live_s or terms.persist_duration_s, terms.persist_duration_s)
    if expired.record.at <= made_at + lives_s * US_PER_S:
        yield _at("I21", course, "expired, and its time had not passed", expired.order)


def lasts_ns(terms: DeliveryTerms, messages: int) -> int:
    """Longest time to the verdicts of so many messages one after the other (Lmax)."""
    verdict_s = terms.verdict_after_s or 0
    inquiries_s = terms.recovery.inquiries * terms.retry_interval_s * 4
    return messages * (verdict_s + inquiries_s) * NS_PER_S + SETTLE_NS


def _verdicts(case: WorldCase) -> Iterator[Violation]:
    """L1, I21: every accepted message has a verdict, or its application a notice of a doubt."""
    queues: dict[tuple[str, str], int] = {}
    for accepted in case.history.accepted:
        queues[accepted.key.pair] = queues.get(accepted.key.pair, 0) + 1
    for accepted in case.history.accepted:
        course = case.at(accepted.node, accepted.key)
        if course is None or case.is_set_back(*case.path(course)):
            continue
        terms = case.terms_out(course)
        if terms is None:
            continue
        since_ns = max(accepted.at_ns, case.healed_ns) + CALM_NS
        if case.end_ns >= since_ns + lasts_ns(terms, queues[accepted.key.pair]):
            yield from _verdict(case, course, terms)


def _verdict(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    entry = case.world.nodes[course.node].snapshot().find_outbound(course.key[2])
    last = next((row for row in reversed(course.out) if row.record.event in VERDICTS), None)
    if entry is None:
        if last is None:
            yield _at("I21", course, "forgotten without a verdict", case.end_order)
        return
    status = entry.state.status
    if status.is_final:
        if last is None:
            yield _at("I41", course, f"{status}, and no row says so", case.end_order)
        return
    is_told = _last(course, Event.NOTIFIED) > _last(course, Event.TRANSMITTING)
    is_doubt = status is OutboundStatus.IN_DOUBT and (is_told or not notifies(course, terms))
    is_endless = terms.semantics is DeliverySemantics.EXACTLY_ONCE
    if is_doubt and not terms.recovery.inquires:
        return
    if is_doubt or is_endless or _is_deaf(case, course, terms):
        yield from _known_to_operator(case, course, status)
        return
    yield _at("L1", course, f"still {status} at the end", case.end_order)


def _last(course: Course, event: Event) -> int:
    """Where the last sending row of the event is; -1 where there is none."""
    return max((row.order for row in course.out if row.record.event is event), default=-1)


def _known_to_operator(
    case: WorldCase, course: Course, status: OutboundStatus
) -> Iterator[Violation]:
    """I25: if it is in doubt after all questions, an operator was told (R-17, R-21)."""
    rows = [row.record.event for row in course.out]
    was_answered = Event.REPORT_RECEIVED in rows
    if not was_answered and not case.has_incident(course):
        text = f"still {status}, and neither the partner nor an operator knows"
        yield _at("I25", course, text, case.end_order)


def _operator_was_told(
    case: WorldCase, course: Course, terms: DeliveryTerms
) -> Iterator[Violation]:
    """R-17: whoever waits for all of PersistDuration with ExactlyOnce has an incident of it."""
    if terms.semantics is not DeliverySemantics.EXACTLY_ONCE or case.is_reconfigured(course):
        return
    waits = max(_sent_in_vain(course), _asked_in_vain(case, course, terms))
    waited_s = terms.timeout_s + (waits - 1) * terms.retry_interval_s
    if waits == 0 or waited_s < terms.persist_duration_s:
        return
    if not case.has_incident(course):
        text = f"waited {waits} times, and no operator was told"
        yield _at("R-17", course, text, case.end_order)


def _sent_in_vain(course: Course) -> int:
    """Transmissions that were followed by a counted one."""
    rows = (row.record for row in course.out if row.record.event is Event.TRANSMITTING)
    return max((row.attempt or 1 for row in rows), default=1) - 1


def _asked_in_vain(case: WorldCase, course: Course, terms: DeliveryTerms) -> int:
    """Pings before the message that were followed by another of the same process.

    A resume begins again, and so does the count; there are also Pings about a late response.
    """
    if terms.recovery.response_within_s is not None:
        return 0
    begun = course.first_out(Event.TRANSMITTING)
    until = NEVER if begun is None else begun.order
    asked = [row.order for row in course.out if row.record.event is Event.PING_SENT]
    asked = [order for order in asked if order < until]
    if not asked or case.was_resumed(course, 0, asked[-1]):
        return 0
    starts = [one.order for one in case.happened(course.node, "started")]
    of_process = Counter(bisect(starts, order) for order in asked)
    return max(of_process.values()) - 1


def _exhausted_in_calm(
    case: WorldCase, course: Course, terms: DeliveryTerms
) -> Iterator[Violation]:
    """L4: a message that was sent and acknowledged in calm weather is not given up."""
    begun: Row | None = None
    for row in course.out:
        event = row.record.event
        if event is Event.TRANSMITTING and row.record.attempt == 1:
            begun = row
        if event is not Event.EXHAUSTED or is_expiry(row.record) or begun is None:
            continue
        is_calm = begun.at_ns > case.healed_ns + CALM_NS
        is_hindered = _is_hindered(case, course, begun, row)
        if is_calm and not is_hindered and _is_answered_in_time(case, course, terms):
            yield _at("L4", course, "given up in calm weather", row.order)


def _is_hindered(case: WorldCase, course: Course, since: Row, until: Row) -> bool:
    """Whether a copy, or what was said of it, had a planned fate.

    Those are handed over by number, however late a number comes.
    """
    return any(
        since.order < one.order < until.order and one.fate is not Fate.DELIVERED
        for place in case.of_key[course.key]
        for one in (*place.sent, *place.said, *place.responses)
    )


def _is_deaf(case: WorldCase, course: Course, terms: DeliveryTerms) -> bool:
    """Whether no Pong can be written down within Timeout, however often an operator resumes.

    Large messages then never leave (level 2). It takes a disk that is slower than what was agreed.
    """
    is_asked = terms.recovery.ping_above_bytes is not None
    is_slow = case.machines[course.node].thread_ms > terms.timeout_s * 1000
    return is_asked and is_slow and not _is_answered_in_time(case, course, terms)


def _is_answered_in_time(case: WorldCase, course: Course, terms: DeliveryTerms) -> bool:
    """Whether Timeout is longer than a round trip over all hops, as `check` asks for (R-06).

    A round trip with slow disks counts as well: both sides commit before they answer.
    """
    path = case.path(course)
    hops = len(path) - 1
    commits_ms = sum(SLOW_CALLS * case.machines[name].thread_ms for name in path)
    round_trip_ms = 2 * hops * 3 * case.plan.weather.delay_ms + 500 * hops + commits_ms
    is_awaited = terms.sync_reply_mode.has_response or terms.ack_status.is_passed_on
    return not is_awaited and terms.timeout_s * 1000 > round_trip_ms


def _delivered(case: WorldCase, course: Course, terms: DeliveryTerms) -> Iterator[Violation]:
    """L2: what the destination said it has, its application gets."""
    if not course.is_origin or terms.method is not ReliableMessagingMethod.EBXML:
        return
    acknowledged = next(
        (
            row
            for row in course.out
            if row.record.event in (Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED)
        ),
        None,
    )
    there = case.at(name_of(course.key[1]), course.key)
    if acknowledged is None or acknowledged.at_ns + SETTLE_NS + CALM_NS > case.end_ns:
        return
    if there is not None and (there.delivered or there.first_into(Event.CANCEL_CONFIRMED)):
        return
    if there is not None and there.first_into(Event.DROPPED):
        return  # An operator is on record for it (O3).
    if not _is_accountable(case, course):
        text = "acknowledged, and never in the inbox of its To Party"
        yield _at("L2", course, text, case.end_order)


def _is_accountable(case: WorldCase, course: Course) -> bool:
    """Whether an accepting intermediary acknowledged, and its own verdict stands for it (I37)."""
    return any(
        other.node in case.modes(course) and other.first_into(Event.STORED) is not None
        for other in case.of_key[course.key]
    )


def _handed_over(case: WorldCase) -> Iterator[Violation]:
    """L2: what is stored is handed over, and what is handed over is read; R-12 may withhold."""
    for course in case.courses.values():
        stored = course.first_into(Event.STORED)
        if stored is None or not course.is_destination or case.is_set_back(course.node):
            continue
        if max(stored.at_ns, case.healed_ns) + SETTLE_NS + CALM_NS > case.end_ns:
            continue
        if course.first_into(Event.CANCEL_CONFIRMED) or course.first_into(Event.DROPPED):
            continue
        handed = [row for row in course.into if row.record.event is Event.HANDED_OVER]
        withheld = course.first_into(Event.WITHHELD)
        if not handed and withheld is None:
            yield _at("L2", course, "stored, and never handed over", case.end_order)
        times = len(handed) if course.line is None else _times(course, len(handed))
        again = [row for row in course.repeated if row.record.event is Event.HANDED_OVER]
        times += sum(
            max(row.at_ns, case.healed_ns) + SETTLE_NS + CALM_NS <= case.end_ns for row in again
        )
        if handed and len(course.delivered) < times:
            text = f"handed over {times} times, read {len(course.delivered)} times"
            yield _at("L2", course, text, case.end_order)


def _times(course: Course, handed: int) -> int:
    assert course.line is not None, "an agreement is known"
    return min(handed, 1) if is_remembered(course.terms) else handed


def _deaf_pairs(case: WorldCase) -> Iterator[tuple[str, Pair]]:
    for accepted in case.history.accepted:
        course = case.at(accepted.node, accepted.key)
        terms = None if course is None else case.terms_out(course)
        if course is not None and terms is not None and _is_deaf(case, course, terms):
            yield course.node, accepted.key.pair


def _drained(case: WorldCase) -> Iterator[Violation]:
    """L6: no pair stays closed, none has messages that wait. R-21: every inquiry has an end."""
    waits = [terms.verdict_after_s or 0 for terms in case.terms.values()]
    if case.end_ns < case.healed_ns + CALM_NS + 10 * (max(waits, default=0) * NS_PER_S + SETTLE_NS):
        return
    deaf = set(_deaf_pairs(case))
    for name, node in case.world.nodes.items():
        if node.snapshot().list_recovering() and not case.is_set_back(*case.machines):
            text = f"{name}: a question is open that nobody asks again"
            yield Violation("R-21", text, case.end_order)
        for view in node.snapshot().list_pairs():
            if case.is_set_back(*case.nodes_between(view.pair)) or (name, view.pair) in deaf:
                continue
            # A pathological ExactlyOnce message blocks its pair until an operator acts.
            is_ours = view.role is Role.SENDER and not _is_operators(case, name, view.pair)
            if view.status is not PairStatus.OPEN or (is_ours and view.queued):
                text = (
                    f"{name}: the pair to {view.pair.to_party} is {view.status}, {view.queued} wait"
                )
                yield Violation("L6", text, case.end_order)


def _is_operators(case: WorldCase, node: str, pair: Pair) -> bool:
    """Whether an incident of the pair waits for an operator; trouble goes by itself (R-40)."""
    incidents = case.world.nodes[node].snapshot().list_incidents(is_open=True)
    return any(one.pair == pair and not one.is_trouble for one in incidents)
