"""The SMTP sender: `Transport` for smtp and smtps endpoints, by way of a relay.

An endpoint is a mailbox, `smtp:msh@partner.example`; our own mail relay finds the way there.
One mail transaction carries one package (S0-70). Failures that a mail system usually overcomes,
such as a relay that restarts or a partner with greylisting, are overcome in `send`, by a limited
number of tries; the sending machine does not see them (seed 000 §2.5.4, S0-72). The caller makes
sure that the body is mail text already.
"""

import asyncio
import secrets
import ssl
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.transport.mail.address import is_mailbox, read_endpoint, read_relay
from onceonly.transport.mail.conversation import Attempt, Conversation, OutgoingMail, SmtpAccess
from onceonly.transport.mail.head import render_head
from onceonly.transport.mail.limits import WAITS_S, SmtpClientLimits
from onceonly.transport.transport import Outcome, Outgoing, Transmission

DEFAULT = SmtpClientLimits()

_CLOSED = Transmission(Outcome.REFUSED, bytes_left=False, detail="transport closed")


def _now() -> datetime:
    return datetime.now(UTC)


class SmtpTransport:
    """Mails packages within the bounds of `limits`.

    `relay` is `smtp://HOST[:PORT]` or `smtps://HOST[:PORT]`, `mailbox` our address. `tls`
    has the trust anchors for the relay: with it, TLS is used where the relay offers it, and
    `is_tls_required` refuses a relay that does not. `user` and `password` are sent under TLS only.
    `pause` waits between tries. Raises `LocalError` (UnusableAddress).
    """

    schemes = frozenset({"smtp", "smtps"})

    def __init__(  # noqa: PLR0913 - because this is what a relay may want to know
        self,
        relay: str,
        mailbox: str,
        *,
        tls: ssl.SSLContext | None = None,
        is_tls_required: bool = False,
        user: str | None = None,
        password: str | None = None,
        limits: SmtpClientLimits = DEFAULT,
        waits_s: Sequence[float] = WAITS_S,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], datetime] = _now,
    ) -> None:
        if not is_mailbox(mailbox):
            raise LocalError("UnusableAddress", f"{mailbox!r} is no MAILBOX@DOMAIN")
        self._access = SmtpAccess(read_relay(relay), tls, is_tls_required, user, password)
        if tls is None and (is_tls_required or self._access.relay.is_tls):
            raise LocalError("UnusableAddress", f"{relay!r} cannot be reached without TLS")
        self._mailbox = mailbox
        self._limits = limits
        self._waits_s = tuple(waits_s)
        self._pause = pause
        self._now = now
        self._free = asyncio.Semaphore(limits.conversations_max)
        self._waiting_count = 0
        self._closing = asyncio.Event()
        self._conversations: set[Conversation] = set()

    def check(self, outgoing: Outgoing) -> None:
        """See `Transport.check`."""
        self._letter(outgoing)

    async def send(self, outgoing: Outgoing) -> Transmission:
        """Transmit once, see `Transport.send`.

        Tries again only if the mail certainly did not leave whole (R-38): no connection, or a 4xx
        or a lost connection before the final dot. Raises `LocalError` for an endpoint that is no
        mailbox or a body that is no mail text, and errors of the body's files.
        """
        letter = self._letter(outgoing)
        bytes_left = False
        for wait_s in (*self._waits_s, None):
            attempt = await self._attempt(letter)
            _heed_cancellation()
            bytes_left = bytes_left or attempt.transmission.bytes_left
            if wait_s is None or not attempt.may_pass or not await self._wait(wait_s):
                break
        return changed(attempt.transmission, bytes_left=bytes_left)

    def renew(self, *, tls: ssl.SSLContext | None, user: str | None, password: str | None) -> None:
        """Begin conversations with these from now on; the relay and its need of TLS stay."""
        self._access = changed(self._access, tls=tls, user=user, password=password)

    async def close(self) -> None:
        """Break off every conversation; a mail that was whole already has an unknown outcome."""
        self._closing.set()
        for conversation in tuple(self._conversations):
            conversation.abort()

    def _letter(self, outgoing: Outgoing) -> OutgoingMail:
        recipient, is_tls_required = read_endpoint(outgoing.endpoint)
        head = render_head(
            sender=self._mailbox,
            recipient=recipient,
            content_type=outgoing.content_type,
            message_id=outgoing.message_id,
            mail_name=outgoing.mail_name or secrets.token_hex(16),
            date=self._now(),
            headers=outgoing.headers,
        )
        return OutgoingMail(self._mailbox, recipient, head, outgoing.body, is_tls_required)

    async def _attempt(self, letter: OutgoingMail) -> Attempt:
        if self._waiting_count >= self._limits.waiters_max:
            text = "too many mails wait for the relay"
            refused = Transmission(Outcome.REFUSED, bytes_left=False, detail=text)
            return Attempt(refused, may_pass=False)
        self._waiting_count += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting_count -= 1
        try:
            return await self._converse(letter)
        finally:
            self._free.release()

    async def _converse(self, letter: OutgoingMail) -> Attempt:
        if self._closing.is_set():
            return Attempt(_CLOSED, may_pass=False)
        host_name = self._mailbox.rpartition("@")[2]
        conversation = Conversation(self._access, self._limits, host_name=host_name)
        self._conversations.add(conversation)
        try:
            return await conversation.carry(letter)
        finally:
            self._conversations.discard(conversation)

    async def _wait(self, wait_s: float) -> bool:
        """False if the transport was closed meanwhile."""
        pause = asyncio.ensure_future(self._pause(wait_s))
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait((pause, closing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            pause.cancel()
            closing.cancel()
        return not self._closing.is_set()


def _heed_cancellation() -> None:
    """Up to Python 3.11 `asyncio.wait_for` loses a cancellation that comes with a result."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
