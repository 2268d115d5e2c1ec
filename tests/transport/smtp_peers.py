"""The other side of the mail transport in tests: scripted relays, mail text, raw conversations."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from http_peers import PATIENCE_S, RawClient, listening, port_of, raw_client

from onceonly.transport.mail.client import SmtpTransport
from onceonly.transport.mail.limits import SmtpClientLimits, SmtpLimits
from onceonly.transport.mail.report import AutomaticReport
from onceonly.transport.mail.server import Door, SmtpServer, serve_smtp
from onceonly.transport.transport import Answer, Body, Outgoing, Request

MAILBOX = "msh@partner.example"
ENDPOINT = f"smtp:{MAILBOX}"
OUR_MAILBOX = "gateway@us.example"
MIXED = 'multipart/related; type="text/xml"; boundary="b"'

LINE_BYTES = 57
"""Of content per line of base64."""


class Base64Body:
    """Any body as mail text, as a gateway would make it: lines of base64."""

    def __init__(self, body: Body) -> None:
        self._body = body
        whole_lines, rest = divmod(body.size_bytes, LINE_BYTES)
        self.size_bytes = whole_lines * 78 + (((rest + 2) // 3) * 4 + 2 if rest else 0)

    def whole(self) -> bytes | None:
        content = self._body.whole()
        return None if content is None else to_lines(content)

    async def chunks(self) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in self._body.chunks():
            data = rest + chunk
            cut = len(data) - len(data) % LINE_BYTES
            rest = data[cut:]
            yield to_lines(data[:cut])
        yield to_lines(rest)


def to_lines(content: bytes) -> bytes:
    lines = [content[at : at + LINE_BYTES] for at in range(0, len(content), LINE_BYTES)]
    return b"".join(base64.b64encode(line) + b"\r\n" for line in lines)


def decoding(receive):
    """A receiver of what is inside the lines of base64."""

    async def receive_lines(request: Request, body: AsyncIterator[bytes]) -> Answer:
        return await receive(request, decoded(body))

    return receive_lines


async def decoded(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in body:
        data = (rest + piece).replace(b"\r\n", b"")
        cut = len(data) - len(data) % 4
        rest = data[cut:]
        yield base64.b64decode(data[:cut])


class Dropped:
    """Remembers the automatic mails that were dropped."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.reports: list[AutomaticReport] = []

    async def __call__(self, peer: str, report: AutomaticReport) -> Answer:
        assert peer
        self.kinds.append(report.kind)
        self.reports.append(report)
        return Answer(204, report.kind)


@asynccontextmanager
async def mail_endpoint(
    receive, *, door: Door | None = None, limits: SmtpLimits | None = None, dropped=None
) -> AsyncIterator[SmtpServer]:
    """A mail endpoint for MAILBOX on a free port."""
    server = await serve_smtp(
        "smtp://127.0.0.1:0",
        receive,
        door=door or Door(MAILBOX),
        drop_automatic=dropped or Dropped(),
        limits=limits or SmtpLimits(),
    )
    try:
        yield server
    finally:
        await server.close(grace_s=0.1)


@asynccontextmanager
async def mail_sender(
    port: int, *, scheme: str = "smtp", **arguments
) -> AsyncIterator[SmtpTransport]:
    """A transport to the relay at the port, which tries once unless told otherwise."""
    arguments = {"waits_s": (), "limits": SmtpClientLimits(quit_timeout_s=0.5), **arguments}
    transport = SmtpTransport(f"{scheme}://127.0.0.1:{port}", OUR_MAILBOX, **arguments)
    try:
        yield transport
    finally:
        await transport.close()


def letter(body: Body, content_type: str = MIXED, endpoint: str = ENDPOINT) -> Outgoing:
    return Outgoing(endpoint, content_type, body, message_id="m-1@us.example")


class Speaker(RawClient):
    """A mail client that says what a test likes, one line at a time."""

    async def reply(self) -> str:
        """The next whole reply."""
        lines = []
        async with asyncio.timeout(PATIENCE_S):
            while True:
                line = (await self.reader.readuntil(b"\r\n")).decode("ascii")
                lines.append(line)
                if line[3:4] != "-":
                    return "".join(lines)

    async def ask(self, command: bytes) -> str:
        await self.say(command + b"\r\n")
        return await self.reply()

    async def greet(self) -> str:
        """Through the greeting; the answer to EHLO."""
        await self.reply()
        return await self.ask(b"EHLO client.example")

    async def address(self, sender: bytes = b"them@there.example") -> None:
        """Up to the 354."""
        assert (await self.ask(b"MAIL FROM:<" + sender + b">")).startswith("250")
        assert (await self.ask(b"RCPT TO:<" + MAILBOX.encode() + b">")).startswith("250")
        assert (await self.ask(b"DATA")).startswith("354")

    async def mail(self, data: bytes, sender: bytes = b"them@there.example") -> str:
        """One whole mail; the answer to its end."""
        await self.address(sender)
        await self.say(data)
        return await self.reply()


@asynccontextmanager
async def speaking(port: int) -> AsyncIterator[Speaker]:
    async with raw_client(port) as client:
        yield Speaker(client.reader, client.writer)


def mail(body: bytes = b"a message\r\n", *fields: str, kind: str = MIXED) -> bytes:
    """The bytes of an ordinary mail with its final dot."""
    lines = ["From: <them@there.example>", *fields, f"Content-Type: {kind}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body + b".\r\n"


class ScriptedRelay:
    """A relay that answers by script and remembers every conversation.

    `replies` maps the first word of a command to the replies that it gets, one after another and
    the last for ever; "." is the end of a mail. None hangs up.
    """

    def __init__(self, replies: dict[str, list[bytes | None]] | None = None) -> None:
        self.replies: dict[str, list[bytes | None]] = {
            "greeting": [b"220 relay.example"],
            "EHLO": [b"250 relay.example"],
            "MAIL": [b"250 OK"],
            "RCPT": [b"250 OK"],
            "DATA": [b"354 go on"],
            ".": [b"250 taken"],
            "QUIT": [b"221 bye"],
            **{word: list(answers) for word, answers in (replies or {}).items()},
        }
        self.commands: list[str] = []
        self.mails: list[bytes] = []
        self.conversations = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.conversations += 1
        word = "greeting"
        while True:
            replies = self.replies.get(word, [b"500 what"])
            answer = replies.pop(0) if len(replies) > 1 else replies[0]
            if answer is None:
                return
            writer.write(answer + b"\r\n")
            await writer.drain()
            if word == "QUIT":
                return
            if answer.startswith(b"354"):
                self.mails.append(await reader.readuntil(b"\r\n.\r\n"))
                word = "."
                continue
            line = (await reader.readuntil(b"\r\n")).decode("ascii").strip()
            self.commands.append(line)
            word = line.split(" ")[0].upper()


@asynccontextmanager
async def relay(**replies: list[bytes | None]) -> AsyncIterator[tuple[int, ScriptedRelay]]:
    """A scripted relay on a free port; `end=` is what the end of a mail gets."""
    if "end" in replies:
        replies["."] = replies.pop("end")
    scripted = ScriptedRelay(replies)
    async with listening(scripted) as server:
        yield port_of(server), scripted
