"""What a machine keeps, forgets and says of it: journals, purges, broken disks, inquiries.

I10 and R-19 (purge), I41 to I44, E3. Wall clocks that jump (I40) need no check of their own: every
other one holds under them, save where it says that clocks have to fit.
"""

from collections.abc import Iterator

from onceonly.journal.record import CHAIN_START, Record, chain
from onceonly.message.event import Direction, Event
from onceonly.message.instant import NS_PER_S, US_PER_S
from onceonly.message.message import DeliverySemantics
from onceonly.protocol.pairing import PairStatus
from onceonly.protocol.receiving import ProcessingState
from onceonly.simulation.checkers.case import NEVER, Case, Course
from onceonly.simulation.checkers.letter import Kind
from onceonly.simulation.checkers.receiver import is_remembered
from onceonly.simulation.checkers.sender import VERDICTS, release_ns
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.store.store import Role

CHAINS_EVERY = 8
"""Of so many worlds one has its chains of hashes computed again (E3): a fourth of all that
checking would cost, and a chain that is wrong is so in every world."""

JUMP_NS = 5 * NS_PER_S
"""Between a sweep's look at the clock and its last step, at most."""

_REMEMBERED = (Event.STORED, Event.CANCEL_CONFIRMED, Event.ARRIVED_IN_TRANSIT)

_PROCESSING = [state.value for state in ProcessingState]


def judge(case: Case) -> Iterator[Violation]:
    """Every machine, and every message at it."""
    for node in case.world.nodes:
        if case.is_set_back(node):
            continue
        yield from _journal(case, node)
        yield from _epochs(case, node)
        yield from _pairs(case, node)
        yield from _purges(case, node)
        yield from _sent_purges(case, node)
        yield from _broken(case, node)
    for course in case.courses.values():
        if case.is_set_back(course.node):
            continue
        yield from _processing(course)
        yield from _taken_back(course)
        yield from _reports(course)


def _at(invariant: str, course: Course, text: str, order: int) -> Violation:
    return Violation(invariant, f"{course}: {text}", order)


# Journals: I41, I43, E3.


def _journal(case: Case, node: str) -> Iterator[Violation]:
    """What was durable stays, and nothing else is there."""
    kept = case.world.nodes[node].snapshot().list_journal(0, NEVER >> 32)
    seen = [row.record for row in case.rows_of[node]]
    if list(kept) != seen:
        at = next(
            (at for at, pair in enumerate(zip(kept, seen, strict=False)) if pair[0] != pair[1]),
            min(len(kept), len(seen)),
        )
        text = f"{node}: the journal has {len(kept)} rows, {len(seen)} were durable; row {at + 1}"
        yield Violation("I41", text, case.end_order)
    elif case.plan.seed % CHAINS_EVERY == 0:
        yield from _chain(case, node, seen)


def _chain(case: Case, node: str, records: list[Record]) -> Iterator[Violation]:
    """E3: each row's hash is that of the row and the one before."""
    before = CHAIN_START
    for number, record in enumerate(records, 1):
        before = chain(before, record)
        if record.chain_hash != before or record.seq != number:
            yield Violation("E3", f"{node}: row {number} breaks the chain", case.end_order)
            return


def _epochs(case: Case, node: str) -> Iterator[Violation]:
    """I43: no row of an older epoch behind one of a newer."""
    newest = 0
    for row in case.rows_of[node]:
        if row.record.store_epoch < newest:
            text = f"{node}: a row of epoch {row.record.store_epoch} after one of {newest}"
            yield Violation("I43", text, row.order)
        newest = max(newest, row.record.store_epoch)


_STATUS_AFTER = {
    Event.PAIR_SUSPENDED: PairStatus.SUSPENDED,
    Event.PAIR_QUARANTINED: PairStatus.QUARANTINED,
    Event.PAIR_RESUMED: PairStatus.OPEN,
}


def _pairs(case: Case, node: str) -> Iterator[Violation]:
    """I41, I27: whether a pair is closed is what its rows say, also over a restart."""
    snapshot = case.world.nodes[node].snapshot()
    for (where, parties, direction), rows in case.pair_rows.items():
        if where != node:
            continue
        said = [row for row in rows if row.record.event in _STATUS_AFTER]
        if not said:
            continue
        role = Role.SENDER if direction is Direction.OUT else Role.RECEIVER
        status = _STATUS_AFTER[said[-1].record.event]
        for view in snapshot.list_pairs():
            if view.role is role and tuple(view.pair) == parties and view.status is not status:
                text = f"{node}: the pair to {parties[1]} is {view.status}, its rows say {status}"
                yield Violation("I41", text, case.end_order)


# Purges: I10, R-19.


def _purges(case: Case, node: str) -> Iterator[Violation]:
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


def _sent_purges(case: Case, node: str) -> Iterator[Violation]:
    """R-19, I21: what was sent is forgotten behind its verdict and PersistDuration, not before."""
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


def _settled_before(case: Case, node: str, agreement_id: str, purge: Row) -> int:
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


def _forgettable(case: Case, node: str, purge: Row) -> Iterator[object]:
    for course in case.courses.values():
        if course.node != node or course.line is None:
            continue
        terms = course.line.terms
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


def _is_done(course: Course, order: int) -> bool:
    """Handed over, and called complete or refused by the application; or ours to send on."""
    if not course.is_destination:
        return True
    handed = course.first_into(Event.HANDED_OVER)
    is_said = any(row.order < order and _is_last_word(row) for row in course.into)
    return is_said or (handed is None and course.first_into(Event.CANCEL_CONFIRMED) is not None)


def _is_last_word(row: Row) -> bool:
    if row.record.event is Event.PROCESSING_CHANGED:
        return row.record.reason == _PROCESSING[-1]
    return row.record.event in (Event.APPLICATION_REFUSED, Event.CANCEL_CONFIRMED)


# Broken disks: I42.


def _broken(case: Case, node: str) -> Iterator[Violation]:
    """After an I/O error nothing more leaves that a commit would have to precede."""
    for broken in case.happened(node, "broken"):
        end = min(case.next_death(node, broken.order), case.healed_order)
        is_news = case.is_alive(node, broken.order) and not case.happened(node, "frozen")
        if end == NEVER or not is_news:
            continue
        for course in case.courses.values():
            if course.node != node:
                continue
            said = [one for one in course.said if one.letter.kind is Kind.ACK]
            for letter in (*course.sent, *said):
                is_late = letter.at_ns > broken.at_ns + release_ns(case, node)
                if broken.order < letter.order < end and is_late and not _is_withheld(course):
                    text = f"{letter.packet} left after the disk broke"
                    yield _at("I42", course, text, letter.order)


def _is_withheld(course: Course) -> bool:
    """Under strict release stored responses leave one after the other, without a commit."""
    return course.line is not None and course.line.terms.strict_release


# What is told of a message: I44.


def _processing(course: Course) -> Iterator[Violation]:
    """The processing states only move forward; those of BestEffort are of many copies (R-16)."""
    last = 0
    if course.line is None or not is_remembered(course.line.terms):
        return
    for row in course.into:
        if row.record.event is Event.PROCESSING_CHANGED:
            state = _PROCESSING.index(row.record.reason or "")
            if state <= last:
                yield _at(
                    "I44",
                    course,
                    f"went from {_PROCESSING[last]} to {row.record.reason}",
                    row.order,
                )
            last = max(last, state)


def _taken_back(course: Course) -> Iterator[Violation]:
    """A tombstone stands: nothing is stored, handed over or worked on behind it (R-08)."""
    confirmed = course.first_into(Event.CANCEL_CONFIRMED)
    if confirmed is None:
        return
    for row in course.into:
        event = row.record.event
        if row.order > confirmed.order and event in (Event.STORED, Event.HANDED_OVER):
            yield _at("I44", course, f"{event} after its cancel was confirmed", row.order)
    terms = None if course.line is None else course.line.terms
    for worked in course.worked:
        if worked.order > confirmed.order and terms is not None and terms.reports_processing:
            yield _at("I44", course, "worked on after its cancel was confirmed", worked.order)


def _reports(course: Course) -> Iterator[Violation]:
    """What a partner is told was durable before."""
    stored = course.first_into(Event.STORED)
    confirmed = course.first_into(Event.CANCEL_CONFIRMED)
    for said in course.said:
        letter = said.letter
        if letter.kind is not Kind.REPORT:
            continue
        status = letter.said("status")
        if status in ("Received", "Processed") and (stored is None or stored.order > said.order):
            yield _at("I44", course, f"said to be {status} before it was stored", said.order)
        is_cancel = letter.word == "CancelResponse" and letter.said("accepted") == "true"
        if is_cancel and (confirmed is None or confirmed.order > said.order):
            yield _at("I44", course, "its cancel was promised before it was durable", said.order)
