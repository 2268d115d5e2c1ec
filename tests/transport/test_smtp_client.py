"""The SMTP sender: what leaves, what it means, and what is overcome before anybody is told."""

import asyncio
import socket
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from email import message_from_bytes

import pytest
from http_peers import PATIENCE_S, Inbox, PiecedBody, RawClient, WholeBody, listening, port_of
from smtp_peers import (
    ENDPOINT,
    MAILBOX,
    MIXED,
    OUR_MAILBOX,
    ScriptedRelay,
    letter,
    mail_endpoint,
    mail_sender,
    relay,
)

from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.transport.mail.client import SmtpTransport
from onceonly.transport.mail.limits import SmtpClientLimits
from onceonly.transport.transport import Outcome, Outgoing, Transmission

pytestmark = pytest.mark.anyio

BODY = WholeBody(b"a message\r\n")
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
QUICK = SmtpClientLimits(
    command_timeout_s=0.1, answer_timeout_s=0.1, write_timeout_s=0.1, quit_timeout_s=0.1
)


class Pauses:
    """Waits that pass at once, and are remembered."""

    def __init__(self) -> None:
        self.waited_s: list[float] = []

    async def __call__(self, wait_s: float) -> None:
        self.waited_s.append(wait_s)


@pytest.mark.statement("S0-70")
async def test_one_message_is_one_mail_transaction():
    """MAIL, one RCPT, DATA; and the header block is what the grammar says, nothing else."""
    async with relay() as (port, peer), mail_sender(port, now=lambda: AT) as transport:
        assert await transport.send(letter(BODY)) == Transmission(Outcome.ACCEPTED, True, 250, "")
    assert peer.commands == [
        "EHLO us.example",
        f"MAIL FROM:<{OUR_MAILBOX}>",
        f"RCPT TO:<{MAILBOX}>",
        "DATA",
        "QUIT",
    ]
    mail = message_from_bytes(peer.mails[0])
    token = mail["Message-ID"].removeprefix("<").removesuffix("@us.example>")
    assert len(token) == 32
    assert mail.items() == [
        ("Date", "Fri, 02 Jan 2026 03:04:05 +0000"),
        ("From", f"<{OUR_MAILBOX}>"),
        ("To", f"<{MAILBOX}>"),
        ("Subject", "ebXML message m-1@us.example"),
        ("Message-ID", f"<{token}@us.example>"),
        ("MIME-Version", "1.0"),
        ("Content-Type", MIXED),
    ]
    assert peer.mails[0].endswith(b"\r\n\r\na message\r\n.\r\n")


async def test_headers_of_a_profile_are_in_the_mail():
    """One line each, or none at all."""
    async with relay() as (port, peer), mail_sender(port) as transport:
        await transport.send(changed(letter(BODY), headers=(("SOAPAction", '"ebXML"'),)))
        assert message_from_bytes(peer.mails[0])["SOAPAction"] == '"ebXML"'
        with pytest.raises(LocalError, match="one line"):
            await transport.send(changed(letter(BODY), headers=(("SOAPAction", "a\r\nBcc: x"),)))


async def test_a_resend_is_another_mail():
    """Mailboxes drop a second mail with one Message-ID; a resend must not be dropped so."""
    async with relay() as (port, peer), mail_sender(port) as transport:
        await transport.send(letter(BODY))
        await transport.send(letter(BODY))
    ids = {message_from_bytes(mail)["Message-ID"] for mail in peer.mails}
    assert len(ids) == 2


HOSTILE = b".\r\n..\r\nMAIL FROM:<x@y.example>\r\n.hidden\r\n \r\n.\r\n"


async def test_a_body_that_looks_like_commands_arrives_as_it_was():
    """M2: dots are doubled wherever a line begins, also where a piece does."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, mail_sender(server.port) as transport:
        await transport.send(letter(WholeBody(HOSTILE)))
        await transport.send(letter(PiecedBody(*(HOSTILE[n : n + 1] for n in range(len(HOSTILE))))))
    assert inbox.bodies == [HOSTILE, HOSTILE]


async def test_a_last_line_gets_its_end():
    """Every line of a mail has one."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, mail_sender(server.port) as transport:
        await transport.send(letter(WholeBody(b"--b--")))
    assert inbox.bodies == [b"--b--\r\n"]


@pytest.mark.parametrize(
    "body",
    [
        b"bare\nfeed\r\n",
        b"bare\rreturn\r\n",
        b"at the end\r",
        b"x\r\n\n.\n\r\n",
        b"nul\0\r\n",
        "eight bits: é\r\n".encode(),
        b"x" * 999 + b"\r\n",
        b"x" * 999,
    ],
)
async def test_a_body_that_is_no_mail_text_never_leaves_whole(body):
    """M2: it is a bug of ours, found before the final dot; the relay takes nothing."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, mail_sender(server.port) as transport:
        with pytest.raises(LocalError, match="7-bit"):
            await transport.send(letter(WholeBody(body)))
        with pytest.raises(LocalError, match="7-bit"):
            await transport.send(letter(PiecedBody(body[:5], body[5:])))
    assert inbox.bodies == []


@pytest.mark.parametrize(
    "message_id", ["m\r\nBcc: x@y.example", "m 1", "é", "<m>", "x" * 201, "", "m\0", "m,n"]
)
async def test_nothing_of_a_message_can_make_a_header(message_id):
    """M3: a MessageId that is not plain is left out of the subject."""
    async with relay() as (port, peer), mail_sender(port) as transport:
        await transport.send(changed(letter(BODY), message_id=message_id))
    mail = message_from_bytes(peer.mails[0])
    assert mail["Subject"] == "ebXML message"
    assert len(mail.keys()) == 7


@pytest.mark.parametrize("content_type", ["a/b\r\nBcc: x@y.example", "a/b; é", "a/b;" + "x" * 990])
async def test_a_content_type_that_is_no_line_is_an_error_of_ours(content_type):
    """M3: nobody is called for it."""
    async with relay() as (port, peer), mail_sender(port) as transport:
        with pytest.raises(LocalError):
            await transport.send(letter(BODY, content_type))
    assert peer.conversations == 0


@pytest.mark.parametrize(
    "endpoint",
    [
        "smtp:",
        "smtp:nobody",
        "smtp:a b@c.example",
        "smtp:a@b@c.example",
        "smtp:a@b.example\r\nRCPT TO:<c@d.example>",
        "smtp:<a@b.example>",
        "smtp:@relay.example:a@b.example",
        'smtp:"a"@b.example',
        "smtp:a@[127.0.0.1]",
        "smtp:é@b.example",
        "smtp:a@bücher.example",
        "smtp:a..b@c.example",
        "smtp:a@-b.example",
        "smtp:" + "a" * 65 + "@b.example",
        "smtp:a@" + "b." * 130 + "example",
        "smtp://relay.example/a@b.example",
        "mailto:a@b.example",
    ],
)
async def test_an_endpoint_that_is_no_mailbox_is_an_error_of_ours(endpoint):
    """M3, M12: plain addresses only."""
    async with relay() as (port, peer), mail_sender(port) as transport:
        with pytest.raises(LocalError, match="MAILBOX"):
            await transport.send(letter(BODY, endpoint=endpoint))
    assert peer.conversations == 0


def test_our_own_mailbox_must_be_one():
    """It stands in every mail."""
    with pytest.raises(LocalError, match="MAILBOX"):
        SmtpTransport("smtp://relay.example", "us")


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ({"greeting": [b"554 no"]}, (False, 554, "no")),
        ({"greeting": [b"nonsense"]}, (False, None, "malformed answer: 'nonsense'; expected is")),
        ({"EHLO": [b"502 no"], "HELO": [b"502 no"]}, (False, 502, "no")),
        ({"MAIL": [b"550 5.7.1 who are you"]}, (False, 550, "who are you")),
        ({"RCPT": [b"550 5.1.1 NoSuchMailbox"]}, (False, 550, "NoSuchMailbox")),
        ({"RCPT": [b"450 4.2.0 greylisted"]}, (False, 450, "greylisted")),
        ({"DATA": [b"503 no"]}, (False, 503, "no")),
        ({"DATA": [b"250 what"]}, (False, None, "malformed answer: '250 what'")),
        ({"end": [b"554 5.6.0 MimeProblem"]}, (True, 554, "MimeProblem")),
        ({"end": [b"451 4.3.0 StoreFull"]}, (True, 451, "StoreFull")),
        ({"greeting": [None]}, (False, None, "connection lost")),
        ({"MAIL": [None]}, (False, None, "connection lost")),
        ({"DATA": [None]}, (False, None, "connection lost")),
    ],
)  # fmt: skip
async def test_what_surely_was_not_taken_is_refused(replies, expected):
    """N10: a complete no, or a connection that ended before the mail did."""
    async with relay(**replies) as (port, _), mail_sender(port) as transport:
        transmission = await transport.send(letter(BODY))
    assert transmission.outcome is Outcome.REFUSED
    assert (transmission.bytes_left, transmission.status_code) == expected[:2]
    assert expected[2] in transmission.detail


@pytest.mark.parametrize("end", [None, b"nonsense", b"299-half", b"354 more"])
async def test_a_mail_without_a_clear_answer_behind_its_dot_is_unknown(end):
    """N9: the relay may have it; only a receiver that knows its MessageId can tell."""
    async with relay(end=[end]) as (port, peer), mail_sender(port, limits=QUICK) as transport:
        transmission = await transport.send(letter(BODY))
    assert changed(transmission, detail="") == Transmission(Outcome.UNKNOWN, True, None)
    assert len(peer.mails) == 1


async def test_silence_behind_the_dot_is_unknown_in_bounded_time():
    """A relay that takes the mail and never says so."""

    async def swallow(reader, writer):
        for answer in (b"220 r", b"250 r", b"250 ok", b"250 ok", b"354 go"):
            writer.write(answer + b"\r\n")
            await reader.readuntil(b"\r\n")
        await reader.read()

    async with (
        listening(swallow) as server,
        mail_sender(port_of(server), limits=QUICK) as transport,
    ):
        transmission = await transport.send(letter(BODY))
    assert transmission == Transmission(Outcome.UNKNOWN, True, None, "no answer in time")


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4])
async def test_silence_before_the_mail_is_a_refusal_in_bounded_time(steps):
    """In every phase of the conversation (N7)."""

    async def say_so_much(reader, writer):
        for answer in (b"220 r", b"250 r", b"250 ok", b"250 ok")[:steps]:
            writer.write(answer + b"\r\n")
            await reader.readuntil(b"\r\n")
        await reader.read()

    limits = SmtpClientLimits(connect_timeout_s=0.1, command_timeout_s=0.1, quit_timeout_s=0.1)
    async with (
        listening(say_so_much) as server,
        mail_sender(port_of(server), limits=limits) as transport,
    ):
        transmission = await transport.send(letter(BODY))
    assert transmission == Transmission(Outcome.REFUSED, False, None, "no answer in time")


async def begin_data(reader, writer):
    for answer in (b"220 r", b"250 r", b"250 ok", b"250 ok"):
        writer.write(answer + b"\r\n")
        await reader.readuntil(b"\r\n")
    writer.write(b"354 go\r\n")
    await reader.readuntil(b"\r\n\r\n")


LARGE = PiecedBody(*[(b"x" * 76 + b"\r\n") * 3000] * 40)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (b"552 5.3.4 TooMuch\r\n", Transmission(Outcome.REFUSED, True, 552, "TooMuch")),
        (
            b"250 fine\r\n",
            Transmission(Outcome.UNKNOWN, True, None, "malformed answer: '250 fine'"),
        ),
        (b"", Transmission(Outcome.REFUSED, True, None, "connection lost")),
    ],
)
async def test_an_answer_in_the_middle_of_a_mail_ends_it(word, expected):
    """No byte is written for nothing, and half a mail that got a yes is no certainty."""

    async def interrupt(reader, writer):
        await begin_data(reader, writer)
        writer.write(word)
        await writer.drain()
        if word:
            await reader.read()

    async with listening(interrupt) as server, mail_sender(port_of(server)) as transport:
        transmission = await transport.send(letter(LARGE))
    assert changed(transmission, detail="") == changed(expected, detail="")
    assert transmission.detail.startswith(expected.detail)


async def test_a_relay_that_stops_reading_is_given_up():
    """N11: no progress for so long, in the middle of a mail: surely not taken."""
    stuck = asyncio.Event()

    async def stop_reading(reader, writer):
        await begin_data(reader, writer)
        await stuck.wait()

    async with (
        listening(stop_reading) as server,
        mail_sender(port_of(server), limits=QUICK) as transport,
    ):
        transmission = await transport.send(letter(LARGE))
        stuck.set()
    assert transmission == Transmission(Outcome.REFUSED, True, None, "no progress while sending")


async def test_a_conversation_ends_in_bounded_time_altogether():
    """However the relay keeps it alive."""
    limits = SmtpClientLimits(total_s=0.1, rate_min=1_000_000)

    async def dawdle(reader, writer):
        writer.write(b"220-r\r\n")
        await reader.read()

    async with (
        listening(dawdle) as server,
        mail_sender(port_of(server), limits=limits) as transport,
    ):
        transmission = await transport.send(letter(BODY))
    assert transmission == Transmission(Outcome.REFUSED, False, None, "took too long altogether")


async def test_the_size_is_announced_where_the_relay_wants_it():
    """RFC 1870: header block and body, so that a refusal costs no transfer."""
    ehlo = [b"250-relay\r\n250 SIZE 1000000"]
    async with relay(EHLO=ehlo) as (port, peer), mail_sender(port) as transport:
        await transport.send(letter(BODY))
    announced = int(peer.commands[1].partition("SIZE=")[2])
    assert announced == len(peer.mails[0]) - len(b".\r\n")


async def test_more_than_the_relay_takes_is_refused_before_it_is_sent():
    """552 in answer to MAIL."""
    replies = {"EHLO": [b"250-relay\r\n250 SIZE 10"], "MAIL": [b"552 5.3.4 TooMuch"]}
    async with relay(**replies) as (port, peer), mail_sender(port) as transport:
        transmission = await transport.send(letter(BODY))
    assert transmission == Transmission(Outcome.REFUSED, False, 552, "TooMuch")
    assert peer.mails == []


@pytest.mark.statement("S0-72")
@pytest.mark.parametrize(
    "replies",
    [
        {"RCPT": [b"450 4.2.0 greylisted", b"450 4.2.0 greylisted", b"250 ok"]},
        {"greeting": [b"421 busy", b"220 r"]},
        {"MAIL": [None, b"250 ok"]},
    ],
)
async def test_what_passes_is_overcome_before_anybody_is_told(replies):
    """Greylisting, a busy relay, a lost connection: one `send`, accepted in the end."""
    pauses = Pauses()
    async with (
        relay(**replies) as (port, peer),
        mail_sender(port, waits_s=(1, 10), pause=pauses) as transport,
    ):
        transmission = await transport.send(letter(BODY))
    assert transmission == Transmission(Outcome.ACCEPTED, True, 250, "")
    assert pauses.waited_s == [1, 10][: peer.conversations - 1]
    assert peer.conversations > 1


@pytest.mark.statement("S0-72")
async def test_a_refused_connection_is_tried_again():
    """A relay that comes back between two tries takes the mail."""
    script = ScriptedRelay()
    async with listening(script) as server:
        port = port_of(server)
    async with AsyncExitStack() as later:

        async def come_back(_wait_s):
            listener = socket.create_server(("127.0.0.1", port))
            await later.enter_async_context(listening(script, listener))

        async with mail_sender(port, waits_s=(1,), pause=come_back) as transport:
            transmission = await transport.send(letter(BODY))
    assert transmission.outcome is Outcome.ACCEPTED


@pytest.mark.statement("S0-73", "S0-75")
async def test_what_does_not_pass_is_a_refusal_after_so_many_tries():
    """Bounded; then the sending machine has its turn."""
    pauses = Pauses()
    async with (
        relay(RCPT=[b"450 greylisted"]) as (port, peer),
        mail_sender(port, waits_s=(1, 10, 60), pause=pauses) as transport,
    ):
        transmission = await transport.send(letter(BODY))
    assert transmission == Transmission(Outcome.REFUSED, False, 450, "greylisted")
    assert pauses.waited_s == [1, 10, 60]
    assert peer.conversations == 4


async def test_bytes_that_left_in_any_try_have_left():
    """R-08: a certain failure is only one of which no byte left in any of them."""
    conversations = iter((interrupt_once, refuse_at_once))

    async def meet(reader, writer):
        await next(conversations)(reader, writer)

    async with (
        listening(meet) as server,
        mail_sender(port_of(server), waits_s=(1,), pause=Pauses()) as transport,
    ):
        transmission = await transport.send(letter(LARGE))
    assert transmission == Transmission(Outcome.REFUSED, True, 554, "no")


async def interrupt_once(reader, writer):
    await begin_data(reader, writer)
    writer.write(b"451 busy\r\n")
    await writer.drain()
    await reader.read()


async def refuse_at_once(reader, writer):
    writer.write(b"554 no\r\n")
    await reader.read()


@pytest.mark.statement(ruling="R-38")
@pytest.mark.parametrize("end", [None, b"554 no", b"451 4.3.0 StoreFull", b"451 InternalError"])
async def test_what_left_whole_is_not_tried_again(end):
    """A second mail where the first left with its dot is the sending machine's to decide."""
    pauses = Pauses()
    async with (
        relay(end=[end]) as (port, peer),
        mail_sender(port, waits_s=(1,), pause=pauses) as transport,
    ):
        await transport.send(letter(BODY))
    assert (peer.conversations, len(peer.mails), pauses.waited_s) == (1, 1, [])


async def test_closing_ends_the_waits():
    """What waits for a greylisting to pass is refused at once."""
    waiting = asyncio.Event()

    async def for_ever(_wait_s):
        waiting.set()
        await asyncio.Event().wait()

    async with (
        relay(RCPT=[b"450 greylisted"]) as (port, _),
        mail_sender(port, waits_s=(1,), pause=for_ever) as transport,
        asyncio.timeout(PATIENCE_S),
    ):
        sending = asyncio.create_task(transport.send(letter(BODY)))
        await waiting.wait()
        await transport.close()
        assert changed(await sending, detail="") == Transmission(Outcome.REFUSED, False, 450)


async def test_closing_cuts_what_is_under_way():
    """Of a mail that was whole the outcome is unknown."""
    whole = asyncio.Event()

    async def take_and_wait(reader, writer):
        await begin_data(reader, writer)
        await reader.readuntil(b".\r\n")
        whole.set()
        await reader.read()

    async with (
        listening(take_and_wait) as server,
        mail_sender(port_of(server)) as transport,
        asyncio.timeout(PATIENCE_S),
    ):
        sending = asyncio.create_task(transport.send(letter(BODY)))
        await whole.wait()
        await transport.close()
        assert (await sending) == Transmission(Outcome.UNKNOWN, True, None, "connection lost")


async def test_no_more_conversations_than_allowed():
    """The others wait; beyond a bound they are refused at once."""
    opened, begun = asyncio.Event(), []

    async def one_at_a_time(reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        begun.append(RawClient(reader, writer))
        await opened.wait()
        await ScriptedRelay()(reader, writer)

    limits = SmtpClientLimits(conversations_max=1, waiters_max=1, quit_timeout_s=0.5)
    async with (
        listening(one_at_a_time) as server,
        mail_sender(port_of(server), limits=limits) as transport,
        asyncio.timeout(PATIENCE_S),
    ):
        sends = [asyncio.create_task(transport.send(letter(BODY))) for _ in range(3)]
        refused, _ = await asyncio.wait(sends, return_when=asyncio.FIRST_COMPLETED)
        assert refused.pop().result().detail == "too many mails wait for the relay"
        assert len(begun) <= 1
        opened.set()
        outcomes = sorted([(await send).outcome for send in sends])
    assert outcomes == [Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.REFUSED]


async def test_a_doubled_delivery_is_two_calls_with_the_same_bytes():
    """A relay that crashes between its 250 and its note of it delivers twice; the gateway sees
    both, byte for byte equal, and knows the second by its MessageId."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, mail_sender(server.port) as transport:
        outgoing = Outgoing(ENDPOINT, MIXED, BODY, "m-1")
        await transport.send(outgoing)
        await transport.send(outgoing)
    assert inbox.bodies[0] == inbox.bodies[1]
    assert inbox.requests[0].content_type == inbox.requests[1].content_type
