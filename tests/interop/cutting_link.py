"""A wire that loses some requests and cuts some answers, as a test says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

PIECE_BYTES = 64 * 1024


class CuttingLink:
    """Carries connections to a port on loopback."""

    def __init__(self) -> None:
        self.target_port = 0
        self.cuts = 0
        """So many answers are still to be cut before their first byte."""
        self.losses = 0
        """So many requests are still to be lost."""
        self.port = 0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until one side ends it or an answer of it is cut."""
        try:
            there = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            writer.close()
            return
        out = asyncio.create_task(self._copy(reader, there[1], is_answer=False))
        back = asyncio.create_task(self._copy(there[0], writer, is_answer=True))
        await asyncio.wait((out, back), return_when=asyncio.FIRST_COMPLETED)
        for task in (out, back):
            task.cancel()
        await asyncio.gather(out, back, return_exceptions=True)
        for end in (writer, there[1]):
            end.close()

    async def _copy(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        with suppress(ConnectionError):
            while piece := await source.read(PIECE_BYTES):
                if is_answer and self.cuts:
                    self.cuts -= 1
                    return
                if not is_answer and self.losses:
                    self.losses -= 1
                    return
                sink.write(piece)
                await sink.drain()


@asynccontextmanager
async def cutting_link() -> AsyncIterator[CuttingLink]:
    """A link whose port is chosen by the machine; where to, it is told later."""
    link = CuttingLink()
    server = await asyncio.start_server(link.carry, "127.0.0.1", 0)
    link.port = server.sockets[0].getsockname()[1]
    try:
        yield link
    finally:
        server.close()
