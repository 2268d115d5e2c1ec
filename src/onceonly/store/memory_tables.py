"""Tables of the store of simulations, and what lies over them while a transaction is open.

Knows rows, their order, and how changes are kept apart until they are committed; must not know
what is asked of them.
"""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

from onceonly.journal.record import Record
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import Message
from onceonly.message.package import Package
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery
from onceonly.protocol.sending import Outbound
from onceonly.store.store import (
    InboundEntry,
    InboxItem,
    Incident,
    Notice,
    OutboundEntry,
    OutboundView,
    OwedNotice,
    StoredPayload,
    TransitEntry,
)


class Outgoing(NamedTuple):
    """An outbound message, `position` in the order of submission."""

    position: int
    message: Message
    state: Outbound
    payloads: tuple[StoredPayload, ...]
    digest: str
    submitted_at: int
    settled_at: int | None
    idempotency_key: str | None

    def entry(self) -> OutboundEntry:
        """As a step reads it."""
        message = self.message
        return OutboundEntry(message.message_id, message.pair, message.agreement_id, self.state)

    def view(self) -> OutboundView:
        """As its owner sees it."""
        return OutboundView(
            self.message, self.state, self.submitted_at, self.settled_at, self.digest
        )


class Incoming(NamedTuple):
    """An inbound message, `number` in the order of arrival."""

    number: int
    message: Message
    payloads: tuple[StoredPayload, ...]
    response: Package | None
    digest: str
    received_at: int
    keep_until_at: int | None
    status: InboundStatus
    processing: ProcessingState = ProcessingState.NOT_STARTED
    offset: int | None = None
    handed_over_at: int = 0

    def entry(self) -> InboundEntry:
        """As a step reads it."""
        message = self.message
        return InboundEntry(
            message.key,
            message.agreement_id,
            self.status,
            self.processing,
            self.digest,
            self.received_at,
        )

    def item(self) -> InboxItem:
        """As the application sees it."""
        assert self.offset is not None, "not in the inbox yet"
        return InboxItem(
            self.offset,
            self.message,
            self.received_at,
            self.handed_over_at,
            self.processing,
            self.digest,
        )

    @property
    def is_finished(self) -> bool:
        """Whether nobody needs the message but to know its repeats."""
        if self.status is InboundStatus.HANDED_OVER:
            return self.processing is not ProcessingState.NOT_STARTED
        return self.status is not InboundStatus.STORED


class Passing(NamedTuple):
    """A message in transit, `number` in the order of arrival."""

    number: int
    entry: TransitEntry
    package: Package
    payloads: tuple[StoredPayload, ...]
    keep_until_at: int | None


_NoticeKey = tuple[str, NoticeKind, int]
_TransitKey = tuple[str, str]
K = TypeVar("K")
V = TypeVar("V")


class _Pending(MutableMapping[K, V]):
    """A table that reads through to the one below and keeps what is changed to itself."""

    __slots__ = ("_below", "_removed", "_written")

    def __init__(self, below: MutableMapping[K, V]) -> None:
        self._below = below
        self._written: dict[K, V] = {}
        self._removed: set[K] = set()

    def __getitem__(self, key: K) -> V:
        if key in self._written:
            return self._written[key]
        if key in self._removed:
            raise KeyError(key)
        return self._below[key]

    def __setitem__(self, key: K, row: V) -> None:
        self._written[key] = row

    def __delitem__(self, key: K) -> None:
        assert key in self, f"no row {key!r}"
        self._written.pop(key, None)
        self._removed.add(key)

    def __iter__(self) -> Iterator[K]:
        yield from (key for key in self._below if key not in self._removed)
        yield from (key for key in self._written if key in self._removed or key not in self._below)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def settle(self) -> None:
        """Make what was changed part of the table below."""
        for key in self._removed:
            self._below.pop(key, None)
        if self._written:
            self._below.update(self._written)


@dataclass(slots=True)
class Tables:
    """Rows by key, in the order in which they came."""

    outbound: MutableMapping[str, Outgoing] = field(default_factory=dict)
    packages: MutableMapping[str, Package] = field(default_factory=dict)
    keys: MutableMapping[str, str] = field(default_factory=dict)
    recovery: MutableMapping[str, Recovery] = field(default_factory=dict)
    sending: MutableMapping[Pair, SendingPair] = field(default_factory=dict)
    used_at: MutableMapping[Pair, int] = field(default_factory=dict)
    receiving: MutableMapping[Pair, ReceivingPair] = field(default_factory=dict)
    inbound: MutableMapping[int, Incoming] = field(default_factory=dict)
    known: MutableMapping[MessageKey, int] = field(default_factory=dict)
    inbox: MutableMapping[int, int] = field(default_factory=dict)
    tombstones: MutableMapping[MessageKey, tuple[int, int | None]] = field(default_factory=dict)
    transits: MutableMapping[_TransitKey, Passing] = field(default_factory=dict)
    owed: MutableMapping[MessageKey, OwedNotice] = field(default_factory=dict)
    notices: MutableMapping[_NoticeKey, tuple[int, Notice]] = field(default_factory=dict)
    incidents: MutableMapping[int, Incident] = field(default_factory=dict)
    journal: MutableMapping[int, Record] = field(default_factory=dict)
    numbers: MutableMapping[str, int] = field(default_factory=dict)

    def pending(self) -> "PendingTables":
        """Tables that read through to these ones and keep what is changed to themselves."""
        return PendingTables(self)

    def copied(self) -> "Tables":
        """The same rows in tables of their own; rows never change."""
        return Tables(*(dict(getattr(self, name)) for name in _NAMES))


_NAMES = tuple(table.name for table in fields(Tables))


class PendingTables(Tables):
    """Tables over others; one comes into being when it is first asked for, as most never are."""

    def __init__(self, below: Tables) -> None:
        self._below = below
        self._asked: list[_Pending[Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        if name not in _NAMES:
            raise AttributeError(name)
        table: _Pending[Any, Any] = _Pending(getattr(self._below, name))
        self._asked.append(table)
        setattr(self, name, table)
        return table

    def settle(self) -> None:
        """Make what was changed in these tables part of those below."""
        for table in self._asked:
            table.settle()
