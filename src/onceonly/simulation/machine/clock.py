"""The clocks of one machine: wall time that drifts and jumps, monotonic time that only goes on.

Keeps the gateway's `Clock` contract on virtual time (faults T1 and T2, invariant I40).
"""

import asyncio
from collections.abc import Callable

from onceonly.gateway.clock import Clock
from onceonly.message.instant import NS_PER_S, Now
from onceonly.simulation.timeline import Timeline

EPOCH_AT = 1_790_000_000_000_000
"""Wall clock at the beginning of every world: an afternoon in September 2026."""

_PPM = 1_000_000


class MachineClock(Clock):
    """Both clocks of one machine; `drift_ppm` makes them faster, `offset_us` moves the wall."""

    def __init__(self, timeline: Timeline, *, drift_ppm: int = 0, offset_us: int = 0) -> None:
        super().__init__()
        self._timeline = timeline
        self._drift_ppm = drift_ppm
        self.offset_us = offset_us
        """Wall clock against true time; jumps change it."""
        self._booted_ns = 0

    def reboot(self) -> None:
        """The monotonic clock begins at nought again, as after a power cut."""
        self._booted_ns = self._timeline.now_ns

    def now(self) -> Now:
        """Both clocks, read together."""
        return Now(self.at(), self._monotonic_ns())

    def at(self) -> int:
        """Wall clock, microseconds UTC."""
        return EPOCH_AT + self._faster(self._timeline.now_ns) // 1000 + self.offset_us

    def real_wait_s(self, due_ns: int) -> float:
        """Seconds of true time until the monotonic deadline; 0 if it has come."""
        left_ns = due_ns - self._monotonic_ns()
        return max(0, -(-left_ns * _PPM // (_PPM + self._drift_ppm))) / NS_PER_S

    def call_at(self, due_ns: int, call: Callable[[], None]) -> asyncio.Handle:
        """Let the loop call at the monotonic instant `due_ns`."""
        return asyncio.get_running_loop().call_later(self.real_wait_s(due_ns), call)

    async def pause(self, wait_s: float) -> None:
        """Let so many seconds pass."""
        await asyncio.sleep(wait_s)

    def _monotonic_ns(self) -> int:
        return self._faster(self._timeline.now_ns - self._booted_ns)

    def _faster(self, true_ns: int) -> int:
        return true_ns + true_ns * self._drift_ppm // _PPM
