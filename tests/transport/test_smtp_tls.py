"""Mail under TLS: what is never said in clear, and what somebody in between cannot add."""

import asyncio
import base64
import shutil
import ssl

import pytest
from http_peers import PATIENCE_S, Inbox, WholeBody, listening, port_of
from smtp_peers import MAILBOX, Speaker, letter, mail, mail_endpoint, mail_sender, relay, speaking
from smtp_tls import make_certificate, serving, trusting

from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.transport.mail.client import SmtpTransport
from onceonly.transport.mail.limits import SmtpLimits
from onceonly.transport.mail.server import Credentials, Door
from onceonly.transport.transport import Outcome, Transmission

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not shutil.which("openssl"), reason="makes its certificate with openssl"),
]

BODY = WholeBody(b"a message\r\n")
WHO = Credentials("relay", "s3cret")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def door(certificate):
    return Door(MAILBOX, tls=serving(certificate), is_tls_required=True)


async def under_tls(client: Speaker, certificate) -> Speaker:
    """STARTTLS, on the raw connection."""
    assert (await client.ask(b"STARTTLS")).startswith("220")
    return await handshake(client, certificate)


async def handshake(client: Speaker, certificate) -> Speaker:
    async with asyncio.timeout(PATIENCE_S):
        await client.writer.start_tls(trusting(certificate), server_hostname="127.0.0.1")
    return client


async def test_a_mail_goes_under_starttls(certificate, door):
    """Sender and endpoint of ours agree on TLS, and the mail arrives."""
    inbox = Inbox()
    async with (
        mail_endpoint(inbox, door=door) as server,
        mail_sender(server.port, tls=trusting(certificate), is_tls_required=True) as transport,
    ):
        assert await transport.send(letter(BODY)) == Transmission(Outcome.ACCEPTED, True, 250, "")
    assert inbox.bodies == [b"a message\r\n"]


async def test_mail_before_starttls_is_refused_where_tls_is_required(door):
    """Nothing is taken in clear."""
    async with mail_endpoint(Inbox(), door=door) as server, speaking(server.port) as client:
        assert "STARTTLS" in await client.greet()
        assert (await client.ask(b"MAIL FROM:<a@b.example>")).startswith("530")


async def test_commands_behind_starttls_are_discarded_with_the_connection(door):
    """M4: what somebody put behind STARTTLS in clear is never taken as said under TLS."""
    inbox = Inbox()
    async with mail_endpoint(inbox, door=door) as server, speaking(server.port) as client:
        await client.greet()
        await client.say(b"STARTTLS\r\nMAIL FROM:<a@b.example>\r\n")
        assert await client.hear_all() == b"554 5.6.0 CommandBehindStartTls\r\n"


async def test_a_mail_behind_starttls_is_never_taken(door):
    """M4: nor is a whole mail in the packet of STARTTLS, where TLS is offered and not required."""
    inbox = Inbox()
    door = changed(door, is_tls_required=False)
    whole = b"MAIL FROM:<a@b.example>\r\nRCPT TO:<" + MAILBOX.encode() + b">\r\nDATA\r\n" + mail()
    async with mail_endpoint(inbox, door=door) as server, speaking(server.port) as client:
        await client.greet()
        await client.say(b"STARTTLS\r\n" + whole)
        assert await client.hear_all() == b"554 5.6.0 CommandBehindStartTls\r\n"
    assert inbox.requests == []


async def test_the_conversation_begins_again_under_tls(certificate, door):
    """RFC 3207 §4.2: what was said in clear is forgotten."""
    async with mail_endpoint(Inbox(), door=door) as server, speaking(server.port) as client:
        await client.greet()
        await under_tls(client, certificate)
        assert (await client.ask(b"MAIL FROM:<a@b.example>")).startswith("503")
        assert "STARTTLS" not in await client.ask(b"EHLO client.example")
        assert (await client.ask(b"STARTTLS")).startswith("503")


async def test_auth_before_tls_is_refused(certificate, door):
    """M6: no password in clear, and AUTH is not even offered."""
    door = changed(door, credentials=WHO, is_tls_required=False)
    async with mail_endpoint(Inbox(), door=door) as server, speaking(server.port) as client:
        assert "AUTH" not in await client.greet()
        assert (await client.ask(b"AUTH PLAIN AHJlbGF5AHMzY3JldA==")).startswith("538")
        assert (await client.ask(b"MAIL FROM:<a@b.example>")).startswith("530")


async def test_mail_needs_the_password_where_there_is_one(certificate, door):
    """M11: without it nobody brings an acknowledgement, whatever From it claims."""
    inbox = Inbox()
    door = changed(door, credentials=WHO)
    async with mail_endpoint(inbox, door=door) as server, speaking(server.port) as client:
        await client.greet()
        await under_tls(client, certificate)
        assert "AUTH LOGIN PLAIN" in await client.ask(b"EHLO client.example")
        assert (await client.ask(b"MAIL FROM:<a@b.example>")).startswith("530")
        wrong = base64.b64encode(b"\0relay\0guess")
        assert (await client.ask(b"AUTH PLAIN " + wrong)).startswith("535")
        assert (await client.ask(b"auth plain AHJlbGF5AHMzY3JldA==")).startswith("235")
        assert (await client.mail(mail())).startswith("250")
    assert len(inbox.bodies) == 1


@pytest.mark.parametrize("answer", [b"*", b"!", b"x" * 5000])
async def test_an_answer_to_a_challenge_that_is_none_is_refused(certificate, door, answer):
    """Nor is it a bug of ours."""
    door = changed(door, credentials=WHO)
    async with mail_endpoint(Inbox(), door=door) as server, speaking(server.port) as client:
        await client.greet()
        await under_tls(client, certificate)
        await client.ask(b"EHLO client.example")
        assert (await client.ask(b"AUTH LOGIN")).startswith("334")
        assert (await client.ask(answer)).startswith("50")


async def test_guessing_ends_with_the_connection(certificate, door):
    """A few tries, then 421."""
    door = changed(door, credentials=WHO)
    limits = SmtpLimits(auth_tries_max=2)
    wrong = b"AUTH PLAIN " + base64.b64encode(b"\0relay\0guess")
    async with (
        mail_endpoint(Inbox(), door=door, limits=limits) as server,
        speaking(server.port) as client,
    ):
        await client.greet()
        await under_tls(client, certificate)
        await client.ask(b"EHLO client.example")
        replies = [await client.ask(wrong) for _ in range(3)]
    assert [reply[:3] for reply in replies] == ["535", "535", "421"]


async def test_our_sender_gives_its_password_under_tls(certificate, door):
    """And is let in."""
    inbox = Inbox()
    door = changed(door, credentials=WHO)
    secret = {"user": "relay", "password": "s3cret"}
    async with (
        mail_endpoint(inbox, door=door) as server,
        mail_sender(server.port, tls=trusting(certificate), **secret) as transport,
    ):
        assert (await transport.send(letter(BODY))).outcome is Outcome.ACCEPTED
    assert len(inbox.bodies) == 1


async def test_a_wrong_password_is_a_refusal_of_which_no_byte_left(certificate, door):
    """And it is not tried again: it would be wrong again."""
    door = changed(door, credentials=WHO)
    secret = {"user": "relay", "password": "guess"}
    async with (
        mail_endpoint(Inbox(), door=door) as server,
        mail_sender(server.port, tls=trusting(certificate), waits_s=(99,), **secret) as transport,
    ):
        transmission = await transport.send(letter(BODY))
    assert changed(transmission, detail="") == Transmission(Outcome.REFUSED, False, 535)


@pytest.mark.parametrize("replies", [{}, {"EHLO": [b"250-relay\r\n250 SIZE"]}])
async def test_a_relay_without_starttls_gets_no_mail_that_needs_it(certificate, replies):
    """M5: somebody who strips the offer learns nothing of the message."""
    strict = {"tls": trusting(certificate), "is_tls_required": True}
    async with relay(**replies) as (port, peer), mail_sender(port, **strict) as transport:
        transmission = await transport.send(letter(BODY))
    assert changed(transmission, detail="") == Transmission(Outcome.REFUSED, False, None)
    assert transmission.detail.startswith("TlsRequired")
    assert [command.split()[0] for command in peer.commands] == ["EHLO", "QUIT"]


async def test_an_smtps_mailbox_gets_mail_under_tls_only(certificate):
    """Whatever the relay is asked for otherwise."""
    tls = trusting(certificate)
    async with relay() as (port, peer), mail_sender(port, tls=tls) as transport:
        refused = await transport.send(letter(BODY, endpoint=f"smtps:{MAILBOX}"))
        taken = await transport.send(letter(BODY))
    assert (refused.outcome, refused.bytes_left) == (Outcome.REFUSED, False)
    assert taken.outcome is Outcome.ACCEPTED
    assert len(peer.mails) == 1


async def test_no_password_goes_to_a_relay_without_tls():
    """M6, on our side."""
    offer = [b"250-relay\r\n250 AUTH PLAIN LOGIN"]
    async with (
        relay(EHLO=offer) as (port, peer),
        mail_sender(port, user="u", password="p") as transport,
    ):
        transmission = await transport.send(letter(BODY))
    assert transmission.detail == "TlsRequired: no password without TLS"
    assert not any(command.startswith("AUTH") for command in peer.commands)


async def test_a_relay_with_a_strange_certificate_gets_nothing(door):
    """The message is not shown to a stranger, also where TLS was only offered."""
    inbox = Inbox()
    async with (
        mail_endpoint(inbox, door=changed(door, is_tls_required=False)) as server,
        mail_sender(server.port, tls=ssl.create_default_context()) as transport,
    ):
        transmission = await transport.send(letter(BODY))
    assert changed(transmission, detail="") == Transmission(Outcome.REFUSED, False, None)
    assert transmission.detail.startswith("TLS handshake failed: ")
    assert inbox.requests == []


async def test_answers_behind_the_go_ahead_for_tls_are_discarded(certificate):
    """M4, on our side: an answer that was put there in clear is not taken as said under TLS."""
    heard = []

    async def inject(reader, writer):
        writer.write(b"220 relay\r\n")
        await reader.readuntil(b"\r\n")
        writer.write(b"250-relay\r\n250 STARTTLS\r\n")
        await reader.readuntil(b"\r\n")
        writer.write(b"220 go\r\n250-relay\r\n250 X-INJECTED\r\n")
        await writer.start_tls(serving(certificate))
        heard.append(await reader.readuntil(b"\r\n"))
        writer.write(b"550 under TLS\r\n")
        await writer.drain()
        heard.append(await reader.read())

    async with (
        listening(inject) as server,
        mail_sender(port_of(server), tls=trusting(certificate)) as transport,
    ):
        transmission = await transport.send(letter(BODY))
    assert changed(transmission, detail="") == Transmission(Outcome.REFUSED, False, 550)
    assert heard[0].startswith(b"EHLO")


async def test_mail_goes_to_a_relay_that_speaks_tls_from_the_first_byte(certificate):
    """smtps: no STARTTLS, no command in clear."""
    taken = []

    async def speak(reader, writer):
        for answer in (b"220 r", b"250 r", b"250 ok", b"250 ok", b"354 go"):
            writer.write(answer + b"\r\n")
            line = await reader.readuntil(b"\r\n")
        taken.append(line + await reader.readuntil(b"\r\n.\r\n"))
        writer.write(b"250 taken\r\n")
        await reader.readuntil(b"\r\n")

    server = await asyncio.start_server(speak, "127.0.0.1", 0, ssl=serving(certificate))
    async with server:
        port = port_of(server)
        async with mail_sender(port, scheme="smtps", tls=trusting(certificate)) as transport:
            transmission = await transport.send(letter(BODY, endpoint=f"smtps:{MAILBOX}"))
    assert transmission == Transmission(Outcome.ACCEPTED, True, 250, "")
    assert taken[0].endswith(b"\r\n\r\na message\r\n.\r\n")


@pytest.mark.parametrize(
    ("uri", "arguments"),
    [
        ("smtps://relay.example", {}),
        ("smtp://relay.example", {"is_tls_required": True}),
        ("http://relay.example", {}),
        ("smtp://relay.example/path", {}),
        ("smtp://relay.example:port", {}),
        ("smtp://", {}),
    ],
)
def test_a_relay_that_cannot_be_spoken_to_is_an_error_of_ours(uri, arguments):
    """Before anything is sent."""
    with pytest.raises(LocalError, match=r"without TLS|must look like|is not a URI"):
        SmtpTransport(uri, MAILBOX, **arguments)
