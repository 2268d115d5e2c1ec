"""A link between two gateways that loses, doubles, delays, cuts and refuses, by a seed.

A reverse proxy for HTTP/1.1 requests that come with a Content-Length, one for each direction. It
changes nothing but the Host header, so that the gateway at its end sees its own address; whatever
else a fault does to a request, no byte of it is ever altered. It must not know what travels.
Faults N1, N2, N3, N8, N9 and N10 of the fault list.

Which fault meets the n-th request depends on the seed, the direction and n alone. What follows
from it depends on timing, so two runs with one seed are alike, not equal.
"""

import asyncio
import re
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from enum import StrEnum
from random import Random
from typing import NamedTuple, Self

HEAD_BYTES_MAX = 64 * 1024
"""Four times what our gateway takes: the link must not be the one that refuses."""

HELD_BYTES_MAX = 1024 * 1024
"""Largest body that is held in memory, and so the largest that can be doubled."""

ANSWER_BYTES_MAX = 64 * 1024
"""Answers of a gateway have no body (seed 000 §2.5.1); anything longer is cut off."""

PIECE_BYTES = 64 * 1024
CONNECT_S = 5.0
ANSWER_S = 60.0
"""Longer than a gateway waits for an answer, so that the gateway's own limit shows."""

DELAY_S = 0.4
"""Longest delay: a few retry intervals at the demonstration's clock rate."""

LATE_S = 3.0
"""Longest delay of a second copy: the pair has long moved on when it comes."""

LATE_COPIES_MAX = 64
"""Most second copies under way; past it a doubling is done at once. Bounds memory to 64 MiB."""

DISTURBED_PER_LOST = 0.5
"""Requests doubled or delayed, as a share of those lost."""


class Fault(StrEnum):
    """What may happen to a request. The first five lose it or its answer for the sender."""

    REQUEST_LOST = "request_lost"
    """Not forwarded; the connection is closed without an answer."""
    RESPONSE_LOST = "response_lost"
    """Forwarded and worked on; the answer is thrown away."""
    REQUEST_RESET = "request_reset"
    """Forwarded in part, then both connections are reset."""
    RESPONSE_RESET = "response_reset"
    """Forwarded; the connection is reset in the middle of the answer."""
    UNAVAILABLE = "unavailable"
    """Not forwarded; answered with 503."""
    DOUBLED = "doubled"
    """Forwarded twice, one after the other, answered once."""
    DOUBLED_LATE = "doubled_late"
    """Forwarded and answered; a second copy follows when nobody expects it any more."""
    DELAYED = "delayed"
    """Forwarded after a while."""


LOSING = (
    Fault.REQUEST_LOST,
    Fault.RESPONSE_LOST,
    Fault.REQUEST_RESET,
    Fault.RESPONSE_RESET,
    Fault.UNAVAILABLE,
)
DISTURBING = (Fault.DOUBLED, Fault.DOUBLED_LATE, Fault.DELAYED)


class RequestFate(NamedTuple):
    """What the link does to one request. `share` says where a cut falls, `wait` how long."""

    fault: Fault | None = None
    share: float = 0.0
    wait: float = 0.0


def fates(seed: int, direction: str, loss: float) -> Iterator[RequestFate]:
    """The fate of each request in turn, without end; a pure function of the arguments."""
    random = Random(f"{seed}/link/{direction}")  # noqa: S311 - because a drill must be repeatable
    while True:
        lot, share, wait = random.random(), random.random(), random.random()
        losing, disturbing = random.choice(LOSING), random.choice(DISTURBING)
        if lot < loss:
            yield RequestFate(losing, share, wait)
        elif lot < loss * (1 + DISTURBED_PER_LOST):
            yield RequestFate(disturbing, share, wait)
        else:
            yield RequestFate()


class _Unreachable(Exception):  # noqa: N818 - because it names what the link met
    """The gateway at the end of the link is down, or went away without an answer."""


class _Request(NamedTuple):
    head: bytes
    length: int
    held: bytes | None
    """The whole body, where it is small; else it is still to be read from the sender."""


class _Answer(NamedTuple):
    raw: bytes
    ends_connection: bool


class FaultyLink:
    """One direction of the link; use as an asynchronous context.

    `target` is host and port of the gateway's MSH. `faults` counts what was done, `requests` all
    that came, `unreachable` those that found the gateway down: no fault of the link's.
    """

    def __init__(
        self, direction: str, target: tuple[str, int], *, seed: int, loss: float, port: int = 0
    ) -> None:
        self.direction = direction
        self.faults: Counter[Fault] = Counter()
        self.requests = 0
        self.unreachable = 0
        self._target = target
        self._port = port
        self._fates = fates(seed, direction, loss)
        self._late: set[asyncio.Task[None]] = set()
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self._port, limit=HEAD_BYTES_MAX
        )
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in (*self._open, *self._late):
            task.cancel()
        await asyncio.gather(*self._open, *self._late, return_exceptions=True)

    @property
    def port(self) -> int:
        """The port that the link listens on, once it is open."""
        return self._port

    async def settle(self) -> None:
        """Wait until no second copy is under way any more; bounded by `LATE_S` and `ANSWER_S`."""
        await asyncio.gather(*self._late)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "the server runs each connection in a task"
        self._open.add(task)
        try:
            while await self._carry(reader, writer):
                pass
        except (ConnectionError, EOFError, TimeoutError, asyncio.LimitOverrunError, _Unreachable):
            # The sender sees what it would see on a broken wire: a connection that ends.
            _reset(writer)
        except asyncio.CancelledError:
            # The link is being closed. This is the task's outermost frame, so it ends all the
            # same; Python 3.11's streams would log a cancelled one as an error.
            _reset(writer)
        finally:
            self._open.discard(task)
            writer.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether the connection goes on."""
        request = await _read_request(reader, writer, self._target)
        if request is None:
            return False
        self.requests += 1
        fate = self._fate_of(request)
        if fate.fault in (Fault.REQUEST_LOST, Fault.UNAVAILABLE):
            return await _leave_out(fate.fault, request, writer)
        if fate.fault is Fault.DELAYED:
            await asyncio.sleep(fate.wait * DELAY_S)
        if fate.fault is Fault.REQUEST_RESET:
            await self._forward(request, reader, cut_at=int(fate.share * _size(request)))
            _reset(writer)
            return False
        answer = await self._answered(request, reader)
        if fate.fault is Fault.DOUBLED:
            answer = await self._answered(request, reader)
        if fate.fault is Fault.DOUBLED_LATE:
            self._send_later(request, reader, fate.wait * LATE_S)
        return await _give_answer(answer, fate, writer)

    def _fate_of(self, request: _Request) -> RequestFate:
        fate = next(self._fates)
        if fate.fault in (Fault.DOUBLED, Fault.DOUBLED_LATE) and request.held is None:
            # A large body cannot be held for a second copy: lose the answer, and the sender
            # makes the copy itself.
            fate = fate._replace(fault=Fault.RESPONSE_LOST)
        elif fate.fault is Fault.DOUBLED_LATE and len(self._late) >= LATE_COPIES_MAX:
            fate = fate._replace(fault=Fault.DOUBLED)
        if fate.fault is not None:
            self.faults[fate.fault] += 1
        return fate

    def _send_later(self, request: _Request, reader: asyncio.StreamReader, wait_s: float) -> None:
        async def send() -> None:
            await asyncio.sleep(wait_s)
            # A copy that finds nobody is a copy that the wire lost.
            with suppress(_Unreachable):
                await self._answered(request, reader)

        task = asyncio.create_task(send())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _answered(self, request: _Request, reader: asyncio.StreamReader) -> _Answer:
        answer = await self._forward(request, reader, cut_at=None)
        if answer is None:
            self.unreachable += 1
            raise _Unreachable
        return answer

    async def _forward(
        self, request: _Request, reader: asyncio.StreamReader, *, cut_at: int | None
    ) -> _Answer | None:
        """The gateway's answer; None if there is none, or if the request is to be cut."""
        try:
            async with asyncio.timeout(CONNECT_S):
                upstream, downstream = await asyncio.open_connection(
                    *self._target, limit=HEAD_BYTES_MAX
                )
        except (OSError, TimeoutError):
            return None
        try:
            is_whole = await _write_request(request, reader, downstream, cut_at)
            if cut_at is not None:
                _reset(downstream)
                return None
            async with asyncio.timeout(ANSWER_S):
                return await _read_answer(upstream, is_whole=is_whole)
        except (ConnectionError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            return None
        finally:
            downstream.close()


_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,15})[ \t]*\r\n", re.IGNORECASE)
_HOST = re.compile(rb"\r\nhost:[^\r\n]*\r\n", re.IGNORECASE)
_EXPECT = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*\r\n", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[ \t]*close[ \t]*\r\n", re.IGNORECASE)
_INTERIM = re.compile(rb"HTTP/1\.1 1\d\d")


async def _read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: tuple[str, int]
) -> _Request | None:
    """The next request, its body too if it is small; None when the sender has closed."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    found = _LENGTH.search(head)
    length = int(found[1]) if found else 0
    if _EXPECT.search(head):
        head = _EXPECT.sub(b"\r\n", head)
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    host, port = target
    head = _HOST.sub(f"\r\nHost: {host}:{port}\r\n".encode(), head)
    held = await reader.readexactly(length) if length <= HELD_BYTES_MAX else None
    return _Request(head, length, held)


def _size(request: _Request) -> int:
    return len(request.head) + request.length


async def _write_request(
    request: _Request,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    cut_at: int | None,
) -> bool:
    """Write the request, or its first `cut_at` bytes; False if the gateway stopped listening."""
    left = _size(request) if cut_at is None else cut_at
    async for piece in _pieces(request, reader):
        try:
            writer.write(piece[:left])
            await writer.drain()
        except ConnectionError:
            return False  # it may have answered early, and the answer counts
        left -= len(piece)
        if left <= 0:
            break
    return True


async def _pieces(request: _Request, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    if request.held is not None:
        yield request.head + request.held
        return
    yield request.head
    left = request.length
    while left:
        piece = await reader.read(min(left, PIECE_BYTES))
        if not piece:
            raise EOFError("the sender went away in the middle of a body")
        left -= len(piece)
        yield piece


async def _read_answer(reader: asyncio.StreamReader, *, is_whole: bool) -> _Answer:
    head = await reader.readuntil(b"\r\n\r\n")
    while _INTERIM.match(head):
        head = await reader.readuntil(b"\r\n\r\n")
    found = _LENGTH.search(head)
    body = await reader.readexactly(min(int(found[1]), ANSWER_BYTES_MAX)) if found else b""
    return _Answer(head + body, ends_connection=not is_whole or bool(_CLOSE.search(head)))


_503 = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


async def _leave_out(fault: Fault, request: _Request, writer: asyncio.StreamWriter) -> bool:
    if fault is Fault.UNAVAILABLE:
        writer.write(_503)
        await writer.drain()
        # The body was not read, so a reset may destroy the answer, as in a real network.
        return False
    if request.held is None:
        _reset(writer)
    return False


async def _give_answer(answer: _Answer, fate: RequestFate, writer: asyncio.StreamWriter) -> bool:
    if fate.fault is Fault.RESPONSE_LOST:
        return False
    if fate.fault is Fault.RESPONSE_RESET:
        writer.write(answer.raw[: 1 + int(fate.share * (len(answer.raw) - 1))])
        await writer.drain()
        _reset(writer)
        return False
    writer.write(answer.raw)
    await writer.drain()
    return not answer.ends_connection


_LINGER_NOT = struct.pack("ii", 1, 0)


def _reset(writer: asyncio.StreamWriter) -> None:
    """End the connection with a TCP reset, as a crashed or cut-off peer does."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    writer.transport.abort()
