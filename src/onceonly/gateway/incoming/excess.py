"""How much of a package is taken in, and what is said to one that has more (attack H12)."""

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.message import Message
from onceonly.transport.transport import Request
from onceonly.wire.limits import Limits

HEADERS_BYTES = 2 << 20
"""Room besides the payloads for the header document and the part headers."""


def limits_of(payload_bytes_max: int) -> Limits:
    """What is read of a package where its payloads may have so many bytes together."""
    return Limits(package_bytes_max=payload_bytes_max + HEADERS_BYTES)


def refuse_announced_excess(request: Request, limits: Limits) -> None:
    """Unread (attack H12); a body of unknown length is counted while it comes in.

    Raises `RemoteError`.
    """
    most = limits.package_bytes_max
    if request.content_length is not None and request.content_length > most:
        raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, f"a package has {most} bytes at most")


def refuse_excess(message: Message, payload_bytes_max: int) -> None:
    """Raise `RemoteError` for payloads that are larger together than the gateway takes."""
    if message.size_bytes > payload_bytes_max:
        raise RemoteError(
            ErrorCode.MESSAGE_TOO_LARGE, f"the payloads have more than {payload_bytes_max} bytes"
        )
