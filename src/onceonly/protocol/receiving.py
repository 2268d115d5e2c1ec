"""One arrival at the receiving MSH: new, repeated, or wrong.

The theory
----------
The receiver's promise is: what I acknowledged, I hold, and I hand it over once. Three durable steps
in this order keep it (R-02): store, acknowledge, hand over. A message that did not reach the first
step was never "seen": if an arrival failed half-way, its repeat is not a duplicate.

Which arrivals are one message is decided by the MessageId, always first (R-01). Then expiry
(R-18), then, for a message never stored, the SequenceNumber as a gap detector, where there is one:

    known, other content      collision: an alarm; no acknowledgement, no delivery, and no Error,
                              which would be about the message that is stored (R-46). Content is
                              all that the From Party said, by two digests: payloads and header
                              (R-37)
    taken back by its sender  answered DeliveryFailure; a tombstone stands for ever (R-08); so does
                              that of a held message which an operator dropped (R-34)
    known, same content       duplicate: answer with the first stored response (R-03), no change;
                              while that response is still in work, silence (seed 001 §1.3.3 (9b))
    too old, or expired       refused: TimeToLiveExpired (R-18, R-19)
    from the future           refused: Inconsistent; its id would be kept until then (R-19)
    wants what we lack        refused: NotSupported (seed 001 §2.1.1.2)
    next number, or 1         new: store, acknowledge, hand over (seed 000 §5.2 cases 1 and 3)
    any other number          InvalidSequenceNumber (cases 2 and 4); nothing is stored
    too early in its order    stored and acknowledged, held until earlier messages of its
                              conversation came (`ordering`, R-34)
    against its order         refused: Inconsistent
    more than are held        refused: DeliveryFailure; nothing is stored

A wrong number is never explained by a guess (R-11). The first one is answered with an error. A
second one in a row, of the same message or of another one, means that the two sides really
disagree, so the pair is quarantined: until the operator resumes it, every unseen message is
answered with TransientError, which costs the sender nothing. After a resume the next number is
accepted, whatever it is.

Not everything is acknowledged. A message whose header asks for no acknowledgement and one that a
reliable transport brought are stored and handed over in one step. Acknowledgement and elimination
of repeats are two wishes (R-29): what is acknowledged is eliminated as well, but a header may ask
for elimination alone. If it asks for neither, as BestEffort does, the message is not even
remembered, so that its repeat is delivered too, unless the agreement drops duplicates (R-16). But a
BestEffort and a reliable message
with the same MessageId are different messages, whichever of them comes first (R-37). If the
business response goes back in the answer of the transport, the message is handed over at once: only
the application can make that response, and the response carries the acknowledgement (seed 001
§1.3.3.1).

A stored message runs a small machine of its own; `keeping` has what is said and done about it
later:

    stored -> handed_over        with the application's processing state as a second axis
           -> cancelled          taken back by its sender before work on it began

The acknowledgement is transmitted once per received copy; whatever its outcome, the message is
handed over next (R-12's default), since the sender's repeat will ask for the response again. Under
`strict_release` it stays `stored` while it is certain that the acknowledgement has not left; a
later copy, or a restart, tries again. This certainty is stored with the message. If the process
stops in the middle of an attempt, nobody knows its outcome: the sender may have the acknowledgement
and never ask again, so the next start hands the message over. An acknowledgement that says "passed
on" (seed 004 level 0 c) cannot be sent before the hand-over, so in that case the last two steps
change places.
"""

from enum import Enum, StrEnum

from msgspec.structs import astuple

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.instant import US_PER_S, Now
from onceonly.message.message import (
    AckRequested,
    DeliverySemantics,
    ReliableMessagingMethod,
    SyncReplyMode,
)
from onceonly.message.terms import DeliveryReceiptProvided, DeliveryTerms
from onceonly.message.word import Word, changed
from onceonly.protocol import schedule
from onceonly.protocol.effects import (
    Acknowledge,
    AcknowledgeAnew,
    Answer,
    Effect,
    HandOver,
    Journal,
    OpenIncident,
    ResolveIncident,
    SendReceipt,
    Withhold,
)
from onceonly.protocol.events import Outcome, Transmission
from onceonly.protocol.ordering import OrderCase, Taking
from onceonly.protocol.pairing import PairStatus
from onceonly.protocol.sequence import SequenceCase, classify, successor


class InboundStatus(StrEnum):
    """The status of a stored message."""

    STORED = "stored"
    HANDED_OVER = "handed_over"
    FORWARDED = "forwarded"
    """We deliver it further, as an accepting intermediary; it never gets into an inbox (R-13)."""
    CANCELLED = "cancelled"
    """Taken back by its sender before work on it began; a tombstone (R-08)."""


class ProcessingState(StrEnum):
    """What the application says about its work on a message; it only moves forward."""

    NOT_STARTED = "not-started"
    IN_PROGRESS = "in-progress"
    COMPLETE = "complete"


class ReceivingPair(Word):
    """The durable state of the receiving side of a pair."""

    status: PairStatus = PairStatus.OPEN
    sequence_number: int | None = None
    """Number of the last stored message; None before the first one."""
    refused_message_id: str | None = None
    """The message that was refused for its number since the last one was stored. One more refusal,
    of any message, means quarantine."""
    takes_any_number: bool = False
    """An operator resumed a quarantine: the next unseen message sets the number."""
    reason: str | None = None
    forgotten_at: int | None = None
    """Greatest Timestamp of the messages of the pair whose ids were forgotten. An unseen message
    that is not newer may be one of them, whatever PersistDuration is now (R-19)."""


class Stamp(Word):
    """What may differ in a repeat of a message (R-37)."""

    timestamp_at: int
    time_to_live_at: int | None
    ack_requested: AckRequested | None
    delivery_receipt_requested: AckRequested | None


class Known(Word):
    """What the store remembers of a message with the same key as the arrival."""

    digest: str
    has_response: bool = True
    """A response to it is stored: an acknowledgement, or the business response."""
    header_digest: str | None = None
    """None for a message stored before header digests existed: only payloads are compared
    (R-37)."""
    has_key: bool = True
    """False for a BestEffort message whose repeats are delivered too (R-16)."""
    stamp: Stamp | None = None


class Arrival(Word):
    """What counts for the decision about a received Normal message.

    The fields after the number are of `rm-2001`; each is None where the header leaves it to the
    agreement (seed 001 §1.2).
    """

    message_id: str
    digest: str
    wants_ack: bool
    """Its header asks for an acknowledgement, and so for elimination of its repeats (R-29)."""
    timestamp_at: int
    sequence_number: int | None
    time_to_live_at: int | None = None
    method: ReliableMessagingMethod | None = None
    sync_reply_mode: SyncReplyMode | None = None
    delivery_receipt_requested: AckRequested | None = None
    header_digest: str | None = None
    stamp: Stamp | None = None
    wants_elimination: bool = False
    """Its header asks that its repeats are eliminated, whether they are acknowledged or not."""


class Case(Enum):
    """What an arrival is. The value is a phrase for people."""

    NEW = "new"
    DUPLICATE = "duplicate"
    IN_WORK = "duplicate whose business response is in work"
    COLLISION = "known MessageId with other content"
    CANCELLED = "cancelled by its sender"
    EXPIRED = "past its TimeToLive"
    TOO_OLD = "older than PersistDuration"
    AHEAD = "its Timestamp is in the future"
    NOT_SUPPORTED = "asks for a delivery receipt that is not provided"
    QUARANTINED = "the pair is quarantined"
    OUT_OF_SEQUENCE = "wrong SequenceNumber"
    HELD = "new, and too early in its conversation"
    ORDER_BROKEN = "its number does not fit the order of its conversation"
    HOLD_FULL = "too many messages of its conversation wait for earlier ones"

    @property
    def is_new(self) -> bool:
        """Whether the message is to be stored."""
        return self in (Case.NEW, Case.HELD)


LOOKED_AT = (
    Case.COLLISION,
    Case.CANCELLED,
    Case.DUPLICATE,
    Case.AHEAD,
    Case.TOO_OLD,
    Case.EXPIRED,
    Case.NOT_SUPPORTED,
    Case.QUARANTINED,
    Case.OUT_OF_SEQUENCE,
)
"""What can keep an arrival from being new, in the order in which it is looked at. Whoever explains
a refusal tells by it what came before, and what nobody asked any more."""


class Reception(Word):
    """The verdict on an arrival, the new state of the pair, and what is to be done."""

    case: Case
    pair: ReceivingPair
    effects: tuple[Effect, ...]
    is_remembered: bool = True
    """False for a BestEffort message whose repeat is to be delivered too: store it without its
    duplicate key (R-16)."""


def receive(
    arrival: Arrival,
    known: Known | None,
    pair: ReceivingPair,
    now: Now,
    terms: DeliveryTerms,
    *,
    is_cancelled: bool = False,
) -> Reception:
    """Decide about one arrival. Pure.

    On `Case.NEW` the shell stores the message and the returned pair in the transaction in which
    it writes the effects' rows; in every other case it stores at most the pair, and on
    `AcknowledgeAnew` the response that it makes. `is_cancelled`: a tombstone has its key.
    """
    case = _case_of(arrival, known, pair, now, terms, is_cancelled=is_cancelled)
    if case is Case.NEW:
        return _accept(arrival, pair, terms)
    if case in (Case.DUPLICATE, Case.IN_WORK):
        assert known is not None, "only what is known is a duplicate"
        return _repeat(case, arrival, known, pair, terms)
    if case is Case.COLLISION:
        assert known is not None, "only with what is known something collides"
        return Reception(case, pair, _alarm(known, arrival))
    if case is Case.OUT_OF_SEQUENCE:
        return _refuse_number(arrival, pair)
    if case is Case.AHEAD:
        return Reception(case, pair, _refuse_ahead(arrival, now, terms))
    return Reception(case, pair, _refusal(case, terms))


def in_its_order(reception: Reception, number: int, taking: Taking) -> Reception:
    """The verdict on a new message of an ordered conversation, once its number was looked at."""
    if taking.case is OrderCase.BROKEN:
        return _against_the_order(Case.ORDER_BROKEN, reception, number, taking)
    if taking.case is OrderCase.FULL:
        return _against_the_order(Case.HOLD_FULL, reception, number, taking)
    stored, *others = reception.effects
    assert isinstance(stored, Journal), "the row about storing comes first"
    stored = changed(stored, order_number=number)
    if taking.case is OrderCase.IN_ORDER:
        effects = (changed(stored, reason=taking.reason), *others)
        return changed(reception, effects=effects)
    held = Journal(Event.HELD, order_number=number, reason=taking.reason)
    return changed(reception, case=Case.HELD, effects=(stored, held, *others))


def remarked(reception: Reception, remark: str) -> Reception:
    """The verdict with a remark in its row about storing, if there is one."""
    effects = [
        changed(one, reason="; ".join(filter(None, (one.reason, remark))))
        if isinstance(one, Journal) and one.event is Event.STORED
        else one
        for one in reception.effects
    ]
    return changed(reception, effects=tuple(effects))


def _against_the_order(case: Case, reception: Reception, number: int, taking: Taking) -> Reception:
    code = _CODES[case]
    row = Journal(Event.REJECTED, error_code=code, reason=taking.reason, order_number=number)
    answer = Answer(code, Severity.ERROR, taking.reason or "")
    return changed(reception, case=case, effects=(row, answer))


def _case_of(  # noqa: PLR0911 - because it is the table of the essay, a line per case
    arrival: Arrival,
    known: Known | None,
    pair: ReceivingPair,
    now: Now,
    terms: DeliveryTerms,
    *,
    is_cancelled: bool,
) -> Case:
    if known is not None and _collides(known, arrival, terms):
        return Case.COLLISION
    if is_cancelled:
        return Case.CANCELLED
    if known is not None and known.has_key:
        awaited = _is_answered_by_the_application(arrival, terms) and not known.has_response
        return Case.IN_WORK if awaited else Case.DUPLICATE
    out_of_time = _out_of_time(arrival, pair, now, terms)
    if out_of_time is not None:
        return out_of_time
    wanted = arrival.delivery_receipt_requested
    if wanted is not None and not receipt_is_provided(wanted, terms.delivery_receipt_provided):
        return Case.NOT_SUPPORTED
    if not (arrival.wants_ack and terms.is_numbered):
        return Case.NEW
    if pair.status is PairStatus.QUARANTINED:
        return Case.QUARANTINED
    if not pair.takes_any_number and not _fits(arrival, pair):
        return Case.OUT_OF_SEQUENCE
    return Case.NEW


def _out_of_time(
    arrival: Arrival, pair: ReceivingPair, now: Now, terms: DeliveryTerms
) -> Case | None:
    """R-18, R-19. ExactlyOnce is never refused for its age: its ids are kept for ever (R-17)."""
    if schedule.is_ahead(arrival.timestamp_at, now, terms):
        return Case.AHEAD
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return None
    if pair.forgotten_at is not None and arrival.timestamp_at <= pair.forgotten_at:
        return Case.TOO_OLD
    persisted_at = arrival.timestamp_at + terms.persist_duration_s * US_PER_S
    if schedule.is_refused_for_age(persisted_at, now, terms):
        return Case.TOO_OLD
    agreed_at = schedule.time_to_live_at(arrival.timestamp_at, terms)
    for end_at in (arrival.time_to_live_at, agreed_at):
        if schedule.is_refused_for_age(end_at, now, terms):
            return Case.EXPIRED
    return None


def _is_remembered(arrival: Arrival, terms: DeliveryTerms) -> bool:
    return arrival.wants_ack or arrival.wants_elimination or terms.drop_duplicates


def _is_acknowledged(arrival: Arrival, terms: DeliveryTerms) -> bool:
    """Seed 001 §1.3: asked for, by the ebXML method, whatever else was agreed (S0-10)."""
    method = terms.method if arrival.method is None else arrival.method
    return arrival.wants_ack and method is ReliableMessagingMethod.EBXML


def _is_answered_by_the_application(arrival: Arrival, terms: DeliveryTerms) -> bool:
    """Whether the business response is expected in the answer of the transport."""
    mode = terms.sync_reply_mode if arrival.sync_reply_mode is None else arrival.sync_reply_mode
    return mode.has_response and _is_acknowledged(arrival, terms)


def receipt_is_provided(requested: AckRequested, provided: DeliveryReceiptProvided) -> bool:
    """Whether the To Party can give the delivery receipt asked for (seed 001 §2.1.1.2)."""
    if requested is AckRequested.NONE:
        return True
    return provided in (DeliveryReceiptProvided.BOTH, DeliveryReceiptProvided(requested.value))


def _fits(arrival: Arrival, pair: ReceivingPair) -> bool:
    if arrival.sequence_number is None:
        return False
    case = classify(arrival.sequence_number, pair.sequence_number)
    return case in (SequenceCase.NEXT, SequenceCase.RESET)


def _accept(arrival: Arrival, pair: ReceivingPair, terms: DeliveryTerms) -> Reception:
    row = Journal(Event.STORED, sequence_number=arrival.sequence_number)
    if terms.is_numbered and arrival.wants_ack:
        pair = ReceivingPair(
            sequence_number=arrival.sequence_number, forgotten_at=pair.forgotten_at
        )
    effects = (row, *_after_storing(arrival, terms))
    return Reception(Case.NEW, pair, effects, _is_remembered(arrival, terms))


def _after_storing(arrival: Arrival, terms: DeliveryTerms) -> tuple[Effect, ...]:
    wanted = arrival.delivery_receipt_requested
    release = _hand_over(wants_receipt=wanted not in (None, AckRequested.NONE))
    if not _is_acknowledged(arrival, terms) or _is_answered_by_the_application(arrival, terms):
        return release
    if terms.ack_status.is_passed_on:
        return (*release, Acknowledge())
    return (Acknowledge(),)


def _hand_over(*, wants_receipt: bool) -> tuple[Effect, ...]:
    receipt = (SendReceipt(),) if wants_receipt else ()
    return HandOver(), Journal(Event.HANDED_OVER), *receipt


def _collides(known: Known, arrival: Arrival, terms: DeliveryTerms) -> bool:
    """Whether one MessageId has two contents, which two BestEffort messages may (R-16, R-37)."""
    may_compare = known.has_key or _is_remembered(arrival, terms)
    return may_compare and bool(differences(known, arrival.digest, arrival.header_digest))


def differences(known: Known, digest: str, header_digest: str | None) -> tuple[str, ...]:
    """Which parts of this content differ from the known one (R-37)."""
    is_other = {
        "payloads": known.digest != digest,
        "header": known.header_digest not in (None, header_digest),
    }
    return tuple(part for part, is_so in is_other.items() if is_so)


def _repeat(
    case: Case, arrival: Arrival, known: Known, pair: ReceivingPair, terms: DeliveryTerms
) -> Reception:
    anew = _said_anew(known, arrival)
    row = Journal(Event.DUPLICATE_ELIMINATED, sequence_number=arrival.sequence_number, reason=anew)
    if case is Case.IN_WORK:
        reason = case.value if anew is None else f"{case.value}; {anew}"
        return Reception(case, pair, (changed(row, reason=reason),))
    if not _is_acknowledged(arrival, terms):
        return Reception(case, pair, (row,))
    answer = Acknowledge() if known.has_response else AcknowledgeAnew()
    return Reception(case, pair, (row, answer))


def _said_anew(known: Known, arrival: Arrival) -> str | None:
    """What differs in a repeat that is a repeat nevertheless, in words; None if nothing (R-37)."""
    if known.stamp is None or arrival.stamp is None:
        return None
    pairs = zip(_STAMPED, astuple(known.stamp), astuple(arrival.stamp), strict=True)
    differing = [word for word, first, now in pairs if first != now]
    return f"other than in the first copy: {', '.join(differing)}" if differing else None


_STAMPED = ("Timestamp", "TimeToLive", "ackRequested", "deliveryReceiptRequested")


def _alarm(known: Known, arrival: Arrival) -> tuple[Effect, ...]:
    differing = " and ".join(differences(known, arrival.digest, arrival.header_digest))
    text = (
        f"a message with other {differing} is stored here under this MessageId; expected is another"
        " MessageId for another message"
    )
    row = Journal(Event.COLLISION_DETECTED, error_code=ErrorCode.SECURITY_FAILURE, reason=text)
    # No Error: its sender would take it for one about the stored message, and end that.
    return (row,)


def _refuse_number(arrival: Arrival, pair: ReceivingPair) -> Reception:
    """Seed 000 §5.2 case 4 and R-11."""
    text = _number_refusal(arrival.sequence_number, pair.sequence_number)
    row = _rejected(ErrorCode.INVALID_SEQUENCE_NUMBER, text, arrival.sequence_number)
    answer = Answer(ErrorCode.INVALID_SEQUENCE_NUMBER, Severity.ERROR, text)
    if pair.refused_message_id is None:
        pair = changed(pair, refused_message_id=arrival.message_id)
        return Reception(Case.OUT_OF_SEQUENCE, pair, (row, answer))
    before, now = pair.refused_message_id, arrival.message_id
    whose = f"{now} again" if now == before else f"{now}, after {before}"
    reason = f"a wrong SequenceNumber twice in a row, of {whose}: {text}"
    pair = changed(pair, status=PairStatus.QUARANTINED, reason=reason)
    closing = (Journal(Event.PAIR_QUARANTINED, reason=reason), OpenIncident(reason))
    return Reception(Case.OUT_OF_SEQUENCE, pair, (row, *closing, answer))


def _number_refusal(number: int | None, previous: int | None) -> str:
    came = (
        "no SequenceNumber came" if number is None else f"SequenceNumber {number} does not follow"
    )
    if previous is None:
        return f"{came}: no message of this sender was stored before, expected is 1"
    expected = f"{successor(previous)}, or 1 from a sender that begins again"
    return f"{came}: the last message stored has {previous}, expected is {expected}"


def _refusal(case: Case, terms: DeliveryTerms) -> tuple[Effect, ...]:
    text = _REFUSALS[case]
    if case is Case.QUARANTINED:
        row = _rejected(ErrorCode.TRANSIENT_ERROR, text, None)
        pause_s = terms.retry_interval_s
        return row, Answer(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, text, pause_s)
    return _refuse(_CODES[case], text)


def _refuse(code: ErrorCode, text: str) -> tuple[Effect, ...]:
    return _rejected(code, text, None), Answer(code, Severity.ERROR, text)


def _refuse_ahead(arrival: Arrival, now: Now, terms: DeliveryTerms) -> tuple[Effect, ...]:
    ahead_s = (arrival.timestamp_at - now.at) // US_PER_S
    text = (
        f"Timestamp is in the future: {ahead_s} s ahead of the clock here; expected is a new"
        f" message with a Timestamp of now, at most {schedule.ahead_max_s(terms)} s ahead"
    )
    return _refuse(ErrorCode.INCONSISTENT, text)


_REFUSALS = {
    Case.CANCELLED: (
        "its sender took this message back, or an operator here gave it up, so it will never be"
        " processed here; expected is a new message with another MessageId"
    ),
    Case.EXPIRED: (
        "its TimeToLive is over, nothing was stored; expected is a new message, or a later"
        " TimeToLive"
    ),
    Case.TOO_OLD: (
        "it is older than PersistDuration, so that its first copy could be forgotten here; expected"
        " is a new message with a Timestamp of today"
    ),
    Case.NOT_SUPPORTED: (
        "it asks for a delivery receipt that is not provided here; expected is none, or the kind"
        " that was agreed as deliveryReceiptProvided"
    ),
    Case.QUARANTINED: (
        "no message of this sender is taken for now (the pair is quarantined), since twice in a row"
        " one came with a SequenceNumber that does not follow; the receiver's operator has to"
        " resume the pair, expected of the sender is only to send again"
    ),
}
"""What the sender is told: what was seen, what was expected, and who has to act."""

_CODES = {
    Case.CANCELLED: ErrorCode.DELIVERY_FAILURE,
    Case.EXPIRED: ErrorCode.TIME_TO_LIVE_EXPIRED,
    Case.TOO_OLD: ErrorCode.TIME_TO_LIVE_EXPIRED,
    Case.NOT_SUPPORTED: ErrorCode.NOT_SUPPORTED,
    Case.ORDER_BROKEN: ErrorCode.INCONSISTENT,
    Case.HOLD_FULL: ErrorCode.DELIVERY_FAILURE,
}


def _rejected(code: ErrorCode, reason: str, sequence_number: int | None) -> Journal:
    return Journal(Event.REJECTED, error_code=code, reason=reason, sequence_number=sequence_number)


def acknowledged(
    status: InboundStatus,
    transmission: Transmission,
    terms: DeliveryTerms,
    *,
    wants_receipt: bool = False,
    may_have_left: bool = False,
    is_in_turn: bool = True,
) -> tuple[InboundStatus, tuple[Effect, ...]]:
    """A transmission of the acknowledgement ended: hand the message over, once.

    `wants_receipt`: its sender asked for a delivery receipt. `may_have_left`: before the last start
    an acknowledgement may have left, whatever the outcome of this one. `is_in_turn`: nothing of its
    ordered conversation has to be handed over before it (R-34).
    """
    row = Journal(
        Event.ACK_SENT,
        outcome=transmission.outcome.value,
        status_code=transmission.status_code,
        reason=transmission.detail or None,
    )
    if status is not InboundStatus.STORED:
        return status, (row,)
    if terms.strict_release and certainly_never_left(transmission) and not may_have_left:
        reason = "the acknowledgement did not leave"
        return status, (row, Withhold(), Journal(Event.WITHHELD, reason=reason))
    if not is_in_turn:
        return status, (row,)
    return InboundStatus.HANDED_OVER, (row, *_hand_over(wants_receipt=wants_receipt))


def certainly_never_left(transmission: Transmission) -> bool:
    """Whether it is certain that the acknowledgement did not leave (seed 003 §1, R-12)."""
    return transmission.outcome is Outcome.REFUSED and not transmission.bytes_left


def resume(pair: ReceivingPair) -> tuple[ReceivingPair, tuple[Effect, ...]]:
    """An operator resumed the pair: the next number is accepted, whatever it is."""
    if pair.status is PairStatus.OPEN:
        return pair, ()
    pair = changed(
        pair, status=PairStatus.OPEN, refused_message_id=None, takes_any_number=True, reason=None
    )
    return pair, (Journal(Event.PAIR_RESUMED, reason="operator"), ResolveIncident())
