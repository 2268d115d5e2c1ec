"""What endpoints refuse on their own: one journal row each, as long as somebody can read them all.

A request that is none, a command for somebody else's mailbox, a head without end: nobody is named
in it, and nothing is stored. An operator wants to see that it happened; an attacker must not be
able to fill the disk with it, nor to bury the rows of messages. So rows are rationed, and what
got none is counted in the next one.
"""

from typing import Final

from onceonly.gateway.clock import Clock
from onceonly.gateway.rows import Rows
from onceonly.gateway.tasks import Tasks
from onceonly.message.event import Direction, Event
from onceonly.message.instant import NS_PER_S
from onceonly.store.group import GroupCommit
from onceonly.store.store import StoreFull

ROWS_AT_ONCE: Final = 60
"""A scanner's visit, whole. More of the same says nothing new."""

ROW_EVERY_S: Final = 10
"""After that: 8,640 rows a day at most, some five megabytes."""


class Refusals:
    """Writes one SecurityEvent per refusal within its ration."""

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
        if self._has_row():
            self._tasks.start(self._write(peer, transport, reason))
        else:
            self._unwritten += 1

    def _has_row(self) -> bool:
        now_ns = self._clock.now().monotonic_ns
        earned = (now_ns - self._counted_ns) / (ROW_EVERY_S * NS_PER_S)
        self._ration = min(float(ROWS_AT_ONCE), self._ration + earned)
        self._counted_ns = now_ns
        if self._ration < 1:
            return False
        self._ration -= 1
        return True

    async def _write(self, peer: str, transport: str, reason: str) -> None:
        unwritten, self._unwritten = self._unwritten, 0
        before = f"; {unwritten} more before it" if unwritten else ""
        text = f"refused by the {transport} endpoint: {reason}{before}"
        row = self._rows.about_gateway(Event.SECURITY_EVENT, self._clock.now(), text)
        row = row._replace(direction=Direction.IN, endpoint=peer, transport=transport)
        try:
            await self._group.transact(lambda txn: txn.append((row,)))
        except StoreFull:
            # The next one that finds room says so.
            self._unwritten += unwritten + 1
