"""One message at the machine that stores it: once, in its time, as it was sent; and handed over.

I1, I2, I7 to I12 and the receiver's half of I26; R-01, R-02, R-12, R-16, R-18, R-19.
`acknowledgements` judges what its sender is told.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import pairwise

from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S, US_PER_S
from onceonly.message.message import AckRequested, DeliverySemantics
from onceonly.message.signing import Signed
from onceonly.message.terms import DeliveryReceiptProvided, DeliveryTerms
from onceonly.protocol.events import Outcome
from onceonly.simulation.cast import line_id, name_of
from onceonly.simulation.checkers.acknowledgements import SIGNALS, owes_answer, was_long_awake
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Coming, Course
from onceonly.simulation.checkers.letter import LetterKind
from onceonly.simulation.checkers.sender import NOT_DELIVERED, is_fence
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Delivered, Row

CAUSES = frozenset(
    {
        None,
        ErrorCode.TRANSIENT_ERROR,
        ErrorCode.INVALID_SEQUENCE_NUMBER,
        ErrorCode.TIME_TO_LIVE_EXPIRED,
        ErrorCode.DELIVERY_FAILURE,
        ErrorCode.NOT_SUPPORTED,
    }
)
"""Why a receiver may refuse a message that keeps to its agreement."""

_REFUSED = (Event.REJECTED, Event.COLLISION_DETECTED)


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every message at every machine that stores it, and every delivery."""
    for course in case.courses.values():
        if case.is_set_back(course.node):
            continue
        if course.delivered:
            yield from _deliveries(case, course)
        stored = course.first_into(Event.STORED)
        if stored is not None:
            yield from _stored_once(course)
            yield from _told_apart(case, course, stored)
            yield from _hand_over(case, course)
            yield from _released(course)
            yield from _kept_back(case, course, stored)
            yield from _known_is_known(case, course, stored)
            yield from _in_time(case, course, stored)
            yield from _refused_though_stored(case, course, stored)
            if not case.is_his_own(course):
                yield from _not_supported(course, stored)
            yield from _no_zombie(case, course, stored)
        if course.is_destination:
            yield from _refused_in_time(case, course)
            yield from _kept_for_ever(case, course)
            if not case.comes_from_outside(course):
                yield from _refused_without_cause(case, course)
                yield from _refused_in_silence(case, course)
                yield from _refused_without_a_row(case, course)


def is_remembered(terms: DeliveryTerms) -> bool:
    """Whether a repeat of the message is known (R-16)."""
    return terms.semantics is not DeliverySemantics.BEST_EFFORT or terms.drop_duplicates


def content_digest(content: Sequence[bytes]) -> str:
    """What both journals must agree on about the payloads, computed here once more."""
    digests = [sha256(body).hexdigest() for body in content]
    return digests[0] if len(digests) == 1 else sha256("\n".join(digests).encode()).hexdigest()


def _at(invariant: str, course: Course, text: str, order: int) -> Violation:
    return Violation(invariant, f"{course}: {text}", order)


# Deliveries: I1, I2, I12.


def _deliveries(case: WorldCase, course: Course) -> Iterator[Violation]:
    terms = course.terms
    first = course.delivered[0]
    handed = [row for row in course.into if row.record.event is Event.HANDED_OVER]
    if is_remembered(terms):
        for times, one in enumerate(course.delivered, 1):
            if times > 1 + course.asked_again(one.order):
                yield _at("I1", course, f"delivered {times} times", one.order)
                break
    times = len(handed) + course.handed_again()
    if times < len(course.delivered) or not handed or handed[0].order > first.order:
        yield _at(
            "I12", course, "in the inbox, and no row says that it was handed over", first.order
        )
    yield from _invented(case, course, first)


def _invented(case: WorldCase, course: Course, first: Delivered) -> Iterator[Violation]:
    origin = case.at(name_of(course.key[0]), course.key)
    submitted = None if origin is None else origin.first_out(Event.SUBMITTED)
    if origin is None or submitted is None or submitted.order > first.order:
        if not _is_misread(case, course) and not case.is_his_own(course):
            yield _at("I2", course, "delivered, and nobody had submitted it", first.order)
        return
    # A restored backup forgets what was submitted, and the id is free for another content (C7).
    digests = {row.record.digest for row in origin.out if row.record.event is Event.SUBMITTED}
    for delivered in course.delivered:
        is_same = content_digest(delivered.content) in digests
        if not is_same and not _came_damaged(course, delivered):
            yield _at("I2", course, "delivered with other content", delivered.order)


def _is_misread(case: WorldCase, course: Course) -> bool:
    """Whether a damaged copy of another message was read as this one.

    The wire forms carry no digest: what TCP and TLS let through damaged is another message, which
    no receiver can know (fault N4).
    """
    return any(_says(stray, course) for stray in case.strays)


def _says(coming: Coming, course: Course) -> bool:
    letter = coming.letter
    return (letter.from_party, letter.to_party, letter.message_id) == course.key


def _told_apart(case: WorldCase, course: Course, stored: Row) -> Iterator[Violation]:
    """I2: both journals have one digest of a header if it came as it was written, else two (R-37).

    Only both journals together can show that something was rewritten on the way.
    """
    origin = case.at(name_of(course.key[0]), course.key)
    written = {} if origin is None else _written(origin)
    came = [
        one.letter.header_content
        for one in course.taken
        if one.order < stored.order and one.letter.header
    ]
    if not written or not came:
        return
    told, digests = stored.record.header_digest, set(written.values())
    if any(told == written[one] if one in written else told not in digests for one in came):
        return
    text = "a header that came as it was written is told as another"
    if told in digests:
        text = "a header that was rewritten on the way is told as the one that was written"
    yield _at("I2", course, text, stored.order)


def _written(origin: Course) -> dict[tuple[bytes, ...], str | None]:
    """The content of each header that left its sender, and the digest journalled there for it.

    A sender whose store was set back may submit other content under the same id (C7).
    """
    submitted = [row for row in origin.out if row.record.event is Event.SUBMITTED]
    return {
        one.letter.header_content: row.record.header_digest
        for row in submitted
        for one in origin.sent
        if row.order < one.order
    }


def _digests(row: Row) -> tuple[str | None, str | None]:
    return row.record.digest, row.record.header_digest


def _came_damaged(course: Course, delivered: Delivered) -> bool:
    return any(one.is_damaged and one.letter.contents == delivered.content for one in course.taken)


# Storing: I7, I8, I9, I26.


def _stored_once(course: Course) -> Iterator[Violation]:
    terms = course.terms
    stored = [row for row in course.into if row.record.event is Event.STORED]
    if not is_remembered(terms):
        return
    if len(stored) > 1:
        yield _at("I7", course, "stored twice", stored[1].order)
    handed = [row for row in course.into if row.record.event is Event.HANDED_OVER]
    if len(handed) > 1:
        yield _at("I1", course, "handed over twice", handed[1].order)
    yield from _asked_for(course)
    for row in course.into:
        is_repeat = row.record.event is Event.DUPLICATE_ELIMINATED
        is_same = _digests(row) == _digests(stored[0])
        if is_repeat and not is_same:
            yield _at("I8", course, "other content taken for a repeat", row.order)
        is_alarm = row.record.event is Event.COLLISION_DETECTED
        if is_alarm and is_same:
            yield _at("I8", course, "a repeat taken for a collision", row.order)


def _asked_for(course: Course) -> Iterator[Violation]:
    """I1: each hand-over after the first is one that was asked for, and is made in that commit."""
    for row in course.repeated:
        if row.record.event is not Event.HANDED_OVER:
            continue
        if course.handed_again(row.order) + 1 != course.asked_again(row.order):
            yield _at("I1", course, "handed over again, and nobody asked for it", row.order)


def _known_is_known(case: WorldCase, course: Course, stored: Row) -> Iterator[Violation]:
    """R-18: what is stored is not refused for its age. R-16: what is not remembered has no repeat.

    Once anything was purged, the machine may have forgotten it (R-19).
    """
    is_known = is_remembered(course.terms)
    for row in course.into:
        record = row.record
        if not is_known and record.event is Event.DUPLICATE_ELIMINATED:
            yield _at("R-16", course, "a repeat of BestEffort was eliminated", row.order)
        is_late = record.error_code == ErrorCode.TIME_TO_LIVE_EXPIRED
        is_refused = record.event is Event.REJECTED and is_late and row.order > stored.order
        if is_known and is_refused and not case.has_forgotten(course.node, row.order):
            yield _at("R-18", course, "stored, and refused for its age", row.order)


def _in_time(case: WorldCase, course: Course, stored: Row) -> Iterator[Violation]:
    """I9, I10: by the receiver's own wall clock, within the accuracy that was agreed."""
    terms = course.terms
    made_at = case.copy_made_at(course, stored)
    if made_at is None or terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return
    for lives_s, invariant in (
        (terms.time_to_live_s, "I9"),
        (terms.persist_duration_s, "I10"),
    ):
        if lives_s is None:
            continue
        last_at = made_at + (lives_s + terms.msh_time_accuracy_s) * US_PER_S
        if stored.record.at > last_at:
            text = f"stored {(stored.record.at - last_at) / US_PER_S:.3f} s past its time"
            yield _at(invariant, course, text, stored.order)


def _refused_in_time(case: WorldCase, course: Course) -> Iterator[Violation]:
    """R-18: an unseen message in its time is not refused for its age; ExactlyOnce has no end."""
    terms = course.terms
    lives_s = min(terms.persist_duration_s, terms.time_to_live_s or terms.persist_duration_s)
    for row in course.into:
        record = row.record
        is_late = record.error_code == ErrorCode.TIME_TO_LIVE_EXPIRED
        if record.event is not Event.REJECTED or not is_late:
            continue
        made_at = [at for at in case.copies_made_at(course, row) if at is not None]
        is_endless = terms.semantics is DeliverySemantics.EXACTLY_ONCE
        if not made_at:
            continue
        is_in_time = is_endless or record.at <= min(made_at) + lives_s * US_PER_S
        if is_in_time and not case.has_forgotten(course.node, row.order):
            yield _at("I9", course, "refused for its age, and it was in its time", row.order)


def _lost_its_order(case: WorldCase, course: Course) -> bool:
    """Whether the parties may differ about the number that comes next (R-34).

    While one of them has an order and the other has none, or after a store was set back.
    """
    line = course.line
    if line is None or not line.terms.is_ordered:
        return False
    ends = (line.one, line.other)
    return case.is_set_back(*ends) or any(
        one.detail.startswith(f"{line_id(line)} ") and "is_ordered" in one.detail
        for end in ends
        for one in case.happened(end, "reconfigured")
    )


def _from_the_future(case: WorldCase, course: Course, row: Row) -> bool:
    """R-19: whether its Timestamp is further ahead of the clock there than was agreed."""
    terms, made_at = course.terms, case.copy_made_at(course, row)
    if made_at is None or terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return False
    most_s = terms.timestamp_ahead_max_s + terms.msh_time_accuracy_s
    return made_at - row.record.at > most_s * US_PER_S


def _kept_for_ever(case: WorldCase, course: Course) -> Iterator[Violation]:
    for row in course.into:
        if row.record.event is Event.STORED and _from_the_future(case, course, row):
            yield _at("R-19", course, "stored, and it is from the future", row.order)


def _refused_without_cause(case: WorldCase, course: Course) -> Iterator[Violation]:
    """L4: nobody refuses what our gateways wrote, except for its time, number or cancel."""
    for row in course.into:
        record = row.record
        if record.error_code == ErrorCode.INCONSISTENT and _from_the_future(case, course, row):
            continue
        if record.error_code == ErrorCode.INCONSISTENT and _lost_its_order(case, course):
            continue
        if record.event is Event.REJECTED and record.error_code not in CAUSES:
            yield _at("L4", course, f"refused as {record.error_code}: {record.reason}", row.order)


def _not_supported(course: Course, stored: Row) -> Iterator[Violation]:
    """Seed 001 §2.1.1.2: what wants a delivery receipt that nobody gives is not taken."""
    terms = course.terms
    is_wanted = terms.delivery_receipt_requested is not AckRequested.NONE
    is_given = terms.delivery_receipt_provided is not DeliveryReceiptProvided.NONE
    if course.is_destination and is_wanted and not is_given:
        yield _at("I9", course, "stored, and its delivery receipt is not provided", stored.order)


def _refused_in_silence(case: WorldCase, course: Course) -> Iterator[Violation]:
    """L4: whoever is refused is told so, and does not have to wait."""
    told = [one.order for one in course.said if one.letter.kind is LetterKind.ERROR]
    for row in course.into:
        if row.record.event is not Event.REJECTED or any(order > row.order for order in told):
            continue
        stored = course.first_into(Event.STORED)
        if stored is not None and stored.order < row.order and _lost_its_order(case, course):
            continue  # A repeat has its acknowledgement, whatever is agreed by now.
        is_steady = case.death_of(row) == NEVER
        if is_steady and was_long_awake(case, course.node, row.at_ns):
            text = f"{row.record.event} as {row.record.error_code}, and its sender was never told"
            yield _at("L4", course, text, row.order)


def _refused_though_stored(case: WorldCase, course: Course, stored: Row) -> Iterator[Violation]:
    """R-46: no Error is about a MessageId that is stored, whatever is wrong with a later copy."""
    if course.line is not None and course.line.signs is not Signed.NONE:
        return  # A copy that nobody proves to be his is no copy of it.
    is_known = is_remembered(course.terms) and not course.first_into(Event.CANCEL_CONFIRMED)
    if not is_known or case.has_forgotten(course.node, NEVER):
        return
    refused = [row for row in course.into if row.record.event in _REFUSED]
    before = {row.record.error_code for row in refused if row.order < stored.order}
    later = {row.record.error_code for row in refused if row.order > stored.order} - before
    for said in course.said:
        if said.order > stored.order and later & {code for code, _ in said.letter.errors}:
            yield _at("R-46", course, f"{said.packet} refuses what is stored", said.order)


def _refused_without_a_row(case: WorldCase, course: Course) -> Iterator[Violation]:
    """E2: a refusal that leaves stands in the journal before, with its code."""
    for said in course.said:
        if case.is_full(course.node, said.at_ns):
            continue
        before = [row.record for row in course.into if row.order < said.order]
        written = {record.error_code for record in before if record.event in _REFUSED}
        if any(record.event is Event.APPLICATION_REFUSED for record in before):
            tells = course.terms.reports_refusals
            written.add(ErrorCode.UNKNOWN if tells else ErrorCode.DELIVERY_FAILURE)
        if missing := {code for code, _ in said.letter.errors} - written:
            text = f"{said.packet} says {', '.join(sorted(missing))}, and no row says why"
            yield _at("E2", course, text, said.order)


def _no_zombie(case: WorldCase, course: Course, stored: Row) -> Iterator[Violation]:
    """I26: nothing is stored after its sender's final verdict, as long as the clocks fit.

    BestEffort has no final word: its end promises nothing, and nobody remembers its copies (R-16).
    """
    if course.terms.semantics is DeliverySemantics.BEST_EFFORT:
        return
    for other in case.of_key[course.key]:
        if other is course:
            continue
        final = next((row for row in other.out if row.record.event in NOT_DELIVERED), None)
        if final is None or final.order > stored.order or _was_held_up(course, stored, final):
            continue
        refused = course.first_into(Event.REJECTED)
        if refused is not None and refused.order < final.order and _lost_its_order(case, course):
            continue  # The receiver refused it, and its operator agreed to its order since then.
        path = case.path(course)
        if case.clocks_fit(course.terms, *path) and not case.is_set_back(*path):
            text = f"stored after {final.record.event} at {other.node}"
            yield _at("I26", course, text, stored.order)


def _was_held_up(course: Course, stored: Row, final: Row) -> bool:
    """Whether the process or its disk paused between the decision, in its time, and its commit.

    The sender's fence does not allow for it: a pause longer than the agreed accuracy of the clocks
    breaks the agreement.
    """
    taken_ns = min((one.at_ns for one in course.taken), default=NEVER)
    agreed_ns = course.terms.msh_time_accuracy_s * NS_PER_S
    return (
        is_fence(final.record)
        and stored.record.at < final.record.at
        and stored.at_ns - taken_ns > agreed_ns
    )


# Handing over: I11, R-12.


def _hand_over(case: WorldCase, course: Course) -> Iterator[Violation]:
    terms = course.terms
    handed = course.first_into(Event.HANDED_OVER)
    if handed is None:
        return
    stored = course.first_into(Event.STORED)
    if stored is None or stored.order > handed.order:
        yield _at("I12", course, "handed over before it was stored", handed.order)
    if not course.is_destination:
        yield _at("I37", course, "an intermediary handed it over", handed.order)
    # Only the application can make a response that goes back in the answer (seed 001 §1.3.3.1).
    is_first = terms.ack_status.is_passed_on or terms.sync_reply_mode.has_response
    is_withheld = terms.strict_release and terms.is_acknowledged
    if is_withheld and not is_first and not _was_cut_short(case, course, handed):
        yield from _withheld(course, handed)


def _withheld(course: Course, handed: Row) -> Iterator[Violation]:
    """R-12: under strict release some acknowledgement may have left before."""
    attempts = [one for one in course.into if one.record.event is Event.ACK_SENT]
    first = next((one for one in attempts if may_have_left(one)), None)
    left = [one for one in course.said if one.letter.kind in SIGNALS]
    if first is not None and first.order < handed.order and left and left[0].order < handed.order:
        return
    yield _at("I11", course, "handed over, and no acknowledgement had left", handed.order)


def _was_cut_short(case: WorldCase, course: Course, handed: Row) -> bool:
    """Whether the process before died between an acknowledgement and the row of its end.

    Nobody knows then whether it left, so the message goes with the first attempt after the start.
    """
    starts = [one.order for one in case.happened(course.node, "started")]
    life = bisect(starts, handed.order) - 1
    attempts = [row.order for row in course.into if row.record.event is Event.ACK_SENT]
    # What a start found stored was stored by the process before it.
    begun = [
        starts[bisect(starts, row.order) - 1] - 1 if case.was_recovered(row) else row.order
        for row in course.into
        if owes_answer(row)
    ]
    said = [one.order for one in course.said if one.letter.kind in SIGNALS]
    if life < 1 or sum(starts[life] < one < handed.order for one in attempts) != 1:
        return False
    since, until = starts[life - 1], starts[life]
    taken_up = bool(begun) and begun[0] < since
    owed, left, ended = (
        sum(since < one < until for one in orders) for orders in (begun, said, attempts)
    )
    return max(owed + taken_up, left) > ended


def _released(course: Course) -> Iterator[Violation]:
    """R-12: what was withheld is released by the next acknowledgement that may have left."""
    last: Row | None = None
    for row in course.into:
        event = row.record.event
        if event is Event.ACK_SENT:
            last = row
        elif event is Event.WITHHELD and last is not None and may_have_left(last):
            yield _at("I11", course, "withheld, and an acknowledgement may have left", row.order)
    is_over = any(row.record.event in _ENDS_WITHHOLDING for row in course.into)
    if last is not None and may_have_left(last) and course.is_destination and not is_over:
        yield _at("I11", course, "acknowledged, and not handed over with that", last.order)


def _kept_back(case: WorldCase, course: Course, stored: Row) -> Iterator[Violation]:
    """R-12: a row says that it is withheld, of which an operator may ask why it is not there."""
    terms = course.terms
    is_strict = terms.strict_release and terms.is_acknowledged and course.is_destination
    if not is_strict or case.was_recovered(stored):
        return
    for row, after in pairwise((*course.into, None)):
        event = None if row is None else row.record.event
        if row is None or event in _ENDS_WITHHOLDING:
            return
        is_refused = event is Event.ACK_SENT and not may_have_left(row)
        is_said = after is not None and after.record.event is Event.WITHHELD
        is_one_life = case.deaths_between(course.node, stored.order, row.order) == 0
        if is_refused and is_one_life and not is_said:
            yield _at("I11", course, "its acknowledgement never left, and no row says", row.order)


_ENDS_WITHHOLDING = frozenset({Event.HANDED_OVER, Event.CANCEL_CONFIRMED, Event.DROPPED})


def may_have_left(row: Row) -> bool:
    """Refused without a word of the other side: no byte left (R-05)."""
    return row.record.outcome != Outcome.REFUSED or row.record.status_code is not None
