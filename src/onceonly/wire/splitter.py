"""Cuts a MIME multipart/related body in one pass, in whatever pieces it arrives.

Knows RFC 2046 as far as a message needs it, and its abuses (attacks P1-P10); it must not know what
the parts mean. The standard library's parser keeps everything in memory and needs seconds for
hostile input, so this one is our own. Every byte is searched once, and the bytes that are kept back
between two pieces are fewer than a delimiter line or the head of one part has.

The lines of a frame (delimiters and heads) end in CRLF, or all of them in LF, as files and some
mail systems have it; the first delimiter line says which (ruling R-42). A delimiter that ends the
other way is one to some readers and none to others, so a frame with both kinds is refused.
"""

import re
from collections.abc import Iterator
from typing import Final

from onceonly.message.errors import FaultCode, RemoteError, changed_error
from onceonly.message.printable import quoted
from onceonly.message.word import Word
from onceonly.wire.limits import DEFAULT, Limits
from onceonly.wire.mime import (
    BARE_LF,
    PartHead,
    broken,
    is_boundary,
    parse_part_head,
    too_large,
)

PADDING_BYTES_MAX: Final = 256
"""Most white space after a boundary; RFC 2046 lets transports add some, but never this much."""

FALSE_DELIMITERS_MAX: Final = 20_000
"""Most lines that begin like a delimiter and are none. Each costs some microseconds, all of them a
tenth of a second; a sender of more has chosen the boundary for that purpose."""

FRAME_BYTES_MAX: Final = 1024 * 1024
"""Longest frame that is kept, in memory: 100 parts with heads of 10 KB, and real ones have 0.2."""

_DELIMITER_REST = re.compile(rb"(--)?[ \t]*(\r?\n)?")

_CRLF: Final = b"\r\n"
_LF: Final = b"\n"
_LINE_ENDS: Final = {_CRLF: "CRLF", _LF: "LF"}


class PartBegun(Word):
    """A part begins; its bytes follow."""

    head: PartHead
    frame: bytes = b""
    """The bytes of the frame since the part before it, its own head among them, if they are kept.
    """


class PartBytes(Word):
    """The next bytes of the part, as transferred."""

    data: bytes


class PartEnded(Word):
    """The part is complete."""


PartEvent = PartBegun | PartBytes | PartEnded


class _Delimiter(Word):
    at: int
    end: int
    closes: bool


def check_boundary(boundary: str, fault: FaultCode | None = None) -> None:
    """Raise `RemoteError` (MimeProblem) for a boundary that is none, with this fault code."""
    if not is_boundary(boundary):
        error = broken(
            f"the boundary is {quoted(boundary)}; expected are 1-70 characters of those that"
            " RFC 2046 section 5.1.1 allows"
        )
        raise changed_error(error, fault=fault)


class Splitter:
    """Cuts the bytes of a multipart body into its parts.

    Feed it the body in pieces of any size, then `finish` it. The events do not depend on the
    pieces, except how the bytes of a part are divided into `PartBytes`. Raises `RemoteError`
    (MimeProblem) for an illegal boundary.

    With `keeps_frame` the bytes around the parts are given with them and in `rest`, for whoever
    sends the package on as it came.
    """

    def __init__(
        self, boundary: str, limits: Limits = DEFAULT, *, keeps_frame: bool = False
    ) -> None:
        check_boundary(boundary)
        self._limits = limits
        self._frame: bytearray | None = bytearray() if keeps_frame else None
        self._delimiter = b"\n--" + boundary.encode("ascii")
        # A delimiter is a whole line: the line end before the first line is not in the body.
        self._buffer = _LF
        self._at = 0
        self._leading = 0
        self._line_end: bytes | None = None
        """The line end of the frame; None until its first delimiter line was read."""
        self._read = self._read_preamble
        self._parts = 0
        self._bytes = 0
        self._is_begun = False
        """Whether the imagined line end before the first byte was read."""
        self._false_delimiters = 0
        self._kept_bytes = 0
        self._ended = False

    def feed(self, data: bytes) -> Iterator[PartEvent]:
        """The events of the next piece. Raises `RemoteError` (MimeProblem, MessageTooLarge)."""
        self.add(data)
        yield from self.events()

    def add(self, data: bytes) -> None:
        """Take the next piece, to be read by `events`.

        Raises `RemoteError` (MessageTooLarge).
        """
        self._bytes += len(data)
        if self._bytes > self._limits.package_bytes_max:
            raise too_large(
                f"the package is too long; at most {self._limits.package_bytes_max} bytes are read"
            )
        if not self._ended:  # everything after the final boundary is an epilogue, and skipped
            self._buffer = self._buffer + data if self._buffer else data
        else:
            self._keep(data)

    def skip(self, size_bytes: int) -> None:
        """Count a package that was read to its final boundary line without us, as by `whole`."""
        self._bytes, self._ended = size_bytes, True

    def events(self) -> Iterator[PartEvent]:
        """The events that are complete. Raises `RemoteError` (MimeProblem, MessageTooLarge)."""
        if self._ended:
            self._buffer, self._at = b"", 0
            return
        while not self._ended and (events := self._read()) is not None:
            yield from events
        self._buffer = self._buffer[self._at :]
        self._at = 0

    def finish(self) -> Iterator[PartEvent]:
        """The last events, at the end of the body.

        Raises `RemoteError` (MimeProblem) unless the final boundary was there.
        """
        if not self._ended:
            # The line end after the final boundary may be missing; it is added here.
            line_end = self._line_end or _CRLF
            self._bytes -= len(line_end)
            yield from self.feed(line_end)
            if self._frame is not None:
                del self._frame[-len(line_end) :]
        if not self._ended:
            final = self._delimiter[1:].decode("ascii") + "--"
            raise broken(
                f"the package ends without the final boundary line; expected is {quoted(final)}"
                f" after its {self._parts} parts (it was cut short on the way, or has another"
                " boundary than its Content-Type says)"
            )

    @property
    def rest(self) -> bytes | None:
        """The frame after the last part, once the body was read; None where it was not kept.

        It is not where it was longer than `FRAME_BYTES_MAX`.
        """
        return None if self._frame is None else bytes(self._frame)

    def _keep(self, data: bytes) -> None:
        if self._frame is not None:
            self._frame += data
            self._kept_bytes += len(data)
            if self._kept_bytes > FRAME_BYTES_MAX:
                self._frame = None

    def _kept(self) -> bytes:
        """The frame up to here, which is given away."""
        if self._frame is None:
            return b""
        frame, self._frame = bytes(self._frame), bytearray()
        # Before the first part stands the line end that is not in the body.
        return frame[1:] if self._parts == 1 else frame

    # Each state returns the complete events of the buffer, or None if it needs more bytes.

    def _read_preamble(self) -> tuple[PartEvent, ...] | None:
        stop, delimiter = self._find_delimiter()
        self._is_begun = self._is_begun or stop > self._at
        self._keep(self._buffer[self._at : stop if delimiter is None else delimiter.end])
        self._at = stop
        if delimiter is None:
            return None
        if delimiter.closes:
            raise broken("the package has no part; expected is one with the header at least")
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
            raise too_large(
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
        self._keep(self._buffer[at : blank_line + len(line_end)])
        return (PartBegun(self._parse_head(head, line_end), self._kept()),)

    def _find_blank_line(self) -> int | None:
        """Where the blank line after a head begins, if it is there. It ends as the frame does."""
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
        is_mixed = b"\r\n" in head if line_end == _LF else BARE_LF.search(head) is not None
        if is_mixed:
            self._check_line_end(_CRLF if line_end == _LF else _LF)
        try:
            return parse_part_head(head)
        except RemoteError as error:
            raise in_part(error, self._parts, None) from error

    def _too_long_a_head(self, number: int) -> RemoteError:
        size_max = self._limits.part_head_bytes_max
        error = too_large(f"its head is too long; at most {size_max} bytes are read")
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
        self._keep(self._buffer[max(start, stop) : None if delimiter.closes else delimiter.end])
        self._at, self._ended = delimiter.end, delimiter.closes
        self._read = self._read_head
        return (PartBytes(data), PartEnded()) if data else (PartEnded(),)

    def _find_delimiter(self) -> tuple[int, _Delimiter | None]:
        """The next delimiter line, and the place up to which there is certainly none."""
        buffer, at = self._buffer, self._at
        while (at := buffer.find(self._delimiter, at)) >= 0:
            rest_at = at + len(self._delimiter)
            rest = _DELIMITER_REST.match(buffer, rest_at, rest_at + PADDING_BYTES_MAX)
            assert rest is not None, "the pattern matches the empty string too"
            # The line end before a delimiter belongs to the delimiter, not to the part.
            has_cr = at > self._at and buffer[at - 1 : at] == b"\r"
            start = at - 1 if has_cr else at
            if rest[2] is not None:
                self._check_delimiter(rest[2], at, has_cr=has_cr)
                return start, _Delimiter(start, rest.end(), closes=rest[1] is not None)
            if rest.end() - rest_at >= PADDING_BYTES_MAX - 1:
                raise broken(
                    f"too much white space after a boundary; at most {PADDING_BYTES_MAX - 2} bytes"
                    " of a line are read"
                )
            following = buffer[rest.end() : rest.end() + 2]
            if following in (b"", b"\r") or (following == b"-" and rest.end() == rest_at):
                return start, None
            at = rest_at
            self._false_delimiters += 1
            if self._false_delimiters > FALSE_DELIMITERS_MAX:
                raise broken(
                    f"more than {FALSE_DELIMITERS_MAX} lines begin like the boundary and are none;"
                    " expected is a boundary that the payloads do not contain"
                )
        return max(self._at, len(buffer) - len(self._delimiter)), None

    def _check_delimiter(self, line_end: bytes, at: int, *, has_cr: bool) -> None:
        """Raise `RemoteError` unless this line and the one before it end as the frame does."""
        self._line_end = self._line_end or line_end
        self._check_line_end(line_end)
        if self._is_begun or at > 0:
            self._check_line_end(_CRLF if has_cr else _LF)
        self._is_begun = True

    def _check_line_end(self, line_end: bytes) -> None:
        if line_end != self._line_end:
            ours, other = _LINE_ENDS[self._line_end or _CRLF], _LINE_ENDS[line_end]
            raise broken(
                f"a line of the package's frame ends in {other}, the first boundary line in {ours};"
                " expected is one kind of line end for all of them"
            )


def in_part(error: RemoteError, number: int, content_id: str | None) -> RemoteError:
    """The same error, with the place of the part in the package and its Content-ID."""
    name = f"part {number}" if content_id is None else f"part {number} <{content_id}>"
    return changed_error(error, description=f"{name}: {error.description}")
