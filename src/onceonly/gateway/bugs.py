"""A bug of ours while we speak with a peer: a row, a count and a log line; the process goes on.

Only a failure of the store stops the process (R-22). Nothing that a peer sends or answers may end
it: an unforeseen exception is contained in the conversation in which it was raised, the part that
has the message parks it, and everything else goes on (ruling R-43). This file is the only one in
the gateway that catches exceptions that it cannot name.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import structlog

from onceonly.gateway.office import Office
from onceonly.gateway.refusals import Refusals
from onceonly.gateway.tasks import Tasks
from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.store.contract.conditions import StoreFailed, StoreFull

T = TypeVar("T")

REASON_LENGTH_MAX = 500
"""Longest text of an exception in a row; the log line has its stack."""

OnBug = Callable[[str, BaseException], None]
"""Called with the place and the exception, for others that have to know: a simulator."""

log: Any = structlog.get_logger("onceonly")


class Bugs:
    """Notes bugs; their rows are limited like refusals, as a stranger may repeat one all day."""

    def __init__(
        self,
        *,
        office: Office,
        refusals: Refusals,
        tasks: Tasks,
        on_failure: Callable[[StoreFailed], None],
        on_bug: OnBug | None = None,
    ) -> None:
        self._office = office
        self._refusals = refusals
        self._tasks = tasks
        self._on_failure = on_failure
        self._on_bug = on_bug
        self.counts: Counter[str] = Counter()
        """How many there were since the start, by place."""

    async def contain(
        self,
        place: str,
        work: Awaitable[T],
        instead: Callable[[Exception], Awaitable[T]],
        *,
        message_id: str | None = None,
    ) -> T:
        """Return the result of `work`; after a bug in it, that of `instead`.

        `place` says in a few words what was being done; there are only few places, since they are
        counted. Raises `StoreFull` and `StoreFailed`, which are no bugs, and what `instead` raises.
        """
        try:
            return await work
        except (StoreFull, StoreFailed):
            raise
        except Exception as bug:  # noqa: BLE001 - because no conversation with a peer may end the process (R-43)
            self.note(place, bug, message_id=message_id)
            return await instead(bug)

    def start(
        self,
        place: str,
        work: Callable[[], Awaitable[Any]],
        instead: Callable[[Exception], Awaitable[Any]],
        *,
        message_id: str | None = None,
    ) -> None:
        """Start `work` in a task, contained; after the end of the gateway it is not started."""

        async def contained() -> None:
            await self.contain(place, work(), instead, message_id=message_id)

        self._tasks.start(contained(), place=place)

    def note(self, place: str, bug: BaseException, *, message_id: str | None = None) -> None:
        """Count the bug, and write its row and its log line in a task."""
        if isinstance(bug, StoreFailed):
            self._on_failure(bug)
            return
        if isinstance(bug, StoreFull):
            log.warning("store full", place=place, error=str(bug))
            return
        self.counts[place] += 1
        if self._on_bug is not None:
            self._on_bug(place, bug)
        if place != _NOTING:
            self._tasks.start(self._write(place, bug, message_id), place=_NOTING)

    async def _write(self, place: str, bug: BaseException, message_id: str | None) -> None:
        reason = f"a bug of onceonly while {place}: {words_for(bug)}"
        row = self._office.about_gateway(Event.INTERNAL_ERROR, reason)
        if await self._refusals.write(changed(row, message_id=message_id)):
            log.error("bug", place=place, message_id=message_id, exc_info=bug)


def words_for(bug: BaseException) -> str:
    """The exception in one line of printable characters, and where it was raised."""
    trace, where = bug.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        where = f" ({code.co_qualname}, line {trace.tb_lineno})"
        trace = trace.tb_next
    text = f"{type(bug).__name__}: {bug}".encode("unicode_escape").decode("ascii")
    return text[:REASON_LENGTH_MAX] + where


_NOTING = "noting a bug"
