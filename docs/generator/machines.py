"""What the state machines really do: every row of their tables, found by running it.

The tables of `protocol.sending` and `protocol.pairing` say which events are legal in which state;
where they lead is up to the transition. So the machines are run from the start, with every event
and every kind of circumstance, until no new state appears. The pages and figures show what was
seen, not what somebody remembered.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple

from onceonly.message.errors import ErrorCode, LocalError, Severity
from onceonly.message.instant import NS_PER_S, US_PER_S, Now
from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.signals import MessageStatus, ReportedProcessing
from onceonly.message.terms import DeliveryTerms, OnExhausted, RecoveryTerms, Remedy
from onceonly.message.word import changed
from onceonly.protocol import events, pairing, recovering, relaying, schedule, sending
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import Outcome, Transmission
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.recovering import Recovery, RecoveryPhase, ResponseStatus
from onceonly.protocol.relaying import Transit, TransitStatus
from onceonly.protocol.sending import Outbound, OutboundStatus

TTL_S = 1_000
ACCURACY_S = 10
_DUE_NS = 1
"""The only deadline here: decisions ask whether it is the one that came, never when it is."""
BEFORE, EXPIRED, BEHIND_FENCE = (
    Now(at=seconds * US_PER_S, monotonic_ns=NS_PER_S) for seconds in (1, TTL_S + 1, 2 * TTL_S)
)


_TRANSMISSIONS = (
    Transmission(Outcome.ACCEPTED, bytes_left=True),
    Transmission(Outcome.UNKNOWN, bytes_left=True),
    Transmission(Outcome.REFUSED, bytes_left=False),
)


@dataclass
class Seen:
    """What one row of a table was seen to do."""

    becomes: set[str] = field(default_factory=set)
    rows: set[str] = field(default_factory=set)
    effects: set[str] = field(default_factory=set)
    refusals: set[str] = field(default_factory=set)


class Row(NamedTuple):
    """One row of a table: the event in the state, the transition, and what it was seen to do."""

    status: str
    event: type
    transition: Callable[..., Any]
    seen: Seen


Steps = Iterable[tuple[Any, Callable[[], tuple[Any, tuple[Any, ...]]]]]


@cache
def sending_rows() -> list[Row]:
    """Every row of the outbound message's table."""
    seen: dict[tuple[Any, type], Seen] = {}
    for terms in _agreements():
        start = Outbound(expires_at=schedule.expires_at(0, terms))
        _explore(start, partial(_sending_steps, terms=terms), _alike, seen)
    return _rows(sending.TABLE, seen)


def _agreements() -> Iterator[DeliveryTerms]:
    """One for every degree and every rule that leads a message another way."""
    usual = DeliveryTerms(
        retries=1,
        transient_retries=1,
        time_to_live_s=TTL_S,
        msh_time_accuracy_s=ACCURACY_S,
        recovery=RecoveryTerms(inquires=True),
    )
    unnumbered = changed(usual, is_numbered=False, on_exhausted=OnExhausted.FAIL)
    yield usual
    yield changed(usual, on_exhausted=OnExhausted.FAIL)
    yield unnumbered
    yield changed(unnumbered, method=ReliableMessagingMethod.TRANSPORT)
    yield changed(unnumbered, fails_on_network_error=True)
    yield changed(usual, recovery=RecoveryTerms(ping_above_bytes=0))
    for semantics in DeliverySemantics:
        yield changed(unnumbered, semantics=semantics, persist_duration_s=60)


@cache
def pair_rows() -> list[Row]:
    """Every row of the sending pair's table."""
    seen: dict[tuple[Any, type], Seen] = {}
    _explore(SendingPair(), _pair_steps, lambda pair: pair, seen)
    return _rows(pairing.TABLE, seen)


@cache
def recovery_rows() -> list[Row]:
    """Every row of the recovery's table."""
    seen: dict[tuple[Any, type], Seen] = {}
    for terms in _rules():
        for response in ResponseStatus:
            steps = partial(_recovery_steps, terms=terms)
            _explore(Recovery(response=response), steps, _alike_in_recovery, seen)
    return _rows(recovering.TABLE, seen)


@cache
def transit_rows() -> list[Row]:
    """Every row of the table of a message in transit."""
    seen: dict[tuple[Any, type], Seen] = {}
    _explore(Transit(), _transit_steps, lambda at: changed(at, copies=min(at.copies, 2)), seen)
    return _rows(relaying.TABLE, seen)


def _transit_steps(state: Transit) -> Iterator[tuple[Any, Any]]:
    for event in _transit_events():
        yield event, partial(relaying.step, state, event, DeliveryTerms())


def _transit_events() -> list[Any]:
    endings = itertools.product(Outcome, (True, False))
    codes = (ErrorCode.TRANSIENT_ERROR, ErrorCode.VALUE_NOT_RECOGNIZED)
    return [
        *(relaying.Arrived(is_answered=flag) for flag in (True, False)),
        *(relaying.ForwardEnded(1, Transmission(*ending)) for ending in endings),
        *(events.ErrorReceived(code, Severity.ERROR) for code in codes),
        events.AckReceived(),
        events.Restarted(),
        relaying.ForwardParked(1, "a bug"),
        relaying.TakenUp("an operator has looked"),
    ]


def _rules() -> Iterator[DeliveryTerms]:
    """Recovery under every remedy."""
    for pings in (False, True):
        for remedy in (Remedy.RESEND, Remedy.NEW_VERSION, Remedy.CANCEL, Remedy.WAIT):
            rules = RecoveryTerms(
                inquires=True,
                pings_before_inquiry=pings,
                inquiries=2,
                when_not_received=remedy,
                when_not_started=Remedy.CANCEL if remedy is Remedy.CANCEL else Remedy.WAIT,
            )
            yield DeliveryTerms(recovery=rules)


def edges(rows: Iterable[Row]) -> dict[tuple[str, str], list[str]]:
    """Which events lead from one state to another one."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for target in sorted(row.seen.becomes - {row.status}):
            found.setdefault((row.status, target), []).append(row.event.__name__)
    return found


def _rows(table: dict[Any, Any], seen: dict[tuple[Any, type], Seen]) -> list[Row]:
    words = [*OutboundStatus, *PairStatus, *RecoveryPhase, *TransitStatus]
    order = {status.value: n for n, status in enumerate(words)}
    rows = [
        Row(status.value, event, transition, seen.get((status, event), Seen()))
        for (status, event), transition in table.items()
    ]
    return sorted(rows, key=lambda row: (order[row.status], row.event.__name__))


def _explore(
    start: Any,
    steps: Callable[[Any], Steps],
    alike: Callable[[Any], Any],
    seen: dict[tuple[Any, type], Seen],
) -> None:
    """Run every step from every state that can be reached, noting what happens in `seen`."""
    known = {start}
    waiting = deque(known)
    while waiting:
        state = waiting.popleft()
        for event, run in steps(state):
            note = seen.setdefault((_status(state), type(event)), Seen())
            try:
                after, effects = run()
            except LocalError as error:
                note.refusals.add(error.name)
                continue
            _note(note, after, effects)
            after = alike(after)
            if after not in known:
                known.add(after)
                waiting.append(after)


def _status(state: Any) -> Any:
    """The status that the table of the machine is about."""
    return state.phase if isinstance(state, Recovery) else state.status


def _note(note: Seen, after: Any, effects: Iterable[Any]) -> None:
    note.becomes.add(_status(after).value)
    for effect in effects:
        if isinstance(effect, Journal):
            note.rows.add(effect.event.value)
        else:
            note.effects.add(type(effect).__name__)


def _alike(state: Outbound) -> Outbound:
    """States that differ only in counts that no decision reads are one state here."""
    return changed(
        state,
        episode=min(state.episode, 1),
        attempt=min(state.attempt, 3),
        pings=min(state.pings, 3),
        transients=min(state.transients, 2),
        due_ns=None if state.due_ns is None else _DUE_NS,
    )


def _sending_steps(state: Outbound, terms: DeliveryTerms) -> Iterator[tuple[Any, Any]]:
    for event in _sending_events(state, terms):
        if (state.status, type(event)) in sending.TABLE:
            for now in (BEFORE, EXPIRED, BEHIND_FENCE):
                yield event, partial(sending.step, state, event, now, terms)


def _sending_events(state: Outbound, terms: DeliveryTerms) -> list[Any]:
    return [
        events.Admitted(1 if terms.numbers_messages else None, size_bytes=1),
        *(events.Transmitted(state.attempt, sent) for sent in _TRANSMISSIONS),
        events.DeadlineReached(_DUE_NS),
        *(events.AckReceived(is_from_to_party=flag) for flag in (False, True)),
        events.ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 1),
        events.ErrorReceived(ErrorCode.INVALID_SEQUENCE_NUMBER, Severity.ERROR),
        events.ErrorReceived(ErrorCode.VALUE_NOT_RECOGNIZED, Severity.ERROR),
        events.ErrorReceived(ErrorCode.UNKNOWN, Severity.WARNING),
        events.ErrorReceived(ErrorCode.DELIVERY_FAILURE, Severity.ERROR),
        events.ErrorReceived(ErrorCode.DELIVERY_FAILURE, Severity.WARNING),
        events.PongReceived(is_available=True),
        events.PongReceived(is_available=False),
        events.TimePassed(),
        events.Held(),
        events.Resumed(size_bytes=1),
        events.Restarted(),
        events.Cancelled(),
        events.CancelConfirmed(),
        events.Requeued("the rule of the agreement"),
        *(events.Parked("a bug", bytes_left=flag) for flag in (False, True)),
        *(events.Settled(word, "they say so") for word in events.Settlement),
        # The turn of a queued one has come, and it does not get as far as taking its number.
        events.Parked("a bug", bytes_left=False, sequence_number=1),
    ]


def _pair_steps(pair: SendingPair) -> Iterator[tuple[Any, Any]]:
    for event in _pair_events():
        yield event, partial(_bounded_step, pair, event)


def _bounded_step(pair: SendingPair, event: Any) -> tuple[SendingPair, tuple[Any, ...]]:
    """A step after which numbers past the second one are alike."""
    pair, effects = pairing.step(pair, event)
    if pair.sequence_number is not None and pair.sequence_number > 2:
        pair = changed(pair, sequence_number=2)
    return pair, effects


def _pair_events() -> list[Any]:
    return [
        *(
            event
            for message_id in ("a", "b")
            for event in (
                pairing.MessageQueued(message_id),
                pairing.MessageQueued(message_id, window=2, is_numbered=False),
                pairing.MessageSettled(message_id, abandoned=False),
                pairing.MessageSettled(message_id, abandoned=True),
                pairing.MessageGivenUp(message_id, "no acknowledgement"),
                pairing.SequenceDiverged(message_id, "another number expected"),
            )
        ),
        pairing.TroubleMet("no acknowledgement"),
        pairing.PartnerHeard(),
        pairing.SuspendRequested("maintenance"),
        pairing.ResumeRequested(),
    ]


def _alike_in_recovery(state: Recovery) -> Recovery:
    return changed(
        state,
        asked=min(state.asked, 2),
        status=None,
        processing=None,
        reported_at=None,
        due_ns=None if state.due_ns is None else _DUE_NS,
    )


def _recovery_steps(state: Recovery, terms: DeliveryTerms) -> Iterator[tuple[Any, Any]]:
    for event in _recovery_events():
        yield event, partial(recovering.step, state, event, BEFORE, terms)


@cache
def _recovery_events() -> list[Any]:
    reports = itertools.product((None, *MessageStatus), (None, *ReportedProcessing), (True, False))
    answers = [(True, None), (False, MessageStatus.RECEIVED), (False, None)]
    flags = (True, False)
    return [
        recovering.GivenUp("no acknowledgement"),
        *itertools.starmap(recovering.ReportReceived, reports),
        *itertools.starmap(recovering.CancelAnswered, answers),
        *(events.PongReceived(is_available=flag) for flag in flags),
        *(recovering.ResponseAnswered(is_accepted=flag) for flag in flags),
        *(recovering.CancelWanted(is_for_new_version=flag) for flag in flags),
        events.DeadlineReached(_DUE_NS),
        events.Restarted(),
        events.Resumed(),
        recovering.Acknowledged(),
        recovering.ResponseReceived(),
        *(recovering.ResponseTimePassed(has_left=flag) for flag in flags),
        recovering.StatusWanted(),
        recovering.Withdrawn(),
        *(events.Settled(word, "they say so") for word in events.Settlement),
    ]
