"""What a partner says about a message of ours, passed on to its machines (R-20, R-44)."""

from collections.abc import Sequence

from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.cpa import AckActor
from onceonly.message.errors import ErrorCode
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, Pair, PartyId
from onceonly.message.message import Message
from onceonly.message.profile import Profile
from onceonly.message.signals import (
    PLAIN_ACK,
    Acknowledgment,
    ErrorEntry,
    ErrorSignal,
    SignalHeader,
)
from onceonly.message.terms import Intermediary
from onceonly.message.word import changed
from onceonly.protocol import recovering
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import AckReceived, ErrorReceived
from onceonly.protocol.outbound import sent_beside
from onceonly.protocol.sending import Exposure, OutboundStatus
from onceonly.steps import evidence, sending
from onceonly.steps.authority import Caller, is_entitled
from onceonly.steps.ground import Ground, House
from onceonly.steps.leaving import Leaving
from onceonly.steps.signing import Heard, Unproven, heard_across
from onceonly.steps.work import MessageWork, RecoveryWork, Work
from onceonly.store.contract.entries import OutboundEntry
from onceonly.store.contract.store import Snapshot, Transaction

HEARS_RECEIPTS = frozenset(
    {
        OutboundStatus.QUEUED,
        OutboundStatus.SENDING,
        OutboundStatus.IN_DOUBT,
        OutboundStatus.ACKNOWLEDGED,
        OutboundStatus.SETTLED_DELIVERED,
        OutboundStatus.SETTLED_NOT_DELIVERED,
    }
)
"""Statuses in which a receipt of the To Party is news, also after an intermediary acknowledged."""


def take_acknowledgment(
    txn: Transaction,
    ground: Ground,
    signal: Acknowledgment,
    profile: Profile,
    caller: Caller,
    heard: Heard = None,
) -> Leaving | None:
    """Take an acknowledgement or a receipt; None if it fits no message of ours (R-20).

    One that is not what was asked for never acknowledges (R-31); the message goes on as before.
    """
    entry = find_acknowledged(txn, ground.house, signal, profile, caller)
    if entry is None:
        return None
    agreement = ground.house.agreement(entry.agreement_id)
    if is_of_hop_alone(signal, agreement):
        return _note_next(txn, ground, entry, agreement)
    if not evidence.take_proof(txn, ground, entry, signal.element, heard):
        return Leaving()
    work = []
    # A receipt alone also shows that the message arrived (seed 001 §2.1.1.2).
    if not signal.is_receipt or entry.state.status in HEARS_RECEIPTS:
        event = AckReceived(_detail(signal), is_from_to_party=signal.is_receipt)
        work.append(MessageWork(entry.message_id, event))
    if signal.is_receipt:
        received = Journal(Event.RECEIPT_RECEIVED)
        txn.append((row_to_partner(ground, agreement, entry.message_id, received),))
    return sending.run(txn, ground, work, entry=entry)


def is_of_hop_alone(signal: Acknowledgment, agreement: Agreement) -> bool:
    """Whether the next MSH alone speaks, and the To Party was asked as well (R-32)."""
    is_of_hop = signal.element is None and signal.next_element is not None
    return is_of_hop and agreement.cpa.ack_actor is AckActor.BOTH


def _note_next(
    txn: Transaction, ground: Ground, entry: OutboundEntry, agreement: Agreement
) -> Leaving:
    """The next MSH has it: the wait for the To Party begins again, and nothing is acknowledged."""
    taken = Journal(Event.HOP_ACK_RECEIVED, attempt=entry.state.attempt)
    txn.append((row_to_partner(ground, agreement, entry.message_id, taken),))
    is_waiting = entry.state.status is OutboundStatus.SENDING
    event = AckReceived(is_of_hop=True)
    work = (MessageWork(entry.message_id, event),) if is_waiting else ()
    return sending.run(txn, ground, work, entry=entry)


def take_errors(
    txn: Transaction, ground: Ground, signal: ErrorSignal, profile: Profile, caller: Caller
) -> Leaving | None:
    """Take an ErrorList; None if it fits no message of ours (R-20)."""
    entry = find_spoken_of(txn, ground.house, signal.header, profile, caller)
    if entry is None:
        return None
    work = [MessageWork(entry.message_id, error_received(one)) for one in signal.errors]
    return sending.run(txn, ground, work, entry=entry)


def respond(
    txn: Transaction, ground: Ground, message: Message, caller: Caller, heard: Heard = None
) -> Leaving | None:
    """Take what an inbound message says about ours that it answers, in the step that stores it.

    A business response shows that the request arrived (seed 001 §1.3.3 (8b); in `rm-2000` only the
    acknowledgement does) and ends the wait for it (level 5). None if it answers no message of ours.
    """
    about = message.answered_id
    if about is None:
        return None
    _note_stray(txn, ground, message, about)
    entry = txn.find_outbound(about)
    if entry is None or message.pair != Pair(entry.pair.to_party, entry.pair.from_party):
        # It is carried for others, or answers a message that we carry for others.
        _note_orphan(txn, ground, message, about)
        return None
    agreement = ground.house.agreements.find(entry.agreement_id)
    if agreement is None or not is_entitled(caller, agreement):
        # It came under another agreement than the message that it answers.
        _note_orphan(txn, ground, message, about)
        return None
    if message.agreement_id != agreement.id:
        heard = heard_across(agreement.signing, message, heard)
        if isinstance(heard, Unproven) and not _carries_acknowledgment(message):
            return None
    work: list[Work] = []
    is_known = entry.state.status is OutboundStatus.ACKNOWLEDGED and entry.state.has_arrived
    is_news = not is_known and entry.state.exposure is not Exposure.NEVER
    acknowledges = agreement.profile.response_acknowledges or _carries_acknowledgment(message)
    if acknowledges:
        acknowledges = evidence.take_proof(txn, ground, entry, message.acknowledgment, heard)
    if is_news and acknowledges:
        detail = f"on the business response {message.message_id}"
        work.append(MessageWork(entry.message_id, AckReceived(detail, is_from_to_party=True)))
    is_believed = not isinstance(heard, Unproven)
    is_response = message.ref_to_message_id is not None
    if agreement.terms.recovery.response_within_s is not None and is_believed and is_response:
        work.append(RecoveryWork(entry.message_id, recovering.ResponseReceived()))
    return sending.run(txn, ground, work, entry=entry) if work else None


def _carries_acknowledgment(message: Message) -> bool:
    """Whether the message acknowledges the one that it answers, by an element of its own."""
    element = message.acknowledgment
    return element is not None and element.ref_to_message_id in ("", message.answered_id)


def _note_orphan(txn: Transaction, ground: Ground, message: Message, about: str) -> None:
    """An Acknowledgment on a message that is stored, about `about`: it changes nothing (R-20).

    If that is a message of ours, somebody spoke for another (attack S3).
    """
    element, house = message.acknowledgment, ground.house
    if element is None or element.ref_to_message_id != about:
        return
    if house.routes.find_for(message) is not None:
        return  # It is stored for others, who judge it.
    row = changed(
        house.rows.about_gateway(
            Event.ORPHAN_ACK_RECEIVED, ground.now, f"{ORPHAN}, on {message.message_id}"
        ),
        direction=Direction.OUT,
        message_id=about,
        agreement_id=house.agreement(message.agreement_id).name_on_wire,
    )
    txn.append((row,))
    if is_ours(txn, house, about):
        alarm = changed(
            row,
            event=Event.SECURITY_EVENT,
            error_code=ErrorCode.SECURITY_FAILURE.value,
            reason=f"about a message of ours: {row.reason}",
        )
        txn.append((alarm,))


def _note_stray(txn: Transaction, ground: Ground, message: Message, about: str) -> None:
    """An Acknowledgment of another message than the one that its message answers (§7: orphan)."""
    element = message.acknowledgment
    if element is not None and element.ref_to_message_id not in ("", about):
        _note_orphan(txn, ground, message, element.ref_to_message_id)


ORPHAN = "fits no message of ours and its peer"
"""Why an acknowledgement or an error changes nothing."""


def send_beside(txn: Transaction, ground: Ground, message_id: str) -> bool:
    """Note that a copy may have left (I24); called before a copy that the machine did not begin.

    False if no copy may leave any more, or the message is forgotten.
    """
    entry = txn.find_outbound(message_id)
    after = None if entry is None else sent_beside(entry.state)
    if after is not None:
        txn.put_outbound(message_id, after, at=ground.now.at)
    return after is not None


def find_acknowledged(
    snapshot: Snapshot, house: House, signal: Acknowledgment, profile: Profile, caller: Caller
) -> OutboundEntry | None:
    """The acknowledged message; None if a stranger's Acknowledgment element says so (I29)."""
    entry = find_spoken_of(snapshot, house, signal.header, profile, caller)
    if entry is None:
        return None
    agreement = house.agreement(entry.agreement_id)
    return entry if is_acknowledged_by_partner(signal, agreement) else None


def is_acknowledged_by_another(
    snapshot: Snapshot, house: House, signal: Acknowledgment, profile: Profile, caller: Caller
) -> bool:
    """Whether the signal fits a message of ours, but its element names a stranger (I29)."""
    return (
        find_spoken_of(snapshot, house, signal.header, profile, caller) is not None
        and find_acknowledged(snapshot, house, signal, profile, caller) is None
    )


def find_spoken_of(
    snapshot: Snapshot, house: House, header: SignalHeader, profile: Profile, caller: Caller
) -> OutboundEntry | None:
    """The message that the signal is about, if its caller may speak about it (R-20, R-44).

    RefToMessageId, the names, the profile and what the caller shows must fit the agreement of the
    message; and the signal names that agreement, or none.
    """
    entry = snapshot.find_outbound(header.ref_to_message_id)
    agreement = None if entry is None else house.agreements.find(entry.agreement_id)
    if entry is None or agreement is None:
        return None  # Of no message, or of one whose agreement is not configured any more.
    fits = (
        agreement.profile is profile
        and is_from_partner(header, agreement)
        and is_entitled(caller, agreement)
        and header.agreement_id in ("", _name_on_wire(snapshot, entry, agreement))
    )
    return entry if fits else None


def is_ours(snapshot: Snapshot, house: House, message_id: str) -> bool:
    """Whether a message of ours has this id, under an agreement that is configured."""
    entry = snapshot.find_outbound(message_id)
    return entry is not None and house.agreements.find(entry.agreement_id) is not None


def is_from_partner(header: SignalHeader, agreement: Agreement) -> bool:
    """Whether the signal names the agreement's partner as its sender (R-20).

    Signals name the MSH's URI (seed 000 §2.2.2, seed 001 §1.3.3.1), some the party.
    """
    return _are_names_of_partner(header.from_ids, agreement)


def is_acknowledged_by_partner(signal: Acknowledgment, agreement: Agreement) -> bool:
    """Whether the Acknowledgment element names the partner, if there is an element with names.

    Only an accepting intermediary acknowledges in its own name (seed 001 §1.3.4.2). A receipt says
    that the application has the message, so only the To Party can give it, whoever brings it.
    """
    if signal.element is None:
        # The next MSH speaks for its hop only, and only if it was asked.
        was_asked = agreement.cpa.ack_actor is not AckActor.TO_PARTY_MSH
        return signal.next_element is None or was_asked
    # Where an acknowledgement says whose it is, an intermediary has one of its own.
    speaks_for_all = not agreement.profile.acknowledges_on_request
    is_accepting = agreement.terms.intermediary is Intermediary.ACCEPT
    if is_accepting and speaks_for_all and not signal.is_receipt:
        return True
    return _are_names_of_partner(signal.element.from_ids, agreement)


def row_to_partner(
    ground: Ground,
    agreement: Agreement,
    message_id: str | None,
    effect: Journal,
    *,
    endpoint: str | None = None,
) -> Record:
    """A row about our message to the partner, or about the pair where there is none."""
    pair = Pair(agreement.our_party, agreement.their_party)
    key = MessageKey(*pair, message_id or "")
    row = ground.house.rows.about_message(
        key, agreement, Direction.OUT, effect, ground.now, endpoint=endpoint
    )
    return row if message_id else changed(row, message_id=None)


def error_received(entry: ErrorEntry) -> ErrorReceived:
    """An entry of an ErrorList as an event for the machines."""
    text = ": ".join(part for part in (entry.code_text, entry.description) if part)
    return ErrorReceived(entry.code, entry.severity, entry.min_retry_s, text)


def _are_names_of_partner(parties: Sequence[PartyId], agreement: Agreement) -> bool:
    """Whether each is one of the partner's PartyIds, or a URI of its MSH.

    Some products write one fixed type into their signals, so an agreement may ask for the values
    alone; whose caller it is, is asked as always (IR-26).
    """
    is_lenient = agreement.cpa.has_lenient_signal_parties
    for one in parties:
        is_known = one in agreement.their_ids or (
            is_lenient and any(one.value == theirs.value for theirs in agreement.their_ids)
        )
        if not is_known and str(one) not in (agreement.receiver_uri, agreement.send_to):
            return False
    return True


def _name_on_wire(snapshot: Snapshot, entry: OutboundEntry, agreement: Agreement) -> str:
    """TPAId or CPAId of the message; if we send it for others, its own, not that of our route."""
    if not agreement.is_route:
        return agreement.name_on_wire
    taken_over = snapshot.find_inbound(MessageKey(*entry.pair, entry.message_id))
    return agreement.name_on_wire if taken_over is None else taken_over.agreement_id


def _detail(signal: Acknowledgment) -> str | None:
    """What the acknowledgement says beyond "received and persisted" (seed 004 level 0)."""
    if signal.is_receipt:
        return "delivery receipt"
    if signal.status == PLAIN_ACK:
        return None
    said = signal.status.assurance.value
    return f"{said}, passed on" if signal.status.is_passed_on else said
