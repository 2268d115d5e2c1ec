"""Sender-Receiver pairs: whose turn it was, in which order, under which numbers.

I7 and I32 to I35 (numbers), I15 (turns), I16 (order), I27 and I28 (suspension). A turn begins with
the first transmission and ends with a row; a number is what stands on the wire.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from onceonly.journal.record import Record
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.instant import US_PER_S
from onceonly.message.message import SEQUENCE_NUMBER_MAX, DeliverySemantics
from onceonly.message.terms import DeliveryTerms, OnExhausted
from onceonly.simulation.cast import name_of, pair_of
from onceonly.simulation.checkers.arrival import says_no
from onceonly.simulation.checkers.case import WorldCase
from onceonly.simulation.checkers.course import Course, Parties
from onceonly.simulation.checkers.sender import is_expiry, release_ns
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row

ENDS_OF_TURNS = frozenset(
    {
        Event.ACK_RECEIVED,
        Event.LATE_ACK_RECEIVED,
        Event.FAILED,
        Event.EXPIRED,
        Event.CANCELLED,
        Event.SENT,
        Event.SETTLED,
    }
)

IDLE = "idle"
"""In the reason of a reset after a time without messages (I33)."""


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every pair at both of its ends."""
    for (node, parties, direction), rows in case.pair_rows.items():
        if direction is Direction.IN and name_of(parties[1]) == node:
            yield from _refused_numbers(case, node, rows)
            yield from _withheld_before(case, node, rows)
        if _have_lost_numbers(case, case.nodes_between(parties)):
            continue
        if direction is Direction.OUT:
            walk = _Turns(case, node, parties)
            for row in rows:
                yield from walk.take(row)
            yield from walk.mute()
        elif name_of(parties[1]) == node:
            yield from _numbers_received(case, parties, rows)
            yield from _order(case, node, parties, rows)


def _have_lost_numbers(case: WorldCase, nodes: list[str]) -> bool:
    """Whether the numbers of any of these machines were lost on purpose (fault C6, I35)."""
    return case.is_set_back(*nodes) or any(case.happened(node, "numbers-lost") for node in nodes)


def first_number(case: WorldCase, parties: Parties) -> int | None:
    """The number that stands before the first one of the pair."""
    for line in case.plan.lines:
        if line.begin_number is not None and set(parties) == set(pair_of(line)):
            return line.begin_number
    return None


def successor(number: int | None) -> int:
    """Seed 000 §2.2.2 a-c."""
    return 1 if number is None or number >= SEQUENCE_NUMBER_MAX else number + 1


def suspends(terms: DeliveryTerms) -> bool:
    """Whether a message that used up its retries keeps its turn (R-07)."""
    return (
        terms.on_exhausted is OnExhausted.SUSPEND
        and terms.semantics is DeliverySemantics.ONCE_AND_ONLY_ONCE
    )


def ends_turn(record: Record, terms: DeliveryTerms) -> bool:
    """Whether the message gives its turn back with this row."""
    if record.event in ENDS_OF_TURNS:
        return True
    if record.event is Event.EXHAUSTED:
        return is_expiry(record) or not suspends(terms)
    return says_no(record) and _refuses(record, terms)


def _refuses(record: Record, terms: DeliveryTerms) -> bool:
    """Whether the error is the last word about the message (`sending`, R-08)."""
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return False
    if record.error_code == ErrorCode.TRANSIENT_ERROR:
        return terms.semantics is DeliverySemantics.AT_MOST_ONCE
    if record.error_code == ErrorCode.INVALID_SEQUENCE_NUMBER and terms.numbers_messages:
        return False
    return record.severity == Severity.ERROR or record.error_code == ErrorCode.DELIVERY_FAILURE


@dataclass(slots=True)
class _Turns:
    """Along the rows of one sending pair."""

    case: WorldCase
    node: str
    parties: Parties
    turns: list[str] = field(default_factory=list)
    """MessageIds with a turn, the oldest first."""
    windows: dict[str, int] = field(default_factory=dict)
    """Window of the agreement of each."""
    numbers: dict[str, int] = field(default_factory=dict)
    last_number: int | None = None
    was_reset: bool = False
    has_ended: bool = False
    """A turn ended without an acknowledgement since the last number was given."""
    closed: Row | None = None
    owed: tuple[str, ...] = ()
    """Resumed, and one of these has to go first."""
    closures: list[tuple[Row, int]] = field(default_factory=list)
    """Suspensions, each with the place in the order at which it ended."""
    used: Row | None = None
    """The row with which a turn was last used."""
    alive: Row | None = None
    """An acknowledgement that came while the pair was closed, and has to open it."""

    def __post_init__(self) -> None:
        self.last_number = first_number(self.case, self.parties)

    def take(self, row: Row) -> Iterator[Violation]:
        """The next row."""
        event = row.record.event
        if event is Event.PAIR_RESUMED:
            yield from self._opened(row)
        else:
            yield from self._still_closed(row.at_ns)
        if event is Event.TRANSMITTING:
            yield from self._transmitting(row)
        elif event in (Event.PAIR_SUSPENDED, Event.PAIR_QUARANTINED):
            if self.closed is None:
                self.closed = row
        elif event is Event.PAIR_RESUMED:
            self._resumed(row)
        elif event is Event.SEQUENCE_RESET:
            yield from self._reset(row)
        elif row.record.message_id is not None:
            yield from self._sent_beside(row)
            self._note_word(row)
            self._ended(row)
        if event is Event.TRANSMITTING:
            self.used = row

    def _note_word(self, row: Row) -> None:
        is_word = row.record.event in (Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED)
        is_closed = self.closed is not None and not self.case.suspensions(self.node)
        if is_word and is_closed and row.record.message_id in self.turns:
            self.alive = row

    def _still_closed(self, at_ns: int) -> Iterator[Violation]:
        """I23: a partner's word opens, in the same commit, what its silence had closed."""
        alive = self.alive
        if alive is not None and at_ns != alive.at_ns:
            self.alive = None
            text = f"still closed, and {alive.record.message_id} was acknowledged"
            yield self._wrong("I23", text, alive.order)

    def _opened(self, row: Row) -> Iterator[Violation]:
        """I27: what an operator closed nobody else opens."""
        self.alive, closed = None, self.closed
        reasons = self.case.suspensions(self.node)
        is_by_operator = closed is not None and closed.record.reason in reasons
        if is_by_operator and row.record.reason == "acknowledged late":
            yield self._wrong(
                "I27", "an operator closed it, and not an operator opened it", row.order
            )

    def mute(self) -> Iterator[Violation]:
        """I27 on the wire: what leaves while the pair is closed was on its way before.

        Responses are sent again on request, beside the pair (R-21).
        """
        yield from self._still_closed(self.case.end_ns + 1)
        if self.closed is not None:
            self.closures.append((self.closed, self.case.end_order))
        slack_ns = release_ns(self.case, self.node)
        for course in self._courses() if self.closures else ():
            for copy in course.sent:
                for closed, opened in self.closures:
                    is_late = copy.at_ns > closed.at_ns + slack_ns
                    if closed.order < copy.order < opened and is_late and not copy.letter.ref:
                        yield self._wrong("I27", f"{copy.packet} left it while closed", copy.order)

    def _courses(self) -> Iterator[Course]:
        for course in self.case.courses.values():
            if course.node == self.node and course.key[:2] == self.parties:
                yield course

    def _wrong(self, invariant: str, text: str, order: int) -> Violation:
        there, back = map(name_of, self.parties)
        return Violation(invariant, f"pair {there}>{back} at {self.node}: {text}", order)

    def _terms(self, row: Row) -> DeliveryTerms | None:
        return self.case.terms.get((self.node, row.record.agreement_id or ""))

    def _transmitting(self, row: Row) -> Iterator[Violation]:
        message_id, terms = row.record.message_id or "", self._terms(row)
        if terms is None:
            return
        if self.closed is not None:
            yield self._wrong("I27", f"{message_id} transmitted while closed", row.order)
        # With a wider window there is no order: a later message may get its good Pong first.
        if self.owed and message_id not in self.owed and terms.window == 1:
            text = f"resumed with {message_id}, and {self.owed[0]} was not completed"
            yield self._wrong("I28", text, row.order)
        self.owed = ()
        if message_id not in self.turns:
            window = self._window(terms)
            if len(self.turns) >= window:
                text = f"{message_id} beside {', '.join(self.turns)}, window {window}"
                yield self._wrong("I15", text, row.order)
            self.turns.append(message_id)
            self.windows[message_id] = terms.window
        if self._gives_numbers(terms):
            yield from self._number(row, message_id, row.record.sequence_number or 0)

    def _gives_numbers(self, terms: DeliveryTerms) -> bool:
        return terms.numbers_messages and name_of(self.parties[0]) == self.node

    def _sent_beside(self, row: Row) -> Iterator[Violation]:
        """A response may leave on request alone, and completes its number all the same (R-21)."""
        message_id, terms = row.record.message_id or "", self._terms(row)
        is_word = row.record.event in (Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED)
        if not is_word or message_id in self.numbers or terms is None:
            return
        course = self.case.at(self.node, (*self.parties, message_id))
        if self._gives_numbers(terms) and course is not None and course.sent:
            numbers = course.sent[0].letter.numbers or ("0",)
            yield from self._number(row, message_id, int(numbers[0]))

    def _window(self, terms: DeliveryTerms) -> int:
        """Most turns at once when this message got its own.

        One that pings first got it before, when those of wider agreements may not have been there.
        """
        if terms.recovery.ping_above_bytes is None:
            return terms.window
        return max(terms.window, *(self.windows[one] for one in self.turns), 0)

    def _number(self, row: Row, message_id: str, number: int) -> Iterator[Violation]:
        """I32, I33: the first transmission has the next number, and every other one the same."""
        known = self.numbers.get(message_id)
        if known is not None:
            if known != number:
                text = f"{message_id} as {number}, and before as {known}"
                yield self._wrong("I32", text, row.order)
            return
        expected = 1 if self.was_reset else successor(self.last_number)
        if number != expected:
            invariant = "I33" if number == 1 else "I32"
            text = f"{message_id} has number {number}, expected {expected}"
            yield self._wrong(invariant, text, row.order)
        yield from self._number_on_wire(row, message_id, number)
        self.numbers[message_id] = self.last_number = number
        self.was_reset = self.has_ended = False

    def _number_on_wire(self, row: Row, message_id: str, number: int) -> Iterator[Violation]:
        course = self.case.at(self.node, (*self.parties, message_id))
        for copy in course.sent[:1] if course is not None else ():
            text = copy.letter.numbers[0] if copy.letter.numbers else "none"
            if not (text.isascii() and text.isdecimal() and int(text) == number):
                yield self._wrong("I32", f"{message_id} says {text}, not {number}", row.order)

    def _resumed(self, row: Row) -> None:
        if self.closed is not None:
            self.closures.append((self.closed, row.order))
        self.closed = None
        self.owed = tuple(self.turns)

    def _reset(self, row: Row) -> Iterator[Violation]:
        if IDLE in (row.record.reason or ""):
            machine = self.case.machines[self.node]
            after_s = machine.forget_pair_after_s
            used_at = 0 if self.used is None else self.used.record.at
            is_idle = after_s is not None and used_at + after_s * US_PER_S < row.record.at
            is_one_clock = not self.case.has_jumped(self.node, 0, row.at_ns)
            if (is_one_clock and not is_idle) or self.turns:
                yield self._wrong("I33", "reset for idleness, and it was not idle", row.order)
        elif not self.has_ended:
            yield self._wrong("I33", "reset, and no number was abandoned", row.order)
        self.was_reset, self.has_ended = True, False

    def _ended(self, row: Row) -> None:
        record = row.record
        terms = self._terms(row)
        if terms is None or not ends_turn(record, terms):
            return
        message_id = record.message_id or ""
        self.owed = tuple(one for one in self.owed if one != message_id)
        if message_id in self.turns:
            self.turns.remove(message_id)
        if record.event not in (Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED):
            self.has_ended = True


def _numbers_received(case: WorldCase, parties: Parties, rows: list[Row]) -> Iterator[Violation]:
    """I7, I34, I35: what is stored was next, or the first of a new count; the rest is refused."""
    node = name_of(parties[1])
    last, takes_any, closed = first_number(case, parties), False, False
    for row in rows:
        record, event = row.record, row.record.event
        terms = case.terms.get((node, record.agreement_id or ""))
        if event is Event.PAIR_QUARANTINED:
            closed = True
        elif event is Event.PAIR_RESUMED:
            closed, takes_any = False, True
        elif event is Event.STORED and record.sequence_number is not None:
            number = record.sequence_number
            if terms is None or not terms.is_numbered or record.semantics == "BestEffort":
                continue
            if closed:
                yield _at("I35", row, f"{number} stored while the pair is quarantined")
            if number not in (1, successor(last)) and not takes_any:
                yield _at("I7", row, f"{number} stored after {last}")
            last, takes_any = number, False
        elif is_wrong_number(row) and record.sequence_number in (1, successor(last)):
            yield _at("I7", row, f"{record.sequence_number} refused after {last}")


def _refused_numbers(case: WorldCase, node: str, rows: list[Row]) -> Iterator[Violation]:
    """R-11, also where numbers were lost: when a pair is closed, and what its resume means."""
    if case.is_set_back(node):
        return
    refused: Row | None = None
    resumed: Row | None = None
    for row, after in zip_longest(rows, rows[1:]):
        event = row.record.event
        is_again = refused is not None and is_wrong_number(row)
        is_kept = refused is not None and not _lost_between(case, node, refused, row)
        is_closed = after is not None and after.record.event is Event.PAIR_QUARANTINED
        if is_again and is_kept and not is_closed:
            yield _at("R-11", row, "a number was wrong twice in a row, and the pair stayed open")
        elif is_closed and not is_again:
            yield _at("R-11", row, "quarantined, and no number was wrong twice in a row")
        if event is Event.PAIR_RESUMED:
            refused, resumed = None, row
        elif event is Event.STORED and row.record.sequence_number is not None:
            refused, resumed = None, None
        elif is_wrong_number(row):
            refused = row
            if resumed is not None and not _lost_between(case, node, resumed, row):
                yield _at("R-11", row, "refused for its number, and the pair had been resumed")


def _withheld_before(case: WorldCase, node: str, rows: list[Row]) -> Iterator[Violation]:
    """I16, R-12: before the next of its pair is handed over, a withheld message gets its chance.

    Its acknowledgement is sent once more; only if that cannot leave, the message stays withheld.
    """
    if case.is_set_back(node):
        return
    stored: dict[str, int] = {}
    acked: dict[str, int] = {}
    withheld: set[str] = set()
    for row in rows:
        message_id, event = row.record.message_id or "", row.record.event
        if event is Event.STORED:
            stored.setdefault(message_id, row.order)
        elif event is Event.ACK_SENT:
            acked[message_id] = row.order
        elif event is Event.WITHHELD:
            withheld.add(message_id)
        elif event in (Event.CANCEL_CONFIRMED, Event.HANDED_OVER):
            withheld.discard(message_id)
            since = stored.get(message_id, row.order)
            earlier = sorted((stored.get(one, since), one) for one in withheld)
            is_over = event is Event.HANDED_OVER and message_id in acked
            if not is_over or not earlier or earlier[0][0] >= since or not _is_strict(case, row):
                continue
            first = earlier[0][1]
            if acked.get(first, since) < since and not case.has_forgotten(node, row.order):
                yield _at("I16", row, f"handed over, and {first} before it was left withheld")


def _is_strict(case: WorldCase, row: Row) -> bool:
    terms = case.terms.get((row.node, row.record.agreement_id or ""))
    return terms is not None and terms.strict_release


def _lost_between(case: WorldCase, node: str, first: Row, last: Row) -> bool:
    lost = case.happened(node, "numbers-lost")
    return any(first.order < one.order < last.order for one in lost)


def is_wrong_number(row: Row) -> bool:
    """Whether a message was refused for its SequenceNumber."""
    is_about_number = row.record.error_code == ErrorCode.INVALID_SEQUENCE_NUMBER
    return row.record.event is Event.REJECTED and is_about_number


def _at(invariant: str, row: Row, text: str) -> Violation:
    return Violation(invariant, f"{row.record.message_id} at {row.node}: {text}", row.order)


def _order(case: WorldCase, node: str, parties: Parties, rows: list[Row]) -> Iterator[Violation]:
    """I16: numbered messages reach the inbox as they were stored, and are stored as submitted.

    A message that gave its turn back without an acknowledgement may come after its successors: a
    copy of it was still under way, and nobody waits for that (R-08, R-10). They also do not wait
    for a withheld message that has had its chance (`_withheld_before`).
    """
    stored: dict[str, int] = {}
    handed: list[str] = []
    overtaken: dict[str, int] = {}
    for row in rows:
        message_id, record = row.record.message_id or "", row.record
        terms = case.terms.get((node, record.agreement_id or ""))
        if terms is None or not terms.numbers_messages:
            continue
        if record.event is Event.STORED:
            stored.setdefault(message_id, len(stored))
        elif record.event is Event.WITHHELD:
            overtaken.setdefault(message_id, len(handed))
        elif record.event is Event.HANDED_OVER and message_id in stored:
            before = handed[: overtaken.get(message_id)]
            if any(stored[one] > stored[message_id] for one in before):
                yield _at("I16", row, "handed over after a message that was stored later")
            handed.append(message_id)
    sender = name_of(parties[0])
    yield from _submitted_order(case, sender, parties, list(stored))


def _submitted_order(
    case: WorldCase, sender: str, parties: Parties, stored: list[str]
) -> Iterator[Violation]:
    submitted: dict[str, int] = {}
    for row in case.pair_rows.get((sender, parties, Direction.OUT), ()):
        if row.record.event is Event.SUBMITTED:
            submitted.setdefault(row.record.message_id or "", row.order)
    newest = -1
    newest_id = ""
    for message_id in stored:
        order = submitted.get(message_id, newest)
        if order < newest and not _was_let_go(case, sender, parties, message_id, newest_id):
            text = f"{message_id} at {sender}: stored after {newest_id}, submitted before it"
            yield Violation("I16", text, order)
        if order > newest:
            newest, newest_id = order, message_id


def _was_let_go(
    case: WorldCase, sender: str, parties: Parties, message_id: str, later_id: str
) -> bool:
    """Whether the message had given its turn back before the later one was first transmitted."""
    course = case.at(sender, (*parties, message_id))
    later = case.at(sender, (*parties, later_id))
    terms = None if course is None else case.terms_out(course)
    begun = None if later is None else later.first_out(Event.TRANSMITTING)
    if course is None or terms is None or begun is None:
        return False
    return any(ends_turn(row.record, terms) and row.order < begun.order for row in course.out)
