"""A thread for the work in one folder: a share that hangs stops nothing else.

The threads that the event loop shares out are few, and the loop waits for them at the end. A call
on a share whose server is away may never return, so it must have none of them.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class OwnThread:
    """Runs one call after another. The process ends without waiting for one that hangs."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns or raises, after all calls before it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        future: Future[T] = Future()
        self._calls.put((future, partial(function, *args, **kwargs)))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """End the thread after the calls that were made; nothing waits for it."""
        self._calls.put(None)
        self._thread = None

    def _work(self) -> None:
        while (called := self._calls.get()) is not None:
            future, call = called
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001 - because whoever called it gets it
                future.set_exception(error)
            else:
                future.set_result(result)
