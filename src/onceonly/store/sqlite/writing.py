"""The write transaction of the SQLite store: the contract's `Transaction`.

Knows into which tables the changes of a step go; must not begin, commit or roll back: the store
does that. What is counted over a whole transaction (messages per status, inbox offsets) is kept in
memory and written once, by `flush`, just before the commit.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py

from collections.abc import Iterable, Sequence

import apsw
from msgspec.structs import astuple

from onceonly.journal.record import Record
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import AckRequested, Message, Payload
from onceonly.message.package import Package
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery
from onceonly.protocol.sending import Outbound
from onceonly.store.contract.counting import COUNTED_AS, WAITING
from onceonly.store.contract.entries import (
    Notice,
    OutboundEntry,
    OwedNotice,
    Role,
    StoredPayload,
    TransitEntry,
)
from onceonly.store.contract.rules import appended, check_payloads, settled_at
from onceonly.store.contract.store import Transaction
from onceonly.store.contract.waits import Waits
from onceonly.store.sqlite import mapping
from onceonly.store.sqlite.job_writing import SqliteJobWriting
from onceonly.store.sqlite.mapping import Way
from onceonly.store.sqlite.reading import SqliteSnapshot

_NO_RESPONSE = (None, None, None)
_ADD_BODY = {
    Way.OUT: "add_outbound_body",
    Way.IN: "add_inbound_body",
    Way.THROUGH: "add_transit_body",
}

_FORGET_OUTBOUND = (
    "forget_idempotency_key",
    "forget_outbound",
    "forget_outbound_message",
    "forget_outbound_package",
    "forget_outbound_bodies",
    "forget_outbound_spooled",
    "forget_recovery",
)
_FORGET_INBOUND = (
    "forget_inbound_key",
    "forget_inbound",
    "forget_inbound_message",
    "forget_inbound_bodies",
    "forget_inbound_spooled",
)
_FORGET_TRANSIT = (
    "forget_transit",
    "forget_transit_package",
    "forget_transit_bodies",
    "forget_transit_spooled",
)
"""In this order, since each key is found by rows that are deleted after it."""


class SqliteTransaction(SqliteJobWriting, SqliteSnapshot, Transaction):
    """One write transaction, on the one writer connection."""

    def __init__(
        self,
        connection: apsw.Connection,
        *,
        epoch: int,
        journal_seq: int,
        chain_hash: str,
        waits: Waits,
        waiting: int,
    ) -> None:
        super().__init__(connection)
        self._epoch = epoch
        self.journal_seq = journal_seq
        """The last `seq`, including the rows of this transaction."""
        self.chain_hash = chain_hash
        self._changes_before = connection.total_changes()
        self._last_offset: int | None = None
        self.waits = waits
        self.waiting = waiting
        """Messages of ours without a verdict, this transaction's included."""
        self._counted: dict[str, int] = {}
        self._known: dict[str, tuple[int, str]] = {}
        """(position, status) of the outbound messages that this transaction has looked at."""

    def count_waiting(self) -> int:
        return self.waiting

    @property
    def write_count(self) -> int:
        return self._connection.total_changes() - self._changes_before

    def find_outbound(self, message_id: str) -> OutboundEntry | None:
        row = self._get("find_outbound", message_id)
        if row is None:
            return None
        self._known[message_id] = (row[0], row[5])
        return mapping.to_outbound_entry(row)

    def find_next_queued(self, pair: Pair) -> OutboundEntry | None:
        row = self._get("find_next_queued", *pair)
        if row is None:
            return None
        self._known[row[1]] = (row[0], row[5])
        return mapping.to_outbound_entry(row)

    def add_outbound(  # noqa: PLR0913 - because these are the facts of one submission
        self,
        message: Message,
        state: Outbound,
        payloads: Sequence[StoredPayload],
        *,
        digest: str,
        header_digest: str | None = None,
        submitted_at: int,
        idempotency_key: str | None,
    ) -> None:
        self._write(
            "add_outbound",
            message.message_id,
            *message.pair,
            message.agreement_id,
            *astuple(state),
            settled_at(state, submitted_at),
        )
        position = self._connection.last_insert_rowid()
        self._write(
            "add_outbound_message",
            position,
            *mapping.from_message(message),
            digest,
            submitted_at,
            idempotency_key,
            header_digest,
        )
        self._add_bodies(Way.OUT, position, message.payloads, payloads)
        if idempotency_key is not None:
            self._write("add_idempotency_key", idempotency_key, message.message_id)
        self._known[message.message_id] = (position, state.status)
        self._count(state.status, 1)

    def _add_bodies(
        self,
        way: Way,
        position: int,
        described: Sequence[Payload],
        payloads: Sequence[StoredPayload],
    ) -> None:
        check_payloads(described, payloads)
        for number, one in enumerate(payloads):
            place, body = mapping.place(position, number), one.body
            if body is None:
                self._write("add_spooled", one.payload.digest, way, place)
            else:
                self._write(_ADD_BODY[way], place, body)

    def put_outbound(self, message_id: str, state: Outbound, *, at: int) -> None:
        position, status_before = self._position_of(message_id)
        self._write("put_outbound", *astuple(state), settled_at(state, at), position)
        if state.status != status_before:
            self._known[message_id] = (position, state.status)
            self._count(status_before, -1)
            self._count(state.status, 1)

    def _position_of(self, message_id: str) -> tuple[int, str]:
        known = self._known.get(message_id)
        if known is None:
            known = self._get("find_position", message_id)
            assert known is not None, f"no outbound message {message_id}"
        return known

    def put_resent(self, message_id: str, resent_as: str) -> None:
        earlier, _ = self._position_of(message_id)
        later, _ = self._position_of(resent_as)
        self._write("put_resent_as", resent_as, earlier)
        self._write("put_resend_of", message_id, earlier, later)
        self._write("move_idempotency_key", resent_as, earlier)

    def put_package(self, message_id: str, package: Package) -> None:
        position, _ = self._position_of(message_id)
        self._write("put_package", position, *mapping.from_package(package))

    def put_sending_pair(self, pair: Pair, state: SendingPair, *, at: int) -> None:
        turns = mapping.encode_turns(state.in_flight)
        self._write(
            "put_sending_pair",
            *pair,
            state.status,
            state.sequence_number,
            turns,
            state.reason,
            state.trouble,
            at,
        )

    def put_receiving_pair(self, pair: Pair, state: ReceivingPair) -> None:
        self._write("put_receiving_pair", *pair, *astuple(state))

    def add_inbound(  # noqa: PLR0913 - because these are the facts of one arrival
        self,
        message: Message,
        payloads: Sequence[StoredPayload],
        response: Package | None,
        *,
        digest: str,
        received_at: int,
        header_digest: str | None = None,
        ack_requested: AckRequested | None = None,
        keep_until_at: int | None = None,
        status: InboundStatus = InboundStatus.STORED,
        has_key: bool = True,
    ) -> None:
        key = message.key
        names = (key.message_id, key.from_party, key.to_party)
        offset = None if has_key else self._next_offset()
        handed_over_at = None if has_key else received_at
        status = status if has_key else InboundStatus.HANDED_OVER
        facts = (message.agreement_id, status, digest, received_at)
        place = (offset, handed_over_at, has_key, keep_until_at)
        self._write("add_inbound", *names, *facts, *place, header_digest, ack_requested)
        position = self._connection.last_insert_rowid()
        if has_key:
            self._write("add_inbound_key", *names, position)
        answer = _NO_RESPONSE if response is None else mapping.from_package(response)
        self._write("add_inbound_message", position, *mapping.from_message(message), *answer)
        self._add_bodies(Way.IN, position, message.payloads, payloads)
        self._count(COUNTED_AS[status], 1)

    def put_response(self, key: MessageKey, response: Package) -> None:
        position, _, _ = self._inbound_position(key)
        self._write("put_response", *mapping.from_package(response), position)

    def hand_over(self, key: MessageKey, *, at: int) -> int:
        position, status, offset = self._inbound_position(key)
        if offset is not None:
            return offset
        assert status == InboundStatus.STORED, f"{key} is {status}"
        offset = self._next_offset()
        self._write("hand_over", offset, at, position)
        self._recount(InboundStatus.STORED, InboundStatus.HANDED_OVER)
        return offset

    def _inbound_position(self, key: MessageKey) -> tuple[int, str, int | None]:
        names = (key.message_id, key.from_party, key.to_party)
        row: tuple[int, str, int | None] | None = self._get("find_inbound_position", *names)
        if row is None:
            row = self._get("find_position_without_key", *names)
        assert row is not None, f"no inbound message {key}"
        return row

    def _recount(self, before: InboundStatus, after: InboundStatus) -> None:
        self._count(COUNTED_AS[before], -1)
        self._count(COUNTED_AS[after], 1)

    def cancel_inbound(self, key: MessageKey, *, at: int, keep_until_at: int | None) -> None:
        names = (key.message_id, key.from_party, key.to_party)
        self._write("put_tombstone", *names, at, keep_until_at)
        row = self._get("find_inbound_position", *names)
        if row is not None and row[1] != InboundStatus.CANCELLED:
            self._write("cancel_inbound", row[0])
            self._recount(InboundStatus(row[1]), InboundStatus.CANCELLED)

    def last_offset(self) -> int:
        return super().last_offset() if self._last_offset is None else self._last_offset

    def _next_offset(self) -> int:
        # From the row of the store, not from the inbox: after a purge no offset may be given again.
        self._last_offset = self.last_offset() + 1
        return self._last_offset

    def put_processing(self, offset: int, processing: ProcessingState) -> None:
        self._write_item("put_processing", processing, offset)

    def put_withheld(self, key: MessageKey, *, is_withheld: bool) -> None:
        position, _, _ = self._inbound_position(key)
        self._write("put_withheld", is_withheld, position)

    def put_parked(self, key: MessageKey, reason: str | None) -> None:
        position, _, _ = self._inbound_position(key)
        self._write("put_parked", reason, position)

    def put_refused(self, offset: int) -> None:
        self._write_item("put_refused", offset)

    def _write_item(self, query: str, *bindings: str | int) -> None:
        before = self.write_count
        self._write(query, *bindings)
        assert self.write_count > before, f"no inbox item for {bindings}"

    def put_recovery(self, message_id: str, recovery: Recovery) -> None:
        position, _ = self._position_of(message_id)
        self._write("put_recovery", position, *mapping.from_recovery(recovery))

    def add_transit(
        self,
        entry: TransitEntry,
        package: Package,
        payloads: Sequence[StoredPayload],
        *,
        keep_until_at: int | None,
    ) -> None:
        key = entry.key
        self._write(
            "add_transit",
            key.message_id,
            entry.route_id,
            *key.pair,
            *mapping.from_transit(entry),
            keep_until_at,
        )
        position = self._connection.last_insert_rowid()
        described = [one.payload for one in payloads]
        text = mapping.encode_payloads(described)
        self._write("add_transit_package", position, *mapping.from_package(package), text)
        self._add_bodies(Way.THROUGH, position, described, payloads)

    def put_transit(self, entry: TransitEntry) -> None:
        before = self.write_count
        names = (entry.key.message_id, entry.route_id)
        self._write("put_transit", *mapping.from_transit(entry), *names)
        assert self.write_count > before, f"{names} was never added"

    def put_owed_notice(self, notice: OwedNotice) -> None:
        key = notice.key
        self._write("put_owed_notice", key.message_id, *key.pair, *astuple(notice)[1:])

    def remove_owed_notice(self, key: MessageKey) -> None:
        self._write("remove_owed_notice", key.message_id, *key.pair)

    def purge_inbound(self, now_at: int, limit: int) -> int:
        purged = 0
        for row in self._list("list_finished_inbound", now_at, limit):
            position, status, from_party, to_party, timestamp_at = row
            self._forget(_FORGET_INBOUND, position)
            self._write("put_forgotten", from_party, to_party, timestamp_at)
            self._count(COUNTED_AS[InboundStatus(status)], -1)
            purged += 1
        for *names, cancelled_at in self._list("list_finished_tombstones", now_at, limit - purged):
            self._write("forget_tombstone", *names)
            self._write("put_forgotten", *names[1:], cancelled_at)
            purged += 1
        for (position,) in self._list("list_finished_transits", now_at, limit - purged):
            self._forget(_FORGET_TRANSIT, position)
            purged += 1
        return purged

    def purge_outbound(self, agreement_id: str, settled_before_at: int, limit: int) -> int:
        found = self._list("list_settled", agreement_id, settled_before_at, limit)
        for position, message_id, status in found:
            self._write("note_ended", status, message_id)
            self._forget(_FORGET_OUTBOUND, position)
            self._known.pop(message_id, None)
            self._count(status, -1)
        return len(found)

    def _forget(self, queries: Iterable[str], position: int) -> None:
        for query in queries:
            self._write(query, position)

    def forget_pair(self, pair: Pair) -> None:
        self._write("forget_pair", *pair)

    def add_notice(self, notice: Notice) -> None:
        self._write("add_notice", *astuple(notice))

    def open_incident(
        self, role: Role, pair: Pair, reason: str, *, at: int, message_id: str | None = None
    ) -> None:
        self._write("open_incident", role, *pair, reason, at, message_id)

    def open_trouble(self, pair: Pair, cause: str, *, at: int) -> None:
        self._write("open_trouble", Role.SENDER, *pair, cause, at)

    def resolve_trouble(self, pair: Pair, *, at: int) -> None:
        self._write("resolve_trouble", at, Role.SENDER, *pair)

    def resolve_incidents(
        self, role: Role, pair: Pair, *, at: int, with_parked: bool = False
    ) -> None:
        self._write("resolve_incidents", at, role, *pair, with_parked)

    def resolve_parked(self, role: Role, pair: Pair, message_id: str, *, at: int) -> None:
        self._write("resolve_parked", at, role, *pair, message_id)

    def append(self, records: Iterable[Record]) -> None:
        for record in records:
            seq = self.journal_seq + 1
            row = appended(record, seq=seq, store_epoch=self._epoch, previous_hash=self.chain_hash)
            self._write("append", *astuple(row))
            self.journal_seq, self.chain_hash = seq, row.chain_hash

    def count_by_status(self) -> dict[str, int]:
        counts = super().count_by_status()
        for word, change in self._counted.items():
            counts[word] += change
        return counts

    def _count(self, word: str, change: int) -> None:
        self._counted[word] = self._counted.get(word, 0) + change
        if word in WAITING:
            self.waiting += change

    def flush(self) -> None:
        """Write what was counted; the store calls it once, just before the commit."""
        for word, change in self._counted.items():
            if change:
                self._write("count_more", word, change)
        self._counted.clear()
        if self._last_offset is not None:
            self._write("put_last_offset", self._last_offset)
