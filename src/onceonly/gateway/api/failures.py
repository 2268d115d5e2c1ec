"""What a caller is told where a call raises: each kind of failure has its refusal."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from onceonly.gateway.api.answers import refusal
from onceonly.message.errors import LocalError
from onceonly.store.contract.conditions import StoreExhausted, StoreFailed, StoreFull


async def _on_local_error(request: Request, error: LocalError) -> Response:
    del request
    return refusal(error.name, str(error), error.facts)


async def _on_store_full(request: Request, error: StoreFull) -> Response:
    del request, error
    text = "the disk is full; nothing was accepted, try again when there is space"
    return refusal("StoreFull", text)


async def _on_store_exhausted(request: Request, error: StoreExhausted) -> Response:
    """Ruling R-43: descriptors or memory are used up for the moment."""
    del request
    return refusal("Busy", str(error))


async def _on_store_failed(request: Request, error: StoreFailed) -> Response:
    """Tells the supervisor, who stops the process (R-22); the caller rarely sees this answer."""
    del request
    context = {"message": "a call met a broken store", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)
    return refusal("StoreFailed", "the store failed; the gateway stops")


async def _on_disconnect(request: Request, error: ClientDisconnect) -> Response:
    """Nobody reads this answer: the caller left in the middle of its request."""
    del request, error
    return refusal("CallerGone", "the request ended before its body did")


async def _on_http_exception(request: Request, error: HTTPException) -> Response:
    del request
    name = {404: "NotFound", 405: "MethodNotAllowed"}.get(error.status_code, "InvalidRequest")
    answer = refusal(name, error.detail)
    answer.headers.update(error.headers or {})
    return answer


ON_FAILURE: Final[Mapping[Any, Callable[[Request, Any], Awaitable[Response]]]] = {
    HTTPException: _on_http_exception,
    LocalError: _on_local_error,
    StoreExhausted: _on_store_exhausted,
    StoreFull: _on_store_full,
    StoreFailed: _on_store_failed,
    ClientDisconnect: _on_disconnect,
}
"""For each exception that a call may raise, what answers it."""
