"""One conversation with the relay: connect, TLS, AUTH, one mail transaction, and its outcome.

Before the final dot is sent the peer takes nothing, so a conversation that ends before is a
refusal. After it only a complete answer says more than unknown (R-05), and there is no second
conversation from here, since the mail left whole (R-38). Errors of aiosmtplib are translated here
and nowhere else.
"""

import asyncio
import ssl
from contextlib import suppress
from typing import cast

import aiosmtplib

from onceonly.message.word import Word
from onceonly.transport.http.outcome import PROVES_NOTHING
from onceonly.transport.mail.address import MailRelay
from onceonly.transport.mail.limits import SmtpClientLimits
from onceonly.transport.mail.reply import read_detail
from onceonly.transport.mail.text import MailText
from onceonly.transport.outgoing_body import check_size
from onceonly.transport.tls_words import tls_words
from onceonly.transport.transport import Body, Outcome, Transmission


class OutgoingMail(Word):
    """One mail on its way out. Addresses and head are clean."""

    sender: str
    recipient: str
    head: bytes
    body: Body
    is_tls_required: bool

    @property
    def size_bytes(self) -> int:
        """For the SIZE extension (RFC 1870): doubled dots and the final one don't count."""
        return len(self.head) + self.body.size_bytes


class SmtpAccess(Word):
    """How we log in to the relay."""

    relay: MailRelay
    tls: ssl.SSLContext | None
    """For STARTTLS if it is offered, and for implicit TLS; None: without TLS."""
    is_tls_required: bool
    user: str | None
    password: str | None


class Attempt(Word):
    """How a conversation ended."""

    transmission: Transmission
    may_pass: bool
    """Whether the mail certainly did not leave whole and another conversation may succeed."""


class _Refused(Exception):  # noqa: N818 - because it names what happened to the mail
    """The conversation failed; `_judge` decides by how far the mail got."""

    def __init__(self, detail: str, *, code: int | None = None, may_pass: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code
        self.may_pass = may_pass


class Conversation:
    """Carries one letter; not to be used again."""

    def __init__(self, access: SmtpAccess, limits: SmtpClientLimits, *, host_name: str) -> None:
        self._access = access
        self._limits = limits
        relay = access.relay
        self._client = aiosmtplib.SMTP(
            hostname=relay.host,
            port=relay.port,
            use_tls=relay.is_tls,
            start_tls=False,
            tls_context=access.tls,
            local_hostname=host_name,
            timeout=limits.command_timeout_s,
        )
        self._bytes_left = False
        self._is_dot_written = False
        self._reading: asyncio.Task[aiosmtplib.SMTPResponse] | None = None

    async def carry(self, letter: OutgoingMail) -> Attempt:
        """Hand the letter to the relay; errors of the body's own files are raised."""
        most_s = self._limits.total_s + letter.size_bytes / self._limits.rate_min
        try:
            async with asyncio.timeout(most_s):
                await self._open(letter)
                await self._address(letter)
                response = await self._transfer(letter)
        except TimeoutError:
            return self._judge(_Refused("took too long altogether", may_pass=True))
        except _Refused as error:
            return self._judge(error)
        finally:
            await self._end()
        if 200 <= response.code < 300:
            transmission = Transmission(
                Outcome.ACCEPTED, bytes_left=True, status_code=response.code
            )
            return Attempt(transmission, may_pass=False)
        return self._judge(_of_reply(response.code, response.message))

    def abort(self) -> None:
        """Break it off; the outcome depends on what the relay has by then."""
        if self._client.transport is not None:
            cast("asyncio.Transport", self._client.transport).abort()

    async def _open(self, letter: OutgoingMail) -> None:
        try:
            await self._client.connect(timeout=self._limits.connect_timeout_s)
            await self._client.ehlo()
            await self._encrypt(letter)
            await self._log_in()
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _translate(error) from error

    async def _encrypt(self, letter: OutgoingMail) -> None:
        """Attack M5: if TLS is required, nothing is sent without it."""
        access = self._access
        if access.relay.is_tls:
            return
        if access.tls is not None and self._client.supports_extension("starttls"):
            await self._client.starttls()
            await self._client.ehlo()
        elif access.is_tls_required or letter.is_tls_required:
            raise _Refused("TlsRequired: the relay has no STARTTLS")

    async def _log_in(self) -> None:
        """Attack M6: a password is sent under TLS or not at all."""
        user, password = self._access.user, self._access.password
        if user is None or password is None:
            return
        if self._client.get_transport_info("sslcontext") is None:
            raise _Refused("TlsRequired: no password without TLS")
        await self._client.login(user, password)

    async def _address(self, letter: OutgoingMail) -> None:
        options = []
        if self._client.supports_extension("size"):
            options.append(f"SIZE={letter.size_bytes}")
        try:
            await self._client.mail(letter.sender, options=options)
            await self._client.rcpt(letter.recipient)
            response = await self._client.execute_command(b"DATA")
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _translate(error) from error
        if response.code != 354:
            raise _of_reply(response.code, response.message)

    async def _transfer(self, letter: OutgoingMail) -> aiosmtplib.SMTPResponse:
        """Write the mail while listening, since a relay may say no before its end."""
        protocol, transport = self._client.protocol, self._client.transport
        if protocol is None or transport is None:
            raise _Refused("connection lost", may_pass=True)
        self._reading = asyncio.create_task(protocol.read_response())
        await asyncio.sleep(0)  # The task must listen first, or it drops answers.
        writing = cast("asyncio.WriteTransport", transport)
        self._writer = asyncio.StreamWriter(writing, protocol, None, asyncio.get_running_loop())
        text = MailText()
        await self._write(letter.head)
        size_bytes = 0
        async for chunk in letter.body.chunks():
            size_bytes += len(chunk)
            await self._write(text.feed(chunk))
        check_size(letter.body, size_bytes)
        last = text.finish()
        self._is_dot_written = not self._reading.done()
        await self._write(last)
        return await self._read_answer(self._reading)

    async def _write(self, data: bytes) -> None:
        assert self._reading is not None, "reading begins before writing"
        if self._reading.done():
            raise await self._early(self._reading)
        if not data:
            return
        self._bytes_left = True
        try:
            async with asyncio.timeout(self._limits.write_timeout_s):
                self._writer.write(data)
                await self._writer.drain()
        except TimeoutError as error:
            raise _Refused("no progress while sending", may_pass=True) from error
        except OSError as error:
            raise await self._early(self._reading) from error

    async def _early(self, reading: asyncio.Task[aiosmtplib.SMTPResponse]) -> _Refused:
        """What the relay said before the mail was whole. A yes to half a mail does not count."""
        response = await self._read_answer(reading)
        self._is_dot_written = self._is_dot_written or 200 <= response.code < 300
        return _of_reply(response.code, response.message)

    async def _read_answer(
        self, reading: asyncio.Task[aiosmtplib.SMTPResponse]
    ) -> aiosmtplib.SMTPResponse:
        try:
            async with asyncio.timeout(self._limits.answer_timeout_s):
                return await reading
        except TimeoutError as error:
            raise _Refused("no answer in time", may_pass=True) from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _translate(error) from error

    def _judge(self, refused: _Refused) -> Attempt:
        proves_nothing = refused.code is None or refused.detail in PROVES_NOTHING
        if self._is_dot_written and proves_nothing:
            transmission = Transmission(
                Outcome.UNKNOWN, bytes_left=True, status_code=refused.code, detail=refused.detail
            )
            return Attempt(transmission, may_pass=False)
        transmission = Transmission(
            Outcome.REFUSED,
            bytes_left=self._bytes_left,
            status_code=refused.code,
            detail=refused.detail,
        )
        return Attempt(transmission, refused.may_pass and not self._is_dot_written)

    async def _end(self) -> None:
        """QUIT if the conversation ended well; otherwise cut, so that no half mail is taken."""
        is_answered = self._reading is None or (
            self._is_dot_written and self._reading.done() and not self._reading.cancelled()
        )
        if is_answered and self._client.is_connected:
            with suppress(aiosmtplib.SMTPException, OSError):
                await self._client.quit(timeout=self._limits.quit_timeout_s)
        if self._reading is not None and not self._reading.done():
            self._reading.cancel()
        self.abort()
        self._client.close()


def _of_reply(code: int, text: str) -> _Refused:
    if 400 <= code < 600:
        return _Refused(read_detail(text), code=code, may_pass=code < 500)
    said = read_detail(text.removeprefix("Malformed SMTP response line: ").strip())
    # aiosmtplib uses -1 for a reply without a code.
    seen = said if code < 0 else f"{code} {said}"
    return _Refused(f"malformed answer: {seen!r}; expected is a reply of SMTP that ends this step")


def _translate(error: aiosmtplib.SMTPException | OSError) -> _Refused:
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return _of_reply(error.code, error.message)
    cause = error.__cause__ or error
    if isinstance(cause, ssl.SSLError):
        return _Refused(tls_words(cause))
    if isinstance(error, OSError):
        return _Refused(_what_broke(error, cause), may_pass=True)
    return _Refused(read_detail(str(error)))


def _what_broke(error: OSError, cause: BaseException) -> str:
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    lost = aiosmtplib.SMTPServerDisconnected | ConnectionResetError
    is_lost = isinstance(error, lost) or isinstance(cause, lost)
    return "connection lost" if is_lost else "no connection"
