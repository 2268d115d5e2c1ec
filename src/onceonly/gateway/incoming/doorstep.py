"""Limits the memory for packages whose sender is not known yet (ruling R-45).

A package names its sender in its first part. Until that part is read, nothing of the package is
written anywhere, but it is in memory, like all other packages that are being read. There is one
limit for all of them together, a share of it for one address, and for one package as much as a
header can need.
"""

from types import TracebackType
from typing import Final, Self

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.store.contract.conditions import StoreExhausted

DOORSTEP_PIECE_BYTES: Final = 64 * 1024
"""Bytes per piece for a decoder that has not read the header yet; what follows it is not limited
here."""

HEADER_BYTES_MAX: Final = 2 << 20
"""Most bytes of a package without a complete header: a document of 1 MiB in base64, and some more.
"""

SHARE_OF_ADDRESS: Final = 4
"""One address gets at most a fourth of the limit, so that it cannot lock out all others."""


class Doorstep:
    """The packages whose senders are not known yet."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._per_address: dict[str, int] = {}

    def limit(self, bytes_max: int) -> None:
        """Hold so many bytes from now on; what is there already stays."""
        self._bytes_max = bytes_max

    def enter(self, peer: str) -> "Place":
        """A place for one package from `peer`, which ends with a `with` block of it or before."""
        return Place(self, peer.rpartition(":")[0] or peer)

    def take(self, address: str, count: int) -> None:
        """Count bytes of a package from the address. Raises `StoreExhausted`."""
        most_of_address = max(HEADER_BYTES_MAX, self._bytes_max // SHARE_OF_ADDRESS)
        of_address = self._per_address.get(address, 0) + count
        if self._bytes + count > self._bytes_max or of_address > most_of_address:
            raise StoreExhausted("too many packages whose header is not read yet")
        self._bytes += count
        self._per_address[address] = of_address

    def give_back(self, address: str, count: int) -> None:
        """These bytes were read, or their caller is gone."""
        self._bytes -= count
        left = self._per_address[address] - count
        if left:
            self._per_address[address] = left
        else:
            del self._per_address[address]


class Place:
    """One package on the doorstep."""

    def __init__(self, doorstep: Doorstep, address: str) -> None:
        self._doorstep = doorstep
        self._address = address
        self._bytes = 0

    def take(self, count: int) -> None:
        """Read so many bytes more. Raises `RemoteError` (MessageTooLarge) and `StoreExhausted`."""
        if self._bytes + count > HEADER_BYTES_MAX:
            raise RemoteError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"no whole header in the first {HEADER_BYTES_MAX} bytes of the package",
            )
        self._doorstep.take(self._address, count)
        self._bytes += count

    def leave(self) -> None:
        """The header is read, or nobody reads it any more. Harmless when called again."""
        if self._bytes:
            self._doorstep.give_back(self._address, self._bytes)
            self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self.leave()
