"""The bytes after DATA: lines of 7-bit text with doubled dots, and a final dot.

Every body passes through here before it is sent, so nothing in it can end the mail early or look
like a command, whatever a relay takes for a line end (attack M2).
"""

from onceonly.message.errors import LocalError
from onceonly.transport.mail.limits import LINE_MAX


class MailText:
    """Prepares a body that comes in pieces. Bytes that are not 7-bit text are a bug of ours."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """The whole lines so far, ready to be written. Raises `LocalError` (NotMail)."""
        data = self._rest + data
        end = data.rfind(b"\r\n") + 2
        if end < 2:
            end = 0
        lines, self._rest = data[:end], data[end:]
        if len(self._rest) > LINE_MAX + 1 or not _is_text(lines):
            raise LocalError("NotMail", "a mail is lines of 7-bit text")
        stuffed = lines.replace(b"\r\n.", b"\r\n..")
        return b"." + stuffed if stuffed.startswith(b".") else stuffed

    def finish(self) -> bytes:
        """The rest of the body, with the line end that every mail has, and the final dot."""
        last = self.feed(b"\r\n") if self._rest else b""
        return last + b".\r\n"


def _is_text(lines: bytes) -> bool:
    """Whether it is whole lines of ASCII without NUL, with CR and LF in pairs, none too long."""
    if not lines.isascii() or b"\0" in lines:
        return False
    if not lines.count(b"\r") == lines.count(b"\n") == lines.count(b"\r\n"):
        return False
    return max(map(len, lines.split(b"\r\n"))) <= LINE_MAX
