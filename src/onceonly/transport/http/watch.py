"""One timer for many connections.

A timer per request would cost more than parsing it. Limits are in seconds, so looking at every
connection a few times per limit is exact enough: a limit fires at most a quarter late.
"""

import asyncio
from typing import Protocol

from onceonly.transport.http.limits import WATCH_INTERVAL_S_MAX

ROUNDS_PER_LIMIT = 4
"""A limit fires late by at most its length divided by this."""


class Watched(Protocol):
    """Something with deadlines."""

    def check(self, now: float) -> None:
        """Act on deadlines that passed; `now` is the loop's time in seconds."""
        ...


class Watch:
    """Calls `check` of its members in rounds, as long as there are members."""

    def __init__(self, *limits_s: float) -> None:
        self._interval_s = min(
            WATCH_INTERVAL_S_MAX, *(limit / ROUNDS_PER_LIMIT for limit in limits_s)
        )
        self._members: set[Watched] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, member: Watched) -> None:
        """Watch `member` from now on. Called inside the running loop."""
        self._members.add(member)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._interval_s, self._round, loop)

    def discard(self, member: Watched) -> None:
        """Forget `member`, if it is one."""
        self._members.discard(member)
        if not self._members and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _round(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self._interval_s, self._round, loop)
        now = loop.time()
        for member in tuple(self._members):
            member.check(now)
