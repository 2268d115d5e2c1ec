"""What a file is that somebody captured: an HTTP request, an HTTP answer, a mail, or a bare body.

Knows first lines and header blocks, and no package. The file is read in pieces and never held: its
head alone is in memory, within the bounds of the transports.
"""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from typing import BinaryIO, Final

from onceonly.explain.framing import (
    PIECE_BYTES,
    of_chunks,
    of_length,
    of_rewritten_chunks,
)
from onceonly.message.word import Word, changed
from onceonly.transport.mail.limits import HEAD_BYTES_MAX

Pieces = Callable[[], Iterator[bytes]]
"""The bytes of a body, from its beginning each time."""


class Kind(StrEnum):
    """What a capture is."""

    REQUEST = "http-request"
    ANSWER = "http-answer"
    MAIL = "mail"
    BODY = "mime-body"
    DOCUMENT = "header-document"
    UNKNOWN = "unknown"


WORDS: Final = {
    Kind.REQUEST: "an HTTP request",
    Kind.ANSWER: "an HTTP answer",
    Kind.MAIL: "a mail",
    Kind.BODY: "a bare MIME body",
    Kind.DOCUMENT: "a bare header document",
    Kind.UNKNOWN: "nothing that could be recognised",
}

TRIED: Final = (
    "an HTTP request: the first line is METHOD TARGET HTTP/x.y",
    "an HTTP answer: the first line is HTTP/x.y STATUS",
    "a mail: the first line is Name: value, and a blank line follows the header block",
    "a bare header document: the first character is <",
    "a bare MIME body: the first line is --BOUNDARY, or --content-type says what it is",
)

_REQUEST: Final = re.compile(rb"([A-Z]{1,32}) +(\S+) +HTTP/([0-9.]{1,8})[ \t]*\r?\n")
_ANSWER: Final = re.compile(rb"HTTP/([0-9.]{1,8}) +([0-9]{3})(?: ([^\r\n]*))?\r?\n")
_INTERIM: Final = (b"100", b"102", b"103")
_FIELD: Final = re.compile(rb"([!-9;-~]{1,100})[ \t]*:(.*)", re.DOTALL)
_BLANK_LINE: Final = re.compile(rb"\r?\n\r?\n")
_FOLD: Final = re.compile(rb"\r?\n(?=[ \t])")
_LINE_END: Final = re.compile(rb"\r?\n")
_LEADING: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:[ \t]*\r?\n){0,16}")
_BARE_LINE_FEED: Final = re.compile(rb"(?<!\r)\n")
_MARKUP: Final = (b"<", b"\xff\xfe<", b"\xfe\xff\x00<")
_MAILBOX_LINE: Final = re.compile(rb"From [^\r\n]*\r?\n")
_OF_A_MAIL: Final = frozenset(
    {"from", "to", "date", "subject", "received", "message-id", "return-path", "mime-version"}
)

_OF_MAIL_ALONE: Final = _OF_A_MAIL - {"date"}
_OF_HTTP: Final = frozenset(
    {"content-length", "transfer-encoding", "server", "host", "connection", "user-agent", "date"}
)
_DELIMITER: Final = re.compile(
    rb"--([0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?])[ \t]*\r?\n"
    rb"(?=[!-9;-~]{1,100}[ \t]*:)"
)
"""The first line of a MIME body, and the beginning of a field after it."""

LENGTH_DIGITS_MAX: Final = 18
"""Of a Content-Length; beyond it no number is meant."""

DOCUMENT_TYPE: Final = "application/vnd.eb+xml"


class Capture(Word, kw_only=True):
    """A file as its first lines say that it is to be read."""

    kind: Kind
    body: Pieces
    head: bytes = b""
    """The head as it was captured, up to and with its blank line."""
    fields: tuple[tuple[str, str], ...] = ()
    """Names in lower case, and values unfolded."""
    content_type: str = ""
    method: str = ""
    target: str = ""
    version: str = ""
    status: int = 0
    phrase: str = ""
    has_bare_line_feeds: bool = False
    """Every line of the head ends in LF alone: a program has rewritten the line ends."""
    remarks: tuple[str, ...] = ()

    @property
    def content_length(self) -> int | None:
        """What the head of an HTTP message announces; None where it announces no number."""
        length = self.find("content-length") or ""
        is_http = self.kind in (Kind.REQUEST, Kind.ANSWER)
        return int(length) if is_http and _is_number(length) else None

    @property
    def transfer_encoding(self) -> str:
        """Of the whole body, where it is one document without parts; HTTP has none."""
        has_parts = self.content_type.lstrip().lower().startswith("multipart/")
        if has_parts or self.kind in (Kind.REQUEST, Kind.ANSWER):
            return "binary"
        return (self.find("content-transfer-encoding") or "binary").strip().lower()

    def find(self, name: str) -> str | None:
        """The first field of that name."""
        return next((value for field, value in self.fields if field == name), None)


def recognise(file: BinaryIO, content_type: str | None) -> Capture:
    """What is in the seekable `file`; `content_type` says that it is a body of that type."""
    if content_type is not None:
        return _bare(file, content_type, 0)
    file.seek(0)
    start = file.read(HEAD_BYTES_MAX)
    found = _LEADING.match(start)
    at = 0 if found is None else found.end()
    head = _head_of(start, at)
    if (request := _REQUEST.match(start, at)) is not None:
        method, target, version = (part.decode("latin-1") for part in request.groups())
        given = _with_body(file, head, request.end(), is_answer=False)
        return _http(given, Kind.REQUEST, method=method, target=target, version=version)
    remarks: list[str] = []
    while (answer := _ANSWER.match(start, at)) is not None and answer[2] in _INTERIM:
        head = _head_of(start, at)
        if not head.is_whole or not _ANSWER.match(start, head.end):
            break
        remarks.append(f"an interim answer {answer[2].decode()} comes before it")
        at = head.end
    if answer is not None:
        head = _head_of(start, at)
        version, status, phrase = (
            (part or b"").decode("latin-1") for part in (answer[1], answer[2], answer[3])
        )
        given = _with_body(file, head, answer.end(), is_answer=True, status=int(status))
        given = changed(given, remarks=(*remarks, *given.remarks))
        return _http(given, Kind.ANSWER, version=version, status=int(status), phrase=phrase)
    if start[at:].startswith(_MARKUP) or start.startswith(_MARKUP):
        return _bare(file, DOCUMENT_TYPE, 0)
    if (delimiter := _DELIMITER.match(start, at)) is not None:
        boundary = delimiter[1].decode("ascii")
        remark = f"it has no Content-Type: its boundary is taken from its first line, {boundary}"
        bare = _bare(file, f'multipart/related; boundary="{boundary}"', 0)
        return changed(bare, remarks=(remark,))
    mailbox = _MAILBOX_LINE.match(start, at)
    return _mail(file, _head_of(start, at if mailbox is None else mailbox.end()))


class _Head(Word):
    raw: bytes
    at: int
    """Where it begins in the file."""
    is_whole: bool

    @property
    def end(self) -> int:
        return self.at + len(self.raw)


def _head_of(start: bytes, at: int) -> _Head:
    found = _BLANK_LINE.search(start, at)
    end = len(start) if found is None else found.end()
    return _Head(start[at:end], at, found is not None)


def _pieces(file: BinaryIO, at: int) -> Iterator[bytes]:
    file.seek(at)
    while piece := file.read(PIECE_BYTES):
        at += len(piece)
        yield piece
        file.seek(at)  # Somebody may have read in it meanwhile.


def _fields_of(block: bytes) -> tuple[tuple[str, str], ...]:
    found = []
    for line in _LINE_END.split(_FOLD.sub(b"", block)):
        field = _FIELD.fullmatch(line)
        if field is not None:
            name, value = (part.decode("latin-1") for part in field.groups())
            found.append((name.lower(), value.strip(" \t")))
    return tuple(found)


def _has_bare_line_feeds(head: bytes) -> bool:
    return b"\n" in head and b"\r\n" not in head


class _Given(Word):
    head: bytes
    fields: tuple[tuple[str, str], ...]
    body: Pieces
    remarks: tuple[str, ...]


def _with_body(
    file: BinaryIO, head: _Head, first_line_end: int, *, is_answer: bool, status: int = 200
) -> _Given:
    fields = _fields_of(head.raw[first_line_end - head.at :])
    rest = partial(_pieces, file, head.end)
    by_name = dict(reversed(fields))
    remarks = [] if head.is_whole else ["no blank line ends its head"]
    is_rewritten = _has_bare_line_feeds(head.raw)
    length = by_name.get("content-length", "")
    if is_answer and (status < 200 or status in (204, 304)):
        return _Given(head.raw, fields, _nothing, tuple(remarks))
    if by_name.get("transfer-encoding", "").lower() == "chunked":
        undo = of_rewritten_chunks if is_rewritten else of_chunks
        return _Given(head.raw, fields, lambda: undo(rest()), tuple(remarks))
    if _is_number(length):
        remarks += _length_remarks(file, head.end, int(length), is_rewritten=is_rewritten)
        if not is_rewritten:
            return _Given(head.raw, fields, lambda: of_length(rest(), int(length)), tuple(remarks))
    return _Given(head.raw, fields, rest, tuple(remarks))


def _is_number(digits: str) -> bool:
    return digits.isascii() and digits.isdigit() and len(digits) <= LENGTH_DIGITS_MAX


def _length_remarks(file: BinaryIO, at: int, length: int, *, is_rewritten: bool) -> list[str]:
    there = file.seek(0, 2) - at
    if there == length:
        return []
    said = f"Content-Length says {length}, and {there} bytes follow the head"
    if is_rewritten:
        return [f"{said}: its line ends were rewritten, so all that follows is taken for the body"]
    if there < length:
        return [f"{said}: the capture is cut short"]
    file.seek(at + length)
    after = file.read(256)
    what = "something else"
    if _ANSWER.match(after.lstrip(b"\r\n")):
        what = "an HTTP answer"
    elif _REQUEST.match(after.lstrip(b"\r\n")):
        what = "another HTTP request"
    return [f"{said}: what follows the body is {what}, to be explained in a file of its own"]


def _nothing() -> Iterator[bytes]:
    return iter(())


def _http(given: _Given, kind: Kind, **facts: object) -> Capture:
    by_name = dict(reversed(given.fields))
    return Capture(
        kind=kind,
        body=given.body,
        head=given.head,
        fields=given.fields,
        content_type=by_name.get("content-type", ""),
        has_bare_line_feeds=_has_bare_line_feeds(given.head),
        remarks=given.remarks,
        **facts,  # type: ignore[arg-type]  # because each kind gives its own
    )


def _mail(file: BinaryIO, head: _Head) -> Capture:
    fields = _fields_of(head.raw)
    named = {name for name, _ in fields}
    first = _LINE_END.split(head.raw, maxsplit=1)[0]
    is_mail = bool(named & _OF_A_MAIL) or "content-type" in named
    if not head.is_whole or not is_mail or _FIELD.fullmatch(first) is None:
        return Capture(kind=Kind.UNKNOWN, body=partial(_pieces, file, 0))
    by_name = dict(reversed(fields))
    is_rewritten = _has_bare_line_feeds(head.raw)
    rest = partial(_pieces, file, head.end)
    if named & _OF_HTTP and not named & _OF_MAIL_ALONE:
        http = _with_body(file, head, head.at, is_answer=False)
        return changed(
            _bare(file, by_name.get("content-type", ""), head.end),
            body=http.body,
            head=head.raw,
            fields=fields,
            remarks=("its fields are those of HTTP, without the first line", *http.remarks),
        )
    if not named & _OF_A_MAIL:
        given = _bare(file, by_name.get("content-type", ""), head.end)
        return Capture(
            kind=given.kind,
            body=given.body,
            head=head.raw,
            fields=fields,
            content_type=given.content_type,
            remarks=("its header block has the fields of a MIME part alone",),
        )
    return Capture(
        kind=Kind.MAIL,
        body=(lambda: with_crlf(rest())) if is_rewritten else rest,
        head=head.raw,
        fields=fields,
        content_type=by_name.get("content-type", ""),
        has_bare_line_feeds=is_rewritten,
    )


def _bare(file: BinaryIO, content_type: str, at: int) -> Capture:
    is_multipart = content_type.lstrip().lower().startswith("multipart/")
    return Capture(
        kind=Kind.BODY if is_multipart else Kind.DOCUMENT,
        body=partial(_pieces, file, at),
        content_type=content_type,
    )


def with_crlf(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same with CRLF for every line end that is LF alone, as a mail system has it."""
    ends_in_cr = False
    for piece in pieces:
        whole = _BARE_LINE_FEED.sub(b"\r\n", piece)
        if ends_in_cr and piece.startswith(b"\n"):
            whole = whole.removeprefix(b"\r")
        ends_in_cr = piece.endswith(b"\r")
        yield whole
