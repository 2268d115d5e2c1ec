"""Deadlines on the event loop: the monotonic instants that a machine asks for come true.

Knows the loop, the clock, and which deadlines are committed; must not know what is due. Deadlines
are not durable: after a restart the machines are told of the restart instead.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from onceonly.gateway.clock import Clock
from onceonly.store.contract.store import Transaction


class Waits:
    """Until when each machine waits: what is committed, under what the open transaction says.

    What a transaction said is forgotten with it: on a full disk its states go back to what they
    were, and so do their deadlines.
    """

    def __init__(self) -> None:
        self._committed: dict[str, int] = {}
        self._open: dict[str, int | None] = {}
        self._transaction: Transaction | None = None

    def begin(self, txn: Transaction) -> None:
        """A step runs in `txn`, perhaps behind others."""
        if txn is not self._transaction:
            self._transaction = txn
            self._open.clear()

    def find(self, key: str) -> int | None:
        """The deadline of this machine, as a step sees it."""
        return self._open[key] if key in self._open else self._committed.get(key)

    def put(self, key: str, due_ns: int | None) -> None:
        """In a step: the machine waits until then, or for nothing."""
        self._open[key] = due_ns

    def settle(self, key: str, due_ns: int | None) -> None:
        """After the commit of the step that put it."""
        if due_ns is None:
            self._committed.pop(key, None)
        else:
            self._committed[key] = due_ns


class Deadlines:
    """One timer per committed deadline of `waits`."""

    def __init__(self, clock: Clock, waits: Waits, reached: Callable[[str, int], None]) -> None:
        self._clock = clock
        self._waits = waits
        self._reached = reached
        self._timers: dict[str, asyncio.Handle] = {}
        self._is_stopped = False

    def stop(self) -> None:
        """Nothing is due any more."""
        self._is_stopped = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def settle(self, deadlines: Mapping[str, int | None]) -> None:
        """After the commit of a step that moved these."""
        for key, due_ns in deadlines.items():
            self._waits.settle(key, due_ns)
            self._set(key, due_ns)

    def _set(self, key: str, due_ns: int | None) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        if due_ns is not None and not self._is_stopped:
            self._timers[key] = self._clock.call_at(due_ns, partial(self._ring, key, due_ns))

    def _ring(self, key: str, due_ns: int) -> None:
        if self._clock.real_wait_s(due_ns) > 0:
            return self._set(key, due_ns)
        del self._timers[key]
        # A step that ended the wait may be on its way to the disk; the machine sees it by due_ns.
        return self._reached(key, due_ns)
