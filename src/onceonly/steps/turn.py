"""One run of the sending machines: read, `step`, write, collect.

The working memory of one transaction. A message, its pair and its recovery talk to each other
through effects (`Admit`, `Release`, `GiveUp`, `Recover`, `Resend` …); here each effect becomes a
write, a departure, a question, or an event for another machine. Must not await.
"""

from collections.abc import Sequence

from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.digest import Digests
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import AckRequested
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.protocol import pairing, recovering, sending
from onceonly.protocol.effects import (
    Admit,
    AdmitNext,
    ConfirmCancel,
    ConfirmReceipt,
    Effect,
    Hold,
    Inquire,
    Journal,
    NoticeKind,
    Notify,
    OpenIncident,
    Resend,
    ResolveIncident,
    ResolveTrouble,
    Restart,
    SendNewVersion,
    Transmit,
)
from onceonly.protocol.events import (
    AckReceived,
    Admitted,
    CancelConfirmed,
    DeadlineReached,
    Held,
    Outcomes,
    Parked,
    Requeued,
    Resumed,
    SendingEvent,
    Settled,
    TimePassed,
    Transmitted,
)
from onceonly.protocol.ordering import MessageReplaced, MessageWaits, OrderEvent
from onceonly.protocol.outbound import SETTLED
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.sending import Exposure, OutboundStatus
from onceonly.steps import evidence
from onceonly.steps.again import resend, was_resent
from onceonly.steps.conversations import Conversations, is_ordered, order_news
from onceonly.steps.cpa import called_on_wire
from onceonly.steps.follow_ups import queued, told_by_message
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Asker, Departure, Draft, Leaving, Question
from onceonly.steps.recoveries import Recoveries, conversation_of, new_version
from onceonly.steps.rows import outcome_of
from onceonly.steps.transmission import endpoint_of, first_package
from onceonly.steps.work import (
    AgainWork,
    MessageWork,
    NextWork,
    OrderWork,
    PairWork,
    RecoveryWork,
    TakeUpWork,
    Work,
)
from onceonly.store.contract.conditions import StoreFailed, StoreFull
from onceonly.store.contract.entries import Notice, OutboundEntry, OwedNotice, Role
from onceonly.store.contract.store import Transaction
from onceonly.store.contract.waits import Waiter
from onceonly.wire.header_digest import header_digest

_FOR_OUR_APPLICATION = frozenset({NoticeKind.ACKNOWLEDGED_LATE, NoticeKind.SETTLED_BY_OPERATOR})
"""Notices that are not sent to another party: a person's word never leaves (R-49)."""

UNSETTLED = frozenset({OutboundStatus.SENDING, OutboundStatus.IN_DOUBT})
"""Statuses in which it is news that the receiver has the message."""

OUTCOMES_MAX = 100
"""How many of the last transmissions of a message are searched for three refusals in a row."""


class Turn:
    """The working memory of one run: each message and pair is read once and written once."""

    def __init__(self, txn: Transaction, ground: Ground, draft: Draft | None) -> None:
        self._txn = txn
        self._ground = ground
        self._house = ground.house
        self._now = ground.now
        self._draft = draft
        self._entries: dict[str, OutboundEntry] = {}
        self._pairs: dict[Pair, pairing.SendingPair] = {}
        self._changed_entries: set[str] = set()
        self._changed_pairs: set[Pair] = set()
        self._package: Package | None = None
        self._recoveries = Recoveries(txn, ground)
        self._conversations = Conversations(txn, ground)
        self._pings: list[Question] = []
        self.records: list[Record] = []
        self._departures: list[Departure] = []
        self._waits: dict[tuple[Waiter, str], int | None] = {}
        self._owed: list[OwedNotice] = []

    def leaving(self) -> Leaving:
        """What is to be sent after the commit."""
        recoveries = self._recoveries
        return Leaving(
            self._departures,
            (*self._pings, *recoveries.questions),
            self._owed,
            self._waits | recoveries.waits,
        )

    def know(self, entry: OutboundEntry) -> None:
        """Take over what the caller has read already."""
        self._entries[entry.message_id] = entry

    def carry_out(  # noqa: PLR0911 - because each kind of work has its machine
        self, work: Work
    ) -> list[Work]:
        """Run the machine that the work is for; returns what follows for the other machines."""
        match work:
            case MessageWork(message_id, event):
                return self._step_message(message_id, event)
            case NextWork(pair):
                return self._queue_next(pair)
            case RecoveryWork(message_id, event):
                return self._step_recovery(message_id, event)
            case OrderWork(message_id, event):
                return self._step_order(message_id, event)
            case TakeUpWork():
                return self._take_up(work)
            case AgainWork():
                return self._send_again(work)
            case PairWork(pair, event):
                return self._step_pair(pair, event)

    def write(self) -> None:
        """Write what changed since the last call."""
        self._recoveries.write()
        if self._conversations.is_changed:
            self._conversations.write()
        for message_id in self._changed_entries:
            state = self._entries[message_id].state
            self._txn.put_outbound(message_id, state, at=self._now.at)
        for pair in self._changed_pairs:
            self._txn.put_sending_pair(pair, self._pairs[pair], at=self._now.at)
        self._changed_entries.clear()
        self._changed_pairs.clear()

    def _step_message(  # noqa: C901 - because it is the one place where a message changes
        self, message_id: str, event: SendingEvent
    ) -> list[Work]:
        entry = self._entry(message_id)
        agreement = self._house.agreement(entry.agreement_id)
        event = self._with_outcomes(entry, agreement, event)
        before, due_ns = entry.state, self._txn.waits.find(Waiter.MESSAGE, message_id)
        if before.due_ns != due_ns:
            before = changed(before, due_ns=due_ns)
        after, effects = sending.step(before, event, self._now, agreement.terms)
        if isinstance(event, Admitted) and after.status is OutboundStatus.SENDING:
            refusal = self._prepare(changed(entry, state=after), event)
            if refusal is not None:
                # Another message may have a part in this step, and must not suffer from it.
                number = event.sequence_number
                event = Parked(str(refusal), bytes_left=False, sequence_number=number)
                after, effects = sending.step(before, event, self._now, agreement.terms)
        if after.due_ns != before.due_ns:
            self._move_deadline(message_id, after.due_ns)
            before = changed(before, due_ns=after.due_ns)
        entry = self._entries[message_id] = changed(entry, state=after)
        if after != before:
            self._changed_entries.add(message_id)
        if before.error_code is ErrorCode.UNKNOWN and after.error_code is None:
            # If it was parked, it is settled now: no operator has to take it up.
            self._txn.resolve_parked(Role.SENDER, entry.pair, message_id, at=self._now.at)
        if isinstance(event, Settled):
            # Whoever settles its doubt has seen them, and nobody has to take it up.
            self._txn.resolve_about(Role.SENDER, entry.pair, message_id, at=self._now.at)
        follow = self._carry_out_message_effects(entry, agreement, effects)
        if self._house.agreements.has_order_with(entry.pair.to_party):
            follow += order_news(agreement, message_id, before, after)
        if isinstance(event, Settled):
            follow.append(RecoveryWork(message_id, event))
        else:
            follow += self._tell_recovery(entry, agreement, event, before.status)
        if sending.hears_partner(event, agreement.terms):
            follow.append(PairWork(entry.pair, pairing.PartnerHeard()))
        return follow

    def _with_outcomes(
        self, entry: OutboundEntry, agreement: Agreement, event: SendingEvent
    ) -> SendingEvent:
        """The event with the outcomes since the last start, which the state does not keep."""
        attempt = entry.state.attempt
        match event:
            case Transmitted() if event.transmission.is_lasting:
                return changed(event, before=self._outcomes(entry, attempt - 1))
            case DeadlineReached() | TimePassed():
                before = self._outcomes(entry, max(attempt, 1))
                return changed(
                    event, before=evidence.with_refusal(self._txn, entry, agreement, before)
                )
        return event

    def _outcomes(self, entry: OutboundEntry, most: int) -> Outcomes:
        # A transmission may end after a new start, which counts transmissions from 0.
        most = min(max(most, 0), OUTCOMES_MAX)
        return tuple(map(outcome_of, self._txn.list_outcomes(entry.message_id, most)))

    def _entry(self, message_id: str) -> OutboundEntry:
        entry = self._entries.get(message_id) or self._txn.find_outbound(message_id)
        assert entry is not None, f"{message_id} is not stored"
        self._entries[message_id] = entry
        return entry

    def _move_deadline(self, message_id: str, due_ns: int | None) -> None:
        self._txn.waits.put(Waiter.MESSAGE, message_id, due_ns)
        self._waits[Waiter.MESSAGE, message_id] = due_ns

    def _prepare(self, entry: OutboundEntry, event: Admitted) -> Exception | None:
        """Make the package of the first transmission; returns the bug that prevents it (R-43)."""
        try:
            self._make_package(entry, event)
        except (StoreFull, StoreFailed):
            raise
        except Exception as bug:  # noqa: BLE001 - because it is in one message, and the step is another's, too
            return bug
        return None

    def _make_package(self, entry: OutboundEntry, event: Admitted) -> None:
        draft = self._draft_of(entry.message_id)
        if entry.state.episode > 0 or self._house.agreement(entry.agreement_id).is_route:
            # Queued again after it was given up, or sent for others: the stored bytes.
            self._package = self._txn.get_package(entry.message_id)
            return
        agreement, order = self._house.agreement(entry.agreement_id), None
        if agreement.terms.is_ordered:
            order = self._conversations.number_of(draft.message)
        number = event.sequence_number
        self._package = first_package(self._ground, draft.message, number, order)
        self._txn.put_package(entry.message_id, self._package)
        if order is not None:
            self._conversations.give_number(draft.message, agreement)

    def _draft_of(self, message_id: str) -> Draft:
        if self._draft is None or self._draft.message.message_id != message_id:
            view = self._txn.find_outbound_view(message_id)
            assert view is not None, f"{message_id} is not stored"
            self._draft = Draft(view.message, self._txn.list_payloads(message_id))
            self._package = None
        return self._draft

    def _carry_out_message_effects(
        self, entry: OutboundEntry, agreement: Agreement, effects: Sequence[Effect]
    ) -> list[Work]:
        follow: list[Work] = []
        for effect in effects:
            match effect:
                case Journal():
                    self._note(entry, agreement, effect)
                case Transmit():
                    self._departures.append(self._departure(entry, agreement, effect.attempt))
                case Notify():
                    self._notify(entry, agreement, effect)
                case Inquire():
                    self._pings.append(self._ping_before(entry, agreement, effect))
                case OpenIncident():
                    self._open_incident(entry, effect)
                case ResolveIncident():
                    self._txn.resolve_incidents(Role.SENDER, entry.pair, at=self._now.at)
                case _:
                    follow.append(told_by_message(entry, effect))
        return follow

    def _ping_before(self, entry: OutboundEntry, agreement: Agreement, effect: Inquire) -> Question:
        """The Ping before a message (level 2); its conversation lets a trace show both together."""
        conversation_id = conversation_of(self._txn, entry.message_id)
        inquiry_id = self._ground.message_id(f"ping {entry.message_id}", agreement)
        return Question(
            inquiry_id, effect.kind, agreement, Asker.MESSAGE, entry.message_id, conversation_id
        )

    def _open_incident(self, entry: OutboundEntry, effect: OpenIncident) -> None:
        about = entry.message_id if effect.is_parked else None
        reason = f"{effect.reason} ({entry.message_id})"
        self._txn.open_incident(Role.SENDER, entry.pair, reason, at=self._now.at, message_id=about)

    def _tell_recovery(
        self,
        entry: OutboundEntry,
        agreement: Agreement,
        event: SendingEvent,
        before: OutboundStatus,
    ) -> list[Work]:
        """The event for the recovery of the message; few messages have a recovery."""
        message_id, after = entry.message_id, entry.state.status
        expects_response = agreement.terms.recovery.response_within_s is not None
        is_at_rest = self._txn.waits.find(Waiter.RECOVERY, message_id) is None
        if not expects_response and is_at_rest:
            return []
        if isinstance(event, Resumed | Requeued):
            return [RecoveryWork(message_id, Resumed())]
        if after is before:
            return []
        if after is OutboundStatus.ACKNOWLEDGED:
            return [RecoveryWork(message_id, recovering.Acknowledged())]
        is_unsent = after is OutboundStatus.FAILED and entry.state.exposure is Exposure.NEVER
        if is_unsent or after in (OutboundStatus.CANCELLED, OutboundStatus.EXPIRED):
            return [RecoveryWork(message_id, recovering.Withdrawn())]
        return []

    def _step_recovery(self, message_id: str, event: recovering.RecoveryEvent) -> list[Work]:
        entry = self._entry(message_id)
        agreement = self._house.agreement(entry.agreement_id)
        follow: list[Work] = []
        for effect in self._recoveries.step(message_id, event, agreement):
            match effect:
                case Journal():
                    self._note(entry, agreement, effect)
                case OpenIncident():
                    self._open_incident(entry, effect)
                case ConfirmReceipt():
                    follow += self._confirm_receipt(entry)
                case ConfirmCancel():
                    follow += self._confirm_cancel(entry)
                case Resend():
                    follow += self._resend(entry)
                case SendNewVersion():
                    follow += self._send_new_version(entry, agreement)
                case _:
                    raise AssertionError(f"{effect} is no effect of a recovery")
        if recovering.hears_partner(event):
            follow.append(PairWork(entry.pair, pairing.PartnerHeard()))
        return follow

    def _step_order(self, message_id: str, event: OrderEvent) -> list[Work]:
        """The conversation of the message; whoever it lets go waits for a turn of the pair."""
        self.write()  # The conversation's queue is read from the store.
        agreement = self._house.agreement(self._entry(message_id).agreement_id)
        gone = self._conversations.tell(message_id, self._draft, event, agreement)
        return [queued(self._house, self._entry(one)) for one in gone]

    def _confirm_receipt(self, entry: OutboundEntry) -> list[Work]:
        # If the message had certainly failed, this is news, too, and ends the certainty.
        agreement = self._house.agreement(entry.agreement_id)
        if agreement.terms.ack_requested is AckRequested.SIGNED:
            return []  # A status without a signature is no evidence.
        state = entry.state
        if state.status not in UNSETTLED | SETTLED and not state.is_certain:
            return []
        return [MessageWork(entry.message_id, AckReceived("the partner says that it has it"))]

    def _confirm_cancel(self, entry: OutboundEntry) -> list[Work]:
        """If doubt about this message closed the pair, it goes on, since its partner answers."""
        if (entry.state.status, CancelConfirmed) not in sending.TABLE:
            return []
        pair = self._pair(entry.pair)
        follow = self._step_message(entry.message_id, CancelConfirmed())
        if entry.message_id in pair.in_flight and _is_closed_by_doubt(pair):
            follow.append(PairWork(entry.pair, pairing.ResumeRequested()))
        return follow

    def _resend(self, entry: OutboundEntry) -> list[Work]:
        """Resend by rule; a pair that an operator closed sends it when it is resumed."""
        if was_resent(self._txn, entry):
            return []
        pair = self._pair(entry.pair)
        if entry.message_id in pair.in_flight and not _is_closed_by_doubt(pair):
            return []
        return [resend(entry, pair, "not received, says the partner")]

    def _take_up(self, work: TakeUpWork) -> list[Work]:
        """Send the same message again if it may have left; otherwise its content as a new one."""
        entry = self._entry(work.message_id)
        agreement = self._house.agreement(entry.agreement_id)
        self._txn.resolve_parked(Role.SENDER, entry.pair, entry.message_id, at=self._now.at)
        self._note(entry, agreement, Journal(Event.TAKEN_UP, reason=work.reason))
        if sending.can_be_sent_again(entry.state, self._now):
            return [MessageWork(entry.message_id, Requeued(work.reason))]
        if not sending.was_parked(entry.state):
            # Its number was taken back and a copy may be under way: only after a cancel (R-08,
            #
            wanted = recovering.CancelWanted(is_for_new_version=True)
            return [RecoveryWork(entry.message_id, wanted)]
        if agreement.is_route:
            return []  # Its From Party was told that it was not delivered, and may send it again.
        return self._send_new_version(entry, agreement)

    def _send_again(self, work: AgainWork) -> list[Work]:
        """Send the content as a new message; whoever asked has checked that it may be (R-41)."""
        entry = self._entry(work.message_id)
        agreement = self._house.agreement(entry.agreement_id)
        message_id = self._ground.message_id(f"again {entry.message_id}", agreement)
        self._txn.resolve_parked(Role.SENDER, entry.pair, entry.message_id, at=self._now.at)
        row = Journal(Event.RESENT, reason=f"as {message_id}: {work.reason}")
        self._note(entry, agreement, row)
        return self._submit_again(entry, agreement, message_id, f"resend of {entry.message_id}")

    def _send_new_version(self, entry: OutboundEntry, agreement: Agreement) -> list[Work]:
        if was_resent(self._txn, entry):
            return []
        message_id = self._ground.message_id(f"again {entry.message_id}", agreement)
        self._recoveries.replace(entry.message_id, message_id)
        reason = f"new version of {entry.message_id}"
        return self._submit_again(entry, agreement, message_id, reason)

    def _submit_again(
        self, entry: OutboundEntry, agreement: Agreement, message_id: str, reason: str
    ) -> list[Work]:
        view = self._txn.find_outbound_view(entry.message_id)
        assert view is not None, f"{entry.message_id} is not stored"
        payloads = self._txn.list_payloads(entry.message_id)
        message, state = new_version(view.message, message_id, agreement, self._now)
        said = called_on_wire(message, agreement)
        digests = Digests(view.digest, header_digest(said, agreement.profile))
        self._txn.add_outbound(
            message,
            state,
            payloads,
            digest=digests.payloads,
            header_digest=digests.header,
            submitted_at=self._now.at,
            idempotency_key=None,
        )
        self._txn.put_resent(entry.message_id, message_id)
        expected = recovering.expecting_response(message.timestamp_at, agreement.terms)
        if expected is not None and message.ref_to_message_id is None:
            self._recoveries.expect(message.message_id, expected)
        submitted = Journal(Event.SUBMITTED, reason=reason)
        self.records.append(
            self._house.rows.submitted(message, agreement, submitted, self._now, digests)
        )
        if is_ordered(agreement):
            is_certain = entry.state.is_certain
            replaced = MessageReplaced(entry.message_id, message_id, is_certain=is_certain)
            return [OrderWork(entry.message_id, replaced)]
        return [NextWork(entry.pair)]

    def _note(self, entry: OutboundEntry, agreement: Agreement, effect: Journal) -> None:
        if agreement.is_route and effect.event is Event.NOTIFIED:
            return  # No application is told here; the row of the sent notice says the same.
        if agreement.terms.is_ordered and effect.event is Event.TRANSMITTING:
            effect = self._conversations.numbered(entry.message_id, self._draft, effect)
        key = MessageKey(*entry.pair, entry.message_id)
        endpoint = None if effect.attempt is None else endpoint_of(agreement, effect.attempt)
        row = self._house.rows.about_message(
            key, agreement, Direction.OUT, effect, self._now, endpoint=endpoint
        )
        self.records.append(row)

    def _departure(self, entry: OutboundEntry, agreement: Agreement, attempt: int) -> Departure:
        draft = self._draft
        if draft is None or draft.message.message_id != entry.message_id:
            return Departure(entry.message_id, agreement, attempt, None, None)
        return Departure(entry.message_id, agreement, attempt, self._package, draft.payloads)

    def _notify(self, entry: OutboundEntry, agreement: Agreement, effect: Notify) -> None:
        if agreement.is_route:
            return self._owe(entry, agreement, effect)
        return self._txn.add_notice(
            Notice(
                entry.message_id,
                effect.kind,
                effect.severity,
                effect.error_code,
                effect.reason,
                effect.episode,
                self._now.at,
            )
        )

    def _owe(self, entry: OutboundEntry, agreement: Agreement, effect: Notify) -> None:
        """Owe the From Party a notice: no application here waits (seed 001 §1.3.4.2, §1.6)."""
        is_for_nobody = effect.kind in _FOR_OUR_APPLICATION
        if is_for_nobody or not agreement.terms.notifies_failures:
            return
        # If the To Party has the message, a doubt is no news; that it refuses it is news.
        is_refused = effect.kind is NoticeKind.NOT_PROCESSED
        view = self._txn.find_outbound_view(entry.message_id)
        assert view is not None, f"{entry.message_id} is not stored"
        notice = OwedNotice(
            MessageKey(*entry.pair, entry.message_id),
            agreement.id,
            view.message.conversation_id,
            view.message.semantics,
            Severity.ERROR if is_refused else effect.severity,
            effect.reason,
        )
        self._txn.put_owed_notice(notice)
        self._owed.append(notice)

    def _queue_next(self, pair: Pair) -> list[Work]:
        self.write()  # The queue is read from the store, so everything must be written first.
        entry = self._txn.find_next_queued(pair)
        if entry is None:
            return []
        self.know(entry)
        agreement = self._house.agreement(entry.agreement_id)
        if agreement.terms.is_ordered and self._has_to_wait(entry, agreement):
            # It was queued before the order was agreed: now its conversation comes first.
            return [OrderWork(entry.message_id, MessageWaits(entry.message_id)), NextWork(pair)]
        return [queued(self._house, entry)]

    def _has_to_wait(self, entry: OutboundEntry, agreement: Agreement) -> bool:
        return is_ordered(agreement) and not self._conversations.has_turn(entry.message_id)

    def _pair(self, pair: Pair) -> SendingPair:
        return self._pairs.get(pair) or self._txn.get_sending_pair(pair)

    def _step_pair(self, pair: Pair, event: pairing.PairEvent) -> list[Work]:
        before = self._pair(pair)
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
                    size_bytes = self._size_bytes(message_id)
                    follow.append(MessageWork(message_id, Admitted(sequence_number, size_bytes)))
                case AdmitNext():
                    follow.append(NextWork(pair))
                case Hold(message_id):
                    follow.append(MessageWork(message_id, Held()))
                case Restart(message_id):
                    size_bytes = self._size_bytes(message_id)
                    follow.append(MessageWork(message_id, Resumed(size_bytes)))
                case OpenIncident() | ResolveTrouble() | ResolveIncident():
                    self._tell_operator(pair, effect)
                case Journal():
                    row = self._house.rows.about_pair(
                        pair, next(iter(state.in_flight), None), Direction.OUT, effect, self._now
                    )
                    self.records.append(row)
                case _:
                    raise AssertionError(f"{effect} is no effect of a pair")
        return follow

    def _tell_operator(
        self, pair: Pair, effect: OpenIncident | ResolveTrouble | ResolveIncident
    ) -> None:
        match effect:
            case OpenIncident(reason, is_trouble=True):
                self._txn.open_trouble(pair, reason, at=self._now.at)
            case OpenIncident(reason):
                self._txn.open_incident(Role.SENDER, pair, reason, at=self._now.at)
            case ResolveTrouble():
                self._txn.resolve_trouble(pair, at=self._now.at)
            case ResolveIncident():
                self._txn.resolve_incidents(Role.SENDER, pair, at=self._now.at)

    def _size_bytes(self, message_id: str) -> int:
        """Size of the payloads, if the agreement pings before large messages (level 2); else 0."""
        agreement = self._house.agreement(self._entry(message_id).agreement_id)
        if agreement.terms.recovery.ping_above_bytes is None:
            return 0
        return self._draft_of(message_id).message.size_bytes


def _is_closed_by_doubt(pair: SendingPair) -> bool:
    """Whether a message that was given up closed the pair, and not an operator."""
    return pair.status is PairStatus.SUSPENDED and pair.reason != pairing.OPERATOR
