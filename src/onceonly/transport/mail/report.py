"""What a mail system says about a mail: the little of a delivery report that is worth knowing.

RFC 3464 puts fields about the delivery into one part of a report and the head of the mail that it
is about into another. Systems differ in how they frame these, and some send no report but a letter.
So the lines are read one by one, wherever they stand, and within bounds: the Message-IDs, the
action, the status. Anybody can write such lines, so whoever uses them must lose nothing by a false
one (attack M10).
"""

import re
from typing import Final

from onceonly.message.word import Word

REPORT_BYTES_MAX: Final = 1 << 16
"""How much of a report is read; its fields and the head of the mail come first, the mail last."""

NAMES_MAX: Final = 8
"""How many Message-IDs are kept: that of the report's subject, and of mails that it quotes."""

_NAME: Final = re.compile(
    rb"(?:x-)?(?:original-)?message-id[ \t]*:[ \t]*(<[!-;=?-~]{1,700}>)[ \t]*", re.IGNORECASE
)
_FIELD: Final = re.compile(
    rb"(action|status|diagnostic-code)[ \t]*:[ \t]*([ -~]{1,200}).*", re.IGNORECASE
)
_PASSING: Final = frozenset({"delayed", "delivered", "relayed", "expanded"})
"""Actions of RFC 3464 §2.3.3 that say nothing of a failure."""


class AutomaticReport(Word):
    """An automatic mail: its kind, and what a delivery report says."""

    kind: str
    """Bounce, DeliveryReport or AutoReply."""
    names: tuple[str, ...] = ()
    """Message-IDs that it names, with their brackets."""
    action: str = ""
    status: str = ""
    diagnostic: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether it may say that a mail was not delivered."""
        return self.kind != "AutoReply" and self.action not in _PASSING

    @property
    def words(self) -> str:
        """What it says, for people."""
        return " ".join(filter(None, (self.action, self.status, self.diagnostic)))


class ReportReader:
    """Reads the body of an automatic mail, line by line."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._bytes = 0
        self._names: list[str] = []
        self._fields: dict[str, str] = {}
        self._folded = b""

    def feed(self, line: bytes) -> None:
        """Take a line without its CRLF."""
        self._bytes += len(line)
        if self._kind == "AutoReply" or self._bytes > REPORT_BYTES_MAX:
            return
        if line[:1] in (b" ", b"\t"):
            # A long Message-ID may stand alone in the second line of its field.
            line, self._folded = self._folded + line, b""
        else:
            self._folded = line if line.rstrip().endswith(b":") else b""
        self._read(line)

    def _read(self, line: bytes) -> None:
        found = _NAME.fullmatch(line)
        if found is not None:
            name = found[1].decode("ascii")
            if len(self._names) < NAMES_MAX and name not in self._names:
                self._names.append(name)
            return
        field = _FIELD.fullmatch(line)
        if field is not None:
            self._fields.setdefault(field[1].decode().lower(), field[2].decode().strip())

    def finish(self) -> AutomaticReport:
        """What the lines said."""
        return AutomaticReport(
            self._kind,
            tuple(self._names),
            action=self._fields.get("action", "").lower(),
            status=self._fields.get("status", ""),
            diagnostic=self._fields.get("diagnostic-code", ""),
        )
