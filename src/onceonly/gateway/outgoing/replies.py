"""Business responses that go back in the answer of the transport (syncReplyMode, seed 001 §1.2.2).

The exchange of a stored message stays open until the application submits a message that refers to
it, for a limited time. That message is an outbound message like any other; only its first
transmission uses the open exchange instead of a connection of its own. Nobody tells us whether it
arrived, so the outcome is unknown (R-05), and a resend is sent in the ordinary way.

Nothing of this is durable: when the process dies, so does the connection that waited, and the
partner's repeat finds no exchange in work (seed 001 §1.3.3 (9b)).
"""

import asyncio

from onceonly.message.identity import MessageKey
from onceonly.message.word import Word
from onceonly.protocol.events import Outcome, Transmission
from onceonly.transport.http.limits import REPLY_BYTES_MAX
from onceonly.transport.transport import Answer, Body, Outgoing, Transport

WAIT_S_MAX = 15.0
"""Longest that an exchange stays open: shorter than our own client waits for an answer (20 s), so
that the answer "not yet" arrives as an answer."""

EXCHANGES_MAX = 256
"""Most open exchanges: a quarter of the connections of the endpoint, so that waiting callers never
lock out new ones. If there are more, a message is answered as if nobody waited."""

IN_THE_ANSWER = Transmission(Outcome.UNKNOWN, bytes_left=True, detail="in the transport's answer")
"""The outcome for a package in an answer: nobody tells us whether it arrived."""


class Exchange(Word):
    """A caller that waits for the business response to the message."""

    key: MessageKey
    wants_element: bool
    """The sender asked for an Acknowledgment element (S1-36)."""
    reply: "asyncio.Future[Answer | None]"


class Replies:
    """A transport that sends into waiting exchanges; all else is sent by `transport`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.schemes = transport.schemes
        self._open: dict[MessageKey, Exchange] = {}
        self._joined = 0
        self._responses: dict[str, Exchange] = {}
        """Exchanges by the MessageId of the response that was submitted for them."""

    @property
    def has_room(self) -> bool:
        """Whether one more exchange may wait."""
        return len(self._open) + self._joined < EXCHANGES_MAX

    def open(self, key: MessageKey, *, wants_element: bool) -> Exchange:
        """Open the exchange of the message."""
        reply: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        exchange = self._open[key] = Exchange(key, wants_element, reply)
        return exchange

    def find(self, key: MessageKey) -> Exchange | None:
        """The open exchange of the message."""
        return self._open.get(key)

    def close_exchange(self, exchange: Exchange) -> None:
        """Close the exchange: nobody waits any more."""
        if self._open.get(exchange.key) is exchange:
            del self._open[exchange.key]
        if not exchange.reply.done():
            exchange.reply.set_result(None)

    async def wait(self, exchange: Exchange, wait_s: float) -> Answer | None:
        """The answer that carries the response, or None if there is none in time."""
        try:
            await asyncio.wait((exchange.reply,), timeout=min(wait_s, WAIT_S_MAX))
            return exchange.reply.result() if exchange.reply.done() else None
        finally:
            self.close_exchange(exchange)

    async def join(self, exchange: Exchange, wait_s: float) -> Answer | None:
        """What the caller of the open exchange gets, for a repeat; None if there is none in time.

        Its caller ends the exchange, and nobody else.
        """
        self._joined += 1
        try:
            await asyncio.wait((exchange.reply,), timeout=min(wait_s, WAIT_S_MAX))
            return exchange.reply.result() if exchange.reply.done() else None
        finally:
            self._joined -= 1

    def expect(self, response_id: str, exchange: Exchange) -> None:
        """The message with this id is the response that the exchange waits for."""
        self._responses[response_id] = exchange
        exchange.reply.add_done_callback(lambda _: self._responses.pop(response_id, None))

    def check(self, outgoing: Outgoing) -> None:
        """See `Transport.check`."""
        self._transport.check(outgoing)

    async def send(self, outgoing: Outgoing) -> Transmission:
        """Transmit once: into the exchange that waits for it, otherwise by the transport."""
        exchange = self._responses.pop(outgoing.message_id, None)
        if exchange is None or exchange.reply.done():
            return await self._transport.send(outgoing)
        content = await read_whole(outgoing.body)
        if content is None or exchange.reply.done():
            self.close_exchange(exchange)
            return await self._transport.send(outgoing)
        exchange.reply.set_result(
            Answer(200, None, outgoing.content_type, content, headers=outgoing.headers)
        )
        return IN_THE_ANSWER

    async def close(self) -> None:
        """End all waits, cut transmissions that are under way, and send nothing more."""
        for exchange in tuple(self._open.values()):
            self.close_exchange(exchange)
        await self._transport.close()


async def read_whole(body: Body) -> bytes | None:
    """All bytes of the body, or None if it is too long for an answer."""
    if body.size_bytes > REPLY_BYTES_MAX:
        return None
    content = body.whole()
    if content is None:
        content = b"".join([chunk async for chunk in body.chunks()])
    return content
