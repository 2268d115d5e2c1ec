"""The other side of a transport in tests: receivers, bodies, raw clients and scripted servers."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from onceonly.transport.http.client import HttpTransport
from onceonly.transport.http.limits import HttpClientLimits, HttpLimits
from onceonly.transport.http.server import HttpServer, serve_http
from onceonly.transport.transport import Answer, Outgoing, Request, TransferBroken

PATIENCE_S = 10.0
"""A test that waits longer has hung."""

CONTENT_TYPE = 'multipart/related; type="text/xml"; boundary="b"'
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class WholeBody:
    """In memory, sent at once."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.size_bytes = len(content)

    def whole(self) -> bytes | None:
        return self.content

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.content


class PiecedBody:
    """As from a file. `promised` differs from the truth when the file was changed."""

    def __init__(self, *pieces: bytes, promised: int | None = None) -> None:
        self.pieces = pieces
        self.size_bytes = sum(map(len, pieces)) if promised is None else promised

    def whole(self) -> bytes | None:
        return None

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


class UnreadableBody(PiecedBody):
    """A file whose disk fails after the first pieces."""

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece
        raise OSError("the disk failed")


class Inbox:
    """A receiver that remembers what came whole and what broke."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.answer = answer or Answer(200)
        self.requests: list[Request] = []
        self.bodies: list[bytes] = []
        self.broken: list[str] = []
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()
        self.arrivals: asyncio.Queue[bytes] = asyncio.Queue()

    async def __call__(self, request: Request, body: AsyncIterator[bytes]) -> Answer:
        self.requests.append(request)
        self.begun.set()
        try:
            content = b"".join([piece async for piece in body])
        except TransferBroken as error:
            self.broken.append(str(error))
            raise
        finally:
            self.ended.set()
        self.bodies.append(content)
        self.arrivals.put_nowait(content)
        return self.answer

    async def arrival(self) -> bytes:
        """The next body that came whole."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.arrivals.get()


class Gate(Inbox):
    """A receiver that answers only when it is opened."""

    def __init__(self, answer: Answer | None = None) -> None:
        super().__init__(answer)
        self.opened = asyncio.Event()

    async def __call__(self, request: Request, body: AsyncIterator[bytes]) -> Answer:
        answer = await super().__call__(request, body)
        await self.opened.wait()
        return answer


async def refuse_unread(_request: Request, _body: AsyncIterator[bytes]) -> Answer:
    return Answer(403, "SecurityFailure")


@asynccontextmanager
async def endpoint(
    receive: Callable[[Request, AsyncIterator[bytes]], Awaitable[Answer]],
    limits: HttpLimits | None = None,
) -> AsyncIterator[HttpServer]:
    """An MSH endpoint at /msh on a free port."""
    server = await serve_http("http://127.0.0.1:0/msh", receive, limits=limits or HttpLimits())
    try:
        yield server
    finally:
        await server.close(grace_s=0.1)


@asynccontextmanager
async def sender(limits: HttpClientLimits | None = None) -> AsyncIterator[HttpTransport]:
    transport = HttpTransport(limits=limits or HttpClientLimits())
    try:
        yield transport
    finally:
        await transport.close()


def package(port: int, content: bytes = b"a message") -> Outgoing:
    return Outgoing(f"http://127.0.0.1:{port}/msh", CONTENT_TYPE, WholeBody(content))


def post(body: bytes = b"a message", *headers: str, target: str = "/msh") -> bytes:
    """The bytes of an ordinary request."""
    lines = [f"POST {target} HTTP/1.1", "Host: partner.example", "Content-Type: text/xml"]
    lines += [f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def chunked(chunks: bytes, *headers: str) -> bytes:
    """A chunked request with these raw bytes as its body."""
    lines = ["POST /msh HTTP/1.1", "Host: partner.example", "Transfer-Encoding: chunked"]
    return "\r\n".join([*lines, *headers, "", ""]).encode("ascii") + chunks


class RawClient:
    """A TCP connection on which a test says what it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def say(self, data: bytes) -> None:
        if self.writer.is_closing():
            raise ConnectionResetError
        self.writer.write(data)
        async with asyncio.timeout(PATIENCE_S):
            await self.writer.drain()

    async def hear(self) -> bytes:
        """The next head."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def hear_all(self) -> bytes:
        """Everything up to the end of the connection."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()

    def reset(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def raw_client(port: int) -> AsyncIterator[RawClient]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield RawClient(reader, writer)
    finally:
        writer.transport.abort()


MANY = 50
"""Turns of the loop: enough for whatever is ready on a socket of this machine."""


async def turn(times: int) -> None:
    """Let the loop go round."""
    for _ in range(times):
        await asyncio.sleep(0)


async def say_and_hear_all(port: int, data: bytes) -> bytes:
    async with raw_client(port) as client:
        await client.say(data)
        return await client.hear_all()


Script = Callable[[RawClient, bytes], Awaitable[None]]


class ScriptedPeer:
    """A server that reads each request whole and then does what the script says."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.request_count = 0
        self.connection_count = 0
        self.hung_up = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        client = RawClient(reader, writer)
        try:
            while head := await self._read_head(reader):
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                self.request_count += 1
                await self._script(client, head)
        finally:
            self.hung_up.set()

    async def _read_head(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return b""


OnConnection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(
    on_connection: OnConnection,
    listener: socket.socket | None = None,
    *,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[asyncio.Server]:
    """A server of a test's own; at the end its connections are cut and their tasks awaited."""
    tasks: set[asyncio.Task[None]] = set()
    writers: set[asyncio.StreamWriter] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await on_connection(reader, writer)
        writer.transport.abort()

    listener = listener or socket.create_server(("127.0.0.1", 0))
    server = await asyncio.start_server(accept, sock=listener, ssl=tls)
    try:
        yield server
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE_S)


def port_of(server: asyncio.Server) -> int:
    return server.sockets[0].getsockname()[1]


@asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[tuple[int, ScriptedPeer]]:
    """A scripted peer on a free port."""
    peer = ScriptedPeer(script)
    async with listening(peer) as server:
        yield port_of(server), peer
