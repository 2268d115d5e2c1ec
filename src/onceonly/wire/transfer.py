"""Content-Transfer-Encodings, undone strictly and in pieces (RFC 2045 §6, attack P9).

Knows 7bit, 8bit, binary and base64; quoted-printable is refused, for it never carries a document
unchanged over every relay.
"""

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable
from typing import Protocol

from onceonly.message.errors import ErrorCode, RemoteError


def _broken(description: str) -> RemoteError:
    return RemoteError(ErrorCode.MIME_PROBLEM, description)


class Transfer(Protocol):
    """Undoes a Content-Transfer-Encoding, piece by piece."""

    def decode(self, data: bytes) -> bytes:
        """What the next piece decodes to. Raises `RemoteError` (MimeProblem)."""
        ...

    def finish(self) -> None:
        """The end of the part. Raises `RemoteError` (MimeProblem) if it is not whole."""
        ...


class Identity:
    """8bit and binary: the bytes as they are."""

    def decode(self, data: bytes) -> bytes:
        """`data`."""
        return data

    def finish(self) -> None:
        """Nothing is ever missing."""


class SevenBit(Identity):
    """7bit: the bytes as they are, if they are ASCII (attack P9)."""

    def decode(self, data: bytes) -> bytes:
        """`data`. Raises `RemoteError` (MimeProblem)."""
        if not data.isascii():
            raise _broken("a part that says 7bit is not")
        return data


class Base64:
    """base64 without junk: only its alphabet and line ends, padded to the end (attack P9)."""

    def __init__(self) -> None:
        self._rest = b""
        self._padded = False

    def decode(self, data: bytes) -> bytes:
        """What the next piece decodes to. Raises `RemoteError` (MimeProblem)."""
        data = self._rest + data.translate(None, b"\r\n")
        whole = len(data) & ~3
        self._rest = data[whole:]
        if not whole:
            return b""
        if self._padded:
            raise _broken("base64 goes on after its padding")
        self._padded = data[whole - 1 : whole] == b"="
        try:
            return a2b_base64(data[:whole], strict_mode=True)
        except Base64Error as error:
            raise _broken("a part is not base64") from error

    def finish(self) -> None:
        """The end of the part. Raises `RemoteError` (MimeProblem) if it is not whole."""
        if self._rest:
            raise _broken("base64 is cut short")


_TRANSFERS: dict[str, Callable[[], Transfer]] = {
    "7bit": SevenBit,
    "8bit": Identity,
    "binary": Identity,
    "base64": Base64,
}


def transfer_of(encoding: str) -> Transfer:
    """A decoder for `encoding`, in lower case. Raises `RemoteError` (MimeProblem) for others."""
    transfer = _TRANSFERS.get(encoding)
    if transfer is None:
        raise _broken("a Content-Transfer-Encoding other than 7bit, 8bit, binary and base64")
    return transfer()
