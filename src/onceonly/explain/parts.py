"""The MIME parts of a body one by one, whatever they are: also of what no gateway would take."""

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Final

from onceonly.message.errors import RemoteError
from onceonly.message.word import Word
from onceonly.wire.limits import Limits
from onceonly.wire.mime import PartHead, parse_media_type
from onceonly.wire.splitter import PartBegun, PartBytes, PartEvent, Splitter
from onceonly.wire.transfer import Transfer, transfer_of

ROOT_BYTES_MAX: Final = 1 << 20
"""Kept of the first part, to look at what it is."""

Take = Callable[[bytes], object]


class CutPart(Word):
    """One part, its transfer encoding undone."""

    number: int
    content_type: str
    content_id: str | None
    transfer_encoding: str
    size_bytes: int
    digest: str
    """Hexadecimal SHA-256."""
    problem: str | None = None


class Parts(Word):
    """What could be cut out of a body."""

    parts: tuple[CutPart, ...]
    root: bytes
    """The beginning of the first part."""
    problem: RemoteError | None = None
    """Why there is no more of them."""


class _Open:
    """The part that is being read."""

    def __init__(self, number: int, head: PartHead, take: Take | None) -> None:
        self.number = number
        self.head = head
        self._take = take
        self._size_bytes = 0
        self._digest = sha256()
        self._problem: str | None = None
        self._transfer: Transfer = transfer_of("binary")
        self.start = bytearray()
        try:
            self._transfer = transfer_of(head.transfer_encoding)
        except RemoteError as error:
            self._problem = error.description

    def feed(self, data: bytes) -> None:
        self._add(lambda: self._transfer.decode(data))

    def end(self) -> CutPart:
        self._add(self._transfer.finish)
        head = self.head
        return CutPart(
            self.number,
            head.content_type,
            head.content_id,
            head.transfer_encoding,
            self._size_bytes,
            self._digest.hexdigest(),
            self._problem,
        )

    def _add(self, decoded: Callable[[], bytes]) -> None:
        if self._problem is not None:
            return
        try:
            data = decoded()
        except RemoteError as error:
            self._problem = error.description
            return
        self._size_bytes += len(data)
        self._digest.update(data)
        if self.number == 1 and len(self.start) < ROOT_BYTES_MAX:
            self.start += data[: ROOT_BYTES_MAX - len(self.start)]
        if self._take is not None and data:
            self._take(data)


def cut(
    content_type: str,
    pieces: Iterable[bytes],
    limits: Limits,
    *,
    wanted: int | None = None,
    take: Take | None = None,
) -> Parts:
    """Every part of a multipart body, whichever; the bytes of part `wanted` go to `take`.

    Never raises because of the body; what `pieces` raises it lets pass.
    """
    found: list[CutPart] = []
    root = bytearray()
    part: _Open | None = None
    try:
        boundary = parse_media_type(content_type, limits).parameters.get("boundary", "")
        splitter = Splitter(boundary, limits)
        for event in _events(splitter, pieces):
            if isinstance(event, PartBegun):
                number = len(found) + 1
                part = _Open(number, event.head, take if number == wanted else None)
            elif isinstance(event, PartBytes):
                assert part is not None, "a part begins before its bytes"
                part.feed(event.data)
            else:
                assert part is not None, "a part begins before it ends"
                found.append(part.end())
                root = part.start if part.number == 1 else root
                part = None
    except RemoteError as error:
        if part is not None and part.number == 1:
            root = part.start
        return Parts(tuple(found), bytes(root), error)
    return Parts(tuple(found), bytes(root))


def whole(head: PartHead, pieces: Iterable[bytes], take: Take | None) -> Parts:
    """A body that is one part, with such a head."""
    part = _Open(1, head, take)
    for piece in pieces:
        part.feed(piece)
    one = part.end()
    return Parts((one,) if one.size_bytes or one.problem else (), bytes(part.start))


def _events(splitter: Splitter, pieces: Iterable[bytes]) -> Iterable[PartEvent]:
    for piece in pieces:
        yield from splitter.feed(piece)
    yield from splitter.finish()
