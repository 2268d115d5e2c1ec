"""Posts signals to previous hops, at the address that the *route* names (R-26).

Must not know when something is to be sent; `transits` and `custodies` know.
"""

from onceonly.gateway.office import Office
from onceonly.gateway.outgoing.replies import IN_THE_ANSWER
from onceonly.message.event import Direction, Event
from onceonly.message.message import DeliverySemantics
from onceonly.message.package import Package
from onceonly.message.signals import SignalAction
from onceonly.message.word import changed
from onceonly.protocol.effects import Answer, AnswerUpstream, Journal
from onceonly.protocol.events import Transmission
from onceonly.steps.signals import outcome_row
from onceonly.steps.upstream import Subject, error_upstream, row
from onceonly.transport.transport import Answer as TransportAnswer


class Upstream:
    """Posts signals to previous hops, and writes the rows about them."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def post(
        self,
        subject: Subject,
        package: Package,
        action: SignalAction = SignalAction.ACKNOWLEDGMENT,
    ) -> Transmission:
        """Transmit a signal once."""
        return await self._office.post(subject.route, action, package)

    async def send(self, subject: Subject, package: Package, event: Event) -> None:
        """Transmit a signal once, and note how that ended as `event`."""
        await self.note(subject, outcome_row(event, await self.post(subject, package)))

    async def send_error(
        self,
        subject: Subject,
        answer: Answer | AnswerUpstream,
        event: Event,
        semantics: DeliverySemantics = DeliverySemantics.BEST_EFFORT,
    ) -> None:
        """Tell the previous hop of an error about the message, and note it as `event`."""
        package = error_upstream(self._office.ground(), subject, answer, semantics)
        sent = changed(
            outcome_row(event, await self.post(subject, package, SignalAction.ERROR)),
            error_code=answer.code,
            severity=answer.severity,
            reason=answer.description or None,
        )
        await self.note(subject, sent)

    async def note(self, subject: Subject, effect: Journal) -> None:
        """Write a row about what was sent to the previous hop; waits if the disk is full."""
        await self._office.write(row(self._office.ground(), subject, Direction.IN, effect))

    async def note_fault(self, subject: Subject, answer: TransportAnswer) -> None:
        """Write a row if the answer to a held connection is a fault of the next hop."""
        if answer.status_code == 500:
            reason = "of the next hop, passed on"
            await self.note(subject, outcome_row(Event.FAULT_SENT, IN_THE_ANSWER, reason))

    async def note_rejection(self, subject: Subject, effect: Journal) -> None:
        """Write the row about a refused message, before its answer. Raises `StoreFull`."""
        await self._office.transact(
            lambda txn, ground: txn.append((row(ground, subject, Direction.IN, effect),))
        )
