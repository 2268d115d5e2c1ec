"""One arrival at the receiving MSH: new, repeated, or wrong.

The theory
----------
The receiver's promise is: what I acknowledged, I hold, and I hand it over once. Three durable
steps in this order keep it (R-02): store, acknowledge, hand over. Nothing that did not reach the
first step was ever "seen": an arrival that failed half-way is no duplicate later.

Which arrivals are one message is decided by the MessageId, always first (R-01). Then expiry
(R-18), then, for a message never stored, the SequenceNumber as a gap detector:

    known, same content       duplicate: answer with the first stored response (R-03), no change
    known, other content      collision: an alarm; no acknowledgement, no delivery
    too old, or expired       refused: TimeToLiveExpired (R-18, R-19)
    next number, or 1         new: store, acknowledge, hand over (seed 000 §5.2 cases 1 and 3)
    any other number          InvalidSequenceNumber (cases 2 and 4); nothing is stored

A wrong number is never guessed away (R-11). The first one is answered with an error; the same
message with a wrong number again means that the two sides really disagree, so the pair is
quarantined: every unseen message is answered with TransientError, which costs the sender nothing,
until the operator resumes the pair. Resuming accepts whichever number comes next.

Then the stored message runs a small machine of its own:

    stored -> handed_over        with the application's processing state as a second axis

The acknowledgement is transmitted once per received copy; whatever its outcome, the message is
handed over next (R-12's default), since the sender's repeat will ask for the response again.
"""

from enum import Enum, StrEnum
from typing import NamedTuple

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.instant import US_PER_S, Now
from onceonly.message.message import DeliverySemantics
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol import schedule
from onceonly.protocol.effects import (
    Acknowledge,
    Answer,
    Effect,
    HandOver,
    Journal,
    OpenIncident,
    ResolveIncident,
)
from onceonly.protocol.events import Transmission
from onceonly.protocol.pairing import PairStatus
from onceonly.protocol.sequence import SequenceCase, classify


class InboundStatus(StrEnum):
    """How far a stored message has come."""

    STORED = "stored"
    HANDED_OVER = "handed_over"
    FORWARDED = "forwarded"
    """Ours to deliver further, as an accepting intermediary; it never reaches an inbox (R-13)."""
    CANCELLED = "cancelled"
    """Taken back by its sender before work on it began; a tombstone (R-08)."""


class ProcessingState(StrEnum):
    """What the application says about its work on a message; it only moves forward."""

    NOT_STARTED = "not-started"
    IN_PROGRESS = "in-progress"
    COMPLETE = "complete"


class ReceivingPair(NamedTuple):
    """The durable state of the receiving side of a pair."""

    status: PairStatus = PairStatus.OPEN
    sequence_number: int | None = None
    """Number of the last stored message; None before the first one."""
    refused_message_id: str | None = None
    """The last message refused for its number; the same one again means quarantine."""
    takes_any_number: bool = False
    """An operator resumed a quarantine: the next unseen message sets the number."""
    reason: str | None = None


class Known(NamedTuple):
    """What the store remembers of a message with the arrival's key."""

    digest: str


class Arrival(NamedTuple):
    """What counts for the decision about a received Normal message."""

    message_id: str
    digest: str
    semantics: DeliverySemantics
    timestamp_at: int
    sequence_number: int | None


class Case(Enum):
    """What an arrival is. The value is a phrase for people."""

    NEW = "new"
    DUPLICATE = "duplicate"
    COLLISION = "known MessageId with other content"
    EXPIRED = "past its TimeToLive"
    TOO_OLD = "older than PersistDuration"
    QUARANTINED = "the pair is quarantined"
    OUT_OF_SEQUENCE = "wrong SequenceNumber"


class Reception(NamedTuple):
    """The verdict on an arrival, the pair afterwards, and what is to be done."""

    case: Case
    pair: ReceivingPair
    effects: tuple[Effect, ...]


def receive(
    arrival: Arrival, known: Known | None, pair: ReceivingPair, now: Now, terms: DeliveryTerms
) -> Reception:
    """Decide about one arrival. Pure.

    On `Case.NEW` the shell stores the message and the returned pair in the transaction in which
    it writes the effects' rows; in every other case it stores at most the pair.
    """
    case = _case_of(arrival, known, pair, now, terms)
    if case is Case.NEW:
        return _accept(arrival, pair)
    if case is Case.DUPLICATE:
        return _repeat(arrival, pair)
    if case is Case.OUT_OF_SEQUENCE:
        return _refuse_number(arrival, pair)
    return Reception(case, pair, _refusal(case, terms))


def _case_of(  # noqa: PLR0911 - because it is the table of the essay, a line per case
    arrival: Arrival, known: Known | None, pair: ReceivingPair, now: Now, terms: DeliveryTerms
) -> Case:
    if known is not None:
        return Case.DUPLICATE if known.digest == arrival.digest else Case.COLLISION
    accuracy_us = terms.msh_time_accuracy_s * US_PER_S
    if arrival.timestamp_at + terms.persist_duration_s * US_PER_S + accuracy_us < now.at:
        return Case.TOO_OLD
    if schedule.is_past_fence(schedule.expires_at(arrival.timestamp_at, terms), now, terms):
        return Case.EXPIRED
    if arrival.semantics is DeliverySemantics.BEST_EFFORT:
        return Case.NEW
    if pair.status is PairStatus.QUARANTINED:
        return Case.QUARANTINED
    if not pair.takes_any_number and not _fits(arrival, pair):
        return Case.OUT_OF_SEQUENCE
    return Case.NEW


def _fits(arrival: Arrival, pair: ReceivingPair) -> bool:
    if arrival.sequence_number is None:
        return False
    case = classify(arrival.sequence_number, pair.sequence_number)
    return case in (SequenceCase.NEXT, SequenceCase.RESET)


def _accept(arrival: Arrival, pair: ReceivingPair) -> Reception:
    row = Journal(Event.STORED, sequence_number=arrival.sequence_number)
    if arrival.semantics is DeliverySemantics.BEST_EFFORT:
        return Reception(Case.NEW, pair, (row, HandOver(), Journal(Event.HANDED_OVER)))
    pair = ReceivingPair(sequence_number=arrival.sequence_number)
    return Reception(Case.NEW, pair, (row, Acknowledge()))


def _repeat(arrival: Arrival, pair: ReceivingPair) -> Reception:
    row = Journal(Event.DUPLICATE_ELIMINATED, sequence_number=arrival.sequence_number)
    answer = () if arrival.semantics is DeliverySemantics.BEST_EFFORT else (Acknowledge(),)
    return Reception(Case.DUPLICATE, pair, (row, *answer))


def _refuse_number(arrival: Arrival, pair: ReceivingPair) -> Reception:
    """Seed 000 §5.2 case 4 and R-11."""
    text = f"after {pair.sequence_number or 'none'} came {arrival.sequence_number or 'none'}"
    row = _rejected(ErrorCode.INVALID_SEQUENCE_NUMBER, text, arrival.sequence_number)
    answer = Answer(ErrorCode.INVALID_SEQUENCE_NUMBER, Severity.ERROR, text)
    if pair.refused_message_id != arrival.message_id:
        pair = pair._replace(refused_message_id=arrival.message_id)
        return Reception(Case.OUT_OF_SEQUENCE, pair, (row, answer))
    reason = f"wrong SequenceNumber again for {arrival.message_id}: {text}"
    pair = pair._replace(status=PairStatus.QUARANTINED, reason=reason)
    closing = (Journal(Event.PAIR_QUARANTINED, reason=reason), OpenIncident(reason))
    return Reception(Case.OUT_OF_SEQUENCE, pair, (row, *closing, answer))


def _refusal(case: Case, terms: DeliveryTerms) -> tuple[Effect, ...]:
    text = case.value
    if case is Case.COLLISION:
        row = Journal(Event.COLLISION_DETECTED, error_code=ErrorCode.SECURITY_FAILURE, reason=text)
        return row, Answer(ErrorCode.SECURITY_FAILURE, Severity.ERROR, text)
    if case is Case.QUARANTINED:
        row = _rejected(ErrorCode.TRANSIENT_ERROR, text, None)
        pause_s = terms.retry_interval_s
        return row, Answer(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, text, pause_s)
    row = _rejected(ErrorCode.TIME_TO_LIVE_EXPIRED, text, None)
    return row, Answer(ErrorCode.TIME_TO_LIVE_EXPIRED, Severity.ERROR, text)


def _rejected(code: ErrorCode, reason: str, sequence_number: int | None) -> Journal:
    return Journal(Event.REJECTED, error_code=code, reason=reason, sequence_number=sequence_number)


def acknowledged(
    status: InboundStatus, transmission: Transmission
) -> tuple[InboundStatus, tuple[Effect, ...]]:
    """A transmission of the acknowledgement ended: hand the message over, once."""
    row = Journal(
        Event.ACK_SENT,
        outcome=transmission.outcome.value,
        status_code=transmission.status_code,
        reason=transmission.detail or None,
    )
    if status is InboundStatus.HANDED_OVER:
        return status, (row,)
    return InboundStatus.HANDED_OVER, (row, HandOver(), Journal(Event.HANDED_OVER))


def resume(pair: ReceivingPair) -> tuple[ReceivingPair, tuple[Effect, ...]]:
    """An operator resumed the pair: whichever number comes next is right."""
    if pair.status is PairStatus.OPEN:
        return pair, ()
    pair = ReceivingPair(sequence_number=pair.sequence_number, takes_any_number=True)
    return pair, (Journal(Event.PAIR_RESUMED, reason="operator"), ResolveIncident())


_FORWARD = (ProcessingState.NOT_STARTED, ProcessingState.IN_PROGRESS, ProcessingState.COMPLETE)


def may_follow(current: ProcessingState, reported: ProcessingState) -> bool:
    """Whether an application may report `reported` now: the same again, or further on (I44)."""
    return _FORWARD.index(reported) >= _FORWARD.index(current)
