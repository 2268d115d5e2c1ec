"""Who may call the application API: this machine, or whoever has the token; no foreign web page.

A browser on this machine could be told by any page to post to us, so a request that names an
Origin is refused unless it is our own.
"""

import hmac
from typing import Any

from starlette.responses import JSONResponse

from onceonly.gateway.api.shapes import error_shape

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""What a load balancer asks without a token; they say nothing about messages."""

UNSNIFFED = (b"x-content-type-options", b"nosniff")
"""On every answer: what partners wrote must not be taken for a page by a browser (X17)."""


class Access:
    """Guards an ASGI application."""

    def __init__(self, *, origin: str, token: str | None) -> None:
        self._origin = origin
        self._token = token

    def guard(self, application: Any) -> Any:
        """The application behind the two checks, and no answer guessed at."""

        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            async def send_unsniffed(message: Any) -> None:
                if message["type"] == "http.response.start":
                    message = {**message, "headers": [*message["headers"], UNSNIFFED]}
                await send(message)

            refusal = self._refusal(scope) if scope["type"] == "http" else None
            await (refusal or application)(scope, receive, send_unsniffed)

        return guarded

    def _refusal(self, scope: Any) -> Any:
        headers = dict(scope["headers"])
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1") != self._origin:
            return _json(403, "ForeignOrigin", "a page of another origin may not call this API")
        if self._token is None or scope["path"] in OPEN_PATHS:
            return None
        given = headers.get(b"authorization", b"")
        if hmac.compare_digest(given, f"Bearer {self._token}".encode()):
            return None
        return _json(401, "Unauthorized", "the API token is missing or wrong")


def _json(status_code: int, name: str, text: str) -> JSONResponse:
    return JSONResponse(error_shape(name, text), status_code=status_code)
