"""One business message that arrived and keeps to its agreement: store or refuse it, and answer.

`protocol/receiving` decides; this file reads what the decision needs and writes what was decided.
"""

from collections.abc import Sequence

from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.digest import Digests
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import AckRequested, MessageOrder, SignedReference, SyncReplyMode
from onceonly.message.package import Package
from onceonly.message.printable import quoted
from onceonly.message.signals import AckStatus, Assurance
from onceonly.message.terms import ResponseChoice
from onceonly.message.word import Word, changed
from onceonly.protocol import receiving, schedule
from onceonly.protocol.effects import (
    Acknowledge,
    AcknowledgeAnew,
    Answer,
    Effect,
    HandOver,
    Journal,
    OpenIncident,
    SendReceipt,
)
from onceonly.protocol.ordering import Taking
from onceonly.protocol.outbound import Exposure
from onceonly.protocol.receiving import Arrival, Case, InboundStatus, Reception
from onceonly.steps import evidence, holding, mails, verdicts
from onceonly.steps.agreements import ORDER_LOCATION, AdmittedMessage
from onceonly.steps.authority import Caller
from onceonly.steps.cpa import HEADER, check_valid
from onceonly.steps.ground import Ground
from onceonly.steps.handing_over import Debt, wants_receipt
from onceonly.steps.known import find_known, stamp_of
from onceonly.steps.leaving import Released
from onceonly.steps.rows import at_what_waits
from onceonly.steps.signals import acknowledgment, hop_back
from onceonly.steps.signing import Attested
from onceonly.store.contract.entries import InboundEntry, Role, StoredPayload
from onceonly.store.contract.store import Snapshot, Transaction

Stored = Package | str
"""What answers a repeat: our acknowledgement, or the MessageId of our business response."""


class Received(Word):
    """A message that keeps to its agreement, with its payloads at hand and kept."""

    admitted: AdmittedMessage
    payloads: Sequence[StoredPayload]
    digests: Digests
    assurance: Assurance
    """How much of it was checked before it is stored (seed 004 level 0)."""
    mode: SyncReplyMode
    """What its sender expects in the answer of a transport that can carry it."""
    caller: Caller
    attested: Attested | None = None
    """Its signature, which stands; None if it has none and needs none."""
    references: tuple[SignedReference, ...] = ()
    """What its signed acknowledgement holds, if one was asked for (§9.7)."""

    @property
    def key(self) -> MessageKey:
        """Key of the message, with the names of the agreement."""
        return self.admitted.message.key

    @property
    def is_answered_at_once(self) -> bool:
        """Whether its caller gets in the answer of the transport whatever there is to say."""
        at_once = self.admitted.agreement.profile.answers_at_once
        return at_once and self.mode is not SyncReplyMode.NONE

    @property
    def is_acknowledged_apart(self) -> bool:
        """Whether its acknowledgement is no part of a response, whatever was agreed.

        A signed one is a package of its own, so that it does not wait for the application.
        """
        return self.admitted.terms.ack_requested is AckRequested.SIGNED

    @property
    def debt(self) -> Debt:
        """What the hand-over has to know about the message."""
        receipt = hop_back(self.admitted) if wants_receipt(self.admitted.message) else None
        return Debt(self.admitted.message.key, self.admitted.agreement, receipt)


class ArrivalVerdict(Released):
    """What was decided about an arrival, and what follows for the message that it answers."""

    case: Case
    effects: Sequence[Effect]
    response: Stored | None = None
    awaits_response: bool = False
    """Its caller waits for the application's response, which carries the acknowledgement."""


_AT = f"{HEADER}MessageHeader/eb:MessageData/eb:"
_LOCATIONS = {
    Case.EXPIRED: f"{_AT}TimeToLive",
    Case.TOO_OLD: f"{_AT}Timestamp",
    Case.AHEAD: f"{_AT}Timestamp",
}


UNVERIFIED = "its signature was not agreed, and no certificate is here that could verify it"
"""Noted where a message is stored although somebody signed it whom nobody here knows (E2-49)."""


def located(answer: Answer, case: Case) -> Answer:
    """The answer with the place in the header that it is about, for profiles that can say it."""
    return changed(answer, location=answer.location or _LOCATIONS.get(case, ""))


def store(
    txn: Transaction, ground: Ground, received: Received, *, is_awaited: bool
) -> ArrivalVerdict:
    """Decide and store. Reads first, then writes. Raises `RemoteError` as `_check_still_agreed`.

    `is_awaited`: a caller already waits for the application's response to this message.
    """
    admitted = received.admitted
    message, key = admitted.message, received.key
    entry = txn.find_inbound(key)
    before = txn.get_receiving_pair(message.pair)
    stored = None if entry is None else find_response(txn, admitted.agreement, key)
    known = find_known(txn, key, entry, has_response=stored is not None)
    # If nobody waits for the response to the first copy, nobody works on it any more.
    is_told_apart = received.is_acknowledged_apart or not (entry is None or is_awaited)
    mode = SyncReplyMode.NONE if is_told_apart else received.mode
    reception = receiving.receive(
        arrival_of(received, mode),
        known,
        before,
        ground.now,
        admitted.terms,
        is_cancelled=txn.is_cancelled(key),
    )
    taking = None
    if message.order is not None and reception.case is Case.NEW:
        taking = holding.take(txn, ground, message, admitted.terms)
        reception = _in_its_order(reception, message.order, taking)
    if admitted.is_signed and received.attested is None:
        reception = receiving.remarked(reception, UNVERIFIED)
    verdict = ArrivalVerdict(reception.case, reception.effects)
    if reception.case is Case.NEW or reception.case is Case.HELD:
        _check_still_agreed(ground, admitted.agreement)
        verdict = _keep(txn, ground, received, reception, taking)
    elif AcknowledgeAnew() in reception.effects:
        response = _acknowledgment(ground, received, entry)
        txn.put_response(key, response)
        verdict = changed(verdict, response=response)
    elif Acknowledge() in reception.effects:
        verdict = changed(verdict, response=stored)
    if reception.pair != before:
        txn.put_receiving_pair(message.pair, reception.pair)
    _carry_out(txn, ground, received, reception)
    return verdict


def acknowledge_anew(txn: Transaction, ground: Ground, received: Received) -> Package | None:
    """The response did not come in time: from now on an acknowledgement answers every repeat.

    None if an answer is stored already.
    """
    entry = txn.find_inbound(received.key)
    if entry is None:
        return None
    if _is_on_its_way(txn, find_response(txn, received.admitted.agreement, received.key)):
        return None
    response = _acknowledgment(ground, received, entry)
    txn.put_response(entry.key, response)
    return response


def resume_pair(txn: Transaction, ground: Ground, pair: Pair) -> None:
    """Resume a quarantined receiving pair on an operator's word (R-11)."""
    before = txn.get_receiving_pair(pair)
    after, effects = receiving.resume(before)
    if after == before:
        return
    txn.put_receiving_pair(pair, after)
    txn.resolve_incidents(Role.RECEIVER, pair, at=ground.now.at)
    txn.append(
        ground.house.rows.about_pair(pair, None, Direction.IN, effect, ground.now)
        for effect in effects
        if isinstance(effect, Journal)
    )


def find_response(snapshot: Snapshot, agreement: Agreement, key: MessageKey) -> Stored | None:
    """What answers a repeat (seed 001 §1.3.3 (9)): the first response to it, or the latest."""
    try:
        acknowledged = snapshot.get_response(key)
    except KeyError:
        acknowledged = None
    is_most_recent = agreement.terms.response_choice is ResponseChoice.MOST_RECENT
    acknowledges = agreement.profile.response_acknowledges
    if acknowledged is not None and not (acknowledges and is_most_recent):
        return acknowledged
    response = snapshot.find_response(key.message_id, key.from_party, is_most_recent=is_most_recent)
    if response is not None and not (acknowledges or _carries_acknowledgment(snapshot, response)):
        return None
    return response or acknowledged


def _carries_acknowledgment(snapshot: Snapshot, message_id: str) -> bool:
    """Whether our business response acknowledges its request, by an element of its own."""
    view = snapshot.find_outbound_view(message_id)
    return view is not None and view.message.acknowledgment is not None


def arrival_of(received: Received, mode: SyncReplyMode) -> Arrival:
    """What counts for the decision about it, while its sender awaits `mode` in the answer."""
    admitted = received.admitted
    message = admitted.message
    return Arrival(
        message.message_id,
        received.digests.payloads,
        message.wants_ack or message.wants_next_ack,
        message.timestamp_at,
        admitted.sequence_number,
        message.time_to_live_at,
        admitted.terms.method,
        mode,
        message.delivery_receipt_requested,
        received.digests.header,
        stamp_of(message, admitted.ack_requested),
        message.is_eliminated,
    )


def _check_still_agreed(ground: Ground, agreement: Agreement) -> None:
    """Raise `RemoteError` if a reload took the agreement away while the payloads came in.

    And outside of the time for which it was agreed: a repeat is answered whatever the time.
    """
    if ground.house.agreements.find_ours(agreement.id) is None:
        raise RemoteError(
            ErrorCode.VALUE_NOT_RECOGNIZED,
            f"agreement {quoted(agreement.id)} is not known here any more; expected is the id that"
            " both parties agreed on, and have in their configurations",
        )
    check_valid(agreement, ground.now.at)


def _in_its_order(reception: Reception, order: MessageOrder, taking: Taking | None) -> Reception:
    """As the order has it; a refusal names the place in the header that it is about."""
    if taking is None:
        return reception
    reception = receiving.in_its_order(reception, order.number, taking)
    effects = [
        changed(one, location=ORDER_LOCATION) if isinstance(one, Answer) else one
        for one in reception.effects
    ]
    return changed(reception, effects=tuple(effects))


def _keep(
    txn: Transaction,
    ground: Ground,
    received: Received,
    reception: Reception,
    taking: Taking | None,
) -> ArrivalVerdict:
    message, terms = received.admitted.message, received.admitted.terms
    response = None
    if Acknowledge() in reception.effects:
        response = _acknowledgment(ground, received, None)
    keep_until_at = schedule.forgettable_at(message.timestamp_at, ground.now, terms)
    txn.add_inbound(
        message,
        received.payloads,
        response,
        digest=received.digests.payloads,
        header_digest=received.digests.header,
        ack_requested=received.admitted.ack_requested,
        received_at=ground.now.at,
        keep_until_at=keep_until_at,
        has_key=reception.is_remembered,
    )
    if taking is not None:
        holding.keep(txn, ground, message, taking, keep_until_at=keep_until_at)
    evidence.keep_received(txn, ground, received.admitted, received.attested)
    return ArrivalVerdict(
        reception.case,
        reception.effects,
        response,
        received.mode.has_response
        and (terms.is_acknowledged or received.is_answered_at_once)
        and not received.is_acknowledged_apart,
        leaving=verdicts.respond(txn, ground, message, received.caller, received.attested),
    )


def _acknowledgment(ground: Ground, received: Received, entry: InboundEntry | None) -> Package:
    """It may say only what is true when it leaves: "passed on" only after the hand-over."""
    agreed = received.admitted.terms.ack_status
    is_there = entry is None or entry.status is InboundStatus.HANDED_OVER
    status = AckStatus(
        _least(agreed.assurance, received.assurance), agreed.is_passed_on and is_there
    )
    return acknowledgment(ground, received.admitted, status=status, references=received.references)


def _carry_out(txn: Transaction, ground: Ground, received: Received, reception: Reception) -> None:
    records: list[Record] = []
    message, now = received.admitted.message, ground.now
    for effect in reception.effects:
        match effect:
            case Journal():
                row = _row(ground, received, effect)
                records += (row, *_at_what_it_answers(txn, row))
            case HandOver():
                if reception.is_remembered:
                    txn.hand_over(message.key, at=now.at)
            case OpenIncident(reason):
                txn.open_incident(Role.RECEIVER, message.pair, reason, at=now.at)
            case Acknowledge() | AcknowledgeAnew() | Answer() | SendReceipt():
                pass  # These send something; the desk does that after the commit.
            case _:
                raise AssertionError(f"{effect} is no effect of an arrival")
    txn.append(records)


def _row(ground: Ground, received: Received, effect: Journal) -> Record:
    admitted, mail_id = received.admitted, received.caller.mail_id
    row = ground.house.rows.with_header(
        admitted.message,
        admitted.agreement,
        Direction.IN,
        effect,
        ground.now,
        digests=received.digests,
        ack_requested=admitted.ack_requested,
    )
    is_named = admitted.agreement.profile.drops_repeated_mail and effect.error_code is None
    if mail_id is None or not is_named:
        return row
    return changed(row, reason=mails.brought(row.reason, mail_id))


def _is_on_its_way(txn: Snapshot, response: Stored | None) -> bool:
    """Whether an answer exists already; a business response may be held back, or never leave."""
    if not isinstance(response, str):
        return response is not None
    entry = txn.find_outbound(response)
    return entry is not None and entry.state.exposure is not Exposure.NEVER


def _at_what_it_answers(txn: Transaction, row: Record) -> tuple[Record, ...]:
    """If a response is refused, our message that waits for it gets a row about that, too."""
    if row.event is not Event.REJECTED or row.ref_to_message_id is None:
        return ()
    entry = txn.find_outbound(row.ref_to_message_id)
    if entry is None:
        return ()
    return (at_what_waits(row, entry.message_id, entry.pair, f"the response {row.message_id}"),)


_ASSURANCES = tuple(Assurance)


def _least(agreed: Assurance, reached: Assurance) -> Assurance:
    return min(agreed, reached, key=_ASSURANCES.index)
