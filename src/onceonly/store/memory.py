"""The store of simulations: everything in memory, with crashes and full disks on demand.

Knows the same contract as `sqlite` and passes the same suite; must not know files or time beyond
the clock that it is given. What is committed lies in tables; the open transaction lies over them,
so that a snapshot never sees it and forgetting it costs nothing.
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from onceonly.journal.record import CHAIN_START, Record, chain
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import Message
from onceonly.message.package import Package
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.sending import FINAL, Outbound, OutboundStatus
from onceonly.store.spool import INLINE_BYTES_MAX
from onceonly.store.store import (
    InboundEntry,
    InboxItem,
    Incident,
    MessageFilter,
    Notice,
    OutboundEntry,
    OutboundView,
    Page,
    PairView,
    Role,
    Snapshot,
    Store,
    StoredPayload,
    StoreFailed,
    StoreFull,
    StoreRefused,
    Transaction,
)

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py


class _Outgoing(NamedTuple):
    position: int
    message: Message
    state: Outbound
    payloads: tuple[StoredPayload, ...]
    digest: str
    submitted_at: int
    settled_at: int | None

    def entry(self) -> OutboundEntry:
        message = self.message
        return OutboundEntry(message.message_id, message.pair, message.agreement_id, self.state)

    def view(self) -> OutboundView:
        return OutboundView(
            self.message, self.state, self.submitted_at, self.settled_at, self.digest
        )


class _Incoming(NamedTuple):
    message: Message
    payloads: tuple[StoredPayload, ...]
    response: Package | None
    digest: str
    received_at: int
    processing: ProcessingState = ProcessingState.NOT_STARTED
    offset: int | None = None
    handed_over_at: int = 0

    def entry(self) -> InboundEntry:
        status = InboundStatus.STORED if self.offset is None else InboundStatus.HANDED_OVER
        message = self.message
        return InboundEntry(
            message.key,
            message.agreement_id,
            status,
            self.processing,
            self.digest,
            self.received_at,
        )

    def item(self) -> InboxItem:
        assert self.offset is not None, "not in the inbox yet"
        return InboxItem(
            self.offset,
            self.message,
            self.received_at,
            self.handed_over_at,
            self.processing,
            self.digest,
        )


_NoticeKey = tuple[str, NoticeKind, int]


@dataclass(slots=True)
class _Tables:
    """Rows by key, in the order in which they came. No row is ever removed."""

    outbound: MutableMapping[str, _Outgoing] = field(default_factory=dict)
    packages: MutableMapping[str, Package] = field(default_factory=dict)
    keys: MutableMapping[str, str] = field(default_factory=dict)
    sending: MutableMapping[Pair, SendingPair] = field(default_factory=dict)
    receiving: MutableMapping[Pair, ReceivingPair] = field(default_factory=dict)
    inbound: MutableMapping[MessageKey, _Incoming] = field(default_factory=dict)
    inbox: MutableMapping[int, MessageKey] = field(default_factory=dict)
    notices: MutableMapping[_NoticeKey, tuple[int, Notice]] = field(default_factory=dict)
    incidents: MutableMapping[int, Incident] = field(default_factory=dict)
    journal: MutableMapping[int, Record] = field(default_factory=dict)
    numbers: MutableMapping[str, int] = field(default_factory=dict)

    def pending(self) -> "_Tables":
        """Tables that read through to these ones and keep what is written to themselves."""
        return _Tables(*(ChainMap({}, getattr(self, table.name)) for table in fields(self)))

    def take_over(self, pending: "_Tables") -> None:
        """Make what was written to `pending` part of these tables."""
        for table in fields(self):
            getattr(self, table.name).update(getattr(pending, table.name).maps[0])


class MemorySnapshot(Snapshot):
    """Reads over tables."""

    def __init__(self, tables: _Tables) -> None:
        self._tables = tables

    def find_outbound(self, message_id: str) -> OutboundEntry | None:
        row = self._tables.outbound.get(message_id)
        return None if row is None else row.entry()

    def find_outbound_view(self, message_id: str) -> OutboundView | None:
        row = self._tables.outbound.get(message_id)
        return None if row is None else row.view()

    def find_message_id_by_key(self, idempotency_key: str) -> str | None:
        return self._tables.keys.get(idempotency_key)

    def get_package(self, message_id: str) -> Package:
        return self._tables.packages[message_id]

    def list_payloads(self, message_id: str) -> Sequence[StoredPayload]:
        row = self._tables.outbound.get(message_id)
        return () if row is None else row.payloads

    def list_messages(self, wanted: MessageFilter) -> Page:
        fitting = (row for row in self._tables.outbound.values() if _fits(row, wanted))
        found = list(islice(fitting, wanted.limit + 1))
        shown = found[: wanted.limit]
        next_after = shown[-1].position if len(found) > wanted.limit else None
        return Page([row.view() for row in shown], next_after)

    def _list_outbound(self, *statuses: OutboundStatus) -> list[_Outgoing]:
        return [row for row in self._tables.outbound.values() if row.state.status in statuses]

    def find_next_queued(self, pair: Pair) -> str | None:
        queued = self._list_outbound(OutboundStatus.QUEUED)
        return next((row.message.message_id for row in queued if row.message.pair == pair), None)

    def list_in_flight(self) -> Sequence[OutboundEntry]:
        outbound = self._tables.outbound
        rows = (
            outbound.get(pair.in_flight or "")
            for pair in self._tables.sending.values()
            if pair.status is PairStatus.OPEN
        )
        in_flight = sorted((row for row in rows if row is not None), key=lambda row: row.position)
        return [row.entry() for row in in_flight]

    def list_waiting_pairs(self) -> Sequence[Pair]:
        waiting = {row.message.pair for row in self._list_outbound(OutboundStatus.QUEUED)}
        states = ((pair, self.get_sending_pair(pair)) for pair in sorted(waiting))
        return [
            pair
            for pair, state in states
            if state.status is PairStatus.OPEN and state.in_flight is None
        ]

    def list_overdue(self, now_at: int, limit: int) -> Sequence[OutboundEntry]:
        overdue = [
            (row.state.expires_at, row.position, row)
            for row in self._tables.outbound.values()
            if row.settled_at is None
            and row.state.expires_at is not None
            and row.state.expires_at < now_at
        ]
        return [row.entry() for _, _, row in sorted(overdue, key=lambda found: found[:2])[:limit]]

    def list_unsettled_agreements(self) -> Sequence[str]:
        outgoing = self._tables.outbound.values()
        named = {row.message.agreement_id for row in outgoing if row.settled_at is None}
        return sorted(named | {entry.agreement_id for entry in self.list_stored()})

    def get_sending_pair(self, pair: Pair) -> SendingPair:
        return self._tables.sending.get(pair, SendingPair())

    def get_receiving_pair(self, pair: Pair) -> ReceivingPair:
        return self._tables.receiving.get(pair, ReceivingPair())

    def list_pairs(self) -> Sequence[PairView]:
        queued = [row.message.pair for row in self._list_outbound(OutboundStatus.QUEUED)]
        senders = [
            PairView(
                Role.SENDER,
                pair,
                state.status,
                state.reason,
                state.sequence_number,
                state.in_flight,
                queued.count(pair),
            )
            for pair, state in sorted(self._tables.sending.items())
        ]
        receivers = [
            PairView(
                Role.RECEIVER, pair, state.status, state.reason, state.sequence_number, None, 0
            )
            for pair, state in sorted(self._tables.receiving.items())
        ]
        return senders + receivers

    def find_inbound(self, key: MessageKey) -> InboundEntry | None:
        row = self._tables.inbound.get(key)
        return None if row is None else row.entry()

    def get_response(self, key: MessageKey) -> Package:
        response = self._tables.inbound[key].response
        if response is None:
            raise KeyError(key)
        return response

    def list_stored(self) -> Sequence[InboundEntry]:
        return [row.entry() for row in self._tables.inbound.values() if row.offset is None]

    def list_inbox(self, after: int, limit: int) -> Sequence[InboxItem]:
        offsets = (offset for offset in sorted(self._tables.inbox) if offset > after)
        return [self._item(offset) for offset in islice(offsets, limit)]

    def _item(self, offset: int) -> InboxItem:
        return self._tables.inbound[self._tables.inbox[offset]].item()

    def find_inbox_item(self, message_id: str) -> InboxItem | None:
        found = [
            offset for offset, key in self._tables.inbox.items() if key.message_id == message_id
        ]
        return self._item(max(found)) if found else None

    def list_inbox_payloads(self, offset: int) -> Sequence[StoredPayload]:
        key = self._tables.inbox.get(offset)
        return () if key is None else self._tables.inbound[key].payloads

    def list_notices(self, after: int, limit: int) -> Sequence[tuple[int, Notice]]:
        fitting = (row for row in self._tables.notices.values() if row[0] > after)
        return list(islice(fitting, limit))

    def list_incidents(self, *, is_open: bool) -> Sequence[Incident]:
        every = self._tables.incidents.values()
        return [row for row in every if row.resolved_at is None or not is_open]

    def list_journal(self, after: int, limit: int) -> Sequence[Record]:
        last = min(after + limit, len(self._tables.journal))
        return [self._tables.journal[seq] for seq in range(after + 1, last + 1)]

    def list_journal_of(self, message_id: str) -> Sequence[Record]:
        return [row for row in self._tables.journal.values() if row.message_id == message_id]

    def count_by_status(self) -> dict[str, int]:
        counts: dict[str, int] = {word.value: 0 for word in (*OutboundStatus, *InboundStatus)}
        for outgoing in self._tables.outbound.values():
            counts[outgoing.state.status] += 1
        for incoming in self._tables.inbound.values():
            counts[incoming.entry().status] += 1
        return counts


def _fits(row: _Outgoing, wanted: MessageFilter) -> bool:
    message = row.message
    return (
        row.position > wanted.after
        and wanted.status in (None, row.state.status)
        and wanted.to_party in (None, message.pair.to_party)
        and wanted.conversation_id in (None, message.conversation_id)
    )


class MemoryTransaction(MemorySnapshot, Transaction):
    """Writes over pending tables."""

    def __init__(self, tables: _Tables, epoch: int) -> None:
        super().__init__(tables)
        self._epoch = epoch
        self._write_count = 0

    @property
    def write_count(self) -> int:
        return self._write_count

    def _put(self, table: MutableMapping[Any, Any], key: Any, row: Any) -> None:
        table[key] = row
        self._write_count += 1

    def _add(self, table: MutableMapping[Any, Any], key: Any, row: Any) -> None:
        if key in table:
            raise StoreFailed(f"there is a row with the key {key!r} already")
        self._put(table, key, row)

    def _next(self, name: str) -> int:
        number = self._tables.numbers.get(name, 0) + 1
        self._tables.numbers[name] = number
        return number

    def add_outbound(
        self,
        message: Message,
        state: Outbound,
        payloads: Sequence[StoredPayload],
        *,
        digest: str,
        submitted_at: int,
        idempotency_key: str | None,
    ) -> None:
        settled_at = submitted_at if state.status in FINAL else None
        row = _Outgoing(
            self._next("position"),
            message,
            state,
            _checked(message, payloads),
            digest,
            submitted_at,
            settled_at,
        )
        self._add(self._tables.outbound, message.message_id, row)
        if idempotency_key is not None:
            self._add(self._tables.keys, idempotency_key, message.message_id)

    def put_outbound(self, message_id: str, state: Outbound, *, at: int) -> None:
        assert message_id in self._tables.outbound, f"no outbound message {message_id}"
        row = self._tables.outbound[message_id]
        settled_at = row.settled_at
        if settled_at is None and state.status in FINAL:
            settled_at = at
        row = row._replace(state=state, settled_at=settled_at)
        self._put(self._tables.outbound, message_id, row)

    def put_package(self, message_id: str, package: Package) -> None:
        assert message_id in self._tables.outbound, f"no outbound message {message_id}"
        self._put(self._tables.packages, message_id, package)

    def put_sending_pair(self, pair: Pair, state: SendingPair) -> None:
        self._put(self._tables.sending, pair, state)

    def put_receiving_pair(self, pair: Pair, state: ReceivingPair) -> None:
        self._put(self._tables.receiving, pair, state)

    def add_inbound(
        self,
        message: Message,
        payloads: Sequence[StoredPayload],
        response: Package | None,
        *,
        digest: str,
        received_at: int,
    ) -> None:
        row = _Incoming(message, _checked(message, payloads), response, digest, received_at)
        self._add(self._tables.inbound, message.key, row)

    def hand_over(self, key: MessageKey, *, at: int) -> int:
        row = self._get_inbound(key)
        if row.offset is not None:
            return row.offset
        offset = self._next("offset")
        self._put(self._tables.inbox, offset, key)
        self._put(self._tables.inbound, key, row._replace(offset=offset, handed_over_at=at))
        return offset

    def _get_inbound(self, key: MessageKey) -> _Incoming:
        assert key in self._tables.inbound, f"no inbound message {key}"
        return self._tables.inbound[key]

    def put_processing(self, key: MessageKey, processing: ProcessingState) -> None:
        row = self._get_inbound(key)._replace(processing=processing)
        self._put(self._tables.inbound, key, row)

    def add_notice(self, notice: Notice) -> None:
        key = (notice.message_id, notice.kind, notice.episode)
        if key not in self._tables.notices:
            self._put(self._tables.notices, key, (self._next("notice"), notice))

    def open_incident(self, role: Role, pair: Pair, reason: str, *, at: int) -> None:
        same = (role, pair, reason)
        if any((row.role, row.pair, row.reason) == same for row in self._open_incidents()):
            return
        incident_id = self._next("incident")
        incident = Incident(incident_id, role, pair, reason, at, None)
        self._put(self._tables.incidents, incident_id, incident)

    def _open_incidents(self) -> Sequence[Incident]:
        return self.list_incidents(is_open=True)

    def resolve_incidents(self, role: Role, pair: Pair, *, at: int) -> None:
        for row in self._open_incidents():
            if (row.role, row.pair) == (role, pair):
                self._put(self._tables.incidents, row.incident_id, row._replace(resolved_at=at))

    def append(self, records: Iterable[Record]) -> None:
        for record in records:
            seq = self._next("seq")
            before = self._tables.journal.get(seq - 1)
            numbered = Record._make((*record[:-3], seq, self._epoch, ""))
            chain_hash = chain(CHAIN_START if before is None else before.chain_hash, numbered)
            self._put(self._tables.journal, seq, numbered._replace(chain_hash=chain_hash))


def _checked(message: Message, payloads: Sequence[StoredPayload]) -> tuple[StoredPayload, ...]:
    assert len(payloads) == len(message.payloads), "one stored payload for each described one"
    assert all(len(body or b"") <= INLINE_BYTES_MAX for _, body in payloads), "not for a row"
    return tuple(payloads)


class _Disk:
    """What outlives a process: the rows, whose they are, and who has the lock."""

    def __init__(self, party: str) -> None:
        self.party = party
        self.tables = _Tables()
        self.epoch = 0
        self.is_locked = False


class MemoryStore(Store):
    """A store for simulations and tests; `crash` and `reopen` stand for the process's death.

    `is_full` and `is_broken` may be set at any time: the next commit then meets a full disk, or
    an I/O error after which this object is of no more use.
    """

    def __init__(
        self, *, party: str, clock_at: Callable[[], int], disk: _Disk | None = None
    ) -> None:
        self._disk = _Disk(party) if disk is None else disk
        if self._disk.is_locked:
            raise StoreRefused("the store is in use by another process")
        if self._disk.party != party:
            raise StoreRefused(f"the store belongs to {self._disk.party}, not to {party}")
        self._disk.is_locked = True
        self._disk.epoch += 1
        self._epoch = self._disk.epoch
        self._clock_at = clock_at
        self._opened_at = clock_at()
        self._pending: _Tables | None = None
        self._is_closed = False
        self.is_full = False
        self.is_broken = False
        _forget_deadlines(self._disk.tables)

    @property
    def epoch(self) -> int:
        return self._epoch

    def begin(self) -> MemoryTransaction:
        assert self._pending is None, "one write transaction at a time"
        if self._is_closed or self._disk.epoch != self._epoch:
            raise StoreFailed("the store was closed, or opened again under another epoch")
        self._pending = self._disk.tables.pending()
        return MemoryTransaction(self._pending, self._epoch)

    def commit(self) -> None:
        assert self._pending is not None, "commit without begin"
        pending, self._pending = self._pending, None
        if self.is_broken:
            self._is_closed = True
            raise StoreFailed("the disk is broken")
        if self.is_full:
            raise StoreFull("the disk is full")
        self._disk.tables.take_over(pending)

    def rollback(self) -> None:
        self._pending = None

    def snapshot(self) -> MemorySnapshot:
        return MemorySnapshot(self._disk.tables)

    def close(self) -> None:
        self.crash()

    def crash(self, *, during_commit: Random | None = None) -> None:
        """The process dies: the open transaction is forgotten and the lock is free.

        With `during_commit` it dies inside the commit: the whole transaction is durable or none
        of it, as the chance decides, and nobody was told.
        """
        if self._pending is not None and during_commit is not None and during_commit.random() < 0.5:
            self._disk.tables.take_over(self._pending)
        self._pending = None
        if not self._is_closed:
            self._disk.is_locked = False
        self._is_closed = True

    def reopen(self) -> "MemoryStore":
        """What the next process finds. Raises `StoreRefused` while this one lives."""
        return MemoryStore(party=self._disk.party, clock_at=self._clock_at, disk=self._disk)


def _forget_deadlines(tables: _Tables) -> None:
    # They were measured on the clock of a process that is gone.
    for message_id, row in tables.outbound.items():
        if row.state.due_ns is not None and row.state.status is OutboundStatus.SENDING:
            tables.outbound[message_id] = row._replace(state=row.state._replace(due_ns=None))
