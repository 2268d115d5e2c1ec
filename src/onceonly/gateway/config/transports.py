"""TLS, mail and brokers as configured: their values, and the rules in and between tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from onceonly.gateway.config.file import Table


class StartTls(StrEnum):
    """Whether mail goes under TLS on a plain port (attack M5)."""

    REQUIRE = "require"
    OFFER = "offer"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Our certificate, and the certificates that we trust. Paths are absolute."""

    certificate: Path | None
    key: Path | None
    trusted: Path | None
    """Certificates that partners' servers (and clients) must chain to; None: the system's."""
    clients: bool
    """Whether a client that calls us must show a certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Smtp:
    """Mail in and out (seed 000 §2.5.2)."""

    listen: str | None
    """`smtp://host:port` where we take mail, or None."""
    mailbox: str | None
    """The address that we take mail for, and send from."""
    relay: str | None
    """`smtp://host:port` or `smtps://host:port` that takes our mail."""
    starttls: StartTls
    user: str | None
    password: str | None
    """For `relay`; both or none."""
    listen_user: str | None
    listen_password: str | None
    """For those who bring us mail; both or none. If none, they need not log in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amqp:
    """A broker as the reliable product underneath (method Transport, seed 001 §1.2.4)."""

    listen: str | None
    """`amqp(s)://host:port/vhost?queue=NAME` that we consume from, or None."""
    user: str
    password: str
    """At every broker: addresses have no credentials in them."""


def tls_of(table: Table | None, directory: Path) -> Tls | None:
    """Our certificates, of a `[tls]` table. Raises `ConfigurationError`."""
    if table is None:
        return None
    for one, other in (("certificate", "key"), ("key", "certificate")):
        if table.is_given(one) and not table.is_given(other):
            table.refuse(one, f"goes with {other}")
    if table["clients"] and table["trusted"] is None:
        table.refuse("clients", "needs trusted: whose certificates callers may show")
    if table["clients"] and table["certificate"] is None:
        table.refuse("clients", "needs certificate and key: who asks shows his own first")
    paths = {
        key: table[key] and directory / table[key] for key in ("certificate", "key", "trusted")
    }
    return Tls(**paths, clients=table["clients"])


_PAIRS = (("user", "password"), ("listen_user", "listen_password"))


def smtp_of(table: Table | None, tls: Tls | None) -> Smtp | None:
    """Mail, of an `[smtp]` table. Raises `ConfigurationError`."""
    if table is None:
        return None
    for pair in _PAIRS:
        for one, other in (pair, pair[::-1]):
            if table.is_given(one) and not table.is_given(other):
                table.refuse(one, f"goes with {other}")
    if table["user"] is not None and table["relay"] is None:
        table.refuse("user", "is for relay, which is not given")
    if table["listen_user"] is not None and table["listen"] is None:
        table.refuse("listen_user", "is for listen, which is not given")
    starttls = StartTls(table["starttls"])
    if table["listen"] is not None:
        _check_mail_in(table, starttls, tls)
    if starttls is StartTls.NEVER and table["user"] is not None:
        _check_password_stays_here(table)
    return Smtp(
        listen=table["listen"],
        mailbox=table["mailbox"],
        relay=table["relay"],
        starttls=starttls,
        user=table["user"],
        password=table["password"],
        listen_user=table["listen_user"],
        listen_password=table["listen_password"],
    )


def _check_password_stays_here(table: Table) -> None:
    if urlsplit(table["relay"]).scheme == "smtp":
        table.refuse("starttls", "is never: the password would go in clear (attack M6)")


def _check_mail_in(table: Table, starttls: StartTls, tls: Tls | None) -> None:
    has_certificate = tls is not None and tls.certificate is not None
    if starttls is StartTls.REQUIRE and not has_certificate:
        table.refuse(
            "listen",
            "is under starttls = require: legal with a certificate and key in [tls], or with "
            "starttls = offer or never",
        )
    is_open = not has_certificate or starttls is StartTls.NEVER
    if table["listen_user"] is not None and is_open:
        table.refuse("listen_user", "would come in clear: legal under TLS (attack M6)")


def check_mail(
    gateway: Table, agreements: Sequence[Table], routes: Sequence[Table], smtp: Smtp | None
) -> None:
    """If a key names a mailbox, the mail server that takes our mail must be configured."""
    has_relay = smtp is not None and smtp.relay is not None
    for tables, keys in (
        (agreements, ("send_to", "error_to", "resend_to")),
        (routes, ("send_to", "back_to")),
    ):
        for table in tables:
            for key in keys:
                is_mail = urlsplit(table[key] or "").scheme in ("smtp", "smtps")
                if is_mail and not has_relay:
                    table.refuse(key, "is a mailbox: legal with relay in [smtp]")
    uri = gateway["uri"] or ""
    if urlsplit(uri).scheme not in ("smtp", "smtps"):
        return
    mailbox = uri.partition(":")[2]
    if smtp is None or smtp.listen is None or smtp.mailbox != mailbox:
        gateway.refuse(
            "uri", f"is a mailbox: legal with listen and mailbox = {mailbox!r} in [smtp]"
        )


def amqp_of(table: Table | None) -> Amqp | None:
    """The broker, of an `[amqp]` table."""
    if table is None:
        return None
    return Amqp(listen=table["listen"], user=table["user"], password=table["password"])
