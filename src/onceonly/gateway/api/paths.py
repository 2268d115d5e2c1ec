"""Paths of the API: an identifier is one segment of a path, percent-encoded.

Calls are routed by the path as it was sent, so that an escaped slash separates nothing: the
message `x/payloads/0` is never taken for a payload of the message `x`. Segments that differ only in
spelling (`a@b`, `a%40b`) are the same segment (RFC 3986 §6.2.2).
"""

from typing import Any
from urllib.parse import quote, unquote

from starlette.convertors import Convertor, IntegerConvertor, register_url_convertor

from onceonly.gateway.api.answers import refusal


class _Step(Convertor[str]):
    """One segment, decoded; `on_steps` has checked that it can be decoded."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return unquote(value)

    def to_string(self, value: str) -> str:
        return quote(value, safe="")


class _Number(IntegerConvertor):
    """A number in a path, of as many digits as any number of a payload has."""

    regex = "[0-9]{1,9}"


class _Offset(IntegerConvertor):
    """A number in a path, of as many digits as any offset has."""

    regex = "[0-9]{1,18}"


register_url_convertor("step", _Step())
register_url_convertor("number", _Number())
register_url_convertor("offset", _Offset())


def on_steps(application: Any) -> Any:
    """The ASGI application, which gets the path as it was sent, each segment in one spelling."""

    async def routed(scope: Any, receive: Any, send: Any) -> None:
        try:
            path = _one_spelling(scope["raw_path"].decode("ascii"))
        except UnicodeDecodeError:
            refused = refusal(400, "InvalidField", "the path is not percent-encoded UTF-8")
            await refused(scope, receive, send)
            return
        await application({**scope, "path": path}, receive, send)

    return routed


def _one_spelling(path: str) -> str:
    return "/".join(quote(unquote(step, errors="strict"), safe="") for step in path.split("/"))
