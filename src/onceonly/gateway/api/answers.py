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
from typing import Any, Final

from starlette.responses import JSONResponse

from onceonly.gateway.shapes import error_shape

UNKNOWN_TYPE: Final = "application/octet-stream"
_TYPE: Final = re.compile(r"[!-~]+(?: [!-~]+)*")
_TYPE_LENGTH_MAX: Final = 255
"""Longest Content-Type in the head of an answer: twice the longest that is registered."""


class Json(JSONResponse):
    """A JSON document without a character beyond ASCII, and without controls."""

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        return json.dumps(
            content, ensure_ascii=True, allow_nan=False, separators=(",", ":")
        ).encode("ascii")


def refusal(
    status_code: int, name: str, text: str, facts: Mapping[str, Any] = MappingProxyType({})
) -> Json:
    """A refusal: `name` never changes, and `facts` are details for programs."""
    return Json(error_shape(name, text, facts), status_code=status_code)


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
