"""Limits the errors that refused packages cause us to post to partners (ruling R-45).

A package that cannot be accepted is answered with an error to the partner that it names, and
without an agreed certificate anybody can name any partner. So a partner gets only a limited number
of such errors in an hour; after that only the connection of the caller gets the answer.
"""

from onceonly.gateway.clock import Clock
from onceonly.gateway.ration import Ration


class ErrorPosts:
    """One ration for each partner, for all its agreements and routes together."""

    def __init__(self, *, per_hour: int, clock: Clock) -> None:
        self._per_hour = per_hour
        self._clock = clock
        self._rations: dict[str, Ration] = {}

    def limit(self, per_hour: int) -> None:
        """Post so many in an hour from now on."""
        self._per_hour = per_hour
        for ration in self._rations.values():
            ration.limit(per_hour)

    def spend(self, partner: str) -> bool:
        """Whether one more error may be posted to the partner, which must be configured."""
        ration = self._rations.setdefault(partner, Ration(self._per_hour, self._clock))
        return ration.spend()
