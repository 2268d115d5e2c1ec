"""The body in a captured HTTP message: by its length, by its chunks, or up to the end of the file.

Chunks are read by the parser of the endpoint. Where a program has rewritten the line ends of the
capture, that parser refuses its lines, and a plain reader of our own takes what is left.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import httptools

PIECE_BYTES: Final = 64 * 1024

_AS_CHUNKS: Final = b"POST / HTTP/1.1\r\nHost: capture\r\nTransfer-Encoding: chunked\r\n\r\n"
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_SIZE_LINE_MAX: Final = 4096


class BodyBroken(Exception):  # noqa: N818 - because it names what happened to the body
    """The body in the capture does not go on as its head says."""


def of_length(pieces: Iterable[bytes], length: int) -> Iterator[bytes]:
    """The first `length` bytes. Raises `BodyBroken` where there are fewer."""
    left = length
    for piece in pieces:
        if left <= 0:
            return
        yield piece[:left]
        left -= len(piece)
    if left > 0:
        raise BodyBroken(f"{left} of its {length} bytes are not in the capture")


class _Chunks:
    """Collects what the parser finds."""

    def __init__(self) -> None:
        self.found: list[bytes] = []
        self.is_complete = False

    def on_body(self, piece: bytes) -> None:
        if not self.is_complete:
            self.found.append(piece)

    def on_message_complete(self) -> None:
        self.is_complete = True

    def taken(self) -> list[bytes]:
        found, self.found = self.found, []
        return found


def of_chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes in the chunks. Raises `BodyBroken`."""
    chunks = _Chunks()
    parser = httptools.HttpRequestParser(chunks)
    parser.feed_data(_AS_CHUNKS)
    for piece in pieces:
        try:
            parser.feed_data(piece)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not chunks.is_complete:
                yield from chunks.taken()
                raise BodyBroken(f"its chunks are malformed: {error}") from error
        yield from chunks.taken()
        if chunks.is_complete:
            return
    raise BodyBroken("its last chunk is not in the capture")


def of_rewritten_chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes in chunks whose lines may end in LF alone. Raises `BodyBroken`."""
    source, buffer = iter(pieces), b""
    while True:
        buffer, size = _size_of_chunk(source, buffer)
        if size == 0:
            return
        while size > 0:
            if not buffer:
                buffer = next(source, b"")
            if not buffer:
                raise BodyBroken(f"{size} bytes of a chunk are not in the capture")
            yield buffer[:size]
            buffer, size = buffer[size:], size - min(size, len(buffer))
        while len(buffer) < len(b"\r\n") and (more := next(source, b"")):
            buffer += more
        buffer = buffer.removeprefix(b"\r").removeprefix(b"\n")


def _size_of_chunk(source: Iterator[bytes], buffer: bytes) -> tuple[bytes, int]:
    while b"\n" not in buffer[:_SIZE_LINE_MAX]:
        piece = next(source, b"")
        if not piece or len(buffer) > _SIZE_LINE_MAX:
            raise BodyBroken("a chunk has no size")
        buffer += piece
    found = _SIZE.match(buffer)
    if found is None:
        raise BodyBroken("the size of a chunk is no hexadecimal number")
    return buffer[found.end() :], int(found[1], 16)
