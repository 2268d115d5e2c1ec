"""Keeps the bytes around the parts of a package that is read, so that it can go on as it came.

An intermediary passes a package byte for byte (`ebms2.md` §10). Payloads are in sinks and the
header document is in memory; what is between them is kept here. Must not know what parts mean.
"""

from onceonly.message.package import Package
from onceonly.wire.document import Wrapping
from onceonly.wire.splitter import FRAME_BYTES_MAX, PartBegun

_AS_THEY_ARE = frozenset({"binary", "8bit", "7bit"})


class WrappingKeeper:
    """Is told of one package, part by part."""

    def __init__(self, content_type: str) -> None:
        self._content_type = content_type
        self._before: bytes | None = None
        self._segments: list[bytes] = []
        self._content_ids: list[str] = []
        self._pending = bytearray()
        self._is_exact = True

    def begin_part(self, begun: PartBegun, *, is_payload: bool) -> None:
        """A part begins. The first one is the header."""
        self._pending += begun.frame
        head = begun.head
        if head.transfer_encoding not in _AS_THEY_ARE:
            self._is_exact = False
        if self._before is None:
            self._before = bytes(self._pending)
        elif is_payload:
            self._segments.append(bytes(self._pending))
            self._content_ids.append(head.content_id or "")
        else:
            return
        self._pending.clear()

    def keep(self, data: bytes) -> None:
        """The next bytes of a part that goes to no sink."""
        self._pending += data
        if len(self._pending) > FRAME_BYTES_MAX:
            self._is_exact = False
            self._pending.clear()

    def wrapping(self, rest: bytes | None) -> Wrapping | None:
        """What was kept, with the frame after the last part.

        None if that was not kept, or if a part had a transfer encoding, which is undone by now.
        """
        if rest is None or self._before is None or not self._is_exact:
            return None
        segments = (*self._segments, bytes(self._pending) + rest)
        return Wrapping(self._content_type, self._before, segments, tuple(self._content_ids))


def wrapped(wrapping: Wrapping, document: bytes) -> Package:
    """The package with this document in the place of the one that came."""
    first, *others = wrapping.segments
    return Package(wrapping.content_type, (wrapping.before + document + first, *others))
