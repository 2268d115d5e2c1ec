"""The sender against peers that answer well, badly, slowly, twice or not at all (R-05, N7-N11)."""

import asyncio
import socket
import struct
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from http_peers import (
    OK,
    PATIENCE_S,
    Gate,
    Inbox,
    PiecedBody,
    endpoint,
    listening,
    package,
    port_of,
    scripted,
    sender,
)

from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.transport.http.limits import REPLY_BYTES_MAX, HttpClientLimits
from onceonly.transport.http.server import HttpServer, serve_http
from onceonly.transport.transport import Answer, Outcome, Outgoing, Transmission

pytestmark = pytest.mark.anyio

SHORT = 0.05
ACCEPTED = Transmission(Outcome.ACCEPTED, True, 200, "")


async def send_to(port: int, limits: HttpClientLimits | None = None) -> Transmission:
    async with sender(limits) as transport, asyncio.timeout(PATIENCE_S):
        return await transport.send(package(port))


async def outcome_of(answer: bytes, limits: HttpClientLimits | None = None) -> Transmission:
    """What a send makes of a peer that reads the request, says `answer` and hangs up."""

    async def script(client, _head):
        await client.say(answer)
        client.writer.close()

    async with scripted(script) as (port, _peer):
        return await send_to(port, limits)


@pytest.mark.statement("S0-67")
async def test_the_request_is_one_plain_post():
    """S0-67: what goes over the wire, byte for byte."""
    heads = []

    async def script(client, head):
        heads.append(head)
        await client.say(OK)

    async with scripted(script) as (port, _peer):
        assert await send_to(port) == ACCEPTED
    assert heads == [
        b"POST /msh HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
        b'Content-Type: multipart/related; type="text/xml"; boundary="b"\r\n'
        b"Content-Length: 9\r\n\r\n" % port
    ]


ANSWERS = {
    "200": (OK, ACCEPTED),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", Transmission(Outcome.ACCEPTED, True, 204, "")),
    "204 twice": (
        b"HTTP/1.1 204 No Content\r\n\r\n" * 2,
        Transmission(Outcome.ACCEPTED, True, 204, ""),
    ),
    "interim and 204": (
        b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        Transmission(Outcome.ACCEPTED, True, 204, ""),
    ),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n\r\n", ACCEPTED),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", ACCEPTED),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd", ACCEPTED),
    "body cut": (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab", ACCEPTED),
    "body to the end": (b"HTTP/1.1 200 OK\r\n\r\nabcd", ACCEPTED),
    "chunked body": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n",
        ACCEPTED,
    ),
    "interim answers": (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n" + OK, ACCEPTED),
    "two answers": (OK + b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", ACCEPTED),
    "redirect": (
        b"HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.REFUSED, True, 307, "307 Elsewhere, to http://127.0.0.1:1/"),
    ),
    "404": (
        b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno",
        Transmission(Outcome.REFUSED, True, 404, "404 No"),
    ),
    "413 of a proxy": (
        b"HTTP/1.1 413 Request Entity Too Large\r\nServer: nginx\r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.REFUSED, True, 413, "413 Request Entity Too Large"),
    ),
    "no words": (
        b"HTTP/1.1 429 \r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.REFUSED, True, 429, "429 Too Many Requests"),
    ),
    "no words that anybody knows": (
        b"HTTP/1.1 499 \r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.REFUSED, True, 499, "499"),
    ),
    "endless words": (
        b"HTTP/1.1 400 " + b"x" * 1000 + b"\r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.REFUSED, True, 400, "400 " + "x" * 64),
    ),
    "words beyond ASCII": (
        b"HTTP/1.1 400 No \xff\x85\r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.REFUSED, True, 400, "400 No \xff\\x85"),
    ),
    "redirect with a secret": (
        b"HTTP/1.1 302 Found\r\nLocation: /login?token=x\r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.REFUSED, True, 302, "302 Found, to /login"),
    ),
    "504 of a proxy": (
        b"HTTP/1.1 504 Gateway Time-out\r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.UNKNOWN, True, 504, "504 Gateway Time-out"),
    ),
    "503 behind an interim answer": (
        (
            b"HTTP/1.1 103 Hints\r\nOnceonly-Error: Busy\r\n\r\n"
            b"HTTP/1.1 503 Down\r\nContent-Length: 0\r\n\r\n"
        ),
        Transmission(Outcome.UNKNOWN, True, 503, "503 Down"),
    ),
    "named error": (
        b"HTTP/1.1 400 No\r\nonceonly-error: MimeProblem\r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.REFUSED, True, 400, "MimeProblem"),
    ),
    "named error with its reason": (
        (
            b"HTTP/1.1 413 No\r\nOnceonly-Reason: the body is too large\r\n"
            b"Onceonly-Error: MessageTooLarge\r\nContent-Length: 0\r\n\r\n"
        ),
        Transmission(Outcome.REFUSED, True, 413, "MessageTooLarge: the body is too large"),
    ),
    "refused in a message of its own": (
        (
            b"HTTP/1.1 204 No Content\r\nOnceonly-Error: Inconsistent\r\n"
            b"Onceonly-Reason: of another profile\r\n\r\n"
        ),
        Transmission(Outcome.ACCEPTED, True, 204, "Inconsistent: of another profile"),
    ),
    "endless reason that steers": (
        (
            b"HTTP/1.1 400 No\r\nOnceonly-Error: Busy\r\nOnceonly-Reason: \x9b"
            + b"y" * 2000
            + b"\r\nContent-Length: 0\r\n\r\n"
        ),
        Transmission(Outcome.REFUSED, True, 400, "Busy: \\x9b" + "y" * 296),
    ),
    "a reason of nothing": (
        b"HTTP/1.1 400 No\r\nOnceonly-Reason: y\r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.REFUSED, True, 400, "400 No"),
    ),
    "TLS": (
        b"\x15\x03\x01\x00\x02\x02\x46",
        Transmission(Outcome.UNKNOWN, True, None, "answered in TLS; expected is http"),
    ),
    "named error that is no word": (
        b"HTTP/1.1 400 No\r\nOnceonly-Error: <script>\r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.REFUSED, True, 400, "400 No"),
    ),
    "switching protocols": (
        b"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        Transmission(Outcome.REFUSED, True, 101, "101 X"),
    ),
    "nothing": (b"", Transmission(Outcome.UNKNOWN, True, None, "connection lost")),
    "not HTTP": (
        b"SSH-2.0-x\r\n\r\n",
        Transmission(Outcome.UNKNOWN, True, None, "malformed answer"),
    ),
    "bare line feeds": (
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        Transmission(Outcome.UNKNOWN, True, None, "malformed answer"),
    ),
    "status below 100": (
        b"HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n",
        Transmission(Outcome.UNKNOWN, True, None, "malformed answer"),
    ),
    "endless head": (
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 20_000,
        Transmission(Outcome.UNKNOWN, True, None, "answer too large"),
    ),
    "endless interim answers": (
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1000,
        Transmission(Outcome.UNKNOWN, True, None, "answer too large"),
    ),
}


@pytest.mark.parametrize(("answer", "expected"), ANSWERS.values(), ids=ANSWERS)
async def test_every_answer_has_one_outcome(answer, expected):
    """N10, R-46: a complete 2xx accepts, what an MSH would say refuses, all else is unknown."""
    assert await outcome_of(answer) == expected


@pytest.mark.parametrize("name", ["200", "204", "named error", "chunked body", "interim answers"])
async def test_an_answer_split_at_any_byte_has_the_same_outcome(name):
    """Where the network cuts makes no difference."""
    answer, expected = ANSWERS[name]
    cut = 0

    async def script(client, _head):
        await client.say(answer[:cut])
        await asyncio.sleep(0)
        await client.say(answer[cut:])
        client.writer.close()

    async with scripted(script) as (port, _peer), sender() as transport:
        for cut in range(len(answer)):  # noqa: B007 - because the script reads it
            assert await transport.send(package(port)) == expected


async def test_an_answer_cut_in_its_head_is_unknown():
    """N9: not one byte less than the whole head is an answer."""
    head_end = OK.index(b"\r\n\r\n") + 4
    for size in range(head_end):
        cut = await outcome_of(OK[:size])
        assert (cut.outcome, cut.bytes_left) == (Outcome.UNKNOWN, True)


async def test_a_reset_is_unknown():
    """N8: bytes left, and nobody knows how many arrived."""

    async def script(client, _head):
        client.reset()

    async with scripted(script) as (port, _peer):
        assert await send_to(port) == Transmission(Outcome.UNKNOWN, True, None, "connection lost")


async def test_a_peer_that_never_answers_is_unknown():
    """N7: half-open; the response timeout fires, within what is said of it, and the connection is
    gone."""

    async def script(client, _head):
        await client.hear_all()

    limits = HttpClientLimits(response_timeout_s=SHORT)
    async with scripted(script) as (port, peer), asyncio.timeout(limits.silent_s):
        assert await send_to(port, limits) == Transmission(
            Outcome.UNKNOWN, True, None, "no answer in time"
        )
    assert peer.request_count == 1


async def test_a_peer_that_never_reads_is_unknown():
    """N11: the write timeout counts from the last progress."""

    async def ignore(_reader, writer):
        await writer.wait_closed()

    body = PiecedBody(*[bytes(256 * 1024)] * 200)
    limits = HttpClientLimits(write_timeout_s=SHORT)
    async with listening(ignore) as server, sender(limits) as transport:
        uri = f"http://127.0.0.1:{port_of(server)}/"
        transmission = await transport.send(Outgoing(uri, "a/b", body))
    assert transmission == Transmission(Outcome.UNKNOWN, True, None, "no progress while sending")


async def test_the_whole_exchange_is_bounded():
    """A peer that always makes a little progress does not hold us for ever."""

    async def script(client, _head):
        while True:
            await client.say(b"HTTP/1.1 100 Continue\r\n\r\n")
            await client.reader.read(1)

    limits = HttpClientLimits(total_s=SHORT, rate_min=1_000_000)
    async with scripted(script) as (port, _peer):
        transmission = await send_to(port, limits)
    assert transmission == Transmission(Outcome.UNKNOWN, True, None, "took too long altogether")


async def test_success_before_the_end_of_the_body_is_unknown():
    """A 2xx for what is not sent yet promises nothing."""

    async def promise(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.wait_closed()

    body = PiecedBody(*[bytes(256 * 1024)] * 200)
    async with listening(promise) as server, sender() as transport:
        uri = f"http://127.0.0.1:{port_of(server)}/"
        transmission = await transport.send(Outgoing(uri, "a/b", body))
    detail = "answered before the end of the body"
    assert transmission == Transmission(Outcome.UNKNOWN, True, 200, detail)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 9\r\n\r\na package",
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2\r\na \r\n7\r\npackage\r\n0\r\n\r\n"
        ),
    ],
    ids=["length", "chunked"],
)
async def test_a_package_in_the_answer_is_taken_however_it_is_cut(answer):
    """In pieces of one byte, and the connection is used again."""
    replies: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    async def script(client, _head):
        for number in range(len(answer)):
            await client.say(answer[number : number + 1])

    async with scripted(script) as (port, peer), sender() as transport:
        for _ in range(2):
            outgoing = changed(package(port), take_reply=lambda *reply: replies.put_nowait(reply))
            assert await transport.send(outgoing) == ACCEPTED
            assert await replies.get() == (200, "a/b", b"a package")
    assert peer.connection_count == 1


@pytest.mark.parametrize(
    ("status", "kind", "is_taken"),
    [
        (500, "text/xml; charset=utf-8", True),
        (400, "TEXT/XML", True),
        (500, "text/html", False),
        (500, "text/xmlish", False),
        (302, "text/xml", False),
    ],
)
async def test_what_may_be_a_fault_is_taken_with_its_status(status, kind, is_taken):
    """Of 4xx and 5xx, and only as text/xml; everything else is read and thrown away."""
    replies: list[tuple[int, str, bytes]] = []

    async def script(client, _head):
        head = f"HTTP/1.1 {status} Oh\r\nContent-Type: {kind}\r\nContent-Length: 4\r\n\r\n"
        await client.say(head.encode() + b"<a/>")

    async with scripted(script) as (port, _), sender() as transport:
        outgoing = changed(package(port), take_reply=lambda *reply: replies.append(reply))
        await transport.send(outgoing)
    assert replies == ([(status, kind, b"<a/>")] if is_taken else [])


@pytest.mark.parametrize(
    ("status", "value", "expected"),
    [
        (503, "120", 120),
        (429, "0", 0),
        (408, "9", 9),
        (503, "999999999", 86_400),
        (503, "-5", None),
        (503, "soon", None),
        (503, "Wed, 21 Oct 99999 07:28:00 GMT", None),
        (503, "Wed, 21 Oct 2026 07:28:00 GMT" + " " * 64, None),
        (500, "120", None),
        (204, "120", None),
    ],
)
async def test_the_pause_that_a_peer_asks_for_is_told(status, value, expected):
    """Beside the statuses that mean "later" alone, and for a day at most."""

    async def script(client, _head):
        head = f"HTTP/1.1 {status} Oh\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n"
        await client.say(head.encode())

    async with scripted(script) as (port, _), sender() as transport:
        assert (await transport.send(package(port))).retry_after_s == expected


@pytest.mark.statement("E2-117")
@pytest.mark.parametrize(
    ("date", "until", "expected"),
    [
        # The peer's clock is years off: both dates are of it, so that only their distance counts.
        ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:51:37 GMT", 120),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:51:37 GMT", 120),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun Nov  6 08:51:37 1994", 120),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:00:00 GMT", 0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 2094 08:49:37 GMT", 86_400),
    ],
)
async def test_a_pause_until_a_date_counts_by_the_clock_of_who_said_it(date, until, expected):
    async def script(client, _head):
        head = f"HTTP/1.1 503 Busy\r\nDate: {date}\r\nRetry-After: {until}\r\n"
        await client.say(f"{head}Content-Length: 0\r\n\r\n".encode())

    async with scripted(script) as (port, _), sender() as transport:
        assert (await transport.send(package(port))).retry_after_s == expected


@pytest.mark.statement("E2-117")
@pytest.mark.parametrize("date", ["", "Date: yesterday\r\n"])
async def test_a_pause_until_a_date_counts_by_our_clock_where_none_was_said(date):
    async def script(client, _head):
        until = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
        head = f"HTTP/1.1 503 Busy\r\n{date}Retry-After: {until}\r\nContent-Length: 0\r\n\r\n"
        await client.say(head.encode())

    async with scripted(script) as (port, _), sender() as transport:
        waits_s = (await transport.send(package(port))).retry_after_s
    assert waits_s is not None
    assert 3600 < waits_s <= 7200


async def test_headers_of_a_profile_are_in_the_head():
    heads: asyncio.Queue[bytes] = asyncio.Queue()

    async def script(client, head):
        heads.put_nowait(head)
        await client.say(OK)

    async with scripted(script) as (port, _), sender() as transport:
        await transport.send(changed(package(port), headers=(("SOAPAction", '"ebXML"'),)))
        assert b'\r\nSOAPAction: "ebXML"\r\n' in await heads.get()
        for value in ("a\r\nb", "\u20ac"):
            with pytest.raises(LocalError, match="no HTTP head"):
                await transport.send(changed(package(port), headers=(("SOAPAction", value),)))


async def test_a_package_in_the_answer_that_breaks_off_or_is_too_long_is_none():
    """Bounded, and whole or not at all; the message was accepted all the same."""
    replies: list[tuple[str, bytes]] = []
    endings = iter([(100, bytes(99)), (REPLY_BYTES_MAX * 2, bytes(REPLY_BYTES_MAX * 2))])

    async def script(client, _head):
        length, body = next(endings)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: {length}\r\n\r\n"
        with suppress(ConnectionError):
            await client.say(head.encode() + body)
        raise ConnectionError

    async with scripted(script) as (port, peer), sender() as transport:
        for _ in range(2):
            outgoing = changed(package(port), take_reply=lambda *reply: replies.append(reply))
            assert await transport.send(outgoing) == ACCEPTED
            await peer.hung_up.wait()
            peer.hung_up.clear()
    assert replies == []


async def test_a_connection_is_used_again():
    """Keep-alive: one connection for one send after another, bodies of answers read over."""

    async def script(client, _head):
        await client.say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd")

    async with scripted(script) as (port, peer), sender() as transport:
        for _ in range(5):
            assert await transport.send(package(port)) == ACCEPTED
    assert (peer.connection_count, peer.request_count) == (1, 5)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        OK + OK,
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + bytes(100_000),
    ],
    ids=["close", "HTTP/1.0", "two answers", "large body"],
)
async def test_a_connection_that_is_not_to_be_trusted_is_not_used_again(answer):
    """The peer wants it so, said too much, or says it too slowly."""

    async def script(client, _head):
        await client.say(answer)

    async with scripted(script) as (port, peer), sender() as transport:
        for _ in range(2):
            assert await transport.send(package(port)) == ACCEPTED
    assert peer.connection_count == 2


@pytest.mark.statement("S0-72", ruling="R-05")
async def test_one_refused_connection_is_the_transports_own_affair():
    """S0-72: tried once more after a pause, and the sender machine never hears of it."""
    inbox = Inbox()
    reserved = socket.socket()
    reserved.bind(("127.0.0.1", 0))
    port = reserved.getsockname()[1]
    reserved.close()

    async with sender(HttpClientLimits(connect_pause_s=4 * SHORT)) as transport:
        sending = asyncio.create_task(transport.send(package(port)))
        started: asyncio.Queue[asyncio.Task[HttpServer]] = asyncio.Queue()
        listening = serve_http(f"http://127.0.0.1:{port}/msh", inbox)
        asyncio.get_running_loop().call_later(
            SHORT, lambda: started.put_nowait(asyncio.create_task(listening))
        )
        assert await sending == ACCEPTED
        await (await (await started.get())).close()
    assert inbox.bodies == [b"a message"]


@pytest.mark.parametrize(
    ("endpoint_uri", "detail"),
    [
        ("http://127.0.0.1:{port}/msh", "connection refused"),
        ("https://127.0.0.1:{port}/msh", "connection refused"),
        ("http://name.invalid:{port}/msh", "name not resolved"),
    ],
)
async def test_no_connection_is_a_refusal_of_which_no_byte_left(endpoint_uri, detail):
    """The three ways to be certain that nothing left."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        uri = endpoint_uri.format(port=reserved.getsockname()[1])
        async with sender(HttpClientLimits(connect_pause_s=0.001)) as transport:
            transmission = await transport.send(Outgoing(uri, "a/b", PiecedBody(b"x")))
    assert transmission == Transmission(Outcome.REFUSED, False, None, detail)


async def test_a_tls_handshake_that_fails_is_a_refusal_of_which_no_byte_left():
    """The other side speaks no TLS: the message stayed here."""
    async with endpoint(Inbox()) as server, sender() as transport:
        uri = f"https://127.0.0.1:{server.port}/msh"
        transmission = await transport.send(Outgoing(uri, "a/b", PiecedBody(b"x")))
    assert changed(transmission, detail="") == Transmission(Outcome.REFUSED, False, None)
    assert transmission.detail.startswith("TLS handshake failed: ")


async def test_a_tls_handshake_without_an_answer_is_a_refusal_of_which_no_byte_left():
    """The peer takes the connection and says nothing: the wait for a connection is bounded."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"https://127.0.0.1:{silent.getsockname()[1]}/msh"
        async with sender(HttpClientLimits(connect_timeout_s=SHORT)) as transport:
            transmission = await transport.send(Outgoing(uri, "a/b", PiecedBody(b"x")))
    assert transmission == Transmission(Outcome.REFUSED, False, None, "connect timeout")


async def test_a_connection_that_is_reset_before_tls_is_a_refusal_of_which_no_byte_left():
    """Tried once more, and then it is certain that nothing left."""
    connections = 0

    def reset(_reader, writer) -> None:
        nonlocal connections
        connections += 1
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    server = await asyncio.start_server(reset, "127.0.0.1", 0)
    async with server, sender(HttpClientLimits(connect_pause_s=0.001)) as transport:
        uri = f"https://127.0.0.1:{port_of(server)}/msh"
        transmission = await transport.send(Outgoing(uri, "a/b", PiecedBody(b"x")))
    assert transmission == Transmission(Outcome.REFUSED, False, None, "no connection")
    assert connections == 2


async def test_connections_to_one_host_are_bounded():
    """More sends than connections wait for their turn, and all come through."""
    gate = Gate()
    limits = HttpClientLimits(connections_per_host_max=2)
    async with endpoint(gate) as server, sender(limits) as transport, asyncio.TaskGroup() as tasks:
        sends = [tasks.create_task(transport.send(package(server.port))) for _ in range(10)]
        await gate.arrival()
        await gate.arrival()
        assert server.connection_count == 2
        gate.opened.set()
    assert [send.result() for send in sends] == [ACCEPTED] * 10


async def test_one_slow_host_does_not_stall_another():
    """N11: each host has its own bound, and idle connections elsewhere make room."""
    gate, inbox = Gate(), Inbox()
    limits = HttpClientLimits(connections_per_host_max=2, connections_max=3)
    async with (
        endpoint(gate) as slow,
        endpoint(inbox) as quick,
        endpoint(inbox) as third,
        sender(limits) as transport,
        asyncio.TaskGroup() as tasks,
    ):
        sends = [tasks.create_task(transport.send(package(slow.port))) for _ in range(5)]
        await gate.arrival()
        await gate.arrival()
        async with asyncio.timeout(PATIENCE_S):
            for port in (quick.port, third.port, quick.port):
                assert await transport.send(package(port)) == ACCEPTED
        gate.opened.set()
    assert [send.result() for send in sends] == [ACCEPTED] * 5


async def test_those_who_wait_are_refused_when_the_time_of_each_is_up():
    """Who came later waits on; and who is served meanwhile is not refused."""
    gate = Gate()
    limits = HttpClientLimits(connections_per_host_max=1, wait_s=SHORT)
    async with endpoint(gate) as server, sender(limits) as transport, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(transport.send(package(server.port)))
        await gate.arrival()
        second = tasks.create_task(transport.send(package(server.port)))
        await asyncio.sleep(SHORT / 2)
        third = tasks.create_task(transport.send(package(server.port)))
        async with asyncio.timeout(PATIENCE_S):
            assert (await second).detail == "no free connection"
            assert not third.done()
            assert (await third).detail == "no free connection"
        fourth = tasks.create_task(transport.send(package(server.port)))
        await asyncio.sleep(0)
        gate.opened.set()
    assert first.result() == ACCEPTED
    assert fourth.result() == ACCEPTED


async def test_waiting_for_a_connection_is_bounded_in_time_and_number():
    """Then it is refused, and surely no byte left (R-27)."""
    gate = Gate()
    limits = HttpClientLimits(connections_per_host_max=1, waiters_max=1, wait_s=SHORT)
    async with endpoint(gate) as server, sender(limits) as transport, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(transport.send(package(server.port)))
        await gate.arrival()
        second = tasks.create_task(transport.send(package(server.port)))
        await asyncio.sleep(0)
        third = await transport.send(package(server.port))
        async with asyncio.timeout(PATIENCE_S):
            await second
        gate.opened.set()
    assert third == Transmission(Outcome.REFUSED, False, None, "too many wait for a connection")
    assert second.result() == Transmission(Outcome.REFUSED, False, None, "no free connection")
    assert first.result() == ACCEPTED


async def test_a_cancelled_send_leaves_the_pool_usable():
    """Neither a connection nor a waiter's place is lost, whoever is cancelled."""
    gate = Gate()
    limits = HttpClientLimits(connections_per_host_max=1)
    async with endpoint(gate) as server, sender(limits) as transport:
        sends = [asyncio.create_task(transport.send(package(server.port))) for _ in range(3)]
        await gate.arrival()
        sends[0].cancel()
        sends[1].cancel()
        gate.opened.set()
        async with asyncio.timeout(PATIENCE_S):
            assert await sends[2] == ACCEPTED
            assert await transport.send(package(server.port)) == ACCEPTED
    assert sends[0].cancelled()
    assert sends[1].cancelled()


async def test_closing_ends_what_is_under_way():
    """The exchange is unknown, the waiter surely sent nothing."""
    gate = Gate()
    limits = HttpClientLimits(connections_per_host_max=1)
    async with endpoint(gate) as server, sender(limits) as transport:
        sends = [asyncio.create_task(transport.send(package(server.port))) for _ in range(2)]
        await gate.arrival()
        await transport.close()
        async with asyncio.timeout(PATIENCE_S):
            assert await sends[0] == Transmission(Outcome.UNKNOWN, True, None, "connection lost")
            assert await sends[1] == Transmission(Outcome.REFUSED, False, None, "transport closed")
        gate.opened.set()


async def test_an_idle_connection_is_closed():
    """Before the peer does it, so that dead connections are rare."""

    async def script(client, _head):
        await client.say(OK)

    limits = HttpClientLimits(idle_timeout_s=SHORT)
    async with scripted(script) as (port, peer), sender(limits) as transport:
        assert await transport.send(package(port)) == ACCEPTED
        async with asyncio.timeout(PATIENCE_S):
            await peer.hung_up.wait()
        assert await transport.send(package(port)) == ACCEPTED
    assert peer.connection_count == 2


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "msh",
        "ftp://a/b",
        "http://",
        "http://a b/",
        "http://a/\r\nX: y",
        "http://a:99999/",
        "http://u:p@a/",
    ],
)
async def test_an_endpoint_that_is_none_is_our_own_error(uri):
    """It comes from the agreement, so the configuration should have refused it."""
    async with sender() as transport:
        with pytest.raises(LocalError, match="http"):
            await transport.send(Outgoing(uri, "a/b", PiecedBody(b"x")))


async def test_an_answer_names_its_error_to_the_sender():
    """Both halves together: the name that the endpoint sent is the detail of the outcome."""
    async with endpoint(Inbox(Answer(503, "Overloaded"))) as server:
        transmission = await send_to(server.port)
    assert transmission == Transmission(Outcome.REFUSED, True, 503, "Overloaded")
