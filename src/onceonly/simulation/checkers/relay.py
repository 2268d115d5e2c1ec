"""One message at an intermediary, in both modes (R-13).

I36 and I39: whoever relays acknowledges what was acknowledged to it, sends on what came, and adds
nothing of its own. I37: whoever accepts owns the delivery, and says so if it fails. I38: a header
that passes gets one RoutingHeader more. I3 to I10 of an accepting intermediary are `receiver`'s.
"""

from collections import Counter
from collections.abc import Iterator

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S, US_PER_S
from onceonly.message.terms import Intermediary
from onceonly.protocol.outbound import OutboundStatus
from onceonly.simulation.cast import HOPS_MAX, name_of
from onceonly.simulation.checkers.acknowledgements import ANSWERED_NS
from onceonly.simulation.checkers.case import NEVER, STORING_NS, WorldCase
from onceonly.simulation.checkers.course import Coming, Course, Going, is_passed_on, passes
from onceonly.simulation.checkers.letter import LetterKind, without_last_hop
from onceonly.simulation.checkers.ration import may_lack_rows
from onceonly.simulation.checkers.receiver import CAUSES, may_have_left
from onceonly.simulation.checkers.sender import LATE_ROW_NS, NOT_DELIVERED, VERDICTS
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row

ANSWERS = (LetterKind.ACK, LetterKind.RECEIPT)

CUSTODY_WAITS = 20
"""An accepted message may wait for so many others that are given up one after the other."""


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every message at every intermediary."""
    for course in case.courses.values():
        if course.is_origin or course.is_destination or case.is_set_back(course.node):
            continue
        if course.node not in case.modes(course) or case.is_his_own(course):
            continue
        for copy in course.sent:
            yield from _one_hop_more(course, copy)
        if course.first_into(Event.STORED) is None:
            yield from _passes_on(case, course)
        else:
            yield from _owns(case, course)


def _at(invariant: str, course: Course, text: str, order: int) -> Violation:
    return Violation(invariant, f"{course}: {text}", order)


def _one_hop_more(course: Course, copy: Going) -> Iterator[Violation]:
    """I38: some copy that came, with one RoutingHeader more, and no loop."""
    letter = copy.letter
    before = without_last_hop(letter.header)
    came = [one for one in course.taken if one.order < copy.order]
    if not any(one.letter.header == before and one.letter.parts == letter.parts for one in came):
        text = f"{copy.packet} is no copy that came with one RoutingHeader more"
        yield _at("I38", course, text, copy.order)
    senders = [sender for sender, _ in letter.hops]
    if len(set(senders)) < len(senders) or len(senders) > HOPS_MAX:
        yield _at("I38", course, f"{copy.packet} went {' > '.join(senders)}", copy.order)


def _passes_on(case: WorldCase, course: Course) -> Iterator[Violation]:
    """I36, I39: as many acknowledgements and copies as came, after they came."""
    said = [one.order for one in course.said if one.letter.kind in ANSWERS]
    heard = [one.order for one in course.heard if one.letter.kind in ANSWERS]
    for number, order in enumerate(said):
        if len(heard) <= number or heard[number] > order:
            text = f"acknowledged {number + 1} times, and the next hop had not"
            yield _at("I36", course, text, order)
    restarts = case.deaths_between(course.node, 0, NEVER)
    for number, copy in enumerate(course.sent):
        came = sum(one.order < copy.order for one in course.taken)
        if number >= came + restarts:
            text = f"sent on {number + 1} times, and it came {came} times"
            yield _at("I36", course, text, copy.order)
    yield from _counted(case, course)
    yield from _every_copy(case, course)
    yield from _says_on(case, course)
    yield from _guesses(course)
    yield from _gone_on_with(case, course)


def _says_on(case: WorldCase, course: Course) -> Iterator[Violation]:
    """L4, I21: every whole copy is taken up, and every refusal goes back (seed 003 §4)."""
    node = course.node
    if case.deaths_between(node, 0, NEVER) or case.happened(node, "frozen"):
        return
    until_ns = case.end_ns - LATE_ROW_NS
    noted = (Event.ARRIVED_IN_TRANSIT, Event.REJECTED)
    rows = sum(row.record.event in noted for row in course.into)
    came = [
        one
        for one in course.taken
        if one.at_ns < until_ns
        and not case.is_misaddressed(one)
        and not case.is_full(node, one.at_ns)
    ]
    if len(came) > rows:
        text = f"{len(came)} copies came, {rows} were taken up"
        yield _at("L4", course, text, came[-1].order)
    owed = [(code, row) for code, row in _refusals(course) if row.at_ns < until_ns]
    passed = Counter(code for one in course.said for code, _ in one.letter.errors)
    if missing := Counter(code for code, _ in owed) - passed:
        text = f"refused as {', '.join(map(str, missing))}, and the previous hop was never told so"
        yield _at("I21", course, text, owed[-1][1].order)
    yield from _answers_back(case, course, until_ns)


def _may_be_forgotten(case: WorldCase, node: str, coming: Coming) -> bool:
    """Whether the machine had purged anything before it could look the message up."""
    until_ns = coming.at_ns + STORING_NS
    purged = (row for row in case.own_rows[node] if row.record.event is Event.PURGED)
    return any(row.at_ns <= until_ns for row in purged)


def _answers_back(case: WorldCase, course: Course, until_ns: int) -> Iterator[Violation]:
    """I36, L4: what the next hop acknowledged or refused has its row, and goes back as often."""
    if any(one.is_damaged for one in (*course.taken, *course.heard)):
        return
    # What fits nothing names no parties.
    strange = (row for row in case.own_rows[course.node] if row.record.message_id == course.key[2])
    told = [*course.out, *course.into, *strange]
    for kind, events in _ANSWERED_BY.items():
        heard = [
            one
            for one in course.heard
            if one.letter.kind is kind
            and not (kind is LetterKind.ERROR and passes(one))
            # What speaks of a message that was forgotten here goes on without a row of its own.
            and not (passes(one) and _may_be_forgotten(case, course.node, one))
            and one.at_ns < until_ns
            and not case.is_full(course.node, one.at_ns)
        ]
        rows = [row for row in told if row.record.event in events]
        if len(heard) > len(rows) and not may_lack_rows(case, course, heard[-1].order):
            text = f"{len(heard)} came from the next hop ({kind}), {len(rows)} rows say so"
            yield _at("L4", course, text, heard[-1].order)
    acknowledged = [
        row for row in course.out if row.record.event in _ACKNOWLEDGED and row.at_ns < until_ns
    ]
    # A business response may carry an acknowledgement (seed 001 §1.3.3.1).
    said = [*course.responses, *(one for one in course.said if one.letter.kind is LetterKind.ACK)]
    is_answered = course.line is not None and course.terms.is_acknowledged
    if is_answered and len(said) < len(acknowledged):
        text = f"acknowledged {len(acknowledged)} times, {len(said)} went back"
        yield _at("I36", course, text, acknowledged[-1].order)


_ACKNOWLEDGED = (Event.ACK_RECEIVED, Event.REPEATED_ACK_RECEIVED)
_ANSWERED_BY = {
    LetterKind.ACK: (*_ACKNOWLEDGED, Event.ORPHAN_ACK_RECEIVED),
    LetterKind.ERROR: (Event.ERROR_RECEIVED,),
}
"""What a row about an answer of the next hop is called."""


def _gone_on_with(case: WorldCase, course: Course) -> Iterator[Violation]:
    """Seed 003 §3: what was stored and not sent on when the process died goes on all the same.

    A message that was acknowledged once need not be, since nobody waits for it any more.
    """
    node, line = course.node, course.line
    if line is None or case.happened(node, "frozen", "full", "broken"):
        return
    starts = [one.order for one in case.happened(node, "started")]
    for ready in case.happened(node, "ready"):
        began = max(order for order in starts if order < ready.order)
        before = [row for row in (*course.into, *course.out) if row.order < began]
        last = max(before, key=lambda row: row.order, default=None)
        is_over = ready.at_ns + LATE_ROW_NS > case.end_ns
        if is_over or last is None or case.next_death(node, ready.order) != NEVER:
            continue
        if any(
            last.order < row.order < ready.order
            for row in case.own_rows[node]
            if row.record.event is Event.PURGED
        ):
            continue  # Its time was over before it went on, and it has no entry any more.
        is_acknowledged = any(row.record.event in _ACKNOWLEDGED for row in before)
        is_last = last.record.event is Event.ARRIVED_IN_TRANSIT
        is_waiting = is_last and course.terms.is_acknowledged and not is_acknowledged
        # Another copy that comes goes on by itself.
        again = (row.order for row in course.into if row.order > began)
        until = min(next(again, NEVER), case.end_order)
        if is_waiting and not any(began < copy.order < until for copy in course.sent):
            yield _at("L4", course, "stored, and not sent on after a start", last.order)


def _refusals(course: Course) -> Iterator[tuple[str, Row]]:
    """What the previous hop must be told: an error of the next hop, or that it has nothing."""
    is_answered = course.line is not None and course.terms.is_acknowledged
    if course.line is not None and not course.line.profile.has_transient_errors:
        is_answered = False  # There is no word for it, and the origin's timer sends again.
    for row in course.out:
        if row.record.event is Event.ERROR_RECEIVED:
            yield row.record.error_code or "", row
        elif row.record.event is Event.FORWARDED and is_answered and not may_have_left(row):
            yield ErrorCode.TRANSIENT_ERROR, row


def _guesses(course: Course) -> Iterator[Violation]:
    """I39: where it is not known what the next hop has, a relay says nothing (seed 003 §4)."""
    known = [*_refusals(course)]
    known += [
        (row.record.error_code or "", row)
        for row in course.into
        if row.record.event is Event.REJECTED
    ]
    said: Counter[str] = Counter()
    for one in course.said:
        for code, _ in () if is_passed_on(one) else one.letter.errors:
            said[code] += 1
            if said[code] > sum(why == code and row.order < one.order for why, row in known):
                text = f"{one.packet} says {code}, and the next hop may have a copy"
                yield _at("I39", course, text, one.order)


def _counted(case: WorldCase, course: Course) -> Iterator[Violation]:
    """The rows of a relay number its copies, and tell the first acknowledgement from repeats."""
    if case.has_forgotten(course.node, NEVER):
        return
    arrived = [row for row in course.into if row.record.event is Event.ARRIVED_IN_TRANSIT]
    for number, row in enumerate(arrived, 1):
        if row.record.attempt != number:
            text = f"copy {number} came, and its row says {row.record.attempt}"
            yield _at("I36", course, text, row.order)
    first = [row for row in course.out if row.record.event is Event.ACK_RECEIVED]
    is_answered = course.line is not None and course.terms.is_acknowledged
    # A copy that was refused begins again.
    if len(first) > 1 and is_answered and not any(_refusals(course)):
        yield _at("I36", course, "acknowledged for the first time twice", first[1].order)


def _every_copy(case: WorldCase, course: Course) -> Iterator[Violation]:
    """No copy is dropped: a relay detects no duplicates (seed 003 §4)."""
    arrived = [row for row in course.into if row.record.event is Event.ARRIVED_IN_TRANSIT]
    if case.deaths_between(course.node, 0, NEVER) or not arrived:
        return
    is_over = arrived[-1].at_ns + ANSWERED_NS < case.end_ns
    if is_over and len(course.sent) < len(arrived):
        text = f"{len(arrived)} copies came, {len(course.sent)} went on"
        yield _at("I36", course, text, arrived[-1].order)


def _owns(case: WorldCase, course: Course) -> Iterator[Violation]:
    """I37: never both modes for one message, and a failure is said to the From Party."""
    relayed = course.first_into(Event.ARRIVED_IN_TRANSIT)
    modes = case.modes(course)
    if relayed is not None or modes[course.node] is Intermediary.RELAY:
        stored = course.first_into(Event.STORED)
        order = 0 if stored is None else stored.order
        yield _at("I37", course, "relayed and accepted, both", order)
    yield from _known(course)
    yield from _receipt(case, course)
    yield from _kept(case, course)
    yield from _taken_up(case, course)
    failed = next((row for row in course.out if row.record.event in NOT_DELIVERED), None)
    line = course.line
    if failed is None or line is None or not line.profile.has_failure_notices:
        return  # Notices do not go over the network in rm-2000.
    told = [one for one in course.said if one.letter.kind is LetterKind.ERROR]
    is_fresh = failed.at_ns + ANSWERED_NS > case.end_ns
    if not told and not is_fresh and not _is_acknowledged_before(course, failed.order):
        text = f"{failed.record.event}, and {name_of(course.key[0])} was never told"
        yield _at("I37", course, text, failed.order)


def _known(course: Course) -> Iterator[Violation]:
    """I37: a copy of what was accepted is a repeat, as at the To Party, and is not refused."""
    stored = course.first_into(Event.STORED)
    is_plain = not any(one.is_damaged for one in course.taken)
    for row in course.into:
        is_later = stored is not None and row.order > stored.order
        is_refusal = row.record.event is Event.REJECTED and row.record.error_code not in CAUSES
        if is_later and is_refusal and is_plain:
            text = f"accepted, and a repeat was refused as {row.record.error_code}"
            yield _at("I37", course, text, row.order)


def _receipt(case: WorldCase, course: Course) -> Iterator[Violation]:
    """Seed 001 §2.1.1: a receipt is the To Party's word, and goes on to who asked for it."""
    heard = [
        one for one in course.heard if one.letter.kind is LetterKind.RECEIPT and not one.is_damaged
    ]
    if not heard or case.deaths_between(course.node, 0, NEVER):
        return
    is_over = heard[0].at_ns + ANSWERED_NS < case.end_ns
    is_said = any(one.letter.kind is LetterKind.RECEIPT for one in course.said)
    is_hindered = case.happened(course.node, "full", "frozen", "broken")
    is_forgotten = case.has_forgotten(course.node, heard[0].order)
    if is_over and not is_said and not is_hindered and not is_forgotten:
        yield _at("L4", course, "its delivery receipt was not passed on", heard[0].order)


def _kept(case: WorldCase, course: Course) -> Iterator[Violation]:
    """I37, L1: what was accepted is in the store until its verdict, and has one in the end."""
    if any(row.record.event in VERDICTS for row in course.out):
        return
    entry = case.world.nodes[course.node].snapshot().find_outbound(course.key[2])
    if entry is None:
        yield _at("I37", course, "accepted, and lost without a verdict", case.end_order)
        return
    terms = case.terms_out(course)
    waits_ns = 0 if terms is None else (terms.verdict_after_s or 0) * NS_PER_S
    is_over = case.end_ns > case.healed_ns + CUSTODY_WAITS * (waits_ns + ANSWERED_NS)
    if is_over and not _is_before_its_fence(case, course, entry.state.status):
        text = f"accepted, and still {entry.state.status} at the end"
        yield _at("L1", course, text, case.end_order)


def _is_before_its_fence(case: WorldCase, course: Course, status: OutboundStatus) -> bool:
    """R-08: a doubt lasts until no copy can be stored any more; `debts` judges the notice of it.

    The fence counts from the Timestamp of the message, which a clock that had jumped may have set
    long after the end of the world.
    """
    terms, made_at = case.terms_out(course), case.made_at(course)
    if status is not OutboundStatus.IN_DOUBT or terms is None or made_at is None:
        return False
    fence_at = made_at + (terms.persist_duration_s + 2 * terms.msh_time_accuracy_s) * US_PER_S
    return case.world.nodes[course.node].clock.at() <= fence_at


def _taken_up(case: WorldCase, course: Course) -> Iterator[Violation]:
    """I37: what was being sent when the process died is gone on with by the next one."""
    terms, node = case.terms_out(course), course.node
    if terms is None or case.happened(node, "frozen", "full", "broken"):
        return
    longest_s = max(terms.timeout_s, terms.retry_interval_s)
    starts = [one.order for one in case.happened(node, "started")]
    for ready in case.happened(node, "ready"):
        # It goes on while it takes everything up, before it says that it is ready.
        began = max(order for order in starts if order < ready.order)
        before = [row for row in course.out if row.order < began]
        if not any(row.record.event is Event.TRANSMITTING for row in before):
            continue
        is_over = any(map(_ends_the_tries, before))
        until_ns = ready.at_ns + longest_s * NS_PER_S + LATE_ROW_NS
        dies = case.deaths_between(node, ready.order, NEVER)
        if is_over or dies or until_ns > case.end_ns:
            continue
        if not any(began < row.order and row.at_ns <= until_ns for row in course.out):
            yield _at("I37", course, "accepted, and not gone on with after a start", ready.order)


def _is_acknowledged_before(course: Course, order: int) -> bool:
    acknowledged = course.first_out(Event.ACK_RECEIVED)
    return acknowledged is not None and acknowledged.order < order


def _ends_the_tries(row: Row) -> bool:
    """Nothing more is sent after it, be it a verdict or a doubt.

    A failure notice of the next hop ends them whatever its severity: a warning says that a copy
    may be there, and then it is for the fence to decide.
    """
    is_refusal = row.record.event is Event.ERROR_RECEIVED and (
        row.record.severity == Severity.ERROR or row.record.error_code == ErrorCode.DELIVERY_FAILURE
    )
    return is_refusal or row.record.event in (*VERDICTS, Event.EXHAUSTED)
