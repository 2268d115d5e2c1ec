"""Answers of the application API: JSON in ASCII alone, and the one shape of every refusal.

What partners wrote stands in many of them: controls, marks that turn the direction of writing
around, halves of surrogate pairs. As escapes they have the same value for every reader of JSON,
and steer no terminal on their way to one (attack X16).
"""

import json
import re
from collections.abc import Mapping
from reprlib import Repr
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

import msgspec
from starlette.responses import Response, StreamingResponse

from onceonly.api.operation import JSON
from onceonly.api.refusals import REFUSALS, Refusal, Refused

UNKNOWN_TYPE: Final = "application/octet-stream"
_TYPE: Final = re.compile(r"[!-~]+(?: [!-~]+)*")
_TYPE_LENGTH_MAX: Final = 255
"""Of a Content-Type in our head; the longest that is registered has half of it."""

_FOREIGN: Final = re.compile("[^ -~]")
_PLANE: Final = 0x10000

A = TypeVar("A")


def ascii_json(value: Any) -> bytes:
    """A value of the API as JSON without a character beyond ASCII, and without controls."""
    try:
        body = msgspec.json.encode(value)
    except UnicodeEncodeError:
        # Half a surrogate pair has no UTF-8, but it has an escape.
        return json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode("ascii")
    if body.isascii() and b"\x7f" not in body:
        return body
    # Characters beyond ASCII stand only in texts, where an escape may stand as well.
    return _FOREIGN.sub(_escaped, body.decode()).encode("ascii")


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < _PLANE:
        return f"\\u{code:04x}"
    high, low = divmod(code - _PLANE, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


class Json(Response, Generic[A]):
    """A JSON document of a declared type."""

    media_type = JSON

    def __init__(
        self, content: A, status_code: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(ascii_json(content), status_code, headers)


class Bytes(Response):
    """What is no JSON: a payload, an Arrow stream, a text for another program."""


Answer = Json[A] | Bytes | StreamingResponse
"""What a call answers where it is not refused."""


def refusal(name: str, text: str, facts: Mapping[str, Any] = MappingProxyType({})) -> Json[Refused]:
    """A refusal with a name that stays, and what a program may want to know of it."""
    error = Refusal(name=name, text=text, **facts)
    return Json(Refused(error=error), REFUSALS[name].status)


_SHOWN: Final = Repr()
_SHOWN.maxstring = _SHOWN.maxother = 120


def shown(value: Any) -> str:
    """A value of a caller's, in a refusal: as much of it as tells which one is meant."""
    return _SHOWN.repr(value)


def sendable_type(content_type: str) -> str:
    """What the head of an answer says of a payload: its own type, where a head can have that.

    A partner's may have a tab from a folded line, characters that no head has, or thousands of
    them; the inbox item tells it as it is.
    """
    folded = " ".join(content_type.split())
    is_sendable = len(folded) <= _TYPE_LENGTH_MAX and _TYPE.fullmatch(folded) is not None
    return folded if is_sendable else UNKNOWN_TYPE
