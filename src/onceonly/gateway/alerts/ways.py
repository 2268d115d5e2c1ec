"""The ways out: a post, a program and a mail. Each says why it failed, and raises nothing.

A way may hang; it never holds up the gateway, and ends after its time.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import smtplib
import ssl
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Protocol

from onceonly.api.alerts import AlertBody
from onceonly.gateway.api.answers import ascii_json
from onceonly.gateway.config import AlertWay
from onceonly.gateway.config.transports import Smtp, StartTls
from onceonly.gateway.webhooks.posting import Poster
from onceonly.gateway.webhooks.signing import signed_headers
from onceonly.message.identity import printable
from onceonly.message.instant import to_datetime
from onceonly.transport.mail.address import read_relay

REASON_LENGTH_MAX = 200


class Way(Protocol):
    """Tells somebody."""

    async def tell(self, body: AlertBody, at: int) -> str | None:
        """One attempt at the instant `at`; why it failed, or None."""
        ...

    async def close(self) -> None:
        """Close what is kept open between two attempts."""
        ...


class PostWay:
    """Posts to a webhook. Raises `OSError` for certificates that cannot be used."""

    def __init__(self, wanted: AlertWay) -> None:
        assert wanted.url is not None, "the configuration gives it one"
        self._keys = wanted.secrets
        self._poster = Poster(wanted.url, trusted=wanted.trusted, timeout_s=wanted.timeout_s)

    async def tell(self, body: AlertBody, at: int) -> str | None:
        """Each attempt has an id of its own."""
        text = ascii_json(body)
        headers = signed_headers(f"alr_{secrets.token_hex(16)}", text, self._keys, at=at)
        return (await self._poster.post(text, headers)).reason

    async def close(self) -> None:
        """Close the connections that are kept open."""
        await self._poster.close()


class CommandWay:
    """Starts a program; what it prints is thrown away."""

    def __init__(self, wanted: AlertWay) -> None:
        assert wanted.command is not None, "the configuration gives it one"
        self._command = wanted.command
        self._timeout_s = wanted.timeout_s

    async def tell(self, body: AlertBody, at: int) -> str | None:
        """In a session of its own, so that what it started is killed with it."""
        del at
        try:
            # A file and no pipe: whether the command reads it, and when it ends, is all the same.
            with os.fdopen(os.memfd_create("alert"), "w+b") as told:
                told.write(ascii_json(body))
                told.seek(0)
                program = await asyncio.create_subprocess_exec(
                    *self._command,
                    stdin=told,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    start_new_session=True,
                )
        except OSError as error:
            return printable(f"it cannot be started: {error}", REASON_LENGTH_MAX)
        try:
            async with asyncio.timeout(self._timeout_s):
                await program.wait()
        except TimeoutError:
            return f"it did not end within {self._timeout_s} s, and was killed"
        finally:
            if program.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(program.pid, signal.SIGKILL)
                await program.wait()
        code = program.returncode
        return None if code == 0 else f"it ended with exit code {code}"

    async def close(self) -> None:
        """Nothing is kept open."""


def way_of(wanted: AlertWay, smtp: Smtp | None) -> Way:
    """The way of the configuration. Raises `OSError` for certificates that cannot be used."""
    if wanted.url is not None:
        return PostWay(wanted)
    if wanted.command is not None:
        return CommandWay(wanted)
    assert smtp is not None, "the configuration has required it"
    return MailWay(wanted, smtp)


class MailWay:
    """Mails by way of the relay of `[smtp]`. Raises `OSError` for certificates."""

    def __init__(self, wanted: AlertWay, smtp: Smtp) -> None:
        assert wanted.mail is not None, "the configuration gives it one"
        assert smtp.relay is not None, "the configuration has required it"
        assert smtp.mailbox is not None, "the configuration has required it"
        self._to = wanted.mail
        self._from = smtp.mailbox
        self._smtp = smtp
        self._relay = read_relay(smtp.relay)
        self._timeout_s = wanted.timeout_s
        self._tls = ssl.create_default_context(cafile=wanted.trusted)

    async def tell(self, body: AlertBody, at: int) -> str | None:
        """In a thread, each of whose waits ends after the time of the way."""
        mail = mail_of(body, at, sender=self._from, recipient=self._to)
        try:
            await asyncio.to_thread(self._send, mail)
        except (OSError, smtplib.SMTPException) as error:
            return printable(f"{type(error).__name__}: {error}", REASON_LENGTH_MAX)
        return None

    async def close(self) -> None:
        """Nothing is kept open."""

    def _send(self, mail: EmailMessage) -> None:
        host, port, timeout_s = self._relay.host, self._relay.port, self._timeout_s
        relay = (
            smtplib.SMTP_SSL(host, port, timeout=timeout_s, context=self._tls)
            if self._relay.is_tls
            else smtplib.SMTP(host, port, timeout=timeout_s)
        )
        with relay:
            relay.ehlo()
            is_offered = relay.has_extn("starttls") and not self._relay.is_tls
            is_secure = self._relay.is_tls
            if self._smtp.starttls is not StartTls.NEVER and is_offered:
                relay.starttls(context=self._tls)
                is_secure = True
            if self._smtp.starttls is StartTls.REQUIRE and not is_secure:
                raise smtplib.SMTPException("the relay offers no TLS")
            if self._smtp.user is not None and self._smtp.password is not None and is_secure:
                relay.login(self._smtp.user, self._smtp.password)
            relay.send_message(mail)


def mail_of(body: AlertBody, at: int, *, sender: str, recipient: str) -> EmailMessage:
    """What is mailed: the worst in the subject, and every alert in three lines.

    It is marked as automatic, so that no program answers it (RFC 3834).
    """
    mail = EmailMessage()
    begun = sum(one.state != "ended" for one in body.alerts)
    first = body.alerts[0]
    more = f" and {len(body.alerts) - 1} more" if len(body.alerts) > 1 else ""
    state = "TROUBLE" if begun else "OVER"
    about = printable(f"{first.rule} {first.subject}".strip(), REASON_LENGTH_MAX)
    mail["Subject"] = f"onceonly {state}: {about}{more}"
    mail["From"], mail["To"] = sender, recipient
    mail["Date"] = format_datetime(to_datetime(at))
    mail["Message-ID"] = f"<{secrets.token_hex(16)}@{sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    lines = [f"Gateway {body.gateway}, {body.at}", ""]
    for one in body.alerts:
        lines += [
            f"{one.state.upper()} {one.level} {one.rule} {one.subject}".rstrip(),
            f"  seen: {one.seen}",
            f"  expected: {one.expected}; the move is {one.move}; since {one.since}",
            f"  mute it: onceonly alert mute {one.rule} --for 2h --reason WHY",
            "",
        ]
    mail.set_content("\n".join(printable(line, 1_000) for line in lines))
    return mail
