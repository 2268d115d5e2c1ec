"""Signals on their way out: each is posted once (S0-66, R-20)."""

from collections.abc import AsyncIterator

from onceonly.gateway.desk import Desk
from onceonly.message.agreement import Agreement
from onceonly.message.errors import RemoteError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.message.package import Package
from onceonly.protocol.effects import Answer
from onceonly.protocol.events import Transmission
from onceonly.steps import signals
from onceonly.steps.agreements import Admitted
from onceonly.transport.transport import Outgoing, Transport
from onceonly.wire.envelope import About


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
    """Posts signals under this gateway's URIs."""

    def __init__(self, *, desk: Desk, transport: Transport) -> None:
        self._desk = desk
        self._transport = transport

    async def post(self, endpoint: str, package: Package) -> Transmission:
        """Transmit a signal once."""
        body = BytesBody(signals.whole(package))
        return await self._transport.send(Outgoing(endpoint, package.content_type, body))

    async def send_error(self, admitted: Admitted, answer: Answer) -> None:
        """Tell the partner that a message of its agreement was refused."""
        key, hop = admitted.message.key, signals.hop_back(admitted)
        package = signals.error(self._desk.ground(), hop, key.message_id, answer)
        await self._post_error(admitted.agreement, admitted.hop.error_uri, key, package, answer)

    async def send_rejection(self, about: About, agreement: Agreement, error: RemoteError) -> None:
        """Tell the partner that what it sent could not be taken as a message at all."""
        key, answer = signals.key_of_rejection(about, agreement), signals.answer_of(error)
        hop = signals.hop_of_rejection(self._desk.house, about, agreement)
        package = signals.error(self._desk.ground(), hop, key.message_id, answer)
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
        sent = signals.error_sent(answer, await self.post(endpoint, package))
        await self._desk.note(key, agreement, Direction.IN, sent, endpoint=endpoint)

    async def _error_endpoint(self, agreement: Agreement, error_uri: str | None) -> str:
        """Ruling R-26: an ErrorURI counts only if the agreement has it."""
        if error_uri is None or error_uri == agreement.send_to:
            return agreement.send_to
        if error_uri == agreement.error_to:
            return error_uri
        if error_uri != agreement.receiver_uri:
            reason = f"ErrorURI {error_uri!r} is not in agreement {agreement.id!r}"
            await self._desk.write(self._desk.about_gateway(Event.SECURITY_EVENT, reason))
        return agreement.send_to
