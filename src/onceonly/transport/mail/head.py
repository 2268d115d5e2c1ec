"""The header block of a mail: ours is written by a fixed grammar, a peer's is read within bounds.

Knows RFC 5322 lines and the few fields that say what a mail is. Only the Content-Type of a package
and, if it is plain enough, its MessageId get into a header that we write (attack M3). A mail is
either a package for the gateway or an automatic mail about another mail. The latter is never taken
for an answer and never answered (attack M10, RFC 3834).
"""

import re
from datetime import datetime
from email.utils import format_datetime
from typing import Final

from onceonly.message.errors import LocalError
from onceonly.message.package import HOPS_HEADER
from onceonly.message.word import Word, changed
from onceonly.transport.mail import reply
from onceonly.transport.mail.limits import HEAD_BYTES_MAX, LINE_MAX, RECEIVED_MAX
from onceonly.transport.mail.reply import MailRefused
from onceonly.transport.transport import Headers, read_hops

_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9@._:/+=-]{1,200}")
_FIELD: Final = re.compile(rb"([!-9;-~]{1,100})[ \t]*:(.*)", re.DOTALL)
_HOPS: Final = HOPS_HEADER.lower().encode("ascii")
_KEPT: Final = frozenset({b"content-type", b"content-transfer-encoding", b"auto-submitted", _HOPS})
_AS_THEY_ARE: Final = frozenset({"", "7bit", "8bit", "binary"})
_TO_BE_UNDONE: Final = frozenset({"base64", "quoted-printable"})
_ID: Final = re.compile(r"<[!-;=?-~]{1,700}>")
_ABOUT_MAIL: Final = frozenset(
    {"multipart/report", "message/delivery-status", "message/disposition-notification"}
)


class MailHead(Word):
    """What the header block of an incoming mail says."""

    content_type: str
    automatic: str | None
    """What kind of automatic mail it is, or None for one that a partner's MSH sent."""
    message_id: str | None = None
    """The mail's own Message-ID with its brackets; None where it has none, or several."""
    transfer_encoding: str = "binary"
    """Of the whole body, which then has no parts (RFC 2045 §6.4)."""
    hops: int = 0
    """See `transport.Request`."""


def render_head(  # noqa: PLR0913 - because each is a line of the head
    *,
    sender: str,
    recipient: str,
    content_type: str,
    message_id: str,
    mail_name: str,
    date: datetime,
    headers: Headers = (),
) -> bytes:
    """The header block with its empty line. Addresses have passed `is_mailbox`.

    `mail_name` is new for each transmission: a mailbox that drops a second copy of one Message-ID
    would drop the resend of a mail that was lost after it. Raises `LocalError` (InvalidText) for a
    Content-Type that is not a single line.
    """
    if not (content_type.isascii() and content_type.isprintable()):
        raise LocalError("InvalidText", "a Content-Type is one line of ASCII")
    subject = f"ebXML message {message_id}" if _PLAIN_ID.fullmatch(message_id) else "ebXML message"
    lines = [
        f"Date: {format_datetime(date)}",
        f"From: <{sender}>",
        f"To: <{recipient}>",
        f"Subject: {subject}",
        f"Message-ID: <{mail_name}@{sender.rpartition('@')[2]}>",
        "MIME-Version: 1.0",
        *(f"{name}: {value}" for name, value in headers),
        f"Content-Type: {content_type}",
    ]
    if not all(line.isascii() and line.isprintable() for line in lines):
        raise LocalError("InvalidText", "a header is one line of ASCII")
    if max(map(len, lines)) > LINE_MAX:
        raise LocalError("InvalidText", f"a header has more than {LINE_MAX} characters")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


class HeadReader:
    """Reads a header block line by line. Refuses it by raising `MailRefused`."""

    def __init__(self, *, has_sender: bool) -> None:
        self._automatic = None if has_sender else "Bounce"
        self._field = b""
        self._kept: dict[bytes, str] = {}
        self._ids: list[str] = []
        self._size_bytes = 0
        self._received_count = 0

    def feed(self, line: bytes) -> MailHead | None:
        """Take a line without its CRLF; the empty line returns the head. Raises MailRefused."""
        self._size_bytes += len(line)
        if self._size_bytes > HEAD_BYTES_MAX:
            raise MailRefused(reply.HEAD_TOO_LARGE)
        if line[:1] in (b" ", b"\t") and self._field:
            self._field += line
            return None
        self._end_field()
        self._field = line
        return None if line else self._head()

    def _end_field(self) -> None:
        if not self._field:
            return
        match = _FIELD.fullmatch(self._field)
        if match is None:
            raise MailRefused(reply.MALFORMED_HEAD)
        name = match[1].lower()
        if name == b"received":
            self._received_count += 1
            if self._received_count > RECEIVED_MAX:
                raise MailRefused(reply.MAIL_LOOP)
        elif name == b"message-id":
            # A mail is taken whatever stands there; only a plain one is worth remembering.
            self._ids.append(match[2].decode("ascii", "replace").strip())
        elif name in _KEPT:
            if name in self._kept or not match[2].isascii():
                raise MailRefused(reply.MALFORMED_HEAD)
            self._kept[name] = match[2].decode("ascii").strip()

    def _head(self) -> MailHead:
        content_type = self._kept.get(b"content-type", "")
        automatic = self._automatic
        if automatic is None and _first_word(self._kept.get(b"auto-submitted", "no")) != "no":
            automatic = "AutoReply"
        if automatic is None and _first_word(content_type) in _ABOUT_MAIL:
            automatic = "DeliveryReport"
        encoding = self._kept.get(b"content-transfer-encoding", "").lower()
        named = self._ids[0] if len(self._ids) == 1 else ""
        head = MailHead(
            content_type,
            automatic,
            message_id=named if _ID.fullmatch(named) else None,
            hops=read_hops(self._kept.get(_HOPS, "")),
        )
        if automatic is not None or encoding in _AS_THEY_ARE:
            return head
        # A multipart is never encoded itself, so it could be read in two ways (S18).
        has_parts = _first_word(content_type).startswith("multipart/")
        if not content_type or has_parts or encoding not in _TO_BE_UNDONE:
            raise MailRefused(reply.TRANSFER_ENCODING)
        return changed(head, transfer_encoding=encoding)


def _first_word(value: str) -> str:
    return re.split(r"[;\s(]", value, maxsplit=1)[0].lower()
