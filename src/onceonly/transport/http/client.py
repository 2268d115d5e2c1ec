"""The HTTP sender: `Transport` for http and https endpoints.

Builds the request and judges what the exchange means for a message that must be delivered once and
only once. Whatever is not certain is unknown (R-05), and what may have left whole is not sent again
from here (R-38).
"""

import ssl
from functools import lru_cache
from urllib.parse import urlsplit

from onceonly.message.errors import LocalError
from onceonly.message.word import Word
from onceonly.transport.http.limits import HttpClientLimits
from onceonly.transport.http.pool import ConnectionPool, Host, NotConnectedError
from onceonly.transport.transport import Headers, Outcome, Outgoing, Transmission

DEFAULT = HttpClientLimits()

_PORTS = {"http": 80, "https": 443}


class _Target(Word):
    host: Host
    request_line_and_host: bytes


class HttpTransport:
    """Posts packages and keeps connections alive, within the bounds of `limits`.

    `tls` is for all https endpoints: trust anchors, our client certificate, versions. Without it
    the system's trust anchors are used.
    """

    schemes = frozenset(_PORTS)

    def __init__(
        self, *, limits: HttpClientLimits = DEFAULT, tls: ssl.SSLContext | None = None
    ) -> None:
        self._pool = ConnectionPool(limits, tls)

    def check(self, outgoing: Outgoing) -> None:
        """See `Transport.check`."""
        _render_head(_read_endpoint(outgoing.endpoint), outgoing)

    async def send(self, outgoing: Outgoing) -> Transmission:
        """Transmit once, see `Transport.send`.

        A kept connection may have died unnoticed. If it is lost before the last piece of the body
        was written, the request is sent once more on a new connection: the peer cannot have a whole
        one. After that the outcome is unknown. Raises `LocalError` for an endpoint that is no http
        or https URI, and errors of the body's files.
        """
        target = _read_endpoint(outgoing.endpoint)
        head = _render_head(target, outgoing)
        try:
            connection, is_used = await self._pool.get_connection(
                target.host, is_fresh=outgoing.leaves_once
            )
        except NotConnectedError as error:
            return Transmission(Outcome.REFUSED, bytes_left=False, detail=str(error))
        exchanged = await connection.exchange(head, outgoing.body, outgoing.take_reply)
        if is_used and exchanged.is_cut:
            return await self._send_anew(target, head, outgoing)
        return exchanged.transmission

    def renew(self, tls: ssl.SSLContext | None) -> None:
        """Make new connections under `tls`; exchanges under way end under what they began with."""
        self._pool.renew(tls)

    async def close(self) -> None:
        """Close every connection; what was under way has an unknown outcome."""
        self._pool.close()

    async def _send_anew(self, target: _Target, head: bytes, outgoing: Outgoing) -> Transmission:
        self._pool.drop_idle(target.host)
        try:
            connection, _ = await self._pool.get_connection(target.host, is_fresh=True)
        except NotConnectedError as error:
            detail = f"connection lost, then {error}"
            return Transmission(Outcome.UNKNOWN, bytes_left=True, detail=detail)
        exchanged = await connection.exchange(head, outgoing.body, outgoing.take_reply)
        return exchanged.transmission


@lru_cache(maxsize=1024)
def _read_endpoint(endpoint: str) -> _Target:
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        raise LocalError("UnusableEndpoint", f"{endpoint!r} is not a URI") from None
    is_clean = endpoint.isascii() and endpoint.isprintable() and " " not in endpoint
    if not is_clean or parts.scheme not in _PORTS or not parts.hostname or parts.username:
        raise LocalError("UnusableEndpoint", f"{endpoint!r} is no http or https endpoint")
    host = Host(parts.hostname, port or _PORTS[parts.scheme], parts.scheme == "https")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    start = f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
    return _Target(host, start.encode("ascii"))


def _render_head(target: _Target, outgoing: Outgoing) -> bytes:
    content_type = outgoing.content_type
    if not content_type.isascii() or not content_type.isprintable():
        # A line break would begin another header.
        raise LocalError("NotCarried", "no HTTP head has that Content-Type")
    return b"%s%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (
        target.request_line_and_host,
        _render_headers(outgoing.headers),
        content_type.encode("ascii"),
        outgoing.body.size_bytes,
    )


@lru_cache(maxsize=256)
def _render_headers(headers: Headers) -> bytes:
    lines = b""
    for name, value in headers:
        if not value.isascii() or not value.isprintable():
            raise LocalError("NotCarried", f"no HTTP head has that {name}")
        lines += f"{name}: {value}\r\n".encode("ascii")
    return lines
