"""What is refused and names no partner: a journal row each, as long as somebody can read them all.

A request that is none, a command for somebody else's mailbox, a package from nobody that we know:
nothing is stored, and nobody is told. An operator wants to see that it happened; an attacker must
not be able to fill the disk with it, nor to bury the rows of messages. So rows are rationed, and
what got none is counted in the next one.
"""

from typing import Final

from onceonly.gateway.clock import Clock
from onceonly.gateway.rows import Rows
from onceonly.gateway.tasks import Tasks
from onceonly.journal.record import Record
from onceonly.message.event import Direction, Event
from onceonly.message.instant import NS_PER_S
from onceonly.store.group import GroupCommit
from onceonly.store.store import StoreFull

ROWS_AT_ONCE: Final = 60
"""A scanner's visit, whole. More of the same says nothing new."""

ROW_EVERY_S: Final = 10
"""After that: 8,640 rows a day at most, some five megabytes."""


class Refusals:
    """Writes one row per refusal, within its ration."""

    def __init__(self, *, group: GroupCommit, rows: Rows, clock: Clock, tasks: Tasks) -> None:
        self._group = group
        self._rows = rows
        self._clock = clock
        self._tasks = tasks
        self._ration = float(ROWS_AT_ONCE)
        self._counted_ns = clock.now().monotonic_ns
        self._unwritten = 0

    def note(self, peer: str, transport: str, reason: str) -> None:
        """The endpoints' `NoteRefusal`."""
        text = f"refused by the {transport} endpoint: {reason}"
        row = self._rows.about_gateway(Event.SECURITY_EVENT, self._clock.now(), text)
        row = row._replace(direction=Direction.IN, endpoint=peer, transport=transport)
        self._tasks.start(self.write(row))

    async def write(self, row: Record) -> None:
        """Append a row about somebody who named himself to nobody that we know, or count it."""
        if not self._has_row():
            self._unwritten += 1
            return
        unwritten, self._unwritten = self._unwritten, 0
        if unwritten:
            row = row._replace(reason=f"{row.reason}; {unwritten} more before it")
        try:
            await self._group.transact(lambda txn: txn.append((row,)))
        except StoreFull:
            # The next one that finds room says so.
            self._unwritten += unwritten + 1

    def _has_row(self) -> bool:
        now_ns = self._clock.now().monotonic_ns
        earned = (now_ns - self._counted_ns) / (ROW_EVERY_S * NS_PER_S)
        self._ration = min(float(ROWS_AT_ONCE), self._ration + earned)
        self._counted_ns = now_ns
        if self._ration < 1:
            return False
        self._ration -= 1
        return True
