"""A world half drawn: who is there and what is handed over when, before anything goes wrong.

What traffic and mishaps are drawn for; a plan is made of it in the end.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from onceonly.message.word import Word
from onceonly.simulation.cast import line_id
from onceonly.simulation.machine.application import message_id_of
from onceonly.simulation.network import Fate
from onceonly.simulation.plan import Action, Line


class PlannedMessage(Word):
    """One message that an application will hand over."""

    name: str
    source: str
    target: str
    line: Line
    at_ms: int

    @property
    def message_id(self) -> str:
        """Its MessageId, which its application chose."""
        return message_id_of(self.name, self.source)


@dataclass
class Sketch:
    """What is known of a world while it is being drawn."""

    chance: Random
    parties: tuple[str, ...]
    relays: tuple[str, ...]
    lines: tuple[Line, ...] = ()
    letters: list[PlannedMessage] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    fates: dict[str, Fate] = field(default_factory=dict)
    """By package: what becomes of it, whatever the weather is."""
    machine: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By machine: fields of `Machine` that differ from their defaults."""
    span_ms: int = 10_000
    """By then every message was handed over; faults come until a little later."""

    @property
    def everybody(self) -> tuple[str, ...]:
        """Every machine by name."""
        return self.parties + self.relays

    def is_on(self, tag: str, probability: float) -> bool:
        """Decide whether a class is on in this world, and note it."""
        if self.chance.random() >= probability:
            return False
        self.tags.add(tag)
        return True

    def set(self, machine: str, **fields: Any) -> None:
        """Give a machine fields of its own."""
        self.machine.setdefault(machine, {}).update(fields)

    def act(self, at_ms: int, kind: str, node: str, /, **args: Any) -> None:
        """Let something be done."""
        self.actions.append(Action(at_ms, kind, node, args))

    def any_time(self) -> int:
        """An instant at which something may go wrong: soon after a message was handed over."""
        letter = self.chance.choice(self.letters)
        soon = self.chance.choice((30, 300, 3000, 12_000))
        return letter.at_ms + self.chance.randrange(soon)

    def any_machine(self) -> str:
        """One on the way of a message, more often than one beside it."""
        letter = self.chance.choice(self.letters)
        through = [relay for relay, _ in letter.line.through]
        return self.chance.choice((letter.source, letter.target, *through))

    def any_line_id(self) -> str:
        """Agreement of some message."""
        return line_id(self.chance.choice(self.letters).line)
