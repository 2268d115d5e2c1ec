"""Signals, built and encoded (S0-66, R-20).

Header values are those of seed 000 §2.2.2 and seed 001 §1.3.3.1: From is the ReceiverURI and To the
SenderURI of the last RoutingHeader of the message that the signal is about; the agreement's id and
the ConversationId are copied. A DeliveryFailure notice names the parties instead (seed 001 §1.6),
and so does every signal of a profile without RoutingHeaders.
"""

from onceonly.message.agreement import Agreement
from onceonly.message.cpa import MessageIdForm
from onceonly.message.errors import RemoteError
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey, PartyId, is_uri
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    Actor,
    RoutingHeader,
    SignedReference,
)
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import (
    PLAIN_ACK,
    Acknowledgment,
    AckStatus,
    ErrorEntry,
    ErrorSignal,
    Signal,
    SignalHeader,
)
from onceonly.message.signing import SigningTerms
from onceonly.message.word import Word
from onceonly.protocol.effects import Answer, AnswerUpstream, Journal
from onceonly.protocol.events import Transmission
from onceonly.steps.agreements import AdmittedMessage
from onceonly.steps.ground import Ground, House
from onceonly.steps.notices import code_of
from onceonly.steps.signing import signing_of, signs
from onceonly.store.contract.entries import OwedNotice
from onceonly.wire.envelope import About, boundary_for, encode


class Hop(Word):
    """Between which MSHs a signal is sent, and what it copies from the message it is about.

    The URIs have a meaning in a profile with RoutingHeaders only, and the names of the parties in
    one without them.
    """

    our_uri: str
    their_uri: str
    profile: Profile
    agreement_id: str
    conversation_id: str
    our_ids: tuple[PartyId, ...] = ()
    their_ids: tuple[PartyId, ...] = ()
    signing: SigningTerms = SigningTerms()
    our_role: str | None = None
    their_role: str | None = None
    id_form: MessageIdForm = MessageIdForm.DOMAIN


def hop_back(admitted: AdmittedMessage) -> Hop:
    """Where a signal about a received message goes (S0-61 to S0-63, S1-40)."""
    hop, message = admitted.hop, admitted.message
    return Hop(
        "" if hop is None else hop.receiver_uri,
        "" if hop is None else hop.sender_uri,
        admitted.agreement.profile,
        admitted.agreement.name_on_wire,
        message.conversation_id,
        message.to_ids,
        message.from_ids,
        admitted.agreement.signing,
        *_words_of(admitted.agreement),
    )


def hop_to(house: House, agreement: Agreement, conversation_id: str) -> Hop:
    """Where a signal to the partner goes if no RoutingHeader is at hand: as was agreed."""
    return Hop(
        house.uri,
        agreement.receiver_uri,
        agreement.profile,
        agreement.name_on_wire,
        conversation_id,
        agreement.our_ids,
        agreement.their_ids,
        agreement.signing,
        *_words_of(agreement),
    )


def _words_of(agreement: Agreement) -> tuple[str | None, str | None, MessageIdForm]:
    """Ours and the partner's, if signals are to say them, and how their ids look."""
    cpa = agreement.cpa
    ours, theirs = (cpa.role, cpa.partner_role) if cpa.has_roles_on_signals else (None, None)
    return ours, theirs, cpa.message_id_form


def hop_of_rejection(house: House, about: About, agreement: Agreement) -> Hop:
    """Where the error goes that a package could not be read as a message at all."""
    sender_uri = about.sender_uri if about.sender_uri and is_uri(about.sender_uri) else None
    return Hop(
        house.uri,
        sender_uri or agreement.receiver_uri,
        # A sender that uses another profile than agreed is answered in the profile that it used.
        about.profile or agreement.profile,
        about.agreement_id or agreement.name_on_wire,
        about.conversation_id or "unknown",
        agreement.our_ids,
        about.from_ids if _is_partner(about, agreement) else agreement.their_ids,
        agreement.signing,
        *_words_of(agreement),
    )


def _is_partner(about: About, agreement: Agreement) -> bool:
    """Whether the refused package names its sender as the agreement does (E2-22).

    Where it names somebody else, the agreement's partner is told under its own names.
    """
    return bool(about.from_ids) and all(one in agreement.their_ids for one in about.from_ids)


def hop_to_stranger(house: House, about: About) -> Hop:
    """Where the error goes whose receiver no agreement names: back on the same connection."""
    assert about.profile is not None, "its document said that it waits"
    return Hop(
        house.uri,
        house.uri,
        about.profile,
        about.agreement_id or "unknown",
        about.conversation_id or "unknown",
        house.party,
        about.from_ids,
    )


def acknowledgment(
    ground: Ground,
    admitted: AdmittedMessage,
    *,
    status: AckStatus = PLAIN_ACK,
    references: tuple[SignedReference, ...] = (),
) -> Package:
    """The acknowledgement of a stored message, encoded; it answers every repeat (R-03).

    A signed one, if that was asked for, holds the `references` of the message (§9.7).
    """
    hop = hop_back(admitted)
    header = signal_header(ground, hop, admitted.message.message_id)
    element = next_element = None
    # Seed 001 §1.3.3.1: if ackRequested is Signed or Unsigned.
    is_signed = admitted.terms.ack_requested is AckRequested.SIGNED
    if admitted.terms.ack_requested is not AckRequested.NONE:
        element = AcknowledgmentElement(
            timestamp_at=ground.now.at,
            from_ids=admitted.agreement.our_ids,
            references=references if is_signed else (),
        )
    if admitted.message.wants_next_ack:
        # The To Party's MSH is the next one as well, and speaks once for each (`ebms2.md` §6).
        next_element = AcknowledgmentElement(timestamp_at=ground.now.at, actor=Actor.NEXT_MSH)
    content = Acknowledgment(header, element, status, next_element=next_element)
    return encoded(ground, content, hop, is_signed=is_signed)


def receipt(ground: Ground, hop: Hop, message_id: str, our_ids: tuple[PartyId, ...]) -> Package:
    """The delivery receipt of a message that the application has, encoded."""
    header = signal_header(ground, hop, message_id)
    element = AcknowledgmentElement(timestamp_at=ground.now.at, from_ids=our_ids)
    return encoded(ground, Acknowledgment(header, element, is_receipt=True), hop)


def error(ground: Ground, hop: Hop, message_id: str, answer: Answer) -> Package:
    """The error about a message that was refused, encoded."""
    header = signal_header(ground, hop, message_id)
    return encoded(ground, ErrorSignal(header, (entry_of(answer),)), hop)


def failure_notice(ground: Ground, notice: OwedNotice, agreement: Agreement) -> Package:
    """A notice from us to the From Party, encoded (S1-53 to S1-56); mostly a DeliveryFailure."""
    hop = hop_to(ground.house, agreement, notice.conversation_id)
    header = SignalHeader(
        message_id=ground.message_id(f"notice {notice.key.message_id}", agreement),
        from_ids=agreement.our_ids,
        to_ids=agreement.their_ids,
        agreement_id=hop.agreement_id,
        conversation_id=notice.conversation_id,
        timestamp_at=ground.now.at,
        ref_to_message_id=notice.key.message_id,
        from_role=hop.our_role,
        to_role=hop.their_role,
    )
    entry = ErrorEntry(
        code=code_of(ground.house, notice), severity=notice.severity, description=notice.reason
    )
    return encoded(ground, ErrorSignal(header, (entry,), notice.semantics.on_wire), hop)


def signal_header(
    ground: Ground, hop: Hop, ref_to_message_id: str, message_id: str | None = None
) -> SignalHeader:
    """A Header from MSH to MSH, under a fresh MessageId unless it has one."""
    is_hop = hop.profile.has_routing_headers
    return SignalHeader(
        message_id=message_id or ground.message_id_as(hop.id_form, f"signal {ref_to_message_id}"),
        from_ids=(PartyId(hop.our_uri),) if is_hop else hop.our_ids,
        to_ids=(PartyId(hop.their_uri),) if is_hop else hop.their_ids,
        agreement_id=hop.agreement_id,
        conversation_id=hop.conversation_id,
        timestamp_at=ground.now.at,
        ref_to_message_id=ref_to_message_id,
        from_role=hop.our_role,
        to_role=hop.their_role,
    )


def encoded(ground: Ground, content: Signal, hop: Hop, *, is_signed: bool = False) -> Package:
    """The signal as a package with a RoutingHeader of its own (S0-43).

    `is_signed`: it is signed whatever is agreed about signals.
    """
    routing = RoutingHeader(
        sender_uri=hop.our_uri,
        receiver_uri=hop.their_uri,
        error_uri=hop.our_uri if hop.profile.has_error_uri else None,
        timestamp_at=ground.now.at,
    )
    token = ground.token(f"package {content.header.message_id}")
    signing = None
    if hop.profile.has_signatures and signs(hop.signing, content, is_asked=is_signed):
        signing = signing_of(ground.house.identities, hop.signing, ground.now.at)
        assert signing is not None, "who agreed to sign has an identity"
    return encode(
        content,
        routing,
        profile=hop.profile,
        boundary=boundary_for(token),
        root_content_id=f"header-{token}",
        signing=signing,
    )


def whole(package: Package) -> bytes:
    """The bytes of a package without payloads."""
    return b"".join(package.segments)


def entry_of(answer: Answer | AnswerUpstream) -> ErrorEntry:
    """The answer as one entry of an ErrorList."""
    return ErrorEntry(
        code=answer.code,
        severity=answer.severity,
        description=answer.description,
        min_retry_s=answer.min_retry_s,
        location=answer.location if isinstance(answer, Answer) else "",
    )


def answer_of(refusal: RemoteError) -> Answer:
    """What the sender of a refused package is told."""
    return Answer(refusal.code, refusal.severity, refusal.description, location=refusal.location)


def error_sent(answer: Answer, transmission: Transmission) -> Journal:
    """The row about an error that was sent."""
    return Journal(
        Event.ERROR_SENT,
        outcome=transmission.outcome.value,
        status_code=transmission.status_code,
        error_code=answer.code,
        severity=answer.severity,
        reason=answer.description,
    )


def outcome_row(event: Event, transmission: Transmission, reason: str | None = None) -> Journal:
    """The row about how the transmission of a signal ended."""
    return Journal(
        event,
        outcome=transmission.outcome.value,
        status_code=transmission.status_code,
        reason=reason or transmission.detail or None,
    )


def key_of_rejection(about: About, agreement: Agreement) -> MessageKey:
    """The key of the message that an unreadable package names."""
    assert about.message_id is not None, "only what has a MessageId is answered"
    return MessageKey(agreement.their_party, agreement.our_party, about.message_id)
