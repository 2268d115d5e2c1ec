"""Deadlines on the event loop: machines are told when the instant comes that they wait for.

Knows the loop, the clock, and which deadlines are committed; must not know what is due. Deadlines
are not durable: after a restart the machines are told of the restart instead.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from onceonly.gateway.clock import Clock
from onceonly.store.contract.waits import Waiter

Key = tuple[Waiter, str]
"""A machine of the message with this MessageId."""


class Deadlines:
    """One timer per committed deadline."""

    def __init__(self, clock: Clock, reached: Callable[[Key, int], None]) -> None:
        self._clock = clock
        self._reached = reached
        self._timers: dict[Key, tuple[asyncio.Handle, int]] = {}
        self._is_stopped = False

    def stop(self) -> None:
        """Cancel all timers."""
        self._is_stopped = True
        for timer, _ in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def has(self, key: Key) -> bool:
        """Whether the machine waits for something."""
        return key in self._timers

    def find(self, key: Key) -> int | None:
        """Until when the machine waits, in monotonic nanoseconds; for any thread."""
        timer = self._timers.get(key)
        return None if timer is None else timer[1]

    def settle(self, waits: Mapping[Key, int | None]) -> None:
        """Set the timers of these deadlines; called after the commit of a step with new ones."""
        for key, due_ns in waits.items():
            self._set(key, due_ns)

    def _set(self, key: Key, due_ns: int | None) -> None:
        known = self._timers.pop(key, None)
        if known is not None:
            known[0].cancel()
        if due_ns is not None and not self._is_stopped:
            timer = self._clock.call_at(due_ns, partial(self._ring, key, due_ns))
            self._timers[key] = timer, due_ns

    def _ring(self, key: Key, due_ns: int) -> None:
        if self._clock.real_wait_s(due_ns) > 0:
            return self._set(key, due_ns)
        del self._timers[key]
        # A step that ended the wait may not be committed yet; the machine sees that by due_ns.
        return self._reached(key, due_ns)
