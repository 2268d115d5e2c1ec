"""M1 to M12 of `spec/security.md`: what is wrong with a mail, a conversation or what we send.

Each mail carries a whole, valid message of the attacker's, as in the HTTP table.
"""

import asyncio
import base64
import shutil
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ground import MAILBOX, Attack, Case, Ground, M, as_mail, deliver
from http_peers import WholeBody
from mailing import partners
from packages import PayloadPart
from peer import PATIENCE_S
from smtp_peers import Speaker, letter, mail_sender, relay, speaking
from smtp_tls import make_certificate, serving

from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.transport.mail.address import read_endpoint
from onceonly.transport.mail.server import Credentials, Door, serve_smtp
from onceonly.transport.transport import Outcome

SMALL = (("payload_bytes_max", 100_000),)
SMUGGLED = (
    b"MAIL FROM:<x@y.example>\r\nRCPT TO:<" + MAILBOX + b">\r\nDATA\r\n",
    b"QUIT\r\n",
)


def mailing(make: Callable[[Ground], bytes], sender: bytes = b"them@a.example.com") -> Attack:
    """Bring what is made as one mail."""

    async def attack(ground: Ground) -> str:
        return await ground.mail(make(ground), sender)

    return attack


def valid(ground: Ground, *fields: str) -> bytes:
    """A mail with a valid message."""
    return as_mail(ground.attacker.normal(M, 1), *fields)


def smuggling(end: bytes) -> Attack:
    """A mail in whose body another one stands behind what some take for an end."""

    def make(ground: Ground) -> bytes:
        command, goodbye = SMUGGLED
        return b"X: y\r\n\r\nfirst" + end + command + valid(ground)[:-3] + goodbye + b".\r\n"

    return mailing(make)


def talking(*commands: bytes) -> Attack:
    """Say the commands one after another; the last answer counts."""

    async def attack(ground: Ground) -> str:
        async with ground.speaking() as client:
            for command in commands:
                answer = await client.ask(command)
            return answer.strip()

    return attack


@asynccontextmanager
async def guarded(ground: Ground, **guard: object) -> AsyncIterator[tuple[Speaker, Path]]:
    """A conversation with a mail listener of this gateway that has a certificate."""
    with TemporaryDirectory() as name:
        folder = make_certificate(Path(name))
        parts = ground.gateway.parts
        server = await serve_smtp(
            "smtp://127.0.0.1:0",
            parts.receiver.receive,
            door=changed(Door(MAILBOX.decode(), serving(folder), is_tls_required=True), **guard),
            drop_automatic=parts.automatic_mail.drop,
            note_refusal=parts.refusals.note,
        )
        try:
            async with speaking(server.port) as client:
                await client.greet()
                yield client, folder
        finally:
            await server.close(0.1)


async def injected_behind_starttls(ground: Ground) -> str:
    """Commands in clear in the same packet as STARTTLS."""
    async with guarded(ground) as (client, _):
        await client.say(b"STARTTLS\r\nMAIL FROM:<a@b.example>\r\n")
        return (await client.hear_all()).decode().strip()


async def without_starttls(ground: Ground) -> str:
    """A mail in clear where TLS is required."""
    async with guarded(ground) as (client, _):
        return (await client.ask(b"MAIL FROM:<a@b.example>")).strip()


async def stripped_by_relay(ground: Ground) -> str:
    """Our sender and a relay that claims to know no STARTTLS: no mail leaves."""
    async with (
        relay() as (port, scripted),
        mail_sender(port, tls=ssl.create_default_context(), is_tls_required=True) as transport,
    ):
        sent = await transport.send(letter(WholeBody(b"secret\r\n")))
        assert sent.outcome is Outcome.REFUSED
        assert not sent.bytes_left
        assert scripted.mails == []
        return "refused"


async def password_in_clear(ground: Ground) -> str:
    """AUTH before TLS, with the right password."""
    door = {"credentials": Credentials("relay", "s3cret"), "is_tls_required": False}
    async with guarded(ground, **door) as (client, _):
        return (await client.ask(b"AUTH PLAIN " + base64.b64encode(b"\0relay\0s3cret"))).strip()


async def forged_acknowledgement(ground: Ground) -> str:
    """An acknowledgement of a message of ours, from a partner that never got it."""
    message_id = await ground.gateway.submit(b"<order/>", to=ground.attacker)
    forged = ground.bystander.signal(
        "Acknowledgement", message_id, message_id="forged@c.example.com"
    )
    answer = await ground.mail(as_mail(forged))
    assert ground.gateway.state_of(message_id) != "acknowledged"
    return answer


async def endless(ground: Ground) -> str:
    """Data without an end, far beyond the limit."""
    async with ground.speaking() as client:
        await client.ask(b"MAIL FROM:<them@a.example.com>")
        await client.ask(b"RCPT TO:<" + MAILBOX + b">")
        await client.ask(b"DATA")
        try:
            await client.say(valid(ground)[:-5])
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    await client.say((b"x" * 76 + b"\r\n") * 1_000)
        except ConnectionError:
            return "cut"


async def dotted_payload(ground: Ground) -> str:
    """A payload of ours that is full of ends of mail, between two gateways and a mail system."""
    nasty = b"a\r\n.\r\nMAIL FROM:<x@y.example>\r\n\n.\n\r.\rRCPT TO:<z@y.example>\r\n.\r\n"
    with TemporaryDirectory() as name:
        async with partners(Path(name)) as both:
            message_id = await both.submit(nasty)
            await both.until_acknowledged(message_id)
            (item,) = (await both.seller.get("/v1/inbox?wait=30"))["items"]
            (payload,) = item["payloads"]
            assert (await both.seller.api.get(payload["href"])).content == nasty
            return f"{len(both.system.mails)} mails"


async def injected_header(ground: Ground) -> str:
    """Line breaks in everything of ours that could come near a mail header."""
    for name in ("a\r\nBcc: x@y", "a\nBcc: x@y", "a\rb"):
        for field in ("message_id", "action", "service"):
            answer = await ground.gateway.submitted(b"<x/>", to=ground.attacker, **{field: name})
            assert answer.status == 400, (field, answer)
        try:
            read_endpoint(f"smtp:{name}@y.example")
        except LocalError:
            continue
        raise AssertionError(name)
    return "refused"


def recipient(address: bytes) -> Attack:
    """Mail for this address."""
    return talking(b"MAIL FROM:<a@b.example>", b"RCPT TO:" + address)


async def long_command(ground: Ground) -> str:
    """One that never ends, and the conversation goes on."""
    async with ground.speaking() as client:
        answer = await client.ask(b"NOOP " + b"x" * 1_000_000)
        assert (await client.ask(b"NOOP")).startswith("250")
        return answer.strip()


async def mail_behind_refusals(ground: Ground) -> str:
    """A refused mail does not spoil the next one on its connection."""
    async with ground.speaking() as client:
        refused = await deliver(client, b"X: \0\r\n\r\nx\r\n.\r\n")
        assert (await deliver(client, valid(ground))).startswith("250")
        return refused


M1_ENDS = {
    "LF.LF": b"\n.\n",
    "LF.CRLF": b"\n.\r\n",
    "CRLF.LF": b"\r\n.\n",
    "CR.CR": b"\r.\r",
    "CR.CRLF": b"\r.\r\n",
    "CRLF.CR": b"\r\n.\r",
    "NUL before the dot": b"\r\n\0.\r\n",
    "NUL behind the dot": b"\r\n.\0\r\n",
}

NEEDS = None if shutil.which("openssl") else "makes its certificate with openssl"

CASES = [
    *(Case("M1", name, smuggling(end), "554 5.6.0") for name, end in M1_ENDS.items()),
    Case(
        "M1",
        "a valid mail behind a refused one",
        mail_behind_refusals,
        "554 5.6.0 NulByte",
        "NulByte",
        delivered=1,
        rows=1,
    ),
    Case(
        "M2",
        "a payload of ours full of ends",
        dotted_payload,
        "2 mails",
        None,
        why="it is ours that goes out",
    ),
    Case(
        "M3",
        "line breaks in names of ours",
        injected_header,
        "refused",
        None,
        why="by the API, to its caller",
    ),
    Case(
        "M4",
        "commands behind STARTTLS",
        injected_behind_starttls,
        "554 5.6.0 CommandBehind",
        needs=NEEDS,
    ),
    Case("M5", "a mail without STARTTLS", without_starttls, "530", "530", needs=NEEDS),
    Case(
        "M5",
        "a relay that hides STARTTLS",
        stripped_by_relay,
        "refused",
        None,
        why="it is ours that stays",
    ),
    Case("M6", "a password in clear", password_in_clear, "538", "538", needs=NEEDS),
    Case(
        "M7",
        "VRFY",
        talking(b"VRFY msh@b.example.com"),
        "252",
        None,
        why="252 says nothing of any mailbox, as RFC 5321 §7.3 wants it; nothing was refused",
    ),
    Case("M7", "EXPN", talking(b"EXPN staff"), "502", "502"),
    Case("M7", "a foreign domain", recipient(b"<x@elsewhere.example>"), "550", "NoSuchMailbox"),
    Case("M7", "our domain, another mailbox", recipient(b"<root@b.example.com>"), "550", "NoSuch"),
    Case(
        "M8",
        "an announced gigabyte",
        talking(b"MAIL FROM:<a@b.example> SIZE=1073741824"),
        "552",
        "552",
        gateway=SMALL,
    ),
    Case(
        "M8",
        "a size that was a lie",
        mailing(
            lambda ground: as_mail(
                ground.attacker.normal(
                    M, 1, payloads=(PayloadPart("x@a", "a/b", (b"x" * 76 + b"\n") * 45_000),)
                )
            )
        ),
        "552 5.3.4 MessageTooLarge",
        "MessageTooLarge",
        gateway=SMALL,
    ),
    Case("M8", "data without end", endless, "cut", "", gateway=SMALL),
    Case(
        "M9",
        "a line of 999 characters",
        mailing(lambda ground: valid(ground, "X: " + "y" * 996)),
        "500 5.5.2 LineTooLong",
    ),
    Case(
        "M9",
        "a line of a million",
        mailing(lambda ground: valid(ground)[:-3] + b"x" * 10**6 + b"\r\n.\r\n"),
        "500 5.5.2 LineTooLong",
        "LineTooLong",
    ),
    Case("M9", "a command of a million", long_command, "500", "500"),
    Case("M10", "a bounce", mailing(valid, b""), "250 2.0.0 Bounce", "Bounce"),
    Case(
        "M10",
        "an automatic reply",
        mailing(lambda ground: valid(ground, "Auto-Submitted: auto-replied")),
        "250 2.0.0 AutoReply",
        "AutoReply",
    ),
    Case(
        "M10",
        "a mail that went round a hundred times",
        mailing(lambda ground: valid(ground, *["Received: by x"] * 101)),
        "554 5.6.0 MailLoop",
        "MailLoop",
    ),
    Case(
        "M11",
        "somebody else's acknowledgement",
        forged_acknowledgement,
        "250",
        "SecurityFailure",
        why="dropped with a row OrphanAckReceived beside it, never answered (R-20)",
    ),
    *(
        Case("M12", what, recipient(address), code, code)
        for what, address, code in (
            ("a source route", b"<@relay.example:msh@b.example.com>", "553"),
            ("a quoted local part", b'<"msh"@b.example.com>', "553"),
            ("a percent route", b"<msh%elsewhere.example@b.example.com>", "553"),
            ("a comment", b"<msh(x)@b.example.com>", "553"),
            ("an address literal", b"<msh@[127.0.0.1]>", "553"),
            ("bytes beyond ASCII", "<msh@b.exämple.com>".encode(), "500"),
            ("another case of the local part", b"<MSH@b.example.com>", "550"),
        )
    ),
]
