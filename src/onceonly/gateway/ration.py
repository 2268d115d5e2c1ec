"""How often something may happen in an hour, however often others cause it (ruling R-45)."""

from typing import Final

from onceonly.gateway.clock import Clock
from onceonly.message.instant import NS_PER_S

HOUR_S: Final = 3600


class Ration:
    """At most `most_per_hour` in each hour; an hour begins with the first event in it."""

    def __init__(self, most_per_hour: int, clock: Clock) -> None:
        self._most_per_hour = most_per_hour
        self._clock = clock
        self._ends_ns = 0
        self._used = 0
        self._held_back = 0

    def limit(self, most_per_hour: int) -> None:
        """Allow so many from now on; what was used in this hour counts."""
        self._most_per_hour = most_per_hour

    def spend(self) -> bool:
        """Use one; False if none is left in this hour, which is counted as held back."""
        if self._is_over():
            self._ends_ns = self._clock.now().monotonic_ns + HOUR_S * NS_PER_S
            self._used = 0
        if self._used >= self._most_per_hour:
            self._held_back += 1
            return False
        self._used += 1
        return True

    def hold_back(self, count: int) -> None:
        """Count as held back what did not happen although there was one left."""
        self._held_back += count

    def take_held_back(self) -> int:
        """How many were held back; returned once, after their hour is over, and 0 otherwise."""
        if not self._is_over():
            return 0
        count, self._held_back = self._held_back, 0
        return count

    def _is_over(self) -> bool:
        return self._clock.now().monotonic_ns >= self._ends_ns


class Rations:
    """A ration for each partner, for all its agreements and routes together."""

    def __init__(self, *, per_hour: int, clock: Clock) -> None:
        self._per_hour = per_hour
        self._clock = clock
        self._rations: dict[str, Ration] = {}

    def limit(self, per_hour: int) -> None:
        """Allow each partner so many in an hour from now on."""
        self._per_hour = per_hour
        for ration in self._rations.values():
            ration.limit(per_hour)

    def spend(self, partner: str) -> bool:
        """Whether there is one more for the partner, which must be configured."""
        ration = self._rations.setdefault(partner, Ration(self._per_hour, self._clock))
        return ration.spend()
