"""How often something may happen in an hour, however often somebody else makes us (ruling R-45)."""

from typing import Final

from onceonly.gateway.clock import Clock
from onceonly.message.instant import NS_PER_S

HOUR_S: Final = 3600


class Ration:
    """At most `most_per_hour` in each hour that is counted; an hour begins with its first one."""

    def __init__(self, most_per_hour: int, clock: Clock) -> None:
        self._most_per_hour = most_per_hour
        self._clock = clock
        self._ends_ns = 0
        self._used = 0
        self._held_back = 0

    def spend(self) -> bool:
        """Whether there is one left; one that is not there is counted as held back."""
        if self._is_over():
            self._ends_ns = self._clock.now().monotonic_ns + HOUR_S * NS_PER_S
            self._used = 0
        if self._used >= self._most_per_hour:
            self._held_back += 1
            return False
        self._used += 1
        return True

    def hold_back(self, count: int) -> None:
        """Count what came to nothing although there was one left."""
        self._held_back += count

    def take_held_back(self) -> int:
        """How many were held back, told once and not before their hour is over."""
        if not self._is_over():
            return 0
        count, self._held_back = self._held_back, 0
        return count

    def _is_over(self) -> bool:
        return self._clock.now().monotonic_ns >= self._ends_ns
