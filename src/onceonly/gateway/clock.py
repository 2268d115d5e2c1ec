"""Reads the time for the gateway; the core gets it as an argument.

A drill may shorten every wait of the protocol (`clock_rate`: the seeds count in whole seconds) and
may make the wall clock jump (`clock_offset_file`). The rate does not change the wall clock, so that
timestamps of two gateways and of their journals stay comparable.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from onceonly.message.instant import NS_PER_S, US_PER_S, Now


class Clock:
    """Both clocks of this process, under the drill's rate and offset."""

    def __init__(self, *, rate: float = 1.0, offset_file: Path | None = None) -> None:
        self._rate = rate
        self._offset_file = offset_file

    def now(self) -> Now:
        """Wall and monotonic clock, read together."""
        return Now(self.at(), int(time.monotonic_ns() * self._rate))

    def at(self) -> int:
        """Wall clock, microseconds UTC."""
        at = time.time_ns() // 1000
        return at if self._offset_file is None else at + self._offset_us(self._offset_file)

    def real_wait_s(self, due_ns: int) -> float:
        """Seconds of the event loop until the monotonic deadline `due_ns`; 0 if it has come."""
        return max(0.0, (due_ns / self._rate - time.monotonic_ns()) / NS_PER_S)

    def wall_at(self, due_ns: int) -> int:
        """When the monotonic instant `due_ns` comes by the wall clock, to the second.

        The two clocks are read one after the other, so that it is known no better. For people.
        """
        wait_us = (due_ns / self._rate - time.monotonic_ns()) / 1_000
        return round((self.at() + wait_us) / US_PER_S) * US_PER_S

    def call_at(self, due_ns: int, call: Callable[[], None]) -> asyncio.Handle:
        """Let the event loop call at the monotonic instant `due_ns`, or a little before."""
        return asyncio.get_running_loop().call_later(self.real_wait_s(due_ns), call)

    async def pause(self, wait_s: float) -> None:
        """Wait for that many seconds, divided by the rate of the drill."""
        await asyncio.sleep(wait_s / self._rate)

    def _offset_us(self, file: Path) -> int:
        """The offset, in seconds, is read each time: a drill changes it while we run."""
        try:
            return int(float(file.read_text(encoding="ascii").strip() or 0) * US_PER_S)
        except FileNotFoundError:
            return 0
