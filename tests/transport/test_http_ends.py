"""How many whole requests arrive, however the peer ends the connection (ruling R-38).

Each way to end it meets a first request and one on a kept connection, a body that is written at
once and one that cannot be, with and without TLS. The peer counts what it has read whole.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

import pytest
from http_peers import (
    CONTENT_TYPE,
    OK,
    PATIENCE_S,
    PiecedBody,
    RawClient,
    WholeBody,
    listening,
    port_of,
)

from onceonly.transport.http.client import HttpTransport
from onceonly.transport.http.limits import HttpClientLimits
from onceonly.transport.transport import Outcome, Outgoing

pytestmark = pytest.mark.anyio

SMALL = WholeBody(b"a message")
LARGE = PiecedBody(*[bytes(256 * 1024)] * 60)
"""More than the kernel holds between two sockets: its end is not written while the peer is away."""

ACCEPTED = (Outcome.ACCEPTED, 1)
UNKNOWN_WHOLE = (Outcome.UNKNOWN, 1)
UNKNOWN_CUT = (Outcome.UNKNOWN, 0)


class CountingPeer:
    """Answers every request but the one numbered `ends_at`, which meets the ending."""

    def __init__(self, ending: "Ending", ends_at: int) -> None:
        self._ending = ending
        self._ends_at = ends_at
        self._begun = 0
        self.connection_count = 0
        self.whole_count = 0
        self.met = asyncio.Event()
        """Set behind the ending."""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        client = RawClient(reader, writer)
        while True:
            if not self._ending.is_unread:
                await reader.readexactly(1)
            number, self._begun = self._begun, self._begun + 1
            if number == self._ends_at:
                await self._meet(client)
                return
            await self.read_whole(client)
            await client.say(OK)

    async def _meet(self, client: RawClient) -> None:
        try:
            await self._ending.end(self, client)
        finally:
            client.writer.transport.abort()
            self.met.set()

    async def read_whole(self, client: RawClient) -> None:
        """The rest of a request, which is counted."""
        head = await client.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await client.reader.readexactly(length)
        self.whole_count += 1


class Ending(NamedTuple):
    """One way to end a connection, and what follows from it."""

    end: Callable[[CountingPeer, RawClient], Awaitable[None]]
    small: tuple[Outcome, int]
    large: tuple[Outcome, int]
    large_kept: tuple[Outcome, int] | None = None
    """Where it differs on a connection that was used before."""
    is_unread: bool = False
    """It ends before a byte of the request is read, and before one may be written."""


async def at_once(_peer, _client) -> None:
    """Nothing is read."""


async def in_the_head(_peer, client) -> None:
    await client.reader.readexactly(20)


async def in_the_body(_peer, client) -> None:
    await client.reader.readuntil(b"\r\n\r\n")
    await client.reader.readexactly(5)


async def half_closed_in_the_body(_peer, client) -> None:
    """It says nothing any more, and reads on."""
    await in_the_body(_peer, client)
    client.writer.write_eof()
    await client.reader.read()


async def after_the_body(peer, client) -> None:
    await peer.read_whole(client)


async def orderly_after_the_body(peer, client) -> None:
    """Under TLS with a close_notify."""
    await peer.read_whole(client)
    client.writer.close()
    await client.writer.wait_closed()


async def reset_after_the_body(peer, client) -> None:
    await peer.read_whole(client)
    linger = struct.pack("ii", 1, 0)
    connected = client.writer.get_extra_info("socket")
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


async def half_closed_after_the_body(peer, client) -> None:
    await peer.read_whole(client)
    client.writer.write_eof()
    await client.reader.read()


async def half_an_answer(peer, client) -> None:
    await peer.read_whole(client)
    await client.say(OK[:12])


async def only_an_interim_answer(peer, client) -> None:
    await peer.read_whole(client)
    await client.say(b"HTTP/1.1 100 Continue\r\n\r\n")


async def an_interim_answer_in_the_body(peer, client) -> None:
    await in_the_body(peer, client)
    await client.say(b"HTTP/1.1 100 Continue\r\n\r\n")
    await client.reader.readexactly(1)


ENDINGS = {
    "in the head": Ending(in_the_head, UNKNOWN_CUT, UNKNOWN_CUT, ACCEPTED),
    "in the body": Ending(in_the_body, UNKNOWN_CUT, UNKNOWN_CUT, ACCEPTED),
    "half-closed in the body": Ending(half_closed_in_the_body, UNKNOWN_CUT, UNKNOWN_CUT, ACCEPTED),
    "interim answer in the body": Ending(an_interim_answer_in_the_body, UNKNOWN_CUT, UNKNOWN_CUT),
    "after the body": Ending(after_the_body, UNKNOWN_WHOLE, UNKNOWN_WHOLE),
    "orderly after the body": Ending(orderly_after_the_body, UNKNOWN_WHOLE, UNKNOWN_WHOLE),
    "reset after the body": Ending(reset_after_the_body, UNKNOWN_WHOLE, UNKNOWN_WHOLE),
    "half-closed after the body": Ending(half_closed_after_the_body, UNKNOWN_WHOLE, UNKNOWN_WHOLE),
    "half an answer": Ending(half_an_answer, UNKNOWN_WHOLE, UNKNOWN_WHOLE),
    "only an interim answer": Ending(only_an_interim_answer, UNKNOWN_WHOLE, UNKNOWN_WHOLE),
}


class Line(NamedTuple):
    """A transport, the peer at its other end, and the peer's address."""

    transport: HttpTransport
    peer: CountingPeer
    uri: str

    async def send(self, body, *, leaves_once: bool = False) -> Outcome:
        outgoing = Outgoing(self.uri, CONTENT_TYPE, body, leaves_once=leaves_once)
        async with asyncio.timeout(PATIENCE_S):
            return (await self.transport.send(outgoing)).outcome


@pytest.fixture(params=["plain", "tls"])
def line_to(request):
    """Opens lines to counting peers."""
    server_tls = client_tls = None
    if request.param == "tls":
        server_tls = request.getfixturevalue("server_tls")
        certificate = request.getfixturevalue("certificate")
        client_tls = ssl.create_default_context(cafile=certificate / "cert.pem")

    @asynccontextmanager
    async def open_line(ending: Ending, *, ends_at: int):
        if server_tls and "half-closed" in _name_of(ending):
            pytest.skip("TLS has no half-closed connections")
        peer = CountingPeer(ending, ends_at)
        async with listening(peer, tls=server_tls) as server:
            port = port_of(server)
            transport = HttpTransport(limits=HttpClientLimits(), tls=client_tls)
            scheme = "https" if client_tls else "http"
            yield Line(transport, peer, f"{scheme}://127.0.0.1:{port}/msh")
            await transport.close()

    return open_line


def _name_of(ending: Ending) -> str:
    return next((name for name, one in ENDINGS.items() if one is ending), "")


@pytest.mark.statement(ruling="R-38")
@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
async def test_a_first_request_arrives_once_at_most(line_to, ending, body):
    """Nothing is repeated where no connection can have been dead before."""
    async with line_to(ending, ends_at=0) as line:
        outcome = await line.send(body)
        await line.peer.met.wait()
        assert (outcome, line.peer.whole_count) == (ending.small if body is SMALL else ending.large)
        assert line.peer.connection_count == 1


@pytest.mark.statement(ruling="R-38")
@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
async def test_a_request_on_a_kept_connection_arrives_once_at_most(line_to, ending, body):
    """It goes out anew only where its last byte was not written, and then it arrives once."""
    expected = ending.small if body is SMALL else ending.large_kept or ending.large
    async with line_to(ending, ends_at=1) as line:
        assert await line.send(SMALL) is Outcome.ACCEPTED
        outcome = await line.send(body)
        await line.peer.met.wait()
        assert (outcome, line.peer.whole_count - 1) == expected
        assert line.peer.connection_count == (2 if expected is ACCEPTED else 1)


@pytest.mark.statement(ruling="R-38")
@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
async def test_what_leaves_once_does_so_on_a_fresh_connection(line_to, ending, body):
    """AtMostOnce and BestEffort: beside a kept connection, and not repeated for anything."""
    async with line_to(ending, ends_at=1) as line:
        assert await line.send(SMALL) is Outcome.ACCEPTED
        outcome = await line.send(body, leaves_once=True)
        await line.peer.met.wait()
        expected = ending.small if body is SMALL else ending.large
        assert (outcome, line.peer.whole_count - 1) == expected
        assert line.peer.connection_count == 2


UNREAD = Ending(at_once, UNKNOWN_CUT, UNKNOWN_CUT, is_unread=True)


@pytest.mark.statement(ruling="R-38")
@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["small", "large"])
async def test_a_kept_connection_that_ended_is_not_used_again(line_to, body):
    """The end stands in the socket; nothing is lost into it, and the outcome is no doubt."""
    async with line_to(UNREAD, ends_at=1) as line:
        assert await line.send(SMALL) is Outcome.ACCEPTED
        await line.peer.met.wait()
        assert await line.send(body) is Outcome.ACCEPTED
        assert (line.peer.whole_count, line.peer.connection_count) == (2, 2)


async def test_an_end_before_the_first_byte_was_read_is_no_arrival(line_to):
    """Whether a byte left is a matter of who is quicker; that none arrived is none."""
    async with line_to(UNREAD, ends_at=0) as line:
        with suppress(TimeoutError):
            outcome = await line.send(SMALL)
        assert outcome in (Outcome.UNKNOWN, Outcome.REFUSED)
        assert (line.peer.whole_count, line.peer.connection_count) == (0, 1)


@pytest.mark.statement(ruling="R-38")
async def test_a_fresh_connection_takes_the_place_of_a_kept_one():
    """Where a host has all the connections that it may have, and all are at rest."""
    ending = Ending(at_once, UNKNOWN_CUT, UNKNOWN_CUT)
    peer = CountingPeer(ending, ends_at=-1)
    limits = HttpClientLimits(connections_per_host_max=1, connections_max=1)
    async with listening(peer) as server:
        transport = HttpTransport(limits=limits)
        line = Line(transport, peer, f"http://127.0.0.1:{port_of(server)}/msh")
        sent = [await line.send(SMALL, leaves_once=number % 2 == 1) for number in range(4)]
        together = [line.send(SMALL, leaves_once=True) for _ in range(4)]
        sent += await asyncio.gather(*together)
        await transport.close()
    assert sent == [Outcome.ACCEPTED] * 8
    assert (peer.whole_count, peer.connection_count) == (8, 1 + 2 + 4)
