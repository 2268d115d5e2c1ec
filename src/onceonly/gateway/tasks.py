"""Work that goes on beside the caller, watched: a failure stops the gateway, never vanishes."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks:
    """Starts coroutines and tells `on_failure` about any exception that one of them ends with."""

    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        self._on_failure = on_failure
        self._running: set[asyncio.Task[Any]] = set()
        self._is_over = False

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run `work` to its end. Behind `end` it is left to the next life, as by a crash."""
        if self._is_over:
            work.close()
            return
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._finish)

    @property
    def running(self) -> frozenset["asyncio.Task[Any]"]:
        """What goes on now."""
        return frozenset(self._running)

    def _finish(self, task: "asyncio.Task[Any]") -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(error)

    async def settle(self, within_s: float) -> None:
        """Return when nothing goes on, nor what that began, or after `within_s` seconds."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while self._running and (left_s := until - loop.time()) > 0:
            await asyncio.wait(self._running, timeout=left_s)

    async def end(self, grace_s: float) -> None:
        """Let work settle for at most `grace_s` seconds, cut the rest, and begin nothing more.

        Whoever closes the store next must not be met by work that a last commit released.
        """
        await self.settle(grace_s)
        self._is_over = True
        for task in tuple(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=1.0)
