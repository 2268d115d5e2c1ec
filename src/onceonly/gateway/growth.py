"""Wakes callers that wait for the inbox to grow."""

import asyncio


class Growth:
    """Many may watch; one announcement wakes them all."""

    def __init__(self) -> None:
        self._watchers: set[asyncio.Future[None]] = set()

    def watch(self) -> "asyncio.Future[None]":
        """A future that the next announcement resolves; take it before looking."""
        watcher = asyncio.get_running_loop().create_future()
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        return watcher

    def announce(self) -> None:
        """The inbox has grown."""
        for watcher in tuple(self._watchers):
            if not watcher.done():
                watcher.set_result(None)
