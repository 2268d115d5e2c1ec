"""One message driven by events at chosen seconds, for tests of the sender's machine."""

from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S, US_PER_S, Now
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol import schedule, sending
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import Admitted, DeadlineReached, Outcome, Transmission, Transmitted
from onceonly.protocol.sending import Outbound

START = Now(1_000_000 * US_PER_S, 0)
ACCEPTED = Transmission(Outcome.ACCEPTED, bytes_left=True, status_code=204)
UNKNOWN = Transmission(Outcome.UNKNOWN, bytes_left=True)
REFUSED = Transmission(Outcome.REFUSED, bytes_left=True, status_code=503)
NEVER_LEFT = Transmission(Outcome.REFUSED, bytes_left=False, detail="connection refused")


DUE = object()
"""As an event: the deadline that the state asks for, whichever it is, has come."""


def event_of(event: object, due_ns: int | None) -> object:
    """The event itself, or what `DUE` stands for; without a deadline, one that never was."""
    return DeadlineReached(due_ns or 0) if event is DUE else event


def at(seconds: float) -> Now:
    """The moment `seconds` after the start, on both clocks."""
    return Now(START.at + int(seconds * US_PER_S), int(seconds * NS_PER_S))


class Run:
    """One message under the terms; keeps all effects in order."""

    def __init__(self, terms: DeliveryTerms, *, number: int | None = None) -> None:
        self.terms = terms
        self.number = number
        self.state = Outbound(expires_at=schedule.expires_at(START.at, terms))
        self.effects: list[object] = []

    def on(self, seconds: float, *events: object) -> "Run":
        """The events at this second."""
        for event in events:
            self.state, effects = sending.step(
                self.state, event_of(event, self.state.due_ns), at(seconds), self.terms
            )
            self.effects += effects
        return self

    def sent(self, transmission: Transmission = ACCEPTED) -> "Run":
        """Admitted and transmitted once, at second 0."""
        return self.on(0, Admitted(self.number), Transmitted(1, transmission))

    def of(self, kind: type) -> list:
        """The effects of this kind."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def rows(self) -> list[Event]:
        """What the journal says."""
        return [effect.event for effect in self.of(Journal)]

    @property
    def due_s(self) -> float | None:
        """The second at which the message wants to act."""
        return None if self.state.due_ns is None else self.state.due_ns / NS_PER_S
