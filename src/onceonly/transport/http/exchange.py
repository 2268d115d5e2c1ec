"""One connection from us to a peer's endpoint: sends a request, and says how it ended.

The outcome is decided when the head of a final answer is complete (R-05). If the connection ends
before that, and a byte was written, the outcome is unknown. A 3xx is an answer outside 2xx and is
never followed (H29). Bodies of answers are read and thrown away (S0-68), except a package that an
agreement allows there (syncReplyMode, seed 001 §1.2.2), and a SOAP Fault beside a 4xx or 5xx.
"""

import asyncio
import select
from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast

import httptools

from onceonly.message.word import Word
from onceonly.transport.http.limits import (
    ANSWER_BODY_MAX,
    HEAD_BYTES_MAX,
    REPLY_BYTES_MAX,
    HttpClientLimits,
)
from onceonly.transport.http.outcome import (
    may_hold_fault,
    named,
    outcome_of,
    read_retry_after,
    words_of,
)
from onceonly.transport.http.refusal import read_error_name, render_answer
from onceonly.transport.outgoing_body import check_size
from onceonly.transport.tls_words import ALERT
from onceonly.transport.transport import Answer, Body, Outcome, TakeReply, Transmission

SWITCHING_PROTOCOLS = 101

UNSENT = "answered before the end of the body"
"""The outcome for a 2xx that came before the whole request was sent: it promises nothing."""

TAKEN = render_answer(Answer(204), is_last=False)
"""The answer that nearly every request gets from an endpoint of ours: it says one thing only."""


class Exchanged(Word):
    """How an exchange ended."""

    transmission: Transmission
    is_cut: bool
    """The connection was lost without any byte of an answer, before the last piece of the body was
    written: the peer cannot have the whole request, and the connection may have been dead
    before."""


_TAKEN = Exchanged(
    Transmission(Outcome.ACCEPTED, bytes_left=True, status_code=204, detail=""), is_cut=False
)
"""How an exchange ends that is answered by `TAKEN`."""


class _BadAnswerError(Exception):
    """The peer answered twice, or with an impossible status; raised through llhttp."""


class ClientConnection(asyncio.Protocol):
    """Exchanges one after another, for a pool that is told when it is free and when it is lost.

    `became_free` is called at the end of each exchange that left the connection usable.
    """

    def __init__(
        self,
        limits: HttpClientLimits,
        *,
        became_free: Callable[["ClientConnection"], None],
        lost: Callable[["ClientConnection"], None],
    ) -> None:
        self._limits = limits
        self._became_free = became_free
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._exchange: asyncio.Future[Exchanged] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._looking: select.poll | None = None
        self._is_writing = False
        self._answer_bytes = 0
        self._error_name = ""
        self._reason = ""
        self._phrase = b""
        self._location = ""
        self._retry_after = self._date = ""
        self._take_reply: TakeReply | None = None
        self._reply = bytearray()
        self._reply_type = ""
        self._is_answer_whole = True
        self._answer_ended: asyncio.Future[None] | None = None
        self._progress_at = self._loop.time()
        self._heard_at = self._progress_at
        self._free_since = self._progress_at
        self._deadline = 0.0
        self._unsent_bytes = 0
        self._is_trusted = True
        self._is_lost = False

    # Called by the loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected, and the TLS handshake is over."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """A piece of an answer, of any size."""
        if self._is_answer_whole:
            self._break("answered without a request")
            return
        self._heard_at = self._loop.time()
        if data == TAKEN and not self._answer_bytes and self._is_pending() and self._is_sent():
            # llhttp is between two answers, and need not see this one.
            self._answer_bytes = len(data)
            self._is_answer_whole = True
            assert self._exchange is not None, "it is pending"
            self._exchange.set_result(_TAKEN)
            self._take_reply = None
            return
        self._answer_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            is_tls = data.startswith(ALERT) and self._answer_bytes == len(data)
            self._break("answered in TLS; expected is http" if is_tls else "malformed answer")
            return
        self._free_if_done()
        if self._answer_bytes > self._answer_bytes_max():
            self._break("answer too large")

    def eof_received(self) -> None:
        """The peer closed its side, so no request is sent on this connection any more (R-38)."""
        self._is_trusted = False

    def connection_lost(self, _exc: Exception | None) -> None:
        """The connection is over, whoever ended it."""
        self._is_lost = True
        is_cut = self._is_writing and not self._answer_bytes
        self._settle(Outcome.UNKNOWN, None, "connection lost", is_cut=is_cut)
        self._end_answer()
        self._lost(self)

    def pause_writing(self) -> None:
        """Enough bytes wait to be sent."""
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        """There is room for the next chunk again."""
        self._release_writer()

    # Called by llhttp.

    def on_message_begin(self) -> None:
        """The first byte of an answer. Raises for a second answer, which ends the parsing."""
        if self._is_answer_whole:
            raise _BadAnswerError
        self._error_name = self._reason = self._reply_type = self._location = ""
        self._retry_after = self._date = ""
        self._phrase = b""

    def on_status(self, piece: bytes) -> None:
        """The words after the status, or some of them."""
        self._phrase += piece

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header line of an answer; the peer may name what was wrong."""
        if name.lower() == b"onceonly-error" and self._is_pending():
            self._error_name = read_error_name(value)
        elif name.lower() == b"onceonly-reason":
            self._reason = value.decode("latin-1")
        elif name.lower() == b"content-type":
            self._reply_type = value.decode("latin-1")
        elif name.lower() == b"location":
            self._location = value.decode("latin-1")
        elif name.lower() == b"retry-after":
            self._retry_after = value.decode("latin-1")
        elif name.lower() == b"date":
            self._date = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Decide the outcome, if the answer is not interim. Raises for an impossible status."""
        status = self._parser.get_status_code()
        if status < 100:
            raise _BadAnswerError
        if self._is_interim(status):
            return
        is_sent = self._is_sent()
        outcome = outcome_of(
            status, error_name=self._error_name, content_type=self._reply_type, is_sent=is_sent
        )
        self._settle(outcome, status, self._words_of(outcome, status))
        if not is_sent:
            self.abort()  # At once: what counts as not sent whole must not be completed.

    def on_body(self, piece: bytes) -> None:
        """A piece of the answer's body; kept only if a package may come back in it."""
        if self._is_reply_wanted():
            self._reply += piece

    def on_message_complete(self) -> None:
        """The answer is whole: another request may follow if both sides allow it."""
        if self._is_interim(self._parser.get_status_code()):
            return
        self._is_answer_whole = True
        if not self._parser.should_keep_alive():
            self._is_trusted = False
        if self._take_reply is not None and self._is_reply_wanted() and self._reply:
            status = self._parser.get_status_code()
            self._take_reply(status, self._reply_type, bytes(self._reply))
        self._end_answer()

    # Called by the pool.

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed the connection, or announced that it will."""
        return self._is_trusted and not self._transport.is_closing()

    @property
    def is_fit(self) -> bool:
        """Whether another exchange may begin (R-38): it is open, not idle for long, and silent.

        Anything to read now would be the end of the connection, which the loop has not seen yet, or
        bytes that no peer should send.
        """
        if not self._is_trusted or self._transport.is_closing():
            return False
        idle_s = self._loop.time() - self._free_since
        return idle_s <= self._limits.idle_timeout_s and not self._has_news()

    async def exchange(
        self, head: bytes, body: Body, take_reply: TakeReply | None = None
    ) -> Exchanged:
        """Send one request and await the head of its answer; never raises because of the peer.

        With `take_reply` the whole answer is awaited, and `take_reply` is called with its body, if
        that can be a package or a SOAP Fault. An error of the body's files is raised; the peer then
        sees a broken transfer.
        """
        assert self._exchange is None, "one exchange at a time"
        whole = body.whole()
        self._begin(body.size_bytes if whole is None else len(whole))
        self._take_reply = take_reply
        exchange = self._exchange = self._loop.create_future()
        try:
            if whole is not None:
                self._transport.write(head + whole)
                self._is_writing = False
            else:
                await self._write_chunks(head, body)
            exchanged: Exchanged = await exchange
            if self._is_reply_wanted() and not self._transport.is_closing():
                self._answer_ended = self._loop.create_future()
                await self._answer_ended
        finally:
            self._exchange = None
            if not exchange.done() or not self._is_sent():
                self.abort()
            self._free_if_done()
        return exchanged

    def close(self) -> None:
        """Close an idle connection."""
        self._transport.close()

    def abort(self) -> None:
        """Close now, also in the middle of an exchange."""
        if not self._is_lost:  # asyncio's transport cannot be aborted once it is closed.
            self._transport.abort()

    def check(self, now: float) -> None:
        """Enforce every time limit (N7, N11)."""
        if not self._is_pending():
            self._check_rest(now)
            return
        unsent_bytes = self._transport.get_write_buffer_size()
        if unsent_bytes != self._unsent_bytes or (self._is_writing and not unsent_bytes):
            self._unsent_bytes = unsent_bytes
            self._progress_at = now
        waited_s = now - self._progress_at
        if now > self._deadline:
            self._break("took too long altogether")
        elif unsent_bytes and waited_s > self._limits.write_timeout_s:
            self._break("no progress while sending")
        elif not unsent_bytes and waited_s > self._limits.response_timeout_s:
            self._break("no answer in time")

    def _check_rest(self, now: float) -> None:
        """After the outcome: an answer goes on while it makes progress; an idle connection ends."""
        if self._is_answer_whole:
            if now - self._free_since > self._limits.idle_timeout_s:
                self.close()
        elif now > self._deadline or now - self._heard_at > self._limits.response_timeout_s:
            self.close()

    def _has_news(self) -> bool:
        if self._looking is None:
            self._looking = select.poll()
            connected = self._transport.get_extra_info("socket")
            self._looking.register(connected.fileno(), select.POLLIN)
        return bool(self._looking.poll(0))

    def _words_of(self, outcome: Outcome, status: int) -> str:
        if not 200 <= status < 300:
            phrase = self._phrase.decode("latin-1")
            return words_of(
                status,
                phrase,
                error_name=self._error_name,
                reason=self._reason,
                location=self._location,
            )
        return named(self._error_name, self._reason) if outcome is Outcome.ACCEPTED else UNSENT

    def _begin(self, size_bytes: int) -> None:
        self._is_writing = True
        self._is_answer_whole = False
        self._answer_bytes = 0
        self._reply.clear()
        self._unsent_bytes = 0
        self._progress_at = self._loop.time()
        allowed_s = self._limits.total_s + size_bytes / self._limits.rate_min
        self._deadline = self._progress_at + allowed_s

    async def _write_chunks(self, head: bytes, body: Body) -> None:
        # Each piece is sent when the next one is known: so the size is checked before the last
        # byte.
        held, size_bytes = head, 0
        async for chunk in body.chunks():
            if self._writable is not None:
                await self._writable
            if not self._is_pending() or self._transport.is_closing():
                return
            self._transport.write(held)
            held = chunk
            size_bytes += len(chunk)
        check_size(body, size_bytes)
        if not self._is_pending() or self._transport.is_closing():
            return
        self._transport.write(held)
        self._is_writing = False

    def _end_answer(self) -> None:
        self._take_reply = None
        self._reply.clear()
        if self._answer_ended is not None and not self._answer_ended.done():
            self._answer_ended.set_result(None)
        self._answer_ended = None

    def _is_reply_wanted(self) -> bool:
        if self._take_reply is None:
            return False
        status = self._parser.get_status_code()
        return 200 <= status < 300 or may_hold_fault(status, self._reply_type)

    def _answer_bytes_max(self) -> int:
        if self._is_pending():
            return HEAD_BYTES_MAX
        return REPLY_BYTES_MAX + HEAD_BYTES_MAX if self._is_reply_wanted() else ANSWER_BODY_MAX

    def _is_interim(self, status: int) -> bool:
        return 100 <= status < 200 and status != SWITCHING_PROTOCOLS

    def _is_sent(self) -> bool:
        return not self._is_writing and not self._transport.get_write_buffer_size()

    def _is_pending(self) -> bool:
        return self._exchange is not None and not self._exchange.done()

    def _settle(
        self, outcome: Outcome, status: int | None, detail: str, *, is_cut: bool = False
    ) -> None:
        if self._exchange is not None and not self._exchange.done():
            transmission = Transmission(
                outcome,
                bytes_left=True,
                status_code=status,
                detail=detail,
                retry_after_s=read_retry_after(
                    status, self._retry_after, date=self._date, now=datetime.now(UTC)
                ),
            )
            self._exchange.set_result(Exchanged(transmission, is_cut))
        self._release_writer()

    def _break(self, detail: str) -> None:
        self._settle(Outcome.UNKNOWN, None, detail)
        self.abort()

    def _free_if_done(self) -> None:
        # Only when `exchange` has returned: its task wakes up later than its answer is whole.
        if not self._is_answer_whole:
            return
        if not self._is_trusted or self._transport.is_closing():
            self._transport.close()
        elif self._exchange is None:
            self._free_since = self._loop.time()
            self._became_free(self)

    def _release_writer(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None
