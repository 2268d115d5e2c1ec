"""What is refused and names no partner: a journal row each, as long as somebody can read them all.

A request that is none, a command for somebody else's mailbox, a package from nobody that we know
or from somebody who does not show the certificate that was agreed: nothing is stored, and nobody
is told. An operator wants to see that it happened; an attacker must not be able to fill the disk
with it, nor to bury the rows of messages. So rows are rationed, and what got none is counted in a
row of its own once the hour is over (ruling R-45).
"""

from onceonly.gateway.office import Office
from onceonly.gateway.ration import Ration
from onceonly.gateway.tasks import Tasks
from onceonly.journal.record import Record
from onceonly.message.event import Direction, Event
from onceonly.message.word import changed
from onceonly.store.contract.conditions import StoreFull

STRANGERS = ""
"""In the place of an agreement: all callers that no agreement admits, together."""


class Refusals:
    """Writes one row per refusal, `rows_per_hour` at most and one more that counts the others."""

    def __init__(self, *, office: Office, tasks: Tasks, rows_per_hour: int) -> None:
        self._office = office
        self._clock = office.clock
        self._tasks = tasks
        self._rows_per_hour = rows_per_hour
        self._rations: dict[str, Ration] = {}
        """By agreement or route, which are as many as are configured; strangers share one."""

    def note(self, peer: str, transport: str, reason: str) -> None:
        """The endpoints' `NoteRefusal`."""
        text = f"refused by the {transport} endpoint: {reason}"
        row = self._office.about_gateway(Event.SECURITY_EVENT, text)
        row = changed(row, direction=Direction.IN, endpoint=peer, transport=transport)
        self._tasks.start(self.write(row))

    async def write(self, row: Record, *, agreement_id: str = STRANGERS) -> bool:
        """Append the row or count it; whether it was within its ration. Never raises `StoreFull`.

        What comes in a partner's name, and may be his, has a ration of its own.
        """
        await self.sweep()
        ration = self._ration_of(agreement_id)
        if not ration.spend():
            return False
        await self._append(row, ration, counts=1)
        return True

    async def sweep(self) -> None:
        """Say how many had no row, once their hour is over."""
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
