"""Every short life of a pair and its messages: no turn too many, none lost, none given twice.

The messages' machine and the pair's run together here as the shell lets them: each effect that is
a word for the other machine is carried out before the next event. From every state that can be
reached, every event that can happen is tried.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from driving import ACCEPTED, NEVER_LEFT, START, at

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.instant import Now
from onceonly.message.terms import DeliveryTerms, OnExhausted
from onceonly.message.word import changed
from onceonly.protocol import pairing, schedule, sending
from onceonly.protocol.effects import (
    Admit,
    AdmitNext,
    Diverge,
    GiveUp,
    Hold,
    Release,
    Restart,
    Transmit,
)
from onceonly.protocol.events import (
    AckReceived,
    Admitted,
    CancelConfirmed,
    Cancelled,
    DeadlineReached,
    ErrorReceived,
    Held,
    Requeued,
    Restarted,
    Resumed,
    Settled,
    Settlement,
    TimePassed,
    Transmitted,
)
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.sending import Exposure, Outbound, OutboundStatus, Silence
from onceonly.protocol.sequence import successor

MOMENTS = (at(0), at(3601), at(7200))
"""In time, expired, behind the fence."""
TTL = {"timeout_s": 30, "time_to_live_s": 3600, "transient_retries": 1}


class World(NamedTuple):
    """One pair, its messages in the order of their submission, and how late it is."""

    pair: SendingPair = SendingPair()
    messages: tuple[Outbound, ...] = ()
    moment: int = 0


class Life:
    """Carries out one event and all that follows from it, and checks what must hold."""

    def __init__(self, world: World, terms: DeliveryTerms) -> None:
        self.terms = terms
        self.pair = world.pair
        self.messages = list(world.messages)
        self.moment = world.moment
        self.transmitted: list[int] = []

    @property
    def now(self) -> Now:
        return MOMENTS[self.moment]

    def world(self) -> World:
        return World(alike_pair(self.pair), tuple(map(alike, self.messages)), self.moment)

    def submit(self) -> None:
        expires_at = schedule.expires_at(START.at, self.terms)
        self.messages.append(Outbound(expires_at=expires_at))
        self.run(AdmitNext())

    def on_message(self, number: int, event: object) -> None:
        self.messages[number], effects = sending.step(
            self.messages[number], event, self.now, self.terms
        )
        for effect in effects:
            self.run(effect, number)

    def on_pair(self, event: object) -> None:
        before = self.pair
        self.pair, effects = pairing.step(before, event)
        for effect in effects:
            if isinstance(effect, Admit) and self.terms.numbers_messages:
                assert effect.sequence_number == successor(before.sequence_number)
            self.run(effect)

    def run(self, effect: object, number: int = -1) -> None:
        name = str(number)
        match effect:
            case Release(abandoned, is_numbered):
                self.on_pair(pairing.MessageSettled(name, abandoned, is_numbered))
            case GiveUp(reason):
                self.on_pair(pairing.MessageGivenUp(name, reason))
            case Diverge(reason):
                self.on_pair(pairing.SequenceDiverged(name, reason))
            case Admit(message_id, sequence_number):
                self.on_message(int(message_id), Admitted(sequence_number))
            case Hold(message_id):
                self.on_message(int(message_id), Held())
            case Restart(message_id):
                self.on_message(int(message_id), Resumed())
            case AdmitNext():
                self.look_for_the_longest_waiting()
            case Transmit():
                self.transmitted.append(number)

    def look_for_the_longest_waiting(self) -> None:
        for number, message in enumerate(self.messages):
            if message.status is OutboundStatus.QUEUED:
                is_numbered = self.terms.numbers_messages
                queued = pairing.MessageQueued(str(number), self.terms.window, is_numbered)
                return self.on_pair(queued)
        return None

    def check(self) -> None:
        turns = [int(name) for name in self.pair.in_flight]
        assert len(turns) <= self.terms.window
        assert len(set(turns)) == len(turns)
        assert turns == [n for n in turns if has_a_turn(self.messages[n])], "a turn is lost"
        holders = {n for n, message in enumerate(self.messages) if has_a_turn(message)}
        assert holders == set(turns), "a message acts without a turn"
        if self.pair.status is PairStatus.OPEN:
            waiting = [m for m in self.messages if m.status is OutboundStatus.QUEUED]
            assert not waiting or len(turns) == self.terms.window, "a turn is not given"
        else:
            assert not self.transmitted, "a closed pair is silent"
            assert all(self.messages[n].due_ns is None for n in turns if self.is_held(n))

    def is_held(self, number: int) -> bool:
        return self.messages[number].silence is Silence.HELD


def has_a_turn(message: Outbound) -> bool:
    if message.status is OutboundStatus.IN_DOUBT:
        return message.silence is Silence.HELD
    return message.status is OutboundStatus.SENDING


def alike(message: Outbound) -> Outbound:
    """Counts that no decision reads are left out; of a message at its end only its status stays."""
    may_go_on = (OutboundStatus.ACKNOWLEDGED, OutboundStatus.SETTLED_DELIVERED)
    if message.status in may_go_on or not message.status.is_final:
        return changed(
            message,
            attempt=min(message.attempt, 2),
            episode=0,
            due_ns=None if message.due_ns is None else 1,
            sequence_number=None if message.sequence_number is None else 1,
            error_code=message.error_code and ErrorCode.DELIVERY_FAILURE,
        )
    return Outbound(status=OutboundStatus.FAILED)


def alike_pair(pair: SendingPair) -> SendingPair:
    reason = "gave up" if pair.reason not in (None, pairing.OPERATOR) else pair.reason
    number = None if pair.sequence_number is None else 1
    return changed(pair, reason=reason, sequence_number=number)


COME_AGAIN = ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 1)
WRONG_NUMBER = ErrorReceived(ErrorCode.INVALID_SEQUENCE_NUMBER, Severity.ERROR)
REFUSAL = ErrorReceived(ErrorCode.VALUE_NOT_RECOGNIZED, Severity.ERROR)
NOT_DELIVERED = ErrorReceived(ErrorCode.DELIVERY_FAILURE, Severity.WARNING)


def message_events(message: Outbound, moment: int, terms: DeliveryTerms) -> Iterator[object]:
    """What can happen to the message now and may change something."""
    if message.status is OutboundStatus.ACKNOWLEDGED:
        yield NOT_DELIVERED
    if message.status is OutboundStatus.SETTLED_DELIVERED:
        yield NOT_DELIVERED
    if message.status.is_final:
        return
    if message.status is OutboundStatus.IN_DOUBT:
        yield Settled(Settlement.DELIVERED, "they see it")
    if message.status is OutboundStatus.SENDING:
        yield from our_events(message)
    yield from partner_events(message, terms)
    if sending.can_be_sent_again(message, MOMENTS[moment]):
        yield Requeued("not received")
    if moment:
        yield TimePassed()


def our_events(message: Outbound) -> Iterator[object]:
    if message.silence is Silence.NONE and message.due_ns is None:
        yield Transmitted(message.attempt, ACCEPTED)
        yield Transmitted(message.attempt, NEVER_LEFT)
    if message.due_ns is not None:
        yield DeadlineReached(message.due_ns)


def partner_events(message: Outbound, terms: DeliveryTerms) -> Iterator[object]:
    """Nobody can say anything about what never left; that can still be taken back."""
    if message.exposure is Exposure.NEVER:
        yield Cancelled()
        return
    yield from (AckReceived(), REFUSAL, CancelConfirmed())
    # Numbers and pauses belong to the walk of the numbered pair; the window has its own.
    if terms.is_numbered:
        yield from (COME_AGAIN, WRONG_NUMBER)


def lives(world: World, terms: DeliveryTerms, most: int) -> Iterator[Life]:
    """Every life that goes on from here by one event."""

    def life() -> Life:
        return Life(world, terms)

    for number, message in enumerate(world.messages):
        for event in message_events(message, world.moment, terms):
            after = life()
            after.on_message(number, event)
            yield after
    for event in (pairing.SuspendRequested("look"), pairing.ResumeRequested()):
        after = life()
        after.on_pair(event)
        yield after
    if len(world.messages) < most:
        after = life()
        after.submit()
        yield after
    if world.moment + 1 < len(MOMENTS):
        yield Life(world._replace(moment=world.moment + 1), terms)
    if world.pair.status is PairStatus.OPEN:
        after = life()
        for name in world.pair.in_flight:
            after.on_message(int(name), Restarted())
        yield after


SCOPES = {
    "numbered, suspends": (DeliveryTerms(retries=1, **TTL), 2),
    "numbered, goes on": (DeliveryTerms(retries=0, on_exhausted=OnExhausted.FAIL, **TTL), 2),
    "window 2, suspends": (DeliveryTerms(retries=0, is_numbered=False, window=2, **TTL), 3),
    "window 2, goes on": (
        DeliveryTerms(retries=0, is_numbered=False, window=2, on_exhausted=OnExhausted.FAIL, **TTL),
        3,
    ),
}


@pytest.mark.statement("S0-07")
@pytest.mark.parametrize("scope", SCOPES)
def test_no_turn_is_lost_or_given_twice(scope):
    """Never more than the window in flight, and whoever waits gets a turn that is free."""
    terms, most = SCOPES[scope]
    known = {World()}
    waiting = deque(known)
    while waiting:
        for life in lives(waiting.popleft(), terms, most):
            life.check()
            world = life.world()
            if world not in known:
                known.add(world)
                waiting.append(world)
    assert len(known) > 100, "the walk went somewhere"
