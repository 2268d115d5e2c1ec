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
from typing import Any, Final

from starlette.responses import JSONResponse

from onceonly.gateway.shapes import error_shape

UNKNOWN_TYPE: Final = "application/octet-stream"
_TYPE: Final = re.compile(r"[!-~]+(?: [!-~]+)*")
_TYPE_LENGTH_MAX: Final = 255
"""Of a Content-Type in our head; the longest that is registered has half of it."""


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
    """A refusal with a name that stays, and what a program may want to know of it."""
    return Json(error_shape(name, text, facts), status_code=status_code)


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
