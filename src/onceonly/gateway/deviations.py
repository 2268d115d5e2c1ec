"""Tells an operator, once a day of each agreement, what a partner does in another way than agreed.

Knows which of them were told today, so that the messages after the first one cost nothing. After a
restart the store knows it.
"""

from datetime import date
from functools import partial

from onceonly.gateway.bugs import Bugs
from onceonly.gateway.office import Office
from onceonly.steps import deviations
from onceonly.steps.deviations import Deviation, DeviationKind

NOTING = "noting a deviation from an agreement"


class Deviations:
    """Those that were told today."""

    def __init__(self, *, office: Office, bugs: Bugs) -> None:
        self._office = office
        self._bugs = bugs
        self._told: dict[tuple[str, DeviationKind], date] = {}

    def note(self, deviation: Deviation) -> None:
        """Tell it in a task, if it was not told today."""
        key = deviation.agreement.id, deviation.kind
        today = deviations.day_of(self._office.clock.at())
        if self._told.get(key) == today:
            return
        self._told[key] = today
        self._bugs.start(NOTING, partial(self._write, deviation), self._forget)

    async def _write(self, deviation: Deviation) -> None:
        await self._office.persist(partial(deviations.note, deviation=deviation))

    async def _forget(self, bug: Exception) -> None:
        """The bug has a row of its own."""
        del bug
