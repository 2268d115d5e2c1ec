"""What happened in a world, as an observer sees it who cannot look into a process.

Durable rows of journals, packages on the wire, what applications handed over and were given, and
what was done to the machines; each with its place in the one order of the world. Checkers see this
and nothing else. The trace is the same as text; its hash must be the same in two runs of one world.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from onceonly.journal.record import Record
from onceonly.message.identity import MessageKey
from onceonly.message.word import Word
from onceonly.simulation.network import Fate, Packet
from onceonly.simulation.timeline import NS_PER_MS


class Accepted(Word):
    """The gateway said yes to a submission (acc(k) of the invariants)."""

    order: int
    at_ns: int
    node: str
    key: MessageKey
    content: tuple[bytes, ...]
    ref_to_message_id: str | None
    name: str
    """What its application calls the submission, whichever MessageId it has."""
    called_at: int
    """What the clock of its machine said when it was first handed over."""


class Delivered(Word):
    """An application read a message in its inbox."""

    order: int
    at_ns: int
    node: str
    offset: int
    key: MessageKey
    content: tuple[bytes, ...]


class Worked(Word):
    """An application began its work on a message that it had read.

    Where the agreement reports processing, the application asked before it did (seed 004).
    """

    order: int
    at_ns: int
    node: str
    offset: int
    key: MessageKey


class Operated(Word):
    """An operator's call ended without an error."""

    order: int
    at_ns: int
    node: str
    what: str
    message_id: str
    """Of the message that it was about; empty where it was about none."""


class Row(Word):
    """A journal row of a node, at the instant at which it became durable."""

    order: int
    at_ns: int
    node: str
    record: Record


class PackageSent(Word):
    """A package that a node gave to its transport."""

    order: int
    packet: Packet
    fate: Fate


class PackageArrived(Word):
    """A copy of a package that a process began to take."""

    order: int
    at_ns: int
    packet: Packet
    body: bytes
    """As it arrived."""
    is_whole: bool
    """All of it came; else the connection broke in the midst of it."""


class Replied(Word):
    """A package that a node gave back in the answer to one that it had got."""

    order: int
    at_ns: int
    packet: Packet
    """What it was the answer to: it goes from the packet's target to its source."""
    body: bytes
    back_ns: int | None = 0
    """How long it takes back; None for the answer to one more copy, which the sender of the first
    never hears."""


class Happening(Word):
    """Something that was done to a machine, by itself or from outside."""

    order: int
    at_ns: int
    node: str
    what: str
    """started, ready, killed, power-cut, stopped-itself, frozen, thawed, full, …"""
    detail: str = ""


class Bug(Word):
    """Code of ours ended in an exception that nothing done to the machine explains."""

    order: int
    at_ns: int
    node: str
    text: str


@dataclass
class History:
    """Everything that was seen in one world, in order."""

    keeps_trace: bool = False
    accepted: list[Accepted] = field(default_factory=list)
    refused: list[tuple[int, str, str]] = field(default_factory=list)
    """Submissions and operations that a gateway refused: (order, node, code)."""
    operated: list[Operated] = field(default_factory=list)
    delivered: list[Delivered] = field(default_factory=list)
    worked: list[Worked] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    sent: list[PackageSent] = field(default_factory=list)
    arrived: list[PackageArrived] = field(default_factory=list)
    replied: list[Replied] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    bugs: list[Bug] = field(default_factory=list)
    points: "Counter[str]" = field(default_factory=Counter)
    """How often each named point was reached, and at which of them a process was killed."""
    trace: list[str] = field(default_factory=list)
    order: int = 0

    def __post_init__(self) -> None:
        self._hash = blake2b(digest_size=16)

    @property
    def trace_hash(self) -> str:
        """The same for two runs of one world, on any machine."""
        return self._hash.hexdigest()

    def next(self, at_ns: int, *words: object) -> int:
        """The place of the next thing in the order of the world; `words` go into the trace."""
        self.order += 1
        line = f"{at_ns / NS_PER_MS:14.3f} {' '.join(map(str, words))}"
        self._hash.update(line.encode())
        if self.keeps_trace:
            self.trace.append(line)
        return self.order

    def happen(self, at_ns: int, node: str, what: str, detail: str = "") -> None:
        """Something was done to a machine."""
        order = self.next(at_ns, node, what, detail)
        self.happenings.append(Happening(order, at_ns, node, what, detail))

    def commit(self, at_ns: int, node: str, records: Iterable[Record]) -> None:
        """These rows of the node are durable from now on."""
        for record in records:
            order = self.next(
                at_ns,
                node,
                record.event,
                record.message_id or "",
                record.outcome or "",
                record.reason or "",
            )
            self.rows.append(Row(order, at_ns, node, record))

    def send(self, packet: Packet, fate: Fate) -> None:
        """A package was given to the network."""
        digest = blake2b(packet.body, digest_size=8).hexdigest()
        order = self.next(packet.at_ns, packet.name, packet.endpoint, fate, digest)
        self.sent.append(PackageSent(order, packet, fate))

    def arrive(self, at_ns: int, packet: Packet, body: bytes, is_whole: bool) -> None:  # noqa: FBT001 - because the network has one fact more to tell
        """A process begins to take a copy of a package."""
        order = self.next(at_ns, packet.target, "takes", packet.name)
        self.arrived.append(PackageArrived(order, at_ns, packet, body, is_whole))

    def reply(self, at_ns: int, packet: Packet, body: bytes, back_ns: int | None) -> None:
        """A package goes back in the answer to another."""
        digest = blake2b(body, digest_size=8).hexdigest()
        order = self.next(at_ns, packet.target, "replies to", packet.name, digest)
        self.replied.append(Replied(order, at_ns, packet, body, back_ns))

    def find_bug(self, at_ns: int, node: str, text: str) -> None:
        """An exception that should not have been."""
        self.bugs.append(Bug(self.next(at_ns, node, "bug", text), at_ns, node, text))
