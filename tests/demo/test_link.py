"""The link does to requests what the seed says, and counts what it did."""

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import islice

import pytest

from onceonly.demo import link as link_module
from onceonly.demo.link import DISTURBING, LOSING, Fault, FaultyLink, RequestFate, fates

WAIT_S = 10.0


class Echo:
    """A gateway's place: takes every whole request, answers with its length, remembers it."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.heads: list[bytes] = []
        self.broken = 0
        self.arrived = asyncio.Condition()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            body = bytearray()
            while len(body) < length:
                body += await reader.readexactly(min(length - len(body), 1 << 16))
        except (EOFError, ConnectionError):
            self.broken += 1
        else:
            self.heads.append(head)
            self.bodies.append(bytes(body))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Length: %d\r\n\r\n" % length)
        async with self.arrived:
            self.arrived.notify_all()
        writer.close()

    async def wait_for(self, bodies: int) -> None:
        async with asyncio.timeout(WAIT_S), self.arrived:
            await self.arrived.wait_for(lambda: len(self.bodies) >= bodies)

    async def wait_for_broken(self) -> None:
        async with asyncio.timeout(WAIT_S), self.arrived:
            await self.arrived.wait_for(lambda: self.broken > 0)


@asynccontextmanager
async def standing(fate: RequestFate) -> AsyncIterator[tuple[FaultyLink, Echo]]:
    """A link that does the same to every request, and a gateway behind it."""
    echo = Echo()
    server = await asyncio.start_server(echo.serve, "127.0.0.1", 0)
    echo.port = server.sockets[0].getsockname()[1]
    link = FaultyLink("there", ("127.0.0.1", echo.port), seed=1, loss=0)
    link._fates = iter(lambda: fate, None)
    async with server, link:
        yield link, echo


async def post(port: int, body: bytes, *, extra: bytes = b"") -> bytes:
    """What comes back for one POST until the connection ends or the answer is whole."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    try:
        async with asyncio.timeout(WAIT_S):
            head = b"POST /msh HTTP/1.1\r\nHost: link:1\r\nContent-Length: %d\r\n" % len(body)
            writer.write(head + extra + b"\r\n" + body)
            await writer.drain()
            while not answer.endswith(b"\r\n\r\n") or answer.startswith(b"HTTP/1.1 100"):
                piece = await reader.read(4096)
                if not piece:
                    break
                answer = (answer + piece).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    except ConnectionError:
        answer += b"<reset>"
    finally:
        writer.close()
    return answer


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]  # because a coroutine function is given


def test_the_fates_are_a_function_of_seed_and_direction():
    """The same seed and direction give the same faults; another of either gives others."""
    first = list(islice(fates(5, "there", 0.3), 500))
    assert first == list(islice(fates(5, "there", 0.3), 500))
    assert first != list(islice(fates(5, "back", 0.3), 500))
    assert first != list(islice(fates(6, "there", 0.3), 500))


@pytest.mark.parametrize("loss", [0.0, 0.1, 0.5, 0.8])
def test_the_share_of_lost_requests_is_the_one_asked_for(loss):
    """Within sampling error, `loss` of all requests meet a losing fault, of every kind."""
    counts = Counter(fate.fault for fate in islice(fates(1, "there", loss), 20_000))
    lost = sum(counts[fault] for fault in LOSING) / 20_000
    assert lost == pytest.approx(loss, abs=0.02)
    if loss:
        assert all(counts[fault] for fault in (*LOSING, *DISTURBING))


@pytest.mark.parametrize("size", [0, 1, 4_096, 300_000, 3_000_000])
def test_without_a_fault_every_byte_passes(size):
    """The gateway gets the same bytes, whether held in memory or streamed, and the answer back."""

    async def check() -> None:
        body = bytes(i * 7 % 251 for i in range(size))
        async with standing(RequestFate()) as (link, echo):
            answer = await post(link.port, body)
            assert answer.startswith(b"HTTP/1.1 200")
            assert b"X-Length: %d" % size in answer
            assert echo.bodies == [body]
            assert (link.requests, link.unreachable, +link.faults) == (1, 0, Counter())

    run(check)


def test_the_gateway_sees_its_own_address():
    """The Host header is the target's, or a strict gateway would refuse the request."""

    async def check() -> None:
        async with standing(RequestFate()) as (link, echo):
            await post(link.port, b"x")
            assert b"\r\nHost: 127.0.0.1:%d\r\n" % echo.port in echo.heads[0]
            assert b"link:1" not in echo.heads[0]

    run(check)


def test_a_connection_carries_several_requests():
    """Keep-alive works through the link, one fate per request."""

    async def check() -> None:
        async with standing(RequestFate()) as (link, echo):
            reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
            async with asyncio.timeout(WAIT_S):
                for body in (b"one", b"two"):
                    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n" + body)
                    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            writer.close()
            assert echo.bodies == [b"one", b"two"]
            assert link.requests == 2

    run(check)


def test_expectation_is_met_by_the_link():
    """A sender that waits for 100 Continue is told to go on; the gateway never sees it."""

    async def check() -> None:
        async with standing(RequestFate()) as (link, echo):
            answer = await post(link.port, b"body", extra=b"Expect: 100-continue\r\n")
            assert answer.startswith(b"HTTP/1.1 200")
            assert b"xpect" not in echo.heads[0]

    run(check)


def test_a_lost_request_never_arrives():
    """The sender's connection ends without an answer and the gateway saw nothing."""

    async def check() -> None:
        async with standing(RequestFate(Fault.REQUEST_LOST)) as (link, echo):
            assert b"HTTP" not in await post(link.port, b"x")
            assert (echo.bodies, echo.broken) == ([], 0)
            assert link.faults == {Fault.REQUEST_LOST: 1}

    run(check)


def test_a_lost_response_was_worked_on():
    """The gateway got the request; the sender cannot know."""

    async def check() -> None:
        async with standing(RequestFate(Fault.RESPONSE_LOST)) as (link, echo):
            assert b"HTTP" not in await post(link.port, b"x")
            assert echo.bodies == [b"x"]

    run(check)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("size", [10_000, 3_000_000])
def test_a_reset_request_never_arrives_whole(share, size):
    """Wherever the cut falls, the gateway gets a part and a broken connection."""

    async def check() -> None:
        async with standing(RequestFate(Fault.REQUEST_RESET, share)) as (link, echo):
            assert b"HTTP" not in await post(link.port, b"x" * size)
            await echo.wait_for_broken()
            assert echo.bodies == []

    run(check)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_reset_response_is_never_whole(share):
    """The gateway did its work, the sender gets a part of the answer."""

    async def check() -> None:
        async with standing(RequestFate(Fault.RESPONSE_RESET, share)) as (link, echo):
            assert not (await post(link.port, b"x")).endswith(b"\r\n\r\n")
            assert echo.bodies == [b"x"]

    run(check)


def test_unavailable_is_503_and_nothing_arrives():
    """The link answers in the gateway's place."""

    async def check() -> None:
        async with standing(RequestFate(Fault.UNAVAILABLE)) as (link, echo):
            assert (await post(link.port, b"x")).startswith(b"HTTP/1.1 503")
            assert (echo.bodies, echo.broken) == ([], 0)

    run(check)


def test_a_doubled_request_arrives_twice_and_is_answered_once():
    """Both copies are the same bytes, and both have arrived when the answer comes."""

    async def check() -> None:
        async with standing(RequestFate(Fault.DOUBLED)) as (link, echo):
            answer = await post(link.port, b"twin")
            assert answer.count(b"HTTP/1.1 200") == 1
            assert echo.bodies == [b"twin", b"twin"]

    run(check)


def test_a_late_copy_comes_after_the_answer(monkeypatch):
    """The second copy follows on its own, and `settle` waits for it."""
    monkeypatch.setattr(link_module, "LATE_S", 0.05)

    async def check() -> None:
        async with standing(RequestFate(Fault.DOUBLED_LATE, wait=1.0)) as (link, echo):
            assert (await post(link.port, b"twin")).startswith(b"HTTP/1.1 200")
            assert echo.bodies == [b"twin"]
            await link.settle()
            assert echo.bodies == [b"twin", b"twin"]

    run(check)


def test_a_body_too_large_to_double_loses_its_answer_instead(monkeypatch):
    """What is not held cannot be sent twice; the sender will do it."""
    monkeypatch.setattr(link_module, "HELD_BYTES_MAX", 10)

    async def check() -> None:
        async with standing(RequestFate(Fault.DOUBLED)) as (link, echo):
            assert b"HTTP" not in await post(link.port, b"x" * 11)
            await echo.wait_for(1)
            assert link.faults == {Fault.RESPONSE_LOST: 1}

    run(check)


def test_a_delayed_request_arrives(monkeypatch):
    """Delay alone changes nothing but time."""
    monkeypatch.setattr(link_module, "DELAY_S", 0.01)

    async def check() -> None:
        async with standing(RequestFate(Fault.DELAYED, wait=1.0)) as (link, echo):
            assert (await post(link.port, b"x")).startswith(b"HTTP/1.1 200")
            assert echo.bodies == [b"x"]

    run(check)


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_a_gateway_that_is_down_is_no_fault_of_the_links(size):
    """The sender's connection ends without an answer and `unreachable` counts it."""

    async def check() -> None:
        server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        async with FaultyLink("there", ("127.0.0.1", port), seed=1, loss=0) as link:
            assert b"HTTP" not in await post(link.port, b"x" * size)
            assert (link.unreachable, +link.faults) == (1, Counter())

    run(check)


def test_a_gateway_that_resets_in_the_middle_of_a_body_is_not_written_to_any_more():
    """As one does that is killed: the sender's connection ends without an answer."""

    async def check() -> None:
        async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()

        server = await asyncio.start_server(reset, "127.0.0.1", 0)
        target = ("127.0.0.1", server.sockets[0].getsockname()[1])
        async with server, FaultyLink("there", target, seed=1, loss=0) as link:
            assert b"HTTP" not in await post(link.port, b"x" * 30_000_000)
            assert link.requests == 1

    run(check)


def test_closing_the_link_leaves_nothing_running():
    """Open connections and late copies end with the link."""

    async def check() -> None:
        async with standing(RequestFate(Fault.DOUBLED_LATE, wait=1.0)) as (link, echo):
            await post(link.port, b"x")
            _, writer = await asyncio.open_connection("127.0.0.1", link.port)
            assert echo.bodies == [b"x"]
        writer.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not [task for task in others if "FaultyLink" in repr(task)]

    run(check)
