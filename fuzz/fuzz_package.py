"""Fuzzes whole packages.

The input is a Content-Type, an empty line, and the body.
"""

from hashlib import sha256

from onceonly.message.errors import RemoteError
from onceonly.wire import names
from onceonly.wire.envelope import Decoder, Envelope, PartHead
from onceonly.wire.rm2000.names import MESSAGE_TYPES

KNOWN = {None, names.RECEIPT, *MESSAGE_TYPES.values()}


class Counted:
    """A sink that keeps only the digest."""

    def __init__(self, _: PartHead) -> None:
        self._sha256 = sha256()
        self._size_bytes = 0

    def write(self, data: bytes, /) -> None:
        """Count and digest."""
        self._sha256.update(data)
        self._size_bytes += len(data)

    def close(self) -> tuple[int, str]:
        """The sum of it all."""
        return self._size_bytes, self._sha256.hexdigest()


def decode(data: bytes) -> Envelope:
    """An envelope or a refusal, and never a sender that was made up."""
    content_type, _, body = data.partition(b"\r\n\r\n")
    decoder = Decoder(content_type.decode("latin-1"), Counted)
    try:
        decoder.feed(body)
        return decoder.finish()
    except RemoteError:
        about = decoder.about
        assert about is None or about.message_type in KNOWN
        raise
