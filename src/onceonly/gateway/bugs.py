"""What meets a bug of ours while we speak with a peer: a row, a count, a log line, and no end.

Fail-stop belongs to the store (R-22). Whatever a peer sends or answers must not be able to end the
process: an exception that nobody foresaw is contained where the conversation is, the message that
met it is parked by whoever has it, and everything else goes on (ruling R-43). This file is the only
one in the gateway that catches what it cannot name.
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
"""Of the exception in a row; the log line has its stack."""

OnBug = Callable[[str, BaseException], None]
"""Called with the place and the exception, for whoever else has to know: a simulator."""

log: Any = structlog.get_logger("onceonly")


class Bugs:
    """Notes bugs, within the ration of refusals: a stranger may cause the same one all day."""

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
        """What `work` returns; after a bug in it, what `instead` makes of it.

        `place` says in a word or two what was being done, and is one of few. Raises `StoreFull` and
        `StoreFailed`, which are no bugs, and what `instead` raises.
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
        """Begin `work` beside the caller, contained; behind the end nothing of it is made."""

        async def contained() -> None:
            await self.contain(place, work(), instead, message_id=message_id)

        self._tasks.start(contained(), place=place)

    def note(self, place: str, bug: BaseException, *, message_id: str | None = None) -> None:
        """Count it, and write its row and its log line beside the caller."""
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
