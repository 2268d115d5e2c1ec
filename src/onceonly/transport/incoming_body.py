"""The body of an arriving package: pieces from a connection to one reader, with back-pressure.

Knows neither HTTP nor the loopback; both feed it. Everything happens in one event loop.
"""

import asyncio
from collections.abc import Callable
from typing import Self

from onceonly.transport.transport import TransferBroken


class IncomingBody:
    """An async iterator over the pieces; those that arrived meanwhile come as one piece.

    `taken` is called whenever the reader has taken everything or waits: then more can be read.
    A body that came as a `whole` gets no other pieces.
    """

    def __init__(self, taken: Callable[[], None], whole: bytes | None = None) -> None:
        self._taken = taken
        self._pieces: list[bytes] = [whole] if whole else []
        self._waiter: asyncio.Future[None] | None = None
        self._broken: str | None = None
        self.is_complete = whole is not None
        self.received_bytes = self.buffered_bytes = len(whole or b"")

    def feed(self, piece: bytes) -> None:
        """Add a piece that arrived. After `break_off` it is thrown away."""
        if self._broken is not None:
            return
        self._pieces.append(piece)
        self.received_bytes += len(piece)
        self.buffered_bytes += len(piece)
        self._wake()

    def finish(self) -> None:
        """End the body: the last piece was fed."""
        self.is_complete = True
        self._wake()

    def break_off(self, reason: str) -> None:
        """The rest will never come: the reader gets TransferBroken, and no more pieces."""
        if self.is_complete or self._broken is not None:
            return
        self._broken = reason
        self._pieces.clear()
        self._wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while self._broken is None:
            if self._pieces:
                return self._take()
            if self.is_complete:
                raise StopAsyncIteration
            self._taken()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        raise TransferBroken(self._broken)

    def _take(self) -> bytes:
        piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self.buffered_bytes = 0
        self._taken()
        return piece

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
