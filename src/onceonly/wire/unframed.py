"""A package without a MIME frame: its only part is the header document.

In the place of `splitter.Splitter`, with the same events.
"""

from collections.abc import Iterator

from onceonly.wire.limits import DEFAULT, Limits
from onceonly.wire.mime import PartHead, too_large
from onceonly.wire.splitter import PartBegun, PartBytes, PartEnded, PartEvent


class Unframed:
    """Gives one part, which is all that comes (`wire.md` B1)."""

    rest = b""
    """There is no frame after it (`Splitter.rest`)."""

    def __init__(
        self, content_type: str, limits: Limits = DEFAULT, *, transfer_encoding: str = "binary"
    ) -> None:
        self._head = PartHead(content_type, None, transfer_encoding)
        self._limits = limits
        self._bytes = 0
        self._is_begun = False

    def feed(self, data: bytes) -> Iterator[PartEvent]:
        """The events of the next piece. Raises `RemoteError` (MessageTooLarge)."""
        self._bytes += len(data)
        if self._bytes > self._limits.package_bytes_max:
            raise too_large(
                f"the package is too long; at most {self._limits.package_bytes_max} bytes are read"
            )
        yield from self._begin()
        if data:
            yield PartBytes(data)

    def finish(self) -> Iterator[PartEvent]:
        """The last events, at the end of the package."""
        yield from self._begin()
        yield PartEnded()

    def _begin(self) -> Iterator[PartEvent]:
        if not self._is_begun:
            self._is_begun = True
            yield PartBegun(self._head)
