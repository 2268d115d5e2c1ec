"""What a complete answer of HTTP says about the request that it answers (rulings R-05, R-46).

A refusal must prove that nothing was stored. Whoever answers 3xx or 4xx did not take the request. A
5xx often comes from a proxy, which cannot know the outcome of a request that it passed on: it
proves something only if it shows that an MSH sent it.
"""

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from onceonly.message.printable import printable
from onceonly.transport.transport import Outcome

SAID_BY_PROXIES: Final = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT})
"""Statuses by which a proxy reports that its own server failed."""

PROVES_NOTHING: Final = frozenset({"InternalError"})
"""Names in `Onceonly-Error` after a bug of the receiver, which may have come after its commit.
Every other name with a 5xx means that nothing was stored, or that it was rolled back."""

COME_AGAIN: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.SERVICE_UNAVAILABLE,
    }
)
"""Statuses whose Retry-After is heeded."""

RETRY_AFTER_S_MAX: Final = 86_400
"""Longest Retry-After that is heeded: nobody can put a message off for longer at once."""

_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_DATE_LENGTH_MAX: Final = 64
_PACKAGE: Final = re.compile(r"multipart/related\s*(;|$)", re.IGNORECASE)
_XML: Final = re.compile(r"\s*text/xml\s*(;|$)", re.IGNORECASE)

PHRASE_LENGTH_MAX = 64
LOCATION_LENGTH_MAX = 200
REASON_LENGTH_MAX = 300
"""Longest text of a peer in a row of the journal."""


def outcome_of(status: int, *, error_name: str, content_type: str, is_sent: bool) -> Outcome:
    """The outcome of a request with this answer; `is_sent`: its last byte had left before.

    A name in `Onceonly-Error`, or a package in the answer, shows that an MSH answered.
    """
    if 200 <= status < 300:
        return Outcome.ACCEPTED if is_sent else Outcome.UNKNOWN
    if status < 500 or not is_sent or _is_refusal(status, error_name, content_type):
        return Outcome.REFUSED
    return Outcome.UNKNOWN


def _is_refusal(status: int, error_name: str, content_type: str) -> bool:
    if status in SAID_BY_PROXIES or error_name in PROVES_NOTHING:
        return False
    return bool(error_name) or _PACKAGE.match(content_type) is not None


def may_hold_fault(status: int, content_type: str) -> bool:
    """Whether the body of this answer can be a SOAP Fault about the request."""
    return status >= 400 and _XML.match(content_type) is not None


def read_retry_after(status: int | None, value: str, *, date: str, now: datetime) -> int | None:
    """The seconds of a Retry-After beside this status; None if there are none to heed.

    An HTTP date in it is a time of the peer's clock, which need not go as ours does. So it counts
    from `date`, the Date of the same answer, and from `now` where the answer has none.
    """
    if status not in COME_AGAIN:
        return None
    if _SECONDS.fullmatch(value) is not None:
        return min(int(value), RETRY_AFTER_S_MAX)
    until = _find_instant(value)
    if until is None:
        return None
    wait = until - (_find_instant(date) or now)
    return min(max(math.ceil(wait.total_seconds()), 0), RETRY_AFTER_S_MAX)


def _find_instant(value: str) -> datetime | None:
    """An HTTP date in any of its three forms (RFC 9110 §5.6.7); None for everything else."""
    if len(value) > _DATE_LENGTH_MAX:
        return None
    try:
        instant = parsedate_to_datetime(value)
        # What names no zone is GMT, too: the oldest form never does.
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def named(error_name: str, reason: str) -> str:
    """The MSH's name for what was wrong, and its sentence about it, if there is one."""
    if not error_name or not reason:
        return error_name
    return f"{error_name}: {printable(reason)[:REASON_LENGTH_MAX]}"


def words_of(status: int, phrase: str, *, error_name: str, reason: str, location: str) -> str:
    """The answer in printable words: those of an MSH, otherwise status and phrase.

    The target of a redirect is shown without its query, which may contain secrets.
    """
    if error_name:
        return named(error_name, reason)
    said = f"{status} {printable(phrase)[:PHRASE_LENGTH_MAX] or _phrase(status)}".rstrip()
    if not 300 <= status < 400 or not location:
        return said
    place = printable(re.split(r"[?#]", location, maxsplit=1)[0])[:LOCATION_LENGTH_MAX]
    return f"{said}, to {place}"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
