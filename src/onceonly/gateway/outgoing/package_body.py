"""A stored package as a transport reads it: its segments around payloads in memory or spool."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from onceonly.message.package import Package
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.contract.store import Snapshot
from onceonly.store.spool import Spool


class PackageBody:
    """The bytes of a package and its payloads, from memory or from the spool.

    `spool` may be None if there are no payloads in the spool.
    """

    def __init__(
        self, package: Package, payloads: Sequence[StoredPayload], spool: Spool | None
    ) -> None:
        self.package = package
        self.payloads = payloads
        self._spool = spool

    @property
    def size_bytes(self) -> int:
        """Length of the package."""
        return self.package.size_bytes([stored.payload for stored in self.payloads])

    @property
    def is_in_memory(self) -> bool:
        """Whether no payload is in the spool."""
        return all(stored.body is not None for stored in self.payloads)

    def whole(self) -> bytes | None:
        """All of it, where every payload is in memory."""
        pieces = list(self.package.segments)
        for at, stored in enumerate(self.payloads):
            if stored.body is None:
                return None
            pieces.insert(2 * at + 1, stored.body)
        return b"".join(pieces)

    def read(self, stored: StoredPayload) -> Iterable[bytes]:
        """The bytes of one of its payloads, in bounded pieces."""
        if stored.body is not None:
            return (stored.body,)
        assert self._spool is not None, "a payload outside memory is in the spool"
        return self._spool.open_reader(stored.payload.digest)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes in bounded pieces."""
        for piece in self._pieces():
            yield piece

    def _pieces(self) -> Iterator[bytes]:
        yield self.package.segments[0]
        for stored, segment in zip(self.payloads, self.package.segments[1:], strict=True):
            yield from self.read(stored)
            yield segment


def read_package(snapshot: Snapshot, message_id: str) -> tuple[Package, Sequence[StoredPayload]]:
    """The stored package and payloads of a message that was transmitted before."""
    return snapshot.get_package(message_id), snapshot.list_payloads(message_id)
