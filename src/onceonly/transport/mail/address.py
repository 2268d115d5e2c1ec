"""Mail addresses and URIs: a narrow grammar on purpose (attacks M3, M12).

Only the dot-atom of RFC 5321 with a domain name is allowed: no quoted local parts, source routes,
comments or characters beyond ASCII, since different programs read each of them differently.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from onceonly.message.errors import LocalError
from onceonly.message.word import Word

_ATOM = r"[A-Za-z0-9!#$&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = (
    rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*@(?=[^\s>]{{1,253}}(?:>|$)){_LABEL}(?:\.{_LABEL})*"
)
_MAILBOX: Final = re.compile(_ADDRESS)
_PATH: Final = re.compile(rf"\s*<(?:{_ADDRESS})?>(?: .*)?", re.ASCII)

_PORTS: Final = {"smtp": 25, "smtps": 465}


class MailRelay(Word):
    """Where a relay listens."""

    host: str
    port: int
    is_tls: bool
    """TLS from the first byte (smtps)."""


def is_mailbox(address: str) -> bool:
    """Whether it is an address that we send to and accept."""
    return _MAILBOX.fullmatch(address) is not None


def is_path(argument: str) -> bool:
    """Whether what follows `FROM:` or `TO:` is a plain path, `<>` included, with parameters."""
    return _PATH.fullmatch(argument) is not None


def is_same_mailbox(one: str, other: str) -> bool:
    """Whether two addresses are one mailbox: domains have no case, local parts do."""
    (local, _, domain), (other_local, _, other_domain) = one.rpartition("@"), other.rpartition("@")
    return local == other_local and domain.lower() == other_domain.lower()


def read_endpoint(endpoint: str) -> tuple[str, bool]:
    """Address of a `smtp:` or `smtps:` endpoint, and whether mail to it needs TLS.

    Raises `LocalError` (UnusableEndpoint).
    """
    scheme, _, address = endpoint.partition(":")
    if scheme.lower() not in _PORTS or not is_mailbox(address) or "/" in address:
        raise LocalError("UnusableEndpoint", f"{endpoint!r} is not smtp:MAILBOX@DOMAIN")
    return address, scheme.lower() == "smtps"


def read_relay(uri: str) -> MailRelay:
    """Host and port of `smtp://HOST[:PORT]` or `smtps://HOST[:PORT]`.

    Raises `LocalError` (UnusableAddress).
    """
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError:
        raise LocalError("UnusableAddress", f"{uri!r} is not a URI") from None
    is_bare = not (parts.path or parts.query or parts.fragment or parts.username)
    if parts.scheme not in _PORTS or not parts.hostname or not is_bare:
        raise LocalError("UnusableAddress", f"{uri!r} must look like smtp://HOST:PORT")
    default = _PORTS[parts.scheme]
    return MailRelay(parts.hostname, default if port is None else port, parts.scheme == "smtps")
