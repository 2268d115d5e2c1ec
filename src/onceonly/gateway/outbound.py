"""The sending machines inside one transaction: read, `step`, write, collect.

A message and its pair talk to each other through effects (`Admit`, `Release`, `GiveUp` …). `run`
carries those words between the two machines until neither has more to say, writes states, rows,
notices and incidents, and returns what must leave the house once the commit has returned.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.config import Agreement
from onceonly.gateway.ids import Identifiers
from onceonly.gateway.rows import Rows
from onceonly.journal.record import Record
from onceonly.message.event import Direction
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.instant import Now
from onceonly.message.message import Message, RoutingHeader
from onceonly.message.package import Package
from onceonly.protocol import pairing, sending
from onceonly.protocol.effects import (
    Admit,
    AdmitNext,
    Diverge,
    Effect,
    GiveUp,
    Hold,
    Journal,
    Notify,
    OpenIncident,
    Release,
    ResolveIncident,
    Restart,
    Transmit,
)
from onceonly.protocol.events import Admitted, Held, Resumed, SendingEvent
from onceonly.store.store import (
    Notice,
    OutboundEntry,
    Role,
    Snapshot,
    StoredPayload,
    Transaction,
)
from onceonly.wire.envelope import boundary_for, encode


class Draft(NamedTuple):
    """A message that the step has at hand, so that it need not be read back."""

    message: Message
    payloads: Sequence[StoredPayload]


class Departure(NamedTuple):
    """One transmission to make once its step is committed."""

    message_id: str
    agreement: Agreement
    attempt: int
    package: Package | None
    """At hand on the first transmission of a fresh submission; else read from the store."""
    payloads: Sequence[StoredPayload] | None


class Outcome(NamedTuple):
    """What one run did: what is to leave, and whose deadline may have moved."""

    departures: list[Departure]
    touched: set[str]


class MessageWork(NamedTuple):
    """An event for a message's machine."""

    message_id: str
    event: SendingEvent


class PairWork(NamedTuple):
    """An event for a pair's machine."""

    pair: Pair
    event: pairing.PairEvent


class NextWork(NamedTuple):
    """Look for the longest-waiting message of the pair, once all before this is done."""

    pair: Pair


Work = MessageWork | PairWork | NextWork


class SendingSteps:
    """Runs both machines in a transaction; the deadlines, which are not durable, live here."""

    def __init__(
        self, *, agreements: Agreements, rows: Rows, ids: Identifiers, our_uri: str
    ) -> None:
        self._agreements = agreements
        self._ids = ids
        self._our_uri = our_uri
        self.rows = rows
        self.due_ns: dict[str, int] = {}

    def run(
        self,
        txn: Transaction,
        now: Now,
        work: Sequence[Work],
        *,
        entry: OutboundEntry | None = None,
        draft: Draft | None = None,
    ) -> Outcome:
        """Carry out `work` and all that follows from it. Writes; does not await.

        `entry` and `draft` are what the caller has at hand of the message that it is about.
        """
        turn = _Turn(self, txn, now, draft)
        if entry is not None:
            turn.know(entry)
        queue = deque(work)
        while queue:
            queue.extend(turn.carry_out(queue.popleft()))
        turn.write()
        if turn.records:
            txn.append(turn.records)
        return Outcome(turn.departures, turn.touched)

    def agreement(self, agreement_id: str) -> Agreement:
        """The agreement of a stored message; start-up has made sure that it is configured."""
        agreement = self._agreements.find(agreement_id)
        assert agreement is not None, f"a stored message names agreement {agreement_id!r}"
        return agreement

    def queued(self, entry: OutboundEntry) -> PairWork:
        """The word to the pair that the message waits for its turn."""
        terms = self.agreement(entry.agreement_id).terms
        event = pairing.MessageQueued(entry.message_id, terms.window, terms.is_numbered)
        return PairWork(entry.pair, event)

    def encode(self, message: Message, sequence_number: int | None, now: Now) -> Package:
        """The package of the first transmission; every resend is its bytes (R-04)."""
        agreement = self.agreement(message.agreement_id)
        routing = RoutingHeader(
            sender_uri=self._our_uri,
            receiver_uri=agreement.receiver_uri,
            error_uri=self._our_uri,
            timestamp_at=now.at,
            sequence_number=sequence_number,
        )
        token = self._ids.token()
        return encode(
            message,
            routing,
            profile=agreement.profile,
            boundary=boundary_for(token),
            root_content_id=f"header-{token}",
        )


class _Turn:
    """The working memory of one run: each message and pair is read once and written once."""

    def __init__(
        self, steps: SendingSteps, txn: Transaction, now: Now, draft: Draft | None
    ) -> None:
        self._steps = steps
        self._txn = txn
        self._now = now
        self._draft = draft
        self._entries: dict[str, OutboundEntry] = {}
        self._pairs: dict[Pair, pairing.SendingPair] = {}
        self._changed_entries: set[str] = set()
        self._changed_pairs: set[Pair] = set()
        self._package: Package | None = None
        self.records: list[Record] = []
        self.departures: list[Departure] = []
        self.touched: set[str] = set()

    def know(self, entry: OutboundEntry) -> None:
        """Spare the run a read of what its caller has read."""
        self._entries[entry.message_id] = entry

    def carry_out(self, work: Work) -> list[Work]:
        if isinstance(work, MessageWork):
            return self._step_message(work.message_id, work.event)
        if isinstance(work, NextWork):
            return self._queue_next(work.pair)
        return self._step_pair(work.pair, work.event)

    def write(self) -> None:
        """Write what changed; again after it, nothing is left to write."""
        for message_id in self._changed_entries:
            state = self._entries[message_id].state
            self._txn.put_outbound(message_id, state, at=self._now.at)
        for pair in self._changed_pairs:
            self._txn.put_sending_pair(pair, self._pairs[pair], at=self._now.at)
        self._changed_entries.clear()
        self._changed_pairs.clear()

    def _step_message(self, message_id: str, event: SendingEvent) -> list[Work]:
        entry = self._entries.get(message_id) or self._txn.find_outbound(message_id)
        assert entry is not None, f"{message_id} is not stored"
        agreement = self._steps.agreement(entry.agreement_id)
        before = entry.state._replace(due_ns=self._steps.due_ns.get(message_id))
        after, effects = sending.step(before, event, self._now, agreement.terms)
        if after.due_ns != before.due_ns:
            self._move_deadline(message_id, after.due_ns)
            before = before._replace(due_ns=after.due_ns)
        self._entries[message_id] = entry._replace(state=after)
        if after != before:
            self._changed_entries.add(message_id)
        if isinstance(event, Admitted) and after.status is sending.OutboundStatus.SENDING:
            self._prepare(entry, event)
        return self._carry_out_message_effects(entry, agreement, effects)

    def _move_deadline(self, message_id: str, due_ns: int | None) -> None:
        self.touched.add(message_id)
        if due_ns is None:
            self._steps.due_ns.pop(message_id, None)
        else:
            self._steps.due_ns[message_id] = due_ns

    def _prepare(self, entry: OutboundEntry, event: Admitted) -> None:
        if self._draft is None or self._draft.message.message_id != entry.message_id:
            view = self._txn.find_outbound_view(entry.message_id)
            assert view is not None, f"{entry.message_id} is not stored"
            self._draft = Draft(view.message, self._txn.list_payloads(entry.message_id))
        self._package = self._steps.encode(self._draft.message, event.sequence_number, self._now)
        self._txn.put_package(entry.message_id, self._package)

    def _carry_out_message_effects(
        self, entry: OutboundEntry, agreement: Agreement, effects: Sequence[Effect]
    ) -> list[Work]:
        follow: list[Work] = []
        for effect in effects:
            match effect:
                case Journal():
                    self._note(entry, agreement, effect)
                case Transmit():
                    self.departures.append(self._departure(entry, agreement, effect.attempt))
                case Notify():
                    self._notify(entry.message_id, effect)
                case Release(abandoned):
                    settled = pairing.MessageSettled(entry.message_id, abandoned)
                    follow.append(PairWork(entry.pair, settled))
                case GiveUp(reason):
                    given_up = pairing.MessageGivenUp(entry.message_id, reason)
                    follow.append(PairWork(entry.pair, given_up))
                case Diverge(reason):
                    diverged = pairing.SequenceDiverged(entry.message_id, reason)
                    follow.append(PairWork(entry.pair, diverged))
                case _:
                    raise AssertionError(f"{effect} is no effect of a message")
        return follow

    def _note(self, entry: OutboundEntry, agreement: Agreement, effect: Journal) -> None:
        key = MessageKey(*entry.pair, entry.message_id)
        endpoint = None if effect.attempt is None else agreement.send_to
        row = self._steps.rows.about_message(
            key, agreement, Direction.OUT, effect, self._now, endpoint=endpoint
        )
        self.records.append(row)

    def _departure(self, entry: OutboundEntry, agreement: Agreement, attempt: int) -> Departure:
        draft = self._draft
        if draft is None or draft.message.message_id != entry.message_id:
            return Departure(entry.message_id, agreement, attempt, None, None)
        return Departure(entry.message_id, agreement, attempt, self._package, draft.payloads)

    def _notify(self, message_id: str, effect: Notify) -> None:
        self._txn.add_notice(
            Notice(
                message_id,
                effect.kind,
                effect.severity,
                effect.error_code,
                effect.reason,
                effect.episode,
                self._now.at,
            )
        )

    def _queue_next(self, pair: Pair) -> list[Work]:
        self.write()  # The queue is what is written in the store.
        entry = self._txn.find_next_queued(pair)
        if entry is None:
            return []
        self.know(entry)
        return [self._steps.queued(entry)]

    def _step_pair(self, pair: Pair, event: pairing.PairEvent) -> list[Work]:
        before = self._pairs.get(pair) or self._txn.get_sending_pair(pair)
        after, effects = pairing.step(before, event)
        self._pairs[pair] = after
        if after != before:
            self._changed_pairs.add(pair)
        return self._carry_out_pair_effects(pair, after, effects)

    def _carry_out_pair_effects(
        self, pair: Pair, state: pairing.SendingPair, effects: Sequence[Effect]
    ) -> list[Work]:
        follow: list[Work] = []
        for effect in effects:
            match effect:
                case Admit(message_id, sequence_number):
                    follow.append(MessageWork(message_id, Admitted(sequence_number)))
                case AdmitNext():
                    follow.append(NextWork(pair))
                case Hold(message_id):
                    follow.append(MessageWork(message_id, Held()))
                case Restart(message_id):
                    follow.append(MessageWork(message_id, Resumed()))
                case OpenIncident(reason):
                    self._txn.open_incident(Role.SENDER, pair, reason, at=self._now.at)
                case ResolveIncident():
                    self._txn.resolve_incidents(Role.SENDER, pair, at=self._now.at)
                case Journal():
                    row = self._steps.rows.about_pair(
                        pair, next(iter(state.in_flight), None), Direction.OUT, effect, self._now
                    )
                    self.records.append(row)
                case _:
                    raise AssertionError(f"{effect} is no effect of a pair")
        return follow


def read_package(snapshot: Snapshot, message_id: str) -> tuple[Package, Sequence[StoredPayload]]:
    """The stored package and payloads of a message that was transmitted before."""
    return snapshot.get_package(message_id), snapshot.list_payloads(message_id)
