"""Ctrl-C and SIGTERM: both unwind the stack, so that no process is left behind.

Knows signals; must not know what is interrupted. For the main thread only.
"""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def run_until_told(work: Coroutine[None, None, T], terminated: list[int]) -> T:
    """The result of `work` on a loop of its own.

    Raises `KeyboardInterrupt` once it was cancelled by Ctrl-C or by a SIGTERM, whose number is
    then put into `terminated`.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        # asyncio cancels at Ctrl-C only where nobody else took the signal, as a Spark session does.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return asyncio.run(_cancellable(work, terminated))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def terminable(terminated: list[int]) -> Iterator[None]:
    """Let SIGTERM unwind the stack as Ctrl-C does, so that everything is cleaned up.

    Its number is put into `terminated`.
    """

    def interrupt(number: int, _: object) -> None:
        # Raised here and not sent on as SIGINT, which a job in the background ignores.
        terminated.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


async def _cancellable(work: Coroutine[None, None, T], terminated: list[int]) -> T:
    """Await it; the first SIGTERM cancels it, as asyncio's own handler does at the first Ctrl-C.

    An exception that a signal raises would hit whatever happens to run: one of the link's
    connections, say, whose task then complains on the terminal instead of ending everything.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None, "a coroutine that runs is some task's"

    def cancel(number: int, _: object) -> None:
        terminated.append(number)
        if len(terminated) == 1:
            loop.call_soon_threadsafe(task.cancel)

    before = signal.signal(signal.SIGTERM, cancel)
    try:
        return await work
    finally:
        signal.signal(signal.SIGTERM, before)
