"""What really became of every message, and that the journals alone say the same.

E1 and E2: `truth` comes from the applications, `classify` from the rows of all journals; the lake
has to find the same from the rows. Kinds that are alarms are violations of other invariants too.
They are reported here once more, so that an exemption there hides nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum

from onceonly.message.event import Event
from onceonly.message.identity import MessageKey
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.events import Settlement
from onceonly.simulation.cast import name_of
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Course, passes
from onceonly.simulation.checkers.letter import LetterKind
from onceonly.simulation.checkers.receiver import is_remembered
from onceonly.simulation.checkers.sender import LATE_ROW_NS
from onceonly.simulation.checkers.violation import Truth, Violation
from onceonly.simulation.history import Row
from onceonly.simulation.network import CLIENT_WAIT_NS


class EvidenceClass(StrEnum):
    """The classes of E1; the last five are alarms."""

    ACKNOWLEDGED_AND_DELIVERED = "acknowledged and delivered"
    IN_DOUBT_DELIVERED = "in doubt, delivered"
    FAILED_NOT_DELIVERED = "failed, not delivered"
    SETTLED_RIGHTLY = "settled by a word, and so it was"
    SETTLED_WRONGLY = "settled by a word, and so it was not"
    PENDING = "pending"
    LOST_AFTER_ACK = "lost after acknowledgement"
    DUPLICATE_DELIVERY = "duplicate delivery"
    ACK_WITHOUT_STORE = "acknowledged without store"
    ORPHAN_ACK = "orphan acknowledgement"
    COLLISION = "collision"


_VERDICTS = {
    Event.ACK_RECEIVED: "Acknowledged",
    Event.LATE_ACK_RECEIVED: "Acknowledged",
    Event.SENT: "Sent",
    Event.FAILED: "Failed",
    Event.EXPIRED: "Failed",
    Event.CANCELLED: "Cancelled",
    Event.EXHAUSTED: "InDoubt",
    Event.REQUEUED: None,
}

_ENDED = ("Failed", "Cancelled")
_SETTLED = tuple(word.value for word in Settlement)


def truth(case: WorldCase) -> list[Truth]:
    """What really became of every accepted message, in the order of acceptance."""
    found = []
    for accepted in case.history.accepted:
        key = accepted.key
        there = case.at(name_of(key.to_party), key)
        delivered = 0 if there is None else len(there.delivered)
        found.append(_truth(case, key, is_accepted=True, delivered=delivered))
    return found


def judge(case: WorldCase) -> Iterator[Violation]:
    """E2: the journals tell of every accepted message what its applications know.

    Also that every package that left or came has a row: with fewer rows nothing could be proved.
    """
    for node in case.machines:
        if not _is_hindered(case, node):
            yield from _untold(case, node)
            yield from _unheard(case, node)
        yield from _overheard(case, node)
        yield from _without_a_code(case, node)
    for seen in truth(case):
        there = case.at(name_of(seen.key.to_party), seen.key)
        if there is not None and case.is_set_back(*case.path(there)):
            continue
        handed = 0 if there is None else _handed_over(there)
        if handed == seen.delivered_count or _is_fresh(case, there):
            continue
        text = (
            f"{seen.key.message_id}: {handed} hand-overs by the rows, {seen.delivered_count} read"
        )
        yield Violation("E1", text, case.end_order)


_ROWS_OF = {
    LetterKind.MESSAGE: (Event.TRANSMITTED, Event.FORWARDED),
    LetterKind.ACK: (Event.ACK_SENT, Event.ACK_RELAYED),
    LetterKind.RECEIPT: (Event.RECEIPT_SENT,),
    LetterKind.ERROR: (Event.ERROR_SENT, Event.ERROR_RELAYED, Event.FAILURE_NOTICE_SENT),
    LetterKind.INQUIRY: (Event.PING_SENT, Event.INQUIRY_SENT),
    LetterKind.REPORT: (Event.REPORT_SENT,),
    LetterKind.FAULT: (Event.REJECTED, Event.SECURITY_EVENT, Event.FAULT_SENT),
}
"""What a row at the end of a transmission is called, by what was sent."""

_TOLD_NS = CLIENT_WAIT_NS + LATE_ROW_NS
"""From the beginning of a transmission until its row is durable."""


_SLOW_MS = 1_000
"""Of one commit."""


def _is_hindered(case: WorldCase, node: str) -> bool:
    """Whether a row may be lost or late: a death before it, no room, a line before a slow disk."""
    is_broken = bool(case.happened(node, "frozen", "full", "broken"))
    is_slow = case.machines[node].thread_ms > _SLOW_MS
    return is_broken or is_slow or case.deaths_between(node, 0, NEVER) > 0


def _untold(case: WorldCase, node: str) -> Iterator[Violation]:
    """A transmission leaves a row, whatever became of it, unless it is of no message by then.

    A purge may forget that before it leaves, and while it is on its way (R-19).
    """
    left = [one for course in case.courses.values() if course.node == node for one in course.sent]
    left += [one for one in case.signals if one.source == node]
    purges = [row.at_ns for row in case.own_rows[node] if row.record.event is Event.PURGED]
    counts = Counter(
        one.letter.kind
        for one in left
        if one.at_ns < case.end_ns - _TOLD_NS
        and not (one.letter.kind is LetterKind.MESSAGE and one.letter.ref)
        and not any(abs(one.at_ns - purged_ns) < _TOLD_NS for purged_ns in purges)
    )
    # What strangers are refused for has so many rows in an hour, and one more afterwards.
    limits = case.world.nodes[node].configuration.limits
    counts[LetterKind.FAULT] = min(counts[LetterKind.FAULT], limits.refusal_rows_per_hour)
    events = Counter(row.record.event for row in case.rows_of[node])
    for kind, count in counts.items():
        told = sum(events[event] for event in _ROWS_OF.get(kind, ()))
        if told < count:
            text = f"{node}: {count} packages left ({kind}), and {told} rows tell of one"
            yield Violation("E2", text, case.end_order)


_ROWS_ABOUT = {
    LetterKind.INQUIRY: (Event.INQUIRY_RECEIVED,),
    LetterKind.RECEIPT: (Event.RECEIPT_RECEIVED, Event.ORPHAN_ACK_RECEIVED),
}
"""What a row about a signal that came is called. `sender` asks for those of acknowledgements;
errors and Pongs that nobody waits for any more are told of by other words, or by none."""


def _unheard(case: WorldCase, node: str) -> Iterator[Violation]:
    """A signal that came leaves a row; what is forged or damaged may leave another one."""
    if node in case.outside.visited or any(one.target == node for one in case.strays):
        return
    counts = Counter(
        one.letter.kind
        for one in case.heard
        if one.target == node and one.at_ns < case.end_ns - LATE_ROW_NS and not passes(one)
    )
    events = Counter(row.record.event for row in case.rows_of[node])
    answers = sum(
        one.letter.kind is LetterKind.REPORT
        and not passes(one)
        and one.letter.word != "Pong"
        and one.target == node
        and one.at_ns < case.end_ns - LATE_ROW_NS
        for one in case.heard
    )
    if events[Event.REPORT_RECEIVED] < answers:
        text = (
            f"{node}: {answers} answers came, and {events[Event.REPORT_RECEIVED]} rows tell of one"
        )
        yield Violation("E2", text, case.end_order)
    for kind, rows in _ROWS_ABOUT.items():
        told = sum(events[event] for event in rows)
        if told < counts[kind]:
            text = f"{node}: {counts[kind]} packages came ({kind}), and {told} rows tell of one"
            yield Violation("E2", text, case.end_order)


_OF_ERRORS = (
    Event.COLLISION_DETECTED,
    Event.ERROR_SENT,
    Event.ERROR_RELAYED,
    Event.NOTIFIED,
)


def _without_a_code(case: WorldCase, node: str) -> Iterator[Violation]:
    """A row about an error says which: reconciliation knows it by nothing else."""
    for row in case.rows_of[node]:
        record = row.record
        is_late_ack = record.reason == NoticeKind.ACKNOWLEDGED_LATE
        if record.event in _OF_ERRORS and record.error_code is None and not is_late_ack:
            yield Violation("E2", f"{node}: {record.event} without its code", row.order)


_ACKNOWLEDGED = (
    Event.ACK_RECEIVED,
    Event.LATE_ACK_RECEIVED,
    Event.REPEATED_ACK_RECEIVED,
    Event.ORPHAN_ACK_RECEIVED,
    Event.RECEIPT_RECEIVED,
)
_BY_ANOTHER_WORD = ("on the business response", "the partner says", "delivery receipt")
"""Why a message is acknowledged by what is no acknowledgement, or has a row of its own."""


def _overheard(case: WorldCase, node: str) -> Iterator[Violation]:
    """No acknowledgement has two rows: one that fits a message is no orphan besides."""
    rows = [
        row
        for row in case.rows_of[node]
        if row.record.event in _ACKNOWLEDGED
        and not (row.record.reason or "").startswith(_BY_ANOTHER_WORD)
    ]
    # What is odd may be read by a gateway as something else than by `letter`.
    came = sum(
        one.target == node
        and (
            one.letter.kind in (LetterKind.ACK, LetterKind.RECEIPT)
            or one.source in case.outside.sources
        )
        for one in case.heard
    )
    if len(rows) > came and not case.is_set_back(node):
        text = f"{node}: {len(rows)} rows tell of acknowledgements, and {came} came"
        yield Violation("E2", text, rows[-1].order)


def _handed_over(course: Course) -> int:
    """In the inbox, by the rows: not what was taken back before anybody read it."""
    confirmed = course.first_into(Event.CANCEL_CONFIRMED)
    handed = [row for row in course.into if row.record.event is Event.HANDED_OVER]
    if confirmed is not None and len(course.delivered) < len(handed):
        return len(course.delivered)
    return len(handed) + course.handed_again()


def _is_fresh(case: WorldCase, course: Course | None) -> bool:
    """Handed over so shortly before the end that nobody may have looked yet."""
    if course is None:
        return False
    last = max([*course.into, *course.repeated], key=lambda row: row.order, default=None)
    return last is not None and last.at_ns + 90_000_000_000 > case.end_ns


def _truth(case: WorldCase, key: MessageKey, *, is_accepted: bool, delivered: int) -> Truth:
    origin = case.at(name_of(key.from_party), key)
    verdict = verdict_of(() if origin is None else origin.out)
    return Truth(key, is_accepted, delivered, verdict, _kind(case, key, verdict, delivered))


def verdict_of(rows: Iterable[Row]) -> str | None:
    """The sender's last verdict by its rows, None while it is pending."""
    verdict: str | None = None
    for row in rows:
        event = row.record.event
        if event is Event.NOTIFIED and row.record.reason == "DeliveryFailure":
            verdict = "InDoubt" if verdict not in _ENDED else verdict
        elif event is Event.LATE_ACK_RECEIVED and verdict in _ENDED:
            continue  # Failed for good, and its application was told of the late answer.
        elif event is Event.SETTLED:
            verdict = row.record.outcome
        elif event in _VERDICTS:
            verdict = _VERDICTS[event]
        elif event is Event.TRANSMITTING and row.record.attempt == 1 and verdict == "InDoubt":
            verdict = None
    return verdict


def _kind(case: WorldCase, key: MessageKey, verdict: str | None, delivered: int) -> EvidenceClass:
    there = case.at(name_of(key.to_party), key)
    terms = None if there is None or there.line is None else there.terms
    asked = 0 if there is None else there.asked_again()
    if delivered > 1 + asked and (terms is None or is_remembered(terms)):
        return EvidenceClass.DUPLICATE_DELIVERY
    if verdict in ("Acknowledged", "Sent"):
        return _kind_of_acknowledged(case, key, there, delivered)
    if verdict is None:
        return EvidenceClass.PENDING
    if verdict in _SETTLED:
        is_right = bool(delivered) == (verdict == Settlement.DELIVERED)
        return EvidenceClass.SETTLED_RIGHTLY if is_right else EvidenceClass.SETTLED_WRONGLY
    if delivered:
        return EvidenceClass.IN_DOUBT_DELIVERED
    return EvidenceClass.PENDING if verdict == "InDoubt" else EvidenceClass.FAILED_NOT_DELIVERED


def _kind_of_acknowledged(
    case: WorldCase, key: MessageKey, there: Course | None, delivered: int
) -> EvidenceClass:
    if delivered:
        return EvidenceClass.ACKNOWLEDGED_AND_DELIVERED
    stored = [one for one in case.of_key[key] if one.first_into(Event.STORED) is not None]
    if not stored:
        return EvidenceClass.ACK_WITHOUT_STORE
    if there is not None and there.first_into(Event.HANDED_OVER) is not None:
        return EvidenceClass.LOST_AFTER_ACK
    return EvidenceClass.PENDING
