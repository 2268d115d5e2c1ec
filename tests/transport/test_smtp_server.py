"""The mail endpoint against raw sockets: what is one mail, whose it is, who may bring it."""

import asyncio
import socket
from contextlib import suppress

import pytest
from http_peers import MANY, PATIENCE_S, Gate, Inbox, refuse_unread, turn
from smtp_peers import MAILBOX, MIXED, Dropped, mail, mail_endpoint, speaking

from onceonly.message.errors import LocalError
from onceonly.transport.mail.limits import SmtpLimits
from onceonly.transport.mail.server import Credentials, Door, serve_smtp
from onceonly.transport.transport import Answer

pytestmark = pytest.mark.anyio

QUICK = SmtpLimits(command_timeout_s=0.2, data_grace_s=0.2, data_rate_min=1_000_000)


@pytest.mark.statement("S0-70")
async def test_one_mail_transaction_is_one_message():
    """Two mails on one connection are two packages, each answered behind its own dot."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        assert await client.mail(mail(b"one\r\n")) == "250 2.0.0 OK\r\n"
        assert await client.mail(mail(b"two\r\n")) == "250 2.0.0 OK\r\n"
        assert (await client.ask(b"QUIT")).startswith("221")
    assert inbox.bodies == [b"one\r\n", b"two\r\n"]
    assert [request.transport for request in inbox.requests] == ["smtp", "smtp"]
    assert inbox.requests[0].content_type == MIXED
    assert inbox.requests[0].peer.startswith("127.0.0.1:")


@pytest.mark.parametrize(("value", "hops"), [("2", 2), ("two", 0)])
async def test_the_hops_of_a_mail_are_counted(value, hops):
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        await client.mail(mail(b"m\r\n", f"Onceonly-Hops: {value}"))
    assert [request.hops for request in inbox.requests] == [hops]


async def test_a_folded_content_type_is_one_value():
    """Relays fold long lines; the boundary is still found."""
    inbox = Inbox()
    kind = 'multipart/related;\r\n\ttype="text/xml";\r\n boundary="b"'
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        await client.mail(mail(kind=kind))
    assert inbox.requests[0].content_type == 'multipart/related;\ttype="text/xml"; boundary="b"'


async def test_doubled_dots_are_single_again():
    """RFC 5321 §4.5.2, with a dot alone in a line as the content has it."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        await client.mail(mail(b"..\r\n...x\r\n"))
    assert inbox.bodies == [b".\r\n..x\r\n"]


SMUGGLED = b"MAIL FROM:<a@b.example>\r\nRCPT TO:<msh@partner.example>\r\nDATA\r\nX: y\r\n\r\nsecond"


@pytest.mark.parametrize(
    "end",
    [
        b"\n.\n",
        b"\n.\r\n",
        b"\r\n.\n",
        b"\r.\r",
        b"\r.\r\n",
        b"\r\n.\r",
        b"\r\n\0.\r\n",
        b"\r\n.\0\r\n",
    ],
)
async def test_nothing_but_the_true_end_ends_a_mail(end):
    """M1: what some relays take for the end of a mail smuggles no second one, and is refused."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        reply = await client.mail(mail(b"first" + end + SMUGGLED + b"\r\n"))
        assert reply.startswith("554 5.6.0 ")
        assert (await client.ask(b"NOOP")).startswith("250")
    assert inbox.bodies == []
    assert len(inbox.requests) <= 1


async def test_a_dot_behind_an_overlong_line_is_no_end():
    """M1, M9: the rest of a line that was cut does not begin a line of its own."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        for length in range(998, 1008):
            reply = await client.mail(mail(b"x" * length + b".\r\n" + b"NOOP\r\n"))
            expected = "250 " if length <= 997 else "500 5.5.2 LineTooLong"
            assert reply.startswith(expected)
        assert (await client.ask(b"NOOP")).startswith("250")
    assert inbox.bodies == []


@pytest.mark.parametrize("length", [999, 1000, 1001, 5000, 1_000_000])
async def test_a_line_that_is_too_long_is_refused(length):
    """M9: in a mail and as a command; memory holds none of it, and the connection goes on."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        assert (await client.mail(mail(b"x" * length + b"\r\n"))).startswith("500")
        assert (await client.ask(b"NOOP " + b"x" * length)).startswith("500")
        assert (await client.mail(mail(b"x" * 998 + b"\r\n"))).startswith("250")
    assert inbox.bodies == [b"x" * 998 + b"\r\n"]


@pytest.mark.parametrize(
    ("recipient", "code"),
    [
        (b"<other@partner.example>", "550"),
        (b"<MSH@partner.example>", "550"),
        (b"<msh@elsewhere.example>", "550"),
        (b"<msh%elsewhere.example@partner.example>", "553"),
        (b"<@relay.example:msh@partner.example>", "553"),
        (b'<"msh"@partner.example>', "553"),
        (b"<msh(comment)@partner.example>", "553"),
        (b"<msh@[127.0.0.1]>", "553"),
        (b"msh@partner.example", "553"),
        (b"<msh@partner.example> <other@partner.example>", "501"),
        ("<msh@pärtner.example>".encode(), "500"),
        (b"<>", "550"),
        (b"<msh@PARTNER.example>", "250"),
    ],
)
async def test_only_our_mailbox_is_a_recipient(recipient, code):
    """M7, M12: no relay, no source route, no quoted local part; domains have no case."""
    async with mail_endpoint(Inbox()) as server, speaking(server.port) as client:
        await client.greet()
        await client.ask(b"MAIL FROM:<them@there.example>")
        assert (await client.ask(b"RCPT TO:" + recipient)).startswith(code)


async def test_whether_a_mailbox_exists_is_said_to_nobody():
    """M7: VRFY and EXPN tell nothing."""
    async with mail_endpoint(Inbox()) as server, speaking(server.port) as client:
        await client.greet()
        known = await client.ask(b"VRFY msh@partner.example")
        assert known == await client.ask(b"VRFY nobody@partner.example")
        assert known.startswith("252")
        assert (await client.ask(b"EXPN staff")).startswith("502")


@pytest.mark.parametrize(
    "last", [b"WHAT\r\n" * 5, b"AUTH x\r\n" * 4], ids=["too many bogus", "too many of a kind"]
)
async def test_nothing_is_taken_behind_a_command_that_ended_the_connection(last):
    """M4: what stands in the same packet as the last straw is thrown away with the connection."""
    inbox = Inbox()
    whole = b"MAIL FROM:<a@b.example>\r\nRCPT TO:<msh@partner.example>\r\nDATA\r\n" + mail()
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        await client.say(last + whole)
        replies = await client.hear_all()
        assert b"354" not in replies
    assert inbox.requests == []


async def test_data_needs_a_recipient():
    """Commands out of order are refused, and nothing is taken."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        assert (await client.ask(b"DATA")).startswith("503")
        await client.ask(b"MAIL FROM:<them@there.example>")
        assert (await client.ask(b"DATA")).startswith("503")
        await client.ask(b"RCPT TO:<msh@partner.example>")
        assert (await client.ask(b"DATA now")).startswith("501")
    assert inbox.requests == []


@pytest.mark.parametrize(
    ("sender", "field", "kind", "name"),
    [
        (b"", "X-Any: thing", MIXED, "Bounce"),
        (b"them@there.example", "Auto-Submitted: auto-replied (vacation)", MIXED, "AutoReply"),
        (b"them@there.example", "auto-submitted:\r\n auto-generated; x=y", MIXED, "AutoReply"),
        (b"a@b.example", "X-Any: thing", "Multipart/Report; report-type=x", "DeliveryReport"),
        (b"a@b.example", "X-Any: thing", "message/delivery-status", "DeliveryReport"),
    ],
)
async def test_automatic_mail_is_accepted_named_and_dropped(sender, field, kind, name):
    """M10: neither a package nor an acknowledgement, and no answer that could bounce again."""
    inbox, dropped = Inbox(), Dropped()
    async with mail_endpoint(inbox, dropped=dropped) as server, speaking(server.port) as client:
        await client.greet()
        reply = await client.mail(mail(b"anything\r\n" * 5_000, field, kind=kind), sender)
        assert reply == f"250 2.0.0 {name}\r\n"
    assert dropped.kinds == [name]
    assert inbox.requests == []


async def test_auto_submitted_no_is_an_ordinary_mail():
    """RFC 3834 §5: `no` says that a person, or an MSH, sent it."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        await client.mail(mail(b"m\r\n", "Auto-Submitted: no"))
    assert inbox.bodies == [b"m\r\n"]


@pytest.mark.parametrize("encoding", ["base64", "Quoted-Printable"])
async def test_the_transfer_encoding_of_a_single_document_is_told_to_the_gateway(encoding):
    """A mail without parts is encoded as a whole, and whoever reads it undoes that."""
    inbox = Inbox()
    fields = f"Content-Type: text/xml\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        assert (await client.mail(fields.encode() + b"PGEvPg==\r\n.\r\n")).startswith("250")
    assert [one.transfer_encoding for one in inbox.requests] == [encoding.lower()]
    assert inbox.bodies == [b"PGEvPg==\r\n"]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"no field at all\r\n\r\n", "MalformedHead"),
        (b" folded: from nothing\r\n\r\n", "MalformedHead"),
        (b"Content-Type: a/b\r\ncontent-type: c/d\r\n\r\n", "MalformedHead"),
        ("Content-Type: a/ü\r\n\r\n".encode(), "MalformedHead"),
        (b"Subject: never ends\r\n", "MalformedHead"),
        (b"Content-Transfer-Encoding: base64\r\n\r\n", "TransferEncodingNotSupported"),
        (  # S18
            b"Content-Type: multipart/mixed\r\nContent-Transfer-Encoding: base64\r\n\r\n",
            "TransferEncodingNotSupported",
        ),
        (
            b"Content-Type: text/xml\r\nContent-Transfer-Encoding: x-gzip\r\n\r\n",
            "TransferEncodingNotSupported",
        ),
        (b"Received: by x\r\n" * 101 + b"\r\n", "MailLoop"),
        (b"X-Long: " + b"y" * 900 + b"\r\n" + (b" " + b"z" * 900 + b"\r\n") * 80, "HeadTooLarge"),
    ],
)
async def test_a_header_block_that_is_none_is_refused(head, name):
    """Bounded, unfolded, and each field that counts at most once."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server, speaking(server.port) as client:
        await client.greet()
        assert await client.mail(head + b".\r\n") == f"554 5.6.0 {name}\r\n"
    assert inbox.requests == []


async def test_a_size_beyond_the_limit_is_refused_before_it_is_sent():
    """M8: the announced size counts."""
    async with (
        mail_endpoint(Inbox(), limits=SmtpLimits(mail_bytes_max=1000)) as server,
        speaking(server.port) as client,
    ):
        assert "SIZE 1000" in await client.greet()
        assert (await client.ask(b"MAIL FROM:<a@b.example> SIZE=1001")).startswith("552")
        assert (await client.ask(b"MAIL FROM:<a@b.example> SIZE=-1")).startswith("501")
        assert (await client.ask(b"MAIL FROM:<a@b.example> SIZE=1000")).startswith("250")


async def test_a_size_that_was_a_lie_is_refused():
    """M8: what comes counts, whatever was announced; the answer stands behind the final dot."""
    inbox = Inbox()
    async with (
        mail_endpoint(inbox, limits=SmtpLimits(mail_bytes_max=100_000)) as server,
        speaking(server.port) as client,
    ):
        await client.greet()
        reply = await client.mail(mail(b"z\r\n" * 60_000))
        assert reply == "552 5.3.4 MessageTooLarge\r\n"
        assert (await client.mail(mail(b"small\r\n"))).startswith("250")
    assert inbox.bodies == [b"small\r\n"]


async def until_hung_up(client, data):
    with suppress(ConnectionError):
        while True:
            await client.say(data)


@pytest.mark.parametrize("line", [b"x" * 76 + b"\r\n", b"no line end at all "])
async def test_a_mail_without_end_is_cut(line):
    """M8: who goes on long after the limit gets his answer and is hung up on."""
    inbox = Inbox()
    async with (
        mail_endpoint(inbox, limits=SmtpLimits(mail_bytes_max=1000)) as server,
        speaking(server.port) as client,
    ):
        await client.greet()
        await client.address()
        await client.say(b"X: y\r\n\r\n")
        async with asyncio.timeout(PATIENCE_S):
            await until_hung_up(client, line * 1000)
    assert inbox.bodies == []


async def test_a_mail_that_is_cut_off_never_arrives_whole():
    """The connection ends before the final dot: nothing may be stored."""
    inbox = Inbox()
    async with mail_endpoint(inbox) as server:
        async with speaking(server.port) as client:
            await client.greet()
            await client.address()
            await client.say(b"X: y\r\n\r\nhalf of it\r\n")
            async with asyncio.timeout(PATIENCE_S):
                await inbox.begun.wait()
        async with asyncio.timeout(PATIENCE_S):
            await inbox.ended.wait()
    assert inbox.bodies == []
    assert len(inbox.broken) == 1


async def test_a_mail_that_came_whole_is_received_although_its_sender_left():
    """The sender will bring it again; what is stored by then answers that repeat."""
    gate = Gate()
    async with mail_endpoint(gate) as server:
        async with speaking(server.port) as client:
            await client.greet()
            await client.address()
            await client.say(mail(b"whole\r\n"))
            assert await gate.arrival() == b"whole\r\n"
        gate.opened.set()
    assert gate.bodies == [b"whole\r\n"]


async def test_a_mail_slower_than_the_minimum_is_cut():
    """Slow senders hold no connection for ever."""
    inbox = Inbox()
    async with mail_endpoint(inbox, limits=QUICK) as server, speaking(server.port) as client:
        await client.greet()
        await client.address()
        await client.say(b"X: y\r\n\r\nand then nothing")
        assert await client.hear_all() == b""
    assert inbox.bodies == []


async def test_a_silent_connection_is_cut():
    """Also before the first command."""
    async with mail_endpoint(Inbox(), limits=QUICK) as server, speaking(server.port) as client:
        assert (await client.hear_all()).startswith(b"220 partner.example")


async def test_our_own_slowness_does_not_count_against_the_sender():
    """The pace is that of the sender alone; a full gateway pauses it."""
    opened = asyncio.Event()
    inbox = Inbox()

    async def receive(request, body):
        asyncio.get_running_loop().call_later(1.5, opened.set)
        await opened.wait()
        return await inbox(request, body)

    limits = SmtpLimits(data_grace_s=1.0, data_rate_min=1_000_000_000)
    body = (b"z" * 76 + b"\r\n") * 8_000
    async with mail_endpoint(receive, limits=limits) as server, speaking(server.port) as client:
        await client.greet()
        assert (await client.mail(mail(body))).startswith("250")
    assert inbox.bodies == [body]


@pytest.mark.parametrize(
    ("status_code", "reply"),
    [(200, "250 2.0.0 Name"), (204, "250 2.0.0 Name"), (400, "554 5.6.0 Name"),
     (413, "552 5.3.4 Name"), (415, "554 5.6.0 Name"), (429, "451 4.3.0 Name"),
     (500, "451 4.3.0 Name"), (503, "451 4.3.0 Name"), (507, "451 4.3.0 Name")],
)  # fmt: skip
async def test_the_gateways_answer_is_said_in_words_of_mail(status_code, reply):
    """A full store lets the sender's mail system try again; no package is final."""
    async with (
        mail_endpoint(Inbox(Answer(status_code, "Name"))) as server,
        speaking(server.port) as client,
    ):
        await client.greet()
        assert await client.mail(mail()) == f"{reply}\r\n"


async def test_an_answer_before_the_end_comes_behind_the_dot():
    """RFC 5321 §4.2.5; the rest of the mail is read over."""
    async with mail_endpoint(refuse_unread) as server, speaking(server.port) as client:
        await client.greet()
        assert (
            await client.mail(mail((b"x" * 76 + b"\r\n") * 10_000))
            == "550 5.7.1 SecurityFailure\r\n"
        )


async def test_a_server_that_stops_lets_a_mail_end():
    """A drain finishes what is under way, then says goodbye; new mails get 451 meanwhile."""
    gate = Gate()
    async with mail_endpoint(gate) as server, speaking(server.port) as busy:
        async with speaking(server.port) as idle:
            await idle.greet()
            await busy.greet()
            await busy.address()
            await busy.say(mail(b"whole\r\n"))
            await gate.arrival()
            closing = asyncio.create_task(server.close(PATIENCE_S))
            assert await idle.reply() == "421 4.3.2 Closing\r\n"
        gate.opened.set()
        assert await busy.reply() == "250 2.0.0 OK\r\n"
        assert await busy.reply() == "421 4.3.2 Closing\r\n"
        await closing


async def test_a_server_that_must_stop_cuts():
    """What is not done when the grace is over is the sender's to bring again."""
    gate = Gate()
    async with mail_endpoint(gate) as server, speaking(server.port) as client:
        await client.greet()
        await client.address()
        await client.say(mail(b"whole\r\n"))
        await gate.arrival()
        await server.close(0.01)
        assert await client.hear_all() == b""


@pytest.mark.parametrize("turns", range(8))
@pytest.mark.parametrize(  # asyncio's own server forgets such a socket without closing it
    "anyio_backend", [("asyncio", {"use_uvloop": True})], ids=["uvloop"]
)
async def test_what_is_accepted_in_the_moment_of_the_end_is_told_so(turns):
    """421 or nothing, wherever the loop stands with the connection: no conversation begins."""
    async with mail_endpoint(Inbox()) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.setblocking(False)
            await turn(turns)
            await server.close(grace_s=0)
            with suppress(BlockingIOError, ConnectionError):
                client.recv(100)
            await turn(MANY)
            with suppress(BlockingIOError, ConnectionError):
                assert client.recv(100) in (b"", b"421 4.3.2 Closing\r\n")


async def test_one_connection_too_many_is_told_so():
    """421, and the sender's mail system comes again."""
    async with (
        mail_endpoint(Inbox(), limits=SmtpLimits(connections_max=1)) as server,
        speaking(server.port) as first,
    ):
        await first.greet()
        async with speaking(server.port) as second:
            assert await second.hear_all() == b"421 4.3.2 TooManyConnections\r\n"
        assert server.connection_count == 1


@pytest.mark.parametrize(
    ("listen", "door"),
    [
        ("http://127.0.0.1:0", Door(MAILBOX)),
        ("smtp://127.0.0.1", Door(MAILBOX)),
        ("smtp://127.0.0.1:0/path", Door(MAILBOX)),
        ("smtp://127.0.0.1:0", Door("not a mailbox")),
        ("smtp://127.0.0.1:0", Door(MAILBOX, is_tls_required=True)),
        ("smtp://127.0.0.1:0", Door(MAILBOX, credentials=Credentials("u", "p"))),
    ],
)
async def test_what_cannot_be_listened_at_is_an_error_of_ours(listen, door):
    """Above all a password that would cross the network in clear (M6)."""
    with pytest.raises(LocalError, match=r"must look like|is no MAILBOX|need a certificate"):
        await serve_smtp(listen, Inbox(), door=door, drop_automatic=Dropped())
