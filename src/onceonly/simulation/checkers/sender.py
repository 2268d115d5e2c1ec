"""One message at the machine that sends it: budget, waits, verdicts and notices.

I14, I17 to I20, I22 to I24, I26 (the sender's half), I29, I30; R-05 to R-09, R-15 to R-17. The
walk goes along the durable rows of the message, and compares them with what left and came.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from onceonly.journal.record import Record
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S, US_PER_S
from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.events import CANNOT_BE_ASKED, Outcome, Settlement
from onceonly.simulation.checkers import arrival
from onceonly.simulation.checkers.arrival import ACKNOWLEDGED, is_doubt, says_no, shows_arrival
from onceonly.simulation.checkers.case import NEVER, WorldCase
from onceonly.simulation.checkers.course import Coming, Course, Going
from onceonly.simulation.checkers.letter import LetterKind
from onceonly.simulation.checkers.violation import Violation
from onceonly.simulation.history import Row
from onceonly.simulation.network import Fate
from onceonly.simulation.timeline import NS_PER_MS

SLACK_NS = 2 * NS_PER_S
"""From a commit until everything that it releases has left."""

SLOW_CALLS = 3
"""Calls in threads, each as slow as the machine's disk, between the two."""

LATE_ROW_NS = 15 * NS_PER_S
"""Longest time until the row of an event is durable, on the slowest disk, in a queue."""

NOT_DELIVERED = frozenset({Event.FAILED, Event.EXPIRED, Event.CANCELLED})
"""Final words to the application (I26)."""

VERDICTS = NOT_DELIVERED | {
    *(Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED, Event.SENT),
    Event.SETTLED,
}

_TAKEN = (
    *ACKNOWLEDGED,
    Event.REPEATED_ACK_RECEIVED,
    Event.ORPHAN_ACK_RECEIVED,
    Event.RECEIPT_RECEIVED,
)
"""Rows that an acknowledgement leaves."""

_GOOD_PONGS = frozenset({"takes messages", CANNOT_BE_ASKED})

LEFT_FATES = frozenset({Fate.LOST, Fate.BUSY, Fate.GONE})
"""Some byte of the package left, though perhaps nothing arrived."""


def release_ns(case: WorldCase, node: str) -> int:
    """Longest at this machine from a commit until what it releases has left."""
    return SLACK_NS + int(SLOW_CALLS * case.machines[node].thread_ms) * NS_PER_MS


def judge(case: WorldCase) -> Iterator[Violation]:
    """Every message at every machine that sends it."""
    for course, terms in case.sending():
        if not case.is_set_back(course.node):
            walk = _Walk(case, course, terms, is_fixed=not case.is_reconfigured(course))
            for row in course.out:
                yield from walk.take(row)
            yield from walk.end()


def retries_of(terms: DeliveryTerms) -> int | None:
    """Most repeats that nobody asked for; None: no bound (R-16, R-17)."""
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return None
    if terms.semantics in (DeliverySemantics.AT_MOST_ONCE, DeliverySemantics.BEST_EFFORT):
        return 0
    return terms.retries


def notifies(course: Course, terms: DeliveryTerms) -> bool:
    """Whether an application here is told of failures (S0 §3.1.3, R-17; a route has none)."""
    silent = (DeliverySemantics.BEST_EFFORT, DeliverySemantics.EXACTLY_ONCE)
    return course.is_origin and terms.semantics not in silent


def is_expiry(record: Record) -> bool:
    """Whether the row ends the message because its time passed."""
    return " passed " in (record.reason or "")


def is_fence(record: Record) -> bool:
    """Whether the row ends the message where no copy of it is taken any more (R-08)."""
    return "twice the clock accuracy" in (record.reason or "")


def surely_left(leaving: Going, case: WorldCase) -> bool:
    """Whether a byte of the package certainly left, as the sender could know (R-08)."""
    return leaving.fate in LEFT_FATES or leaving.packet in case.arrived_packets


@dataclass(slots=True)
class _Walk:
    """Along the rows of one outbound message."""

    case: WorldCase
    course: Course
    terms: DeliveryTerms
    attempt: int = 0
    is_fixed: bool = True
    """The terms stayed as they are; else budgets and waits cannot be counted (fault C9)."""
    transmissions: int = 0
    """Since the last reset."""
    all_transmissions: int = 0
    transients: int = 0
    """Pauses that TransientErrors asked for since the last counted transmission."""
    is_fresh: bool = True
    """The next transmission begins a new budget."""
    begun: Row | None = None
    """The first Transmitting since the last reset."""
    last: Row | None = None
    """The last Transmitting."""
    ended: Row | None = None
    """The last Transmitted of the last Transmitting."""
    paused: Row | None = None
    """The last TransientError since the last Transmitting."""
    told: Row | None = None
    """The failure notice of this episode."""
    told_last: Row | None = None
    """The last failure notice, of this episode or an earlier one."""
    owed: Row | None = None
    """Given up, or not delivered after all, and no notice yet."""
    late: Row | None = None
    """A late acknowledgement of which the application must be told."""
    final: Row | None = None
    """The last word about it, while it stands."""
    error: Row | None = None
    """The last word of a partner against it."""
    undone: Row | None = None
    """The last row in which an acknowledgement was taken back: not delivered, or cancelled."""
    word: Row | None = None
    """A person's word of which the application must be told."""
    has_arrived: bool = False
    """The To Party itself said that it has it, and no doubt of others undoes that."""

    def take(self, row: Row) -> Iterable[Violation]:
        """The next row."""
        if self._is_told_of_before(row):
            self.told = None
        step = _STEPS.get(row.record.event)
        return () if step is None else step(self, row)

    def _is_told_of_before(self, row: Row) -> bool:
        """Whether the notice was of an episode that a resume of the pair ended (I22)."""
        told = self.told
        return told is not None and self.case.was_resumed(self.course, told.order, row.order)

    def end(self) -> Iterator[Violation]:
        """Nothing more comes."""
        if self.owed is not None:
            text = "given up or taken back, and the application was never told"
            yield self._wrong("I22", text, self.owed)
        if self.late is not None:
            yield self._wrong("I23", "acknowledged late, and nobody was told", self.late)
        if self.word is not None:
            yield self._wrong("R-49", "settled, and the application was never told", self.word)
        if self.terms.is_acknowledged:
            yield from self._unheard()

    def _unheard(self) -> Iterator[Violation]:
        """R-09: an acknowledgement that came leaves a row, whenever it came."""
        if any(row.record.event in _TAKEN for row in self.course.out):
            return
        node, case = self.course.node, self.case
        for one in self.course.heard:
            is_ack = one.letter.kind is LetterKind.ACK and not one.is_damaged
            is_steady = not case.deaths_between(node, one.order, NEVER)
            is_over = one.at_ns < case.end_ns - LATE_ROW_NS
            is_hindered = case.is_full(node, one.at_ns) or case.happened(node, "frozen")
            is_due = is_ack and is_steady and is_over and not is_hindered
            if is_due and not self._is_orphan(one) and not case.answers_a_repeat(one):
                text = f"{self.course}: an acknowledgement came and left no row ({one.packet})"
                yield Violation("R-09", text, one.order)
                return

    def _is_orphan(self, ack: Coming) -> bool:
        """R-20: counted as of no message, since a purge had forgotten it by then (R-19)."""
        case, node = self.case, self.course.node
        return any(
            row.record.event is Event.ORPHAN_ACK_RECEIVED
            and row.record.message_id == self.course.key[2]
            and row.order > ack.order
            and case.has_forgotten(node, row.order)
            for row in case.own_rows[node]
        )

    def _wrong(self, invariant: str, text: str, row: Row) -> Violation:
        return Violation(invariant, f"{self.course}: {text}", row.order)

    # Transmissions: I18, I19, I27 are about when and how often.

    def take_transmitting(self, row: Row) -> Iterator[Violation]:
        attempt = row.record.attempt or 0
        if self.owed is not None:
            yield self._wrong("I22", f"transmission {attempt} before the notice owed", row)
        if self.final is not None:
            yield self._wrong("I20", f"transmission {attempt} after {self._final_word()}", row)
        if self.is_fresh or self._was_resumed(row):
            yield from self._begin(row, attempt)
        else:
            yield from self._repeat(row, attempt)
        limit = retries_of(self.terms)
        if limit is not None and attempt > 1 + limit and self.is_fixed:
            yield self._wrong("I18", f"transmission {attempt} of at most {1 + limit}", row)
        self.transmissions += 1
        self.all_transmissions += 1
        self.attempt, self.last, self.ended, self.paused = attempt, row, None, None

    def _asks_on(self, attempt: int) -> bool:
        """Whether this is one pause more than the agreement has."""
        is_again = attempt == self.attempt and self.paused is not None
        return is_again and self.transients > self.terms.transient_retries

    def _was_resumed(self, row: Row) -> bool:
        last = self.last
        return last is not None and self.case.was_resumed(self.course, last.order, row.order)

    def _begin(self, row: Row, attempt: int) -> Iterator[Violation]:
        if attempt != 1:
            yield self._wrong("I28", f"began anew with transmission {attempt}", row)
        if self.is_fixed and not self._is_welcome(row):
            yield self._wrong("R-21", "sent, and its partner had not said that it takes it", row)
        self.is_fresh, self.told, self.begun = False, None, row
        self.transmissions = self.transients = 0

    def _is_welcome(self, row: Row) -> bool:
        """Seed 004 level 2: a large message leaves only after a good Pong to a Ping of its own."""
        above = self.terms.recovery.ping_above_bytes
        submitted = self.course.first_out(Event.SUBMITTED)
        if above is None or submitted is None or (submitted.record.size_bytes or 0) <= above:
            return True
        since = 0 if self.last is None else self.last.order
        pongs = [
            one
            for one in self.course.out
            if one.record.event is Event.PONG_RECEIVED and since < one.order < row.order
        ]
        return bool(pongs) and pongs[-1].record.reason in _GOOD_PONGS

    def _repeat(self, row: Row, attempt: int) -> Iterator[Violation]:
        assert self.last is not None, "what is repeated was there"
        if self._asks_on(attempt):
            text = f"still asked after {self.transients} pauses of {self.terms.transient_retries}"
            if self.terms.semantics is not DeliverySemantics.EXACTLY_ONCE:
                yield self._wrong("R-15", text, row)
            elif self.is_fixed and not self.case.has_incident(self.course):
                yield self._wrong("R-17", f"{text}, and no operator was told", row)
        is_restart = self._is_restart(row)
        if attempt == self.attempt + 1:
            if self.paused is not None and self.is_fixed:
                yield self._wrong("R-15", f"a pause is counted as transmission {attempt}", row)
            self.transients = 0
        elif attempt != self.attempt:
            yield self._wrong("I18", f"transmission {attempt} follows {self.attempt}", row)
        elif not (is_restart or self.paused or self._is_by_product()):
            yield self._wrong("I18", f"transmission {attempt} twice without a cause", row)
        if not is_restart and self.is_fixed:
            yield from self._early(row, attempt)

    def _is_restart(self, row: Row) -> bool:
        """Whether another process wrote the row than the last transmission's.

        By its epoch: a commit that an I/O error broke may be found durable at the next start.
        """
        last = self.last
        return last is not None and row.record.store_epoch != last.record.store_epoch

    def _is_by_product(self) -> bool:
        return self.terms.method is ReliableMessagingMethod.TRANSPORT

    def _early(self, row: Row, attempt: int) -> Iterator[Violation]:
        """I19 on the machine's monotonic clock; R-06: from the end of the transmission."""
        wait_s, since = self._wait(attempt)
        if since is None:
            yield self._wrong("I19", f"transmission {attempt} before the last one ended", row)
            return
        waited_ns = row.record.monotonic_ns - since.record.monotonic_ns
        if waited_ns < wait_s * NS_PER_S:
            text = f"transmission {attempt} after {waited_ns / NS_PER_S:.3f} s of {wait_s} s"
            yield self._wrong("I19", text, row)

    def _wait(self, attempt: int) -> tuple[int, Row | None]:
        """How long to wait before this transmission, and since when."""
        if self.paused is not None:
            asked_s = self.case.min_retry_s(self.course, self.paused.order)
            return self.terms.retry_interval_s if asked_s is None else asked_s, self.paused
        if self._is_by_product():
            return self.terms.retry_interval_s, self.ended
        return (self.terms.timeout_s if attempt <= 2 else self.terms.retry_interval_s), self.ended

    def take_transmitted(self, row: Row) -> Iterator[Violation]:
        if self.last is not None and row.record.attempt == self.last.record.attempt:
            yield from self._predated(self.last, row)
            self.ended = row

    def _predated(self, begun: Row, ended: Row) -> Iterator[Violation]:
        """I19: the wait counts from the end of the transmission, as the world saw it."""
        since_ns = ended.at_ns - begun.at_ns
        told_ns = ended.record.monotonic_ns - begun.record.monotonic_ns
        is_slow = self.case.happened(self.course.node, "frozen") or self.case.deaths_between(
            self.course.node, begun.order, ended.order
        )
        if since_ns - told_ns > LATE_ROW_NS and not is_slow:
            text = f"its end is noted {(since_ns - told_ns) / NS_PER_S:.0f} s before it was"
            yield self._wrong("I19", text, ended)

    def take_error(self, row: Row) -> Iterator[Violation]:
        is_fault = row.record.event is Event.FAULT_RECEIVED  # In the answer: it needs no ref.
        if not says_no(row.record):
            return
        if not is_fault and not self._was_told_an_error(row):
            yield self._wrong("I29", "an error is noted, and the partner never said one", row)
        is_pause = row.record.error_code == ErrorCode.TRANSIENT_ERROR
        if is_pause:
            self.transients += self.paused is None
            self.paused = row
        if not is_pause or self.terms.semantics is DeliverySemantics.AT_MOST_ONCE:
            self.error = row
        is_notice = arrival.tells_of_failure(row, self.final, self.terms)
        if is_notice and not (self.has_arrived and is_doubt(row.record)):
            self.undone = row
            if self._is_taken_back(row):
                self.owed = row

    def _is_taken_back(self, row: Row) -> bool:
        """Whether the application believes that it is over, and has to hear that it is not.

        Not of an intermediary's doubt after the response, of which no row tells.
        """
        responses = (one for one in self.course.heard if one.letter.kind is LetterKind.MESSAGE)
        if is_doubt(row.record) and any(one.order < row.order for one in responses):
            return False
        final, told = self.final, self.told_last
        is_over = final is not None and final.record.event in (*ACKNOWLEDGED, Event.SENT)
        is_news = final is None or told is None or told.order < final.order
        return is_over and is_news and notifies(self.course, self.terms)

    def _was_told_an_error(self, row: Row) -> bool:
        heard = (one for one in self.course.heard if one.order < row.order)
        return any(one.letter.kind is LetterKind.ERROR for one in heard)

    def take_receipt(self, row: Row) -> Iterable[Violation]:
        """What never left cannot have arrived; what was only sent waits for no word."""
        del row
        may_change = (*ACKNOWLEDGED, Event.SETTLED)
        is_open = self.final is None or self.final.record.event in may_change
        if self.all_transmissions and is_open:
            self.has_arrived = True
        return ()

    def take_reported(self, row: Row) -> Iterable[Violation]:
        if (row.record.reason or "").startswith("cancel confirmed"):
            self.error = self.undone = row
        return ()

    def take_requeued(self, row: Row) -> Iterable[Violation]:
        if self._is_settled():
            yield self._wrong("R-49", "waits for its turn again, and a word had ended it", row)
        self.is_fresh, self.told, self.final = True, None, None

    def take_settled(self, row: Row) -> Iterable[Violation]:
        """R-49: a person's word ends a doubt, and nothing else."""
        if self.final is not None and not self._is_overtaken():
            yield self._wrong("R-49", f"settled after {self._final_word()}", row)
        if notifies(self.course, self.terms):
            self.word = row
            if not self._is_told():
                yield self._wrong("R-49", "settled, and its application knew of no doubt", row)
        if not self.course.sent:
            yield self._wrong("R-49", "settled, and no copy of it had left", row)
        self.final = row

    def _is_settled(self) -> bool:
        """Whether the last word about it is a person's."""
        return self.final is not None and self.final.record.event is Event.SETTLED

    def _is_denied(self) -> bool:
        """Whether the partner has said since that it has not what was called delivered."""
        final, error = self.final, self.error
        if final is None or final.record.outcome != Settlement.DELIVERED:
            return False
        return error is not None and error.order > final.order

    # The end: I18's lower bound, I20, I22 to I24.

    def take_exhausted(self, row: Row) -> Iterator[Violation]:
        record = row.record
        if self.final is not None:
            yield self._wrong("I20", f"given up after {self._final_word()}", row)
        if self.terms.semantics is DeliverySemantics.EXACTLY_ONCE:
            yield self._wrong("R-17", "an ExactlyOnce message was given up", row)
        if notifies(self.course, self.terms) and self.told is None:
            self.owed = row
        if not self.is_fixed:
            return
        if is_expiry(record):
            yield from self._expired_early(row)
        elif record.error_code == ErrorCode.TRANSIENT_ERROR:
            if self.transients <= self.terms.transient_retries:
                yield self._wrong("R-15", f"given up after {self.transients} pauses", row)
        elif not self._gives_up_at_once(row):
            yield from self._exhausted_early(row)

    def _gives_up_at_once(self, row: Row) -> bool:
        """Seed 003 §1 and AtMostOnce: the network took nothing; level 2: the Pings are used up."""
        is_pinged = self.terms.recovery.ping_above_bytes is not None
        if is_pinged and "takes messages" in (row.record.reason or ""):
            return True
        fails = (
            self.terms.fails_on_network_error
            or self.terms.semantics is DeliverySemantics.AT_MOST_ONCE
        )
        ended = self.ended
        return fails and ended is not None and ended.record.outcome == Outcome.REFUSED

    def _exhausted_early(self, row: Row) -> Iterator[Violation]:
        limit = retries_of(self.terms)
        if limit is None:
            yield self._wrong("I18", "given up where there is no bound", row)
            return
        first = 0 if self.begun is None else self.begun.order
        left = sum(first < copy.order < row.order for copy in self.course.sent)
        if self.attempt < 1 + limit or min(self.transmissions, left) < 1 + limit:
            text = f"given up after {left} of {1 + limit} transmissions"
            yield self._wrong("I18", text, row)
        last = self.last
        if last is None or self._is_restart(row):
            return
        yield from self._early(row, self.attempt + 1)

    def _expired_early(self, row: Row) -> Iterator[Violation]:
        made_at = self.case.made_at(self.course)
        if made_at is not None and row.record.at <= made_at + self._lives_s() * US_PER_S:
            yield self._wrong("I21", "its time had not passed yet", row)

    def _lives_s(self) -> int:
        """How long it may be sent: TimeToLive or PersistDuration, whichever ends first."""
        lives_s = self.terms.persist_duration_s
        return (
            lives_s
            if self.terms.time_to_live_s is None
            else min(lives_s, self.terms.time_to_live_s)
        )

    def take_notified(self, row: Row) -> Iterator[Violation]:
        if row.record.reason == NoticeKind.ACKNOWLEDGED_LATE:
            if self.late is None:
                yield self._wrong("I23", "told of a late acknowledgement that was none", row)
            self.late = None
            return
        if row.record.reason == NoticeKind.SETTLED_BY_OPERATOR:
            if self.word is None:
                yield self._wrong("R-49", "told of a word that nobody gave", row)
            self.word = None
            return
        if self._is_settled():
            if not self._is_denied():
                yield self._wrong("R-49", "told of a failure after a person's word", row)
            self.final = None
        if self.told is not None and self.error is None:
            yield self._wrong("I22", "told twice of one failure", row)
        acknowledged = self.final is not None and self.final.record.event in ACKNOWLEDGED
        if acknowledged and not self._is_overtaken():
            yield self._wrong("I23", "told of a failure after the acknowledgement", row)
        yield from self._severity(row)
        self.owed, self.told, self.told_last = None, row, row

    def _is_overtaken(self) -> bool:
        """Whether the partner took its own word back (R-08, R-13): a notice, a cancel.

        What was only sent is refused by any word.
        """
        final = self.final
        if final is None:
            return False
        word = self.error if final.record.event is Event.SENT else self.undone
        return word is not None and word.order > final.order

    def _severity(self, row: Row) -> Iterator[Violation]:
        """I24. A refusal of the only copy is certain as well (R-08)."""
        if row.record.severity == Severity.WARNING:
            # A response leaves in the answer to its request as well (seed 001 §1.3.3.1).
            has_left = any(one.order < row.order for one in self.course.sent)
            if not self.all_transmissions and not has_left:
                yield self._wrong("I24", "a Warning, and nothing was ever transmitted", row)
            return
        left = [
            one for one in self.course.sent if one.order < row.order and surely_left(one, self.case)
        ]
        if self.error is not None:
            record = self.error.record
            is_word = record.error_code == ErrorCode.DELIVERY_FAILURE
            if is_word or len(left) <= 1:
                return
        if left:
            yield self._wrong("I24", f"an Error, and {len(left)} copies had left", row)

    def take_acknowledged(self, row: Row) -> Iterator[Violation]:
        final = self.final
        is_late = row.record.event is Event.LATE_ACK_RECEIVED
        if notifies(self.course, self.terms):
            if self.told is not None and not is_late:
                yield self._wrong("I23", "acknowledged silently after a failure notice", row)
            if is_late:
                self.late = row
            if (
                is_late
                and self.told_last is None
                and (final is None or final.record.event in ACKNOWLEDGED)
            ):
                yield self._wrong("I23", "late, and the application knew of no failure", row)
        yield from self._unfounded(row)
        if final is not None and final.record.event in NOT_DELIVERED:
            if not is_late:
                yield self._wrong("I20", f"acknowledged after {self._final_word()}", row)
            return
        self.final, self.owed, self.told = row, None, None
        self.has_arrived = self.has_arrived or shows_arrival(row.record)

    def _unfounded(self, row: Row) -> Iterator[Violation]:
        """I13, I29, I30: some hop that has it said so, in a package that came here."""
        if not any(one.order < row.order for one in self.course.heard):
            yield self._wrong("I30", "acknowledged, and no word of it ever came", row)
        if not self.case.is_held(self.course, row.order):
            yield self._wrong("I13", "acknowledged, and nobody had stored it", row)

    def take_ended(self, row: Row) -> Iterator[Violation]:
        event, final = row.record.event, self.final
        if final is not None:
            was_open = final.record.event in (*ACKNOWLEDGED, Event.SENT, Event.SETTLED)
            is_doubted = self._is_overtaken() or self._is_denied()
            if not was_open or not (is_doubted or event is Event.SENT):
                yield self._wrong("I20", f"{event} after {self._final_word()}", row)
        needs_notice = event in (Event.FAILED, Event.EXPIRED)
        if needs_notice and notifies(self.course, self.terms) and not self._is_told():
            yield self._wrong("I20", f"{event} without a notice before it", row)
        if self.terms.semantics is DeliverySemantics.EXACTLY_ONCE and needs_notice:
            yield self._wrong("R-17", f"an ExactlyOnce message {event}", row)
        if event is Event.SENT and self.terms.is_acknowledged:
            yield self._wrong("I30", "ended by its transport alone", row)
        if needs_notice and self.terms.semantics is not DeliverySemantics.BEST_EFFORT:
            yield from self._unfenced(row)
        self.final = row

    def _is_told(self) -> bool:
        """Whether the application heard of a failure after the last transmission."""
        told, last = self.told_last, self.last
        return told is not None and (last is None or last.order < told.order)

    def _unfenced(self, row: Row) -> Iterator[Violation]:
        """I25, I26, R-08: failed for good where nobody has it and nobody can take it any more."""
        left = [
            one for one in self.course.sent if one.order < row.order and surely_left(one, self.case)
        ]
        if not left:
            return
        if row.record.event is Event.EXPIRED:
            yield self._wrong("I26", f"expired unsent, and {len(left)} copies had left", row)
            return
        if self.error is not None:
            is_word = self.error.record.error_code == ErrorCode.DELIVERY_FAILURE
            if is_word or len(left) <= 1:
                return
        made_at = self.case.made_at(self.course)
        if made_at is None:
            return
        fence_s = self._lives_s() + 2 * self.terms.msh_time_accuracy_s
        if row.record.at <= made_at + fence_s * US_PER_S:
            broken = "I26" if self.error is None else "I25"
            yield self._wrong(broken, f"failed for good, and {len(left)} copies had left", row)

    def _final_word(self) -> str:
        return "nothing" if self.final is None else str(self.final.record.event)


_STEPS: dict[Event, Callable[[_Walk, Row], Iterable[Violation]]] = {
    Event.TRANSMITTING: _Walk.take_transmitting,
    Event.TRANSMITTED: _Walk.take_transmitted,
    **dict.fromkeys((Event.ERROR_RECEIVED, Event.FAULT_RECEIVED), _Walk.take_error),
    Event.RECEIPT_RECEIVED: _Walk.take_receipt,
    Event.REPORT_RECEIVED: _Walk.take_reported,
    Event.REQUEUED: _Walk.take_requeued,
    Event.EXHAUSTED: _Walk.take_exhausted,
    Event.NOTIFIED: _Walk.take_notified,
    Event.SETTLED: _Walk.take_settled,
    **dict.fromkeys(ACKNOWLEDGED, _Walk.take_acknowledged),
    **dict.fromkeys((*NOT_DELIVERED, Event.SENT), _Walk.take_ended),
}
