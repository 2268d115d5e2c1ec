"""H1 to H30 of `spec/security.md`: what is wrong with a request, a connection or an address.

Every request carries a whole, valid message of the attacker's, so that whatever lets the request
pass lets the message in.
"""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Self

import pytest
from ground import REFUSAL_ROWS, Attack, Case, Ground, M, answer_of
from peer import PATIENCE_S

from onceonly.transport.http.limits import HttpLimits
from onceonly.transport.http.server import serve_http

SMALL = (("payload_bytes_max", 100_000),)
CHUNKED = b"Transfer-Encoding: chunked"
QUICK = HttpLimits(
    header_timeout_s=0.1,
    body_grace_s=0.1,
    idle_timeout_s=0.1,
    write_timeout_s=0.1,
    linger_s=0.1,
)


class Sent:
    """The request of a valid message, in its parts."""

    def __init__(self, ground: Ground) -> None:
        parcel = ground.attacker.normal(M, 1)
        head, _, self.body = ground.attacker.request(parcel).partition(b"\r\n\r\n")
        self.line, *self.lines = head.split(b"\r\n")
        self.content_type = parcel.content_type.encode()

    def with_lines(self, *lines: bytes) -> "Sent":
        """More header lines."""
        self.lines += lines
        return self

    def without(self, name: bytes) -> "Sent":
        """Without the header of that name."""
        self.lines = [line for line in self.lines if not line.lower().startswith(name.lower())]
        return self

    def with_request_line(self, line: bytes) -> "Sent":
        """Another first line."""
        self.line = line
        return self

    def __bytes__(self) -> bytes:
        return b"\r\n".join([self.line, *self.lines, b"", b""]) + self.body


def saying(make: Callable[[Sent], bytes | Sequence[bytes]]) -> Attack:
    """Say what is made of a valid request."""

    async def attack(ground: Ground) -> str:
        return await ground.say(make(Sent(ground)))

    return attack


def added(*lines: bytes) -> Attack:
    """A valid request with these header lines more."""
    return saying(lambda sent: bytes(sent.with_lines(*lines)))


def replaced(name: bytes, *lines: bytes) -> Attack:
    """A valid request with these header lines instead of that one."""
    return saying(lambda sent: bytes(sent.without(name).with_lines(*lines)))


def length(value: str) -> Attack:
    """A valid request with this Content-Length; `{}` is the true one."""
    return saying(
        lambda sent: bytes(
            sent.without(b"Content-Length").with_lines(
                b"Content-Length: " + value.format(len(sent.body)).encode()
            )
        )
    )


def asking(line: bytes, *lines: bytes) -> Attack:
    """A valid request with another request line."""
    return saying(lambda sent: bytes(sent.with_request_line(line).with_lines(*lines)))


def chunks(make: Callable[[bytes], bytes | Iterator[bytes]]) -> Attack:
    """A chunked request whose raw body is made of the package."""

    def raw(sent: Sent) -> Sequence[bytes]:
        body, sent.body = sent.body, b""
        head = bytes(sent.without(b"Content-Length").with_lines(CHUNKED))
        made = make(body)
        return [head + made] if isinstance(made, bytes) else [head, *made]

    return saying(raw)


def chunk(body: bytes) -> bytes:
    """A valid chunk."""
    return b"%x\r\n%s\r\n" % (len(body), body)


def many_lines(sent: Sent) -> bytes:
    """Ten thousand of them."""
    return bytes(sent.with_lines(*(b"X-%d: y" % number for number in range(10_000))))


async def expect_early(ground: Ground) -> str:
    """The body comes with the head, although 100 was asked for."""
    return await ground.say(bytes(Sent(ground).with_lines(b"Expect: 100-continue")))


async def expect_none(ground: Ground) -> str:
    """The 100 comes, the body does not; then the client hangs up."""
    reader, writer = await asyncio.open_connection(*ground.host_port)
    sent = Sent(ground).with_lines(b"Expect: 100-continue")
    sent.body = b""
    writer.write(bytes(sent))
    async with asyncio.timeout(PATIENCE_S):
        interim = await reader.readuntil(b"\r\n\r\n")
    writer.transport.abort()
    await ground.gateway.until(ground.news)
    return answer_of(interim)


async def expect_twice(ground: Ground) -> str:
    """The body comes with the head, and again behind it."""
    sent = Sent(ground).without(b"Connection").with_lines(b"Expect: 100-continue")
    return await ground.say(bytes(sent) + sent.body)


async def pipelined(ground: Ground) -> str:
    """A whole second request behind one that is refused."""
    wrong = bytes(Sent(ground).with_request_line(b"POST /elsewhere HTTP/1.1"))
    return await ground.say(wrong + bytes(Sent(ground)))


def slowly(make: Callable[[Sent], bytes]) -> Attack:
    """Say a part of it and wait, at a listener whose limits are short enough for a test."""

    async def attack(ground: Ground) -> str:
        parts = ground.gateway.parts
        server = await serve_http(
            "http://127.0.0.1:0/msh",
            parts.receiver.receive,
            note_refusal=parts.refusals.note,
            limits=QUICK,
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            writer.write(make(Sent(ground)))
            async with asyncio.timeout(PATIENCE_S):
                return answer_of(await reader.read())
        finally:
            writer.transport.abort()
            await server.close(0)

    return attack


async def idle_crowd(ground: Ground) -> str:
    """More connections from one address than one may have; another address is served."""
    parts = ground.gateway.parts
    server = await serve_http(
        "http://127.0.0.1:0/msh",
        parts.receiver.receive,
        note_refusal=parts.refusals.note,
        limits=HttpLimits(connections_per_address_max=32),
    )
    crowd = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(33)]
    try:
        async with asyncio.timeout(PATIENCE_S):
            refused = answer_of(await crowd[-1][0].read())
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", server.port, local_addr=("127.0.0.2", 0)
            )
            writer.write(bytes(Sent(ground)))
            served = answer_of(await reader.read())
            writer.transport.abort()
        return f"{refused}, others {served}"
    finally:
        for _, one in crowd:
            one.transport.abort()
        await server.close(0)


async def slow_reader(ground: Ground) -> str:
    """Many requests on one connection, and no answer is ever read."""
    parts = ground.gateway.parts
    server = await serve_http(
        "http://127.0.0.1:0/msh",
        parts.receiver.receive,
        note_refusal=parts.refusals.note,
        limits=QUICK,
    )
    # Inherited by what is accepted, so that a few hundred answers are more than it takes.
    server._servers[0].sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    request = b"POST /msh HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", server.port))
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(ConnectionError):
                await loop.sock_sendall(client, request * 100_000)
    await server.close(0)
    return "cut"


class Trap:
    """A listener where nobody has to come."""

    def __init__(self) -> None:
        self.visits = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._visited, "127.0.0.1", 0)
        self.uri = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/trap"
        return self

    async def _visited(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits += 1
        writer.transport.abort()

    async def __aexit__(self, *_: object) -> None:
        self._server.close()


def redirected(location: str) -> Attack:
    """The acknowledgement is answered with a redirect."""

    async def attack(ground: Ground) -> str:
        async with Trap() as trap:
            target = location.format(trap=trap.uri)
            ground.attacker.answer(
                f"HTTP/1.1 307 Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()
            )
            answer = await ground.say(bytes(Sent(ground)))
            await ground.gateway.until(lambda: M in ground.delivered())
            assert trap.visits == 0
            return answer

    return attack


def lured(**addresses: str) -> Attack:
    """A message whose header says where its acknowledgement or error should go."""

    async def attack(ground: Ground) -> str:
        async with Trap() as trap:
            fields = {name: value.format(trap=trap.uri) for name, value in addresses.items()}
            reply = await ground.attacker.send(M, 1, **fields)
            await ground.gateway.everything_said()
            assert trap.visits == 0
            return f"{reply.status} {reply.headers.get('onceonly-error', '')}".strip()

    return attack


async def spoofed(ground: Ground) -> str:
    """Headers that claim to be somebody else; the journal has the address of the socket."""
    lines = (b"X-Forwarded-For: 192.0.2.7", b"X-Forwarded-Host: evil.example", b"From: x@y")
    sent = Sent(ground).without(b"Host").with_lines(b"Host: partner-c.example", *lines)
    answer = await ground.say(bytes(sent))
    wrong = await ground.attacker.send(M, 1, from_party="urn:duns:9")
    (row,) = ground.news()
    assert wrong.status == 400
    assert row.endpoint is not None
    assert row.endpoint.startswith("127.0.0.1:")
    return answer


CASES = [
    Case("H1", "both lengths", added(CHUNKED), "400 ConflictingLength", "ConflictingLength"),
    Case("H2", "two lengths", added(b"Content-Length: 5"), "400 RepeatedHeader"),
    Case("H3", "a list of lengths", length("{0}, {0}"), "400 BadContentLength"),
    Case(
        "H3",
        "the same length twice",
        saying(lambda sent: bytes(sent.with_lines(b"Content-Length: %d" % len(sent.body)))),
        "400 RepeatedHeader",
    ),
    Case("H4", "a signed length", length("+{}"), "400 BadContentLength"),
    Case("H4", "a negative length", length("-1"), "400 BadContentLength"),
    Case("H4", "a hexadecimal length", length("0x{}"), "400 BadContentLength"),
    Case("H4", "an Arabic digit", length("٤"), "400 BadContentLength"),
    Case("H5", "a space before the colon", added(b"Content-Length : 4"), "400 MalformedHead"),
    Case(
        "H6",
        "another coding",
        replaced(b"Content-Length", b"Transfer-Encoding: xchunked"),
        "501 TransferEncodingNotSupported",
    ),
    Case(
        "H6",
        "two codings",
        replaced(b"Content-Length", CHUNKED + b", identity"),
        "501 TransferEncodingNotSupported",
    ),
    Case(
        "H6",
        "the coding twice",
        replaced(b"Content-Length", CHUNKED, CHUNKED),
        "501 TransferEncodingNotSupported",
    ),
    Case(
        "H7",
        "a coding in HTTP/1.0",
        saying(
            lambda sent: bytes(
                sent.without(b"Content-Length")
                .with_request_line(b"POST /msh HTTP/1.0")
                .with_lines(CHUNKED)
            )
        ),
        "400 ConflictingLength",
    ),
    Case("H8", "a folded line", added(b"X: y\r\n " + CHUNKED), "400 FoldedHeader"),
    Case("H9", "a bare line feed", added(b"X: y\n" + CHUNKED), "400 BareLineFeed"),
    Case(
        "H9",
        "bare line feeds throughout",
        saying(lambda sent: bytes(sent).replace(b"\r\n", b"\n")),
        "400 BareLineFeed",
    ),
    Case("H10", "a bare carriage return", added(b"X: y\rZ: z"), "400 MalformedHead"),
    Case("H10", "NUL", added(b"X: \0"), "400 MalformedHead"),
    Case("H10", "a vertical tab", added(b"Transfer-Encoding:\x0bchunked"), "400 MalformedHead"),
    Case("H11", "a size ended by LF", chunks(lambda body: b"3\nabc\r\n0\r\n\r\n"), "400 Malformed"),
    Case(
        "H11",
        "an extension ended by LF",
        chunks(lambda body: b"3;x\nabc\r\n0\r\n\r\n"),
        "400 MalformedBody",
    ),
    Case("H11", "0x5", chunks(lambda body: b"0x5\r\nabcde\r\n0\r\n\r\n"), "400 MalformedBody"),
    Case("H11", "-5", chunks(lambda body: b"-5\r\nabcde\r\n0\r\n\r\n"), "400 MalformedBody"),
    Case(
        "H11",
        "a chunk that is longer than it says",
        chunks(lambda body: b"3\r\nabcd\r\n0\r\n\r\n"),
        "400 MalformedBody",
    ),
    Case(
        "H11",
        "a message whose last chunk ends in LF",
        chunks(lambda body: chunk(body)[:-2] + b"\n0\r\n\r\n"),
        "400 MalformedBody",
    ),
    Case("H12", "a size past 64 bits", chunks(lambda body: b"f" * 18 + b"\r\nabc"), "413 Message"),
    Case("H12", "an announced terabyte", length("1000000000000"), "413 MessageTooLarge"),
    Case(
        "H12",
        "a chunk past the limit that never ends",
        chunks(lambda body: iter([b"%x\r\n" % (1 << 40), *[bytes(65_536)] * 48])),
        "413 MessageTooLarge",
        "MessageTooLarge",
        gateway=SMALL,
    ),
    Case(
        "H12",
        "a valid beginning that goes on past the limit",
        chunks(lambda body: iter([b"%x\r\n" % (1 << 40), body[:-30], *[b"x" * 65_536] * 48])),
        "204 MessageTooLarge",
        "MessageTooLarge",
        why="a partner that named itself is told by an Error message, not by a status (R-25)",
        gateway=SMALL,
    ),
    Case(
        "H13",
        "chunk extensions of 10 MB",
        chunks(lambda body: iter([b"1;", *[b"x" * 65_536] * 160])),
        "400 TooMuchFraming",
    ),
    Case(
        "H13",
        "a million one-byte chunks",
        chunks(lambda body: iter([b"1\r\n-\r\n" * 10_000] * 100)),
        "400 TooMuchFraming",
    ),
    Case("H14", "no Host", replaced(b"Host"), "400 BadHost"),
    Case("H14", "two Hosts", added(b"Host: other.example"), "400 RepeatedHeader"),
    Case("H15", "HTTP/9.9", asking(b"POST /msh HTTP/9.9"), "505 HttpVersionNotSupported"),
    Case("H16", "a foreign host", asking(b"POST http://other.example/msh HTTP/1.1"), "421 Misdir"),
    Case("H17", "a header of 1 MB", added(b"X: " + b"y" * (1 << 20)), "431 HeadTooLarge"),
    Case("H17", "ten thousand headers", saying(many_lines), "431 HeadTooLarge"),
    Case("H18", "the body does not wait", expect_early, "204", delivered=1),
    Case("H18", "the body never comes", expect_none, "100", "connection lost"),
    Case(
        "H18",
        "the body comes twice",
        expect_twice,
        "204 x2",
        "Malformed",
        delivered=1,
        rows=1,
        why="the first one is the body; the second one is no request, and ends the connection",
    ),
    Case("H18", "an unknown expectation", added(b"Expect: a-miracle"), "417 ExpectationFailed"),
    Case("H19", "a request behind a refused one", pipelined, "404 NotFound"),
    Case("H20", "GET", asking(b"GET /msh HTTP/1.1"), "405 MethodNotAllowed"),
    Case("H20", "PUT", asking(b"PUT /msh HTTP/1.1"), "405 MethodNotAllowed"),
    Case("H20", "TRACE", asking(b"TRACE /msh HTTP/1.1"), "405 MethodNotAllowed"),
    Case("H20", "CONNECT", asking(b"CONNECT other.example:443 HTTP/1.1"), "405 MethodNotAllowed"),
    Case(
        "H20",
        "GET that claims to be POST",
        asking(b"GET /msh HTTP/1.1", b"X-HTTP-Method-Override: POST"),
        "405 MethodNotAllowed",
    ),
    Case("H21", "a compressed body", added(b"Content-Encoding: gzip"), "415 ContentEncoding"),
    Case(
        "H22",
        "a head that comes slowly",
        slowly(lambda sent: bytes(sent)[:100]),
        "408 TooSlow",
    ),
    Case(
        "H22",
        "a body that comes slowly",
        slowly(lambda sent: bytes(sent)[:-1]),
        "408 TooSlow",
        "TooSlow",
    ),
    Case(
        "H22",
        "answers that nobody reads",
        slow_reader,
        "cut",
        "MimeProblem",
        rows=REFUSAL_ROWS,
        why="each request is a package that is none; the rows about them are rationed",
    ),
    Case(
        "H22",
        "connections without a word",
        idle_crowd,
        "503 TooManyConnections, others 204",
        delivered=1,
        rows=1,
    ),
    Case("H23", "dot segments", asking(b"POST /msh/../msh HTTP/1.1"), "404 NotFound"),
    Case("H23", "encoded dots", asking(b"POST /%2e%2e/msh HTTP/1.1"), "404 NotFound"),
    Case("H23", "two slashes", asking(b"POST //msh HTTP/1.1"), "404 NotFound"),
    Case("H23", "an encoded NUL", asking(b"POST /msh%00 HTTP/1.1"), "404 NotFound"),
    Case(
        "H24",
        "an upgrade to h2c",
        added(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"),
        "204",
        delivered=1,
    ),
    Case("H25", "another host, another client", spoofed, "204", "", delivered=1, rows=1),
    Case(
        "H26",
        "a type with 10^5 parameters",
        replaced(b"Content-Type", b"Content-Type: a/b" + b";a=b" * 100_000),
        "431 HeadTooLarge",
        why="the whole head has 16 KiB at most, before anybody looks at a parameter",
    ),
    Case(
        "H26",
        "a type with 65 parameters",
        saying(
            lambda sent: bytes(
                sent.without(b"Content-Type").with_lines(
                    b"Content-Type: "
                    + sent.content_type
                    + b"".join(b";p%d=x" % n for n in range(65))
                )
            )
        ),
        "413 MessageTooLarge",
        "MessageTooLarge",
        why="past a limit of ours, and says so",
    ),
    Case(
        "H26",
        "a SOAPAction of 14 KiB",
        added(b"SOAPAction: " + b";a=b" * 3_500),
        "204",
        delivered=1,
        why="nobody reads it, and the head is within its limit",
    ),
    Case("H29", "a redirect elsewhere", redirected("{trap}"), "204", delivered=1),
    Case("H29", "a redirect to a file", redirected("file:///etc/passwd"), "204", delivered=1),
    Case(
        "H30",
        "where acknowledgements and errors should go",
        lured(sender_uri="{trap}", error_uri="{trap}"),
        "204",
        delivered=1,
    ),
    Case(
        "H30",
        "where this message should go",
        lured(receiver_uri="{trap}"),
        "204 ValueNotRecognized",
        "ReceiverURI",
    ),
]
