"""How much of a request is read: every call has a limit, whatever it does with its body.

A small body is read completely before its call begins, so the limit also holds for a call that does
not use its body. Only calls that take documents read their body piece by piece, and count it.
"""

from typing import Any

from starlette.requests import Request

from onceonly.message.errors import LocalError

BODY_BYTES_MAX = 1 << 16
"""Longest body of a call that takes no documents: names, reasons and numbers, a few hundred."""

_LENGTH_DIGITS_MAX = 19
"""Most digits of a legal Content-Length: a number of 64 bits."""


def announced(request: Request) -> int | None:
    """The announced length of the body, or None; a text that is no length counts as too long."""
    text = request.headers.get("content-length")
    if text is None:
        return None
    is_length = text.isascii() and text.isdecimal() and len(text) <= _LENGTH_DIGITS_MAX
    return int(text) if is_length else 1 << 63


async def read_whole(request: Request) -> Request:
    """The request with its body at hand. Raises `LocalError` (BodyTooLarge)."""
    refusal = LocalError(
        "BodyTooLarge", f"the body of this call has {BODY_BYTES_MAX} bytes at most"
    )
    body = bytearray()
    async for piece in read_on(request, BODY_BYTES_MAX, refusal).stream():
        body += piece
    is_given = False

    async def receive() -> Any:
        nonlocal is_given
        if is_given:
            return await request.receive()
        is_given = True
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    return Request(request.scope, receive)


def read_on(request: Request, bytes_max: int, refusal: LocalError) -> Request:
    """The request; reading its body raises `refusal` if it has more than `bytes_max` bytes.

    Raises it at once if the announced length is too large.
    """
    if (announced(request) or 0) > bytes_max:
        raise refusal
    left = bytes_max

    async def receive() -> Any:
        nonlocal left
        message = await request.receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise refusal
        return message

    return Request(request.scope, receive)
