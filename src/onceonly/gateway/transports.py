"""The configured transports: those that send, chosen by scheme, and those that listen.

Knows the tables of the configuration, and nothing about what is sent. A gateway may send by one
transport and be answered by another: both addresses are in agreements.
"""

from math import ceil
from typing import Protocol
from urllib.parse import urlsplit

from onceonly.gateway.certificates import calling_tls, listening_tls
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Amqp, Configuration, Smtp, StartTls, Tls
from onceonly.gateway.descriptors import shares
from onceonly.gateway.incoming.receiver import HEADERS_BYTES
from onceonly.gateway.mail import MailTransport
from onceonly.transport.broker.client import AmqpTransport
from onceonly.transport.broker.consumer import consume_amqp
from onceonly.transport.broker.link import AmqpAccess
from onceonly.transport.http.client import HttpTransport
from onceonly.transport.http.limits import HttpClientLimits, HttpLimits
from onceonly.transport.http.server import serve_http
from onceonly.transport.mail.client import SmtpTransport
from onceonly.transport.mail.limits import MAIL_SHARE, SmtpClientLimits, SmtpLimits
from onceonly.transport.mail.reception import DropAutomatic
from onceonly.transport.mail.server import Credentials, Door, serve_smtp
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


def sending_transport(configuration: Configuration, clock: Clock) -> SchemeTransport:
    """All transports that send. Raises `OSError` for certificates that cannot be used."""
    most = min(HttpClientLimits().connections_max, shares().calls)
    limits = HttpClientLimits(connections_max=most)
    transports: list[Transport] = [HttpTransport(limits=limits, tls=calling_tls(configuration.tls))]
    smtp = configuration.smtp
    if smtp is not None and smtp.relay is not None:
        transports.append(MailTransport(_relaying(smtp, smtp.relay, configuration.tls, clock)))
    if any(agreement.send_to.startswith("amqp") for agreement in configuration.agreements):
        access = _access_of(configuration.amqp, configuration.tls)
        transports.append(AmqpTransport(access=access, pause=clock.pause))
    return SchemeTransport(transports)


def _relaying(smtp: Smtp, relay: str, tls: Tls | None, clock: Clock) -> SmtpTransport:
    assert smtp.mailbox is not None, "configuration has required it"
    is_in_clear = smtp.starttls is StartTls.NEVER and not relay.startswith("smtps:")
    return SmtpTransport(
        relay,
        smtp.mailbox,
        tls=None if is_in_clear else calling_tls(tls),
        is_tls_required=smtp.starttls is StartTls.REQUIRE,
        user=smtp.user,
        password=smtp.password,
        pause=clock.pause,
    )


def _access_of(amqp: Amqp | None, tls: Tls | None) -> AmqpAccess:
    if amqp is None:
        return AmqpAccess(tls=calling_tls(tls))
    return AmqpAccess(amqp.user, amqp.password, calling_tls(tls))


class Listeners:
    """All transports that listen; closed together."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    async def open(
        self,
        configuration: Configuration,
        receive: Receive,
        drop_automatic: DropAutomatic,
        note_refusal: NoteRefusal,
    ) -> None:
        """Listen at every address of the configuration.

        Raises `OSError` if an address is taken or a certificate cannot be used; those that listen
        already are closed by `close`.
        """
        tls = listening_tls(configuration.tls)
        is_https = configuration.listen.startswith("https:")
        most = shares().connections
        limits = HttpLimits(
            body_bytes_max=ENDPOINT_BYTES_MAX,
            body_rate_min=configuration.limits.body_rate_min,
            connections_max=min(configuration.limits.connections_max, most),
            connections_per_address_max=configuration.limits.connections_per_address_max,
        )
        http = await serve_http(
            configuration.listen,
            receive,
            note_refusal=note_refusal,
            limits=limits,
            tls=tls if is_https else None,
            also_called=[configuration.uri],
        )
        self._listeners.append(http)
        smtp = configuration.smtp
        if smtp is not None and smtp.listen is not None:
            mail_bytes_max = int((configuration.payload_bytes_max + HEADERS_BYTES) * MAIL_SHARE)
            mail = await serve_smtp(
                smtp.listen,
                receive,
                door=door_of(smtp, configuration.tls),
                drop_automatic=drop_automatic,
                note_refusal=note_refusal,
                limits=SmtpLimits(
                    mail_bytes_max=mail_bytes_max,
                    data_rate_min=configuration.limits.body_rate_min,
                    connections_max=min(SmtpLimits().connections_max, shares().mails),
                    connections_per_address_max=configuration.limits.connections_per_address_max,
                ),
            )
            self._listeners.append(mail)
        amqp = configuration.amqp
        if amqp is not None and amqp.listen is not None:
            access = _access_of(amqp, configuration.tls)
            consumer = consume_amqp(amqp.listen, receive, access=access)
            self._listeners.append(consumer)

    async def close(self, grace_s: float) -> None:
        """Close all, one after the other; the grace is for each."""
        for listener in self._listeners:
            await listener.close(grace_s)


def door_of(smtp: Smtp, tls: Tls | None) -> Door:
    """For which mailbox we take mail, and from whom. Raises `OSError`."""
    assert smtp.mailbox is not None, "configuration has required it"
    credentials = None
    if smtp.listen_user is not None and smtp.listen_password is not None:
        credentials = Credentials(smtp.listen_user, smtp.listen_password)
    return Door(
        smtp.mailbox,
        tls=None if smtp.starttls is StartTls.NEVER else listening_tls(tls),
        is_tls_required=smtp.starttls is StartTls.REQUIRE,
        credentials=credentials,
    )
