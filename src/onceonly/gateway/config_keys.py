"""Every configuration key: its type, legal values, default, meaning and source.

The tables drive the reader and the reference page; a key that is not here does not exist.
"""

import ipaddress
import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from onceonly.gateway.drill import POINTS
from onceonly.message.errors import RemoteError
from onceonly.message.identity import PartyId, checked_identifier, is_uri
from onceonly.message.message import DeliverySemantics, Profile
from onceonly.message.terms import OnExhausted


class Illegal(ValueError):  # noqa: N818 - because it is a verdict on a value, caught by the reader
    """The value is not legal; the text says what is wrong with it."""


class Key(NamedTuple):
    """One key: how to read it, and what its reference entry says."""

    name: str
    parse: Callable[[Any], Any]
    legal: str
    meaning: str
    default: Any = None
    is_required: bool = False
    default_text: str = "none"


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise Illegal(f"{value!r} is not a text")
    return value


def _identifier(value: Any) -> str:
    try:
        return checked_identifier(_text(value), "it")
    except RemoteError as error:
        raise Illegal(error.description) from error


def _whole(smallest: int, largest: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise Illegal(f"{value!r} is not a whole number")
        if not smallest <= value <= largest:
            raise Illegal(f"{value} is out of range")
        return value

    return parse


def _parties(value: Any) -> tuple[PartyId, ...]:
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
            return PartyId(_text(entry["id"]), _text(entry["type"]))
    except RemoteError as error:
        raise Illegal(error.description) from error
    raise Illegal(f"{entry!r} is not a PartyId")


def http_uri(value: Any) -> str:
    """An http or https URI with a host and a path, and nothing that could hide another target."""
    text = _text(value)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise Illegal(f"{text!r} is not a URI: {error}") from error
    if parts.scheme == "ftp":
        raise Illegal("ftp has no binding (seed 000 §2.5.3 is an empty heading)")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise Illegal(f"{text!r} is not an http or https URI")
    if parts.username or parts.query or parts.fragment:
        raise Illegal(f"{text!r} has a user, query or fragment in it")
    # It goes into messages and request heads, whose grammars know no other characters.
    if not text.isascii() or not is_uri(text):
        raise Illegal(f"{text!r} has characters that a URI has not, or more than 255 of them")
    return text


def _listen(value: Any) -> str:
    text = http_uri(value)
    if urlsplit(text).port is None:
        raise Illegal(f"{text!r} names no port")
    if urlsplit(text).scheme != "http":
        raise Illegal("we listen on http only; let a reverse proxy end TLS, and set uri")
    return text


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


def _one_of(words: list[str]) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in words:
            raise Illegal(f"{value!r} is none of them")
        return str(value)

    return parse


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


def _minutes_seconds(value: Any) -> int:
    match = re.fullmatch(r"([0-9]{2}):([0-5][0-9])", value) if isinstance(value, str) else None
    if match is None:
        raise Illegal(f'{value!r} is not "mm:ss"')
    return int(match[1]) * 60 + int(match[2])


def _rate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.01 <= value <= 1000:
        raise Illegal(f"{value!r} is not a rate from 0.01 to 1000")
    return float(value)


def _failpoints(value: Any) -> dict[str, int]:
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


def _table(*keys: Key) -> dict[str, Key]:
    return {key.name: key for key in keys}


_SECONDS_RANGE = _whole(1, 10_000_000)

GATEWAY_KEYS = _table(
    Key(
        "party",
        _parties,
        'a list of PartyIds: URIs, or {id = "…", type = "…"}',
        "Our PartyIds; the first one is the default From.",
        is_required=True,
    ),
    Key(
        "listen",
        _listen,
        "an http URI with a port",
        "Where partners post to us.",
        is_required=True,
    ),
    Key(
        "uri",
        http_uri,
        "an http or https URI",
        "The address that we announce as SenderURI and expect as ReceiverURI (seed 000 §2.2.2).",
        default_text="`listen`",
    ),
    Key(
        "api",
        _listen,
        "an http URI with a port",
        "Application API. An address beyond this machine needs `api_token`.",
        is_required=True,
    ),
    Key(
        "api_token",
        _text,
        "a text",
        "Secret that API callers send as `Authorization: Bearer …`.",
    ),
    Key(
        "store",
        _text,
        "a path",
        "SQLite file that survives crashes, relative to this file; large payloads lie beside it.",
        is_required=True,
    ),
    Key(
        "lake",
        _text,
        "a path or fsspec URL",
        "Where journal segments are published.",
        default="lake",
        default_text='`"lake"`',
    ),
    Key(
        "publish_interval",
        _whole(1, 86_400),
        "whole seconds, 1 to 86400",
        "How often new journal rows are published as a segment.",
        default=60,
        default_text="`60`",
    ),
    Key(
        "payload_bytes_max",
        _whole(1, 1 << 40),
        "bytes",
        "Largest sum of payloads of one message, in and out.",
        default=1 << 30,
        default_text="`1073741824` (1 GiB)",
    ),
    Key(
        "queued_max",
        _whole(1, 1_000_000_000),
        "a count",
        "Most messages without a verdict; past it a submit is refused (R-27).",
        default=1_000_000,
        default_text="`1000000`",
    ),
)

AGREEMENT_KEYS = _table(
    Key("id", _identifier, "an identifier", "TPAId of the agreement.", is_required=True),
    Key(
        "profile",
        _one_of([profile.value for profile in Profile]),
        ", ".join(profile.value for profile in Profile),
        "Wire form and rules.",
        default="rm-2000",
        default_text='`"rm-2000"`',
    ),
    Key(
        "with",
        _parties,
        'a list of PartyIds: URIs, or {id = "…", type = "…"}',
        "The partner's PartyIds.",
        is_required=True,
    ),
    Key(
        "party",
        _parties,
        "some of the ids of [gateway] party",
        "Our PartyIds in this agreement.",
        default_text="all of `[gateway] party`",
    ),
    Key(
        "send_to",
        http_uri,
        "an http or https URI",
        "Where messages, acknowledgements and errors for the partner are posted (R-26).",
        is_required=True,
    ),
    Key(
        "error_to",
        http_uri,
        "an http or https URI",
        "A second address of the partner's, honoured when a message names it as ErrorURI (R-26).",
    ),
    Key(
        "receiver_uri",
        http_uri,
        "an http or https URI",
        "The URI that the partner's MSH announces, where it differs from `send_to`.",
        default_text="`send_to`",
    ),
    Key(
        "delivery_semantics",
        # The other semantics come with the second profile; until then they are refused by name.
        _one_of([DeliverySemantics.ONCE_AND_ONLY_ONCE.value]),
        "OnceAndOnlyOnce (others are not offered yet)",
        "Degree of reliability (seed 000 §2.2.1).",
        default="OnceAndOnlyOnce",
        default_text='`"OnceAndOnlyOnce"`',
    ),
    Key(
        "timeout",
        _SECONDS_RANGE,
        "whole seconds, 1 to 10000000",
        "Wait for a response after the first transmission (Timeout, seed 000 §2.1.4.1).",
        default=30,
        default_text="`30`",
    ),
    Key(
        "retries",
        _whole(0, 1_000_000),
        "a count, 0 to 1000000",
        "Most resends (Retries, seed 000 §2.1.4.1).",
        default=3,
        default_text="`3`",
    ),
    Key(
        "retry_interval",
        _SECONDS_RANGE,
        "whole seconds, 1 to 10000000",
        "Wait for a response after each resend (RetryInterval, seed 000 §2.1.4.1).",
        default=60,
        default_text="`60`",
    ),
    Key(
        "persist_duration",
        duration_s,
        "an ISO 8601 duration such as P30D",
        "Least time that ids are kept; a message older than this is refused (R-19).",
        default=30 * 86_400,
        default_text='`"P30D"`',
    ),
    Key(
        "time_to_live",
        duration_s,
        "an ISO 8601 duration such as P7D",
        "Age after which an unknown copy is refused and a failure is final (R-08, R-18).",
        default_text="none: a doubt stays a doubt",
    ),
    Key(
        "msh_time_accuracy",
        _minutes_seconds,
        '"mm:ss"',
        "How far the two wall clocks may differ.",
        default=30,
        default_text='`"00:30"`',
    ),
    Key(
        "on_exhausted",
        _one_of([choice.value for choice in OnExhausted]),
        ", ".join(choice.value for choice in OnExhausted),
        "What happens to the pair when the retries are used up (R-07).",
        default="suspend",
        default_text='`"suspend"`',
    ),
    Key(
        "transient_retries",
        _whole(0, 1_000_000),
        "a count, 0 to 1000000",
        "Most pauses in a row that TransientError may ask for (R-15).",
        default=100,
        default_text="`100`",
    ),
)

DRILL_KEYS = _table(
    Key(
        "clock_rate",
        _rate,
        "a number from 0.01 to 1000",
        "How many times as fast every wait of the protocol passes; the wall clock stays true.",
        default=1.0,
        default_text="`1`",
    ),
    Key(
        "clock_offset_file",
        _text,
        "a path",
        "A file whose number of seconds is added to the wall clock, read at each use.",
    ),
    Key(
        "failpoints",
        _failpoints,
        f"a list of POINT:N with POINT one of {', '.join(POINTS)}",
        "Kill the process at the N-th time that the point is reached.",
        default={},
        default_text="none",
    ),
)
