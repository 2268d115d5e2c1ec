"""Work that goes on beside the caller, watched: a failure stops the gateway, never vanishes."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks:
    """Starts coroutines and tells `on_failure` about any exception that one of them ends with."""

    def __init__(self, on_failure: Callable[[BaseException], None]) -> None:
        self._on_failure = on_failure
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run `work` to its end."""
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

    async def drain(self, grace_s: float) -> None:
        """Let running work end for at most `grace_s` seconds, then cancel it."""
        if self._running:
            await asyncio.wait(self._running, timeout=grace_s)
        for task in tuple(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=1.0)
