"""Fuzzes the HTTP endpoint: heads by themselves, and whole connections.

The head's input is a request; the connection's has a first byte that says how large the pieces
are. Our check of the head and llhttp must agree on where a body ends, and what is received must
not depend on where the network cuts.
"""

from collections.abc import AsyncIterator

import httptools

from fake_wire import FakeSocket, FindingsLoop, turns
from fuzzing import pieces_of
from onceonly.transport.http.connection import Endpoint, HttpConnection
from onceonly.transport.http.head import RequestHead, read_request_head
from onceonly.transport.http.limits import HttpLimits
from onceonly.transport.transport import Answer, Request, TransferBroken, note_nothing

BODY_BYTES_MAX = 4096
AUTHORITIES = frozenset({b"partner.example:80", b"a:80"})
_LOOP = FindingsLoop()


class _Framing:
    """What llhttp saw."""

    def __init__(self) -> None:
        self.body = b""
        self.is_complete = False

    def on_body(self, piece: bytes) -> None:
        """A piece."""
        self.body += piece

    def on_message_complete(self) -> None:
        """The end."""
        self.is_complete = True


def read_head(data: bytes) -> RequestHead:
    """A head, or a refusal; and llhttp frames what passes as we do."""
    head = read_request_head(
        data[: data.find(b"\r\n\r\n") + 4],
        path=b"/msh",
        body_bytes_max=BODY_BYTES_MAX,
        authorities=AUTHORITIES,
    )
    framing = _Framing()
    parser = httptools.HttpRequestParser(framing)
    try:
        parser.feed_data(head.for_llhttp)
    except httptools.HttpParserError:
        return head
    if head.content_length is not None:
        assert framing.is_complete is (head.content_length == 0)
        parser.feed_data(b"x" * head.content_length)
        assert framing.body == b"x" * head.content_length
        assert framing.is_complete
    else:
        parser.feed_data(b"1\r\nx\r\n0\r\n\r\n")
        assert framing.is_complete
    return head


def converse(data: bytes) -> None:
    """The first request is received the same, whole or in pieces, and every answer is one."""
    stream, pieces = pieces_of(data)
    whole, cut = _received([stream]), _received(pieces)
    assert whole[:1] == cut[:1]


def _received(pieces: list[bytes]) -> list[bytes]:
    bodies: list[bytes] = []
    broken: list[str] = []

    async def receive(_request: Request, body: AsyncIterator[bytes]) -> Answer:
        try:
            bodies.append(b"".join([piece async for piece in body]))
        except TransferBroken as error:
            broken.append(str(error))
            raise
        return Answer(204)

    endpoint = Endpoint(
        path=b"/msh",
        authorities=AUTHORITIES,
        receive=receive,
        note_refusal=note_nothing,
        note_certificate=lambda _: None,
        limits=HttpLimits(body_bytes_max=BODY_BYTES_MAX),
        loop=_LOOP.loop,
        opened=lambda _connection, _address: None,
        closed=lambda _connection, _address: None,
    )
    _LOOP.run(_talk(endpoint, pieces))
    return bodies


async def _talk(endpoint: Endpoint, pieces: list[bytes]) -> None:
    connection = HttpConnection(endpoint)
    wire = FakeSocket(_LOOP.loop, connection)
    connection.connection_made(wire)
    for piece in pieces:
        if wire.is_closing():
            break
        connection.data_received(piece)
        await turns(2)
    connection.eof_received()
    wire.close()
    await turns(20)
    assert all(answer[:3] in (b"1.1", b"") for answer in wire.written.split(b"HTTP/"))
    assert connection.task is None or connection.task.done()
