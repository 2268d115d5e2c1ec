"""Deadlines on the event loop: the monotonic instants that a machine asks for come true.

Knows the loop and the clock; must not know what is due. Deadlines are not durable: after a restart
the machines are told of the restart instead.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from onceonly.gateway.clock import Clock


class Deadlines:
    """One timer per key of `due_ns`, which belongs to the steps that change it."""

    def __init__(
        self, clock: Clock, due_ns: Mapping[str, int], reached: Callable[[str], None]
    ) -> None:
        self._clock = clock
        self._due_ns = due_ns
        self._reached = reached
        self._timers: dict[str, asyncio.Handle] = {}
        self._is_stopped = False

    def stop(self) -> None:
        """Nothing is due any more."""
        self._is_stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def move(self, key: str) -> None:
        """Set the timer of the key by what `due_ns` says now."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        due_ns = self._due_ns.get(key)
        if due_ns is None or self._is_stopped:
            return
        self._timers[key] = self._clock.call_at(due_ns, partial(self._ring, key))

    def _ring(self, key: str) -> None:
        del self._timers[key]
        due_ns = self._due_ns.get(key)
        if due_ns is not None and self._clock.real_wait_s(due_ns) > 0:
            return self.move(key)
        # Without a deadline: a step that ended the wait is being committed, or was undone by a
        # full disk. The machine sees which, and only in the second case acts again.
        return self._reached(key)
