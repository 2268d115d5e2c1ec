"""Decodes Content-Transfer-Encodings, piece by piece (RFC 2045 §6, attack P9).

Knows the five of RFC 2045. Accepts deviations with only one possible meaning (ruling R-42): white
space in base64, and blanks at the end of a line of quoted-printable, which RFC 2045 §6.7 deletes.
Everything that could be decoded in more than one way is refused.
"""

import re
from binascii import Error as Base64Error
from binascii import a2b_base64, a2b_qp
from collections.abc import Callable
from typing import Final, Protocol

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.printable import quoted

QP_LINE_BYTES_MAX: Final = 1 << 14
"""Longest line of quoted-printable. RFC 2045 allows 76 characters, and mail 998; a line is kept in
memory until its end was seen."""

_QP_BROKEN = re.compile(rb"=(?![0-9A-Fa-f]{2}|\r?\n|\Z)|[^\t\r\n -~]|\r(?!\n)")
_QP_TRAILING = re.compile(rb"(?<![ \t\r])[ \t]++(?=\r?\n|\Z)")
"""Not after a CR, which stands alone then: without the blanks it would be a part of a line end."""


def _broken(description: str) -> RemoteError:
    return RemoteError(ErrorCode.MIME_PROBLEM, description)


class Transfer(Protocol):
    """Decodes a Content-Transfer-Encoding, piece by piece."""

    def decode(self, data: bytes) -> bytes:
        """What the next piece decodes to. Raises `RemoteError` (MimeProblem)."""
        ...

    def finish(self) -> bytes:
        """What the end of the part decodes to.

        Raises `RemoteError` (MimeProblem) if the part is not whole.
        """
        ...


class Identity:
    """8bit and binary: the bytes as they are."""

    def decode(self, data: bytes) -> bytes:
        """`data`."""
        return data

    def finish(self) -> bytes:
        """Empty: nothing is held back."""
        return b""


class SevenBit(Identity):
    """7bit: the bytes as they are, if they are ASCII (attack P9)."""

    def decode(self, data: bytes) -> bytes:
        """`data`. Raises `RemoteError` (MimeProblem)."""
        if not data.isascii():
            raise _broken("it says 7bit and has a byte above 127; expected is 8bit or binary")
        return data


class Base64:
    """base64 without junk: its alphabet and white space, padded to the end (attack P9)."""

    def __init__(self) -> None:
        self._rest = b""
        self._padded = False

    def decode(self, data: bytes) -> bytes:
        """What the next piece decodes to. Raises `RemoteError` (MimeProblem)."""
        data = self._rest + data.translate(None, b" \t\r\n")
        whole = len(data) & ~3
        self._rest = data[whole:]
        if not whole:
            return b""
        if self._padded:
            raise _broken("its base64 goes on after the padding; expected is the end of the part")
        self._padded = data[whole - 1 : whole] == b"="
        try:
            return a2b_base64(data[:whole], strict_mode=True)
        except Base64Error as error:
            raise _broken(
                "it says base64 and is not: expected are A-Z a-z 0-9 + / in groups of four, padded"
                " with = to the last"
            ) from error

    def finish(self) -> bytes:
        """Empty. Raises `RemoteError` (MimeProblem) if the last group of four is not complete."""
        if self._rest:
            raise _broken(
                f"its base64 is cut short: the last group has {len(self._rest)} characters,"
                " expected are four"
            )
        return b""


class QuotedPrintable:
    """quoted-printable, line by line; a line may also end in LF (RFC 2045 §6.7)."""

    def __init__(self) -> None:
        self._rest = b""

    def decode(self, data: bytes) -> bytes:
        """What the next piece decodes to. Raises `RemoteError` (MimeProblem)."""
        data = self._rest + data
        whole = data.rfind(b"\n") + 1
        lines, self._rest = data[:whole], data[whole:]
        return self._decode(lines)

    def finish(self) -> bytes:
        """The last line."""
        line, self._rest = self._rest, b""
        return self._decode(line)

    def _decode(self, lines: bytes) -> bytes:
        if max(len(self._rest), *map(len, lines.split(b"\n"))) > QP_LINE_BYTES_MAX:
            raise _broken(
                f"its quoted-printable has a line of more than {QP_LINE_BYTES_MAX} bytes; expected"
                " are 76"
            )
        # Before blanks are deleted, a soft line break may have some after it.
        lines = _QP_TRAILING.sub(b"", lines)
        found = _QP_BROKEN.search(lines)
        if found is not None:
            seen = lines[found.start() : found.start() + 3].decode("latin-1")
            raise _broken(
                f"it says quoted-printable and has {quoted(seen)}; expected are printable ASCII and"
                " = with two hexadecimal digits or at the end of a line"
            )
        return a2b_qp(lines)


_TRANSFERS: dict[str, Callable[[], Transfer]] = {
    "7bit": SevenBit,
    "8bit": Identity,
    "binary": Identity,
    "base64": Base64,
    "quoted-printable": QuotedPrintable,
}


def transfer_of(encoding: str) -> Transfer:
    """A decoder for `encoding`, in lower case. Raises `RemoteError` (MimeProblem) for others."""
    transfer = _TRANSFERS.get(encoding)
    if transfer is None:
        raise _broken(
            f"its Content-Transfer-Encoding {quoted(encoding)} is not known; expected is"
            f" {', '.join(_TRANSFERS)}, or none"
        )
    return transfer()
