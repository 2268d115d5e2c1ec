"""The write transaction of the SQLite store: the contract's `Transaction`.

Knows into which tables the changes of a step go; must not begin, commit or roll back: the store
does that. What is counted over a whole transaction (messages per status, inbox offsets) is kept in
memory and written once, by `flush`, just before the commit. What steps read again and again is
answered from the working set (`kept`), into which every write goes as well.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py

from collections.abc import Iterable, Sequence

import apsw
from msgspec.structs import astuple

from onceonly.journal.record import Record, linked
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import AckRequested, Message, Payload
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery
from onceonly.protocol.sending import Outbound
from onceonly.store.contract.counting import COUNTED, COUNTED_AS, WAITING
from onceonly.store.contract.entries import (
    InboundEntry,
    Notice,
    OutboundEntry,
    OutboundView,
    OwedNotice,
    Role,
    StoredPayload,
    TransitEntry,
)
from onceonly.store.contract.rules import check_payloads, settled_at
from onceonly.store.contract.store import Transaction
from onceonly.store.contract.waits import Waits
from onceonly.store.sqlite import mapping
from onceonly.store.sqlite.agreements import SqliteAgreementWriting
from onceonly.store.sqlite.alerts import SqliteAlertWriting
from onceonly.store.sqlite.api_keys import SqliteKeyWriting
from onceonly.store.sqlite.bulk import SqliteBulkWriting
from onceonly.store.sqlite.counter_writing import SqliteCounterWriting
from onceonly.store.sqlite.evidence import SqliteEvidenceWriting
from onceonly.store.sqlite.job_writing import SqliteJobWriting
from onceonly.store.sqlite.kept import Carried, KeptContent, WorkingSet
from onceonly.store.sqlite.listing import IN_STRETCH, STRETCH_BITS
from onceonly.store.sqlite.mapping import Way
from onceonly.store.sqlite.orders import SqliteOrderWriting
from onceonly.store.sqlite.reading import SqliteSnapshot
from onceonly.store.sqlite.webhooks import SqliteWebhookWriting

_NO_RESPONSE = (None, None, None)
_ADD_BODY = {
    Way.OUT: "add_outbound_body",
    Way.IN: "add_inbound_body",
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


class SqliteTransaction(
    SqliteAgreementWriting,
    SqliteAlertWriting,
    SqliteBulkWriting,
    SqliteCounterWriting,
    SqliteJobWriting,
    SqliteKeyWriting,
    SqliteEvidenceWriting,
    SqliteOrderWriting,
    SqliteWebhookWriting,
    SqliteSnapshot,
    Transaction,
):
    """One write transaction, on the one writer connection."""

    def __init__(
        self,
        connection: apsw.Connection,
        *,
        epoch: int,
        carried: Carried,
        waits: Waits,
        kept: WorkingSet,
    ) -> None:
        super().__init__(connection)
        self._epoch = epoch
        self._journal_seq = carried.journal_seq
        self._chain_hash = carried.chain_hash
        self._offset_before = self._last_offset = carried.last_offset
        self._has_unkeyed = carried.has_unkeyed
        self._has_tombstones = carried.has_tombstones
        self._waiting = carried.waiting
        self.waits = waits
        self._kept = kept
        self.is_sealed = False
        """Nothing is left to write; no step runs any more."""
        self._counted: dict[str, int] = {}
        self._known: dict[str, tuple[int, OutboundEntry]] = {}
        """(position, entry) of messages with a verdict that this transaction has looked at."""

    def carried(self) -> Carried:
        """What the next transaction begins with, if this one is committed."""
        return Carried(
            self._journal_seq,
            self._chain_hash,
            self._waiting,
            self._last_offset,
            self._has_unkeyed,
            self._has_tombstones,
        )

    def count_waiting(self) -> int:
        return self._waiting

    def find_outbound(self, message_id: str) -> OutboundEntry | None:
        found = self._find(message_id)
        return None if found is None else found[1]

    def _find(self, message_id: str) -> tuple[int, OutboundEntry] | None:
        known = self._kept.outbound.find(message_id) or self._known.get(message_id)
        if known is not None:
            return known
        row = self._get("find_outbound", message_id)
        return None if row is None else self._learn(row[0], mapping.to_outbound_entry(row))

    def _learn(self, position: int, entry: OutboundEntry) -> tuple[int, OutboundEntry]:
        """Spare the steps of today another look; a message without a verdict, those after it."""
        known = position, entry
        if entry.state.status in WAITING:
            self._kept.outbound.said[entry.message_id] = known
        else:
            self._kept.outbound.said[entry.message_id] = None
            self._kept.contents.said[entry.message_id] = None
            self._known[entry.message_id] = known
        return known

    def find_next_queued(self, pair: Pair) -> OutboundEntry | None:
        row = self._get("find_next_queued", *pair)
        return None if row is None else self._learn(row[0], mapping.to_outbound_entry(row))[1]

    def find_outbound_view(self, message_id: str) -> OutboundView | None:
        content, known = self._kept.contents.find(message_id), self._kept.outbound.find(message_id)
        if content is None or known is None:
            return super().find_outbound_view(message_id)
        state, digest, header_digest = known[1].state, content.digest, content.header_digest
        return OutboundView(
            content.message, state, content.submitted_at, None, digest, header_digest
        )

    def list_payloads(self, message_id: str) -> Sequence[StoredPayload]:
        content = self._kept.contents.find(message_id)
        return super().list_payloads(message_id) if content is None else list(content.payloads)

    def get_sending_pair(self, pair: Pair) -> SendingPair:
        state = self._kept.sending_pairs.find(pair)
        if state is None:
            state = super().get_sending_pair(pair)
            self._kept.sending_pairs.said[pair] = state
        return state

    def get_receiving_pair(self, pair: Pair) -> ReceivingPair:
        state = self._kept.receiving_pairs.find(pair)
        if state is None:
            state = super().get_receiving_pair(pair)
            self._kept.receiving_pairs.said[pair] = state
        return state

    def find_inbound(self, key: MessageKey) -> InboundEntry | None:
        known = self._kept.stored.find(key)
        return super().find_inbound(key) if known is None else known[1]

    def find_inbound_without_key(self, key: MessageKey) -> InboundEntry | None:
        return super().find_inbound_without_key(key) if self._has_unkeyed else None

    def is_cancelled(self, key: MessageKey) -> bool:
        return self._has_tombstones and super().is_cancelled(key)

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
        facts = (digest, submitted_at, idempotency_key, header_digest)
        columns = (position, *mapping.from_message(message), *facts)
        self._write_later("add_outbound_message", columns)
        self._add_bodies(Way.OUT, position, message.payloads, payloads)
        if idempotency_key is not None:
            self._write("add_idempotency_key", idempotency_key, message.message_id)
        if not position & IN_STRETCH:
            self._write("end_stretch_of_messages", (position >> STRETCH_BITS) - 1)
        content = KeptContent(message, tuple(payloads), digest, header_digest, submitted_at)
        if content.is_small:
            self._kept.contents.said[message.message_id] = content
        entry = OutboundEntry(message.message_id, message.pair, message.agreement_id, state)
        self._learn(position, entry)
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
            elif way is Way.THROUGH:
                self._write("add_transit_body", place, body)
            else:
                self._write_later(_ADD_BODY[way], (place, body))

    def put_outbound(self, message_id: str, state: Outbound, *, at: int) -> None:
        position, before = self._get_known(message_id)
        self._write("put_outbound", *astuple(state), settled_at(state, at), position)
        self._learn(position, changed(before, state=state))
        if state.status != before.state.status:
            self._count(before.state.status, -1)
            self._count(state.status, 1)

    def _get_known(self, message_id: str) -> tuple[int, OutboundEntry]:
        known = self._find(message_id)
        assert known is not None, f"no outbound message {message_id}"
        return known

    def put_resent(self, message_id: str, resent_as: str) -> None:
        earlier, _ = self._get_known(message_id)
        later, _ = self._get_known(resent_as)
        self._write("put_resent_as", resent_as, earlier)
        self._write("put_resend_of", message_id, earlier, later)
        self._write("move_idempotency_key", resent_as, earlier)
        self._kept.contents.said[message_id] = None
        self._kept.contents.said[resent_as] = None

    def put_package(self, message_id: str, package: Package) -> None:
        position, _ = self._get_known(message_id)
        self._write_later("put_package", (position, *mapping.from_package(package)))
        self._kept.contents.said[message_id] = None

    def put_sending_pair(self, pair: Pair, state: SendingPair, *, at: int) -> None:
        turns = mapping.encode_turns(state.in_flight)
        number, reason, trouble = state.sequence_number, state.reason, state.trouble
        columns = (*pair, state.status, number, turns, reason, trouble, at)
        self._replace_later("put_sending_pair", pair, columns)
        self._kept.sending_pairs.said[pair] = state

    def put_receiving_pair(self, pair: Pair, state: ReceivingPair) -> None:
        self._replace_later("put_receiving_pair", pair, (*pair, *astuple(state)))
        self._kept.receiving_pairs.said[pair] = state

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
        answer = _NO_RESPONSE if response is None else mapping.from_package(response)
        columns = (position, *mapping.from_message(message), *answer)
        self._write_later("add_inbound_message", columns)
        self._add_bodies(Way.IN, position, message.payloads, payloads)
        if status is InboundStatus.STORED:
            entry = InboundEntry(
                key,
                message.agreement_id,
                status,
                ProcessingState.NOT_STARTED,
                digest,
                received_at,
                header_digest=header_digest,
                ack_requested=ack_requested,
            )
            self._kept.stored.said[key] = (position, entry)
        if offset is not None:
            self._end_stretch_of_inbox(offset)
        self._has_unkeyed = self._has_unkeyed or not has_key
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
        self._end_stretch_of_inbox(offset)
        self._kept.stored.said[key] = None
        self._recount(InboundStatus.STORED, InboundStatus.HANDED_OVER)
        return offset

    def hand_over_again(self, offset: int, *, at: int) -> int:
        row = self._get("find_repeated", offset)
        assert row is not None, f"no inbox item at {offset}"
        position, repetitions = row
        again = self._next_offset()
        self._write("repeat_inbound", position, again, at, repetitions + 1)
        copy = self._connection.last_insert_rowid()
        self._write("repeat_inbound_message", position, copy)
        self._write("repeat_inbound_bodies", position, copy)
        self._write("repeat_inbound_spooled", position, copy)
        self._end_stretch_of_inbox(again)
        # One without a key, as all of them are counted: `find_inbound_without_key` leaves it out.
        self._has_unkeyed = True
        self._count(COUNTED_AS[InboundStatus.HANDED_OVER], 1)
        return again

    def _inbound_position(self, key: MessageKey) -> tuple[int, str, int | None]:
        known = self._kept.stored.find(key)
        if known is not None:
            return known[0], known[1].status, None
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
        self.remove_placed(key)
        self._has_tombstones = True
        self._kept.stored.said[key] = None
        row = self._get("find_inbound_position", *names)
        if row is not None and row[1] != InboundStatus.CANCELLED:
            self._write("cancel_inbound", row[0])
            self._recount(InboundStatus(row[1]), InboundStatus.CANCELLED)

    def put_awaited_order(self, message_id: str, conversation_id: str | None) -> None:
        position, _ = self._get_known(message_id)
        self._write("put_awaited_order", conversation_id, position)

    def last_offset(self) -> int:
        return self._last_offset

    def _next_offset(self) -> int:
        # From the row of the store, not from the inbox: after a purge no offset may be given again.
        self._last_offset += 1
        return self._last_offset

    def _end_stretch_of_inbox(self, offset: int) -> None:
        if not offset & IN_STRETCH:
            self._write("end_stretch_of_inbox", (offset >> STRETCH_BITS) - 1)

    def put_processing(self, offset: int, processing: ProcessingState) -> None:
        self._write_item("put_processing", processing, offset)

    def put_withheld(self, key: MessageKey, *, is_withheld: bool) -> None:
        position, _, _ = self._inbound_position(key)
        self._write("put_withheld", is_withheld, position)
        self._kept.stored.said[key] = None

    def put_parked(self, key: MessageKey, reason: str | None) -> None:
        position, _, _ = self._inbound_position(key)
        self._write("put_parked", reason, position)
        self._kept.stored.said[key] = None

    def put_refused(self, offset: int) -> None:
        self._write_item("put_refused", offset)

    def _write_item(self, query: str, *bindings: str | int) -> None:
        before = self.write_count
        self._write(query, *bindings)
        assert self.write_count > before, f"no inbox item for {bindings}"

    def put_recovery(self, message_id: str, recovery: Recovery) -> None:
        position, _ = self._get_known(message_id)
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
            self._forget_up_to(Pair(from_party, to_party), timestamp_at)
            self._count(COUNTED_AS[InboundStatus(status)], -1)
            purged += 1
        for *names, cancelled_at in self._list("list_finished_tombstones", now_at, limit - purged):
            self._write("forget_tombstone", *names)
            self._forget_up_to(Pair(*names[1:]), cancelled_at)
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
            self._kept.outbound.said[message_id] = None
            self._kept.contents.said[message_id] = None
            self._count(status, -1)
        return len(found)

    def _forget(self, queries: Iterable[str], position: int) -> None:
        for query in queries:
            self._write(query, position)

    def _forget_up_to(self, pair: Pair, at: int) -> None:
        self._write("put_forgotten", *pair, at)
        self._kept.receiving_pairs.said[pair] = None

    def forget_pair(self, pair: Pair) -> None:
        self._write("forget_pair", *pair)
        self._kept.sending_pairs.said[pair] = None

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

    def resolve_about(self, role: Role, pair: Pair, message_id: str, *, at: int) -> None:
        self._write("resolve_about", at, role, *pair, f"({message_id})")

    def resolve_reason(self, role: Role, pair: Pair, reason: str, *, at: int) -> None:
        self._write("resolve_reason", at, role, *pair, reason)

    def append(self, records: Iterable[Record]) -> None:
        seq, chain_hash, rows = self._journal_seq, self._chain_hash, []
        for record in records:
            seq += 1
            row = linked(record, seq=seq, store_epoch=self._epoch, previous_hash=chain_hash)
            chain_hash = row[-1]
            rows.append(row)
        self._write_later("append", *rows)
        for number in range(self._journal_seq >> STRETCH_BITS, seq >> STRETCH_BITS):
            self._write("end_stretch_of_journal", number)
        self._journal_seq, self._chain_hash = seq, chain_hash

    def count_by_status(self) -> dict[str, int]:
        counts = super().count_by_status()
        for word, change in self._counted.items():
            counts[word] += change
        return counts

    def _count(self, word: str, change: int) -> None:
        self._counted[word] = self._counted.get(word, 0) + change
        if word in WAITING:
            self._waiting += change

    def flush(self) -> None:
        """Write what was put off and counted; the store calls it before the commit."""
        self._write_put_off()
        counted = [self._counted.get(word, 0) for word in COUNTED]
        if any(counted) or self._last_offset != self._offset_before:
            self._write("put_counts", self._last_offset, *counted)
        self._counted.clear()
        self.is_sealed = True
