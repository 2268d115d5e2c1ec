"""The configured transports: those that send, chosen by scheme, and those that listen.

Knows the tables of the configuration, and nothing about what is sent. A gateway may send by one
transport and be answered by another: both addresses are in agreements.
"""

import ssl
from collections.abc import Callable
from math import ceil
from typing import Protocol
from urllib.parse import urlsplit

from onceonly.gateway.certificates import calling_tls, listening_tls
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Amqp, Configuration, Smtp, StartTls
from onceonly.gateway.descriptors import shares
from onceonly.gateway.incoming.excess import HEADERS_BYTES
from onceonly.gateway.mail import MailTransport
from onceonly.gateway.sent_mails import SentMails
from onceonly.message.word import Word
from onceonly.transport.broker.client import AmqpTransport
from onceonly.transport.broker.consumer import AmqpConsumer, consume_amqp
from onceonly.transport.broker.link import AmqpAccess
from onceonly.transport.http.client import HttpTransport
from onceonly.transport.http.limits import HttpClientLimits, HttpLimits
from onceonly.transport.http.server import HttpServer, Renewal, serve_http
from onceonly.transport.mail.client import SmtpTransport
from onceonly.transport.mail.limits import MAIL_SHARE, SmtpClientLimits, SmtpLimits
from onceonly.transport.mail.reception import DropAutomatic
from onceonly.transport.mail.server import Credentials, Door, SmtpServer, serve_smtp
from onceonly.transport.schemes import SchemeTransport
from onceonly.transport.transport import NoteRefusal, Receive, Transport

ENDPOINT_BYTES_MAX = 1 << 50
"""Limit of the HTTP endpoint, too large to be reached. The receiver has the real limit, from
`payload_bytes_max`, and writes a row about a package that exceeds it."""


def longest_s(endpoint: str) -> int:
    """How long one transmission of a small package to the endpoint can take, in whole seconds."""
    is_mail = urlsplit(endpoint).scheme in SmtpTransport.schemes
    return ceil(SmtpClientLimits().slow_s if is_mail else HttpClientLimits().silent_s)


class Listener(Protocol):
    """Takes packages from partners until it is closed."""

    async def close(self, grace_s: float) -> None:
        """Accept nothing more, wait at most `grace_s` for receptions under way, then cut."""
        ...


class Contexts(Word):
    """What the `[tls]` table amounts to: read from its files once for each start and reload."""

    calling: ssl.SSLContext
    listening: ssl.SSLContext | None


def contexts_of(configuration: Configuration) -> Contexts:
    """Raises `OSError` for certificates that cannot be used."""
    return Contexts(calling_tls(configuration.tls), listening_tls(configuration.tls))


class Senders(SchemeTransport):
    """All transports that send; new TLS and passwords can be put into them while they send."""

    def __init__(self, configuration: Configuration, clock: Clock, sent_mails: SentMails) -> None:
        tls = calling_tls(configuration.tls)
        most = min(HttpClientLimits().connections_max, shares().calls)
        self._http = HttpTransport(limits=HttpClientLimits(connections_max=most), tls=tls)
        transports: list[Transport] = [self._http]
        self._mail: SmtpTransport | None = None
        smtp = configuration.smtp
        if smtp is not None and smtp.relay is not None:
            self._mail = _relaying(smtp, smtp.relay, tls, clock)
            transports.append(MailTransport(self._mail, sent_mails))
        # It connects only when something is sent to a broker, and a reload may ask for that.
        access = _access_of(configuration.amqp, tls)
        self._amqp = AmqpTransport(access=access, pause=clock.pause)
        transports.append(self._amqp)
        super().__init__(transports)

    def renew(self, configuration: Configuration, tls: ssl.SSLContext) -> None:
        """Make new connections under `tls` and with the passwords of the configuration."""
        self._http.renew(tls)
        self._amqp.renew(_access_of(configuration.amqp, tls))
        smtp = configuration.smtp
        if self._mail is not None and smtp is not None and smtp.relay is not None:
            is_in_clear = _is_in_clear(smtp, smtp.relay)
            self._mail.renew(
                tls=None if is_in_clear else tls, user=smtp.user, password=smtp.password
            )


def sending_transport(configuration: Configuration, clock: Clock, sent_mails: SentMails) -> Senders:
    """All transports that send. Raises `OSError` for certificates that cannot be used."""
    return Senders(configuration, clock, sent_mails)


def _is_in_clear(smtp: Smtp, relay: str) -> bool:
    return smtp.starttls is StartTls.NEVER and not relay.startswith("smtps:")


def _relaying(smtp: Smtp, relay: str, tls: ssl.SSLContext, clock: Clock) -> SmtpTransport:
    assert smtp.mailbox is not None, "configuration has required it"
    return SmtpTransport(
        relay,
        smtp.mailbox,
        tls=None if _is_in_clear(smtp, relay) else tls,
        is_tls_required=smtp.starttls is StartTls.REQUIRE,
        user=smtp.user,
        password=smtp.password,
        pause=clock.pause,
    )


def _access_of(amqp: Amqp | None, tls: ssl.SSLContext) -> AmqpAccess:
    if amqp is None:
        return AmqpAccess(tls=tls)
    return AmqpAccess(amqp.user, amqp.password, tls)


class Listeners:
    """All transports that listen; closed together."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._http: HttpServer | None = None
        self._is_https = False
        self._mail: SmtpServer | None = None
        self._consumer: AmqpConsumer | None = None

    async def open(
        self,
        configuration: Configuration,
        receive: Receive,
        drop_automatic: DropAutomatic,
        note_refusal: NoteRefusal,
        note_certificate: Callable[[bytes], None] = lambda _: None,
    ) -> None:
        """Listen at every address of the configuration.

        Raises `OSError` if an address is taken or a certificate cannot be used; those that listen
        already are closed by `close`.
        """
        tls = listening_tls(configuration.tls)
        self._is_https = configuration.listen.startswith("https:")
        self._http = await serve_http(
            configuration.listen,
            receive,
            note_refusal=note_refusal,
            limits=_http_limits(configuration),
            tls=tls if self._is_https else None,
            also_called=[configuration.uri],
            note_certificate=note_certificate,
        )
        self._listeners.append(self._http)
        smtp = configuration.smtp
        if smtp is not None and smtp.listen is not None:
            self._mail = await serve_smtp(
                smtp.listen,
                receive,
                door=door_of(smtp, tls),
                drop_automatic=drop_automatic,
                note_refusal=note_refusal,
                limits=_mail_limits(configuration),
            )
            self._listeners.append(self._mail)
        amqp = configuration.amqp
        if amqp is not None and amqp.listen is not None:
            access = _access_of(amqp, calling_tls(configuration.tls))
            self._consumer = consume_amqp(amqp.listen, receive, access=access)
            self._listeners.append(self._consumer)

    async def prepare(self, configuration: Configuration, tls: Contexts) -> "Entry":
        """Everything that letting partners in under these contexts and passwords takes.

        Raises `OSError` with nothing changed.
        """
        http = None
        if self._http is not None and self._is_https and tls.listening is not None:
            http = await self._http.prepare(tls.listening)
        return Entry(configuration, tls, http)

    def limit(self, configuration: Configuration) -> None:
        """Hold new connections to the limits of the configuration."""
        if self._http is not None:
            self._http.limit(_http_limits(configuration))
        if self._mail is not None:
            self._mail.limit(_mail_limits(configuration))

    async def take(self, entry: "Entry") -> None:
        """Let partners in by it from now on; what is open stays as it is."""
        if entry.http is not None:
            await entry.http.take()
        if self._mail is not None and entry.configuration.smtp is not None:
            self._mail.renew(door_of(entry.configuration.smtp, entry.tls.listening))
        if self._consumer is not None:
            self._consumer.renew(_access_of(entry.configuration.amqp, entry.tls.calling))

    async def close(self, grace_s: float) -> None:
        """Close all, one after the other; the grace is for each."""
        for listener in self._listeners:
            await listener.close(grace_s)


def _http_limits(configuration: Configuration) -> HttpLimits:
    limits = configuration.limits
    return HttpLimits(
        body_bytes_max=ENDPOINT_BYTES_MAX,
        body_rate_min=limits.body_rate_min,
        connections_max=min(limits.connections_max, shares().connections),
        connections_per_address_max=limits.connections_per_address_max,
    )


def _mail_limits(configuration: Configuration) -> SmtpLimits:
    limits = configuration.limits
    return SmtpLimits(
        mail_bytes_max=int((configuration.payload_bytes_max + HEADERS_BYTES) * MAIL_SHARE),
        data_rate_min=limits.body_rate_min,
        connections_max=min(SmtpLimits().connections_max, shares().mails),
        connections_per_address_max=limits.connections_per_address_max,
    )


class Entry(Word):
    """How partners are let in after a reload; see `Listeners.prepare`."""

    configuration: Configuration
    tls: Contexts
    http: Renewal | None

    def drop(self) -> None:
        """It is not wanted after all."""
        if self.http is not None:
            self.http.drop()


def door_of(smtp: Smtp, tls: ssl.SSLContext | None) -> Door:
    """For which mailbox we take mail, and from whom."""
    assert smtp.mailbox is not None, "configuration has required it"
    credentials = None
    if smtp.listen_user is not None and smtp.listen_password is not None:
        credentials = Credentials(smtp.listen_user, smtp.listen_password)
    return Door(
        smtp.mailbox,
        tls=None if smtp.starttls is StartTls.NEVER else tls,
        is_tls_required=smtp.starttls is StartTls.REQUIRE,
        credentials=credentials,
    )
