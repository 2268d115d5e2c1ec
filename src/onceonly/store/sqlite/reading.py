"""Questions to the SQLite store: the contract's `Snapshot`.

Knows which named query answers which question; must not write. Each question is answered from one
statement or from rows that never change, so no read transaction stays open, which would keep a
checkpoint from finishing (fault D9).
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py

from collections.abc import Sequence

from onceonly.journal.record import Record
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import Message
from onceonly.message.package import Package
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery
from onceonly.store.contract.counting import COUNTED
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
    StoredPayload,
    TransitEntry,
)
from onceonly.store.contract.store import Snapshot
from onceonly.store.sqlite import mapping
from onceonly.store.sqlite.agreements import SqliteAgreementReading
from onceonly.store.sqlite.alerts import SqliteAlertReading
from onceonly.store.sqlite.api_keys import SqliteKeyReading
from onceonly.store.sqlite.bulk import SqliteBulkReading
from onceonly.store.sqlite.counter_reading import SqliteCounterReading
from onceonly.store.sqlite.evidence import SqliteEvidenceReading
from onceonly.store.sqlite.forgetting import SqlitePurgePreview
from onceonly.store.sqlite.job_reading import SqliteJobReading
from onceonly.store.sqlite.lists import SqliteLists
from onceonly.store.sqlite.orders import SqliteOrderReading
from onceonly.store.sqlite.webhooks import SqliteWebhookReading


class SqliteSnapshot(
    SqliteLists,
    SqliteAgreementReading,
    SqliteAlertReading,
    SqliteBulkReading,
    SqliteCounterReading,
    SqliteJobReading,
    SqliteKeyReading,
    SqliteEvidenceReading,
    SqliteOrderReading,
    SqlitePurgePreview,
    SqliteWebhookReading,
    Snapshot,
):
    """Reads over one connection, used by one thread at a time."""

    def find_outbound(self, message_id: str) -> OutboundEntry | None:
        row = self._get("find_outbound", message_id)
        return None if row is None else mapping.to_outbound_entry(row)

    def find_outbound_view(self, message_id: str) -> OutboundView | None:
        row = self._get("find_outbound_view", message_id)
        return None if row is None else mapping.to_outbound_view(row)

    def find_message_id_by_key(self, idempotency_key: str) -> str | None:
        found: str | None = self._get("find_message_id_by_key", idempotency_key)
        return found

    def get_package(self, message_id: str) -> Package:
        row = self._get("get_package", message_id)
        if row is None:
            raise KeyError(message_id)
        return mapping.to_package(row)

    def list_payloads(self, message_id: str) -> Sequence[StoredPayload]:
        return self._payloads(self._get("list_payloads", message_id), "list_outbound_bodies")

    def find_next_queued(self, pair: Pair) -> OutboundEntry | None:
        row = self._get("find_next_queued", *pair)
        return None if row is None else mapping.to_outbound_entry(row)

    def list_in_flight(self) -> Sequence[OutboundEntry]:
        return [mapping.to_outbound_entry(row) for row in self._list("list_in_flight")]

    def list_unsent(self, agreement_id: str, limit: int) -> Sequence[OutboundEntry]:
        found = self._list("list_unsent", agreement_id, limit)
        return [mapping.to_outbound_entry(row) for row in found]

    def count_concerned(self, pair: Pair, since_at: int) -> dict[str, int]:
        return dict(self._list("count_concerned", *pair, since_at))

    def list_waiting_pairs(self) -> Sequence[Pair]:
        return [Pair(*row) for row in self._list("list_waiting_pairs")]

    def list_overdue(self, now_at: int, limit: int) -> Sequence[OutboundEntry]:
        return [mapping.to_outbound_entry(row) for row in self._list("list_overdue", now_at, limit)]

    def list_unsettled_agreements(self) -> Sequence[str]:
        return [row[0] for row in self._list("list_unsettled_agreements")]

    def get_sending_pair(self, pair: Pair) -> SendingPair:
        row = self._get("get_sending_pair", *pair)
        return SendingPair() if row is None else mapping.to_sending_pair(row)

    def list_idle_pairs(self, before_at: int) -> Sequence[Pair]:
        return [Pair(*row) for row in self._list("list_idle_pairs", before_at)]

    def get_receiving_pair(self, pair: Pair) -> ReceivingPair:
        row = self._get("get_receiving_pair", *pair)
        return ReceivingPair() if row is None else mapping.to_receiving_pair(row)

    def list_pairs(self) -> Sequence[PairView]:
        return [mapping.to_pair_view(row) for row in self._list("list_pairs")]

    def find_inbound(self, key: MessageKey) -> InboundEntry | None:
        row = self._get("find_inbound", key.message_id, key.from_party, key.to_party)
        return None if row is None else mapping.to_inbound_entry(row)

    def find_inbound_without_key(self, key: MessageKey) -> InboundEntry | None:
        row = self._get("find_inbound_without_key", key.message_id, *key.pair)
        return None if row is None else mapping.to_inbound_entry(row)

    def find_inbound_message(self, key: MessageKey) -> Message | None:
        row = self._get("find_inbound_message", key.message_id, key.from_party, key.to_party)
        return None if row is None else mapping.to_message(row[0], row[1], row[2:])

    def get_response(self, key: MessageKey) -> Package:
        row = self._get("get_response", key.message_id, key.from_party, key.to_party)
        if row is None:
            raise KeyError(key)
        return mapping.to_package(row)

    def list_stored(self) -> Sequence[InboundEntry]:
        return [mapping.to_inbound_entry(row) for row in self._list("list_stored")]

    def is_cancelled(self, key: MessageKey) -> bool:
        found = self._get("is_cancelled", key.message_id, key.from_party, key.to_party)
        return found is not None

    def find_response(
        self, ref_to_message_id: str, to_party: str, *, is_most_recent: bool = False
    ) -> str | None:
        query = "find_last_response" if is_most_recent else "find_first_response"
        found: str | None = self._get(query, ref_to_message_id, to_party)
        return found

    def get_recovery(self, message_id: str) -> Recovery:
        row = self._get("get_recovery", message_id)
        return Recovery() if row is None else mapping.to_recovery(row)

    def list_recovering(self) -> Sequence[str]:
        return [row[0] for row in self._list("list_recovering")]

    def list_responses_due(self, now_at: int, limit: int) -> Sequence[str]:
        return [row[0] for row in self._list("list_responses_due", now_at, limit)]

    def find_transit(self, route_id: str, message_id: str) -> TransitEntry | None:
        row = self._get("find_transit", message_id, route_id)
        return None if row is None else mapping.to_transit_entry(row)

    def get_transit_package(self, route_id: str, message_id: str) -> Package:
        row = self._get("get_transit_package", message_id, route_id)
        if row is None:
            raise KeyError((route_id, message_id))
        return mapping.to_package(row)

    def list_transit_payloads(self, route_id: str, message_id: str) -> Sequence[StoredPayload]:
        row = self._get("list_transit_payloads", message_id, route_id)
        return self._payloads(row, "list_transit_bodies")

    def list_forwarding(self) -> Sequence[TransitEntry]:
        return [mapping.to_transit_entry(row) for row in self._list("list_forwarding")]

    def find_owed_notice(self, key: MessageKey) -> OwedNotice | None:
        row = self._get("find_owed_notice", key.message_id, *key.pair)
        return None if row is None else mapping.to_owed_notice(row)

    def list_owed_notices(self) -> Sequence[OwedNotice]:
        return [mapping.to_owed_notice(row) for row in self._list("list_owed_notices")]

    def is_spooled(self, digest: str) -> bool:
        return self._get("is_spooled", digest) is not None

    def list_inbox(self, after: int, limit: int) -> Sequence[InboxItem]:
        return [mapping.to_inbox_item(row) for row in self._list("list_inbox", after, limit)]

    def find_inbox_item(self, offset: int) -> InboxItem | None:
        row = self._get("find_inbox_item", offset)
        return None if row is None else mapping.to_inbox_item(row)

    def list_inbox_offsets(self, message_id: str, limit: int) -> Sequence[int]:
        return [offset for (offset,) in self._list("list_inbox_offsets", message_id, limit)]

    def find_newest_offset(self, offset: int) -> int | None:
        found: int | None = self._get("find_newest_offset", offset)
        return found

    def count_offsets(self, after: int, up_to: int) -> int:
        found: int = self._get("count_offsets", after, up_to)
        return found

    def last_offset(self) -> int:
        found: int = self._get("get_last_offset")
        return found

    def list_unfinished(
        self, after: int, up_to: int, processing: ProcessingState, limit: int
    ) -> Sequence[InboxItem]:
        query = (
            "list_not_started" if processing is ProcessingState.IN_PROGRESS else "list_not_complete"
        )
        return [mapping.to_inbox_item(row) for row in self._list(query, after, up_to, limit)]

    def find_inbox_standing(self, offset: int) -> InboxStanding | None:
        row = self._get("find_inbox_standing", offset)
        return None if row is None else mapping.to_inbox_standing(row)

    def list_inbox_payloads(self, offset: int) -> Sequence[StoredPayload]:
        return self._payloads(self._get("list_inbox_payloads", offset), "list_inbound_bodies")

    def list_notices(self, after: int, limit: int) -> Sequence[tuple[int, Notice]]:
        return [mapping.to_notice(row) for row in self._list("list_notices", after, limit)]

    def list_incidents(self, *, is_open: bool) -> Sequence[Incident]:
        query = "list_open_incidents" if is_open else "list_incidents"
        return [mapping.to_incident(row) for row in self._list(query)]

    def list_journal(self, after: int, limit: int) -> Sequence[Record]:
        return [mapping.to_record(row) for row in self._list("list_journal", after, limit)]

    def list_asked(self, before: int, limit: int) -> Sequence[Record]:
        return [mapping.to_record(row) for row in self._list("list_asked", before, limit)]

    def last_seq(self) -> int:
        found: tuple[int, str] | None = self._get("get_journal_end")
        return 0 if found is None else found[0]

    def list_journal_of(self, message_id: str) -> Sequence[Record]:
        return [mapping.to_record(row) for row in self._list("list_journal_of", message_id)]

    def list_outcomes(self, message_id: str, limit: int) -> Sequence[Record]:
        return [mapping.to_record(row) for row in self._list("list_outcomes", message_id, limit)]

    def count_by_status(self) -> dict[str, int]:
        return dict(zip(COUNTED, self._get("count_by_status"), strict=True))
