"""How the value of one configuration key is read: a Python value, or `Illegal` with the reason.

Knows grammars and ranges. Does not know which keys exist (`keys`), or which values may be used
together (`terms`).
"""

import ipaddress
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import SplitResult, urlsplit

from onceonly.gateway.drill import POINTS
from onceonly.message.errors import LocalError, RemoteError
from onceonly.message.identity import PartyId, checked_identifier, is_uri
from onceonly.message.profile import Profile
from onceonly.transport.broker.address import read_publish_address, read_queue_address
from onceonly.transport.mail.address import is_mailbox
from onceonly.wire.registry import find_profile


class Illegal(ValueError):  # noqa: N818 - because it is a verdict on a value, caught by the reader
    """The value is not legal; the text says what is wrong with it."""


def text(value: Any) -> str:
    """A printable text that is not blank."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise Illegal(f"{value!r} is not a text")
    return value


NAME_LENGTH_MAX = 100
"""Characters of a name that people gave: a column of a table, and not a page."""


def short_text(value: Any) -> str:
    """A text of one short line."""
    given = text(value)
    if len(given) > NAME_LENGTH_MAX:
        raise Illegal(f"it has {len(given)} characters")
    return given


def identifier(value: Any) -> str:
    """A text that is legal as an identifier on the wire."""
    try:
        return checked_identifier(text(value), "it")
    except RemoteError as error:
        raise Illegal(error.description) from error


def flag(value: Any) -> bool:
    """A truth value."""
    if not isinstance(value, bool):
        raise Illegal(f"{value!r} is neither true nor false")
    return value


def whole(smallest: int, largest: int) -> Callable[[Any], int]:
    """A whole number in the range."""

    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise Illegal(f"{value!r} is not a whole number")
        if not smallest <= value <= largest:
            raise Illegal(f"{value} is out of range")
        return value

    return parse


def one_of(words: Iterable[str], later: dict[str, str] | None = None) -> Callable[[Any], str]:
    """One of the words; those of `later` are refused with their own reason."""
    legal = tuple(words)

    def parse(value: Any) -> str:
        if isinstance(value, str) and value in (later or {}):
            raise Illegal(f"{value!r} is not offered yet: {(later or {})[value]}")
        if value not in legal:
            raise Illegal(f"{value!r} is none of them")
        return str(value)

    return parse


def profile(value: Any) -> Profile:
    """The profile of that name."""
    found = find_profile(value) if isinstance(value, str) else None
    if found is None:
        raise Illegal(f"{value!r} is none of them")
    return found


def parties(value: Any) -> tuple[PartyId, ...]:
    """PartyIds of one party, each once."""
    if not isinstance(value, list) or not value:
        raise Illegal(f"{value!r} is not a list of PartyIds")
    ids = tuple(_party(entry) for entry in value)
    if len(set(ids)) != len(ids):
        raise Illegal("a PartyId is there twice")
    return ids


def _party(entry: Any) -> PartyId:
    try:
        if isinstance(entry, str):
            return PartyId(entry)
        if isinstance(entry, dict) and set(entry) == {"id", "type"}:
            return PartyId(text(entry["id"]), text(entry["type"]))
    except RemoteError as error:
        raise Illegal(error.description) from error
    raise Illegal(f"{entry!r} is not a PartyId")


def fingerprint(value: Any) -> str:
    """A SHA-256 in hexadecimal, as `openssl x509 -fingerprint -sha256` prints it; colons optional.

    Returned in the form without colons, in lower case.
    """
    digits = text(value).replace(":", "").lower()
    if re.fullmatch(r"[0-9a-f]{64}", digits) is None:
        raise Illegal(f"{value!r} is no SHA-256 fingerprint")
    return digits


def fingerprints(value: Any) -> tuple[str, ...]:
    """One fingerprint or a list of different ones, so that a certificate can be exchanged."""
    found = tuple(map(fingerprint, value if isinstance(value, list) and value else [value]))
    if len(set(found)) != len(found):
        raise Illegal("a fingerprint is there twice")
    return found


ENTRANCES = ("https", "mail", "amqp")
"""The ways by which a package comes to us; plain http counts as https without a certificate."""


def entrances(value: Any) -> tuple[str, ...]:
    """Words of `ENTRANCES`, each once."""
    if not isinstance(value, list) or not value:
        raise Illegal(f"{value!r} is not a list of entrances")
    for entry in value:
        if entry not in ENTRANCES:
            raise Illegal(f"{entry!r} is no entrance")
    if len(set(value)) != len(value):
        raise Illegal("an entrance is there twice")
    return tuple(value)


def uris(value: Any) -> tuple[str, ...]:
    """URIs, each once."""
    if not isinstance(value, list) or not value:
        raise Illegal(f"{value!r} is not a list of URIs")
    for entry in value:
        if not isinstance(entry, str) or not is_uri(entry):
            raise Illegal(f"{entry!r} is not a URI")
    if len(set(value)) != len(value):
        raise Illegal("a URI is there twice")
    return tuple(value)


_HOST_NAME = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*")


def host_names(value: Any) -> tuple[str, ...]:
    """Names of hosts, without ports."""
    if not isinstance(value, list):
        raise Illegal(f"{value!r} is not a list of names")
    for entry in value:
        if not isinstance(entry, str) or _HOST_NAME.fullmatch(entry) is None:
            raise Illegal(f"{entry!r} is not the name of a host")
    return tuple(value)


_MAILBOX_LOCAL = re.compile(r"[A-Za-z0-9!$&'*+=_~.-]+")
"""Of the characters that mail allows, those that a URI need not escape."""


def mailbox(value: Any) -> str:
    """A mail address such as `msh@buyer.example`."""
    address = text(value)
    local = address.partition("@")[0]
    if not is_mailbox(address) or _MAILBOX_LOCAL.fullmatch(local) is None:
        raise Illegal(f"{address!r} is not a plain mail address")
    return address


def http_uri(value: Any) -> str:
    """An http or https URI with a host, a path and perhaps a query.

    Nothing in it could hide another target.
    """
    uri = text(value)
    parts, port = _split(uri)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise Illegal(f"{uri!r} is not an http or https URI")
    if "@" in parts.netloc or "#" in uri or uri.endswith("?"):
        raise Illegal(f"{uri!r} has a user, a fragment or an empty query in it")
    return _on_wire(uri)


def endpoint(value: Any) -> str:
    """An address that a transport of ours reaches: http, https, smtp, smtps, amqp, amqps."""
    uri = text(value)
    scheme = _split(uri)[0].scheme
    if scheme == "ftp":
        raise Illegal("ftp has no binding: seed 000 §2.5.3 is an empty heading")
    if scheme in ("smtp", "smtps"):
        mailbox(uri.partition(":")[2])
        return _on_wire(uri)
    if scheme in ("amqp", "amqps"):
        _broker_address(uri, read_publish_address)
        return _on_wire(uri)
    return http_uri(uri)


def queue(value: Any) -> str:
    """An amqp or amqps URI of a queue."""
    uri = text(value)
    _broker_address(uri, read_queue_address)
    return uri


def _broker_address(uri: str, read: Callable[[str], object]) -> None:
    try:
        read(uri)
    except LocalError as error:
        raise Illegal(str(error)) from error


def listen_uri(value: Any) -> str:
    """An http or https URI with a port, to bind to."""
    uri = http_uri(value)
    if urlsplit(uri).port is None:
        raise Illegal(f"{uri!r} names no port")
    return uri


def api_uri(value: Any) -> str:
    """An http or https URI with a port and without a query, to bind to."""
    uri = listen_uri(value)
    if urlsplit(uri).query:
        raise Illegal(f"{uri!r} has a query in it, and the API has many paths")
    return uri


def mail_host(*schemes: str) -> Callable[[Any], str]:
    """`smtp://host:port`: where mail is taken, by us or for us."""

    def parse(value: Any) -> str:
        uri = text(value)
        parts, port = _split(uri)
        rest = parts.path or parts.query or parts.fragment or parts.username
        if parts.scheme not in schemes or not parts.hostname or not port or rest:
            raise Illegal(f"{uri!r} is not {' or '.join(schemes)}://host:port")
        return _on_wire(uri)

    return parse


def _split(uri: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError as error:
        raise Illegal(f"{uri!r} is not a URI: {error}") from error
    return parts, port


def _on_wire(uri: str) -> str:
    # It is written into messages and request heads, whose grammars allow no other characters.
    if not uri.isascii() or not is_uri(uri):
        raise Illegal(f"{uri!r} has characters that a URI has not, or more than 255 of them")
    return uri


def is_wildcard(uri: str) -> bool:
    """Whether the URI's host means every address of this machine, so that nobody can call it."""
    return urlsplit(uri).hostname in ("0.0.0.0", "::")  # noqa: S104 - because it is refused


def is_loopback(uri: str) -> bool:
    """Whether only this machine can reach the URI's host."""
    host = urlsplit(uri).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_DURATION = re.compile(
    r"P(?:(?P<w>\d{1,6})W)?(?:(?P<d>\d{1,6})D)?"
    r"(?:T(?:(?P<h>\d{1,6})H)?(?:(?P<m>\d{1,6})M)?(?:(?P<s>\d{1,9})S)?)?",
    re.ASCII,
)
_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}


def duration_s(value: Any) -> int:
    """Seconds of an ISO 8601 duration of weeks, days, hours, minutes and whole seconds."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None or not any(match.groupdict().values()) or value.endswith("T"):
        raise Illegal(f"{value!r} is not a duration such as P30D or PT1H30M (no years or months)")
    seconds = sum(_SECONDS[unit] * int(n) for unit, n in match.groupdict().items() if n)
    if seconds == 0:
        raise Illegal("it is zero")
    return seconds


def minutes_seconds(value: Any) -> int:
    """Seconds of `mm:ss` (mshTimeAccuracy, seed 001 §2.1.1.5)."""
    match = re.fullmatch(r"([0-9]{2}):([0-5][0-9])", value) if isinstance(value, str) else None
    if match is None:
        raise Illegal(f'{value!r} is not "mm:ss"')
    return int(match[1]) * 60 + int(match[2])


def rate(value: Any) -> float:
    """How many times as fast a drill's clock runs."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.01 <= value <= 1000:
        raise Illegal(f"{value!r} is not a rate from 0.01 to 1000")
    return float(value)


def failpoints(value: Any) -> dict[str, int]:
    """Armed points of a drill, and at which time that each is reached."""
    if not isinstance(value, list):
        raise Illegal(f"{value!r} is not a list")
    armed: dict[str, int] = {}
    for entry in value:
        match = (
            re.fullmatch(r"([a-z-]+):([1-9][0-9]{0,8})", entry) if isinstance(entry, str) else None
        )
        if match is None or match[1] not in POINTS:
            raise Illegal(f"{entry!r} is not POINT:N")
        armed[match[1]] = int(match[2])
    return armed
