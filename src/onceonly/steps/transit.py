"""Relay mode: copies that pass through, and what the next hop says about them (R-13).

The machine of `protocol.relaying` decides everything. Seeds 000 §4.1 and 003 §4.
"""

from collections.abc import Sequence

from onceonly.message.agreement import Route
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import AcknowledgmentElement, AckRequested, Message
from onceonly.message.signals import Acknowledgment, ErrorSignal, SignalHeader
from onceonly.message.word import Word, changed
from onceonly.protocol import relaying, schedule
from onceonly.protocol.effects import AnswerUpstream, Effect, Journal, OpenIncident
from onceonly.protocol.events import AckReceived
from onceonly.protocol.relaying import Arrived, RelayingEvent, TakenUp, Transit, TransitStatus
from onceonly.steps.authority import Caller, is_next_hop
from onceonly.steps.ground import Ground, House
from onceonly.steps.routes import Passage
from onceonly.steps.upstream import Subject, row, row_with_header
from onceonly.steps.verdicts import error_received
from onceonly.store.contract.entries import Role, TransitEntry
from onceonly.store.contract.store import Snapshot, Transaction


class Heard(Word):
    """The result of one event: the entry after it, and the effects of the machine."""

    entry: TransitEntry
    effects: Sequence[Effect]


def arrive(txn: Transaction, ground: Ground, passage: Passage) -> Heard:
    """Store one copy. Raises `RemoteError`."""
    route, message, now = passage.route, passage.message, ground.now
    known = txn.find_transit(route.id, message.message_id)
    ours = txn.find_outbound(message.message_id)
    if ours is not None and ours.pair != message.pair:
        # What the next hop says about the one could not be told from what it says about the other
        #
        raise RemoteError(
            ErrorCode.SECURITY_FAILURE, "another message is on its way under this MessageId"
        )
    before = Transit() if known is None else known.state
    event = Arrived(is_answered=passage.is_answered)
    after, effects = relaying.step(before, event, route.terms)
    if known is None:
        entry = _entry_of(passage, after)
        # By our clock alone. Only the To Party judges the Timestamp, and it may keep ids for ever
        # and with a Timestamp of next year nobody can make us keep an entry for a year.
        keep_until_at = schedule.forgettable_at(now.at, now, route.terms)
        txn.add_transit(entry, passage.package, passage.payloads, keep_until_at=keep_until_at)
    else:
        # What its bytes do not say, only this copy's way says: it may have come round a loop.
        hop = known.hop if route.profile.has_routing_headers else passage.hop
        entry = changed(known, state=after, hop=hop)
        txn.put_transit(entry)
    subject = subject_of(ground.house, entry)
    txn.append(
        row_with_header(ground, subject, passage, effect)
        for effect in effects
        if isinstance(effect, Journal)
    )
    return Heard(entry, effects)


def hear(
    txn: Transaction, ground: Ground, entry: TransitEntry, signal: Acknowledgment | ErrorSignal
) -> Heard:
    """Take the signal of the next hop about a message."""
    if isinstance(signal, ErrorSignal):
        return advance(txn, ground, entry, [error_received(one) for one in signal.errors])
    if signal.is_receipt:
        _note(txn, ground, entry, [Journal(Event.RECEIPT_RECEIVED)])
        return Heard(entry, ())
    events = [AckReceived(is_of_hop=True)] if signal.next_element is not None else []
    if signal.element is not None or not events:
        events.append(AckReceived())
    return advance(txn, ground, entry, events)


def hear_response(txn: Transaction, ground: Ground, response: Message, caller: Caller) -> None:
    """Note that a business response shows that its request arrived (seed 001 §1.3.3 (8b)).

    Nothing is sent upstream for it: the response itself goes there.
    """
    request_id = response.ref_to_message_id
    assert request_id is not None, "a response names its request"
    detail = f"on the business response {response.message_id}"
    back = Pair(response.pair.to_party, response.pair.from_party)
    for route in ground.house.routes:
        is_its = route.pair == back and is_next_hop(caller, route)
        entry = txn.find_transit(route.id, request_id) if is_its else None
        if entry is not None and entry.state.status is TransitStatus.FORWARDING:
            advance(txn, ground, entry, [AckReceived(detail)])


def happen(
    txn: Transaction, ground: Ground, route_id: str, message_id: str, event: RelayingEvent
) -> Heard | None:
    """Tell the machine of the message what happened; None if it is forgotten by now."""
    entry = txn.find_transit(route_id, message_id)
    return None if entry is None else advance(txn, ground, entry, [event])


def take_up_parked(txn: Transaction, ground: Ground, key: MessageKey, reason: str) -> Heard | None:
    """An operator asks for it: send the stored copy once more; None if there is none."""
    found = (txn.find_transit(route.id, key.message_id) for route in ground.house.routes)
    entry = next((one for one in found if one is not None and one.key == key), None)
    if entry is None:
        return None
    txn.resolve_parked(Role.RECEIVER, key.pair, key.message_id, at=ground.now.at)
    return advance(txn, ground, entry, [TakenUp(reason)])


def advance(
    txn: Transaction, ground: Ground, entry: TransitEntry, events: Sequence[RelayingEvent]
) -> Heard:
    """Run the machine of the message, and write its new state and its rows."""
    state, route = entry.state, subject_of(ground.house, entry).route
    effects: list[Effect] = []
    for event in events:
        state, more = relaying.step(state, event, route.terms)
        effects += more
    if not route.profile.has_transient_errors:
        # There is no word for "come again", and the previous hop does so by its timer.
        effects = [one for one in effects if not _asks_for_a_pause(one)]
    if state != entry.state:
        if entry.state.status is TransitStatus.REFUSED:
            # If it was parked, it goes on now, and its incident is over.
            name = entry.key.message_id
            txn.resolve_parked(Role.RECEIVER, entry.key.pair, name, at=ground.now.at)
        entry = changed(entry, state=state)
        txn.put_transit(entry)
    _note(txn, ground, entry, effects)
    return Heard(entry, effects)


def _asks_for_a_pause(effect: Effect) -> bool:
    return isinstance(effect, AnswerUpstream) and effect.code is ErrorCode.TRANSIENT_ERROR


def find_heard_of(
    snapshot: Snapshot, routes: Sequence[Route], header: SignalHeader
) -> TransitEntry | None:
    """The message in transit that the signal of a next hop is about."""
    about = header.ref_to_message_id
    found = filter(None, (snapshot.find_transit(route.id, about) for route in routes))
    named = [one for one in found if header.agreement_id in ("", one.agreement_id)]
    return spoken_of(named, header)


def spoken_of(found: Sequence[TransitEntry], header: SignalHeader) -> TransitEntry | None:
    """Which of several messages with one id the next hop speaks about; None if that is not clear.

    Two origins may use the same id, by chance or on purpose; what is said about the message of one
    must not reach the other. Signals copy the agreement and conversation of their message (S0-63).
    """
    if len(found) < 2:
        return next(iter(found), None)
    named = (header.agreement_id, header.conversation_id)
    meant = [one for one in found if (one.agreement_id, one.conversation_id) == named]
    return meant[0] if len(meant) == 1 else None


def subject_of(house: House, entry: TransitEntry) -> Subject:
    """The message, with everything that a signal upstream about it needs."""
    return Subject(
        house.route(entry.route_id),
        entry.key,
        entry.agreement_id,
        entry.conversation_id,
        entry.upstream_uri,
        entry.hop,
    )


def element_upstream(
    entry: TransitEntry, signal: Acknowledgment, subject: Subject
) -> AcknowledgmentElement | None:
    """The final party's Acknowledgment element, if the origin asked for one (S1-49)."""
    if entry.ack_requested in (None, AckRequested.NONE):
        return None
    final_party = subject.route.to_ids
    heard = signal.element
    if heard is None:
        return AcknowledgmentElement(timestamp_at=signal.header.timestamp_at, from_ids=final_party)
    return heard if heard.from_ids else changed(heard, from_ids=final_party)


def _note(txn: Transaction, ground: Ground, entry: TransitEntry, effects: Sequence[Effect]) -> None:
    subject = subject_of(ground.house, entry)
    txn.append(
        row(ground, subject, Direction.OUT, effect)
        for effect in effects
        if isinstance(effect, Journal)
    )
    name = entry.key.message_id
    for effect in effects:
        if isinstance(effect, OpenIncident):
            text = f"{effect.reason} ({name})"
            at = ground.now.at
            txn.open_incident(Role.RECEIVER, entry.key.pair, text, at=at, message_id=name)


def _entry_of(passage: Passage, state: Transit) -> TransitEntry:
    message = passage.message
    return TransitEntry(
        key=message.key,
        route_id=passage.route.id,
        upstream_uri=passage.previous.sender_uri,
        agreement_id=message.agreement_id,
        conversation_id=message.conversation_id,
        ack_requested=passage.previous.ack_requested,
        digest=passage.digests.payloads,
        hop=passage.hop,
        state=state,
    )
