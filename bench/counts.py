"""What a message takes, counted instead of timed: the same on a busy machine as on an idle one.

Counts what one process does from `begin` to `end`. Counting makes everything several times slower,
so a run is either counted or timed.
"""

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import apsw

from onceonly.gateway.wiring import Gateway
from onceonly.store import group
from onceonly.store.sqlite.store import SqliteStore

OURS = str(Path(__file__).parent)
COMPREHENSIONS = {"<listcomp>", "<dictcomp>", "<setcomp>"}
"""Calls in Python 3.11 and none in 3.12."""

LOOK_S = 0.001
"""Between two looks whether there is rest. What is counted does not depend on it."""

STEP = group._run.__code__  # noqa: SLF001 - because it runs once for each step
COMMIT = SqliteStore.commit.__code__


class Counts:
    """Make it before the stores are opened and the gateways joined, on a running event loop."""

    def __init__(self) -> None:
        self._is_counting = False
        self._of_thread = threading.local()
        self._all_calls: list[Counter[CodeType]] = []
        self._connections: list[apsw.Connection] = []
        self._statements: Counter[str] = Counter()
        self._tasks = 0
        apsw.connection_hooks.append(self._watch)
        asyncio.get_running_loop().set_task_factory(self._task)
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def begin(self) -> None:
        self._pages_before = self._pages()
        self._is_counting = True

    def end(self, messages: int) -> dict[str, float]:
        """Per message: what was done since `begin`. Nothing is counted any more."""
        self._is_counting = False
        sys.setprofile(None)
        threading.setprofile(None)
        apsw.connection_hooks.remove(self._watch)
        asyncio.get_running_loop().set_task_factory(None)
        calls = sum(self._all_calls, Counter())
        counts = {
            "statements": self._statements.total(),
            "steps": calls[STEP],
            "commits": calls[COMMIT],
            "tasks": self._tasks,
            "pages_written": self._pages() - self._pages_before,
            "python_calls": calls.total(),
        }
        return {name: round(number / messages, 3) for name, number in counts.items()}

    def statements(self, most: int) -> list[tuple[str, int]]:
        """The statements that were executed most often: where to look when a budget is passed."""
        return self._statements.most_common(most)

    async def rest(self, *gateways: Gateway) -> None:
        """Return when none of them has anything left to do; looking at them is not counted."""
        loop = asyncio.get_running_loop()
        while not self._are_at_rest(gateways):
            look = loop.create_future()
            loop.call_later(LOOK_S, look.set_result, None)
            await look

    def _are_at_rest(self, gateways: Iterable[Gateway]) -> bool:
        self._of_thread.is_aside = True
        try:
            return all(one.group.is_at_rest and not one.tasks.running for one in gateways)
        finally:
            self._of_thread.is_aside = False

    def _watch(self, connection: apsw.Connection) -> None:
        self._connections.append(connection)
        connection.exec_trace = self._execute

    def _execute(self, cursor: apsw.Cursor, statement: str, bindings: Any) -> bool:
        del cursor, bindings
        if self._is_counting:
            self._statements[statement] += 1
        return True

    def _pages(self) -> int:
        pages = 0
        for connection in self._connections:
            with suppress(apsw.ConnectionClosedError):
                pages += connection.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0]
        return pages

    def _task(
        self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **how: Any
    ) -> "asyncio.Task[Any]":
        self._tasks += self._is_counting
        return asyncio.Task(work, loop=loop, **how)

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        """One more call of a function, unless it is the bench's own."""
        del argument
        if event != "call" or not self._is_counting:
            return
        code = frame.f_code
        if code.co_filename.startswith(OURS) or code.co_name in COMPREHENSIONS:
            return
        mine = self._of_thread
        if getattr(mine, "is_aside", False):
            return
        calls: Counter[CodeType] | None = getattr(mine, "calls", None)
        if calls is None:
            # One for each thread, since adding to one number is no single step for two of them.
            calls = mine.calls = Counter()
            self._all_calls.append(calls)
        calls[code] += 1
