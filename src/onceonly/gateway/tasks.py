"""Work in tasks, which are watched: an exception that ends one is always reported.

Most tasks are conversations with a peer, so their failure must not stop the gateway (ruling R-43).
`bugs` decides that; it can tell failures of the store from all others.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any


class Tasks:
    """Starts coroutines; if one raises, calls `on_error` with its place and the exception."""

    def __init__(self, on_error: Callable[[str, BaseException], None] | None = None) -> None:
        self.on_error = on_error
        """Must be set before the first `start`; its owner may be made after this object."""
        self._running: set[asyncio.Task[Any]] = set()
        self._is_over = False

    def start(self, work: Coroutine[Any, Any, Any], *, place: str | None = None) -> None:
        """Run `work` to its end. After `end` it is not run, as after a crash.

        `place` says in a few words what it does; the default is the name of the coroutine.
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
        """The tasks that run now."""
        return frozenset(self._running)

    def _finish(self, place: str, task: "asyncio.Task[Any]") -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            assert self.on_error is not None, "somebody hears of every error"
            self.on_error(place, error)

    async def settle(self, within_s: float) -> None:
        """Return when no task runs and none was started by one, or after `within_s` seconds."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while self._running and (left_s := until - loop.time()) > 0:
            await asyncio.wait(self._running, timeout=left_s)

    async def end(self, grace_s: float) -> None:
        """Let work settle for at most `grace_s` seconds, cut the rest, and start nothing more.

        The store is closed next, so work that a last commit released must not start any more.
        """
        await self.settle(grace_s)
        self._is_over = True
        for task in tuple(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=1.0)
