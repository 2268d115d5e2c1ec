"""One connection of the mail endpoint: aiosmtpd's command loop under our rules.

aiosmtpd reads commands, negotiates TLS and checks credentials. We decide which addresses exist (M7,
M12), what may follow STARTTLS (M4) and every time limit, and stream the data to the gateway instead
of collecting it in memory. aiosmtpd is extended as it is meant to be: by `smtp_*` methods and a
handler with `handle_*` hooks.
"""

import asyncio
import hmac
import re
import ssl
from collections import defaultdict
from collections.abc import Callable
from typing import AnyStr, cast

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword, Session, TLSSetupException
from aiosmtpd.smtp import Envelope as MailEnvelope

from onceonly.message.word import Word
from onceonly.transport.mail import reply
from onceonly.transport.mail.address import is_path, is_same_mailbox
from onceonly.transport.mail.limits import BATCH_BYTES, COMMAND_MAX, SmtpLimits
from onceonly.transport.mail.reception import MailReception, Taker
from onceonly.transport.mail.reply import render_reply
from onceonly.transport.pace import Pace
from onceonly.transport.transport import Answer

MECHANISMS = ("LOGIN", "PLAIN")
"""Mechanisms of AUTH, under TLS only, where a challenge would add nothing (M6)."""

_REFUSALS = ("5", "421")
"""Beginnings of replies that refuse for good or end the connection."""

_NAMED = re.compile(r"\d{3} \d\.\d\.\d ([A-Za-z]{1,64})")
"""A reply of ours, see `render_reply`."""

_EXTENSION_ROOM = 64
"""A MAIL command with SIZE and BODY is longer than one without (RFC 1870 §3)."""


class Credentials(Word):
    """User and password that a client must have to bring us mail."""

    user: str
    password: str


class Door(Word):
    """For whom mail is taken, and from whom."""

    mailbox: str
    tls: ssl.SSLContext | None = None
    """Context with our certificate; with it STARTTLS is offered."""
    is_tls_required: bool = False
    """No MAIL before STARTTLS."""
    credentials: Credentials | None = None
    """No MAIL before AUTH, and AUTH under TLS only."""

    @property
    def host_name(self) -> str:
        """The host name in our greeting."""
        return self.mailbox.rpartition("@")[2]


class MailEndpoint(Word):
    """What all connections of one server share."""

    door: Door
    taker: Taker
    limits: SmtpLimits
    opened: Callable[[str], bool]
    """Whether one more connection from that address is allowed; if so, it is counted."""
    closed: Callable[["SmtpConnection", str | None], None]
    """Told that a connection is over, and its address if that was counted."""


class _Hooks:
    """The hooks that aiosmtpd calls."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def handle_EHLO(
        self,
        _server: SMTP,
        session: Session,
        _envelope: MailEnvelope,
        host_name: str,
        responses: list[str],
    ) -> list[str]:
        """Our extensions: AUTH only if we have credentials to compare."""
        session.host_name = host_name
        if self._door.credentials is not None:
            return responses
        return [line for line in responses if not line[4:].startswith("AUTH")]

    async def handle_RCPT(
        self,
        _server: SMTP,
        _session: Session,
        envelope: MailEnvelope,
        address: str,
        _options: list[str],
    ) -> str:
        """Our mailbox and no other: this is no relay (M7)."""
        if not is_same_mailbox(address, self._door.mailbox):
            return _line(reply.NOT_HERE)
        envelope.rcpt_tos = [address]
        return "250 2.1.5 OK"

    async def handle_exception(self, error: Exception) -> str:
        """Report a bug of ours; the sender's mail system may try again.

        A failed TLS handshake is no bug, and nobody can read the answer to it.
        """
        if not isinstance(error, OSError | TLSSetupException):
            context = {"message": "a mail command failed on our side", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
        return _line(reply.INTERNAL_ERROR)

    def authenticate(
        self,
        _server: SMTP,
        _session: Session,
        _envelope: MailEnvelope,
        _mechanism: str,
        offered: LoginPassword,
    ) -> AuthResult:
        """Compare in constant time."""
        expected = self._door.credentials
        assert expected is not None, "without credentials there is no mechanism"
        is_user = hmac.compare_digest(offered.login, expected.user.encode())
        is_password = hmac.compare_digest(offered.password, expected.password.encode())
        return AuthResult(success=is_user and is_password, handled=False)


class SmtpConnection(SMTP):
    """Takes mails one after another, for one mailbox."""

    def __init__(self, endpoint: MailEndpoint) -> None:
        hooks = _Hooks(endpoint.door)
        door, limits = endpoint.door, endpoint.limits
        super().__init__(
            hooks,
            data_size_limit=limits.mail_bytes_max,
            hostname=door.host_name,
            ident="onceonly",
            tls_context=door.tls,
            require_starttls=door.is_tls_required,
            timeout=limits.command_timeout_s,
            auth_required=door.credentials is not None,
            auth_exclude_mechanism=() if door.credentials else MECHANISMS,
            authenticator=hooks.authenticate,
            command_call_limit={"*": limits.commands_max, "AUTH": limits.auth_tries_max},
            loop=asyncio.get_running_loop(),
        )
        # aiosmtpd keeps these in a dict of the class, which every new connection would empty.
        self.command_size_limits = defaultdict(lambda: COMMAND_MAX)
        self.command_size_limits["MAIL"] = COMMAND_MAX + _EXTENSION_ROOM
        self._endpoint = endpoint
        self._reception: MailReception | None = None
        self._is_last = False
        self._address: str | None = None
        self._is_turned_away = False

    # Called by the loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected; called again when TLS is established."""
        is_first = self._handler_coroutine is None
        if is_first and not self._is_wanted(transport):
            self._is_turned_away = True
            turned_away = cast("asyncio.Transport", transport)
            turned_away.write(render_reply(reply.BUSY))
            turned_away.close()
            return
        super().connection_made(transport)
        if is_first:
            assert self._handler_coroutine is not None, "aiosmtpd started it"
            self._handler_coroutine.add_done_callback(self._conversation_ended)

    def _is_wanted(self, transport: asyncio.BaseTransport) -> bool:
        # A peer that reset the connection before we accepted it has no name any more.
        address = (transport.get_extra_info("peername") or ("",))[0]
        if not self._endpoint.opened(address):
            return False
        self._address = address
        return True

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is over, whoever ended it. A whole mail is received to its end."""
        if self._is_turned_away:
            self._endpoint.closed(self, None)
            return
        if self._reception is not None:
            self._reception.break_off("connection lost")
        super().connection_lost(error)
        self._endpoint.closed(self, self._address)

    # Called by the server.

    @property
    def task(self) -> asyncio.Future[Answer] | None:
        """The reception under way, or None."""
        return None if self._reception is None else self._reception.task

    def finish(self) -> None:
        """Close after the mail that is being received, or now if there is none."""
        self._is_last = True
        if self._reception is None:
            self._say_goodbye()

    def abort(self) -> None:
        """Close now."""
        if self.transport is not None:
            cast("asyncio.Transport", self.transport).abort()

    async def push(self, status: AnyStr) -> None:
        """Send one reply. A final refusal is noted if no mail has begun.

        Raises `ConnectionResetError` after we have closed the connection: aiosmtpd would go on with
        commands that the peer had sent before, and might take a mail (M1, M4, M8).
        """
        if self.transport is None or self.transport.is_closing():
            raise ConnectionResetError
        text = status.decode("ascii") if isinstance(status, bytes) else status
        if text.startswith(_REFUSALS):
            self._note(text)
        await super().push(status)

    def _note(self, text: str) -> None:
        # aiosmtpd repeats the peer's words in some replies; only our replies have names.
        found = _NAMED.fullmatch(text)
        reason = f"command answered {text[:3]}" + (f" {found[1]}" if found else "")
        self._endpoint.taker.note_refusal(self._peer, "smtp", reason)

    @property
    def _peer(self) -> str:
        peer = ("", 0) if self.session is None or not self.session.peer else self.session.peer
        return f"{peer[0]}:{peer[1]}"

    # Commands, called by aiosmtpd.

    async def smtp_MAIL(self, arg: str | None) -> None:
        """A plain path only (M12)."""
        if self._is_bad_path("FROM:", arg):
            await self.push(_line(reply.BAD_ADDRESS))
        else:
            await super().smtp_MAIL(arg)

    async def smtp_RCPT(self, arg: str | None) -> None:
        """A plain path only (M12)."""
        if self._is_bad_path("TO:", arg):
            await self.push(_line(reply.BAD_ADDRESS))
        else:
            await super().smtp_RCPT(arg)

    async def smtp_VRFY(self, arg: str | None) -> None:
        """Nobody is told whether a mailbox exists (M7)."""
        del arg
        await self.push("252 2.1.5 RCPT tells")

    async def smtp_STARTTLS(self, arg: str) -> None:
        """Nothing may follow in plain text: an attacker would have inserted it (M4)."""
        if self._tls_protocol is not None:
            await self.push("503 5.5.1 TLS stands")
        elif self._has_pipelined():
            await self.push(_line(reply.TLS_FIRST))
            self._close()
        else:
            await super().smtp_STARTTLS(arg)
            self._check_tls_stands()

    async def smtp_AUTH(self, arg: str) -> None:
        """Names of mechanisms have no case; an endless answer to a challenge is refused."""
        mechanism, _, rest = (arg or "").partition(" ")
        try:
            await super().smtp_AUTH(f"{mechanism.upper()} {rest}".strip())
        except ValueError:
            await self.push(_line(reply.LINE_TOO_LONG))

    async def smtp_DATA(self, arg: str) -> None:
        """Take one mail; see `MailReception`."""
        if await self._is_out_of_order(arg):
            return
        assert self.envelope is not None, "connected"
        self._reception = MailReception(
            self._endpoint.taker,
            peer=self._peer,
            has_sender=self.envelope.mail_from != "<>",
        )
        await self.push("354 End with CRLF.CRLF")
        answer = await self._take_mail(self._reception)
        self._reception = None
        self._set_post_data_state()  # type: ignore[no-untyped-call]  # because aiosmtpd has no types there
        self._reset_timeout()
        # What is wrong with a mail is noted by its reception or journalled by the gateway.
        await super().push(_line(answer))
        if self._is_last:
            self._say_goodbye()

    async def _is_out_of_order(self, arg: str) -> bool:
        if await self.check_helo_needed() or await self.check_auth_needed("DATA"):
            return True
        assert self.envelope is not None, "connected"
        if not self.envelope.rcpt_tos:
            await self.push("503 5.5.1 RCPT first")
        elif arg:
            await self.push("501 5.5.4 DATA has no argument")
        elif self._is_last:
            await self.push(_line(reply.DRAINING))
        else:
            return False
        return True

    async def _take_mail(self, reception: MailReception) -> Answer:
        limits = self._endpoint.limits
        pace = Pace(
            grace_s=limits.data_grace_s, rate_min=limits.data_rate_min, now=self.loop.time()
        )
        self._reset_timeout(limits.data_grace_s)
        checked_bytes = 0
        # Often enough that a mail at exactly the least rate does not count as slower.
        step_bytes = min(BATCH_BYTES, limits.data_grace_s * limits.data_rate_min / 4)
        while await self._read_line(reception):
            if reception.received_bytes - checked_bytes > step_bytes:
                checked_bytes = reception.received_bytes
                if reception.is_beyond_bearing:
                    self._is_last = True
                    break
                await self._wait_for_room(reception, pace)
                self._reset_timeout(max(pace.left_s(checked_bytes, self.loop.time()), 0.001))
        self._reset_timeout()
        return await asyncio.shield(asyncio.ensure_future(reception.finish()))

    async def _read_line(self, reception: MailReception) -> bool:
        """One line for the reception, or False for the final dot, which stands alone in a line.

        Only CRLF ends a line (M1). The rest of a line that was too long does not count as a line.
        """
        is_rest = False
        while True:
            try:
                line = await self._reader.readuntil(b"\r\n")
            except asyncio.LimitOverrunError as error:
                reception.count(len(await self._reader.read(error.consumed)))
                reception.refuse(reply.LINE_TOO_LONG)
                is_rest = True
                if reception.is_beyond_bearing:
                    return True
                continue
            if is_rest:
                reception.count(len(line))
                return True
            if line == b".\r\n":
                return False
            reception.feed(line)
            return True

    async def _wait_for_room(self, reception: MailReception, pace: Pace) -> None:
        if reception.is_full:
            began_at = self.loop.time()
            self._reset_timeout()
            await reception.room()
            # Our own slowness must not count against the peer.
            pace.forgive(self.loop.time() - began_at)

    def _check_tls_stands(self) -> None:
        """To aiosmtpd a peer that hangs up in the handshake looks like one that finished it."""
        is_asked_for = self._tls_protocol is not None
        if is_asked_for and self.session is not None and self.session.ssl is None:
            raise TLSSetupException

    def _is_bad_path(self, keyword: str, arg: str | None) -> bool:
        if arg is None or not arg.upper().startswith(keyword):
            return False  # aiosmtpd answers with the syntax.
        return not is_path(arg[len(keyword) :])

    def _has_pipelined(self) -> bool:
        return bool(self._reader._buffer)  # type: ignore[attr-defined]  # noqa: SLF001 - because streams don't tell, and aiosmtpd looks there too

    def _say_goodbye(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            cast("asyncio.Transport", self.transport).write(render_reply(reply.CLOSING))
            self._close()

    def _close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    def _conversation_ended(self, task: "asyncio.Task[None]") -> None:
        # If a peer goes away in the middle of an answer, aiosmtpd's task ends with that error.
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, OSError):
            context = {"message": "a mail connection failed on our side", "exception": error}
            self.loop.call_exception_handler(context)


def _line(answer: Answer) -> str:
    return render_reply(answer).decode("ascii").removesuffix("\r\n")
