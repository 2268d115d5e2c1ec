"""Acknowledgements and errors on their way out: built, encoded, posted once (S0-66, R-20).

Header values are those of seed 000 §2.2.2: From is the ReceiverURI and To the SenderURI of the
message that the signal is about; TPAId and ConversationId are copied.
"""

from collections.abc import AsyncIterator

from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Agreement
from onceonly.gateway.ids import Identifiers
from onceonly.gateway.persistence import persist
from onceonly.gateway.rows import Rows
from onceonly.message.errors import RemoteError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, PartyId, is_uri
from onceonly.message.instant import Now
from onceonly.message.message import Message, RoutingHeader
from onceonly.message.package import Package
from onceonly.message.signals import Acknowledgment, ErrorEntry, ErrorSignal, SignalHeader
from onceonly.protocol.effects import Answer, Journal
from onceonly.protocol.events import Transmission
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


class Signals:
    """Builds and posts signals under this gateway's URI."""

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

    def acknowledgment(
        self, message: Message, hop: RoutingHeader, agreement: Agreement, now: Now
    ) -> Package:
        """The acknowledgement of a stored message, encoded; it answers every repeat (R-03)."""
        header = self._header(
            hop.sender_uri, message.agreement_id, message.conversation_id, message.message_id, now
        )
        return self._encode(Acknowledgment(header), hop.sender_uri, agreement, now)

    async def post(self, endpoint: str, package: Package) -> Transmission:
        """Transmit a signal once."""
        body = BytesBody(b"".join(package.segments))
        return await self._transport.send(Outgoing(endpoint, package.content_type, body))

    async def send_error(
        self, hop: RoutingHeader, agreement: Agreement, message: Message, answer: Answer
    ) -> None:
        """Tell the partner that a message of its agreement was refused."""
        entry = ErrorEntry(
            code=answer.code,
            severity=answer.severity,
            description=answer.description,
            min_retry_s=answer.min_retry_s,
        )
        await self._send(
            agreement, hop.sender_uri, hop.error_uri, message.key, message.conversation_id, entry
        )

    async def send_rejection(self, about: About, agreement: Agreement, error: RemoteError) -> None:
        """Tell the partner that what it sent could not be taken as a message at all."""
        assert about.message_id is not None, "only what has a MessageId is answered"
        key = MessageKey(agreement.their_party, agreement.our_party, about.message_id)
        entry = ErrorEntry(code=error.code, severity=error.severity, description=error.description)
        sender_uri = about.sender_uri if about.sender_uri and is_uri(about.sender_uri) else None
        await self._send(
            agreement,
            sender_uri or agreement.receiver_uri,
            about.error_uri,
            key,
            about.conversation_id or "unknown",
            entry,
        )

    async def _send(
        self,
        agreement: Agreement,
        sender_uri: str,
        error_uri: str | None,
        key: MessageKey,
        conversation_id: str,
        entry: ErrorEntry,
    ) -> None:
        now = self._clock.now()
        endpoint = await self._error_endpoint(agreement, error_uri, now)
        header = self._header(sender_uri, agreement.id, conversation_id, key.message_id, now)
        package = self._encode(ErrorSignal(header, (entry,)), sender_uri, agreement, now)
        transmission = await self.post(endpoint, package)
        row = self._rows.about_message(
            key,
            agreement,
            Direction.IN,
            Journal(
                Event.ERROR_SENT,
                outcome=transmission.outcome.value,
                status_code=transmission.status_code,
                error_code=entry.code,
                severity=entry.severity,
                reason=entry.description,
            ),
            self._clock.now(),
            endpoint=endpoint,
        )
        await persist(self._group, lambda txn: txn.append((row,)))

    async def _error_endpoint(self, agreement: Agreement, error_uri: str | None, now: Now) -> str:
        """Ruling R-26: an ErrorURI counts only if the agreement has it."""
        if error_uri is None or error_uri == agreement.send_to:
            return agreement.send_to
        if error_uri == agreement.error_to:
            return error_uri
        if error_uri != agreement.receiver_uri:
            reason = f"ErrorURI {error_uri!r} is not in agreement {agreement.id!r}"
            row = self._rows.about_gateway(Event.SECURITY_EVENT, now, reason)
            await persist(self._group, lambda txn: txn.append((row,)))
        return agreement.send_to

    def _header(
        self,
        sender_uri: str,
        agreement_id: str,
        conversation_id: str,
        ref_to_message_id: str,
        now: Now,
    ) -> SignalHeader:
        return SignalHeader(
            message_id=self._ids.message_id(),
            from_ids=(PartyId(self._our_uri),),
            to_ids=(PartyId(sender_uri),),
            agreement_id=agreement_id,
            conversation_id=conversation_id,
            timestamp_at=now.at,
            ref_to_message_id=ref_to_message_id,
        )

    def _encode(
        self,
        content: Acknowledgment | ErrorSignal,
        receiver_uri: str,
        agreement: Agreement,
        now: Now,
    ) -> Package:
        routing = RoutingHeader(
            sender_uri=self._our_uri,
            receiver_uri=receiver_uri,
            error_uri=self._our_uri,
            timestamp_at=now.at,
        )
        token = self._ids.token()
        return encode(
            content,
            routing,
            profile=agreement.profile,
            boundary=boundary_for(token),
            root_content_id=f"header-{token}",
        )
