"""An asyncio event loop whose time is virtual, and which can die between any two of its calls.

One loop is one process of a node: gateway code runs on it unchanged. Calls run in the order that
asyncio gives them; threads (`run_in_executor`) are calls of their own that take virtual time, so a
process can die before, during or after a commit. Calls that a dead loop still had are never run.
"""

import asyncio
from asyncio import events
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from typing import Any

from onceonly.message.instant import NS_PER_S
from onceonly.simulation.timeline import Timeline

# ruff: noqa: D102 - because the methods are documented where asyncio has them


_CALLS_PER_TURN = 1000
"""Calls until the rest of the world has its turn: a loop that never rests must be seen."""


class Killed(BaseException):
    """Unwinds the code that was running when its process was killed; nobody may catch it."""


class Call:
    """What asyncio's handles are to those who get one, without what these keep for debugging."""

    __slots__ = ("_when", "args", "callback", "context", "is_cancelled")

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context | None,
        when: float = 0.0,
    ) -> None:
        self.callback = callback
        self.args = args
        self.context = copy_context() if context is None else context
        self.is_cancelled = False
        self._when = when

    def cancel(self) -> None:
        self.is_cancelled = True

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self._when


class ProcessLoop(asyncio.AbstractEventLoop):
    """The loop of one process: what gateways, and asyncio for them, ask of a loop, and no more.

    `thread_ns` says how long the next call in a thread takes, `on_bug` is told of what asyncio
    tells an exception handler.
    """

    def __init__(
        self,
        timeline: Timeline,
        *,
        thread_ns: Callable[[], int],
        on_bug: Callable[[dict[str, Any]], None],
    ) -> None:
        self._timeline = timeline
        self._thread_ns = thread_ns
        self._on_bug = on_bug
        self._ready: deque[Call] = deque()
        self._is_awake = False
        self.is_dead = False
        self.is_frozen = False
        self._kept: list[object] = []
        self.tasks: list[asyncio.Task[Any]] = []
        """Every task there ever was: what is collected in the middle would run its end."""

    # What gateway code and asyncio's tasks, futures and locks ask of a loop.

    def time(self) -> float:
        """Seconds since the world began."""
        return self._timeline.now_ns / NS_PER_S

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self.is_dead

    def is_closed(self) -> bool:
        return self.is_dead

    def call_soon(  # type: ignore[override] # because the types of the arguments do not matter here
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Call:
        handle = Call(callback, args, context)
        if self.is_dead:
            self._kept.append(handle)
        else:
            self._ready.append(handle)
            if not self._is_awake:
                self._wake()
        return handle

    def call_later(  # type: ignore[override] # because the types of the arguments do not matter here
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Call:
        return self._call_at_ns(
            self._timeline.now_ns + round(delay * NS_PER_S), callback, args, context
        )

    def call_at(  # type: ignore[override] # because the types of the arguments do not matter here
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> Call:
        return self._call_at_ns(round(when * NS_PER_S), callback, args, context)

    def _call_at_ns(
        self,
        at_ns: int,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context | None,
    ) -> Call:
        handle = Call(callback, args, context, at_ns / NS_PER_S)
        self._timeline.call_at(at_ns, partial(self._ring, handle))
        return handle

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None) -> Any:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=name, context=context)
        self.tasks.append(task)
        return task

    def run_in_executor(  # type: ignore[override] # because the stub of the base is not generic
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        """Call in a thread: at some instant to come, of which the loop hears a little later."""
        del executor
        future = self.create_future()
        call = partial(self._run_in_thread, partial(func, *args), future)
        self._timeline.call_in(self._thread_ns(), call)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.is_dead:
            self._on_bug(context)

    # What the world does with a process.

    def kill(self) -> None:
        """As hard as `kill -9`: nothing of this process ever runs again."""
        self.is_dead = True
        # Kept, since a coroutine that is collected would run its `finally` clauses.
        self._kept += self._ready
        self._ready.clear()

    def freeze(self) -> None:
        """SIGSTOP: timers come late, threads stand still."""
        self.is_frozen = True

    def thaw(self) -> None:
        """SIGCONT."""
        self.is_frozen = False
        self._wake()

    def _make_ready(self, handle: Call) -> None:
        if self.is_dead:
            self._kept.append(handle)
            return
        self._ready.append(handle)
        if not self._is_awake:
            self._wake()

    def _ring(self, handle: Call) -> None:
        if self.is_dead:
            self._kept.append(handle)
        elif not handle.is_cancelled:
            self._make_ready(handle)

    def _wake(self) -> None:
        if not self._is_awake and not self.is_frozen:
            self._is_awake = True
            self._timeline.call_soon(self._turn)

    def _turn(self) -> None:
        """Run what is ready, and what gets ready by that: all of it takes no time."""
        ready, ran = self._ready, 0
        enter(self)
        try:
            while ready and ran < _CALLS_PER_TURN and not (self.is_dead or self.is_frozen):
                handle = ready.popleft()
                ran += 1
                if not handle.is_cancelled:
                    self._run(handle)
        finally:
            enter(None)
        self._timeline.events += ran
        self._is_awake = False
        if ready and not self.is_dead:
            self._wake()

    def _run(self, handle: Call) -> None:
        try:
            handle.context.run(handle.callback, *handle.args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - because a loop tells of it and goes on
            self.call_exception_handler({"exception": error})

    def _run_in_thread(self, call: Callable[[], Any], future: "asyncio.Future[Any]") -> None:
        if self.is_dead:
            self._kept.append((call, future))
            return
        if self.is_frozen:
            self._timeline.call_in(self._thread_ns(), partial(self._run_in_thread, call, future))
            return
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - because whoever awaits the thread gets it
            settle = partial(_settle, future.set_exception, future, error)
        else:
            settle = partial(_settle, future.set_result, future, result)
        self._timeline.call_in(self._thread_ns(), partial(self.call_soon, settle))


def enter(loop: ProcessLoop | None) -> None:
    """What runs from now on runs on this loop, or on none."""
    events._set_running_loop(loop)  # noqa: SLF001 - because loops have no other way to say it


def _settle(put: Callable[[Any], None], future: "asyncio.Future[Any]", value: Any) -> None:
    if not future.done():
        put(value)
