"""Signals on their way out: built, encoded, posted once (S0-66, R-20).

Header values are those of seed 000 §2.2.2 and seed 001 §1.3.3.1: From is the ReceiverURI and To the
SenderURI of the last RoutingHeader of the message that the signal is about; the agreement's id and
the ConversationId are copied. A DeliveryFailure notice names the parties instead (seed 001 §1.6).
"""

from collections.abc import AsyncIterator

from onceonly.gateway.agreements import Admitted
from onceonly.gateway.clock import Clock
from onceonly.gateway.ids import Identifiers
from onceonly.gateway.persistence import persist
from onceonly.gateway.rows import Rows
from onceonly.message.agreement import Agreement
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, PartyId, is_uri
from onceonly.message.instant import Now
from onceonly.message.message import AcknowledgmentElement, AckRequested, RoutingHeader
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
from onceonly.message.word import Word
from onceonly.protocol.effects import Answer, Journal
from onceonly.protocol.events import Transmission
from onceonly.store.contract.entries import OwedNotice
from onceonly.store.group import GroupCommit
from onceonly.transport.transport import Outgoing, Transport
from onceonly.wire.envelope import About, boundary_for, encode


class BytesBody:
    """A small body in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    @property
    def size_bytes(self) -> int:
        """Length of the content."""
        return len(self._content)

    def whole(self) -> bytes:
        """All of it."""
        return self._content

    async def chunks(self) -> AsyncIterator[bytes]:
        """All of it, in one piece."""
        yield self._content


class Hop(Word):
    """Between which MSHs a signal travels, and what it copies from the message it is about."""

    our_uri: str
    their_uri: str
    profile: Profile
    agreement_id: str
    conversation_id: str


def hop_back(admitted: Admitted) -> Hop:
    """The way of a signal about a message that was received (S0-61 to S0-63, S1-40)."""
    return Hop(
        admitted.hop.receiver_uri,
        admitted.hop.sender_uri,
        admitted.agreement.profile,
        admitted.message.agreement_id,
        admitted.message.conversation_id,
    )


class Signals:
    """Builds and posts signals under this gateway's URIs."""

    def __init__(
        self,
        *,
        group: GroupCommit,
        transport: Transport,
        rows: Rows,
        clock: Clock,
        ids: Identifiers,
        our_uri: str,
    ) -> None:
        self._group = group
        self._transport = transport
        self._rows = rows
        self._clock = clock
        self._ids = ids
        self._our_uri = our_uri

    def hop_to(self, agreement: Agreement, conversation_id: str) -> Hop:
        """The way to the partner where no RoutingHeader is at hand: as was agreed."""
        return Hop(
            self._our_uri, agreement.receiver_uri, agreement.profile, agreement.id, conversation_id
        )

    def acknowledgment(
        self, admitted: Admitted, now: Now, *, status: AckStatus = PLAIN_ACK
    ) -> Package:
        """The acknowledgement of a stored message, encoded; it answers every repeat (R-03)."""
        hop = hop_back(admitted)
        header = self.header(hop, admitted.message.message_id, now)
        return self.encode(Acknowledgment(header, _element_of(admitted, now), status), hop, now)

    def receipt(self, hop: Hop, message_id: str, our_ids: tuple[PartyId, ...], now: Now) -> Package:
        """The delivery receipt of a message that the application has, encoded."""
        header = self.header(hop, message_id, now)
        element = AcknowledgmentElement(timestamp_at=now.at, from_ids=our_ids)
        return self.encode(Acknowledgment(header, element, is_receipt=True), hop, now)

    def error(self, admitted: Admitted, answer: Answer, now: Now) -> Package:
        """The error about a message of an agreement that was refused, encoded."""
        hop = hop_back(admitted)
        header = self.header(hop, admitted.message.message_id, now)
        return self.encode(ErrorSignal(header, (_entry_of(answer),)), hop, now)

    def failure_notice(self, notice: OwedNotice, agreement: Agreement, now: Now) -> Package:
        """A DeliveryFailure notice from us to the From Party, encoded (S1-53 to S1-56)."""
        hop = self.hop_to(agreement, notice.conversation_id)
        header = SignalHeader(
            message_id=self._ids.message_id(),
            from_ids=agreement.our_ids,
            to_ids=agreement.their_ids,
            agreement_id=agreement.id,
            conversation_id=notice.conversation_id,
            timestamp_at=now.at,
            ref_to_message_id=notice.key.message_id,
        )
        entry = ErrorEntry(
            code=ErrorCode.DELIVERY_FAILURE, severity=notice.severity, description=notice.reason
        )
        content = ErrorSignal(header, (entry,), notice.semantics.on_wire)
        return self.encode(content, hop, now)

    def header(self, hop: Hop, ref_to_message_id: str, now: Now) -> SignalHeader:
        """A Header from MSH to MSH, under a fresh MessageId."""
        return SignalHeader(
            message_id=self._ids.message_id(),
            from_ids=(PartyId(hop.our_uri),),
            to_ids=(PartyId(hop.their_uri),),
            agreement_id=hop.agreement_id,
            conversation_id=hop.conversation_id,
            timestamp_at=now.at,
            ref_to_message_id=ref_to_message_id,
        )

    def encode(self, content: Signal, hop: Hop, now: Now) -> Package:
        """The signal as a package with a RoutingHeader of its own (S0-43)."""
        routing = RoutingHeader(
            sender_uri=hop.our_uri,
            receiver_uri=hop.their_uri,
            error_uri=hop.our_uri if hop.profile.has_error_uri else None,
            timestamp_at=now.at,
        )
        token = self._ids.token()
        return encode(
            content,
            routing,
            profile=hop.profile,
            boundary=boundary_for(token),
            root_content_id=f"header-{token}",
        )

    async def post(self, endpoint: str, package: Package) -> Transmission:
        """Transmit a signal once."""
        body = BytesBody(whole(package))
        return await self._transport.send(Outgoing(endpoint, package.content_type, body))

    async def send_error(self, admitted: Admitted, answer: Answer) -> None:
        """Tell the partner that a message of its agreement was refused."""
        package = self.error(admitted, answer, self._clock.now())
        await self._post_error(
            admitted.agreement, admitted.hop.error_uri, admitted.message.key, package, answer
        )

    async def send_rejection(self, about: About, agreement: Agreement, error: RemoteError) -> None:
        """Tell the partner that what it sent could not be taken as a message at all."""
        assert about.message_id is not None, "only what has a MessageId is answered"
        key = MessageKey(agreement.their_party, agreement.our_party, about.message_id)
        answer = Answer(error.code, error.severity, error.description)
        sender_uri = about.sender_uri if about.sender_uri and is_uri(about.sender_uri) else None
        hop = Hop(
            self._our_uri,
            sender_uri or agreement.receiver_uri,
            # Whoever does not speak the profile that was agreed hears why in his own.
            about.profile or agreement.profile,
            about.agreement_id or agreement.id,
            about.conversation_id or "unknown",
        )
        now = self._clock.now()
        signal = ErrorSignal(self.header(hop, about.message_id, now), (_entry_of(answer),))
        package = self.encode(signal, hop, now)
        await self._post_error(agreement, about.error_uri, key, package, answer)

    async def _post_error(
        self,
        agreement: Agreement,
        error_uri: str | None,
        key: MessageKey,
        package: Package,
        answer: Answer,
    ) -> None:
        endpoint = await self._error_endpoint(agreement, error_uri)
        transmission = await self.post(endpoint, package)
        row = self._rows.about_message(
            key,
            agreement,
            Direction.IN,
            error_sent(answer, transmission),
            self._clock.now(),
            endpoint=endpoint,
        )
        await persist(self._group, lambda txn: txn.append((row,)))

    async def _error_endpoint(self, agreement: Agreement, error_uri: str | None) -> str:
        """Ruling R-26: an ErrorURI counts only if the agreement has it."""
        if error_uri is None or error_uri == agreement.send_to:
            return agreement.send_to
        if error_uri == agreement.error_to:
            return error_uri
        if error_uri != agreement.receiver_uri:
            reason = f"ErrorURI {error_uri!r} is not in agreement {agreement.id!r}"
            now = self._clock.now()
            row = self._rows.about_gateway(Event.SECURITY_EVENT, now, reason)
            await persist(self._group, lambda txn: txn.append((row,)))
        return agreement.send_to


def whole(package: Package) -> bytes:
    """The bytes of a package without payloads."""
    return b"".join(package.segments)


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


def _entry_of(answer: Answer) -> ErrorEntry:
    return ErrorEntry(
        code=answer.code,
        severity=answer.severity,
        description=answer.description,
        min_retry_s=answer.min_retry_s,
    )


def _element_of(admitted: Admitted, now: Now) -> AcknowledgmentElement | None:
    """Seed 001 §1.3.3.1: where ackRequested is Signed or Unsigned; Signed was refused before."""
    if admitted.terms.ack_requested is AckRequested.NONE:
        return None
    return AcknowledgmentElement(timestamp_at=now.at, from_ids=admitted.agreement.our_ids)
