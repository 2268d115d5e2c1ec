"""Answers of the application API: JSON in ASCII only, and one shape for every refusal.

Many answers contain text of partners, which may have control characters, marks that reverse the
direction of writing, or halves of surrogate pairs. They are escaped: for a reader of JSON the value
is the same, and they cannot control a terminal that shows the answer (attack X16).
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
"""Longest Content-Type in the head of an answer: twice the longest that is registered."""

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
        self.content = content


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
    """A caller's value as a refusal shows it: cut, but long enough to recognise it."""
    return _SHOWN.repr(value)


def sendable_type(content_type: str) -> str:
    """The Content-Type of a payload for the head of an answer: its own, if a head can have it.

    A partner may have sent one with a tab from a folded line, with characters that are not legal in
    a head, or thousands of characters long. The inbox item shows it unchanged.
    """
    folded = " ".join(content_type.split())
    is_sendable = len(folded) <= _TYPE_LENGTH_MAX and _TYPE.fullmatch(folded) is not None
    return folded if is_sendable else UNKNOWN_TYPE
