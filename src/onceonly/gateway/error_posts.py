"""Posts to partners that packages cause which are refused: within a ration (ruling R-45).

A package that cannot be taken is answered with an error to the partner that it names, and anybody
can name one where no certificate is agreed. So a partner hears of so many in an hour; whoever sent
the others is answered on his own connection alone.
"""

from onceonly.gateway.clock import Clock
from onceonly.gateway.ration import Ration


class ErrorPosts:
    """One ration for each partner, under however many agreements and routes it calls us."""

    def __init__(self, *, per_hour: int, clock: Clock) -> None:
        self._per_hour = per_hour
        self._clock = clock
        self._rations: dict[str, Ration] = {}

    def spend(self, partner: str) -> bool:
        """Whether one more error may be posted to the partner, who must be a known one."""
        ration = self._rations.setdefault(partner, Ration(self._per_hour, self._clock))
        return ration.spend()
