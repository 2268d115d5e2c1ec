"""Questions to the store of simulations: the contract's `Snapshot` over tables in memory.

Knows which rows answer a question; must not write.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from onceonly.journal.record import Record
from onceonly.message.errors import ErrorCode
from onceonly.message.event import OUTCOMES, Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import Message
from onceonly.message.package import Package
from onceonly.protocol.keeping import may_follow
from onceonly.protocol.outbound import NOT_DELIVERED
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery, RecoveryPhase, ResponseStatus
from onceonly.protocol.relaying import TransitStatus
from onceonly.protocol.sending import Exposure, OutboundStatus
from onceonly.store.contract.counting import COUNTED, COUNTED_AS
from onceonly.store.contract.entries import (
    InboundEntry,
    InboxItem,
    InboxStanding,
    Incident,
    Notice,
    OutboundEntry,
    OutboundView,
    OwedNotice,
    PairView,
    Role,
    StoredPayload,
    TransitEntry,
)
from onceonly.store.contract.store import Snapshot
from onceonly.store.memory.counters import MemoryCounterReading
from onceonly.store.memory.evidence import MemoryEvidenceReading
from onceonly.store.memory.lists import MemoryLists
from onceonly.store.memory.orders import MemoryOrderReading
from onceonly.store.memory.tables import InboundRow, OutboundRow

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py


class MemorySnapshot(
    MemoryLists, MemoryEvidenceReading, MemoryOrderReading, MemoryCounterReading, Snapshot
):
    """Reads over tables."""

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

    def _list_outbound(self, *statuses: OutboundStatus) -> list[OutboundRow]:
        return [row for row in self._tables.outbound.values() if row.state.status in statuses]

    def find_next_queued(self, pair: Pair) -> OutboundEntry | None:
        queued = self._list_outbound(OutboundStatus.QUEUED)
        of_pair = (row for row in queued if row.message.pair == pair and row.awaits_in is None)
        return next((row.entry() for row in of_pair), None)

    def list_in_flight(self) -> Sequence[OutboundEntry]:
        turns = (
            self._tables.outbound.get(message_id)
            for pair in self._tables.sending.values()
            if pair.status is PairStatus.OPEN
            for message_id in pair.in_flight
        )
        in_flight = sorted((row for row in turns if row is not None), key=lambda row: row.position)
        return [row.entry() for row in in_flight]

    def list_unsent(self, agreement_id: str, limit: int) -> Sequence[OutboundEntry]:
        unsent = (
            row
            for row in self._list_outbound(OutboundStatus.FAILED, OutboundStatus.EXPIRED)
            if row.message.agreement_id == agreement_id
            and row.state.is_certain
            and row.state.exposure is Exposure.NEVER
            and row.state.error_code is not ErrorCode.UNKNOWN
            and row.resent_as is None
        )
        return [row.entry() for row in islice(unsent, limit)]

    def count_concerned(self, pair: Pair, since_at: int) -> dict[str, int]:
        return dict(
            Counter(
                row.state.status.value
                for row in self._tables.outbound.values()
                if row.message.pair == pair
                and row.state.status not in (OutboundStatus.ACKNOWLEDGED, OutboundStatus.SENT)
                and (row.settled_at is None or row.settled_at >= since_at)
            )
        )

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
        named = {
            row.message.agreement_id
            for row in outgoing
            if row.settled_at is None or self.is_recovering(row.message.message_id)
        }
        stored = {
            row.message.agreement_id
            for row in self._tables.inbound.values()
            if row.status is InboundStatus.STORED
        }
        return sorted(named | stored)

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
                state.trouble,
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

    def find_inbound_message(self, key: MessageKey) -> Message | None:
        number = self._tables.known.get(key)
        return None if number is None else self._tables.inbound[number].message

    def find_inbound_without_key(self, key: MessageKey) -> InboundEntry | None:
        known = self._tables.known.get(key)
        found = [
            row
            for number, row in self._tables.inbound.items()
            if row.message.key == key and number != known and row.repeats is None
        ]
        return found[-1].entry() if found else None

    def get_response(self, key: MessageKey) -> Package:
        response = self._tables.inbound[self._tables.known[key]].response
        if response is None:
            raise KeyError(key)
        return response

    def list_stored(self) -> Sequence[InboundEntry]:
        return [
            row.entry()
            for row in self._tables.inbound.values()
            if row.status is InboundStatus.STORED and row.parked is None
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
            and row.state.status not in NOT_DELIVERED
        ]
        return found[-1 if is_most_recent else 0] if found else None

    def get_recovery(self, message_id: str) -> Recovery:
        return self._tables.recovery.get(message_id, Recovery())

    def is_recovering(self, message_id: str) -> bool:
        """Whether the message is in recovery, or awaits a response."""
        recovery = self.get_recovery(message_id)
        awaited = recovery.response is ResponseStatus.AWAITED
        return awaited or recovery.phase is not RecoveryPhase.AT_REST

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

    def find_owed_notice(self, key: MessageKey) -> OwedNotice | None:
        return self._tables.owed.get(key)

    def list_owed_notices(self) -> Sequence[OwedNotice]:
        return list(self._tables.owed.values())

    def is_spooled(self, digest: str) -> bool:
        tables = self._tables
        kept = chain(
            *(row.payloads for row in tables.outbound.values()),
            *(row.payloads for row in tables.inbound.values()),
            *(row.payloads for row in tables.transits.values()),
            *(row.staged.payloads for row in tables.job_rows.values() if row.staged is not None),
        )
        return any(one.body is None and one.payload.digest == digest for one in kept)

    def list_inbox(self, after: int, limit: int) -> Sequence[InboxItem]:
        return [row.item() for row in islice(self._handed_over(after), limit)]

    def _handed_over(self, after: int) -> Iterator[InboundRow]:
        offsets = (offset for offset in sorted(self._tables.inbox) if offset > after)
        rows = (self._tables.inbound[self._tables.inbox[offset]] for offset in offsets)
        return (row for row in rows if row.status is InboundStatus.HANDED_OVER)

    def count_offsets(self, after: int, up_to: int) -> int:
        return sum(after < offset <= up_to for offset in self._tables.inbox)

    def last_offset(self) -> int:
        return self._tables.numbers.get("offset", 0)

    def list_unfinished(
        self, after: int, up_to: int, processing: ProcessingState, limit: int
    ) -> Sequence[InboxItem]:
        items = (row.item() for row in self._handed_over(after) if not row.is_refused)
        behind = (
            item
            for item in items
            if item.offset <= up_to and not may_follow(processing, item.processing)
        )
        return list(islice(behind, limit))

    def _item(self, offset: int) -> InboxItem:
        return self._tables.inbound[self._tables.inbox[offset]].item()

    def find_inbox_item(self, offset: int) -> InboxItem | None:
        return self._item(offset) if offset in self._tables.inbox else None

    def list_inbox_offsets(self, message_id: str, limit: int) -> Sequence[int]:
        newest: dict[int, int] = {}
        for offset, number in self._tables.inbox.items():
            row = self._tables.inbound[number]
            if row.message.message_id == message_id:
                first = offset if row.repeats is None else row.repeats.first_offset
                newest[first] = max(newest.get(first, 0), offset)
        return sorted(newest.values())[:limit]

    def find_newest_offset(self, offset: int) -> int | None:
        item = self.find_inbox_item(offset)
        if item is None:
            return None
        first = offset if item.repeats is None else item.repeats.first_offset
        others = ((place, self._item(place).repeats) for place in self._tables.inbox)
        return max(
            (place for place, it in others if it is not None and it.first_offset == first),
            default=None,
        )

    def find_inbox_standing(self, offset: int) -> InboxStanding | None:
        number = self._tables.inbox.get(offset)
        return None if number is None else self._tables.inbound[number].standing()

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

    def list_asked(self, before: int, limit: int) -> Sequence[Record]:
        rows = reversed(self._tables.journal.values())
        asked = (row for row in rows if row.event is Event.ASKED and row.seq < before)
        return list(islice(asked, limit))

    def last_seq(self) -> int:
        return len(self._tables.journal)

    def list_journal_of(self, message_id: str) -> Sequence[Record]:
        return [row for row in self._tables.journal.values() if row.message_id == message_id]

    def list_outcomes(self, message_id: str, limit: int) -> Sequence[Record]:
        told = (
            row
            for row in reversed(self._tables.journal.values())
            if row.message_id == message_id and row.event in OUTCOMES
        )
        return list(islice(told, limit))

    def count_by_status(self) -> dict[str, int]:
        counts = dict.fromkeys(COUNTED, 0)
        for outgoing in self._tables.outbound.values():
            counts[outgoing.state.status] += 1
        for incoming in self._tables.inbound.values():
            counts[COUNTED_AS[incoming.status]] += 1
        return counts
