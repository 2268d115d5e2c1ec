"""The write transaction of the store of simulations: the contract's `Transaction`.

Knows which rows a step changes; must not commit them or roll them back: the store does that.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from onceonly.journal.record import CHAIN_START, Record, linked
from onceonly.message.identity import ConversationKey, MessageKey, Pair
from onceonly.message.message import AckRequested, Message
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery
from onceonly.protocol.sending import Outbound
from onceonly.store.contract.conditions import StoreMisused
from onceonly.store.contract.counting import WAITING
from onceonly.store.contract.entries import (
    Incident,
    Notice,
    OwedNotice,
    Repetition,
    Role,
    StoredPayload,
    TransitEntry,
)
from onceonly.store.contract.rules import check_payloads, settled_at
from onceonly.store.contract.store import Transaction
from onceonly.store.contract.waits import Waits
from onceonly.store.memory.counters import MemoryCounterWriting
from onceonly.store.memory.evidence import MemoryEvidenceWriting
from onceonly.store.memory.orders import MemoryOrderWriting
from onceonly.store.memory.reading import MemorySnapshot
from onceonly.store.memory.tables import InboundRow, OutboundRow, Passing, Tables

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py


class MemoryTransaction(
    MemoryEvidenceWriting, MemoryOrderWriting, MemoryCounterWriting, MemorySnapshot, Transaction
):
    """Writes over pending tables."""

    def __init__(self, tables: Tables, epoch: int, waits: Waits) -> None:
        super().__init__(tables)
        self._epoch = epoch
        self.waits = waits

    def count_waiting(self) -> int:
        counts = self.count_by_status()
        return sum(counts[status] for status in WAITING)

    @property
    def write_count(self) -> int:
        return self._write_count

    def _add(self, table: dict[Any, Any], key: Any, row: Any) -> None:
        if key in table:
            raise StoreMisused(f"there is a row with the key {key!r} already")
        self._put(table, key, row)

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
        check_payloads(message.payloads, payloads)
        row = OutboundRow(
            self._next("position"),
            message,
            state,
            tuple(payloads),
            digest,
            submitted_at,
            settled_at(state, submitted_at),
            idempotency_key,
            header_digest,
        )
        self._add(self._tables.outbound, message.message_id, row)
        if idempotency_key is not None:
            self._add(self._tables.keys, idempotency_key, message.message_id)

    def put_outbound(self, message_id: str, state: Outbound, *, at: int) -> None:
        assert message_id in self._tables.outbound, f"no outbound message {message_id}"
        row = self._tables.outbound[message_id]
        since_at = settled_at(state, at if row.settled_at is None else row.settled_at)
        row = changed(row, state=state, settled_at=since_at)
        self._put(self._tables.outbound, message_id, row)

    def put_resent(self, message_id: str, resent_as: str) -> None:
        earlier, later = self._tables.outbound[message_id], self._tables.outbound[resent_as]
        key = earlier.idempotency_key
        self._put(self._tables.outbound, message_id, changed(earlier, resent_as=resent_as))
        later = changed(later, resend_of=message_id, idempotency_key=key)
        self._put(self._tables.outbound, resent_as, later)
        if key is not None:
            self._put(self._tables.keys, key, resent_as)

    def put_package(self, message_id: str, package: Package) -> None:
        assert message_id in self._tables.outbound, f"no outbound message {message_id}"
        self._put(self._tables.packages, message_id, package)

    def put_sending_pair(self, pair: Pair, state: SendingPair, *, at: int) -> None:
        self._put(self._tables.sending, pair, state)
        self._tables.used_at[pair] = at

    def forget_pair(self, pair: Pair) -> None:
        state = self._tables.sending.get(pair)
        if state is not None:
            self._put(self._tables.sending, pair, changed(state, sequence_number=None))

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
        header_digest: str | None = None,
        ack_requested: AckRequested | None = None,
        keep_until_at: int | None = None,
        status: InboundStatus = InboundStatus.STORED,
        has_key: bool = True,
    ) -> None:
        check_payloads(message.payloads, payloads)
        number = self._next("inbound")
        if has_key:
            self._add(self._tables.known, message.key, number)
        row = InboundRow(
            number,
            message,
            tuple(payloads),
            response,
            digest,
            received_at,
            keep_until_at,
            status if has_key else InboundStatus.STORED,
            header_digest=header_digest,
            ack_requested=ack_requested,
        )
        self._put(self._tables.inbound, number, row)
        if not has_key:
            self._put_into_inbox(row, received_at)

    def put_response(self, key: MessageKey, response: Package) -> None:
        self._change_inbound(changed(self._get_inbound(key), response=response))

    def hand_over(self, key: MessageKey, *, at: int) -> int:
        row = self._get_inbound(key)
        if row.offset is not None:
            return row.offset
        assert row.status is InboundStatus.STORED, f"{key} is {row.status}"
        return self._put_into_inbox(row, at)

    def hand_over_again(self, offset: int, *, at: int) -> int:
        it = self._item_row(offset)
        assert it.offset is not None, "it is in the inbox"
        first = it.repeats or Repetition(0, it.offset, it.handed_over_at)
        others = (row.repeats for row in self._tables.inbound.values() if row.repeats is not None)
        numbers = [
            other.number for other in others if other.first_offset == first.first_offset
        ] or [0]
        row = changed(
            it,
            number=self._next("inbound"),
            response=None,
            processing=ProcessingState.NOT_STARTED,
            is_refused=False,
            repeats=changed(first, number=max(numbers) + 1),
        )
        self._put(self._tables.inbound, row.number, row)
        return self._put_into_inbox(row, at)

    def _put_into_inbox(self, row: InboundRow, at: int) -> int:
        offset = self._next("offset")
        self._put(self._tables.inbox, offset, row.number)
        status = InboundStatus.HANDED_OVER
        self._change_inbound(changed(row, offset=offset, handed_over_at=at, status=status))
        return offset

    def _get_inbound(self, key: MessageKey) -> InboundRow:
        number = self._tables.known.get(key)
        if number is None:
            rows = [row for row in self._tables.inbound.values() if row.repeats is None]
            number = max((row.number for row in rows if row.message.key == key), default=None)
        assert number is not None, f"no inbound message {key}"
        return self._tables.inbound[number]

    def _change_inbound(self, row: InboundRow) -> None:
        self._put(self._tables.inbound, row.number, row)

    def cancel_inbound(self, key: MessageKey, *, at: int, keep_until_at: int | None) -> None:
        cancelled_at, before = self._tables.tombstones.get(key, (at, 0))
        lasts = None if before is None or keep_until_at is None else max(before, keep_until_at)
        self._put(self._tables.tombstones, key, (cancelled_at, lasts))
        self.remove_placed(key)
        if key in self._tables.known:
            self._change_inbound(changed(self._get_inbound(key), status=InboundStatus.CANCELLED))

    def put_processing(self, offset: int, processing: ProcessingState) -> None:
        self._change_inbound(changed(self._item_row(offset), processing=processing))

    def put_withheld(self, key: MessageKey, *, is_withheld: bool) -> None:
        self._change_inbound(changed(self._get_inbound(key), is_withheld=is_withheld))

    def put_parked(self, key: MessageKey, reason: str | None) -> None:
        self._change_inbound(changed(self._get_inbound(key), parked=reason))

    def put_refused(self, offset: int) -> None:
        self._change_inbound(changed(self._item_row(offset), is_refused=True))

    def _item_row(self, offset: int) -> InboundRow:
        number = self._tables.inbox.get(offset)
        assert number is not None, f"no inbox item at {offset}"
        return self._tables.inbound[number]

    def put_recovery(self, message_id: str, recovery: Recovery) -> None:
        assert message_id in self._tables.outbound, f"no outbound message {message_id}"
        self._put(self._tables.recovery, message_id, changed(recovery, due_ns=None))

    def add_transit(
        self,
        entry: TransitEntry,
        package: Package,
        payloads: Sequence[StoredPayload],
        *,
        keep_until_at: int | None,
    ) -> None:
        check_payloads([one.payload for one in payloads], payloads)
        row = Passing(self._next("transit"), entry, package, tuple(payloads), keep_until_at)
        self._add(self._tables.transits, (entry.route_id, entry.key.message_id), row)

    def put_transit(self, entry: TransitEntry) -> None:
        key = (entry.route_id, entry.key.message_id)
        assert key in self._tables.transits, f"{key} was never added"
        self._put(self._tables.transits, key, changed(self._tables.transits[key], entry=entry))

    def put_owed_notice(self, notice: OwedNotice) -> None:
        self._put(self._tables.owed, notice.key, notice)

    def remove_owed_notice(self, key: MessageKey) -> None:
        if key in self._tables.owed:
            self._remove(self._tables.owed, key)

    def purge_inbound(self, now_at: int, limit: int) -> int:
        purged = 0
        finished = (
            row
            for row in self._tables.inbound.values()
            if row.is_finished and not self._is_passing(row)
        )
        for row in _past(finished, now_at, limit):
            self._remove(self._tables.inbound, row.number)
            if self._tables.known.get(row.message.key) == row.number:
                self._remove(self._tables.known, row.message.key)
            if row.offset is not None:
                self._remove(self._tables.inbox, row.offset)
            self._put_forgotten(row.message.pair, row.message.timestamp_at)
            purged += 1
        over = [
            (keep_until_at, key.message_id, key.pair, cancelled_at)
            for key, (cancelled_at, keep_until_at) in self._tables.tombstones.items()
            if keep_until_at is not None and keep_until_at < now_at
        ]
        for _, message_id, pair, cancelled_at in sorted(over)[: limit - purged]:
            self._remove(self._tables.tombstones, MessageKey(*pair, message_id))
            self._put_forgotten(pair, cancelled_at)
            purged += 1
        for passed in _past(self._tables.transits.values(), now_at, limit - purged):
            entry = passed.entry
            self._remove(self._tables.transits, (entry.route_id, entry.key.message_id))
            purged += 1
        return purged

    def _is_passing(self, row: InboundRow) -> bool:
        """Whether something about it may still have to be sent to the previous hop."""
        key = row.message.key
        twin = self._tables.outbound.get(key.message_id)
        is_kept = twin is not None and twin.message.key == key
        return row.status is InboundStatus.FORWARDED and (is_kept or key in self._tables.owed)

    def _put_forgotten(self, pair: Pair, timestamp_at: int) -> None:
        state = self._tables.receiving.get(pair, ReceivingPair())
        newest_at = max(timestamp_at, state.forgotten_at or timestamp_at)
        self._put(self._tables.receiving, pair, changed(state, forgotten_at=newest_at))

    def purge_outbound(self, agreement_id: str, settled_before_at: int, limit: int) -> int:
        settled = [
            (row.settled_at, row.position, message_id)
            for message_id, row in self._tables.outbound.items()
            if row.message.agreement_id == agreement_id
            and row.settled_at is not None
            and row.settled_at < settled_before_at
            and not self.is_recovering(message_id)
            and self._in_turn_with(row.message) != message_id
        ]
        found = sorted(settled)[:limit]
        for _, _, message_id in found:
            self._note_end(message_id, self._tables.outbound[message_id].state.status)
            self._forget_outbound(message_id)
        return len(found)

    def _in_turn_with(self, message: Message) -> str | None:
        """The message that has the turn in the conversation of this one, or blocks it."""
        name = ConversationKey(message.pair, message.conversation_id)
        return self.get_sending_order(name).in_turn

    def _forget_outbound(self, message_id: str) -> None:
        idempotency_key = self._tables.outbound[message_id].idempotency_key
        if idempotency_key is not None and self._tables.keys[idempotency_key] == message_id:
            self._remove(self._tables.keys, idempotency_key)
        self._remove(self._tables.outbound, message_id)
        for table in (self._tables.packages, self._tables.recovery):
            if message_id in table:
                self._remove(table, message_id)

    def add_notice(self, notice: Notice) -> None:
        key = (notice.message_id, notice.kind, notice.episode)
        if key not in self._tables.notices:
            self._put(self._tables.notices, key, (self._next("notice"), notice))

    def open_incident(
        self, role: Role, pair: Pair, reason: str, *, at: int, message_id: str | None = None
    ) -> None:
        same = (role, pair, reason, False)
        if any(_what(row) == same for row in self._open_incidents()):
            return
        incident_id = self._next("incident")
        incident = Incident(incident_id, role, pair, reason, at, None, message_id)
        self._put(self._tables.incidents, incident_id, incident)

    def open_trouble(self, pair: Pair, cause: str, *, at: int) -> None:
        incident = self._find_trouble(pair)
        if incident is None:
            incident_id = self._next("incident")
            incident = Incident(incident_id, Role.SENDER, pair, cause, at, None, is_trouble=True)
        incident = changed(incident, reason=cause)
        self._put(self._tables.incidents, incident.incident_id, incident)

    def resolve_trouble(self, pair: Pair, *, at: int) -> None:
        incident = self._find_trouble(pair)
        if incident is not None:
            resolved = changed(incident, resolved_at=at)
            self._put(self._tables.incidents, incident.incident_id, resolved)

    def _find_trouble(self, pair: Pair) -> Incident | None:
        return next(
            (row for row in self._open_incidents() if row.is_trouble and row.pair == pair), None
        )

    def _open_incidents(self) -> Sequence[Incident]:
        return self.list_incidents(is_open=True)

    def resolve_incidents(
        self, role: Role, pair: Pair, *, at: int, with_parked: bool = False
    ) -> None:
        for row in self._open_incidents():
            if (row.role, row.pair) == (role, pair) and (with_parked or row.message_id is None):
                self._put(self._tables.incidents, row.incident_id, changed(row, resolved_at=at))

    def resolve_parked(self, role: Role, pair: Pair, message_id: str, *, at: int) -> None:
        for row in self._open_incidents():
            if (row.role, row.pair, row.message_id) == (role, pair, message_id):
                self._put(self._tables.incidents, row.incident_id, changed(row, resolved_at=at))

    def resolve_about(self, role: Role, pair: Pair, message_id: str, *, at: int) -> None:
        for row in self._open_incidents():
            is_it = (row.role, row.pair) == (role, pair) and not row.is_trouble
            if is_it and row.reason.endswith(f"({message_id})"):
                self._put(self._tables.incidents, row.incident_id, changed(row, resolved_at=at))

    def resolve_reason(self, role: Role, pair: Pair, reason: str, *, at: int) -> None:
        for row in self._open_incidents():
            is_it = (row.role, row.pair, row.reason) == (role, pair, reason)
            if is_it and not row.is_trouble:
                self._put(self._tables.incidents, row.incident_id, changed(row, resolved_at=at))

    def append(self, records: Iterable[Record]) -> None:
        for record in records:
            seq = self._next("seq")
            before = self._tables.journal.get(seq - 1)
            previous_hash = CHAIN_START if before is None else before.chain_hash
            row = linked(record, seq=seq, store_epoch=self._epoch, previous_hash=previous_hash)
            self._put(self._tables.journal, seq, Record(*row))


_Aged = TypeVar("_Aged", InboundRow, Passing)


def _past(rows: Iterable[_Aged], now_at: int, limit: int) -> list[_Aged]:
    """The rows past their `keep_until_at`, the earliest first."""
    over = [
        (row.keep_until_at, row.number, row)
        for row in rows
        if row.keep_until_at is not None and row.keep_until_at < now_at
    ]
    return [row for _, _, row in sorted(over, key=lambda one: one[:2])[:limit]]


def _what(row: Incident) -> tuple[Role, Pair, str, bool]:
    return row.role, row.pair, row.reason, row.is_trouble
