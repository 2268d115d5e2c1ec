"""A connection to a broker, as both directions of the AMQP binding need it.

Knows how a broker is reached and which of the library's errors mean "not now". The library is
aio-pika; its self-healing connections are not used, since they would hide from the sender what
happened to a message that was under way.
"""

import asyncio
import logging
import ssl
from contextlib import suppress

import aio_pika
from aio_pika.abc import AbstractConnection
from aio_pika.exceptions import AMQPError, ChannelInvalidStateError

from onceonly.message.word import Word
from onceonly.transport.broker.address import Broker

LINK_ERRORS = (AMQPError, ChannelInvalidStateError, OSError, TimeoutError)
"""Errors that a broker or the network can cause; any other is a bug of ours."""

# The library logs each lost connection with its stack; here that is an ordinary outcome.
logging.getLogger("aiormq").addHandler(logging.NullHandler())

MIB = 1024 * 1024


class AmqpLimits(Word):
    """Bounds of the AMQP binding. Times in seconds."""

    body_bytes_max: int = 128 * MIB
    """What a RabbitMQ broker takes by default; a message is held in memory whole."""
    connect_timeout_s: float = 10.0
    connect_pauses_s: tuple[float, ...] = (0.2, 1.0)
    """Waits before further attempts to connect; after the last one the transmission is refused."""
    confirm_timeout_s: float = 30.0
    """Without a publisher confirm in this time the outcome is unknown."""
    prefetch: int = 32
    """Deliveries that are taken at the same time; they share fsyncs of the store."""
    reconnect_pauses_s: tuple[float, ...] = (0.2, 1.0, 5.0)
    """Waits before a consumer connects again; the last one repeats."""
    return_pause_s: float = 5.0
    """Wait before a delivery that cannot be stored now is given back to the broker."""
    close_timeout_s: float = 2.0
    """How long a broker may take to say that a connection is closed; then it is left."""


class AmqpAccess(Word):
    """Our credentials for brokers; RabbitMQ's default works only on the broker's own machine."""

    user: str = "guest"
    password: str = "guest"  # noqa: S105 - because it is the public default of every broker
    tls: ssl.SSLContext | None = None


class _Channel(aio_pika.Channel):
    def __del__(self) -> None:
        """See `_Connection`."""


class _Connection(aio_pika.Connection):
    """A connection that is closed by its owner, and never by the garbage collector.

    The collector runs in any thread. There the library would touch the event loop of another
    thread, or leave a coroutine whose warning can break an import under way (as it did in the
    thread of publishing).
    """

    CHANNEL_CLASS = _Channel

    def __del__(self) -> None:
        pass


async def connect(broker: Broker, access: AmqpAccess, limits: AmqpLimits) -> AbstractConnection:
    """A fresh connection. Raises one of `LINK_ERRORS`."""
    return await aio_pika.connect(
        host=broker.host,
        port=broker.port,
        login=access.user,
        password=access.password,
        virtualhost=broker.vhost,
        ssl=broker.is_tls,
        ssl_context=access.tls if broker.is_tls else None,
        timeout=limits.connect_timeout_s,
        connection_class=_Connection,
    )


async def let_go(connection: AbstractConnection, limits: AmqpLimits) -> None:
    """Close the connection. A broker that does not answer holds nobody up."""
    with suppress(*LINK_ERRORS):
        async with asyncio.timeout(limits.close_timeout_s):
            await connection.close()
