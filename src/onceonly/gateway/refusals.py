"""Refusals that concern no partner: a journal row for each, up to a limit.

Examples are an illegal request, a mail for another mailbox, and a package from an unknown caller or
from one that does not show the agreed certificate. Nothing is stored, and nobody is told. An
operator wants to see that it happened, but an attacker must not be able to fill the disk with rows,
or to hide the rows of messages among them. So the rows are limited, and after the hour one more row
tells how many refusals had none (ruling R-45).
"""

from onceonly.gateway.office import Office
from onceonly.gateway.ration import Ration
from onceonly.gateway.tasks import Tasks
from onceonly.journal.record import Record
from onceonly.message.event import Direction, Event
from onceonly.message.word import changed
from onceonly.store.contract.conditions import StoreFull

STRANGERS = ""
"""Used instead of an agreement id, for all callers together that no agreement admits."""


class Refusals:
    """Writes one row per refusal, `rows_per_hour` at most and one more that counts the others."""

    def __init__(self, *, office: Office, tasks: Tasks, rows_per_hour: int) -> None:
        self._office = office
        self._clock = office.clock
        self._tasks = tasks
        self._rows_per_hour = rows_per_hour
        self._rations: dict[str, Ration] = {}
        """For each configured agreement or route; strangers share one."""

    def limit(self, rows_per_hour: int) -> None:
        """Write so many rows in an hour from now on."""
        self._rows_per_hour = rows_per_hour
        for ration in self._rations.values():
            ration.limit(rows_per_hour)

    def note(self, peer: str, transport: str, reason: str) -> None:
        """The endpoints' `NoteRefusal`."""
        text = f"refused by the {transport} endpoint: {reason}"
        row = self._office.about_gateway(Event.SECURITY_EVENT, text)
        row = changed(row, direction=Direction.IN, endpoint=peer, transport=transport)
        self._tasks.start(self.write(row))

    async def write(self, row: Record, *, agreement_id: str = STRANGERS) -> bool:
        """Append the row, or count it; returns whether the ration allowed it.

        Packages in a partner's name, which may really be from the partner, have a ration of their
        own. Never raises `StoreFull`.
        """
        await self.sweep()
        ration = self._ration_of(agreement_id)
        if not ration.spend():
            return False
        await self._append(row, ration, counts=1)
        return True

    async def sweep(self) -> None:
        """Write how many refusals had no row, after their hour is over."""
        for agreement_id, ration in tuple(self._rations.items()):
            held_back = ration.take_held_back()
            if held_back:
                row = self._office.about_gateway(Event.SECURITY_EVENT, _more(held_back))
                row = changed(row, direction=Direction.IN, agreement_id=agreement_id or None)
                await self._append(row, ration, counts=held_back)

    def _ration_of(self, agreement_id: str) -> Ration:
        return self._rations.setdefault(agreement_id, Ration(self._rows_per_hour, self._clock))

    async def _append(self, row: Record, ration: Ration, *, counts: int) -> None:
        try:
            await self._office.transact(lambda txn, _: txn.append((row,)))
        except StoreFull:
            ration.hold_back(counts)


def _more(count: int) -> str:
    return f"{count} more refusals in an hour had no row ([limits] refusal_rows_per_hour)"
