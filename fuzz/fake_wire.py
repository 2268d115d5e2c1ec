"""A connection without a network, on a loop of its own: for targets that fuzz a whole listener.

The listeners' own protocol classes run; only the socket under them is missing. Whatever they
report to the loop's exception handler is a finding.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class FakeSocket(asyncio.Transport):
    """Keeps what is written, and says goodbye to the protocol when it is closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.Protocol) -> None:
        super().__init__({"peername": ("192.0.2.1", 4711)})
        self.written = b""
        self._loop = loop
        self._protocol = protocol
        self._is_closing = False

    def write(self, data: Any) -> None:
        """Keep it."""
        self.written += bytes(data)

    def write_eof(self) -> None:
        """Our half is closed; theirs is not heard any more here."""

    def can_write_eof(self) -> bool:
        """As TCP can."""
        return True

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self._is_closing

    def close(self) -> None:
        """Tell the protocol in the next turn of the loop, as a socket does."""
        if not self._is_closing:
            self._is_closing = True
            self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        """The same."""
        self.close()

    def pause_reading(self) -> None:
        """Nothing comes by itself."""

    def resume_reading(self) -> None:
        """Nothing comes by itself."""

    def get_write_buffer_size(self) -> int:
        """Everything is gone at once."""
        return 0


class FindingsLoop:
    """An event loop that keeps what was reported to it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self._report)
        self.reports: list[dict[str, Any]] = []

    def _report(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.reports.append(context)

    def run(self, talk: Coroutine[Any, Any, None]) -> None:
        """Let the talk take place, and raise what was reported meanwhile."""
        self.loop.run_until_complete(talk)
        self.check()

    def check(self) -> None:
        """Raise what was reported."""
        reports, self.reports = self.reports, []
        for context in reports:
            raise AssertionError(context["message"]) from context.get("exception")


async def turns(times: int) -> None:
    """Let everything run that is ready, so many times."""
    for _ in range(times):
        await asyncio.sleep(0)


async def settled(measure: Callable[[], object]) -> None:
    """Let everything run until the measure has stayed the same for a while."""
    before = None
    while (now := measure()) != before:
        before = now
        await turns(20)
