"""The sending side of a Sender-Receiver pair: whose turn it is, and which number it gets.

The theory
----------
Seed 000 §2.1.3: with respect to a pair, one reliable message is completed before the next may be
sent. That single rule gives order, limits the doubt after a crash to one message, and makes the
SequenceNumber of §2.2.2 a gap detector. Seed 001 has no such rule: there a pair has a window, the
most messages that are under way at once, without order and numbers. Pairs never wait for one
another.

The pair gives turns; a message that has a turn runs its own machine (`sending`) and gives the
turn back when it is settled. The pair has three conditions:

    open         turns are given
    suspended    a message used up its retries, or an operator asked; nothing of the pair is sent
                 until the operator resumes (§2.1.4.3), except that a late acknowledgement of a
                 message that has a turn shows that the partner works, and ends the suspension (I23)
    quarantined  the peer's sequence and ours disagree (R-11); as suspended, and by a resume the
                 operator also says that the peer is right again

In addition a pair knows whether there is trouble with its partner (R-40): from the moment when a
message to it is given up, in whatever way, until the partner is heard again. Operators are shown
the trouble; it does not close the pair and decides nothing.

Numbers: 1 first, then +1, 1 after 999,999,999. The number of an abandoned message would leave a
gap, so the pair forgets its numbers and restarts at 1; a journal row tells it before 1 is used
(R-10, I33). That is safe only because receivers look at the MessageId first (R-01).
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from onceonly.message.event import Event
from onceonly.message.word import Word, changed
from onceonly.protocol.effects import (
    Admit,
    AdmitNext,
    Effect,
    Hold,
    Journal,
    OpenIncident,
    ResolveIncident,
    ResolveTrouble,
    Restart,
)
from onceonly.protocol.outbound import IllegalStep
from onceonly.protocol.sequence import successor


class PairStatus(StrEnum):
    """Condition of a pair."""

    OPEN = "open"
    SUSPENDED = "suspended"
    QUARANTINED = "quarantined"


class SendingPair(Word):
    """The durable state of the sending side of a pair."""

    status: PairStatus = PairStatus.OPEN
    sequence_number: int | None = None
    """The last number given; None before the first one and after a reset."""
    in_flight: tuple[str, ...] = ()
    """MessageIds of the messages that have a turn, the oldest first."""
    reason: str | None = None
    """Why the pair is not open."""
    trouble: str | None = None
    """The last sign of trouble with the partner; None since it was heard (R-40)."""


class MessageQueued(Word):
    """A message waits for its turn; it has one if fewer than `window` messages have."""

    message_id: str
    window: int = 1
    is_numbered: bool = True


class MessageSettled(Word):
    """The message gives its turn back, if it still has one; `abandoned`: it is not acknowledged."""

    message_id: str
    abandoned: bool
    is_numbered: bool = True


class MessageGivenUp(Word):
    """The message used up its retries and keeps the turn (R-07)."""

    message_id: str
    reason: str


class SequenceDiverged(Word):
    """The peer called our SequenceNumber invalid (R-11)."""

    message_id: str
    reason: str


class TroubleMet(Word):
    """A message could not reach the partner, or got no answer in all its time (R-40)."""

    cause: str


class PartnerHeard(Word):
    """The partner answered something of ours."""


class SuspendRequested(Word):
    """An operator suspends the pair."""

    reason: str


class ResumeRequested(Word):
    """An operator resumes the pair."""


PairEvent = (
    MessageQueued
    | MessageSettled
    | MessageGivenUp
    | SequenceDiverged
    | TroubleMet
    | PartnerHeard
    | SuspendRequested
    | ResumeRequested
)
Step = tuple[SendingPair, tuple[Effect, ...]]


def step(state: SendingPair, event: PairEvent) -> Step:
    """The next state of the pair and what is to be done. Pure.

    Raises `IllegalStep` for an event that the table lacks.
    """
    transition = TABLE.get((state.status, type(event)))
    if transition is None:
        raise IllegalStep(f"{type(event).__name__} in {state.status}")
    return transition(state, event)


def _give_turn(state: SendingPair, event: MessageQueued) -> Step:
    if len(state.in_flight) >= event.window or event.message_id in state.in_flight:
        return state, ()
    number = successor(state.sequence_number) if event.is_numbered else None
    state = changed(
        state,
        in_flight=(*state.in_flight, event.message_id),
        sequence_number=number if event.is_numbered else state.sequence_number,
    )
    more = (AdmitNext(),) if len(state.in_flight) < event.window else ()
    return state, (Admit(event.message_id, number), *more)


def _let_wait(state: SendingPair, event: MessageQueued) -> Step:
    return state, ()


def _take_turn_back(state: SendingPair, event: MessageSettled) -> Step:
    if event.message_id not in state.in_flight:
        return state, ()
    state, rows = _vacate(state, event)
    return state, (*rows, AdmitNext())


def _vacate(state: SendingPair, event: MessageSettled) -> tuple[SendingPair, tuple[Effect, ...]]:
    left = tuple(one for one in state.in_flight if one != event.message_id)
    state = changed(state, in_flight=left)
    leaves_a_gap = event.abandoned and event.is_numbered and state.sequence_number is not None
    if not leaves_a_gap:
        return state, ()
    reason = "the number of an abandoned message is not used again"
    return changed(state, sequence_number=None), (Journal(Event.SEQUENCE_RESET, reason=reason),)


def _settle_while_closed(state: SendingPair, event: MessageSettled) -> Step:
    """An acknowledgement shows that the partner works, and opens the pair; nothing else does."""
    if event.message_id not in state.in_flight:
        return state, ()
    state, rows = _vacate(state, event)
    if event.abandoned or state.reason == OPERATOR:
        return state, rows
    state, opened = _open(state, "acknowledged late")
    return state, (*rows, *opened, *map(Restart, state.in_flight), AdmitNext())


def _open(state: SendingPair, reason: str) -> Step:
    state = changed(state, status=PairStatus.OPEN, reason=None, trouble=None)
    return state, (Journal(Event.PAIR_RESUMED, reason=reason), ResolveIncident())


OPERATOR = "operator"
"""`reason` of a suspension that only an operator ends."""


def _suspend(state: SendingPair, event: MessageGivenUp) -> Step:
    """The incident is that of trouble with the partner, which may be open already (R-40)."""
    state = changed(state, status=PairStatus.SUSPENDED, reason=event.reason, trouble=event.reason)
    row = Journal(Event.PAIR_SUSPENDED, reason=event.reason)
    return state, (row, OpenIncident(event.reason, is_trouble=True), *_hold_others(state, event))


def _quarantine(state: SendingPair, event: SequenceDiverged) -> Step:
    state = changed(state, status=PairStatus.QUARANTINED, reason=event.reason)
    row = Journal(Event.PAIR_QUARANTINED, reason=event.reason)
    return state, (row, OpenIncident(event.reason), *_hold_others(state, event))


def _hold_others(
    state: SendingPair, event: MessageGivenUp | SequenceDiverged
) -> tuple[Effect, ...]:
    return tuple(Hold(one) for one in state.in_flight if one != event.message_id)


def _note_trouble(state: SendingPair, event: TroubleMet) -> Step:
    """One incident for each episode: open it, or update its cause (R-40)."""
    if event.cause == state.trouble:
        return state, ()
    return changed(state, trouble=event.cause), (OpenIncident(event.cause, is_trouble=True),)


def _end_trouble(state: SendingPair, event: PartnerHeard) -> Step:
    if state.trouble is None:
        return state, ()
    return changed(state, trouble=None), (ResolveTrouble(),)


def _end_trouble_while_closed(state: SendingPair, event: PartnerHeard) -> Step:
    """Trouble that closed the pair stays until it is open; if an operator closed it, it ends."""
    return _end_trouble(state, event) if state.reason == OPERATOR else (state, ())


def _stay_closed(state: SendingPair, event: MessageGivenUp | TroubleMet) -> Step:
    """A wait ended while the pair was closed; the first reason for closing it stays."""
    return state, ()


def _quarantine_too(state: SendingPair, event: SequenceDiverged) -> Step:
    """The error was already under way when the pair was closed."""
    if state.status is PairStatus.QUARANTINED:
        return state, ()
    return _quarantine(state, event)


def _suspend_by_operator(state: SendingPair, event: SuspendRequested) -> Step:
    state = changed(state, status=PairStatus.SUSPENDED, reason=OPERATOR)
    held = map(Hold, state.in_flight)
    return state, (Journal(Event.PAIR_SUSPENDED, reason=event.reason), *held)


def _stay_suspended(state: SendingPair, event: SuspendRequested) -> Step:
    return changed(state, reason=OPERATOR), ()


def _resume(state: SendingPair, event: ResumeRequested) -> Step:
    """§2.1.4.3: first the message that is not completed, then the queue."""
    state, opened = _open(state, OPERATOR)
    return state, (*opened, *map(Restart, state.in_flight), AdmitNext())


def _stay_open(state: SendingPair, event: ResumeRequested) -> Step:
    """The operator has seen the trouble; trouble after this is a new episode."""
    return _end_trouble(state, PartnerHeard())


# Each transition takes its own type of event; the key of its row guarantees that type.
Transition = Callable[[SendingPair, Any], Step]

_OPEN: dict[type[PairEvent], Transition] = {
    MessageQueued: _give_turn,
    MessageSettled: _take_turn_back,
    MessageGivenUp: _suspend,
    SequenceDiverged: _quarantine,
    TroubleMet: _note_trouble,
    PartnerHeard: _end_trouble,
    SuspendRequested: _suspend_by_operator,
    ResumeRequested: _stay_open,
}
_CLOSED: dict[type[PairEvent], Transition] = {
    MessageQueued: _let_wait,
    MessageSettled: _settle_while_closed,
    MessageGivenUp: _stay_closed,
    SequenceDiverged: _quarantine_too,
    TroubleMet: _stay_closed,
    PartnerHeard: _end_trouble_while_closed,
    SuspendRequested: _stay_suspended,
    ResumeRequested: _resume,
}
_ROWS_OF = {
    PairStatus.OPEN: _OPEN,
    PairStatus.SUSPENDED: _CLOSED,
    PairStatus.QUARANTINED: _CLOSED,
}

TABLE: dict[tuple[PairStatus, type[PairEvent]], Transition] = {
    (status, event): transition
    for status, rows in _ROWS_OF.items()
    for event, transition in rows.items()
}
"""Every (status, event) has a row."""
