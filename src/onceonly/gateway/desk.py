"""The desk: it runs steps, and after the commit it sends what they want to send.

A step cannot send (`steps` may import nothing that does), and the result of a step is available
only after its commit. So callers need not care for the rule "nothing leaves before it is durable"
(R-02, I3, I14). Everything is sent by the desk, or by the office below it; a `Leaving` of a step is
released here and nowhere else.

Deadlines are not durable: after a restart everything in flight gets `Restarted` instead, and is
transmitted or asked again at once.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import date
from functools import partial

from onceonly.gateway.bugs import Bugs, words_for
from onceonly.gateway.deviations import Deviations
from onceonly.gateway.office import Office
from onceonly.gateway.outgoing.deadlines import Deadlines, Key
from onceonly.gateway.outgoing.failure_notices import FailureNotices
from onceonly.gateway.outgoing.heard import Heard
from onceonly.gateway.outgoing.package_body import PackageBody, read_package
from onceonly.gateway.outgoing.questions import Questions
from onceonly.gateway.outgoing.replies import Replies, read_whole
from onceonly.gateway.surroundings import Surroundings
from onceonly.gateway.tasks import Tasks
from onceonly.message.agreement import Agreement
from onceonly.message.errors import LocalError
from onceonly.message.package import Package
from onceonly.message.signals import SoapFault
from onceonly.protocol.events import DeadlineReached, Outcome, Transmission, Transmitted
from onceonly.protocol.outbound import sent_beside
from onceonly.steps import conversations, expiries, faults, holding, sending, taking_up, verdicts
from onceonly.steps.authority import Answered
from onceonly.steps.deviations import day_of
from onceonly.steps.ground import Ground, House
from onceonly.steps.leaving import Departure, Leaving, Released
from onceonly.steps.taking_up import UnderWay
from onceonly.steps.transmission import endpoint_of, message_headers
from onceonly.steps.work import MessageWork, RecoveryWork, Work
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.entries import OutboundEntry, StoredPayload
from onceonly.store.contract.store import Snapshot, Store, Transaction
from onceonly.store.contract.waits import Waiter
from onceonly.store.group import GroupCommit
from onceonly.transport.transport import Answer, Headers, Outgoing, Request, TakeReply

ReceiveReply = Callable[[Request, AsyncIterator[bytes], Answered], Awaitable[Answer]]
"""Takes a package that came in the answer to one of our POSTs."""

SENDING = "sending a message"
OVERDUE = "ending what is overdue"
FREED = "sending what no longer awaits its conversation"
"""What was being done when a bug was met, in words for counts and rows."""


class Desk(Office):
    """Runs steps as the office does, and releases what they want to send."""

    def __init__(
        self,
        *,
        house: House,
        store: Store,
        group: GroupCommit,
        around: Surroundings,
        tasks: Tasks,
        bugs: Bugs,
    ) -> None:
        super().__init__(house=house, store=store, group=group, around=around)
        self._spool = around.spool
        self._tasks = tasks
        self._bugs = bugs
        self._deadlines = Deadlines(around.clock, self._is_due)
        self._receive: ReceiveReply | None = None
        self.replies = Replies(around.transport)
        """Exchanges that wait for the application's answer."""
        self._fault_runs = faults.FaultRuns()
        self.questions = Questions(office=self, tasks=tasks)
        self.failure_notices = FailureNotices(office=self, bugs=bugs)
        self.deviations = Deviations(office=self, bugs=bugs)
        self._looked_on: date | None = None
        """The day on which it was last looked whether certificates that sign end soon."""
        self._free_incoming: list[Callable[[], Awaitable[None]]] = []
        self.is_draining = False
        """If True, no further transmission is begun."""

    def listen(self, receive: ReceiveReply) -> None:
        """Give packages that come back in the answer of a transport to `receive`.

        So packages also come in through the answers to our own calls (syncReplyMode).
        """
        self._receive = receive
        self.questions.listen(self.take_reply)

    def find_under_way(self) -> UnderWay:
        """What a stop or a crash left; called before anybody can send us a package."""
        return taking_up.under_way(self.snapshot())

    async def start(self, left: UnderWay) -> None:
        """Go on with messages that a stop or a crash left unanswered, and with the queues."""
        await self._free_unordered()
        work = partial(taking_up.left_under_way, left=left)
        await self._run_apart("taking up what was under way", work)

    async def _free_unordered(self) -> bool:
        """Let go what awaits an order that is agreed no more, batch by batch; whether any did."""
        freed = False
        if self.snapshot().list_agreements_awaiting_order():
            while await self.persist(conversations.free_unordered):
                freed = True
        return freed

    async def take_up_agreements(self) -> None:
        """Go on with what no longer waits under changed agreements; called after a reload."""
        if await self._free_unordered():
            self._tasks.start(self._run_apart(FREED, taking_up.queues), place=FREED)
        for free in self._free_incoming:
            await free()
        self._looked_on = None

    def when_agreements_change(self, free: Callable[[], Awaitable[None]]) -> None:
        """Call `free` after a reload, for what came in and no longer waits."""
        self._free_incoming.append(free)

    async def sweep(self) -> None:
        """Tell messages that their time has passed (R-08), or their response is late (level 5)."""
        at = self.clock.at()
        snapshot = self.snapshot()
        if taking_up.overdue(snapshot, at, 1):
            await self._run_apart(OVERDUE, partial(taking_up.overdue, at=at))
        # After it, since a message that expired before it left has no response to ask about.
        if taking_up.unanswered(snapshot, at, 1):
            await self._run_apart(OVERDUE, partial(taking_up.unanswered, at=at))
        if snapshot.list_gaps_due(at, 1):
            await self.transact(holding.tell_gaps)
        if self._looked_on != day_of(at) and expiries.has_signers(self.house):
            await self.transact(expiries.note)
            self._looked_on = day_of(at)

    def waits_for_word(self, message_id: str) -> bool:
        """Whether a message of ours with this id waits for something; asks memory alone."""
        return self._deadlines.has((Waiter.MESSAGE, message_id))

    def find_due_ns(self, message_id: str) -> int | None:
        """When the machine of a message of ours acts next by itself, in monotonic nanoseconds.

        None where it waits for nothing; for any thread.
        """
        return self._deadlines.find((Waiter.MESSAGE, message_id))

    def drain(self) -> None:
        """Begin no further transmission or notice; owed ones wait for the next start."""
        self.is_draining = True
        self._deadlines.stop()

    async def close(self) -> None:
        """Cut transmissions that are under way, and send nothing more."""
        await self.replies.close()

    async def run(self, work: Callable[[Transaction, Ground], Sequence[Work]]) -> None:
        """Carry out, in one step, the work that `work` returns.

        Raises what `work` raises (`LocalError`, before it writes) and `StoreFull`.
        """
        await self.transact(lambda txn, ground: sending.run(txn, ground, work(txn, ground)))

    def _release(self, result: Leaving | Released) -> None:
        """Set the timers and send what the step wants to send; called after its commit."""
        leaving = result if isinstance(result, Leaving) else result.leaving
        if leaving is None:
            return
        if leaving.departures:
            self.failpoints.reach("after-commit")
        self._deadlines.settle(leaving.waits)
        if self.is_draining:
            return
        for notice in leaving.owed:
            self.failure_notices.release(notice)
        for departure in leaving.departures:
            self._tasks.start(self._transmit_contained(departure), place=SENDING)
        for question in leaving.questions:
            self.questions.ask(question)

    def check(
        self,
        endpoint: str,
        package: Package,
        payloads: Sequence[StoredPayload],
        message_id: str,
    ) -> None:
        """Raise `LocalError` if the transport can never carry the package there (R-43)."""
        body = PackageBody(package, payloads, self._spool)
        self._transport.check(Outgoing(endpoint, package.content_type, body, message_id))

    async def forward(  # noqa: PLR0913 - because each says something else of one transmission
        self,
        endpoint: str,
        package: Package,
        payloads: Sequence[StoredPayload],
        message_id: str = "",
        *,
        leaves_once: bool = False,
        headers: Headers = (),
        take_reply: TakeReply | None = None,
    ) -> Transmission:
        """Transmit once something that is not our message: one of others, or a bare payload."""
        body = PackageBody(package, payloads, self._spool)
        outgoing = Outgoing(
            endpoint,
            package.content_type,
            body,
            message_id,
            take_reply,
            leaves_once=leaves_once,
            headers=headers,
        )
        return await self._transport.send(outgoing)

    async def read_answer(
        self, package: Package, payloads: Sequence[StoredPayload]
    ) -> bytes | None:
        """A package of others as the body of an answer; None if it is too long for one."""
        return await read_whole(PackageBody(package, payloads, self._spool))

    async def send_copy(self, message_id: str) -> Transmission | None:
        """Transmit the stored package of a message once more, without its machine.

        For a response that the partner asks for again. None if it was purged in between, or if the
        application was told that it will not arrive.
        """
        snapshot = self.snapshot()
        entry = snapshot.find_outbound(message_id)
        if entry is None or not await self._may_leave_again(entry):
            return None
        package, payloads = read_package(snapshot, message_id)
        agreement = self.house.agreement(entry.agreement_id)
        return await self._send(agreement, 0, message_id, package, payloads)

    async def answer_with_copy(self, message_id: str) -> Answer | None:
        """A stored message once more, as the answer to its request; None as `send_copy` says.

        Also None if it is too long for an answer.
        """
        snapshot = self.snapshot()
        entry = snapshot.find_outbound(message_id)
        if entry is None or not await self._may_leave_again(entry):
            return None
        package, payloads = read_package(snapshot, message_id)
        content = await read_whole(PackageBody(package, payloads, self._spool))
        if content is None:
            return None
        agreement = self.house.agreement(entry.agreement_id)
        headers = message_headers(snapshot, agreement, message_id)
        return Answer(200, None, package.content_type, content, headers=headers)

    async def _may_leave_again(self, entry: OutboundEntry) -> bool:
        """Store that a copy may have left, before it leaves (I24); False if the disk is full."""
        if sent_beside(entry.state) == entry.state:
            return True
        try:
            return await self.transact(
                lambda txn, ground: verdicts.send_beside(txn, ground, entry.message_id)
            )
        except StoreFull:
            return False

    def _send(
        self,
        agreement: Agreement,
        attempt: int,
        message_id: str,
        package: Package,
        payloads: Sequence[StoredPayload],
        take_reply: TakeReply | None = None,
    ) -> Awaitable[Transmission]:
        """Send the package as that transmission of the message; 0: as a copy beside them."""
        outgoing = Outgoing(
            endpoint_of(agreement, attempt) if attempt else agreement.send_to,
            package.content_type,
            PackageBody(package, payloads, self._spool),
            message_id,
            take_reply,
            leaves_once=agreement.terms.leaves_once,
            headers=message_headers(self.snapshot(), agreement, message_id),
            attempt=attempt,
        )
        return self.replies.send(outgoing)

    async def _transmit_contained(self, departure: Departure) -> None:
        """Transmit; a bug that the message or the answer of its partner meets is contained."""
        await self._bugs.contain(
            SENDING,
            self._transmit(departure),
            partial(self._park, departure.message_id),
            message_id=departure.message_id,
        )

    async def _transmit(self, departure: Departure) -> None:
        self.failpoints.reach("before-transmit")
        package, payloads = departure.package, departure.payloads
        if package is None or payloads is None:
            package, payloads = read_package(self.snapshot(), departure.message_id)
        agreement, message_id = departure.agreement, departure.message_id
        endpoint = endpoint_of(agreement, departure.attempt)
        reply = Heard() if agreement.reads_answers else None
        take = None if reply is None else reply.take
        try:
            transmission = await self._send(
                agreement, departure.attempt, message_id, package, payloads, take
            )
        except StoreFull as full:
            # A payload could not be read for now; it is not known whether bytes left.
            transmission = Transmission(Outcome.UNKNOWN, bytes_left=True, detail=str(full))
        self.failpoints.reach("after-transmit")
        fault = reply.find_fault() if reply and agreement.profile.reads_every_answer else None
        if fault is not None:
            await self._take_fault(departure, transmission, fault)
            return
        self._fault_runs.taken(agreement)
        await self._tell(MessageWork(message_id, Transmitted(departure.attempt, transmission)))
        if reply is not None and transmission.outcome is Outcome.ACCEPTED:
            await self.take_reply(endpoint, reply, Answered(message_id, agreement.id))

    async def _take_fault(
        self, departure: Departure, transmission: Transmission, fault: SoapFault
    ) -> None:
        """The answer was a fault: it ends the transmission, and perhaps the message (R-36)."""
        agreement, message_id = departure.agreement, departure.message_id
        is_final = faults.refuses(fault, agreement.cpa.retriable_faults)
        is_repeated = is_final and self._fault_runs.refused(agreement, message_id)
        faulted = faults.Faulted(message_id, departure.attempt, transmission, fault, is_repeated)
        await self.persist(lambda txn, ground: faults.take(txn, ground, faulted))

    async def take_reply(self, endpoint: str, reply: Heard, answered: Answered) -> None:
        """Take a package from an answer like any other (seed 001 §1.2.2).

        But it may speak only about the message that was posted (R-44).
        """
        request = reply.request(endpoint)
        if request is not None and self._receive is not None:
            await self._receive(request, reply.chunks(), answered)

    def _tell(self, work: MessageWork | RecoveryWork) -> Awaitable[Leaving]:
        """Tell the machine what happened; if the disk is full, wait until it can be written."""
        return self.persist(lambda txn, ground: taking_up.tell(txn, ground, work))

    def _is_due(self, key: Key, due_ns: int) -> None:
        machine, message_id = key
        event = DeadlineReached(due_ns)
        work: MessageWork | RecoveryWork = (
            MessageWork(message_id, event)
            if machine is Waiter.MESSAGE
            else RecoveryWork(message_id, event)
        )
        self._bugs.start(
            "waiting for a partner",
            partial(self._tell, work),
            partial(self._park_subject, work),
            message_id=message_id,
        )

    async def _run_apart(self, place: str, work: Callable[[Snapshot], Sequence[Work]]) -> None:
        """Carry out, in one step, what `work` finds; after a bug, each in its own step (R-43).

        So only the work that contains the bug is not done, and its message is parked.
        """
        await self._bugs.contain(
            place, self.run(lambda txn, _: work(txn)), partial(self._run_each, place, work)
        )

    async def _run_each(
        self, place: str, work: Callable[[Snapshot], Sequence[Work]], bug: Exception
    ) -> None:
        del bug
        for one in work(self.snapshot()):
            await self._bugs.contain(
                place, self.run(partial(_only, one)), partial(self._park_subject, one)
            )

    async def _park_subject(self, work: Work, bug: Exception) -> None:
        """Park the message that meets the bug; of a queue its first, so that the others go on."""
        message_id = taking_up.subject_of(self.snapshot(), work)
        if message_id is not None:
            await self._park(message_id, bug)

    async def _park(self, message_id: str, bug: Exception) -> None:
        """Park a message that met a bug on its way out (R-43).

        After a `LocalError` no byte left: transports raise it before they send anything.
        """
        left = not isinstance(bug, LocalError)
        await self._tell(taking_up.park(message_id, words_for(bug), bytes_left=left))


def _only(work: Work, txn: Transaction, ground: Ground) -> list[Work]:
    del txn, ground
    return [work]
