"""MIME multipart/related, read strictly and in one pass, whatever the pieces it arrives in.

Knows RFC 2045, 2046 and 2387 as far as a message needs them, and their abuses (attacks P1-P10);
it must not know what the parts mean. The standard library's parser keeps everything in memory
and takes seconds on hostile input, so this one is our own: every byte is searched once, and what
is held back between two pieces is shorter than a delimiter line or the head of one part.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.wire.limits import DEFAULT, Limits

PADDING_BYTES_MAX: Final = 256
"""White space behind a boundary; RFC 2046 lets transports add some, nobody adds this much."""

FALSE_DELIMITERS_MAX: Final = 20_000
"""Lines that begin like a delimiter and are none. Each costs some microseconds, all of them
together a tenth of a second; whoever sends more chose the boundary in order to."""

DEFAULT_CONTENT_TYPE: Final = "text/plain; charset=us-ascii"
"""What a part without a Content-Type is (RFC 2046 §5.1)."""

_USED_FIELDS = frozenset({"content-type", "content-id", "content-transfer-encoding"})
_TOKEN = r"[!#$%&'*+\-.0-9A-Z^_`a-z|~]+"  # noqa: S105 - because it is a grammar, not a secret
_ESSENCE = re.compile(rf"[ \t]*({_TOKEN}/{_TOKEN})[ \t]*")
# Unquoted values are wider than a token: `start=<id>` and `type=text/xml` are in the field.
_PARAMETER = re.compile(
    rf";[ \t]*(?:({_TOKEN})=(?:\"((?:[^\"\\\x00-\x08\x0a-\x1f\x7f-\U0010ffff]|\\[ -~])*+)\""
    r"|([^\x00-\x20\";\\(),\x7f-\U0010ffff]++))[ \t]*)?"
)
_CHARSET = re.compile(r"[0-9A-Za-z._\-]{1,40}")
_QUOTED_PAIR = re.compile(r"\\(.)")
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]")
_CONTENT_ID = re.compile(r"[!-;=?-~]{1,250}")
_FIELD_NAME = re.compile(_TOKEN)
_BROKEN_LINE = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n")
_FOLD = re.compile(r"\r\n(?=[ \t])")
_DELIMITER_REST = re.compile(rb"(--)?[ \t]*(\r\n)?")


class MediaType(NamedTuple):
    """A Content-Type: `essence` is `type/subtype` in lower case, so are the parameters' names."""

    essence: str
    parameters: dict[str, str]


class PartHead(NamedTuple):
    """The head of one part; `content_id` is without angle brackets."""

    content_type: str
    content_id: str | None
    transfer_encoding: str


class PartBegun(NamedTuple):
    """A part begins; its bytes follow."""

    head: PartHead


class PartBytes(NamedTuple):
    """The next bytes of the part, as transferred."""

    data: bytes


class PartEnded(NamedTuple):
    """The part is complete."""


PartEvent = PartBegun | PartBytes | PartEnded


def _broken(description: str) -> RemoteError:
    return RemoteError(ErrorCode.MIME_PROBLEM, description)


def parse_media_type(value: str, limits: Limits = DEFAULT) -> MediaType:
    """The parts of a Content-Type value.

    Raises `RemoteError` (MimeProblem, MessageTooLarge).
    """
    if len(value) > limits.part_head_bytes_max:
        raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, "a Content-Type is too long")
    found = _ESSENCE.match(value)
    if found is None:
        raise _broken("a Content-Type is not of the form type/subtype")
    essence, at = found[1].lower(), found.end()
    parameters: dict[str, str] = {}
    count = 0
    while at < len(value):
        found = _PARAMETER.match(value, at)
        if found is None:
            raise _broken("a Content-Type has a malformed parameter")
        at = found.end()
        count += 1
        if count > limits.parameters_max:
            raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, "a Content-Type has too many parameters")
        if found[1] is not None:
            _add_parameter(parameters, found)
    return MediaType(essence, parameters)


# Partners send the same few types for ever. Bounded: 256 values of 16 KiB at the very most.
part_media_type = lru_cache(maxsize=256)(parse_media_type)


def _add_parameter(parameters: dict[str, str], found: re.Match[str]) -> None:
    name = found[1].lower()
    if name in parameters:
        raise _broken("a Content-Type has a parameter twice")
    quoted = found[2]
    if quoted is None:
        parameters[name] = found[3]
    else:
        parameters[name] = _QUOTED_PAIR.sub(r"\1", quoted) if "\\" in quoted else quoted


def is_boundary(value: str) -> bool:
    """Whether RFC 2046 allows `value` as a boundary: 1-70 characters of its set."""
    return _BOUNDARY.fullmatch(value) is not None


def checked_content_id(value: str) -> str:
    """`value` without its angle brackets, if it is a Content-ID. Raises `RemoteError`."""
    content_id = value[1:-1] if value[:1] == "<" and value[-1:] == ">" else value
    if _CONTENT_ID.fullmatch(content_id) is None:
        raise _broken("a Content-ID is not an identifier")
    return content_id


def is_content_id(value: str) -> bool:
    """Whether `value`, without angle brackets, can be written as a Content-ID."""
    return _CONTENT_ID.fullmatch(value) is not None


TYPE_LENGTH_MAX: Final = 960
"""Longest Content-Type of a payload that is kept whole. A line of a mail has 998 characters, and
nothing but its essence and its charset says what a document is."""

UNKNOWN_TYPE: Final = "application/octet-stream"
"""What is longer than that is no type that anybody registered."""

_NOT_CARRIED = re.compile(r"[^ -~]")


@lru_cache(maxsize=256)
def carried_type(value: str) -> str:
    """The Content-Type of a payload as it is kept, handed over and sent on, by whatever transport.

    Printable ASCII in one line, of bounded length: what is not is a name in somebody's alphabet,
    which stands in the Manifest, or somebody's trick. Nothing of it is used here (ruling R-42).
    `value` is one that `parse_media_type` reads; so is what comes out.
    """
    value = _NOT_CARRIED.sub(lambda found: " " if found[0] == "\t" else "?", value).strip()
    if len(value) <= TYPE_LENGTH_MAX:
        return value
    essence, parameters = parse_media_type(value)
    if len(essence) > TYPE_LENGTH_MAX:
        return UNKNOWN_TYPE
    charset = parameters.get("charset", "")
    return f"{essence}; charset={charset}" if _CHARSET.fullmatch(charset) else essence


@lru_cache(maxsize=256)
def check_writable_type(value: str) -> None:
    """Raise `LocalError` (InvalidText) unless `value` can be written as a part's Content-Type."""
    try:
        parse_media_type(value)
    except RemoteError as error:
        raise LocalError("InvalidText", f"not a Content-Type: {value[:80]!r}") from error
    if value != value.strip(" \t"):
        raise LocalError("InvalidText", "white space around a Content-Type")


def parse_part_head(head: bytes) -> PartHead:
    """The fields that we use of a part's head. Raises `RemoteError` (MimeProblem).

    Fields that we do not use are skipped; one that we use may stand there only once (P6).
    """
    if _BROKEN_LINE.search(head) is not None:
        raise _broken("a part's head has a control character, or a line that does not end in CRLF")
    fields: dict[str, str] = {}
    for line in _FOLD.sub("", head.decode("latin-1")).split("\r\n") if head else ():
        name, colon, value = line.partition(":")
        if not colon or _FIELD_NAME.fullmatch(name) is None:
            raise _broken("a line of a part's head is not a field")
        name = name.lower()
        if name in fields and name in _USED_FIELDS:
            raise _broken(f"{name} twice in one part")
        fields[name] = value.strip(" \t")
    content_id = fields.get("content-id")
    return PartHead(
        fields.get("content-type", DEFAULT_CONTENT_TYPE),
        None if content_id is None else checked_content_id(content_id),
        fields.get("content-transfer-encoding", "binary").lower(),
    )


class _Delimiter(NamedTuple):
    at: int
    end: int
    closes: bool


class Splitter:
    """Cuts the bytes of a multipart body into its parts.

    Feed it the body in pieces of any size, then `finish` it. The events do not depend on the
    pieces, save how the bytes of a part are spread over its `PartBytes`. Raises `RemoteError`
    (MimeProblem) for a boundary that is none.
    """

    def __init__(self, boundary: str, limits: Limits = DEFAULT) -> None:
        if not is_boundary(boundary):
            raise _broken("the boundary is not 1-70 characters of RFC 2046")
        self._limits = limits
        self._delimiter = b"\r\n--" + boundary.encode("ascii")
        # A delimiter is a whole line: the CRLF before the first line is not in the body.
        self._buffer = b"\r\n"
        self._at = 0
        self._leading = 0
        self._read = self._read_preamble
        self._parts = 0
        self._bytes = 0
        self._false_delimiters = 0
        self._ended = False

    def feed(self, data: bytes) -> Iterator[PartEvent]:
        """What the next piece completes. Raises `RemoteError` (MimeProblem, MessageTooLarge)."""
        self._bytes += len(data)
        if self._bytes > self._limits.package_bytes_max:
            raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, "the package is too long")
        if self._ended:  # whatever follows the final boundary is an epilogue, and skipped
            return
        self._buffer = self._buffer + data if self._buffer else data
        while not self._ended and (events := self._read()) is not None:
            yield from events
        self._buffer = self._buffer[self._at :]
        self._at = 0

    def finish(self) -> Iterator[PartEvent]:
        """What the end of the body completes.

        Raises `RemoteError` (MimeProblem) unless the final boundary was there.
        """
        if not self._ended:
            # The CRLF after the final boundary may be missing; it is made up for.
            self._bytes -= 2
            yield from self.feed(b"\r\n")
        if not self._ended:
            raise _broken("missing final boundary")

    # Each state returns the events that the buffer holds complete, or None for "more, please".

    def _read_preamble(self) -> tuple[PartEvent, ...] | None:
        stop, delimiter = self._find_delimiter()
        self._at = stop
        if delimiter is None:
            return None
        if delimiter.closes:
            raise _broken("the package has no part")
        self._at = delimiter.end
        self._read = self._read_head
        return ()

    def _read_head(self) -> tuple[PartEvent, ...] | None:
        at, size_max = self._at, self._limits.part_head_bytes_max
        if self._buffer.startswith(b"\r\n", at):
            blank_line = at
        else:
            end = self._buffer.find(b"\r\n\r\n", at, at + size_max + 4)
            if end < 0:
                if len(self._buffer) - at >= size_max + 4:
                    raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, "a part's head is too long")
                return None
            blank_line = end + 2
        self._parts += 1
        if self._parts > self._limits.parts_max:
            raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, "the package has too many parts")
        # The blank line stays, since its CRLF may already be that of the next delimiter: a part
        # without a body (RFC 2046 §5.1.1).
        self._at, self._leading = blank_line, 2
        self._read = self._read_body
        return (PartBegun(parse_part_head(self._buffer[at : max(at, blank_line - 2)])),)

    def _read_body(self) -> tuple[PartEvent, ...] | None:
        stop, delimiter = self._find_delimiter()
        start = self._at + self._leading
        if delimiter is None and stop <= start:
            return None
        data, self._leading = self._buffer[start:stop], 0
        if delimiter is None:
            self._at = stop
            return (PartBytes(data),)
        self._at, self._ended = delimiter.end, delimiter.closes
        self._read = self._read_head
        return (PartBytes(data), PartEnded()) if data else (PartEnded(),)

    def _find_delimiter(self) -> tuple[int, _Delimiter | None]:
        """The next delimiter line, and up to where the buffer surely is no delimiter line."""
        buffer, at = self._buffer, self._at
        while (at := buffer.find(self._delimiter, at)) >= 0:
            rest_at = at + len(self._delimiter)
            rest = _DELIMITER_REST.match(buffer, rest_at, rest_at + PADDING_BYTES_MAX)
            assert rest is not None, "the pattern matches the empty string too"
            if rest[2] is not None:
                return at, _Delimiter(at, rest.end(), closes=rest[1] is not None)
            if rest.end() - rest_at >= PADDING_BYTES_MAX - 1:
                raise _broken("too much white space behind a boundary")
            following = buffer[rest.end() : rest.end() + 2]
            if following in (b"", b"\r") or (following == b"-" and rest.end() == rest_at):
                return at, None
            at = rest_at
            self._false_delimiters += 1
            if self._false_delimiters > FALSE_DELIMITERS_MAX:
                raise _broken("too many lines that begin like a boundary")
        return max(self._at, len(buffer) - len(self._delimiter) + 1), None
