"""The mail endpoint: an SMTP server for one mailbox (seed 000 §2.5.2).

Knows sockets, TLS and how many connections there are; `connection` knows the conversation on one of
them. A mail becomes one call of the gateway's `Receive`: its header block gives the
Content-Type, what follows is the body. Attacks M1, M4, M6-M10 and M12 end here.
"""

import asyncio
from collections import Counter
from typing import Any, cast
from urllib.parse import urlsplit

from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.transport.mail import reply
from onceonly.transport.mail.address import is_mailbox
from onceonly.transport.mail.connection import Credentials, Door, MailEndpoint, SmtpConnection
from onceonly.transport.mail.limits import SmtpLimits
from onceonly.transport.mail.reception import DropAutomatic, Taker
from onceonly.transport.mail.reply import render_reply
from onceonly.transport.transport import NoteRefusal, Receive, note_nothing

__all__ = ["Credentials", "Door", "SmtpServer", "serve_smtp"]

DEFAULT = SmtpLimits()

CUT_S = 1.0
"""Longest wait for closed connections to end, which takes one turn of the event loop."""


class SmtpServer:
    """A listening mail endpoint. Made by `serve_smtp`.

    `port` is the port that is bound, for the case that 0 was asked for.
    """

    port: int

    def __init__(self, limits: SmtpLimits) -> None:
        self._limits = limits
        self._connections: set[SmtpConnection] = set()
        self._per_address: Counter[str] = Counter()
        self._all_closed: asyncio.Future[Any] | None = None

    async def listen(self, host: str, port: int, endpoint: MailEndpoint) -> None:
        """Bind and accept. Raises `OSError` if the address is not available."""

        def accept() -> asyncio.Protocol:
            if len(self._connections) >= self._limits.connections_max:
                return _TurnedAway()
            connection = SmtpConnection(self._endpoint)
            self._connections.add(connection)
            return connection

        self._endpoint = endpoint
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(accept, host, port, backlog=self._limits.backlog)
        self.port = self._server.sockets[0].getsockname()[1]

    def renew(self, door: Door) -> None:
        """Let mail in by this door from now on; conversations under way keep theirs."""
        self._endpoint = changed(self._endpoint, door=door)

    def limit(self, limits: SmtpLimits) -> None:
        """Hold new connections to these limits; those that are open keep theirs."""
        self._limits = limits
        self._endpoint = changed(self._endpoint, limits=limits)

    @property
    def connection_count(self) -> int:
        """Open connections, for the metrics."""
        return len(self._connections)

    async def close(self, grace_s: float = 5.0) -> None:
        """Accept no more, let mails under way end within `grace_s`, then break them off.

        Such a mail stays with the sender's mail system, which tries again.
        """
        self._server.close()
        if not self._connections:
            return
        self._all_closed = asyncio.get_running_loop().create_future()
        for connection in tuple(self._connections):
            connection.finish()
        _, late = await asyncio.wait([self._all_closed], timeout=grace_s)
        if late:
            await self._cut(self._all_closed)

    async def _cut(self, all_closed: asyncio.Future[Any]) -> None:
        tasks: list[asyncio.Future[Any]] = [
            connection.task for connection in self._connections if connection.task
        ]
        for connection in tuple(self._connections):
            connection.abort()
        for task in tasks:
            task.cancel()
        await asyncio.wait([all_closed, *tasks], timeout=CUT_S)

    def is_wanted(self, address: str) -> bool:
        """Whether that address may have one more connection; if so, it is counted."""
        if self._per_address[address] >= self._limits.connections_per_address_max:
            return False
        self._per_address[address] += 1
        return True

    def forget(self, connection: SmtpConnection, address: str | None) -> None:
        """Forget a connection that is over; `address` is None if it was not counted."""
        self._connections.discard(connection)
        if address is not None:
            self._per_address[address] -= 1
            if not self._per_address[address]:
                del self._per_address[address]
        if not self._connections and self._all_closed and not self._all_closed.done():
            self._all_closed.set_result(None)


class _TurnedAway(asyncio.Protocol):
    """One connection too many: it is told so, and closed."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        writing = cast("asyncio.Transport", transport)
        writing.write(render_reply(reply.BUSY))
        writing.close()


async def serve_smtp(
    listen: str,
    receive: Receive,
    *,
    door: Door,
    drop_automatic: DropAutomatic,
    note_refusal: NoteRefusal = note_nothing,
    limits: SmtpLimits = DEFAULT,
) -> SmtpServer:
    """Listen at a URI like `smtp://127.0.0.1:8425` for mail to the door's mailbox and no other.

    `receive` is called once per mail that may be a package, `drop_automatic` for bounces, reports
    and automatic replies, of which little is read (M10); `note_refusal` for commands and mails
    that are refused without either. If `receive` fails with another error than TransferBroken, the
    peer gets 451 and the loop's exception handler gets the error. Raises `LocalError` if `listen`,
    the mailbox or the TLS settings are wrong, `OSError` for an address that is not available.
    """
    parts = urlsplit(listen)
    is_usable = parts.scheme == "smtp" and parts.hostname and parts.port is not None
    if not is_usable or parts.path or parts.query or parts.fragment:
        raise LocalError("UnusableAddress", f"{listen!r} must look like smtp://HOST:PORT")
    if not is_mailbox(door.mailbox):
        raise LocalError("UnusableAddress", f"{door.mailbox!r} is no MAILBOX@DOMAIN")
    if door.tls is None and (door.is_tls_required or door.credentials is not None):
        raise LocalError("UnusableAddress", "STARTTLS and AUTH need a certificate")
    server = SmtpServer(limits)
    taker = Taker(receive, drop_automatic, limits.mail_bytes_max, note_refusal)
    endpoint = MailEndpoint(door, taker, limits, server.is_wanted, server.forget)
    await server.listen(str(parts.hostname), int(parts.port or 0), endpoint)
    return server
