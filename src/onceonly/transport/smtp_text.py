"""The bytes behind DATA: lines of 7-bit text, dots doubled, ended by a dot of their own.

Everything goes through here before it leaves, so nothing in a body can end the mail early or look
like a command, whatever a relay takes for a line end (attack M2).
"""

import re
from typing import Final

from onceonly.message.errors import LocalError
from onceonly.transport.smtp_limits import LINE_MAX

_BAD: Final = re.compile(
    rb"[\x00\x80-\xff]|\r(?!\n)|(?<!\r)\n|[^\r\n]{%d}" % (LINE_MAX + 1), re.DOTALL
)
_DOT: Final = re.compile(rb"^\.", re.MULTILINE)


class MailText:
    """Prepares a body that comes in pieces. Bytes that are no such text are a bug of ours."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """The whole lines so far, ready to be written. Raises `LocalError` (NotMail)."""
        data = self._rest + data
        end = data.rfind(b"\r\n") + 2
        if end < 2:
            end = 0
        lines, self._rest = data[:end], data[end:]
        if len(self._rest) > LINE_MAX + 1 or _BAD.search(lines):
            raise LocalError("NotMail", "a mail is lines of 7-bit text")
        return _DOT.sub(b"..", lines)

    def finish(self) -> bytes:
        """What is left, with the line end that every mail has, and the final dot."""
        last = self.feed(b"\r\n") if self._rest else b""
        return last + b".\r\n"
