"""The HTTP server of the application API: uvicorn, with a limit for everything but bodies.

uvicorn over httptools keeps request targets, header fields and trailers of any length in memory
before the application sees them, even those of a caller without a token.
"""

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from onceonly.api.keys import CERTIFICATE
from onceonly.api.refusals import Refused
from onceonly.gateway.api.access import UNSNIFFED
from onceonly.gateway.api.answers import Json, refusal
from onceonly.gateway.caller import ShownCertificate
from onceonly.message.instant import US_PER_S

HEAD_BYTES_MAX: Final = 1 << 16
"""Longest head of a request; a MessageId and a PartyId, escaped, take two thousand bytes."""

ABORT: Final = "onceonly.abort"
"""In the scope of a call: cuts its connection, and forgets what is still to be written there."""

LINGER_S: Final = 1.0
"""How long bytes of a refused caller are still read and dropped, so that it gets the refusal."""


class BoundedHead(HttpToolsProtocol):
    """One connection. Counts bytes that complete neither a head nor a piece of a body."""

    _pending_bytes = 0
    _is_refused = False
    _shown: ShownCertificate | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # because uvicorn says the same
        """Called by the event loop after the handshake, if there is one."""
        super().connection_made(transport)
        self._shown = _shown_by(transport.get_extra_info("ssl_object"))

    def data_received(self, data: bytes) -> None:
        """Called by the event loop with some bytes of the connection."""
        if self._is_refused:
            return
        self._pending_bytes += len(data)
        super().data_received(data)
        if self._pending_bytes > HEAD_BYTES_MAX and not self.transport.is_closing():
            self._refuse()

    def on_headers_complete(self) -> None:
        """Called by the parser after a head."""
        self._pending_bytes = 0
        # uvicorn would say it in a text, and every refusal of ours has the one shape.
        application, calls_max = self.app, self.limit_concurrency
        if calls_max is not None and max(len(self.connections), len(self.tasks)) >= calls_max:
            self.app = _TOO_MANY
        self.limit_concurrency = None
        # For an answer without an end, whose caller reads nothing of it any more.
        self.scope[ABORT] = self.transport.abort  # type: ignore[typeddict-unknown-key]  # because it is ours
        if self._shown is not None:
            self.scope[CERTIFICATE] = self._shown  # type: ignore[typeddict-unknown-key]  # because it is ours
        super().on_headers_complete()
        self.app, self.limit_concurrency = application, calls_max

    def on_body(self, body: bytes) -> None:
        """Called by the parser with a piece of a body."""
        self._pending_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Called by the parser at the end of a request."""
        self._pending_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Called by uvicorn for what is no HTTP."""
        self.transport.write(_written(b"400 Bad Request", refusal("InvalidRequest", msg)))
        self.transport.close()

    def _refuse(self) -> None:
        answer = refusal("HeadTooLarge", f"a request's head has {HEAD_BYTES_MAX} bytes at most")
        self.transport.write(_written(b"431 Request Header Fields Too Large", answer))
        # Closed at once, what is still coming in would take the answer away with it.
        self._is_refused = True
        if self.transport.can_write_eof():  # Under TLS there is no half of a connection.
            self.transport.write_eof()
        self.loop.call_later(LINGER_S, self.transport.close)


def _shown_by(tls: ssl.SSLObject | None) -> ShownCertificate | None:
    """The certificate that was verified in the handshake; None if none was shown."""
    content = None if tls is None else tls.getpeercert(binary_form=True)
    verified = None if tls is None else tls.getpeercert()
    if not content or not verified:
        return None
    ends_s = int(ssl.cert_time_to_seconds(str(verified["notAfter"])))
    return ShownCertificate(sha256(content).hexdigest(), ends_s * US_PER_S)


class ApiServer(uvicorn.Server):
    """uvicorn without its own signal handlers, whose certificate can be exchanged while it serves.

    The process that runs it handles signals.
    """

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Called by uvicorn around its life."""
        yield

    async def prepare(self, tls: ssl.SSLContext) -> "ApiRenewal":
        """New servers on the same sockets, which shake hands under `tls` once they are told to.

        Raises `OSError` with nothing changed.
        """
        renewal = ApiRenewal(self)
        try:
            for server in self.servers:
                for one in server.sockets:
                    shared = socket.socket(fileno=os.dup(one.fileno()))
                    renewal.servers.append(await self._accept(shared, tls))
        except OSError:
            renewal.drop()
            raise
        return renewal

    async def _accept(self, shared: socket.socket, tls: ssl.SSLContext) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            # As uvicorn itself makes one at its start.
            lambda: BoundedHead(
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            ),
            sock=shared,
            ssl=tls,
            backlog=self.config.backlog,
            start_serving=False,
        )


class ApiRenewal:
    """Servers that are ready to take the place of others; see `ApiServer.prepare`."""

    def __init__(self, endpoint: ApiServer) -> None:
        self.servers: list[asyncio.Server] = []
        self._endpoint = endpoint

    async def take(self) -> None:
        """Accept by the new servers from now on; connections that are open stay as they are.

        Nothing is opened again where the API stops.
        """
        if self._endpoint.should_exit:
            self.drop()
            return
        former, self._endpoint.servers = self._endpoint.servers, [*self.servers]
        for server in self.servers:
            await server.start_serving()
        for server in former:
            server.close()

    def drop(self) -> None:
        """They are not wanted after all."""
        for server in self.servers:
            server.close()


_TOO_MANY: Final = refusal("Busy", "too many calls at once; nothing was accepted, try again")
"""The answer to a call past `calls_max`."""
_TOO_MANY.raw_headers += [(b"connection", b"close"), UNSNIFFED]


def _written(status: bytes, answer: Json[Refused]) -> bytes:
    """The answer as it is written where no application is asked."""
    head = [b"HTTP/1.1 ", status, b"\r\nconnection: close\r\n"]
    head += [b"%b: %b\r\n" % field for field in (*answer.raw_headers, UNSNIFFED)]
    return b"".join([*head, b"\r\n", bytes(answer.body)])


def served(
    application: Any,
    *,
    drain_s: int | None = None,
    calls_max: int | None = None,
    tls: ssl.SSLContext | None = None,
) -> uvicorn.Config:
    """How uvicorn serves the application; `drain_s`: how long calls may take at a stop.

    With more than `calls_max` connections a call is answered 503. `tls`: over TLS alone.
    """
    config = uvicorn.Config(
        application,
        http=BoundedHead,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        limit_concurrency=calls_max,
        proxy_headers=False,  # whoever calls from this machine could give himself any address (H25)
        timeout_graceful_shutdown=drain_s,
    )
    config.load()
    # uvicorn makes a context of its own from files; ours has the same rules as that for partners.
    config.ssl = tls
    return config
