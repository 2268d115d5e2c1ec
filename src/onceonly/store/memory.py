"""The store of simulations: everything in memory, with crashes and full disks on demand.

Knows the same contract as `sqlite` and passes the same suite; must not know files or time beyond
the clock that it is given. What is committed lies in tables; the open transaction lies over them,
so that a snapshot never sees it and forgetting it costs nothing.
"""

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from random import Random
from typing import Any, NamedTuple, TypeVar

from onceonly.journal.record import CHAIN_START, Record, chain
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import Message, Payload
from onceonly.message.package import Package
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery, RecoveryPhase, ResponseStatus
from onceonly.protocol.relaying import TransitStatus
from onceonly.protocol.sending import FINAL, Outbound, OutboundStatus
from onceonly.store.spool import INLINE_BYTES_MAX
from onceonly.store.store import (
    COUNTED_AS,
    InboundEntry,
    InboxItem,
    Incident,
    MessageFilter,
    Notice,
    OutboundEntry,
    OutboundView,
    OwedNotice,
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
    TransitEntry,
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
    idempotency_key: str | None

    def entry(self) -> OutboundEntry:
        message = self.message
        return OutboundEntry(message.message_id, message.pair, message.agreement_id, self.state)

    def view(self) -> OutboundView:
        return OutboundView(
            self.message, self.state, self.submitted_at, self.settled_at, self.digest
        )


class _Incoming(NamedTuple):
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


class _Passing(NamedTuple):
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
        self._below.update(self._written)


@dataclass(slots=True)
class _Tables:
    """Rows by key, in the order in which they came."""

    outbound: MutableMapping[str, _Outgoing] = field(default_factory=dict)
    packages: MutableMapping[str, Package] = field(default_factory=dict)
    keys: MutableMapping[str, str] = field(default_factory=dict)
    recovery: MutableMapping[str, Recovery] = field(default_factory=dict)
    sending: MutableMapping[Pair, SendingPair] = field(default_factory=dict)
    used_at: MutableMapping[Pair, int] = field(default_factory=dict)
    receiving: MutableMapping[Pair, ReceivingPair] = field(default_factory=dict)
    inbound: MutableMapping[int, _Incoming] = field(default_factory=dict)
    known: MutableMapping[MessageKey, int] = field(default_factory=dict)
    inbox: MutableMapping[int, int] = field(default_factory=dict)
    tombstones: MutableMapping[MessageKey, tuple[int, int | None]] = field(default_factory=dict)
    transits: MutableMapping[_TransitKey, _Passing] = field(default_factory=dict)
    owed: MutableMapping[MessageKey, OwedNotice] = field(default_factory=dict)
    notices: MutableMapping[_NoticeKey, tuple[int, Notice]] = field(default_factory=dict)
    incidents: MutableMapping[int, Incident] = field(default_factory=dict)
    journal: MutableMapping[int, Record] = field(default_factory=dict)
    numbers: MutableMapping[str, int] = field(default_factory=dict)

    def pending(self) -> "_Tables":
        """Tables that read through to these ones and keep what is changed to themselves."""
        return _Tables(*(_Pending(getattr(self, table.name)) for table in fields(self)))

    def settle(self) -> None:
        """Make what was changed in these pending tables part of those below."""
        for table in fields(self):
            getattr(self, table.name).settle()


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

    def find_next_queued(self, pair: Pair) -> OutboundEntry | None:
        queued = self._list_outbound(OutboundStatus.QUEUED)
        return next((row.entry() for row in queued if row.message.pair == pair), None)

    def list_in_flight(self) -> Sequence[OutboundEntry]:
        turns = (
            self._tables.outbound.get(message_id)
            for pair in self._tables.sending.values()
            if pair.status is PairStatus.OPEN
            for message_id in pair.in_flight
        )
        in_flight = sorted((row for row in turns if row is not None), key=lambda row: row.position)
        return [row.entry() for row in in_flight]

    def list_waiting_pairs(self) -> Sequence[Pair]:
        waiting = {row.message.pair for row in self._list_outbound(OutboundStatus.QUEUED)}
        return [
            pair
            for pair in sorted(waiting)
            if self.get_sending_pair(pair).status is PairStatus.OPEN
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

    def list_idle_pairs(self, before_at: int) -> Sequence[Pair]:
        waiting = {row.message.pair for row in self._list_outbound(OutboundStatus.QUEUED)}
        return [
            pair
            for pair, state in sorted(self._tables.sending.items())
            if state.status is PairStatus.OPEN
            and state.sequence_number is not None
            and not state.in_flight
            and self._tables.used_at[pair] < before_at
            and pair not in waiting
        ]

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
            PairView(Role.RECEIVER, pair, state.status, state.reason, state.sequence_number, (), 0)
            for pair, state in sorted(self._tables.receiving.items())
        ]
        return senders + receivers

    def find_inbound(self, key: MessageKey) -> InboundEntry | None:
        number = self._tables.known.get(key)
        return None if number is None else self._tables.inbound[number].entry()

    def get_response(self, key: MessageKey) -> Package:
        response = self._tables.inbound[self._tables.known[key]].response
        if response is None:
            raise KeyError(key)
        return response

    def list_stored(self) -> Sequence[InboundEntry]:
        return [
            row.entry()
            for row in self._tables.inbound.values()
            if row.status is InboundStatus.STORED
        ]

    def is_cancelled(self, key: MessageKey) -> bool:
        return key in self._tables.tombstones

    def find_response(
        self, ref_to_message_id: str, to_party: str, *, is_most_recent: bool = False
    ) -> str | None:
        wanted = (ref_to_message_id, to_party)
        found = [
            message_id
            for message_id, row in self._tables.outbound.items()
            if (row.message.ref_to_message_id, row.message.pair.to_party) == wanted
            and message_id in self._tables.packages
        ]
        return found[-1 if is_most_recent else 0] if found else None

    def get_recovery(self, message_id: str) -> Recovery:
        return self._tables.recovery.get(message_id, Recovery())

    def list_recovering(self) -> Sequence[str]:
        return [
            message_id
            for message_id in self._tables.outbound
            if self.get_recovery(message_id).phase is not RecoveryPhase.AT_REST
        ]

    def list_responses_due(self, now_at: int, limit: int) -> Sequence[str]:
        found = ((name, self.get_recovery(name)) for name in self._tables.outbound)
        due = [
            (state.response_due_at, name)
            for name, state in found
            if state.response is ResponseStatus.AWAITED
            and state.response_due_at is not None
            and state.response_due_at < now_at
        ]
        return [name for _, name in sorted(due, key=lambda one: one[0])[:limit]]

    def find_transit(self, route_id: str, message_id: str) -> TransitEntry | None:
        row = self._tables.transits.get((route_id, message_id))
        return None if row is None else row.entry

    def get_transit_package(self, route_id: str, message_id: str) -> Package:
        return self._tables.transits[route_id, message_id].package

    def list_transit_payloads(self, route_id: str, message_id: str) -> Sequence[StoredPayload]:
        row = self._tables.transits.get((route_id, message_id))
        return () if row is None else row.payloads

    def list_forwarding(self) -> Sequence[TransitEntry]:
        entries = (row.entry for row in self._tables.transits.values())
        return [entry for entry in entries if entry.state.status is TransitStatus.FORWARDING]

    def list_owed_notices(self) -> Sequence[OwedNotice]:
        return list(self._tables.owed.values())

    def is_spooled(self, digest: str) -> bool:
        tables = (self._tables.outbound, self._tables.inbound, self._tables.transits)
        parts = (part for table in tables for row in table.values() for part in row.payloads)
        return any(body is None and payload.digest == digest for payload, body in parts)

    def list_inbox(self, after: int, limit: int) -> Sequence[InboxItem]:
        offsets = (offset for offset in sorted(self._tables.inbox) if offset > after)
        rows = (self._tables.inbound[self._tables.inbox[offset]] for offset in offsets)
        shown = (row.item() for row in rows if row.status is InboundStatus.HANDED_OVER)
        return list(islice(shown, limit))

    def _item(self, offset: int) -> InboxItem:
        return self._tables.inbound[self._tables.inbox[offset]].item()

    def find_inbox_item(self, message_id: str) -> InboxItem | None:
        found = [
            offset
            for offset, number in self._tables.inbox.items()
            if self._tables.inbound[number].message.message_id == message_id
        ]
        return self._item(max(found)) if found else None

    def list_inbox_payloads(self, offset: int) -> Sequence[StoredPayload]:
        number = self._tables.inbox.get(offset)
        return () if number is None else self._tables.inbound[number].payloads

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
        counts: dict[str, int] = {word.value: 0 for word in OutboundStatus}
        counts.update(dict.fromkeys(COUNTED_AS.values(), 0))
        for outgoing in self._tables.outbound.values():
            counts[outgoing.state.status] += 1
        for incoming in self._tables.inbound.values():
            counts[COUNTED_AS[incoming.status]] += 1
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
            _checked(message.payloads, payloads),
            digest,
            submitted_at,
            settled_at,
            idempotency_key,
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

    def put_sending_pair(self, pair: Pair, state: SendingPair, *, at: int) -> None:
        self._put(self._tables.sending, pair, state)
        self._tables.used_at[pair] = at

    def forget_pair(self, pair: Pair) -> None:
        state = self.get_sending_pair(pair)._replace(sequence_number=None)
        self._put(self._tables.sending, pair, state)

    def put_receiving_pair(self, pair: Pair, state: ReceivingPair) -> None:
        self._put(self._tables.receiving, pair, state)

    def add_inbound(  # noqa: PLR0913 - because these are the facts of one arrival
        self,
        message: Message,
        payloads: Sequence[StoredPayload],
        response: Package | None,
        *,
        digest: str,
        received_at: int,
        keep_until_at: int | None = None,
        status: InboundStatus = InboundStatus.STORED,
        has_key: bool = True,
    ) -> None:
        number = self._next("inbound")
        if has_key:
            self._add(self._tables.known, message.key, number)
        row = _Incoming(
            number,
            message,
            _checked(message.payloads, payloads),
            response,
            digest,
            received_at,
            keep_until_at,
            status if has_key else InboundStatus.STORED,
        )
        self._put(self._tables.inbound, number, row)
        if not has_key:
            self._put_into_inbox(row, received_at)

    def put_response(self, key: MessageKey, response: Package) -> None:
        self._change_inbound(self._get_inbound(key)._replace(response=response))

    def hand_over(self, key: MessageKey, *, at: int) -> int:
        row = self._get_inbound(key)
        if row.offset is not None:
            return row.offset
        assert row.status is InboundStatus.STORED, f"{key} is {row.status}"
        return self._put_into_inbox(row, at)

    def _put_into_inbox(self, row: _Incoming, at: int) -> int:
        offset = self._next("offset")
        self._put(self._tables.inbox, offset, row.number)
        status = InboundStatus.HANDED_OVER
        self._change_inbound(row._replace(offset=offset, handed_over_at=at, status=status))
        return offset

    def _get_inbound(self, key: MessageKey) -> _Incoming:
        number = self._tables.known.get(key)
        if number is None:
            rows = self._tables.inbound.values()
            number = max((row.number for row in rows if row.message.key == key), default=None)
        assert number is not None, f"no inbound message {key}"
        return self._tables.inbound[number]

    def _change_inbound(self, row: _Incoming) -> None:
        self._put(self._tables.inbound, row.number, row)

    def cancel_inbound(self, key: MessageKey, *, at: int, keep_until_at: int | None) -> None:
        cancelled_at, before = self._tables.tombstones.get(key, (at, 0))
        lasts = None if before is None or keep_until_at is None else max(before, keep_until_at)
        self._put(self._tables.tombstones, key, (cancelled_at, lasts))
        if key in self._tables.known:
            self._change_inbound(self._get_inbound(key)._replace(status=InboundStatus.CANCELLED))

    def put_processing(self, key: MessageKey, processing: ProcessingState) -> None:
        self._change_inbound(self._get_inbound(key)._replace(processing=processing))

    def put_recovery(self, message_id: str, recovery: Recovery) -> None:
        assert message_id in self._tables.outbound, f"no outbound message {message_id}"
        self._put(self._tables.recovery, message_id, recovery._replace(due_ns=None))

    def add_transit(
        self,
        entry: TransitEntry,
        package: Package,
        payloads: Sequence[StoredPayload],
        *,
        keep_until_at: int | None,
    ) -> None:
        parts = _checked([payload for payload, _ in payloads], payloads)
        row = _Passing(self._next("transit"), entry, package, parts, keep_until_at)
        self._add(self._tables.transits, (entry.route_id, entry.key.message_id), row)

    def put_transit(self, entry: TransitEntry) -> None:
        key = (entry.route_id, entry.key.message_id)
        assert key in self._tables.transits, f"{key} was never added"
        self._put(self._tables.transits, key, self._tables.transits[key]._replace(entry=entry))

    def put_owed_notice(self, notice: OwedNotice) -> None:
        self._put(self._tables.owed, notice.key, notice)

    def remove_owed_notice(self, key: MessageKey) -> None:
        if key in self._tables.owed:
            self._remove(self._tables.owed, key)

    def purge_inbound(self, now_at: int, limit: int) -> int:
        purged = 0
        finished = (row for row in self._tables.inbound.values() if row.is_finished)
        for row in _past(finished, now_at, limit):
            self._remove(self._tables.inbound, row.number)
            if self._tables.known.get(row.message.key) == row.number:
                self._remove(self._tables.known, row.message.key)
            if row.offset is not None:
                self._remove(self._tables.inbox, row.offset)
            purged += 1
        over = [
            (keep_until_at, key.message_id, key.pair)
            for key, (_, keep_until_at) in self._tables.tombstones.items()
            if keep_until_at is not None and keep_until_at < now_at
        ]
        for _, message_id, pair in sorted(over)[: limit - purged]:
            self._remove(self._tables.tombstones, MessageKey(*pair, message_id))
            purged += 1
        for passed in _past(self._tables.transits.values(), now_at, limit - purged):
            entry = passed.entry
            self._remove(self._tables.transits, (entry.route_id, entry.key.message_id))
            purged += 1
        return purged

    def purge_outbound(self, agreement_id: str, settled_before_at: int, limit: int) -> int:
        settled = [
            (row.settled_at, row.position, message_id)
            for message_id, row in self._tables.outbound.items()
            if row.message.agreement_id == agreement_id
            and row.settled_at is not None
            and row.settled_at < settled_before_at
            and not self._is_recovering(message_id)
        ]
        found = sorted(settled)[:limit]
        for _, _, message_id in found:
            self._forget_outbound(message_id)
        return len(found)

    def _is_recovering(self, message_id: str) -> bool:
        recovery = self.get_recovery(message_id)
        awaited = recovery.response is ResponseStatus.AWAITED
        return awaited or recovery.phase is not RecoveryPhase.AT_REST

    def _forget_outbound(self, message_id: str) -> None:
        idempotency_key = self._tables.outbound[message_id].idempotency_key
        if idempotency_key is not None:
            self._remove(self._tables.keys, idempotency_key)
        self._remove(self._tables.outbound, message_id)
        for table in (self._tables.packages, self._tables.recovery):
            if message_id in table:
                self._remove(table, message_id)

    def _remove(self, table: MutableMapping[Any, Any], key: Any) -> None:
        del table[key]
        self._write_count += 1

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


_Aged = TypeVar("_Aged", _Incoming, _Passing)


def _past(rows: Iterable[_Aged], now_at: int, limit: int) -> list[_Aged]:
    """The rows past their time, those of the earliest first."""
    over = [
        (row.keep_until_at, row.number, row)
        for row in rows
        if row.keep_until_at is not None and row.keep_until_at < now_at
    ]
    return [row for _, _, row in sorted(over, key=lambda one: one[:2])[:limit]]


def _checked(
    described: Sequence[Payload], payloads: Sequence[StoredPayload]
) -> tuple[StoredPayload, ...]:
    assert len(payloads) == len(described), "one stored payload for each described one"
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
        pending.settle()

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
            self._pending.settle()
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
