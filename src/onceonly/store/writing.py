"""The write transaction of the SQLite store: the contract's `Transaction`.

Knows in which tables a step's changes go; must not begin, commit or roll back, which is the
store's. What is counted over a whole transaction (messages per status, inbox offsets) is kept in
memory and written once, by `flush`, just before the commit.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from onceonly.journal.record import Record, chain
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import Message
from onceonly.message.package import Package
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.sending import FINAL, Outbound
from onceonly.store import rows
from onceonly.store.failures import from_sqlite
from onceonly.store.queries import SQL
from onceonly.store.reading import SqliteSnapshot
from onceonly.store.spool import INLINE_BYTES_MAX
from onceonly.store.store import Notice, OutboundEntry, Role, StoredPayload, Transaction

_NO_RESPONSE = (None, None, None)


class SqliteTransaction(SqliteSnapshot, Transaction):
    """One write transaction, on the one writer connection."""

    def __init__(
        self, connection: apsw.Connection, *, epoch: int, journal_seq: int, chain_hash: str
    ) -> None:
        super().__init__(connection)
        self._connection = connection
        self._epoch = epoch
        self.journal_seq = journal_seq
        """Last `seq` given, this transaction's rows included."""
        self.chain_hash = chain_hash
        self._changes_before = connection.total_changes()
        self._last_offset: int | None = None
        self._counted: dict[str, int] = {}
        self._known: dict[str, tuple[int, str]] = {}
        """(position, status) of the outbound messages that this transaction has looked at."""

    @property
    def write_count(self) -> int:
        return self._connection.total_changes() - self._changes_before

    def _write(self, query: str, *bindings: Any) -> None:
        try:
            self._cursor.execute(SQL[query], bindings)
        except apsw.Error as error:
            raise from_sqlite(error) from error

    def find_outbound(self, message_id: str) -> OutboundEntry | None:
        row = self._get("find_outbound", message_id)
        if row is None:
            return None
        self._known[message_id] = (row[0], row[5])
        return rows.to_outbound_entry(row)

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
        self._write(
            "add_outbound",
            message.message_id,
            *message.pair,
            message.agreement_id,
            *state,
            settled_at,
        )
        position = self._connection.last_insert_rowid()
        self._write(
            "add_outbound_message", position, *rows.from_message(message), digest, submitted_at
        )
        self._add_bodies("add_outbound_body", position, message, payloads)
        if idempotency_key is not None:
            self._write("add_idempotency_key", idempotency_key, message.message_id)
        self._known[message.message_id] = (position, state.status)
        self._count(state.status, 1)

    def _add_bodies(
        self, query: str, position: int, message: Message, payloads: Sequence[StoredPayload]
    ) -> None:
        assert len(payloads) == len(message.payloads), "one stored payload for each described one"
        for number, (_, body) in enumerate(payloads):
            if body is not None:
                assert len(body) <= INLINE_BYTES_MAX, "a body of this size belongs into the spool"
                self._write(query, rows.place(position, number), body)

    def put_outbound(self, message_id: str, state: Outbound, *, at: int) -> None:
        position, status_before = self._position_of(message_id)
        settled_at = at if state.status in FINAL else None
        self._write("put_outbound", *state, settled_at, position)
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

    def put_package(self, message_id: str, package: Package) -> None:
        position, _ = self._position_of(message_id)
        self._write("put_package", position, *rows.from_package(package))

    def put_sending_pair(self, pair: Pair, state: SendingPair) -> None:
        self._write("put_sending_pair", *pair, *state)

    def put_receiving_pair(self, pair: Pair, state: ReceivingPair) -> None:
        self._write("put_receiving_pair", *pair, *state)

    def add_inbound(
        self,
        message: Message,
        payloads: Sequence[StoredPayload],
        response: Package | None,
        *,
        digest: str,
        received_at: int,
    ) -> None:
        key = message.key
        names = (key.message_id, key.from_party, key.to_party)
        self._write("add_inbound", *names, message.agreement_id, digest, received_at)
        position = self._connection.last_insert_rowid()
        self._write("add_inbound_key", *names, position)
        answer = _NO_RESPONSE if response is None else rows.from_package(response)
        self._write("add_inbound_message", position, *rows.from_message(message), *answer)
        self._add_bodies("add_inbound_body", position, message, payloads)
        self._count(InboundStatus.STORED, 1)

    def hand_over(self, key: MessageKey, *, at: int) -> int:
        position, offset = self._inbound_position(key)
        if offset is not None:
            return offset
        offset = self._next_offset()
        self._write("hand_over", offset, at, position)
        self._count(InboundStatus.STORED, -1)
        self._count(InboundStatus.HANDED_OVER, 1)
        return offset

    def _inbound_position(self, key: MessageKey) -> tuple[int, int | None]:
        row: tuple[int, int | None] | None = self._get(
            "find_inbound_position", key.message_id, key.from_party, key.to_party
        )
        assert row is not None, f"no inbound message {key}"
        return row

    def _next_offset(self) -> int:
        # Taken from the store's own row, not from the inbox: a purge must not free offsets.
        last: int = self._get("get_last_offset") if self._last_offset is None else self._last_offset
        self._last_offset = last + 1
        return self._last_offset

    def put_processing(self, key: MessageKey, processing: ProcessingState) -> None:
        position, _ = self._inbound_position(key)
        self._write("put_processing", processing, position)

    def add_notice(self, notice: Notice) -> None:
        self._write("add_notice", *notice)

    def open_incident(self, role: Role, pair: Pair, reason: str, *, at: int) -> None:
        self._write("open_incident", role, *pair, reason, at)

    def resolve_incidents(self, role: Role, pair: Pair, *, at: int) -> None:
        self._write("resolve_incidents", at, role, *pair)

    def append(self, records: Iterable[Record]) -> None:
        for record in records:
            seq = self.journal_seq + 1
            numbered = Record._make((*record[:-3], seq, self._epoch, ""))
            chain_hash = chain(self.chain_hash, numbered)
            self._write("append", *numbered[:-1], chain_hash)
            self.journal_seq, self.chain_hash = seq, chain_hash

    def count_by_status(self) -> dict[str, int]:
        counts = super().count_by_status()
        for word, change in self._counted.items():
            counts[word] += change
        return counts

    def _count(self, word: str, change: int) -> None:
        self._counted[word] = self._counted.get(word, 0) + change

    def flush(self) -> None:
        """Write what was counted; the store calls it once, just before the commit."""
        for word, change in self._counted.items():
            if change:
                self._write("count_more", word, change)
        self._counted.clear()
        if self._last_offset is not None:
            self._write("put_last_offset", self._last_offset)
