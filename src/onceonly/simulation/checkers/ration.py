"""What strangers cost: rows and posts within constant bounds (R-45).

A stranger names no known agreement, or does not show the certificate that it demands. An error for
a refused package is posted to the partner that the package names, so anybody could make us attack a
partner. If the partner's agreement demands a certificate that the caller did not show, no error is
posted at all.
"""

from collections import defaultdict
from collections.abc import Iterator

from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S
from onceonly.simulation.cast import are_neighbours, line_id
from onceonly.simulation.checkers.case import WorldCase
from onceonly.simulation.checkers.course import Coming, Course, Going
from onceonly.simulation.checkers.letter import LetterKind, read
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.network import certificate

HOUR_NS = 3_600 * NS_PER_S
UNDERWAY_NS = 60 * NS_PER_S
"""Longest time from the place of a post in the ration until it leaves."""

ROWS_PER_HOUR = 1_000
POSTS_PER_HOUR = 60
"""As the defaults of `[limits]` have them."""

ROWS_OF_NEIGHBOURS = 4
"""Rows that a package of a machine of the world leaves at most that look like a stranger's."""

_REFUSALS = frozenset(
    {
        Event.REJECTED,
        Event.SECURITY_EVENT,
        Event.ORPHAN_ACK_RECEIVED,
        Event.ERROR_RECEIVED,
        Event.REPORT_RECEIVED,
        Event.INQUIRY_RECEIVED,
    }
)

_POSTED = frozenset({LetterKind.ERROR, LetterKind.REPORT})


def may_lack_rows(case: WorldCase, course: Course, order: int) -> bool:
    """Whether the rows of the message's agreement that an hour has may all be written before.

    What fits nothing has none then. Rows about other agreements take none of them.
    """
    names = () if course.line is None else (line_id(course.line), *course.key[:2])
    written = sum(
        row.order < order
        and row.record.event in _REFUSALS
        and (row.record.agreement_id in names or row.record.from_party in names)
        for row in case.rows_of[course.node]
    )
    return written >= ROWS_PER_HOUR


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every machine that somebody from outside came to."""
    for node in case.machines:
        if node in case.outside.visited:
            yield from _rows(case, node)
            yield from _posts(case, node)


def _came(case: WorldCase, node: str) -> tuple[int, int]:
    """How many packages came from strangers, and from others.

    A caller that names an agreement without a certificate is treated as its partner.
    """
    strangers = others = 0
    for one in case.history.arrived:
        if one.packet.target == node:
            line = case.lines.get(read(one.body).agreement_id)
            is_asked = line is None or line.is_certified
            is_unknown = (
                one.packet.source in case.outside.sources and one.packet.certificate is None
            )
            strangers += is_asked and is_unknown
            others += not (is_asked and is_unknown)
    return strangers, others


def _rows(case: WorldCase, node: str) -> Iterator[Violation]:
    """Those of neighbours are not counted: each of theirs has its package."""
    strangers, others = _came(case, node)
    rows = [row for row in case.rows_of[node] if row.record.event in _REFUSALS]
    hours = len(_starts(case, node)) + case.end_ns // HOUR_NS
    most = ROWS_PER_HOUR * hours + hours + ROWS_OF_NEIGHBOURS * others
    if len(rows) > most:
        text = f"{node}: {len(rows)} rows about {strangers} packages of strangers, {most} at most"
        yield Violation("R-45", text, rows[most].order)


def _posts(case: WorldCase, node: str) -> Iterator[Violation]:
    brought = _brought(case, node)
    errors: dict[tuple[str, str], list[Going]] = defaultdict(list)
    for said in case.signals:
        causes = brought.get(said.letter.ref, [])
        is_post = said.source == node and not said.packet.startswith("answer to ")
        if not is_post or said.letter.kind not in _POSTED or not _is_of_outsiders(case, causes):
            continue
        if said.letter.kind is LetterKind.ERROR:
            # Several partners may use one intermediary, and each has a ration.
            errors[said.target, causes[0].letter.from_party].append(said)
        if _is_certified(case, node, said.target) and not _is_proven(causes, said.target):
            text = f"{node}: {said.packet} tells {said.target} what somebody else had brought"
            yield Violation("R-45", text, said.order)
    for (target, _), sent in errors.items():
        late = _past_ration(sent, _starts(case, node))
        if late is not None:
            text = f"{node}: {len(sent)} posts to {target} about what was refused from outside"
            yield Violation("R-45", text, late.order)


def _brought(case: WorldCase, node: str) -> dict[str, list[Coming]]:
    """What came to the machine, by MessageId, signals and messages alike."""
    found: dict[str, list[Coming]] = defaultdict(list)
    taken = (one for course in case.courses.values() for one in course.taken)
    for one in (*case.heard, *taken):
        if one.target == node:
            found[one.letter.message_id].append(one)
    return found


def _is_of_outsiders(case: WorldCase, causes: list[Coming]) -> bool:
    """Whether none but outsiders brought what it is about."""
    return bool(causes) and all(one.source in case.outside.sources for one in causes)


def _is_certified(case: WorldCase, node: str, target: str) -> bool:
    """Whether every line on which the two are neighbours demands a certificate."""
    beside = [line for line in case.plan.lines if are_neighbours(line, node, target)]
    return bool(beside) and all(line.is_certified for line in beside)


def _is_proven(causes: list[Coming], target: str) -> bool:
    return any(one.certificate == certificate(target) for one in causes)


def _starts(case: WorldCase, node: str) -> list[int]:
    """Where in the history the machine came up: a new hour begins, and no stranger causes it."""
    return [row.order for row in case.rows_of[node] if row.record.event is Event.STARTED]


def _past_ration(sent: list[Going], starts: list[int]) -> Going | None:
    """The first post that is one too many in its hour, which begins with the first one in it."""
    first, count = None, 0
    for one in sent:
        is_new = (
            first is None
            or one.at_ns - first.at_ns >= HOUR_NS - UNDERWAY_NS
            or any(first.order < start < one.order for start in starts)
        )
        first, count = (one, 1) if is_new else (first, count + 1)
        if count > POSTS_PER_HOUR:
            return one
    return None
