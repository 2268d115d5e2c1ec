"""The endpoint where partners post to us: an HTTP server for one path and one method.

Knows sockets, TLS and how many connections there are; `connection` knows what a request is (seed
000 §2.5.1; security H1-H26).
"""

import asyncio
import os
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.transport.http import refusal
from onceonly.transport.http.connection import Endpoint, HttpConnection
from onceonly.transport.http.head import authority_of
from onceonly.transport.http.limits import HttpLimits
from onceonly.transport.http.watch import Watch
from onceonly.transport.transport import Answer, NoteRefusal, Receive, note_nothing

DEFAULT = HttpLimits()


class HttpServer:
    """A listening endpoint. Made by `serve_http`.

    `port` is the port that is bound, for the case that 0 was asked for.
    """

    port: int

    def __init__(
        self,
        path: str,
        receive: Receive,
        note_refusal: NoteRefusal,
        limits: HttpLimits,
        *,
        authorities: frozenset[bytes],
        note_certificate: Callable[[bytes], None],
    ) -> None:
        self._limits = limits
        self._connections: set[HttpConnection] = set()
        self._per_address: Counter[str] = Counter()
        self._is_closing = False
        self._all_closed: asyncio.Future[None] | None = None
        self._watch = Watch(
            limits.header_timeout_s,
            limits.body_grace_s,
            limits.idle_timeout_s,
            limits.write_timeout_s,
            limits.linger_s,
        )
        self._endpoint = Endpoint(
            path=path.encode("ascii"),
            authorities=authorities,
            receive=receive,
            note_refusal=note_refusal,
            limits=limits,
            loop=asyncio.get_running_loop(),
            opened=self._opened,
            closed=self._closed,
            note_certificate=note_certificate,
        )

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """Bind and accept. Raises `OSError` if the address is not available."""
        self._servers = [await self._accept(tls, host=host, port=port)]
        self.port = self._servers[0].sockets[0].getsockname()[1]
        await self._servers[0].start_serving()

    async def prepare(self, tls: ssl.SSLContext) -> "Renewal":
        """New servers on the same sockets, which shake hands under `tls` once they are told to.

        Raises `OSError` with nothing changed. A context cannot be changed in place: what it trusted
        once, and the tickets that it gave, would go on being accepted.
        """
        renewal = Renewal(self)
        try:
            for server in self._servers:
                for one in server.sockets:
                    shared = socket.socket(fileno=os.dup(one.fileno()))
                    renewal.servers.append(await self._accept(tls, sock=shared))
        except OSError:
            renewal.drop()
            raise
        return renewal

    def limit(self, limits: HttpLimits) -> None:
        """Hold new connections to these limits; those that are open keep theirs."""
        self._limits = limits
        self._endpoint = changed(self._endpoint, limits=limits)

    async def take(self, renewal: "Renewal") -> None:
        """Accept by the new servers from now on; connections that are open stay as they are.

        Nobody is turned away: whoever waits in the queue of a socket is accepted by the new one.
        """
        former, self._servers = self._servers, renewal.servers
        for server in self._servers:
            await server.start_serving()
        for server in former:
            server.close()

    async def _accept(self, tls: ssl.SSLContext | None, **where: Any) -> asyncio.Server:
        return await self._endpoint.loop.create_server(
            lambda: HttpConnection(self._endpoint),
            ssl=tls,
            backlog=self._limits.backlog,
            ssl_handshake_timeout=self._limits.header_timeout_s if tls else None,
            start_serving=False,
            **where,
        )

    @property
    def connection_count(self) -> int:
        """Open connections, for the metrics."""
        return len(self._connections)

    async def close(self, grace_s: float = 5.0) -> None:
        """Accept no more, let receptions under way end within `grace_s`, then break them off."""
        self._is_closing = True
        for server in self._servers:
            server.close()
        if not self._connections:
            return
        self._all_closed = self._endpoint.loop.create_future()
        for connection in tuple(self._connections):
            connection.finish()
        _, late = await asyncio.wait([self._all_closed], timeout=grace_s)
        if late:
            await self._cut(self._all_closed)

    async def _cut(self, all_closed: asyncio.Future[None]) -> None:
        tasks = [connection.task for connection in self._connections if connection.task]
        for connection in tuple(self._connections):
            connection.abort()
        for task in tasks:
            task.cancel()
        await asyncio.wait([all_closed])
        if tasks:
            await asyncio.wait(tasks)

    def _opened(self, connection: HttpConnection, address: str) -> Answer | None:
        # A connection that was accepted at the last moment is opened after this, and is refused.
        if self._is_closing:
            return refusal.CLOSING
        if len(self._connections) >= self._limits.connections_max:
            return refusal.OVERLOADED
        if self._per_address[address] >= self._limits.connections_per_address_max:
            return refusal.OVERLOADED
        self._connections.add(connection)
        self._per_address[address] += 1
        self._watch.add(connection)
        return None

    def _closed(self, connection: HttpConnection, address: str) -> None:
        if connection not in self._connections:
            return
        self._connections.remove(connection)
        self._watch.discard(connection)
        self._per_address[address] -= 1
        if not self._per_address[address]:
            del self._per_address[address]
        if not self._connections and self._all_closed and not self._all_closed.done():
            self._all_closed.set_result(None)


class Renewal:
    """Servers that are ready to take the place of others; see `HttpServer.prepare`."""

    def __init__(self, endpoint: HttpServer) -> None:
        self.servers: list[asyncio.Server] = []
        self._endpoint = endpoint

    async def take(self) -> None:
        """Put them in their place."""
        await self._endpoint.take(self)

    def drop(self) -> None:
        """They are not wanted after all."""
        for server in self.servers:
            server.close()


def target_of(listen: str, also_called: Iterable[str] = ()) -> tuple[str, frozenset[bytes]]:
    """The only path that exists there, with its query, and the authorities by which it is called.

    See `serve_http`.
    """
    parts = urlsplit(listen)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return path, frozenset(filter(None, map(authority_of, (listen, *also_called))))


async def serve_http(  # noqa: PLR0913 - because each is a fact of one endpoint
    listen: str,
    receive: Receive,
    *,
    note_refusal: NoteRefusal = note_nothing,
    limits: HttpLimits = DEFAULT,
    tls: ssl.SSLContext | None = None,
    also_called: Iterable[str] = (),
    note_certificate: Callable[[bytes], None] = lambda _: None,
) -> HttpServer:
    """Listen at a URI like `http://127.0.0.1:8401/msh`; its path is the only one that exists.

    A query is a part of that path. `also_called` are other URIs by which partners call us: their
    hosts and that of `listen` may stand in a request target in absolute form (RFC 9112 §3.2.2).
    `receive` is called once per package. If it fails with another error than TransferBroken, the
    peer gets 500 and the loop's exception handler gets the error. `note_refusal` is called for what
    is refused without it, and `note_certificate` for each connection whose caller showed a verified
    certificate. A reception whose peer went away after the last byte runs to its end.
    Raises `LocalError` for a URI that cannot be listened at, `OSError` for an address that is not
    available.
    """
    parts = urlsplit(listen)
    scheme = "https" if tls else "http"
    is_usable = parts.scheme == scheme and parts.hostname and parts.port is not None
    if not is_usable or parts.fragment or not listen.isascii():
        raise LocalError("UnusableAddress", f"{listen!r} must look like {scheme}://HOST:PORT/PATH")
    path, authorities = target_of(listen, also_called)
    server = HttpServer(
        path,
        receive,
        note_refusal,
        limits,
        authorities=authorities,
        note_certificate=note_certificate,
    )
    await server.listen(str(parts.hostname), int(parts.port or 0), tls)
    return server
