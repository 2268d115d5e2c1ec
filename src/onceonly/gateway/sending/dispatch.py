"""The sending side's life between commits: transmissions, questions, and what they report back.

Departures and questions leave only after the commit of their step. Deadlines are not durable:
after a restart everything in flight gets `Restarted` instead, and is transmitted or asked again
at once.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

from onceonly.gateway.authority import Answered, Caller, is_entitled
from onceonly.gateway.bugs import Bugs, words_for
from onceonly.gateway.clock import Clock
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.persistence import persist
from onceonly.gateway.recovery.questions import (
    Questions,
    is_acknowledged_by_partner,
    is_from_partner,
    message_row,
)
from onceonly.gateway.sending.deadlines import Deadlines
from onceonly.gateway.sending.outbound import SendingSteps
from onceonly.gateway.sending.package_body import PackageBody, read_package
from onceonly.gateway.sending.sender import Sender, endpoint_of
from onceonly.gateway.sending.work import (
    AgainWork,
    Departure,
    Draft,
    MessageWork,
    NextWork,
    Outcome,
    RecoveryWork,
    Work,
)
from onceonly.gateway.tasks import Tasks
from onceonly.message.agreement import Agreement
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.instant import Now
from onceonly.message.message import Message, SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.signals import (
    PLAIN_ACK,
    Acknowledgment,
    ErrorEntry,
    ErrorSignal,
    SignalHeader,
)
from onceonly.protocol import recovering, sending
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import (
    AckReceived,
    DeadlineReached,
    ErrorReceived,
    Parked,
    Restarted,
    SendingEvent,
    TimePassed,
    Transmission,
    Transmitted,
)
from onceonly.protocol.events import Outcome as TransportOutcome
from onceonly.protocol.outbound import sent_beside
from onceonly.protocol.sending import Exposure, OutboundStatus
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.entries import OutboundEntry, OwedNotice
from onceonly.store.contract.store import Snapshot, Store, Transaction
from onceonly.store.group import GroupCommit
from onceonly.store.spool import Spool
from onceonly.transport.transport import Answer, Outgoing, Request, Transport

OVERDUE_BATCH = 200
"""Messages per sweep step: keeps one step short while a backlog expires."""

HEARS_RECEIPTS = frozenset(
    {
        OutboundStatus.QUEUED,
        OutboundStatus.SENDING,
        OutboundStatus.IN_DOUBT,
        OutboundStatus.ACKNOWLEDGED,
    }
)
"""Statuses to which the To Party's receipt adds something: also to another's acknowledgement."""


ReceiveReply = Callable[[Request, AsyncIterator[bytes], Answered], Awaitable[Answer]]
"""Takes a package that came in the answer to that POST of ours."""


class Dispatch:
    """Runs the sending side of every pair of this gateway."""

    def __init__(  # noqa: PLR0913 - because this is where the sending side's parts meet
        self,
        *,
        sender: Sender,
        steps: SendingSteps,
        store: Store,
        group: GroupCommit,
        spool: Spool,
        transport: Transport,
        questions: Questions,
        clock: Clock,
        failpoints: Failpoints,
        tasks: Tasks,
        bugs: Bugs,
    ) -> None:
        self._sender = sender
        self._steps = steps
        self._store = store
        self._group = group
        self._spool = spool
        self._transport = transport
        self._questions = questions
        self._clock = clock
        self._failpoints = failpoints
        self._tasks = tasks
        self._bugs = bugs
        self._messages = Deadlines(clock, sender.waits, self._message_is_due)
        self._recoveries = Deadlines(clock, sender.recovery_waits, self._recovery_is_due)
        self.is_draining = False
        """Begins no further transmission."""
        self.receive: ReceiveReply | None = None
        """Takes packages that come back in the answer of a transport (syncReplyMode)."""
        self.tell_from_party: Callable[[OwedNotice], None] | None = None
        """Posts a DeliveryFailure notice about a message that we sent for somebody else (R-13)."""

    async def start(self) -> None:
        """Take up what a stop or a crash left in flight or unanswered, and the queues behind it."""

        def work(txn: Snapshot) -> list[Work]:
            return [
                *(MessageWork(entry.message_id, Restarted()) for entry in txn.list_in_flight()),
                *(NextWork(pair) for pair in txn.list_waiting_pairs()),
                *(RecoveryWork(message_id, Restarted()) for message_id in txn.list_recovering()),
            ]

        await self._run_apart("taking up what was under way", work)

    async def _run_apart(self, place: str, work: Callable[[Snapshot], Sequence[Work]]) -> None:
        """Carry out, in one step, what `work` finds; where that meets a bug, each by itself (R-43).

        Then only what the bug is in is left behind: a message of it is parked.
        """
        await self._bugs.contain(place, self.run(work), partial(self._run_each, place, work))

    async def _run_each(
        self, place: str, work: Callable[[Snapshot], Sequence[Work]], bug: Exception
    ) -> None:
        del bug
        for one in work(self._store.snapshot()):
            await self._bugs.contain(
                place, self.run(partial(_only, one)), partial(self._park_subject, one)
            )

    async def _park_subject(self, work: Work, bug: Exception) -> None:
        """What the bug is in; of a queue the message at its head, so that the others go on."""
        if isinstance(work, MessageWork):
            await self._park(work.message_id, bug)
        elif isinstance(work, NextWork):
            head = self._store.snapshot().find_next_queued(work.pair)
            if head is not None:
                await self._park(head.message_id, bug)

    async def _park(self, message_id: str, bug: Exception) -> None:
        """Set a message aside that met a bug on its way out (R-43).

        What a transport will not carry it says before a byte leaves, by a `LocalError`.
        """
        left = not isinstance(bug, LocalError)
        await self._persist(MessageWork(message_id, Parked(words_for(bug), left)))

    def drain(self) -> None:
        """Begin no further transmission; those under way may end."""
        self.is_draining = True
        self._messages.stop()
        self._recoveries.stop()

    def enqueue(self, txn: Transaction, draft: Draft, state: sending.Outbound, now: Now) -> Outcome:
        """In a submission's step: give the stored message its turn if the pair is free."""
        message = draft.message
        pair = message.pair
        entry = OutboundEntry(message.message_id, pair, message.agreement_id, state)
        work = (self._sender.queued(entry),)
        self._sender.room.take()
        outcome = self._steps.run(txn, now, work, entry=entry, draft=draft)
        self._failpoints.reach("before-commit")
        return outcome

    def send_again_as_new(self, txn: Transaction, message_id: str, reason: str) -> Outcome:
        """In the step that has looked: the content of that message goes out as a new one (R-41)."""
        return self._steps.run(txn, self._clock.now(), (AgainWork(message_id, reason),))

    def release(self, outcome: Outcome) -> None:
        """After the commit: set the timers and let departures and questions go."""
        if outcome.departures:
            self._failpoints.reach("after-commit")
        self._messages.settle(outcome.deadlines)
        self._recoveries.settle(outcome.recovery_deadlines)
        if self.is_draining:
            return
        for notice in outcome.owed:
            assert self.tell_from_party is not None, "only routes owe notices"
            self.tell_from_party(notice)
        for departure in outcome.departures:
            self._tasks.start(self._transmit_contained(departure), place="sending a message")
        for question in outcome.questions:
            self._questions.ask(question)

    async def on_acknowledgment(
        self, signal: Acknowledgment, profile: Profile, caller: Caller
    ) -> bool:
        """Take an acknowledgement or a receipt; False if it fits no message of ours (R-20)."""
        if self._find_acknowledged(self._store.snapshot(), signal, profile, caller) is None:
            return False

        def step(txn: Transaction) -> Outcome | None:
            entry = self._find_acknowledged(txn, signal, profile, caller)
            if entry is None:
                return None
            now = self._clock.now()
            work = []
            # A receipt alone shows as well that the message is there (seed 001 §2.1.1.2).
            if not signal.is_receipt or entry.state.status in HEARS_RECEIPTS:
                event = AckReceived(_detail(signal), is_from_to_party=signal.is_receipt)
                work.append(MessageWork(entry.message_id, event))
            if signal.is_receipt:
                received = Journal(Event.RECEIPT_RECEIVED)
                agreement = self._sender.agreement(entry.agreement_id)
                row = message_row(self._sender.rows, agreement, entry.message_id, received, now)
                txn.append((row,))
            return self._steps.run(txn, now, work, entry=entry)

        return await self.take(step)

    async def on_error(self, signal: ErrorSignal, profile: Profile, caller: Caller) -> bool:
        """Take an ErrorList; False if it fits no message of ours (R-20)."""
        if self._find_fitting(self._store.snapshot(), signal.header, profile, caller) is None:
            return False
        events = tuple(map(_error_received, signal.errors))

        def step(txn: Transaction) -> Outcome | None:
            entry = self._find_fitting(txn, signal.header, profile, caller)
            if entry is None:
                return None
            work = [MessageWork(entry.message_id, event) for event in events]
            return self._steps.run(txn, self._clock.now(), work, entry=entry)

        return await self.take(step)

    def _find_acknowledged(
        self, snapshot: Snapshot, signal: Acknowledgment, profile: Profile, caller: Caller
    ) -> OutboundEntry | None:
        """The message, unless its Acknowledgment element says that a stranger has it (I29)."""
        entry = self._find_fitting(snapshot, signal.header, profile, caller)
        if entry is None:
            return None
        agreement = self._sender.agreement(entry.agreement_id)
        return entry if is_acknowledged_by_partner(signal, agreement) else None

    def is_acknowledged_by_another(
        self, signal: Acknowledgment, profile: Profile, caller: Caller
    ) -> bool:
        """Whether it fits a message of ours, but for who has it: a stranger (I29)."""
        snapshot = self._store.snapshot()
        return (
            self._find_fitting(snapshot, signal.header, profile, caller) is not None
            and self._find_acknowledged(snapshot, signal, profile, caller) is None
        )

    def is_ours(self, message_id: str) -> bool:
        """Whether a message of ours has this id, under an agreement that is configured."""
        entry = self._store.snapshot().find_outbound(message_id)
        return entry is not None and self._sender.find_agreement(entry.agreement_id) is not None

    def _find_fitting(
        self, snapshot: Snapshot, header: SignalHeader, profile: Profile, caller: Caller
    ) -> OutboundEntry | None:
        """The message that the signal is about, if its caller may speak about it (R-20, R-44).

        RefToMessageId, the names, the profile and what the caller shows must fit the agreement of
        the message; and the signal names that agreement, or none.
        """
        entry = snapshot.find_outbound(header.ref_to_message_id)
        agreement = None if entry is None else self._sender.find_agreement(entry.agreement_id)
        if entry is None or agreement is None:
            return None  # Nobody's, or settled under an agreement that is configured no more.
        fits = (
            agreement.profile is profile
            and is_from_partner(header, agreement)
            and is_entitled(caller, agreement)
            and header.agreement_id in ("", _name_on_wire(snapshot, entry, agreement))
        )
        return entry if fits else None

    async def take(
        self, step: Callable[[Transaction], Outcome | None], *, waits_for_space: bool = False
    ) -> bool:
        """Carry out the step of something that arrived; False if it fits nothing of ours.

        Raises `StoreFull`, unless it `waits_for_space` since nobody would come again.
        """

        def noted(txn: Transaction) -> Outcome | None:
            outcome = step(txn)
            if outcome is not None:
                self._failpoints.reach("before-verdict")
            return outcome

        if waits_for_space:
            outcome = await persist(self._group, noted)
        else:
            outcome = await self._group.transact(noted)
        if outcome is None:
            return False
        self._failpoints.reach("after-verdict")
        self.release(outcome)
        return True

    def on_response(
        self, txn: Transaction, message: Message, now: Now, caller: Caller
    ) -> Outcome | None:
        """In the step that stores an inbound message: what it says about the one it answers.

        A business response shows that the request arrived (seed 001 §1.3.3 (8b); in `rm-2000`
        only the acknowledgement does) and ends the wait for it (level 5). The caller releases
        the outcome after the commit; None where the message answers none of ours.
        """
        if message.ref_to_message_id is None:
            return None
        entry = txn.find_outbound(message.ref_to_message_id)
        if entry is None or message.pair != Pair(entry.pair.to_party, entry.pair.from_party):
            return None  # What we carry for others is no answer to us, nor the other way round.
        agreement = self._sender.find_agreement(entry.agreement_id)
        if agreement is None or not is_entitled(caller, agreement):
            return None  # The message stands under another agreement than what it answers.
        work: list[Work] = []
        is_known = entry.state.status is OutboundStatus.ACKNOWLEDGED and entry.state.has_arrived
        is_news = not is_known and entry.state.exposure is not Exposure.NEVER
        if is_news and agreement.profile.response_acknowledges:
            detail = f"on the business response {message.message_id}"
            event = AckReceived(detail, is_from_to_party=True)
            work.append(MessageWork(entry.message_id, event))
        if agreement.terms.recovery.response_within_s is not None:
            work.append(RecoveryWork(entry.message_id, recovering.ResponseReceived()))
        return self._steps.run(txn, now, work, entry=entry) if work else None

    async def sweep(self) -> None:
        """Tell messages that their time has passed (R-08), or that of their response (level 5)."""
        at = self._clock.at()
        snapshot = self._store.snapshot()

        def overdue(txn: Snapshot) -> list[Work]:
            entries = txn.list_overdue(at, OVERDUE_BATCH)
            return [MessageWork(entry.message_id, TimePassed()) for entry in entries]

        def unanswered(txn: Snapshot) -> list[Work]:
            due = txn.list_responses_due(at, OVERDUE_BATCH)
            return [RecoveryWork(name, _response_time_passed(txn, name)) for name in due]

        if snapshot.list_overdue(at, 1):
            await self._run_apart("ending what is overdue", overdue)
        # Behind it, since what expired before it left has no response to ask about.
        if snapshot.list_responses_due(at, 1):
            await self._run_apart("ending what is overdue", unanswered)

    async def send_again(self, message_id: str) -> Transmission | None:
        """Transmit the stored package of a message once more, beside the machine of the message.

        For a response that the partner asks for again; None where it was purged meanwhile, or
        where the application was told that it will not arrive.
        """
        snapshot = self._store.snapshot()
        entry = snapshot.find_outbound(message_id)
        if entry is None or not await self._may_leave_again(entry):
            return None
        package, payloads = read_package(snapshot, message_id)
        body = PackageBody(package, payloads, self._spool)
        agreement = self._sender.agreement(entry.agreement_id)
        outgoing = Outgoing(
            agreement.send_to,
            package.content_type,
            body,
            message_id,
            leaves_once=agreement.terms.leaves_once,
        )
        return await self._transport.send(outgoing)

    async def _may_leave_again(self, entry: OutboundEntry) -> bool:
        """Before a copy leaves, the state says that it may have (I24); on a full disk none does."""
        if sent_beside(entry.state) == entry.state:
            return True

        def step(txn: Transaction) -> bool:
            now = txn.find_outbound(entry.message_id)
            after = None if now is None else sent_beside(now.state)
            if after is not None:
                txn.put_outbound(entry.message_id, after, at=self._clock.at())
            return after is not None

        try:
            return await self._group.transact(step)
        except StoreFull:
            return False

    async def run(self, work: Callable[[Transaction], Sequence[Work]]) -> None:
        """Carry out, in one step, what `work` finds there is to do.

        Raises what `work` raises (`LocalError`, before it writes) and `StoreFull`.
        """

        def step(txn: Transaction) -> Outcome:
            return self._steps.run(txn, self._clock.now(), work(txn))

        self.release(await self._group.transact(step))

    async def _transmit_contained(self, departure: Departure) -> None:
        """Whatever the bytes of the message or the answer of its partner meet ends here."""
        await self._bugs.contain(
            "sending a message",
            self._transmit(departure),
            partial(self._park, departure.message_id),
            message_id=departure.message_id,
        )

    async def _transmit(self, departure: Departure) -> None:
        self._failpoints.reach("before-transmit")
        package, payloads = departure.package, departure.payloads
        if package is None or payloads is None:
            package, payloads = read_package(self._store.snapshot(), departure.message_id)
        agreement = departure.agreement
        endpoint = endpoint_of(agreement, departure.attempt)
        reply = None if agreement.terms.sync_reply_mode is SyncReplyMode.NONE else _Reply()
        outgoing = Outgoing(
            endpoint,
            package.content_type,
            PackageBody(package, payloads, self._spool),
            departure.message_id,
            None if reply is None else reply.take,
            leaves_once=agreement.terms.leaves_once,
        )
        try:
            transmission = await self._transport.send(outgoing)
        except StoreFull as full:
            # A payload could not be read for now: what left of it is not known.
            transmission = Transmission(TransportOutcome.UNKNOWN, bytes_left=True, detail=str(full))
        self._failpoints.reach("after-transmit")
        await self._report(departure.message_id, Transmitted(departure.attempt, transmission))
        if reply is not None and transmission.outcome is TransportOutcome.ACCEPTED:
            await self._take_reply(endpoint, reply, Answered(departure.message_id, agreement.id))

    async def _take_reply(self, endpoint: str, reply: "_Reply", answered: Answered) -> None:
        """What came back in the answer is a package like any other (seed 001 §1.2.2).

        But it may speak of the message that was posted alone (R-44).
        """
        if reply.content_type is None or self.receive is None:
            return
        scheme = endpoint.partition(":")[0]
        request = Request(reply.content_type, len(reply.body), endpoint, scheme)
        await self.receive(request, reply.chunks(), answered)

    async def _report(self, message_id: str, event: SendingEvent) -> None:
        """Tell the machine what happened; it has to know, if need be once there is space."""
        await self._persist(MessageWork(message_id, event))

    async def _persist(self, work: MessageWork | RecoveryWork) -> None:
        def step(txn: Transaction) -> Outcome:
            # With its verdict a message may be forgotten while a transmission of it waits.
            entry = txn.find_outbound(work.message_id)
            known = () if entry is None else (work,)
            return self._steps.run(txn, self._clock.now(), known, entry=entry)

        self.release(await persist(self._group, step))

    def _message_is_due(self, message_id: str, due_ns: int) -> None:
        self._ring(MessageWork(message_id, DeadlineReached(due_ns)))

    def _recovery_is_due(self, message_id: str, due_ns: int) -> None:
        self._ring(RecoveryWork(message_id, DeadlineReached(due_ns)))

    def _ring(self, work: MessageWork | RecoveryWork) -> None:
        self._bugs.start(
            "waiting for a partner",
            partial(self._persist, work),
            partial(self._park_subject, work),
            message_id=work.message_id,
        )


def _name_on_wire(snapshot: Snapshot, entry: OutboundEntry, agreement: Agreement) -> str:
    """TPAId or CPAId of the message: of what we send for others its own, not our route's."""
    if not agreement.is_route:
        return agreement.id
    taken_over = snapshot.find_inbound(MessageKey(*entry.pair, entry.message_id))
    return agreement.id if taken_over is None else taken_over.agreement_id


def _response_time_passed(snapshot: Snapshot, message_id: str) -> recovering.ResponseTimePassed:
    entry = snapshot.find_outbound(message_id)
    assert entry is not None, f"{message_id} waits for a response and is not stored"
    return recovering.ResponseTimePassed(has_left=entry.state.exposure is not Exposure.NEVER)


def _only(work: Work, txn: Transaction) -> list[Work]:
    del txn
    return [work]


class _Reply:
    """A package that came back in the answer of a transport."""

    def __init__(self) -> None:
        self.content_type: str | None = None
        self.body = b""

    def take(self, content_type: str, body: bytes) -> None:
        self.content_type, self.body = content_type, body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body


def _detail(signal: Acknowledgment) -> str | None:
    """What the acknowledgement says beyond "received and persisted" (seed 004 level 0)."""
    if signal.is_receipt:
        return "delivery receipt"
    if signal.status == PLAIN_ACK:
        return None
    said = signal.status.assurance.value
    return f"{said}, passed on" if signal.status.is_passed_on else said


def _error_received(entry: ErrorEntry) -> ErrorReceived:
    text = ": ".join(part for part in (entry.code_text, entry.description) if part)
    return ErrorReceived(entry.code, entry.severity, entry.min_retry_s, text)
