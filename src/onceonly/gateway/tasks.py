"""Work that goes on beside the caller, watched: what it ends with is told, and never vanishes.

A task is a conversation with a peer more often than not, so its failure must not stop the gateway
(ruling R-43); `bugs` decides that, which knows the store's failures from all others.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any


class Tasks:
    """Starts coroutines and tells `on_error` of the place and the exception that one ends with."""

    def __init__(self, on_error: Callable[[str, BaseException], None] | None = None) -> None:
        self.on_error = on_error
        """Set before the first `start`, by whoever is there only after us."""
        self._running: set[asyncio.Task[Any]] = set()
        self._is_over = False

    def start(self, work: Coroutine[Any, Any, Any], *, place: str | None = None) -> None:
        """Run `work` to its end. Behind `end` it is left to the next life, as by a crash.

        `place` says in a word or two what it does; without it the name of the coroutine does.
        """
        if self._is_over:
            work.close()
            return
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        name = place or str(getattr(work, "__qualname__", "working"))
        task.add_done_callback(partial(self._finish, name))

    @property
    def running(self) -> frozenset["asyncio.Task[Any]"]:
        """What goes on now."""
        return frozenset(self._running)

    def _finish(self, place: str, task: "asyncio.Task[Any]") -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            assert self.on_error is not None, "somebody hears of every error"
            self.on_error(place, error)

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
