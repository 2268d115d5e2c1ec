"""Virtual time: a heap of calls that run one after the other, in the order of their instants.

Knows nothing of nodes or networks. Nothing here reads a real clock; a year costs as much as what
happens in it.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

NS_PER_MS = 1_000_000


class Timeline:
    """The one clock of a world, in nanoseconds from its beginning."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.events = 0
        """Calls made so far: the measure of a world's length, and the bound against livelocks."""
        self._calls: list[tuple[int, int, Callable[[], object]]] = []
        self._soon: deque[Callable[[], object]] = deque()
        """Calls for this instant, in the order in which they were asked for."""
        self._count = 0
        self._is_over = False

    @property
    def mark(self) -> tuple[int, int, int]:
        """Where the world stands: between two equal marks no call was made or asked for."""
        return self.events, self._count, len(self._soon)

    def call_at(self, at_ns: int, call: Callable[[], object]) -> None:
        """Call at that instant, after every call that was asked for earlier for it."""
        if at_ns <= self.now_ns:
            self._soon.append(call)
        else:
            self._count += 1
            heappush(self._calls, (at_ns, self._count, call))

    def call_in(self, delay_ns: int, call: Callable[[], object]) -> None:
        """Call after so much time."""
        self.call_at(self.now_ns + delay_ns, call)

    def call_soon(self, call: Callable[[], object]) -> None:
        """Call at this instant, after every call that was asked for earlier for it."""
        self._soon.append(call)

    def stop(self) -> None:
        """Let `run_until` make no call any more."""
        self._is_over = True

    def run_until(self, end_ns: int, *, events_max: int) -> bool:
        """Run every call up to `end_ns`, or until one of them stops it.

        False where `events_max` calls in all were not enough: a livelock (L5).
        """
        calls, soon = self._calls, self._soon
        while True:
            if calls and (calls[0][0] <= self.now_ns or not soon):
                if calls[0][0] > end_ns:
                    break
                self.now_ns, _, call = heappop(calls)
            elif soon:
                call = soon.popleft()
            else:
                break
            if self.events >= events_max:
                return False
            self.events += 1
            call()
            if self._is_over:
                return True
        self.now_ns = max(self.now_ns, end_ns)
        return True
