"""Paths of the API: an identifier is one segment of a path, percent-encoded.

Calls are routed by the path as it was sent, so that an escaped slash separates nothing: the
message `x/payloads/0` is never taken for a payload of the message `x`. Segments that differ only in
spelling (`a@b`, `a%40b`) are the same segment (RFC 3986 §6.2.2).
"""

import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import quote, unquote

from msgspec import inspect
from starlette.convertors import Convertor, IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from onceonly.api.operation import Operation
from onceonly.gateway.api.answers import refusal
from onceonly.gateway.api.declared import fields_of
from onceonly.message.word import Word

Endpoint = Callable[[Request], Awaitable[Response]]
"""What answers one method of a path."""


class _Step(Convertor[str]):
    """One segment, decoded; `on_steps` has checked that it can be decoded."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        return unquote(value)

    def to_string(self, value: str) -> str:
        return quote(value, safe="")


def _number(digits: int) -> IntegerConvertor:
    """A number in a path, of as many digits as the greatest that is declared."""

    class Number(IntegerConvertor):
        regex = f"[0-9]{{1,{digits}}}"

    return Number()


register_url_convertor("step", _Step())


def route_of(operation: Operation[Any, Any, Any, Any]) -> str:
    """The operation's path, as the router reads it."""
    declared: type[Word] = operation.path_type
    fields = fields_of(declared)

    def step(found: re.Match[str]) -> str:
        kind = fields[found[1]].kind
        if not isinstance(kind, inspect.IntType):
            return f"{{{found[1]}:step}}"
        digits = len(str(kind.le))
        register_url_convertor(f"number{digits}", _number(digits))
        return f"{{{found[1]}:number{digits}}}"

    return re.sub(r"{(\w+)}", step, operation.path)


class PathRoute(Route):
    """One path with all its methods: another one is answered 405, and `Allow` says which there are.

    A MessageId may be called like a step of ours (`processing`), so several paths may fit: the
    first that has the method is meant, and `Allow` has those of all.
    """

    def __init__(self, path: str, all_routes: "Iterable[PathRoute]") -> None:
        super().__init__(path, self._answered, methods=[])
        self._all = all_routes
        self.endpoints: dict[str, Endpoint] = {}

    def add(self, method: str, endpoint: Endpoint) -> None:
        """Serve a method; with GET, HEAD."""
        self.endpoints[method.upper()] = endpoint
        if method == "get":
            self.endpoints["HEAD"] = endpoint

    def matches(self, scope: Any) -> tuple[Match, Any]:
        """Whether the path fits, and the method as well."""
        match, child = super().matches(scope)
        if match is Match.NONE or scope["method"] in self.endpoints:
            return match, child
        return Match.PARTIAL, child

    async def _answered(self, request: Request) -> Response:
        endpoint = self.endpoints.get(request.method)
        if endpoint is None:
            fitting = (one for one in self._all if one.matches(request.scope)[0] is not Match.NONE)
            allowed = sorted({method for one in fitting for method in one.endpoints})
            raise HTTPException(405, headers={"allow": ", ".join(allowed)})
        return await endpoint(request)


def on_steps(application: Any) -> Any:
    """The ASGI application, which gets the path as it was sent, each segment in one spelling."""

    async def routed(scope: Any, receive: Any, send: Any) -> None:
        try:
            path = _one_spelling(scope["raw_path"].decode("ascii"))
        except UnicodeDecodeError:
            refused = refusal("InvalidField", "the path is not percent-encoded UTF-8")
            await refused(scope, receive, send)
            return
        await application({**scope, "path": path}, receive, send)

    return routed


def _one_spelling(path: str) -> str:
    return "/".join(quote(unquote(step, errors="strict"), safe="") for step in path.split("/"))
