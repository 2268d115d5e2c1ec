"""What gateways do to a store, in seeded disorder: steps for any store that keeps the contract.

Knows when which writes of the contract are legal; must not know how a store keeps them, or what a
disk does to them. Every kind of row is written, changed and forgotten. `answers` asks a store about
everything that was written, so that two stores can be compared by a digest.
"""

from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from random import Random
from typing import Any

from onceonly.journal.record import Record, chain
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, Pair, PartyId
from onceonly.message.message import DeliverySemantics, Message, Payload
from onceonly.message.package import Package
from onceonly.message.word import Word, changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery, RecoveryPhase
from onceonly.protocol.relaying import Transit, TransitStatus
from onceonly.protocol.sending import Outbound, OutboundStatus
from onceonly.store.contract.entries import (
    MessageFilter,
    Notice,
    OwedNotice,
    Role,
    StoredPayload,
    TransitEntry,
)
from onceonly.store.contract.store import Snapshot, Transaction

PARTY = "urn:duns:111111111"
_US = PartyId(PARTY)
_THEM = (PartyId("seller@example.com", "email"), PartyId("urn:duns:333333333"))
_AGREEMENTS = ("tpa-1", "tpa-2")
_ALL = 1 << 30
_BODY_BYTES_MAX = 6_000
"""More than one page of the database."""
_ROUTE = "route-1"

Write = Callable[[Transaction], None]


class Step(Word):
    """One step, and what it keeps in the spool before it."""

    write: Write
    spooled: bytes | None = None


class Steps:
    """Makes steps that follow on one another, whatever became of the ones before.

    A step looks into the transaction before it writes, as the gateway's do.
    """

    def __init__(self, chance: Random, *, spooled_bytes: int) -> None:
        self._chance = chance
        self._spooled_bytes = spooled_bytes
        self._made = 0
        self.names: list[str] = []
        """Every MessageId that was ever used."""
        self._kinds = (
            self._submit,
            self._submit,
            self._go_on,
            self._go_on,
            self._receive,
            self._receive,
            self._hand_over,
            self._cancel,
            self._recover,
            self._pass_on,
            self._notify,
            self._purge,
        )

    def next(self) -> Step:
        """The next step."""
        return self._chance.choice(self._kinds)()

    def _new_name(self) -> str:
        self._made += 1
        self.names.append(f"m-{self._made}@buyer")
        return self.names[-1]

    def _old_name(self) -> str:
        return self._chance.choice(self.names or ["nobody's"])

    def _payload(self) -> tuple[StoredPayload, bytes | None]:
        is_spooled = self._chance.random() < 0.1
        size_bytes = self._spooled_bytes if is_spooled else self._chance.randrange(_BODY_BYTES_MAX)
        body = self._chance.randbytes(size_bytes)
        described = Payload("part@buyer", "application/xml", size_bytes, sha256(body).hexdigest())
        if is_spooled:
            return StoredPayload(described, None), body
        return StoredPayload(described, body), None

    def _message(self, *payloads: StoredPayload) -> Message:
        return Message(
            message_id=self._new_name(),
            from_ids=(_US, PartyId("buyer", "name")),
            to_ids=(self._chance.choice(_THEM),),
            agreement_id=self._chance.choice(_AGREEMENTS),
            conversation_id=f"c-{self._chance.randrange(3)}",
            service="Orders",
            action="NewOrder",
            timestamp_at=self._made,
            semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
            payloads=tuple(part.payload for part in payloads),
        )

    def _package(self) -> Package:
        return Package("multipart/related", (self._chance.randbytes(700), b"\r\n--b--"))

    def _submit(self) -> Step:
        payload, spooled = self._payload()
        message, package = self._message(payload), self._package()
        state = Outbound(OutboundStatus.SENDING, attempt=1, sequence_number=self._made)
        pair = SendingPair(sequence_number=self._made, in_flight=(message.message_id,))

        def write(transaction: Transaction) -> None:
            transaction.add_outbound(
                message,
                state,
                (payload,),
                digest=sha256(message.message_id.encode()).hexdigest(),
                submitted_at=message.timestamp_at,
                idempotency_key=f"key-{message.message_id}",
            )
            transaction.put_package(message.message_id, package)
            transaction.put_sending_pair(message.pair, pair, at=message.timestamp_at)
            transaction.append([journal_row(Event.SUBMITTED, message.message_id)])

        return Step(write, spooled)

    def _go_on(self) -> Step:
        name, at = self._old_name(), self._made
        status = self._chance.choice(
            (OutboundStatus.ACKNOWLEDGED, OutboundStatus.ACKNOWLEDGED, OutboundStatus.IN_DOUBT)
        )

        def write(transaction: Transaction) -> None:
            entry = transaction.find_outbound(name)
            if entry is None:
                return
            state = changed(entry.state, status=status, attempt=entry.state.attempt + 1)
            transaction.put_outbound(name, state, at=at)
            pair = transaction.get_sending_pair(entry.pair)
            transaction.put_sending_pair(entry.pair, changed(pair, in_flight=()), at=at)
            transaction.append(
                [journal_row(Event.ACK_RECEIVED, name), journal_row(Event.TRANSMITTED, name)]
            )

        return Step(write)

    def _receive(self) -> Step:
        payload, spooled = self._payload()
        message, response = self._message(payload), self._package()
        keep_until_at = self._chance.choice((None, message.timestamp_at + 5))

        def write(transaction: Transaction) -> None:
            transaction.add_inbound(
                message,
                (payload,),
                response,
                digest=sha256(message.message_id.encode()).hexdigest(),
                received_at=message.timestamp_at,
                keep_until_at=keep_until_at,
            )
            transaction.put_receiving_pair(
                message.pair, ReceivingPair(sequence_number=message.timestamp_at)
            )
            transaction.append([journal_row(Event.STORED, message.message_id)])

        return Step(write, spooled)

    def _hand_over(self) -> Step:
        at = self._made

        def write(transaction: Transaction) -> None:
            for entry in transaction.list_stored()[:2]:
                offset = transaction.hand_over(entry.key, at=at)
                transaction.put_processing(offset, ProcessingState.COMPLETE)
                transaction.append([journal_row(Event.HANDED_OVER, entry.key.message_id)])

        return Step(write)

    def _cancel(self) -> Step:
        name, at = self._old_name(), self._made
        key = MessageKey(PARTY, str(self._chance.choice(_THEM)), name)

        def write(transaction: Transaction) -> None:
            entry = transaction.find_inbound(key)
            if entry is None or entry.status is InboundStatus.STORED:
                transaction.cancel_inbound(key, at=at, keep_until_at=at + 9)
                transaction.append([journal_row(Event.CANCELLED, name)])

        return Step(write)

    def _recover(self) -> Step:
        name = self._old_name()
        asked = self._chance.randrange(1, 4)

        def write(transaction: Transaction) -> None:
            if transaction.find_outbound(name) is not None:
                recovery = Recovery(RecoveryPhase.CANCELLING, asked, inquiry_id=f"i-{asked}")
                transaction.put_recovery(name, recovery)

        return Step(write)

    def _pass_on(self) -> Step:
        payload, spooled = self._payload()
        message, package = self._message(payload), self._package()
        entry = TransitEntry(
            message.key, _ROUTE, "http://up/", "tpa-1", "c-1", None, "d" * 64, 2, Transit()
        )
        old_name = self._old_name()
        keep_until_at = self._made + 9

        def write(transaction: Transaction) -> None:
            transaction.add_transit(entry, package, (payload,), keep_until_at=keep_until_at)
            before = transaction.find_transit(_ROUTE, old_name)
            if before is not None:
                done = Transit(TransitStatus.ACKNOWLEDGED, before.state.copies + 1)
                transaction.put_transit(changed(before, state=done))

        return Step(write, spooled)

    def _notify(self) -> Step:
        name, at = self._old_name(), self._made
        pair = Pair(PARTY, str(self._chance.choice(_THEM)))
        key = MessageKey(*pair, name)
        is_paid = self._chance.random() < 0.5

        def write(transaction: Transaction) -> None:
            kind = NoticeKind.DELIVERY_FAILURE
            code = ErrorCode.DELIVERY_FAILURE
            transaction.add_notice(Notice(name, kind, Severity.WARNING, code, "late", 1, at))
            transaction.open_incident(Role.SENDER, pair, "exhausted", at=at)
            if is_paid:
                transaction.resolve_incidents(Role.SENDER, pair, at=at)
                transaction.remove_owed_notice(key)
            else:
                semantics = DeliverySemantics.ONCE_AND_ONLY_ONCE
                owed = OwedNotice(key, "tpa-1", "c-1", semantics, Severity.ERROR, "hop", at)
                transaction.put_owed_notice(owed)

        return Step(write)

    def _purge(self) -> Step:
        agreement, at = self._chance.choice(_AGREEMENTS), self._made

        def write(transaction: Transaction) -> None:
            forgotten = transaction.purge_outbound(agreement, at, 3)
            forgotten += transaction.purge_inbound(at, 3)
            transaction.append([journal_row(Event.PURGED, None, reason=str(forgotten))])

        return Step(write)


def journal_row(event: Event, name: str | None, **columns: Any) -> Record:
    """A row as a step writes it."""
    return changed(Record(PARTY, event, 4_000_000, 17, Direction.OUT, message_id=name), **columns)


def answers(snapshot: Snapshot, names: list[str]) -> str:
    """Digest of everything that can be asked; equal for equal stores.

    A name that the store has not heard of makes no difference.

    Raises `ChainBrokenError` where the journal does not hold together (E3).
    """
    page = snapshot.list_messages(MessageFilter(limit=_ALL))
    found: list[Any] = [
        list(page.messages),
        list(snapshot.list_pairs()),
        list(snapshot.list_stored()),
        list(snapshot.list_inbox(0, _ALL)),
        list(snapshot.list_notices(0, _ALL)),
        list(snapshot.list_incidents(is_open=False)),
        list(snapshot.list_owed_notices()),
        list(snapshot.list_forwarding()),
        list(snapshot.list_recovering()),
        _journal(snapshot),
        sorted(snapshot.count_by_status().items()),
    ]
    for them in _THEM:
        pair = Pair(PARTY, str(them))
        found += [snapshot.get_sending_pair(pair), snapshot.get_receiving_pair(pair)]
    for item in snapshot.list_inbox(0, _ALL):
        found.append(list(snapshot.list_inbox_payloads(item.offset)))
    unheard_of = _about(snapshot, "")
    for name in names:
        about = _about(snapshot, name)
        if about != unheard_of:
            found += [name, *about]
    return sha256(repr(found).encode()).hexdigest()


class ChainBrokenError(Exception):
    """A journal row does not follow from the one before."""


def _journal(snapshot: Snapshot) -> list[Record]:
    records = list(snapshot.list_journal(0, _ALL))
    for before, record in pairwise(records):
        if record.seq != before.seq + 1 or record.chain_hash != chain(before.chain_hash, record):
            raise ChainBrokenError(str(record.seq))
    return records


def _about(snapshot: Snapshot, name: str) -> list[Any]:
    found: list[Any] = [
        snapshot.find_outbound(name),
        list(snapshot.list_payloads(name)),
        snapshot.find_message_id_by_key(f"key-{name}"),
        snapshot.get_recovery(name),
        snapshot.find_transit(_ROUTE, name),
        list(snapshot.list_transit_payloads(_ROUTE, name)),
        _or_none(snapshot.get_package, name),
        _or_none(snapshot.get_transit_package, _ROUTE, name),
    ]
    for them in _THEM:
        key = MessageKey(PARTY, str(them), name)
        found += [
            snapshot.find_inbound(key),
            snapshot.find_inbound_message(key),
            snapshot.is_cancelled(key),
            _or_none(snapshot.get_response, key),
        ]
    return found


def _or_none(ask: Callable[..., Package], *key: Any) -> Package | None:
    try:
        return ask(*key)
    except KeyError:
        return None
