"""What a complete answer of HTTP says about the request that it answers (rulings R-05, R-46).

A refusal has to prove that nothing was stored. Whoever answers 3xx or 4xx did not take the
request. A 5xx is as often the word of a proxy, which cannot know what became of a request that it
passed on: it proves something only under the sign of an MSH.
"""

import re
from http import HTTPStatus
from typing import Final

from onceonly.message.printable import printable
from onceonly.transport.transport import Outcome

SAID_BY_PROXIES: Final = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT})
"""Of what a proxy heard, or did not hear, from whoever is behind it."""

PROVES_NOTHING: Final = frozenset({"InternalError"})
"""Names of `Onceonly-Error` that come after a bug of the receiver, which may have met it after its
commit. Every other name of a 5xx is said before anything is stored, or after a rollback."""

_PACKAGE: Final = re.compile(r"multipart/related\s*(;|$)", re.IGNORECASE)

PHRASE_LENGTH_MAX = 64
LOCATION_LENGTH_MAX = 200
REASON_LENGTH_MAX = 300
"""Of a peer's words in a row of the journal."""


def outcome_of(status: int, *, error_name: str, content_type: str, is_sent: bool) -> Outcome:
    """How a request ended that was answered so; `is_sent`: its last byte had left before.

    Signs of an MSH are a name in `Onceonly-Error` and a package in the answer.
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


def named(error_name: str, reason: str) -> str:
    """An MSH's own name for what was wrong, and its sentence about it, where it has one."""
    if not error_name or not reason:
        return error_name
    return f"{error_name}: {printable(reason)[:REASON_LENGTH_MAX]}"


def words_of(status: int, phrase: str, *, error_name: str, reason: str, location: str) -> str:
    """What was said, in printable words: an MSH's own, else status and phrase.

    Where a redirect leads is told without its query, which may hold secrets.
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
