"""The other MSH on raw sockets: says and answers what a test wants, and remembers what it got.

It shares no code with the product: what it reads and writes is read and written here.
"""

import asyncio
import itertools
import re
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import packages
from packages import NAMESPACE, Parcel

PATIENCE_S = 20.0
"""A test that waits longer has hung."""

NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"
UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
HALF_AN_ANSWER = b"HTTP/1.1 204 No Con"


class Manners(Enum):
    """How a peer can misbehave instead of answering."""

    HANG_UP = "read all, then close without a word"
    HANG_UP_EARLY = "close after the head"
    HALF = "close in the middle of the status line"
    SILENCE = "read all and say nothing, for as long as the test runs"


class Arrival(NamedTuple):
    """One request as it came in."""

    request_line: str
    headers: dict[str, str]
    body: bytes
    document: ET.Element
    payloads: list[bytes]
    parts: list[dict[str, str]]
    """Header fields of the payload parts."""

    @property
    def kind(self) -> str:
        """MessageType; in rm-2001, which has none, the Action."""
        return self.document.attrib.get("MessageType") or self.text("Header/Action")

    @property
    def message_id(self) -> str:
        return self.text("Header/MessageData/MessageId")

    @property
    def ref(self) -> str:
        return self.text("Header/MessageData/RefToMessageId")

    @property
    def number(self) -> str:
        return self.text("RoutingHeader/SequenceNumber")

    def find(self, path: str) -> ET.Element | None:
        """The element at the path, all of whose steps are in the profile's namespace."""
        return self.document.find("/".join(f"{{{NAMESPACE}}}{step}" for step in path.split("/")))

    def text(self, path: str) -> str:
        """Text of the element that must be there; empty where it is empty."""
        element = self.find(path)
        assert element is not None, f"{path} is missing in {self.kind}"
        return element.text or ""

    @property
    def error_code(self) -> str:
        error = self.find("ErrorList/Error")
        assert error is not None
        return error.attrib.get("ErrorCode") or error.attrib["errorCode"]

    @property
    def min_retry(self) -> str | None:
        element = self.find("ErrorList/Error/MinRetrySecs")
        return None if element is None else element.text


Script = bytes | Manners | Callable[[Arrival], bytes]
"""What is answered to a request; a function makes it of the request."""


class Reply(NamedTuple):
    """What the gateway's endpoint answered."""

    status: int
    headers: dict[str, str]
    body: bytes


class Peer:
    """Listens at `uri`, answers by script, and posts to `gateway_uri`."""

    def __init__(self, party: str, agreement: str = "tpa-ab-1") -> None:
        self.party = party
        self.agreement = agreement
        self.arrivals: list[Arrival] = []
        self.posts_seen = 0
        self.gateway_uri = ""
        self.gateway_party = "urn:duns:222222222"
        self._unheard: asyncio.Queue[Arrival] = asyncio.Queue()
        self._answers: deque[Script] = deque()
        self.answer_always: Script = NO_CONTENT
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ids = itertools.count(1)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        self._server: asyncio.Server | None = None
        self.uri = f"http://127.0.0.1:{self._port}/msh"

    async def listen(self) -> None:
        """Take connections (again)."""
        if self._listener.fileno() < 0:
            self._listener = socket.create_server(("127.0.0.1", self._port))
        self._server = await asyncio.start_server(self._serve, sock=self._listener)

    def refuse_connections(self) -> None:
        """Stop listening and cut what is connected, until `listen` is called again."""
        if self._server is not None:
            self._server.close()
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """Cut what is connected; new connections are taken as before."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def close(self) -> None:
        self.refuse_connections()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=PATIENCE_S)
        if self._server is not None:
            # The loop closes the listener when it comes to it; a test that ends now leaks it.
            await asyncio.wait_for(self._server.wait_closed(), PATIENCE_S)

    def answer(self, *answers: "Script") -> None:
        """Answer the next requests so; after them `answer_always` holds again."""
        self._answers.extend(answers)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._serve_one(reader, writer):
                    pass
        finally:
            self._writers.discard(writer)
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        self.posts_seen += 1
        answer = self._answers.popleft() if self._answers else self.answer_always
        if answer is Manners.HANG_UP_EARLY:
            return False
        request_line, headers = _read_head(head)
        body = await reader.readexactly(int(headers["content-length"]))
        arrival = self.read(request_line, headers, body)
        self.arrivals.append(arrival)
        self._unheard.put_nowait(arrival)
        if callable(answer):
            answer = answer(arrival)
        if answer is Manners.SILENCE:
            await reader.read(1)
            return False
        if answer is Manners.HALF:
            writer.write(HALF_AN_ANSWER)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
            return False
        if isinstance(answer, Manners):
            return False
        writer.write(answer)
        await writer.drain()
        return True

    def read(self, request_line: str, headers: dict[str, str], body: bytes) -> Arrival:
        """A request in the form of this peer."""
        return read_package(request_line, headers, body)

    async def hear(self, kind: str | None = None) -> Arrival:
        """The next request not heard yet; of another kind than asked for, the test fails."""
        async with asyncio.timeout(PATIENCE_S):
            arrival = await self._unheard.get()
        assert kind in (None, arrival.kind), f"heard {arrival.kind}, expected {kind}"
        return arrival

    async def hear_several(self, kind: str, count: int) -> list[Arrival]:
        return [await self.hear(kind) for _ in range(count)]

    def has_unheard(self) -> bool:
        return not self._unheard.empty()

    def heard(self, kind: str) -> list[Arrival]:
        """Everything of this kind that ever came."""
        return [arrival for arrival in self.arrivals if arrival.kind == kind]

    def fresh_id(self, prefix: str = "m") -> str:
        return f"{prefix}-{next(self._ids):04}@a.example.com"

    def normal(self, message_id: str, number: int | str | None, **fields: Any) -> Parcel:
        """A Normal message of ours to the gateway."""
        return packages.normal(
            message_id,
            number,
            **{
                "from_party": self.party,
                "to_party": self.gateway_party,
                "sender_uri": self.uri,
                "receiver_uri": self.gateway_uri,
                "agreement": self.agreement,
                **fields,
            },
        )

    def signal(self, kind: str, ref: str, **fields: Any) -> Parcel:
        return packages.signal(
            kind,
            ref,
            **{
                "message_id": self.fresh_id("s"),
                "sender_uri": self.uri,
                "receiver_uri": self.gateway_uri,
                "agreement": self.agreement,
                **fields,
            },
        )

    async def send(self, message_id: str, number: int | str | None, **fields: Any) -> Reply:
        """Post a Normal message."""
        return await self.post(self.normal(message_id, number, **fields))

    async def acknowledge(self, message_id: str, **fields: Any) -> Reply:
        """Post an Acknowledgement about the message."""
        return await self.post(self.signal("Acknowledgement", message_id, **fields))

    async def refuse(
        self,
        message_id: str,
        code: str,
        severity: str = "Error",
        min_retry_s: int | None = None,
        **fields: Any,
    ) -> Reply:
        """Post an Error about the message."""
        errors = packages.error_list(code, severity, min_retry_s)
        return await self.post(self.signal("Error", message_id, errors=errors, **fields))

    async def post(self, parcel: Parcel, *headers: str) -> Reply:
        """Post a package on a connection of its own."""
        return await self.say(self.request(parcel, *headers))

    def request(self, parcel: Parcel, *headers: str) -> bytes:
        """The bytes of a POST."""
        parts = urlsplit(self.gateway_uri)
        lines = [
            f"POST {parts.path} HTTP/1.1",
            f"Host: {parts.netloc}",
            f"Content-Type: {parcel.content_type}",
            f"Content-Length: {len(parcel.body)}",
            "Connection: close",
            *headers,
        ]
        return "\r\n".join([*lines, "", ""]).encode() + parcel.body

    async def say(self, request: bytes) -> Reply:
        """Send raw bytes and read the answer up to the end of the connection."""
        async with asyncio.timeout(PATIENCE_S), self._connected() as (reader, writer):
            writer.write(request)
            with suppress(ConnectionError):
                await writer.drain()
            return _read_reply(await reader.read())

    async def say_and_reset(self, request: bytes) -> None:
        """Send raw bytes and reset the connection."""
        async with asyncio.timeout(PATIENCE_S), self._connected() as (_, writer):
            writer.write(request)
            await writer.drain()
            connection = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    @asynccontextmanager
    async def _connected(
        self,
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        parts = urlsplit(self.gateway_uri)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()


def _read_head(head: bytes) -> tuple[str, dict[str, str]]:
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return first, {name.lower(): value.strip() for name, _, value in pairs}


def _read_reply(answer: bytes) -> Reply:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head, "the connection was closed without an answer"
    status_line, headers = _read_head(head)
    return Reply(int(status_line.split()[1]), headers, body)


def read_package(request_line: str, headers: dict[str, str], body: bytes) -> Arrival:
    """The package in a request or an answer."""
    match = re.search(r'boundary="([^"]+)"', headers["content-type"])
    assert match is not None, headers["content-type"]
    delimiter = b"--" + match[1].encode()
    preamble, *sections, end = (b"\r\n" + body).split(b"\r\n" + delimiter)
    assert preamble == b"", "a preamble"
    assert end.startswith(b"--"), "no closing boundary"
    parts = [_read_part(section) for section in sections]
    _, document = parts[0]
    return Arrival(
        request_line,
        headers,
        body,
        ET.fromstring(document),
        [content for _, content in parts[1:]],
        [fields for fields, _ in parts[1:]],
    )


def _read_part(section: bytes) -> tuple[dict[str, str], bytes]:
    head, _, content = section.removeprefix(b"\r\n").partition(b"\r\n\r\n")
    _, fields = _read_head(b"part\r\n" + head)
    return fields, content


def bodies(arrivals: Sequence[Arrival]) -> set[bytes]:
    """The different bodies among them."""
    return {arrival.body for arrival in arrivals}
