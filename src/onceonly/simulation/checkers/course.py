"""One message at one machine, and the packages about it: what a case is sorted into.

Must not know how it is sorted, nor judge.
"""

import math
from dataclasses import dataclass, field

from onceonly.journal.record import Record
from onceonly.message.event import Event
from onceonly.message.message import DeliverySemantics
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import Word, changed
from onceonly.simulation.cast import name_of
from onceonly.simulation.checkers.letter import Letter
from onceonly.simulation.history import Delivered, Row, Worked
from onceonly.simulation.network import Fate
from onceonly.simulation.plan import Line

Key = tuple[str, str, str]
"""From Party, To Party, MessageId (R-01)."""

Parties = tuple[str, str]
"""From and To Party: a Sender-Receiver pair."""


class Going(Word):
    """A package that a machine gave to its transport, or gave back in an answer."""

    order: int
    at_ns: int
    source: str
    target: str
    letter: Letter
    body: bytes
    packet: str
    fate: Fate


class Coming(Word):
    """A whole package that a process took, or got back in an answer."""

    order: int
    at_ns: int
    source: str
    target: str
    letter: Letter
    body: bytes
    packet: str
    is_damaged: bool
    certificate: str | None = None
    """The certificate that the caller showed."""


def passes(one: Coming) -> bool:
    """Whether a signal is for another machine than took it: it goes from party to party.

    Where signals go from one MSH to the next, they name these by their addresses.
    """
    to = one.letter.to_party
    return "/" not in to and name_of(to) != one.target


def is_passed_on(one: Going) -> bool:
    """Whether another machine than sent it speaks in a signal that goes from party to party."""
    from_ = one.letter.from_party
    return "/" not in from_ and name_of(from_) != one.source


_OF_A_HAND_OVER = (Event.HANDED_OVER, Event.PROCESSING_CHANGED, Event.APPLICATION_REFUSED)


def is_repeated(record: Record) -> bool:
    """Whether the row is about a hand-over that somebody asked for, and not about the first."""
    is_later = record.event in _OF_A_HAND_OVER and record.attempt is not None
    return is_later or record.event is Event.HANDED_OVER_AGAIN


@dataclass(slots=True)
class Course:
    """One message at one machine; every list in the order of the world."""

    node: str
    key: Key
    line: Line | None
    out: list[Row] = field(default_factory=list)
    """Rows of whoever sends it, an accepting intermediary among them."""
    into: list[Row] = field(default_factory=list)
    """Rows of whoever receives it, without those of hand-overs that somebody asked for."""
    repeated: list[Row] = field(default_factory=list)
    """Rows of those: that somebody asked, the hand-over, and what its application said of it."""
    sent: list[Going] = field(default_factory=list)
    """Copies of the message that left."""
    taken: list[Coming] = field(default_factory=list)
    """Copies of the message that came."""
    said: list[Going] = field(default_factory=list)
    """Signals about it that left towards its sender."""
    heard: list[Coming] = field(default_factory=list)
    """Signals about it that came from the next hop, and responses to it."""
    responses: list[Going] = field(default_factory=list)
    """Business responses to it that left."""
    delivered: list[Delivered] = field(default_factory=list)
    worked: list[Worked] = field(default_factory=list)

    @property
    def is_origin(self) -> bool:
        """Whether its From Party is on this machine."""
        return name_of(self.key[0]) == self.node

    @property
    def is_destination(self) -> bool:
        """Whether its To Party is on this machine."""
        return name_of(self.key[1]) == self.node

    @property
    def terms(self) -> DeliveryTerms:
        """What was agreed about it; the defaults where it is nobody's.

        Where the header decides, the semantics are those that it names (seed 000 §5.1 (6)): a
        hostile partner need not keep to the agreement's.
        """
        if self.line is None:
            return DeliveryTerms()
        agreed = self.line.terms
        if not self.line.profile.header_decides_semantics:
            return agreed
        letters = [one.letter for one in self.sent] + [one.letter for one in self.taken]
        named = next((one.semantics for one in letters if one.semantics), "")
        is_as_agreed = named in ("", agreed.header_semantics)
        return agreed if is_as_agreed else changed(agreed, semantics=DeliverySemantics(named))

    def first_into(self, event: Event) -> Row | None:
        """The first receiving row of this event."""
        return next((row for row in self.into if row.record.event is event), None)

    def first_out(self, event: Event) -> Row | None:
        """The first sending row of this event."""
        return next((row for row in self.out if row.record.event is event), None)

    def asked_again(self, before: float = math.inf) -> int:
        """How often an operator had it handed over once more, before that place in the order."""
        return self._repeated(Event.HANDED_OVER_AGAIN, before)

    def handed_again(self, before: float = math.inf) -> int:
        """How often it was handed over once more."""
        return self._repeated(Event.HANDED_OVER, before)

    def _repeated(self, event: Event, before: float) -> int:
        return sum(row.record.event is event and row.order < before for row in self.repeated)

    def __str__(self) -> str:
        return f"{self.key[2]} at {self.node}"
