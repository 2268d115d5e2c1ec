"""One connection of an MSH endpoint: bytes in, requests one after another, answers out.

llhttp decides where a request ends; `head` checks its head before. Knows nothing of messages: a
request goes to the endpoint's `receive`, and its answer is sent back. After any error the
connection ends and nothing more of it is parsed (H19).
"""

import asyncio
import ssl
from collections.abc import Callable
from enum import Enum, auto
from hashlib import sha256
from types import CoroutineType
from typing import cast

import httptools

from onceonly.message.word import Word
from onceonly.transport.http import refusal
from onceonly.transport.http.head import (
    RequestHead,
    find_known_head,
    has_bare_line_feed,
    read_request_head,
)
from onceonly.transport.http.limits import (
    BODY_BUFFER_MAX,
    CHUNK_OVERHEAD_MAX,
    CHUNK_OVERHEAD_SHARE,
    HEAD_BYTES_MAX,
    LINGER_BYTES_MAX,
    PIPELINE_BYTES_MAX,
    WHOLE_BODY_BYTES_MAX,
    HttpLimits,
)
from onceonly.transport.http.refusal import CONTINUE, HttpRefused, render_answer
from onceonly.transport.incoming_body import IncomingBody
from onceonly.transport.pace import Pace
from onceonly.transport.transport import (
    Answer,
    NoteRefusal,
    Receive,
    Request,
    TransferBroken,
)


class Endpoint(Word):
    """What all connections of one server share."""

    path: bytes
    """The only legal request target, with its query."""
    authorities: frozenset[bytes]
    """Authorities that a target in absolute form may name (`head.authority_of`)."""
    receive: Receive
    note_refusal: NoteRefusal
    limits: HttpLimits
    loop: asyncio.AbstractEventLoop
    opened: Callable[["HttpConnection", str], Answer | None]
    """Tells the server of a connection from an address. Returns a refusal if there are too many."""
    closed: Callable[["HttpConnection", str], None]
    note_certificate: Callable[[bytes], None]
    """Told of each connection's verified client certificate, in DER."""


class _Phase(Enum):
    HEAD = auto()
    """Between requests, or in the middle of a head."""
    REQUEST = auto()
    """A body arrives, or `receive` has not answered yet."""
    LINGER = auto()
    """The last answer was sent; what still comes is thrown away."""
    CLOSED = auto()


class _SurplusAfterBodyError(Exception):
    """llhttp sees another request after a chunked body, where we cannot find its beginning."""


class HttpConnection(asyncio.Protocol):
    """Keeps the order: a request is answered before the next one is parsed."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._limits = endpoint.limits
        self._phase = _Phase.CLOSED
        self._parser = httptools.HttpRequestParser(self)
        self._rest = b""
        self._body = IncomingBody(self._on_body_taken)
        self._pace: Pace | None = None
        self._body_checked_at = 0.0
        self._left_bytes: int | None = 0
        self._chunked_bytes = 0
        self._owes_continue = False
        self._task: asyncio.Future[Answer] | None = None
        self._deadline = 0.0
        self._is_head_begun = False
        self._is_last = False
        self._is_reading_paused = False
        self._write_blocked_at: float | None = None
        self._lingered_bytes = 0

    # Called by the loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Refuse the connection if there are too many, or if the endpoint is closing."""
        self._transport = cast("asyncio.Transport", transport)
        # A peer that reset the connection before we accepted it has no name any more.
        name = self._transport.get_extra_info("peername") or ("", 0)
        self._address, self._peer = name[0], f"{name[0]}:{name[1]}"
        shown = _certificate(self._transport.get_extra_info("ssl_object"))
        self._certificate = None if shown is None else sha256(shown).hexdigest()
        if shown is not None:
            self._endpoint.note_certificate(shown)
        turned_away = self._endpoint.opened(self, self._address)
        if turned_away is not None:
            self._note(turned_away)
            self._transport.write(render_answer(turned_away, is_last=True))
            self._transport.close()
            return
        self._phase = _Phase.HEAD
        self._deadline = self._endpoint.loop.time() + self._limits.header_timeout_s

    def data_received(self, data: bytes) -> None:
        """Take more bytes, in pieces of any size."""
        if self._phase is _Phase.LINGER:
            self._lingered_bytes += len(data)
            if self._lingered_bytes > LINGER_BYTES_MAX:
                self._transport.abort()
            return
        if self._phase is _Phase.CLOSED:
            return
        self._rest = self._rest + data if self._rest else data
        try:
            self._parse()
        except HttpRefused as error:
            self._refuse(error.answer)

    def eof_received(self) -> bool:
        """The peer closed its side; True keeps ours open."""
        # A peer may close its side and still read: it gets its answer if it sent everything.
        is_served = self._phase is _Phase.REQUEST and self._body.is_complete
        self._is_last = True
        return is_served and not self._transport.get_extra_info("sslcontext")

    def connection_lost(self, _exc: Exception | None) -> None:
        """The connection is over, whoever ended it."""
        # A whole body is received to its end, as the peer will send it again if it gets no answer.
        if self._phase is _Phase.REQUEST:
            self._body.break_off("connection lost")
        self._phase = _Phase.CLOSED
        self._rest = b""
        self._endpoint.closed(self, self._address)

    def pause_writing(self) -> None:
        """The peer does not read its answers: no more requests until it does."""
        self._write_blocked_at = self._endpoint.loop.time()
        self._pause_reading()

    def resume_writing(self) -> None:
        """The peer reads again."""
        self._write_blocked_at = None
        self._resume_reading()

    # Called by the server.

    @property
    def task(self) -> asyncio.Future[Answer] | None:
        """The reception under way, or None."""
        return self._task

    def finish(self) -> None:
        """Close after the request that is being received, or now if there is none."""
        self._is_last = True
        if self._phase is _Phase.HEAD:
            self._close()

    def abort(self) -> None:
        """Close now."""
        self._transport.abort()

    def check(self, now: float) -> None:
        """Enforce every time limit (A4, H22)."""
        if self._write_blocked_at is not None:
            if now - self._write_blocked_at > self._limits.write_timeout_s:
                self._transport.abort()
        elif self._phase is _Phase.HEAD:
            if now > self._deadline and self._rest:
                self._refuse(refusal.TOO_SLOW)
            elif now > self._deadline:
                self._close()
        elif self._phase is _Phase.LINGER:
            if now > self._deadline:
                self._transport.abort()
        elif self._phase is _Phase.REQUEST and not self._body.is_complete:
            self._check_body_rate(now)

    def _check_body_rate(self, now: float) -> None:
        assert self._pace is not None, "a body arrives"
        if self._is_reading_paused:
            # Our own slowness must not count against the peer.
            self._pace.forgive(now - self._body_checked_at)
        self._body_checked_at = now
        if self._pace.left_s(self._body.received_bytes, now) < 0:
            self._refuse(refusal.TOO_SLOW)

    # Reading.

    def _parse(self) -> None:
        if self._phase is _Phase.REQUEST and not self._body.is_complete:
            self._read_body()
        while self._phase is _Phase.HEAD and self._rest:
            end = self._rest.find(b"\r\n\r\n", 0, HEAD_BYTES_MAX)
            if end < 0:
                self._wait_for_head()
                return
            self._begin(end + 4)
        if len(self._rest) > PIPELINE_BYTES_MAX:
            self._pause_reading()

    def _wait_for_head(self) -> None:
        if len(self._rest) >= HEAD_BYTES_MAX:
            raise HttpRefused(refusal.HEAD_TOO_LARGE)
        if has_bare_line_feed(self._rest):
            raise HttpRefused(refusal.BARE_LINE_FEED)
        if not self._is_head_begun:
            self._is_head_begun = True
            self._deadline = self._endpoint.loop.time() + self._limits.header_timeout_s

    def _begin(self, head_size: int) -> None:
        raw = self._rest[:head_size]
        endpoint = self._endpoint
        head = find_known_head(
            raw,
            path=endpoint.path,
            body_bytes_max=self._limits.body_bytes_max,
            authorities=endpoint.authorities,
        )
        if head is not None and self._has_whole_body(head, head_size):
            return
        self._rest = self._rest[head_size:]
        if head is None:
            head = read_request_head(
                raw,
                path=endpoint.path,
                body_bytes_max=self._limits.body_bytes_max,
                authorities=endpoint.authorities,
            )
        self._begin_receiving(head)

    def _has_whole_body(self, head: RequestHead, head_size: int) -> bool:
        """Receive a small request that is here as a whole, without llhttp, which knows its head."""
        assert head.content_length is not None, "a known head has a length"
        end = head_size + head.content_length
        if head.content_length > WHOLE_BODY_BYTES_MAX or len(self._rest) < end:
            return False
        body, self._rest = self._rest[head_size:end], self._rest[end:]
        self._body = IncomingBody(self._on_body_taken, body)
        self._left_bytes = 0
        self._owes_continue = False
        self._phase = _Phase.REQUEST
        self._receive(head)
        return True

    def _begin_receiving(self, head: RequestHead) -> None:
        self._is_last = self._is_last or head.is_last
        self._owes_continue = head.expects_continue
        self._body = IncomingBody(self._on_body_taken)
        self._left_bytes = head.content_length
        self._chunked_bytes = 0
        self._phase = _Phase.REQUEST
        self._feed_llhttp(head.for_llhttp, refusal.MALFORMED_HEAD)
        if not self._body.is_complete:
            now = self._body_checked_at = self._endpoint.loop.time()
            self._pace = Pace(
                grace_s=self._limits.body_grace_s, rate_min=self._limits.body_rate_min, now=now
            )
            self._read_body()
        self._receive(head)

    def _read_body(self) -> None:
        data = self._rest
        if not data:
            return
        if self._left_bytes is None:
            self._rest = b""
            self._read_chunks(data)
            return
        piece, self._rest = data[: self._left_bytes], data[self._left_bytes :]
        self._left_bytes -= len(piece)
        self._feed_llhttp(piece, refusal.MALFORMED_BODY)

    def _read_chunks(self, data: bytes) -> None:
        self._chunked_bytes += len(data)
        self._feed_llhttp(data, refusal.MALFORMED_BODY)
        received = self._body.received_bytes
        if received > self._limits.body_bytes_max:
            raise HttpRefused(refusal.BODY_TOO_LARGE)
        overhead = self._chunked_bytes - received
        if overhead > CHUNK_OVERHEAD_MAX + received // CHUNK_OVERHEAD_SHARE:
            raise HttpRefused(refusal.TOO_MUCH_FRAMING)

    def _feed_llhttp(self, data: bytes, answer: Answer) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            if self._body.is_complete:
                # After a whole request: that one is answered, and what follows is ignored.
                self._is_last = True
                return
            is_overflow = "overflow" in str(error)
            raise HttpRefused(refusal.BODY_TOO_LARGE if is_overflow else answer) from None

    # Called by llhttp.

    def on_message_begin(self) -> None:
        """Another request begins. Raises if it follows a chunked body, which ends the parsing."""
        if self._body.is_complete:
            raise _SurplusAfterBodyError

    def on_body(self, piece: bytes) -> None:
        """A piece of the body."""
        self._body.feed(piece)
        if self._body.buffered_bytes > BODY_BUFFER_MAX:
            self._pause_reading()

    def on_message_complete(self) -> None:
        """The body is whole."""
        self._body.finish()

    # Receiving and answering.

    def _receive(self, head: RequestHead) -> None:
        request = Request(
            head.content_type,
            head.content_length,
            self._peer,
            certificate=self._certificate,
            soap_action=head.soap_action,
            hops=head.hops,
        )
        loop = self._endpoint.loop
        reception = self._endpoint.receive(request, self._body)
        if isinstance(reception, CoroutineType):
            self._task = loop.create_task(reception)  # As `ensure_future` does after four calls.
        else:
            self._task = asyncio.ensure_future(reception, loop=loop)
        self._task.add_done_callback(self._received)

    def _on_body_taken(self) -> None:
        if self._phase is not _Phase.REQUEST or self._transport.is_closing():
            return
        if self._owes_continue:
            self._owes_continue = False
            if not self._body.received_bytes:
                self._transport.write(CONTINUE)
        if not self._body.is_complete:
            self._resume_reading()

    def _received(self, task: asyncio.Future[Answer]) -> None:
        self._task = None
        if task.cancelled():
            self._transport.abort()
            return
        error = task.exception()
        if error is None:
            self._answer(task.result())
        elif isinstance(error, TransferBroken):
            self._break_after_transfer()
        else:
            self._report(error)
            self._answer(refusal.INTERNAL_ERROR, is_last=True)

    def _break_after_transfer(self) -> None:
        # The peer is gone, or was refused already: then let it read the refusal.
        if self._phase is _Phase.REQUEST:
            self._transport.abort()

    def _report(self, error: BaseException) -> None:
        message = "receiving a package failed on our side"
        self._endpoint.loop.call_exception_handler({"message": message, "exception": error})

    def _refuse(self, answer: Answer) -> None:
        if self._task is None:
            self._note(answer)
        if self._phase is _Phase.REQUEST:
            self._body.break_off(answer.error or "refused")
        self._answer(answer, is_last=True)

    def _note(self, answer: Answer) -> None:
        """Note a refusal of which `receive` does not know; otherwise it notes that itself."""
        self._endpoint.note_refusal(self._peer, "http", answer.error or "refused")

    def _answer(self, answer: Answer, *, is_last: bool = False) -> None:
        # A transport that is being closed takes no more bytes; that of uvloop raises.
        if self._phase not in (_Phase.HEAD, _Phase.REQUEST) or self._transport.is_closing():
            return
        is_read = self._phase is _Phase.REQUEST and self._body.is_complete
        is_last = is_last or self._is_last or not is_read
        self._transport.write(render_answer(answer, is_last=is_last))
        if is_last:
            self._end(is_read=is_read)
        else:
            self._await_next()

    def _await_next(self) -> None:
        self._phase = _Phase.HEAD
        self._is_head_begun = False
        self._deadline = self._endpoint.loop.time() + self._limits.idle_timeout_s
        if self._rest:
            self.data_received(b"")
        if self._is_reading_paused and len(self._rest) <= PIPELINE_BYTES_MAX:
            self._resume_reading()

    def _end(self, *, is_read: bool) -> None:
        """Close; if the peer may still be sending, only our side, so that it can read the answer.

        Closing a socket with unread bytes resets the connection, and the reset can overtake
        the answer.
        """
        if self._phase is _Phase.REQUEST:
            self._body.break_off("answered already")
        self._rest = b""
        if is_read or not self._transport.can_write_eof():
            self._close()
            return
        self._phase = _Phase.LINGER
        self._deadline = self._endpoint.loop.time() + self._limits.linger_s
        self._transport.write_eof()
        self._resume_reading()

    def _close(self) -> None:
        self._phase = _Phase.CLOSED
        self._transport.close()

    def _pause_reading(self) -> None:
        if not self._is_reading_paused and not self._transport.is_closing():
            self._is_reading_paused = True
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        is_blocked = self._write_blocked_at is not None or self._transport.is_closing()
        if self._is_reading_paused and not is_blocked:
            self._is_reading_paused = False
            self._transport.resume_reading()


def _certificate(tls: ssl.SSLObject | None) -> bytes | None:
    """The verified client certificate; None if none was asked for."""
    return (None if tls is None else tls.getpeercert(binary_form=True)) or None
