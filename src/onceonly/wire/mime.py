"""MIME multipart/related, read in one pass, whatever the pieces it arrives in.

Knows RFC 2045, 2046 and 2387 as far as a message needs them, and their abuses (attacks P1-P10);
it must not know what the parts mean. The standard library's parser keeps everything in memory
and takes seconds on hostile input, so this one is our own: every byte is searched once, and what
is held back between two pieces is shorter than a delimiter line or the head of one part.

The lines of a frame (delimiters and heads) end in CRLF, or all of them in LF, as files and some
mail systems have it; the first delimiter line says which (ruling R-42). A delimiter that ends the
other way is one to some readers and none to others, so a frame with both kinds is refused.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.printable import quoted
from onceonly.message.word import Word
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
_QUOTED = r"\"((?:[^\"\\\x00-\x08\x0a-\x1f\x7f-\U0010ffff]|\\[ -~])*+)\""
_UNQUOTED = r"([^\x00-\x20\";\\(),\x7f-\U0010ffff]++)"
_PARAMETER = re.compile(rf";[ \t]*(?:({_TOKEN})=(?:{_QUOTED}|{_UNQUOTED})[ \t]*)?")
# RFC 2045 §5.1 lets blanks stand round the equals sign, and mail programs fold there; in the head
# of an HTTP request nobody may (RFC 9110 §5.6.6).
_PART_PARAMETER = re.compile(rf";[ \t]*(?:({_TOKEN})[ \t]*=[ \t]*(?:{_QUOTED}|{_UNQUOTED})[ \t]*)?")
_CHARSET = re.compile(r"[0-9A-Za-z._\-]{1,40}")
_QUOTED_PAIR = re.compile(r"\\(.)")
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]")
_CONTENT_ID = re.compile(r"[!-;=?-~]{1,250}")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_FIELD_NAME = re.compile(_TOKEN)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BARE_CR = re.compile(rb"\r(?!\n)")
_BARE_LF = re.compile(rb"(?<!\r)\n")
_FOLD = re.compile(r"\n(?=[ \t])")
_DELIMITER_REST = re.compile(rb"(--)?[ \t]*(\r?\n)?")

_CRLF: Final = b"\r\n"
_LF: Final = b"\n"
_LINE_ENDS: Final = {_CRLF: "CRLF", _LF: "LF"}


class MediaType(Word):
    """A Content-Type: `essence` is `type/subtype` in lower case, so are the parameters' names."""

    essence: str
    parameters: dict[str, str]


class PartHead(Word):
    """The head of one part; `content_id` is without angle brackets."""

    content_type: str
    content_id: str | None
    transfer_encoding: str


class PartBegun(Word):
    """A part begins; its bytes follow."""

    head: PartHead


class PartBytes(Word):
    """The next bytes of the part, as transferred."""

    data: bytes


class PartEnded(Word):
    """The part is complete."""


PartEvent = PartBegun | PartBytes | PartEnded


def _broken(description: str) -> RemoteError:
    return RemoteError(ErrorCode.MIME_PROBLEM, description)


def _too_large(description: str) -> RemoteError:
    return RemoteError(ErrorCode.MESSAGE_TOO_LARGE, description)


def parse_media_type(
    value: str, limits: Limits = DEFAULT, *, parameter: re.Pattern[str] = _PARAMETER
) -> MediaType:
    """The parts of a Content-Type value, as strictly as the head of an HTTP request is read.

    Raises `RemoteError` (MimeProblem, MessageTooLarge).
    """
    if len(value) > limits.part_head_bytes_max:
        raise _too_large(
            f"a Content-Type has {len(value)} characters; at most {limits.part_head_bytes_max}"
            " are read"
        )
    found = _ESSENCE.match(value)
    if found is None:
        raise _broken(f"the Content-Type is {quoted(value)}; expected is the form type/subtype")
    essence, at = found[1].lower(), found.end()
    parameters: dict[str, str] = {}
    count = 0
    while at < len(value):
        found = parameter.match(value, at)
        if found is None:
            raise _broken(
                f"a Content-Type has a malformed parameter at {quoted(value[at:])}; expected is"
                ' ; name=value or ; name="value"'
            )
        at = found.end()
        count += 1
        if count > limits.parameters_max:
            raise _too_large(
                f"a Content-Type has too many parameters; at most {limits.parameters_max} are read"
            )
        if found[1] is not None:
            _add_parameter(parameters, found)
    return MediaType(essence, parameters)


@lru_cache(maxsize=256)
def part_media_type(value: str, limits: Limits = DEFAULT) -> MediaType:
    """The parts of the Content-Type of a part. Raises `RemoteError` like `parse_media_type`.

    Partners send the same few types for ever. Kept are 256 values of 16 KiB at the very most.
    """
    return parse_media_type(value, limits, parameter=_PART_PARAMETER)


def _add_parameter(parameters: dict[str, str], found: re.Match[str]) -> None:
    name = found[1].lower()
    if name in parameters:
        raise _broken(f"a Content-Type has the parameter {quoted(name)} twice; expected is one")
    parameters[name] = _value_of(found)


def _value_of(found: re.Match[str]) -> str:
    text: str | None = found[2]
    if text is None:
        return str(found[3])
    return _QUOTED_PAIR.sub(r"\1", text) if "\\" in text else text


def is_boundary(value: str) -> bool:
    """Whether RFC 2046 allows `value` as a boundary: 1-70 characters of its set."""
    return _BOUNDARY.fullmatch(value) is not None


def checked_content_id(value: str) -> str:
    """`value` without its angle brackets and blanks, if it is a Content-ID.

    Raises `RemoteError` (MimeProblem).
    """
    content_id = value.strip(" \t")
    if content_id[:1] == "<" and content_id[-1:] == ">":
        content_id = content_id[1:-1].strip(" \t")
    if _CONTENT_ID.fullmatch(content_id) is None:
        raise _broken(
            f"the Content-ID is {quoted(value)}; expected are 1-250 visible ASCII characters in"
            " angle brackets"
        )
    return content_id


def is_content_id(value: str) -> bool:
    """Whether `value`, without angle brackets, can be written as a Content-ID."""
    return _CONTENT_ID.fullmatch(value) is not None


def content_ids_of(reference: str) -> tuple[str, ...]:
    """The Content-IDs that a cid: URI with this behind its scheme may mean, the plainest first.

    As it stands, and percent-decoded where that is another one (RFC 2392, ruling R-42).
    """
    decoded = _ENCODED.sub(lambda found: chr(int(found[1], 16)), reference)
    if decoded == reference or not is_content_id(decoded):
        return (reference,)
    return (reference, decoded)


TYPE_LENGTH_MAX: Final = 960
"""Longest Content-Type of a payload that is kept whole. A line of a mail has 998 characters, and
nothing but its essence and its charset says what a document is."""

UNKNOWN_TYPE: Final = "application/octet-stream"
"""What is longer than that is no type that anybody registered, and what has no type/subtype is
none at all."""

_NOT_CARRIED = re.compile(r"[^ -~]")


@lru_cache(maxsize=256)
def carried_type(value: str) -> str:
    """The Content-Type of a payload as it is kept, handed over and sent on, by whatever transport.

    Printable ASCII in one line, of bounded length, that `parse_media_type` reads: what is not is a
    name in somebody's alphabet, which stands in the Manifest, or somebody's trick. Nothing of it
    is used here, so nothing of it refuses a message (ruling R-42).
    """
    value = _NOT_CARRIED.sub(lambda found: " " if found[0] == "\t" else "?", value).strip()
    if len(value) <= TYPE_LENGTH_MAX and _is_type(value):
        return value
    found = _ESSENCE.match(value)
    if found is None or len(found[1]) > TYPE_LENGTH_MAX:
        return UNKNOWN_TYPE
    return _rewritten(found[1], value[found.end() :])


def _is_type(value: str) -> bool:
    try:
        parse_media_type(value)
    except RemoteError:
        return False
    return True


def _rewritten(essence: str, rest: str) -> str:
    """The type with those of its parameters that can be made out, as many as there is room for.

    One that is named twice says two things, and is left out.
    """
    parameters: dict[str, str | None] = {}
    for found in _PART_PARAMETER.finditer(rest):
        if found[1] is not None and len(parameters) < DEFAULT.parameters_max:
            name = found[1].lower()
            parameters[name] = None if name in parameters else _value_of(found)
    charset = parameters.pop("charset", None)
    whole = essence
    if charset is not None and _CHARSET.fullmatch(charset) is not None:
        whole += f"; charset={charset}"
    for name, text in parameters.items():
        if text is not None:
            escaped = text.replace("\\", "\\\\").replace('"', '\\"')
            longer = f'{whole}; {name}="{escaped}"'
            whole = longer if len(longer) <= TYPE_LENGTH_MAX else whole
    return whole if len(whole) <= TYPE_LENGTH_MAX else essence


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

    Its lines end all in CRLF or all in LF. Fields that we do not use are skipped, whatever they
    hold; one that we use may stand there only once (P6), and without control characters.
    """
    if _BARE_CR.search(head) is not None:
        raise _broken("a line of its head has a CR without LF; expected is one kind of line end")
    fields: dict[str, str] = {}
    lines = head.decode("latin-1").replace("\r\n", "\n")
    for line in _FOLD.sub("", lines).split("\n") if head else ():
        name, colon, value = line.partition(":")
        if not colon or _FIELD_NAME.fullmatch(name) is None:
            raise _broken(
                f"the line {quoted(line)} of its head is not a field; expected is Name: value, and"
                " a blank before a line that goes on"
            )
        name = name.lower()
        if name in _USED_FIELDS:
            _check_used(name, value, fields)
        fields[name] = value.strip(" \t")
    content_id = fields.get("content-id")
    return PartHead(
        fields.get("content-type", DEFAULT_CONTENT_TYPE),
        None if content_id is None else checked_content_id(content_id),
        fields.get("content-transfer-encoding", "binary").lower(),
    )


def _check_used(name: str, value: str, fields: dict[str, str]) -> None:
    if name in fields:
        raise _broken(f"it has the field {name} twice; expected is one")
    if name != "content-type" and _CONTROL.search(value) is not None:
        raise _broken(
            f"its field {name} has a control character, {quoted(value)}; expected is visible text"
        )


class _Delimiter(Word):
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
            raise _broken(
                f"the boundary is {quoted(boundary)}; expected are 1-70 characters of those that"
                " RFC 2046 section 5.1.1 allows"
            )
        self._limits = limits
        self._delimiter = b"\n--" + boundary.encode("ascii")
        # A delimiter is a whole line: the line end before the first line is not in the body.
        self._buffer = _LF
        self._at = 0
        self._leading = 0
        self._line_end: bytes | None = None
        """That of the frame, once its first delimiter line was read."""
        self._read = self._read_preamble
        self._parts = 0
        self._bytes = 0
        self._is_begun = False
        """Whether the line end that stands before the first byte is behind us."""
        self._false_delimiters = 0
        self._ended = False

    def feed(self, data: bytes) -> Iterator[PartEvent]:
        """What the next piece completes. Raises `RemoteError` (MimeProblem, MessageTooLarge)."""
        self._bytes += len(data)
        if self._bytes > self._limits.package_bytes_max:
            raise _too_large(
                f"the package is too long; at most {self._limits.package_bytes_max} bytes are read"
            )
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
            # The line end after the final boundary may be missing; it is made up for.
            line_end = self._line_end or _CRLF
            self._bytes -= len(line_end)
            yield from self.feed(line_end)
        if not self._ended:
            final = self._delimiter[1:].decode("ascii") + "--"
            raise _broken(
                f"the package ends without the final boundary line; expected is {quoted(final)}"
                f" after its {self._parts} parts (it was cut short on the way, or has another"
                " boundary than its Content-Type says)"
            )

    # Each state returns the events that the buffer holds complete, or None for "more, please".

    def _read_preamble(self) -> tuple[PartEvent, ...] | None:
        stop, delimiter = self._find_delimiter()
        self._is_begun = self._is_begun or stop > self._at
        self._at = stop
        if delimiter is None:
            return None
        if delimiter.closes:
            raise _broken("the package has no part; expected is one with the header at least")
        self._at = delimiter.end
        self._read = self._read_head
        return ()

    def _read_head(self) -> tuple[PartEvent, ...] | None:
        at, size_max = self._at, self._limits.part_head_bytes_max
        blank_line = self._find_blank_line()
        if blank_line is None:
            if len(self._buffer) - at >= size_max + 4:
                raise self._too_long_a_head(self._parts + 1)
            return None
        self._parts += 1
        if self._parts > self._limits.parts_max:
            raise _too_large(
                f"the package has too many parts; at most {self._limits.parts_max} are read, the"
                " header part among them"
            )
        line_end = self._line_end
        assert line_end is not None, "a delimiter line was read"
        head = self._buffer[at : max(at, blank_line - len(line_end))]
        if len(head) > size_max:
            raise self._too_long_a_head(self._parts)
        # The blank line stays, since its line end may already be that of the next delimiter: a
        # part without a body (RFC 2046 §5.1.1).
        self._at, self._leading = blank_line, len(line_end)
        self._read = self._read_body
        return (PartBegun(self._parse_head(head, line_end)),)

    def _find_blank_line(self) -> int | None:
        """Where the blank line behind a head begins, if it is there. It ends as the frame does."""
        buffer, at = self._buffer, self._at
        for line_end in _LINE_ENDS:
            if buffer.startswith(line_end, at):
                self._check_line_end(line_end)
                return at
        end = at + self._limits.part_head_bytes_max + 4
        as_crlf, as_lf = buffer.find(b"\n\r\n", at, end), buffer.find(b"\n\n", at, end)
        if as_crlf < 0 and as_lf < 0:
            return None
        is_crlf = as_crlf >= 0 and not 0 <= as_lf < as_crlf
        last = as_crlf if is_crlf else as_lf
        self._check_line_end(_CRLF if is_crlf else _LF)
        self._check_line_end(_CRLF if buffer[last - 1 : last] == b"\r" else _LF)
        return last + 1

    def _parse_head(self, head: bytes, line_end: bytes) -> PartHead:
        is_mixed = b"\r\n" in head if line_end == _LF else _BARE_LF.search(head) is not None
        if is_mixed:
            self._check_line_end(_CRLF if line_end == _LF else _LF)
        try:
            return parse_part_head(head)
        except RemoteError as error:
            raise in_part(error, self._parts, None) from error

    def _too_long_a_head(self, number: int) -> RemoteError:
        size_max = self._limits.part_head_bytes_max
        error = _too_large(f"its head is too long; at most {size_max} bytes are read")
        return in_part(error, number, None)

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
            # The line end before it is its own, and no byte of what stands there.
            has_cr = at > self._at and buffer[at - 1 : at] == b"\r"
            start = at - 1 if has_cr else at
            if rest[2] is not None:
                self._check_delimiter(rest[2], at, has_cr=has_cr)
                return start, _Delimiter(start, rest.end(), closes=rest[1] is not None)
            if rest.end() - rest_at >= PADDING_BYTES_MAX - 1:
                raise _broken(
                    f"too much white space behind a boundary; at most {PADDING_BYTES_MAX - 2} bytes"
                    " of a line are read"
                )
            following = buffer[rest.end() : rest.end() + 2]
            if following in (b"", b"\r") or (following == b"-" and rest.end() == rest_at):
                return start, None
            at = rest_at
            self._false_delimiters += 1
            if self._false_delimiters > FALSE_DELIMITERS_MAX:
                raise _broken(
                    f"more than {FALSE_DELIMITERS_MAX} lines begin like the boundary and are none;"
                    " expected is a boundary that the payloads do not contain"
                )
        return max(self._at, len(buffer) - len(self._delimiter)), None

    def _check_delimiter(self, line_end: bytes, at: int, *, has_cr: bool) -> None:
        """Raise `RemoteError` unless the line ends as the frame does, and the line before it."""
        self._line_end = self._line_end or line_end
        self._check_line_end(line_end)
        if self._is_begun or at > 0:
            self._check_line_end(_CRLF if has_cr else _LF)
        self._is_begun = True

    def _check_line_end(self, line_end: bytes) -> None:
        if line_end != self._line_end:
            ours, other = _LINE_ENDS[self._line_end or _CRLF], _LINE_ENDS[line_end]
            raise _broken(
                f"a line of the package's frame ends in {other}, the first boundary line in {ours};"
                " expected is one kind of line end for all of them"
            )


def in_part(error: RemoteError, number: int, content_id: str | None) -> RemoteError:
    """The same about a part, which is named: its place in the package and its Content-ID."""
    name = f"part {number}" if content_id is None else f"part {number} <{content_id}>"
    return RemoteError(error.code, f"{name}: {error.description}", error.severity)
