"""Journals made to measure: what two gateways would have written, and what they must never write.

`Ledger` numbers and chains rows as a store does. `Exchange` writes both halves of a message;
each of its verbs is one fate, and `PLANTS` has one for every verdict.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from msgspec.structs import asdict

from onceonly.journal.record import (
    CHAIN_START,
    COLUMNS,
    SCHEMA_VERSION,
    Record,
    chain,
    younger_than,
)
from onceonly.journal.segment import SEGMENT_SCHEMA, segment_name, to_parquet
from onceonly.lake.verdicts import Verdict
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.word import changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.events import Settlement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

BUYER, SELLER = "urn:duns:111111111", "urn:duns:222222222"
DAWN = 1_760_000_000_000_000
"""First instant of every journal here, in microseconds UTC."""
SECOND = 1_000_000
MUCH_LATER = DAWN + 30 * 86_400 * SECOND
"""An instant of judgement at which every grace is over."""


@dataclass
class Ledger:
    """One party's journal."""

    party: str
    records: list[Record] = field(default_factory=list)
    epoch: int = 1

    def write(self, event: Event, at: int, **columns: Any) -> None:
        """Append a row, numbered and chained."""
        previous = self.records[-1].chain_hash if self.records else CHAIN_START
        row = Record(
            self.party,
            event,
            at,
            at * 1_000,
            seq=len(self.records) + 1,
            store_epoch=self.epoch,
            **columns,
        )
        self.records.append(changed(row, chain_hash=chain(previous, row)))

    def restart(self, at: int) -> None:
        """A crash and a new opening of the store."""
        self.epoch += 1
        self.write(Event.STARTED, at)


def digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@dataclass
class Exchange:
    """Two ledgers and a clock; one direction of traffic, from `sender` to `receiver`."""

    sender: Ledger
    receiver: Ledger
    now: int = DAWN
    number: int = 0

    def key(self, message_id: str) -> dict[str, Any]:
        return {
            "from_party": self.sender.party,
            "to_party": self.receiver.party,
            "message_id": message_id,
            "agreement_id": "tpa-1",
        }

    def out(self, event: Event, message_id: str, after_ms: int = 5, **columns: Any) -> None:
        self.now += after_ms * 1_000
        columns = {"direction": Direction.OUT, **self.key(message_id), **columns}
        self.sender.write(event, self.now, **columns)

    def into(self, event: Event, message_id: str, after_ms: int = 5, **columns: Any) -> None:
        self.now += after_ms * 1_000
        columns = {"direction": Direction.IN, **self.key(message_id), **columns}
        self.receiver.write(event, self.now, **columns)

    def of_pair(self, event: Event, **columns: Any) -> None:
        """A row of the sender's about the pair and no message."""
        self.now += 5_000
        pair = {"from_party": self.sender.party, "to_party": self.receiver.party}
        self.sender.write(event, self.now, direction=Direction.OUT, **pair, **columns)

    def header(self, message_id: str, size_bytes: int = 4_096) -> dict[str, Any]:
        return {
            "conversation_id": f"conversation-{message_id}",
            "service": "urn:services:ordering",
            "action": "Order" if self.sender.party == BUYER else "OrderResponse",
            "profile": "rm-2000",
            "semantics": "OnceAndOnlyOnce",
            "size_bytes": size_bytes,
            "digest": digest_of(message_id),
            "header_digest": digest_of(f"header of {message_id}"),
        }

    def submit(self, message_id: str, **columns: Any) -> None:
        self.out(Event.SUBMITTED, message_id, **{**self.header(message_id), **columns})
        self.number += 1

    def send(self, message_id: str, attempt: int = 1, outcome: str | None = "accepted") -> None:
        """One transmission; `outcome` None is a crash before its end."""
        row = {"attempt": attempt, "sequence_number": self.number}
        self.out(Event.TRANSMITTING, message_id, **row)
        if outcome is not None:
            status = {"accepted": 200, "refused": 503}.get(outcome)
            self.out(
                Event.TRANSMITTED,
                message_id,
                **row,
                outcome=outcome,
                status_code=status,
                transport="http",
            )

    def store(self, message_id: str, **columns: Any) -> None:
        row = {**self.header(message_id), "sequence_number": self.number, **columns}
        self.into(Event.STORED, message_id, **row)

    def answer(self, message_id: str, outcome: str = "accepted") -> None:
        self.into(Event.ACK_SENT, message_id, outcome=outcome)

    def hand_over(self, message_id: str, **columns: Any) -> None:
        self.into(Event.HANDED_OVER, message_id, **{"digest": digest_of(message_id), **columns})

    def repeat(self, message_id: str, outcome: str = "accepted") -> None:
        self.into(Event.DUPLICATE_ELIMINATED, message_id, sequence_number=self.number)
        self.answer(message_id, outcome)

    def arrive(self, message_id: str, outcome: str = "accepted") -> None:
        self.store(message_id)
        self.answer(message_id, outcome)
        self.hand_over(message_id)

    def ack(self, message_id: str, event: Event = Event.ACK_RECEIVED, after_ms: int = 20) -> None:
        self.out(event, message_id, after_ms)

    def tell(self, message_id: str, severity: Severity = Severity.WARNING) -> None:
        """The application is told that the retries are used up."""
        code = ErrorCode.DELIVERY_FAILURE
        self.out(Event.EXHAUSTED, message_id, error_code=code)
        self.out(
            Event.NOTIFIED,
            message_id,
            error_code=code,
            severity=severity,
            reason="DeliveryFailure",
        )

    # The fates.

    def matched(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id)
        self.arrive(message_id)
        self.ack(message_id)

    def matched_after_lost_ack(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id, outcome="unknown")
        self.arrive(message_id)
        self.now += 3 * SECOND
        self.send(message_id, 2)
        self.repeat(message_id)
        self.ack(message_id)

    def matched_after_lost_message(self, message_id: str, losses: int = 1) -> None:
        self.submit(message_id)
        for attempt in range(1, losses + 1):
            self.send(message_id, attempt, "unknown")
            self.now += 3 * SECOND
        self.send(message_id, losses + 1)
        self.arrive(message_id)
        self.ack(message_id)

    def matched_doubled(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id)
        self.arrive(message_id)
        self.repeat(message_id)
        self.ack(message_id)
        self.ack(message_id, Event.REPEATED_ACK_RECEIVED)

    def matched_through_crash(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id, outcome=None)
        self.now += SECOND
        self.sender.restart(self.now)
        self.send(message_id)
        self.arrive(message_id)
        self.ack(message_id)

    def matched_late(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id, outcome="unknown")
        self.arrive(message_id, outcome="unknown")
        self.tell(message_id)
        self.ack(message_id, Event.LATE_ACK_RECEIVED)
        self.out(Event.NOTIFIED, message_id, severity=Severity.WARNING, reason="AcknowledgedLate")

    def given_up(self, message_id: str) -> None:
        """Sent, and nobody answered: the sender does not know."""
        self.submit(message_id)
        self.send(message_id, outcome="unknown")
        self.tell(message_id)

    def failed_but_delivered(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id, outcome="unknown")
        self.arrive(message_id, outcome="unknown")
        self.tell(message_id)

    def failed_not_delivered(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id, outcome="refused")
        self.tell(message_id, Severity.ERROR)
        self.out(Event.FAILED, message_id, error_code=ErrorCode.DELIVERY_FAILURE)

    def settle(self, message_id: str, word: Settlement) -> None:
        """An operator ends a doubt, and the application is told (R-49)."""
        self.out(Event.SETTLED, message_id, outcome=word.value, reason="they say so", actor="ops")
        self.out(Event.NOTIFIED, message_id, reason=NoticeKind.SETTLED_BY_OPERATOR.value)

    def settled_rightly(self, message_id: str) -> None:
        self.failed_but_delivered(message_id)
        self.settle(message_id, Settlement.DELIVERED)

    def settled_wrongly(self, message_id: str) -> None:
        self.failed_but_delivered(message_id)
        self.settle(message_id, Settlement.NOT_DELIVERED)

    def ack_lost(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id, outcome="unknown")
        self.arrive(message_id, outcome="unknown")

    def sent_not_received(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id)

    def received_not_sent(self, message_id: str) -> None:
        self.arrive(message_id)

    def acked_not_stored(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id)
        self.ack(message_id)

    def acked_without_evidence(self, message_id: str) -> None:
        """A signed acknowledgement was asked for, and the sender keeps none."""
        self.submit(message_id, ack_requested="Signed")
        self.send(message_id)
        self.arrive(message_id)
        self.ack(message_id)

    def not_delivered_to_app(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id)
        self.store(message_id)
        self.answer(message_id)
        self.ack(message_id)

    def delivered_twice(self, message_id: str) -> None:
        self.matched(message_id)
        self.hand_over(message_id)

    def content_mismatch(self, message_id: str) -> None:
        self.submit(message_id)
        self.send(message_id)
        self.store(message_id, digest=digest_of("altered"))
        self.answer(message_id)
        self.hand_over(message_id, digest=digest_of("altered"))
        self.ack(message_id)

    def header_mismatch(self, message_id: str) -> None:
        """A box on the way wrote another Action, and the payload came as it was."""
        self.submit(message_id)
        self.send(message_id)
        self.store(message_id, header_digest=digest_of("rewritten"), action="Cancel")
        self.answer(message_id)
        self.hand_over(message_id, header_digest=digest_of("rewritten"))
        self.ack(message_id)

    def collision(self, message_id: str) -> None:
        self.matched(message_id)
        self.into(
            Event.COLLISION_DETECTED,
            message_id,
            error_code=ErrorCode.SECURITY_FAILURE,
            digest=digest_of("other"),
        )

    def orphan_ack(self, message_id: str) -> None:
        self.now += 5_000
        self.sender.write(
            Event.ORPHAN_ACK_RECEIVED,
            self.now,
            direction=Direction.OUT,
            message_id=message_id,
            reason="fits no message of ours and its peer",
        )

    def refused(self, message_id: str) -> None:
        self.into(Event.REJECTED, message_id, error_code=ErrorCode.VALUE_NOT_RECOGNIZED)

    def best_effort(self, message_id: str) -> None:
        self.submit(message_id, semantics="BestEffort")
        self.send(message_id)
        self.store(message_id, semantics="BestEffort")
        self.hand_over(message_id)
        self.hand_over(message_id)

    def taken_back(self, message_id: str) -> None:
        """Stored, its acknowledgement lost; the sender asks, cancels, and the receiver confirms."""
        self.submit(message_id)
        self.send(message_id, outcome="unknown")
        self.store(message_id)
        self.answer(message_id, outcome="unknown")
        self.tell(message_id)
        self.into(Event.CANCEL_CONFIRMED, message_id)
        self.out(Event.CANCELLED, message_id, reason="confirmed")

    def taken_back_unseen(self, message_id: str) -> None:
        """Cancelled before it arrived: the receiver has a tombstone and refuses the copy."""
        self.submit(message_id)
        self.send(message_id, outcome="unknown")
        self.tell(message_id)
        self.into(Event.CANCEL_CONFIRMED, message_id)
        self.out(Event.CANCELLED, message_id, reason="confirmed")
        self.into(Event.REJECTED, message_id, error_code=ErrorCode.DELIVERY_FAILURE)

    def sent_only(self, message_id: str, **header: Any) -> None:
        """Nobody acknowledges; the end of the sender is that the transport has it."""
        self.submit(message_id, **header)
        self.send(message_id)
        self.out(Event.SENT, message_id, outcome="accepted")

    def sent_by_transport(self, message_id: str) -> None:
        method = {"reason": "method Transport"}
        self.sent_only(message_id, **method)
        self.store(message_id, **method)
        self.hand_over(message_id)

    def refused_by_transport(self, message_id: str) -> None:
        self.submit(message_id, reason="method Transport")
        self.send(message_id, outcome="refused")
        self.out(Event.FAILED, message_id, error_code=ErrorCode.DELIVERY_FAILURE)

    def failed_at_most_once(self, message_id: str) -> None:
        """One transmission, no acknowledgement: the application is told at once."""
        self.submit(message_id, semantics="AtMostOnce")
        self.send(message_id, outcome="unknown")
        self.tell(message_id)

    def withheld(self, message_id: str) -> None:
        """Stored, and not handed over, since the acknowledgement certainly never left."""
        self.submit(message_id)
        self.send(message_id)
        self.store(message_id)
        self.answer(message_id, outcome="refused")
        self.into(Event.WITHHELD, message_id)
        self.tell(message_id)

    def matched_without_number(self, message_id: str) -> None:
        """A message of the second profile: no SequenceNumber on either side."""
        self.submit(message_id, profile="rm-2001")
        self.out(Event.TRANSMITTING, message_id, attempt=1)
        self.store(message_id, sequence_number=None, profile="rm-2001")
        self.answer(message_id)
        self.hand_over(message_id)
        self.ack(message_id)

    def queued(self, message_id: str) -> None:
        self.submit(message_id)


PLANTS: dict[Verdict, Callable[[Exchange, str], None]] = {
    Verdict.MATCHED: Exchange.matched,
    Verdict.MATCHED_LATE: Exchange.matched_late,
    Verdict.SETTLED_WRONGLY: Exchange.settled_wrongly,
    Verdict.SETTLED_RIGHTLY: Exchange.settled_rightly,
    Verdict.FAILED_BUT_DELIVERED: Exchange.failed_but_delivered,
    Verdict.FAILED_NOT_DELIVERED: Exchange.failed_not_delivered,
    Verdict.ACK_LOST: Exchange.ack_lost,
    Verdict.SENT_NOT_RECEIVED: Exchange.sent_not_received,
    Verdict.RECEIVED_NOT_SENT: Exchange.received_not_sent,
    Verdict.ACKED_NOT_STORED: Exchange.acked_not_stored,
    Verdict.ACKED_WITHOUT_EVIDENCE: Exchange.acked_without_evidence,
    Verdict.NOT_DELIVERED_TO_APP: Exchange.not_delivered_to_app,
    Verdict.DELIVERED_TWICE: Exchange.delivered_twice,
    Verdict.CONTENT_MISMATCH: Exchange.content_mismatch,
    Verdict.COLLISION: Exchange.collision,
    Verdict.ORPHAN_ACK: Exchange.orphan_ack,
    Verdict.REFUSED: Exchange.refused,
    Verdict.TAKEN_BACK: Exchange.taken_back,
    Verdict.BEST_EFFORT: Exchange.best_effort,
    Verdict.IN_FLIGHT: Exchange.queued,
}
"""A message of each class that needs both journals; `ONE_SIDED` is what is left without one."""

HEALTHY: Sequence[tuple[Callable[[Exchange, str], None], int]] = (
    (Exchange.matched, 60),
    (Exchange.matched_after_lost_ack, 15),
    (Exchange.matched_after_lost_message, 15),
    (Exchange.matched_doubled, 7),
    (Exchange.matched_through_crash, 3),
)
"""What happens on a bad line between two gateways that keep the promise, with weights."""


@dataclass
class Passage:
    """An exchange with an intermediary between its parties, which keeps a journal of its own."""

    ends: Exchange
    between: Ledger

    def note(self, event: Event, message_id: str, direction: Direction, **columns: Any) -> None:
        self.ends.now += 5_000
        columns = {**self.ends.key(message_id), "hop": 2, **columns}
        self.between.write(event, self.ends.now, direction=direction, **columns)

    def relayed(self, message_id: str) -> None:
        """Passed on; acknowledged upstream only after the next hop had acknowledged."""
        self.ends.submit(message_id)
        self.ends.send(message_id)
        self.note(Event.ARRIVED_IN_TRANSIT, message_id, Direction.IN)
        self.note(Event.FORWARDED, message_id, Direction.OUT, outcome="accepted")
        self.ends.arrive(message_id)
        self.note(Event.ACK_RECEIVED, message_id, Direction.OUT)
        self.note(Event.ACK_RELAYED, message_id, Direction.IN, outcome="accepted")
        self.ends.ack(message_id)

    def taken_into_care(self, message_id: str) -> None:
        """Stored and acknowledged by the intermediary, which delivers from here on."""
        self.ends.submit(message_id)
        self.ends.send(message_id)
        self.note(Event.STORED, message_id, Direction.IN, digest=digest_of(message_id))
        self.note(Event.ACK_SENT, message_id, Direction.IN, outcome="accepted")
        self.ends.ack(message_id)
        self.note(Event.TRANSMITTING, message_id, Direction.OUT, hop=0, attempt=1)

    def delivered(self, message_id: str) -> None:
        self.taken_into_care(message_id)
        self.ends.arrive(message_id)
        self.note(Event.ACK_RECEIVED, message_id, Direction.OUT, hop=0)

    def undeliverable(self, message_id: str) -> None:
        """The intermediary gives up, and the From Party gets its notice."""
        self.taken_into_care(message_id)
        self.note(Event.FAILED, message_id, Direction.OUT, hop=0)
        self.note(Event.FAILURE_NOTICE_SENT, message_id, Direction.IN, hop=0, outcome="accepted")
        self.ends.tell(message_id)


def two_parties(names: tuple[str, str] = (BUYER, SELLER)) -> tuple[Exchange, Exchange]:
    """Both directions between two fresh journals."""
    buyer, seller = map(Ledger, names)
    for ledger in (buyer, seller):
        ledger.write(Event.STARTED, DAWN)
    return Exchange(buyer, seller), Exchange(seller, buyer)


def healthy(
    seed: int, messages: int, names: tuple[str, str] = (BUYER, SELLER)
) -> tuple[Exchange, Exchange]:
    """Both directions after `messages` messages each, none of them harmed."""
    chance = random.Random(seed)
    exchanges = two_parties(names)
    fates, weights = zip(*HEALTHY, strict=True)
    for number in range(messages):
        for exchange, way in zip(exchanges, ("order", "response"), strict=True):
            exchange.now += chance.randrange(2_000) * 1_000
            [fate] = chance.choices(fates, weights)
            fate(exchange, f"{way}-{number:05d}@example")
    return exchanges


def plant(
    exchange: Exchange, fates: dict[Verdict, Callable[[Exchange, str], None]]
) -> dict[str, Verdict]:
    """Write one message of each fate; MessageId to the verdict it must get."""
    planted = {}
    for verdict, fate in fates.items():
        message_id = f"planted-{verdict.lower()}@example"
        fate(exchange, message_id)
        planted[message_id] = verdict
    return planted


def publish(lake: Path, ledger: Ledger, *, first: int = 1, last: int | None = None) -> Path:
    """Publish rows `first` to `last` as a gateway does."""
    last = len(ledger.records) if last is None else last
    path = lake / segment_name(ledger.party, first, last)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(to_parquet(ledger.records[first - 1 : last]))
    return path


def upgraded(ledger: Ledger, behind: int) -> Ledger:
    """The journal of a gateway that wrote version 1 up to row `behind`, and this version after."""
    before, records = CHAIN_START, []
    for record in ledger.records:
        row = record
        if row.seq <= behind:
            row = changed(row, schema_version=1, **dict.fromkeys(younger_than(1)))
        before = chain(before, row)
        records.append(changed(row, chain_hash=before))
    return Ledger(ledger.party, records, ledger.epoch)


def chained(
    records: Sequence[Record], *, more: dict[str, str] | None = None, less: Sequence[str] = ()
) -> pa.Table:
    """The same rows as another version of the journal would have them: chained by its columns."""
    more = more or {}
    columns = [name for name in COLUMNS if name not in (*less, "chain_hash")] + list(more)
    version = SCHEMA_VERSION + (1 if more else 0)
    rows, previous = [], CHAIN_START
    for record in records:
        row = {**asdict(record), **more, "schema_version": version}
        parts = [
            "~" if row[name] is None else f"{len(str(row[name]))}:{row[name]}" for name in columns
        ]
        previous = sha256("|".join([previous, *parts]).encode()).hexdigest()
        rows.append({**{name: row[name] for name in columns}, "chain_hash": previous})
    types = {field.name: field.type for field in SEGMENT_SCHEMA}
    return pa.Table.from_pylist(
        rows, pa.schema([(name, types.get(name, pa.utf8())) for name in [*columns, "chain_hash"]])
    )


BUYER_TOML = """
[gateway]
party = ["urn:duns:111111111"]
listen = "http://127.0.0.1:8401/msh"
api = "http://127.0.0.1:8411"
store = "buyer.db"

[[agreement]]
id = "tpa-1"
profile = "rm-2000"
with = ["urn:duns:222222222"]
send_to = "http://127.0.0.1:8402/msh"
timeout = 1
retries = 2
retry_interval = 7
"""
