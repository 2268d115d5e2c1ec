"""One process of a measurement, as all of them begin, tell and end.

Started by `run.py` with its task as JSON; talks to it by one JSON line on stdout when ready and one
when done.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import uvloop

POLL_S = 0.01

Task = dict[str, Any]


def main(run: Callable[[Task], Awaitable[None]]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(json.loads(sys.argv[1])))


def tell(**said: Any) -> None:
    print(json.dumps(said), flush=True)


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Cost:
    """What this side takes from `begin` to `end`: time, or what `counts` has counted."""

    def __init__(self, messages: int, counts: Any = None) -> None:
        self._messages = messages
        self._counts = counts

    def begin(self) -> None:
        self._began, self._cpu_began = time.perf_counter(), cpu_s()
        if self._counts is not None:
            self._counts.begin()

    def end(self) -> None:
        counts = {} if self._counts is None else self._counts.end(self._messages)
        elapsed_s = time.perf_counter() - self._began
        tell(elapsed_s=elapsed_s, cpu_s=cpu_s() - self._cpu_began, counts=counts)


async def send(cost: Cost, work: Callable[[], Awaitable[None]]) -> None:
    """Ready; then, told to go, do the work and say what it cost."""
    tell(ready=True)
    sys.stdin.readline()
    cost.begin()
    await work()
    cost.end()


async def receive(cost: Cost, is_done: Callable[[], bool] = lambda: True) -> None:
    """Ready; then, told to stop, come to the end and say what it cost."""
    cost.begin()
    tell(ready=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    await until(is_done)
    cost.end()


async def until(is_done: Callable[[], bool]) -> None:
    while not is_done():  # noqa: ASYNC110 - because neither store nor broker tells us
        await asyncio.sleep(POLL_S)
