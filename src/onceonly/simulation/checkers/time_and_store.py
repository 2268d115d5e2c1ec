"""What a machine keeps: journals, pairs, payloads, and what it does on a broken disk.

I14, I27, I41 to I43, E3; `retention` judges what it forgets. Wall clocks that jump (I40) need no
check of their own: every other check holds under them, unless it says that clocks have to fit.
"""

from collections import Counter
from collections.abc import Iterator

from onceonly.journal.record import CHAIN_START, Record, chain
from onceonly.message.event import Direction, Event
from onceonly.protocol.pairing import PairStatus
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Course
from onceonly.simulation.checkers.letter import LetterKind
from onceonly.simulation.checkers.sender import release_ns
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.store.contract.entries import PairView, Role

CHAINS_EVERY = 8
"""Of so many worlds one has its chains of hashes computed again (E3): a fourth of all that
checking would cost, and a chain that is wrong is so in every world."""


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every machine, and every message at it."""
    for node in case.world.nodes:
        if case.is_set_back(node):
            continue
        yield from _journal(case, node)
        yield from _epochs(case, node)
        yield from _pairs(case, node)
        yield from _payloads(case, node)
        yield from _broken(case, node)


def _at(invariant: str, course: Course, text: str, order: int) -> Violation:
    return Violation(invariant, f"{course}: {text}", order)


# Journals: I41, I43, E3.


def _journal(case: WorldCase, node: str) -> Iterator[Violation]:
    """What was durable stays, and nothing else is there."""
    kept = case.world.nodes[node].snapshot().list_journal(0, NEVER >> 32)
    seen = [row.record for row in case.history.rows if row.node == node]
    if list(kept) != seen:
        at = next(
            (at for at, pair in enumerate(zip(kept, seen, strict=False)) if pair[0] != pair[1]),
            min(len(kept), len(seen)),
        )
        text = f"{node}: the journal has {len(kept)} rows, {len(seen)} were durable; row {at + 1}"
        yield Violation("I41", text, case.end_order)
    elif case.plan.seed % CHAINS_EVERY == 0:
        yield from _chain(case, node, seen)


def _chain(case: WorldCase, node: str, records: list[Record]) -> Iterator[Violation]:
    """E3: each row's hash is that of the row and the one before."""
    before = CHAIN_START
    for number, record in enumerate(records, 1):
        before = chain(before, record)
        if record.chain_hash != before or record.seq != number:
            yield Violation("E3", f"{node}: row {number} breaks the chain", case.end_order)
            return


def _epochs(case: WorldCase, node: str) -> Iterator[Violation]:
    """I43: no row of an older epoch comes after one of a newer epoch."""
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


def _pairs(case: WorldCase, node: str) -> Iterator[Violation]:
    """I41, I27: whether a pair is closed is what its rows say, also over a restart."""
    for view in case.world.nodes[node].snapshot().list_pairs():
        direction = Direction.OUT if view.role is Role.SENDER else Direction.IN
        parties = view.pair.from_party, view.pair.to_party
        rows = case.pair_rows.get((node, parties, direction), [])
        last = next((row for row in reversed(rows) if row.record.event in _STATUS_AFTER), None)
        status = PairStatus.OPEN if last is None else _STATUS_AFTER[last.record.event]
        if view.status is not status:
            text = f"{node}: the pair to {view.pair.to_party} is {view.status}"
            yield Violation("I41", f"{text}, its rows say {status}", case.end_order)
        yield from _incidents(case, view, rows)
    open_now = case.world.nodes[node].snapshot().list_incidents(is_open=True)
    for what, count in Counter((one.role, one.pair, one.reason) for one in open_now).items():
        if count > 1:
            text = f"{node}: {count} incidents of the pair to {what[1].to_party} say the same"
            yield Violation("I27", text, case.end_order)


def _incidents(case: WorldCase, view: PairView, rows: list[Row]) -> Iterator[Violation]:
    """I27, R-11: operators hear of a pair that closed by itself, until it is open again."""
    said = [row for row in rows if row.record.event in _STATUS_AFTER]
    if not said:
        return
    node = said[-1].node
    incidents = [
        one
        for one in case.world.nodes[node].snapshot().list_incidents(is_open=False)
        if (one.role, one.pair) == (view.role, view.pair)
    ]
    known = {one.reason for one in incidents}
    by_operators = case.suspensions(node)
    is_closed = False
    for row in said:
        reason = row.record.reason or ""
        is_closing = row.record.event is not Event.PAIR_RESUMED
        if not is_closing and not is_closed:
            text = f"{node}: the pair to {view.pair.to_party} was opened, and had not been closed"
            yield Violation("I27", text, row.order)
        is_closed = is_closing
        if is_closing and reason not in known and reason not in by_operators:
            text = f"{node}: the pair to {view.pair.to_party} closed, and no incident says so"
            yield Violation("I27", text, row.order)
    resumed = next((row for row in said[::-1] if row.record.event is Event.PAIR_RESUMED), None)
    is_one_clock = not case.has_jumped(node, 0, case.end_ns)
    if resumed is not None and is_one_clock:
        left = [
            one
            for one in incidents
            if one.opened_at < resumed.record.at and one.resolved_at is None
        ]
        if left:
            text = f"{node}: the pair to {view.pair.to_party} was resumed"
            yield Violation("I27", f"{text}, and an incident before it is open", resumed.order)


def _payloads(case: WorldCase, node: str) -> Iterator[Violation]:
    """I14: as long as a row names a payload that lies in the spool, it lies there."""
    machine = case.world.nodes[node]
    snapshot, process = machine.snapshot(), machine.process
    if process is None:
        return
    named = {
        course.key[2]: snapshot.list_payloads(course.key[2]) for course in _sent_from(case, node)
    }
    for item in snapshot.list_inbox(0, NEVER >> 32):
        named[item.message.message_id] = snapshot.list_inbox_payloads(item.offset)
    kept = {file.digest for file in process.gateway.spool.list_kept()}
    for message_id, payloads in named.items():
        lost = [one for one in payloads if one.body is None and one.payload.digest not in kept]
        if lost:
            text = f"{node}: {len(lost)} payloads of {message_id} are lost from the spool"
            yield Violation("I14", text, case.end_order)


def _sent_from(case: WorldCase, node: str) -> Iterator[Course]:
    for course in case.courses.values():
        if course.node == node and course.out:
            yield course


# Broken disks: I42.


def _broken(case: WorldCase, node: str) -> Iterator[Violation]:
    """After an I/O error nothing more leaves that a commit would have to precede."""
    for broken in case.happened(node, "broken"):
        end = min(case.next_death(node, broken.order), case.healed_order)
        is_news = case.is_alive(node, broken.order) and not case.happened(node, "frozen")
        if end == NEVER or not is_news:
            continue
        for course in case.courses.values():
            if course.node != node:
                continue
            said = [one for one in course.said if one.letter.kind is LetterKind.ACK]
            for letter in (*course.sent, *said):
                is_late = letter.at_ns > broken.at_ns + release_ns(case, node)
                if broken.order < letter.order < end and is_late and not _is_withheld(course):
                    text = f"{letter.packet} left after the disk broke"
                    yield _at("I42", course, text, letter.order)


def _is_withheld(course: Course) -> bool:
    """Under strict release stored responses leave one after the other, without a commit."""
    return course.line is not None and course.terms.strict_release
