"""Takes packages from a broker: one durable queue, manual acknowledgements.

A delivery is acknowledged to the broker only after the gateway's `receive` returned, which is after
the commit that stores the message: a crash in between brings the delivery again, and the duplicate
table eliminates it. A package that cannot be stored now goes back to the broker; one that can never
be stored is rejected, so that the dead-letter exchange of the queue, if it has one, gets it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from aio_pika.abc import AbstractConnection, AbstractIncomingMessage, AbstractQueue
from aio_pika.exceptions import ChannelNotFoundEntity

from onceonly.transport.broker.address import QueueAddress, read_queue_address
from onceonly.transport.broker.link import LINK_ERRORS, AmqpAccess, AmqpLimits, connect, let_go
from onceonly.transport.transport import Receive, Request, TransferBroken

DEFAULT_LIMITS = AmqpLimits()
DEFAULT_ACCESS = AmqpAccess()

CANCEL_AGAIN_S: Final = 0.1
"""How long a task that was cancelled may go on before it is cancelled again."""

NOT_NOW = frozenset((429, 503, 507))
"""Answers of the gateway after which the same delivery may succeed later."""


class AmqpConsumer:
    """Consumes one queue until it is closed; connects again if the broker goes away."""

    def __init__(
        self,
        address: QueueAddress,
        receive: Receive,
        *,
        access: AmqpAccess = DEFAULT_ACCESS,
        limits: AmqpLimits = DEFAULT_LIMITS,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._address = address
        self._receive = receive
        self._access = access
        self._limits = limits
        self._pause = pause
        self._connection: AbstractConnection | None = None
        self._takings: set[asyncio.Task[None]] = set()
        self._is_closing = False
        self.consuming = asyncio.Event()
        """Set while the broker delivers to us."""
        self._running = asyncio.create_task(self._run())
        self._running.add_done_callback(_raise_what_it_raised)

    def renew(self, access: AmqpAccess) -> None:
        """Make the next connection with `access`; the one that is open stays."""
        self._access = access

    async def close(self, grace_s: float = 5.0) -> None:
        """Take no more; let receptions under way end within `grace_s`, then break them off.

        The broker delivers again what was not acknowledged to it.
        """
        self._is_closing = True
        if self._takings:
            await asyncio.wait(tuple(self._takings), timeout=grace_s)
        # More than once: the library may make an error of the link out of a cancellation.
        while not self._running.done():
            self._running.cancel()
            await asyncio.wait((self._running,), timeout=CANCEL_AGAIN_S)
        for task in self._takings:
            task.cancel()
        if self._connection is not None:
            await let_go(self._connection, self._limits)

    async def _run(self) -> None:
        failures = 0
        while not self._is_closing:
            try:
                self._connection = await connect(self._address.broker, self._access, self._limits)
                failures = 0
                await self._consume(self._connection)
            except LINK_ERRORS:
                self.consuming.clear()
            except Exception as bug:  # noqa: BLE001 - because a broker must not make us deaf for ever (R-43)
                self.consuming.clear()
                _tell(bug)
            await self._let_go()
            waits_s = self._limits.reconnect_pauses_s
            await self._pause(waits_s[min(failures, len(waits_s) - 1)])
            failures += 1

    async def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await let_go(connection, self._limits)

    async def _consume(self, connection: AbstractConnection) -> None:
        """Take deliveries until the channel is lost."""
        queue = await self._queue(connection)
        lost = asyncio.get_running_loop().create_future()

        def on_close(*_: object) -> None:
            if not lost.done():
                lost.set_result(None)

        queue.channel.close_callbacks.add(on_close)
        await queue.consume(self._begin)
        self.consuming.set()
        await lost
        self.consuming.clear()

    async def _queue(self, connection: AbstractConnection) -> AbstractQueue:
        """The queue as the operator made it; if there is none yet, a durable one is made."""
        try:
            channel = await connection.channel(publisher_confirms=False)
            await channel.set_qos(prefetch_count=self._limits.prefetch)
            return await channel.declare_queue(self._address.queue, passive=True)
        except ChannelNotFoundEntity:
            channel = await connection.channel(publisher_confirms=False)
            await channel.set_qos(prefetch_count=self._limits.prefetch)
            return await channel.declare_queue(self._address.queue, durable=True)

    async def _begin(self, delivery: AbstractIncomingMessage) -> None:
        """Called by the library for each delivery; the work goes on in a task of its own."""
        if self._is_closing:
            return
        task = asyncio.create_task(self._take(delivery))
        self._takings.add(task)
        task.add_done_callback(self._takings.discard)
        task.add_done_callback(_raise_what_it_raised)

    async def _take(self, delivery: AbstractIncomingMessage) -> None:
        status_code = await self._answer_of(delivery)
        try:
            if status_code in NOT_NOW:
                await self._pause(self._limits.return_pause_s)
                await delivery.nack(requeue=True)
            elif status_code < 300:
                await delivery.ack()
            else:
                await delivery.reject(requeue=False)
        except LINK_ERRORS:
            # The broker went away and will deliver again; if it is stored, that is a duplicate.
            return

    async def _answer_of(self, delivery: AbstractIncomingMessage) -> int:
        broker = self._address.broker
        request = Request(
            content_type=str(delivery.headers.get("Content-Type") or delivery.content_type or ""),
            content_length=len(delivery.body),
            peer=f"{broker.host}:{broker.port}{broker.vhost}/{self._address.queue}",
            transport="amqp",
        )
        answer = await self._receive(request, self._pieces(delivery.body))
        return answer.status_code

    async def _pieces(self, body: bytes) -> AsyncIterator[bytes]:
        if len(body) > self._limits.body_bytes_max:
            raise TransferBroken(f"a delivery has {self._limits.body_bytes_max} bytes at most")
        if body:
            yield body


def _raise_what_it_raised(task: asyncio.Task[None]) -> None:
    """Raise the error of a reception, which would otherwise be lost in its task."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _tell(error)


def _tell(error: BaseException) -> None:
    context = {"message": "a reception failed", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)


def consume_amqp(
    listen: str,
    receive: Receive,
    *,
    access: AmqpAccess = DEFAULT_ACCESS,
    limits: AmqpLimits = DEFAULT_LIMITS,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AmqpConsumer:
    """Consume the queue in `listen` from now on, also if the broker cannot be reached yet.

    `receive` is called once per delivery, at most `limits.prefetch` at a time. Raises
    `LocalError` (UnusableEndpoint).
    """
    return AmqpConsumer(
        read_queue_address(listen), receive, access=access, limits=limits, pause=pause
    )
