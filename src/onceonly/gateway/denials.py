"""Calls of the API that were denied: counted, and written into the journal up to a limit (R-45).

They have a ration of their own: who floods the API hides nothing that strangers do at the endpoint
for partners, and the other way round.
"""

from collections import Counter
from typing import Any

from onceonly.gateway.office import Office
from onceonly.gateway.refusals import Refusals
from onceonly.gateway.tasks import Tasks


class Denials:
    """Counts the calls that were denied since the start, by the name of the refusal."""

    def __init__(self, *, office: Office, tasks: Tasks, rows_per_hour: int) -> None:
        self._refusals = Refusals(office=office, tasks=tasks, rows_per_hour=rows_per_hour)
        self.counts: Counter[str] = Counter()

    def note(self, name: str, scope: Any, who: str | None = None) -> None:
        """Note the refusal of a call, known by its ASGI scope; `who` is its key's name.

        Nothing of what the caller wrote is kept but the path's beginning and the method.
        """
        self.counts[name] += 1
        client = scope.get("client")
        peer = client[0] if client else "this process"
        by = "" if who is None else f" with the key {who!r}"
        asked = f"{scope['method'][:10]} {scope['path'][:80]!r}"
        self._refusals.note(peer, "API", f"{name}: {asked}{by}")

    def limit(self, rows_per_hour: int) -> None:
        """Write so many rows in an hour from now on."""
        self._refusals.limit(rows_per_hour)

    async def sweep(self) -> None:
        """Write how many had no row, after their hour is over."""
        await self._refusals.sweep()
