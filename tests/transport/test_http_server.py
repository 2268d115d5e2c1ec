"""The endpoint on real sockets: framing, limits, order and endings (H1-H24, N8, R1, A4)."""

import asyncio
import errno
import resource
import socket
import struct

import pytest
from http_peers import (
    MANY,
    PATIENCE_S,
    Gate,
    Inbox,
    chunked,
    endpoint,
    post,
    raw_client,
    refuse_unread,
    say_and_hear_all,
    turn,
)

from onceonly.message.errors import LocalError
from onceonly.transport.http.limits import HttpLimits
from onceonly.transport.http.server import serve_http
from onceonly.transport.transport import Answer

pytestmark = pytest.mark.anyio

SHORT = 0.05
QUICK = HttpLimits(header_timeout_s=SHORT, body_grace_s=SHORT, idle_timeout_s=SHORT, linger_s=SHORT)
LAST = ("Connection: close",)


@pytest.mark.statement("S0-68")
async def test_every_answer_is_without_a_body():
    """S0-68: head, `Content-Length: 0`, end."""
    async with endpoint(Inbox()) as server:
        answer = await say_and_hear_all(server.port, post(b"a message", *LAST))
    assert answer == b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


async def test_a_package_in_the_answer_has_its_type_and_length():
    """syncReplyMode (seed 001 §1.2.2): the one answer that has a body."""
    inbox = Inbox(Answer(200, content_type="a/b; c=d", body=b"a package"))
    async with endpoint(inbox) as server:
        answer = await say_and_hear_all(server.port, post(b"a message", *LAST))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: a/b; c=d\r\nContent-Length: 9\r\nConnection: close"
    assert answer == head + b"\r\n\r\na package"


async def test_a_204_has_no_length():
    """RFC 9110 §8.6 forbids it there."""
    async with endpoint(Inbox(Answer(204))) as server:
        answer = await say_and_hear_all(server.port, post(b"a message", *LAST))
    assert answer == b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


async def test_the_name_of_an_error_is_in_the_head():
    """People who debug an exchange look there; the status decides."""
    async with endpoint(Inbox(Answer(400, "MimeProblem"))) as server:
        answer = await say_and_hear_all(server.port, post(b"a message", *LAST))
    assert b"\r\nOnceonly-Error: MimeProblem\r\n" in answer


@pytest.mark.statement("S0-67")
async def test_another_method_is_told_what_is_allowed():
    """S0-67: POST only."""
    async with endpoint(Inbox()) as server:
        answer = await say_and_hear_all(server.port, b"GET /msh HTTP/1.1\r\nHost: a\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert b"\r\nAllow: POST\r\n" in answer


GOOD_CHUNKS = {
    "one": b"9\r\na message\r\n0\r\n\r\n",
    "many": b"1\r\na\r\n8\r\n message\r\n0\r\n\r\n",
    "leading zeros and capitals": b"0009\r\na message\r\n0\r\n\r\n",
    "extension": b"9;a=b\r\na message\r\n0\r\n\r\n",
    "trailer": b"9\r\na message\r\n0\r\nChecksum: x\r\n\r\n",
}


@pytest.mark.parametrize("chunks", GOOD_CHUNKS.values(), ids=GOOD_CHUNKS)
async def test_a_chunked_body_arrives(chunks):
    """All that RFC 9112 §7.1 allows."""
    inbox = Inbox()
    async with endpoint(inbox) as server:
        answer = await say_and_hear_all(server.port, chunked(chunks, *LAST))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert inbox.bodies == [b"a message"]


BAD_CHUNKS = {
    "H11 size ended by LF": (b"3\nabc\r\n0\r\n\r\n", 400),
    "H11 extension ended by LF": (b"3;x\nabc\r\n0\r\n\r\n", 400),
    "H11 0x5": (b"0x3\r\nabc\r\n0\r\n\r\n", 400),
    "H11 negative": (b"-3\r\nabc\r\n0\r\n\r\n", 400),
    "H11 space": (b"3 \r\nabc\r\n0\r\n\r\n", 400),
    "H11 longer than its size": (b"3\r\nabcd\r\n0\r\n\r\n", 400),
    "H11 ended by LF": (b"3\r\nabc\n0\r\n\r\n", 400),
    "H11 end by LF": (b"3\r\nabc\r\n0\n\n", 400),
    "H11 end by CRLF LF": (b"3\r\nabc\r\n0\r\n\n", 400),
    "length in the trailer": (b"3\r\nabc\r\n0\r\nContent-Length: 3\r\n\r\n", 400),
    "H12 size past 64 bits": (b"ffffffffffffffffff\r\nabc", 413),
    "H12 more than the limit": (b"fff\r\n" + bytes(0xFFF) + b"\r\n0\r\n\r\n", 413),
    "H13 long extensions": (b"1;" + b"x" * 100_000, 400),
    "H13 many one-byte chunks": (b"1\r\na\r\n" * 20_000, 400),
}


@pytest.mark.parametrize(("chunks", "status_code"), BAD_CHUNKS.values(), ids=BAD_CHUNKS)
async def test_a_malformed_chunked_body_is_never_received(chunks, status_code):
    """Refused by name; the receiver sees a broken transfer or nothing at all."""
    inbox = Inbox()
    limit = 1000 if status_code == 413 else 1_000_000
    async with endpoint(inbox, HttpLimits(body_bytes_max=limit)) as server:
        answer = await say_and_hear_all(server.port, chunked(chunks))
    assert answer.startswith(b"HTTP/1.1 %d " % status_code)
    assert b"\r\nConnection: close\r\n" in answer
    assert inbox.bodies == []


async def test_nothing_behind_an_error_is_parsed():
    """H19: the smuggled request is thrown away with its connection."""
    inbox = Inbox()
    async with endpoint(inbox) as server:
        answer = await say_and_hear_all(server.port, post(b"", target="/other") + post())
    assert answer.count(b"HTTP/1.1 ") == 1
    assert inbox.requests == []


async def test_nothing_behind_a_chunked_body_in_the_same_read_is_parsed():
    """Where a chunked body ended only llhttp knows; the rest is not guessed at."""
    inbox = Inbox()
    async with endpoint(inbox) as server:
        answer = await say_and_hear_all(server.port, chunked(GOOD_CHUNKS["one"]) + post(b"two"))
    assert answer.count(b"HTTP/1.1 200 ") == 1
    assert b"\r\nConnection: close\r\n" in answer
    assert inbox.bodies == [b"a message"]


async def test_an_upgrade_is_ignored():
    """H24: the request is received as if nothing had been offered."""
    inbox = Inbox()
    offer = ("Connection: Upgrade, close", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    async with endpoint(inbox) as server:
        answer = await say_and_hear_all(server.port, post(b"a message", *offer))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert inbox.bodies == [b"a message"]


@pytest.mark.parametrize("size", [16 * 1024, 1_000_000])
async def test_a_head_without_end_is_refused(size):
    """H17, H26: 431 after 16 KiB, whatever the header is called."""
    async with endpoint(Inbox()) as server:
        head = b"POST /msh HTTP/1.1\r\nContent-Type: a/b" + b";a=b" * (size // 4)
        answer = await say_and_hear_all(server.port, head)
    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_a_bare_line_feed_is_refused_at_once():
    """H9: not only when the head timed out, for its end never comes."""
    async with endpoint(Inbox()) as server:
        answer = await say_and_hear_all(server.port, b"POST /msh HTTP/1.1\nHost: a\n\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"BareLineFeed" in answer


async def test_a_connection_serves_many_requests():
    """Keep-alive, and the requests do not mix."""
    inbox = Inbox()
    async with endpoint(inbox) as server, raw_client(server.port) as client:
        for number in range(3):
            await client.say(post(b"message %d" % number))
            assert (await client.hear()).startswith(b"HTTP/1.1 200 ")
    assert inbox.bodies == [b"message 0", b"message 1", b"message 2"]


async def test_pipelined_requests_are_received_one_after_another():
    """The second is not begun before the first is answered."""
    gate = Gate()
    async with endpoint(gate) as server, raw_client(server.port) as client:
        await client.say(post(b"one") + post(b"two") + post(b"three"))
        assert await gate.arrival() == b"one"
        assert len(gate.requests) == 1
        gate.opened.set()
        for _ in range(3):
            assert (await client.hear()).startswith(b"HTTP/1.1 200 ")
    assert gate.bodies == [b"one", b"two", b"three"]


async def test_many_pipelined_requests_wait_in_the_network():
    """More than the buffer holds comes through, because reading stops and goes on."""
    gate = Gate()
    async with endpoint(gate) as server, raw_client(server.port) as client:
        talk = asyncio.create_task(client.say(post(bytes(4000)) * 400))
        await gate.arrival()
        gate.opened.set()
        for _ in range(400):
            await client.hear()
        await talk
    assert len(gate.bodies) == 400


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, 64 * 1024 + 1])
async def test_a_request_that_comes_whole_is_the_same_after_any_other(size):
    """Bodies that are taken at once and bodies that go through the buffer, on one connection."""
    inbox = Inbox()
    bodies = [bytes(size), b"in pieces", bytes(size), b"chunked", bytes(size)]
    async with endpoint(inbox) as server, raw_client(server.port) as client:
        for number, body in enumerate(bodies):
            raw = chunked(b"7\r\nchunked\r\n0\r\n\r\n") if body == b"chunked" else post(body)
            for piece in (raw[:-3], raw[-3:]) if number == 1 else (raw,):
                await client.say(piece)
                await asyncio.sleep(0)
            assert (await client.hear()).startswith(b"HTTP/1.1 200 ")
    assert inbox.bodies == bodies


@pytest.mark.parametrize("raw", [post(), chunked(GOOD_CHUNKS["many"])], ids=["length", "chunked"])
async def test_a_request_may_come_byte_by_byte(raw):
    """Where the network cuts makes no difference."""
    inbox = Inbox()
    async with endpoint(inbox) as server, raw_client(server.port) as client:
        for position in range(len(raw)):
            await client.say(raw[position : position + 1])
            await asyncio.sleep(0)
        assert (await client.hear()).startswith(b"HTTP/1.1 200 ")
    assert inbox.bodies == [b"a message"]


@pytest.mark.parametrize("raw", [post(), chunked(GOOD_CHUNKS["many"])], ids=["length", "chunked"])
@pytest.mark.parametrize("ending", ["reset", "half-close"])
async def test_a_request_cut_at_any_byte_is_never_received(raw, ending):
    """N8: whatever arrived before the end, no reception completes."""
    inbox = Inbox()
    async with endpoint(inbox) as server:
        for size in range(len(raw)):
            async with raw_client(server.port) as client:
                await client.say(raw[:size])
                if ending == "half-close":
                    client.writer.write_eof()
                    assert b" 200 " not in await client.hear_all()
        await say_and_hear_all(server.port, b"POST /end HTTP/1.1\r\n\r\n")
    assert inbox.bodies == []
    assert all(reason == "connection lost" for reason in inbox.broken)


async def test_a_half_closed_peer_gets_its_answer():
    """A client that closes its sending half after a whole request may still read."""
    gate = Gate()
    async with endpoint(gate) as server, raw_client(server.port) as client:
        await client.say(post())
        client.writer.write_eof()
        await gate.arrival()
        gate.opened.set()
        assert (await client.hear_all()).startswith(b"HTTP/1.1 200 ")


async def test_a_reception_outlives_its_peer():
    """N9: once the last byte is here, the peer's death changes nothing."""
    gate = Gate()
    async with endpoint(gate) as server:
        async with raw_client(server.port) as client:
            await client.say(post())
            await gate.arrival()
            client.reset()
        gate.opened.set()
        await server.close(PATIENCE_S)
    assert gate.bodies == [b"a message"]


async def test_continue_is_said_when_the_body_is_wanted():
    """H18: then exactly one body is read."""
    inbox = Inbox()
    head, _, body = post(b"a message", "Expect: 100-continue").rpartition(b"\r\n\r\n")
    async with endpoint(inbox) as server, raw_client(server.port) as client:
        await client.say(head + b"\r\n\r\n")
        assert await client.hear() == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.say(body)
        assert (await client.hear()).startswith(b"HTTP/1.1 200 ")
    assert inbox.bodies == [b"a message"]


async def test_continue_is_not_said_when_the_body_is_there():
    """H18: a client that did not wait gets one answer."""
    async with endpoint(Inbox()) as server, raw_client(server.port) as client:
        await client.say(post(b"a message", "Expect: 100-continue"))
        assert (await client.hear()).startswith(b"HTTP/1.1 200 ")


async def test_continue_is_not_said_when_the_head_is_enough():
    """H18: the refusal saves the transfer."""
    head = post(b"a message", "Expect: 100-continue").removesuffix(b"a message")
    async with endpoint(refuse_unread) as server:
        answer = await say_and_hear_all(server.port, head)
    assert answer.startswith(b"HTTP/1.1 403 ")


async def test_a_slow_head_times_out():
    """A4: slowloris is told so and cut."""
    async with endpoint(Inbox(), QUICK) as server:
        answer = await say_and_hear_all(server.port, b"POST /msh HTTP/1.1\r\n")
    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_an_idle_connection_is_closed_silently():
    """Before the first request and after one."""
    async with endpoint(Inbox(), QUICK) as server:
        assert await say_and_hear_all(server.port, b"") == b""
        answer = await say_and_hear_all(server.port, post())
    assert answer == b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


async def test_a_slow_body_times_out():
    """A4, H22: below the minimum rate after the grace; the receiver sees it broken."""
    inbox = Inbox()
    async with endpoint(inbox, QUICK) as server:
        answer = await say_and_hear_all(server.port, post()[:-1])
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert inbox.bodies == []
    assert inbox.broken == ["TooSlow"]


async def test_our_own_slowness_is_not_the_peers():
    """While reading is paused the body's clock stands still."""
    content = bytes(4_000_000)
    gate = asyncio.Event()
    sizes: list[int] = []

    async def receive(_request, body):
        await gate.wait()
        sizes.append(sum([len(piece) async for piece in body]))
        return Answer(200)

    loop = asyncio.get_running_loop()
    limits = HttpLimits(body_grace_s=4 * SHORT, body_rate_min=10_000_000)
    async with endpoint(receive, limits) as server, raw_client(server.port) as client:
        loop.call_later(15 * SHORT, gate.set)
        await client.say(post(content))
        assert (await client.hear()).startswith(b"HTTP/1.1 200 ")
    assert sizes == [len(content)]


async def test_a_peer_that_does_not_read_its_answers_is_cut():
    """H22, slow read: its answers do not gather in our memory for ever."""
    limits = HttpLimits(write_timeout_s=SHORT)
    loop = asyncio.get_running_loop()
    async with endpoint(Inbox(Answer(200, "x" * 64)), limits) as server:
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            await loop.sock_connect(client, ("127.0.0.1", server.port))
            # Two hundred thousand requests are half a minute's work for a core that others use.
            async with asyncio.timeout(12 * PATIENCE_S):
                with pytest.raises(ConnectionError):
                    await loop.sock_sendall(client, post(b"") * 200_000)


async def test_too_many_connections_are_refused():
    """R1: the one too many gets 503; a place that becomes free is given again."""
    limits = HttpLimits(connections_max=2)
    async with endpoint(Inbox(), limits) as server, raw_client(server.port) as one:
        async with raw_client(server.port) as two:
            await one.say(post())
            await one.hear()
            await two.say(post())
            await two.hear()
            refused = await say_and_hear_all(server.port, b"")
            await two.say(post(b"", *LAST))
            await two.hear_all()
        served = await say_and_hear_all(server.port, post(b"", *LAST))
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert served.startswith(b"HTTP/1.1 200 ")


async def test_one_address_cannot_take_all_connections():
    """A4: there is a bound for each address below the bound for all."""
    limits = HttpLimits(connections_per_address_max=1)
    async with endpoint(Inbox(), limits) as server, raw_client(server.port) as client:
        await client.say(post())
        await client.hear()
        assert (await say_and_hear_all(server.port, b"")).startswith(b"HTTP/1.1 503 ")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # uvloop gives up such connections itself
async def test_the_accept_loop_survives_a_lack_of_descriptors():
    """R1: EMFILE is reported, and later connections are served."""
    reports: list[dict[str, object]] = []
    reported = asyncio.Event()

    def report(_loop, context):
        reports.append(context)
        reported.set()

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(report)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with endpoint(Inbox()) as server:
        client = socket.socket()
        client.setblocking(False)
        # The kernel takes the lowest free number, so this limit leaves none.
        resource.setrlimit(resource.RLIMIT_NOFILE, (client.fileno() + 1, hard))
        try:
            await loop.sock_connect(client, ("127.0.0.1", server.port))
            async with asyncio.timeout(PATIENCE_S):
                await reported.wait()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        async with asyncio.timeout(PATIENCE_S):
            await loop.sock_sendall(client, post(b"", *LAST))
            assert (await loop.sock_recv(client, 100)).startswith(b"HTTP/1.1 200 ")
        client.close()
    loop.set_exception_handler(None)
    assert reports[0]["exception"].errno == errno.EMFILE


async def test_close_waits_for_what_is_being_received():
    """The answer still goes out, and idle connections do not hold it up."""
    gate = Gate()
    async with endpoint(gate) as server, raw_client(server.port) as client:
        await client.say(post())
        await gate.arrival()
        async with raw_client(server.port) as idle:
            closing = asyncio.create_task(server.close(PATIENCE_S))
            assert await idle.hear_all() == b""
        gate.opened.set()
        answer = await client.hear_all()
        await closing
    assert answer.endswith(b"Connection: close\r\n\r\n")


@pytest.mark.parametrize("turns", range(8))
@pytest.mark.parametrize(  # asyncio's own server forgets such a socket without closing it
    "anyio_backend", [("asyncio", {"use_uvloop": True})], ids=["uvloop"]
)
async def test_what_is_accepted_in_the_moment_of_the_end_is_not_received(turns):
    """Whoever closes us closes the store next, wherever the loop stands with the connection."""
    inbox = Inbox()
    async with endpoint(inbox) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(post(b"a message", *LAST))
            await turn(turns)
            await server.close(grace_s=0)
            taken = len(inbox.bodies)
            await turn(MANY)
            assert len(inbox.bodies) == taken


async def test_close_cuts_what_takes_too_long():
    """After the grace the reception is cancelled and the peer's outcome is unknown."""
    gate = Gate()
    async with endpoint(gate) as server, raw_client(server.port) as client:
        await client.say(post())
        await gate.arrival()
        await server.close(grace_s=0)
        assert await client.hear_all() == b""
        assert server.connection_count == 0


@pytest.mark.parametrize(
    "listen",
    [
        "127.0.0.1:8401",
        "https://127.0.0.1:1/msh",
        "http://127.0.0.1/msh",
        "http://:1/m?a=b",
        "ftp://a:1/",
    ],
)
async def test_an_address_that_cannot_be_listened_at_is_refused(listen):
    """At start, with the form that is expected."""
    with pytest.raises(LocalError, match="must look like"):
        await serve_http(listen, Inbox())


async def test_connections_that_are_reset_before_they_are_accepted_do_no_harm():
    """N8: such a connection has no peer any more, not even by name; the next one is served."""
    bugs = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: bugs.append(context))
    async with endpoint(Inbox(Answer(204))) as server:
        for _ in range(20):
            # Blocking, so that the loop accepts only what is reset already.
            with socket.create_connection(("127.0.0.1", server.port)) as gone:
                gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        answer = await say_and_hear_all(server.port, post(b"whole", *LAST))
    assert answer.startswith(b"HTTP/1.1 204")
    assert bugs == []
