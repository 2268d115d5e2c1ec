"""The sending side's life between commits: transmissions, questions, and what they report back.

Departures and questions leave only after the commit of their step. Deadlines are not durable:
after a restart everything in flight gets `Restarted` instead, and is transmitted or asked again
at once.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

from onceonly.gateway.bugs import Bugs, words_for
from onceonly.gateway.desk import Desk
from onceonly.gateway.receiving.failure_notices import FailureNotices
from onceonly.gateway.recovery.questions import Questions
from onceonly.gateway.sending.deadlines import Deadlines, Key
from onceonly.gateway.sending.package_body import PackageBody, read_package
from onceonly.gateway.tasks import Tasks
from onceonly.message.errors import LocalError
from onceonly.message.message import SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, ErrorSignal
from onceonly.protocol.events import (
    DeadlineReached,
    Transmission,
    Transmitted,
)
from onceonly.protocol.events import Outcome as TransportOutcome
from onceonly.protocol.outbound import sent_beside
from onceonly.steps import sending, taking_up, verdicts
from onceonly.steps.authority import Answered, Caller
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Departure, Leaving
from onceonly.steps.transmission import endpoint_of
from onceonly.steps.work import MessageWork, RecoveryWork, Work
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.entries import OutboundEntry
from onceonly.store.contract.store import Snapshot, Transaction
from onceonly.store.contract.waits import Machine
from onceonly.store.spool import Spool
from onceonly.transport.transport import Answer, Outgoing, Request, Transport

ReceiveReply = Callable[[Request, AsyncIterator[bytes], Answered], Awaitable[Answer]]
"""Takes a package that came in the answer to that POST of ours."""

SENDING = "sending a message"
OVERDUE = "ending what is overdue"
"""Where a bug was met, in words for counts and rows."""


class Dispatch:
    """Runs the sending side of every pair of this gateway."""

    def __init__(  # noqa: PLR0913 - because it lets whatever can leave go
        self,
        *,
        desk: Desk,
        spool: Spool,
        transport: Transport,
        questions: Questions,
        failure_notices: FailureNotices,
        tasks: Tasks,
        bugs: Bugs,
    ) -> None:
        self._desk = desk
        self._spool = spool
        self._transport = transport
        self._questions = questions
        self._failure_notices = failure_notices
        self._tasks = tasks
        self._bugs = bugs
        self._deadlines = Deadlines(desk.clock, self._is_due)
        self._receive: ReceiveReply | None = None
        self.is_draining = False
        """Begins no further transmission."""

    def listen(self, receive: ReceiveReply) -> None:
        """Give packages that come back in the answer of a transport to `receive`.

        The answers to our own calls are one more entrance (syncReplyMode).
        """
        self._receive = receive

    async def start(self) -> None:
        """Take up what a stop or a crash left in flight or unanswered, and the queues behind it."""
        await self._run_apart("taking up what was under way", taking_up.left_under_way)

    async def _run_apart(self, place: str, work: Callable[[Snapshot], Sequence[Work]]) -> None:
        """Carry out, in one step, what `work` finds; where that meets a bug, each by itself (R-43).

        Then only what the bug is in is left behind: a message of it is parked.
        """
        await self._bugs.contain(
            place, self.run(lambda txn, _: work(txn)), partial(self._run_each, place, work)
        )

    async def _run_each(
        self, place: str, work: Callable[[Snapshot], Sequence[Work]], bug: Exception
    ) -> None:
        del bug
        for one in work(self._desk.snapshot()):
            await self._bugs.contain(
                place, self.run(partial(_only, one)), partial(self._park_subject, one)
            )

    async def _park_subject(self, work: Work, bug: Exception) -> None:
        """What the bug is in; of a queue the message at its head, so that the others go on."""
        message_id = taking_up.subject_of(self._desk.snapshot(), work)
        if message_id is not None:
            await self._park(message_id, bug)

    async def _park(self, message_id: str, bug: Exception) -> None:
        """Set a message aside that met a bug on its way out (R-43).

        What a transport will not carry it says before a byte leaves, by a `LocalError`.
        """
        left = not isinstance(bug, LocalError)
        await self._tell(taking_up.park(message_id, words_for(bug), bytes_left=left))

    def drain(self) -> None:
        """Begin no further transmission; those under way may end."""
        self.is_draining = True
        self._deadlines.stop()

    def release(self, leaving: Leaving) -> None:
        """After the commit: set the timers and let departures and questions go."""
        if leaving.departures:
            self._desk.failpoints.reach("after-commit")
        self._deadlines.settle(leaving.waits)
        if self.is_draining:
            return
        for notice in leaving.owed:
            self._failure_notices.release(notice)
        for departure in leaving.departures:
            self._tasks.start(self._transmit_contained(departure), place=SENDING)
        for question in leaving.questions:
            self._questions.ask(question)

    async def on_acknowledgment(
        self, signal: Acknowledgment, profile: Profile, caller: Caller
    ) -> bool:
        """Take an acknowledgement or a receipt; False if it fits no message of ours (R-20)."""
        house, snapshot = self._desk.house, self._desk.snapshot()
        if verdicts.find_acknowledged(snapshot, house, signal, profile, caller) is None:
            return False
        return await self.take(
            lambda txn, ground: verdicts.acknowledge(txn, ground, signal, profile, caller)
        )

    async def on_error(self, signal: ErrorSignal, profile: Profile, caller: Caller) -> bool:
        """Take an ErrorList; False if it fits no message of ours (R-20)."""
        house, snapshot = self._desk.house, self._desk.snapshot()
        if verdicts.find_spoken_of(snapshot, house, signal.header, profile, caller) is None:
            return False
        return await self.take(
            lambda txn, ground: verdicts.refuse(txn, ground, signal, profile, caller)
        )

    async def take(
        self,
        step: Callable[[Transaction, Ground], Leaving | None],
        *,
        waits_for_space: bool = False,
    ) -> bool:
        """Carry out the step of something that arrived; False if it fits nothing of ours.

        Raises `StoreFull`, unless it `waits_for_space` since nobody would come again.
        """
        run = self._desk.persist if waits_for_space else self._desk.transact
        leaving = await run(step, point="verdict")
        if leaving is None:
            return False
        self.release(leaving)
        return True

    async def sweep(self) -> None:
        """Tell messages that their time has passed (R-08), or that of their response (level 5)."""
        at = self._desk.clock.at()
        snapshot = self._desk.snapshot()
        if taking_up.overdue(snapshot, at, 1):
            await self._run_apart(OVERDUE, partial(taking_up.overdue, at=at))
        # Behind it, since what expired before it left has no response to ask about.
        if taking_up.unanswered(snapshot, at, 1):
            await self._run_apart(OVERDUE, partial(taking_up.unanswered, at=at))

    async def send_again(self, message_id: str) -> Transmission | None:
        """Transmit the stored package of a message once more, beside the machine of the message.

        For a response that the partner asks for again; None where it was purged meanwhile, or
        where the application was told that it will not arrive.
        """
        snapshot = self._desk.snapshot()
        entry = snapshot.find_outbound(message_id)
        if entry is None or not await self._may_leave_again(entry):
            return None
        package, payloads = read_package(snapshot, message_id)
        agreement = self._desk.house.agreement(entry.agreement_id)
        outgoing = Outgoing(
            agreement.send_to,
            package.content_type,
            PackageBody(package, payloads, self._spool),
            message_id,
            leaves_once=agreement.terms.leaves_once,
        )
        return await self._transport.send(outgoing)

    async def _may_leave_again(self, entry: OutboundEntry) -> bool:
        """Before a copy leaves, the state says that it may have (I24); on a full disk none does."""
        if sent_beside(entry.state) == entry.state:
            return True
        try:
            return await self._desk.transact(
                lambda txn, ground: verdicts.send_beside(txn, ground, entry.message_id)
            )
        except StoreFull:
            return False

    async def run(self, work: Callable[[Transaction, Ground], Sequence[Work]]) -> None:
        """Carry out, in one step, what `work` finds there is to do.

        Raises what `work` raises (`LocalError`, before it writes) and `StoreFull`.
        """
        self.release(
            await self._desk.transact(
                lambda txn, ground: sending.run(txn, ground, work(txn, ground))
            )
        )

    async def _transmit_contained(self, departure: Departure) -> None:
        """Whatever the bytes of the message or the answer of its partner meet ends here."""
        await self._bugs.contain(
            SENDING,
            self._transmit(departure),
            partial(self._park, departure.message_id),
            message_id=departure.message_id,
        )

    async def _transmit(self, departure: Departure) -> None:
        self._desk.failpoints.reach("before-transmit")
        package, payloads = departure.package, departure.payloads
        if package is None or payloads is None:
            package, payloads = read_package(self._desk.snapshot(), departure.message_id)
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
        self._desk.failpoints.reach("after-transmit")
        ended = Transmitted(departure.attempt, transmission)
        await self._tell(MessageWork(departure.message_id, ended))
        if reply is not None and transmission.outcome is TransportOutcome.ACCEPTED:
            await self._take_reply(endpoint, reply, Answered(departure.message_id, agreement.id))

    async def _take_reply(self, endpoint: str, reply: "_Reply", answered: Answered) -> None:
        """What came back in the answer is a package like any other (seed 001 §1.2.2).

        But it may speak of the message that was posted alone (R-44).
        """
        if reply.content_type is None or self._receive is None:
            return
        scheme = endpoint.partition(":")[0]
        request = Request(reply.content_type, len(reply.body), endpoint, scheme)
        await self._receive(request, reply.chunks(), answered)

    async def _tell(self, work: MessageWork | RecoveryWork) -> None:
        """Tell the machine what happened; it has to know, if need be once there is space."""
        self.release(
            await self._desk.persist(lambda txn, ground: taking_up.tell(txn, ground, work))
        )

    def _is_due(self, key: Key, due_ns: int) -> None:
        machine, message_id = key
        event = DeadlineReached(due_ns)
        work: MessageWork | RecoveryWork = (
            MessageWork(message_id, event)
            if machine is Machine.MESSAGE
            else RecoveryWork(message_id, event)
        )
        self._bugs.start(
            "waiting for a partner",
            partial(self._tell, work),
            partial(self._park_subject, work),
            message_id=message_id,
        )


def _only(work: Work, txn: Transaction, ground: Ground) -> list[Work]:
    del txn, ground
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
