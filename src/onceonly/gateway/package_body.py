"""A stored package as a transport reads it: its segments around payloads in memory or spool."""

from collections.abc import AsyncIterator, Iterator, Sequence

from onceonly.message.package import Package
from onceonly.store.spool import Spool
from onceonly.store.store import Snapshot, StoredPayload


class PackageBody:
    """A package's bytes around its payloads, from memory or from the spool."""

    def __init__(self, package: Package, payloads: Sequence[StoredPayload], spool: Spool) -> None:
        self._package = package
        self._payloads = payloads
        self._spool = spool

    @property
    def size_bytes(self) -> int:
        """Length of the package."""
        return self._package.size_bytes(tuple(stored.payload for stored in self._payloads))

    def whole(self) -> bytes | None:
        """All of it, where every payload is in memory."""
        if any(stored.body is None for stored in self._payloads):
            return None
        return b"".join(self._pieces())

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes in bounded pieces."""
        for piece in self._pieces():
            yield piece

    def _pieces(self) -> Iterator[bytes]:
        yield self._package.segments[0]
        for stored, segment in zip(self._payloads, self._package.segments[1:], strict=True):
            if stored.body is not None:
                yield stored.body
            else:
                yield from self._spool.open_reader(stored.payload.digest)
            yield segment


def read_package(snapshot: Snapshot, message_id: str) -> tuple[Package, Sequence[StoredPayload]]:
    """The stored package and payloads of a message that was transmitted before."""
    return snapshot.get_package(message_id), snapshot.list_payloads(message_id)
