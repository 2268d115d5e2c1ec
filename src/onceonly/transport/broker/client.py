"""The AMQP sender: publishes packages and waits for the broker's confirm.

The binding of method `Transport` (seed 001 §1.2.4): the broker keeps the message from its publisher
confirm on, so that is what *accepted* means here. One package is one persistent message:

    body               the package
    Content-Type       header: the whole type of the package (it may be too long for the property)
    content_type       property: multipart/related
    message_id         property: the MessageId, where it fits
    delivery_mode      2, so that a durable queue keeps it over a crash of the broker

It is published as mandatory: if no queue takes it, it comes back and is refused. Without a confirm
the outcome is unknown, and the receiver eliminates the next copy by its MessageId.
"""

import asyncio
from collections.abc import Awaitable, Callable

from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractExchange
from aio_pika.exceptions import DeliveryError
from aiormq.abc import DeliveredMessage

from onceonly.message.errors import LocalError
from onceonly.transport.broker.address import Broker, PublishAddress, read_publish_address
from onceonly.transport.broker.link import LINK_ERRORS, AmqpAccess, AmqpLimits, connect, let_go
from onceonly.transport.transport import Body, Outcome, Outgoing, Transmission

DEFAULT_LIMITS = AmqpLimits()
DEFAULT_ACCESS = AmqpAccess()

SHORT_STRING_BYTES_MAX = 255
"""Longest property in AMQP 0-9-1."""


class _Link:
    """One connection and one confirming channel to a broker, and its exchanges."""

    def __init__(self, connection: AbstractConnection, channel: AbstractChannel) -> None:
        self.connection = connection
        self.channel = channel
        self.exchanges: dict[str, AbstractExchange] = {"": channel.default_exchange}

    @property
    def is_usable(self) -> bool:
        return not self.connection.is_closed and not self.channel.is_closed


class AmqpTransport:
    """Publishes to exchanges; keeps one connection per broker.

    `pause` waits between attempts to connect; tests hand in their own.
    """

    schemes = frozenset(("amqp", "amqps"))

    def __init__(
        self,
        *,
        access: AmqpAccess = DEFAULT_ACCESS,
        limits: AmqpLimits = DEFAULT_LIMITS,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._access = access
        self._limits = limits
        self._pause = pause
        self._links: dict[Broker, _Link] = {}
        self._locks: dict[Broker, asyncio.Lock] = {}
        self._is_closed = False

    def check(self, outgoing: Outgoing) -> None:
        """See `Transport.check`. Raises `LocalError` (NotCarried) for too large a package."""
        read_publish_address(outgoing.endpoint)
        if outgoing.body.size_bytes > self._limits.body_bytes_max:
            most = self._limits.body_bytes_max
            raise LocalError("NotCarried", f"a broker takes {most} bytes at most")

    async def send(self, outgoing: Outgoing) -> Transmission:
        """Publish once and wait for the confirm, see `Transport.send`.

        Raises `LocalError` for an endpoint that is no address of ours.
        """
        address = read_publish_address(outgoing.endpoint)
        if outgoing.body.size_bytes > self._limits.body_bytes_max:
            detail = f"a broker takes {self._limits.body_bytes_max} bytes at most"
            return Transmission(Outcome.REFUSED, bytes_left=False, detail=detail)
        try:
            link, exchange = await self._reach(address)
        except LINK_ERRORS as error:
            return Transmission(Outcome.REFUSED, bytes_left=False, detail=_text(error))
        message = _message(outgoing, await _whole(outgoing.body))
        return await self._publish(link, exchange, address.routing_key, message)

    def renew(self, access: AmqpAccess) -> None:
        """Make the next connections with `access`; those that are open stay."""
        self._access = access

    async def close(self) -> None:
        """Close every connection; what was under way has an unknown outcome."""
        self._is_closed = True
        links = tuple(self._links.values())
        self._links.clear()
        for link in links:
            await let_go(link.connection, self._limits)

    async def _reach(self, address: PublishAddress) -> tuple[_Link, AbstractExchange]:
        """The exchange over a live channel. Raises one of `LINK_ERRORS`."""
        async with self._locks.setdefault(address.broker, asyncio.Lock()):
            link = self._links.get(address.broker)
            if link is None or not link.is_usable:
                link = await self._connect(address.broker)
            exchange = link.exchanges.get(address.exchange)
            if exchange is None:
                exchange = await link.channel.get_exchange(address.exchange, ensure=True)
                link.exchanges[address.exchange] = exchange
            return link, exchange

    async def _connect(self, broker: Broker) -> _Link:
        for wait_s in self._limits.connect_pauses_s:
            try:
                return await self._connect_once(broker)
            except LINK_ERRORS:
                await self._pause(wait_s)
        return await self._connect_once(broker)

    async def _connect_once(self, broker: Broker) -> _Link:
        if self._is_closed:
            raise ConnectionError("the transport is closed")
        stale = self._links.pop(broker, None)
        if stale is not None:
            await let_go(stale.connection, self._limits)
        connection = await connect(broker, self._access, self._limits)
        channel = await connection.channel(publisher_confirms=True, on_return_raises=False)
        self._links[broker] = _Link(connection, channel)
        return self._links[broker]

    async def _publish(
        self, link: _Link, exchange: AbstractExchange, routing_key: str, message: Message
    ) -> Transmission:
        try:
            confirmed = await exchange.publish(
                message, routing_key, mandatory=True, timeout=self._limits.confirm_timeout_s
            )
        except DeliveryError:
            return Transmission(Outcome.REFUSED, bytes_left=True, detail="the broker refused it")
        except LINK_ERRORS as error:
            if not link.is_usable:
                await let_go(link.connection, self._limits)
            return Transmission(Outcome.UNKNOWN, bytes_left=True, detail=_text(error))
        if isinstance(confirmed, DeliveredMessage):
            return Transmission(Outcome.REFUSED, bytes_left=True, detail="no queue takes it")
        return Transmission(Outcome.ACCEPTED, bytes_left=True)


def _message(outgoing: Outgoing, body: bytes) -> Message:
    has_room = len(outgoing.message_id.encode()) <= SHORT_STRING_BYTES_MAX
    return Message(
        body,
        headers={"Content-Type": outgoing.content_type},
        content_type=outgoing.content_type.partition(";")[0].strip()[:SHORT_STRING_BYTES_MAX],
        message_id=outgoing.message_id if has_room and outgoing.message_id else None,
        delivery_mode=DeliveryMode.PERSISTENT,
        app_id="onceonly",
    )


async def _whole(body: Body) -> bytes:
    content = body.whole()
    if content is not None:
        return content
    return b"".join([chunk async for chunk in body.chunks()])


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
