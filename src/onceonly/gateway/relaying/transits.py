"""Relay mode outside of steps: copies are sent on, and the next hop's signals are sent back (R-13).

A copy is stored before its transport is answered, and sent on after the commit (`steps.transit`).
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from onceonly.gateway.bugs import Bugs, words_for
from onceonly.gateway.desk import Desk
from onceonly.gateway.outgoing.heard import Heard as HeardAnswer
from onceonly.gateway.outgoing.replies import IN_THE_ANSWER
from onceonly.gateway.relaying.held import BUSY, Held, Waiting, answer_into
from onceonly.gateway.relaying.upstream import Upstream
from onceonly.gateway.tasks import Tasks
from onceonly.message.agreement import Route
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey
from onceonly.message.message import AckRequested, Message
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, ErrorSignal, Verdict
from onceonly.message.word import changed
from onceonly.protocol import relaying
from onceonly.protocol.effects import (
    AcknowledgeUpstream,
    AnswerUpstream,
    Forward,
    Journal,
    OpenIncident,
)
from onceonly.protocol.events import Outcome, Restarted, Transmission
from onceonly.protocol.relaying import ForwardEnded, ForwardParked, RelayingEvent, TransitStatus
from onceonly.steps import transit
from onceonly.steps.authority import Answered, Caller
from onceonly.steps.ground import Ground
from onceonly.steps.routes import Passage
from onceonly.steps.transit import Heard
from onceonly.steps.transmission import passing_headers
from onceonly.steps.upstream import Subject, acknowledgment_of_hop, acknowledgment_upstream
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.entries import StoredPayload, TransitEntry
from onceonly.store.contract.store import Transaction
from onceonly.transport.transport import Answer as TransportAnswer

FORWARDING = "sending a message on"
"""What was being done when a bug was met, in words for counts and rows."""

FORWARDS_MAX = 64
"""Most copies that are being sent to next hops at the same time: more connections than one peer
usually accepts, and few enough file handles for their payloads."""

WAITING_MAX = 4_096
"""Most copies that wait to be sent on. If there are more, the previous hop is told to come again,
before anything is stored (R-27)."""


class Transits:
    """Runs every message that passes through this gateway in relay mode."""

    def __init__(
        self,
        *,
        desk: Desk,
        upstream: Upstream,
        tasks: Tasks,
        bugs: Bugs,
        held: Held,
    ) -> None:
        self._desk = desk
        self._held = held
        self._upstream = upstream
        self._tasks = tasks
        self._bugs = bugs
        self._forwards = asyncio.Semaphore(FORWARDS_MAX)
        self._waiting = 0

    async def start(self) -> None:
        """Send on what a stop or a crash left without an answer from the next hop."""
        await self._bugs.contain(FORWARDING, self._take_up_all(), _leave_it)

    async def _take_up_all(self) -> None:
        for entry in self._desk.snapshot().list_forwarding():
            route = self._desk.house.routes.find(entry.route_id)
            if route is None:
                continue  # A relay need not go on: the origin sends again, on another way (S3-22).
            _, effects = relaying.step(entry.state, Restarted(), route.terms)
            self._carry_out(Heard(entry, effects))

    async def take(self, passage: Passage, *, answers: Waiting | None = None) -> None:
        """Store one copy and send it on. Raises `RemoteError` or `StoreFull`.

        `answers` is the held connection of the other direction that waits for it.
        """
        if self._waiting >= WAITING_MAX:
            raise RemoteError(ErrorCode.TRANSIENT_ERROR, f"{self._waiting} messages wait here")
        heard = await self._desk.transact(
            lambda txn, ground: transit.arrive(txn, ground, passage), point="commit"
        )
        if answers is not None and await self._answer_with(heard, passage, answers):
            return
        self._carry_out(heard, package=passage.package, payloads=passage.payloads)

    async def take_held(self, passage: Passage) -> TransportAnswer:
        """Like `take`, for a previous hop that waits: what the next hop answers is its answer."""
        if not self._held.has_room:
            return BUSY
        key = passage.route.id, passage.message.message_id
        await self.take(passage)
        # The copy leaves in a task, which has not begun: nobody ends the wait before it begins.
        return await self._held.wait(*key, self._held.open(*key))

    async def _answer_with(self, heard: Heard, passage: Passage, answers: Waiting) -> bool:
        """Give the copy to the connection that waits; False if it has to go by itself."""
        headers = passing_headers(passage.route, passage.hop - 1)
        package, payloads = passage.package, passage.payloads
        if not await answer_into(self._desk, answers, package, payloads, headers):
            return False
        for effect in heard.effects:
            if isinstance(effect, Forward):
                await self._tell(heard.entry, ForwardEnded(effect.copy, IN_THE_ANSWER))
        return True

    def find(self, signal: Verdict, profile: Profile, caller: Caller) -> TransitEntry | None:
        """The message in transit of which the signal speaks, if its caller may."""
        routes = self._desk.house.routes.leading_to(signal.header, profile, caller)
        return transit.find_heard_of(self._desk.snapshot(), routes, signal.header)

    async def hear(self, signal: Verdict, profile: Profile, caller: Caller) -> Heard | None:
        """Note what a signal of a next hop says about a message; None if it fits none in transit.

        Its names, its caller and the agreement must fit those of the message (R-20, R-44).
        """
        if self.find(signal, profile, caller) is None:
            return None
        routes = self._desk.house.routes.leading_to(signal.header, profile, caller)

        def step(txn: Transaction, ground: Ground) -> Heard | None:
            entry = transit.find_heard_of(txn, routes, signal.header)
            return None if entry is None else transit.hear(txn, ground, entry, signal)

        return await self._desk.transact(step)

    async def take_signal(
        self, signal: Acknowledgment | ErrorSignal, profile: Profile, caller: Caller
    ) -> bool:
        """Take a signal that the next hop itself gives; False if it fits no message in transit.

        Where signals travel from party to party, it can speak of its own hop only (R-32).
        """
        if not profile.has_routing_headers and isinstance(signal, Acknowledgment):
            if signal.next_element is None:
                return False
            signal = changed(signal, element=None)
        heard = await self.hear(signal, profile, caller)
        if heard is None:
            return False
        if isinstance(signal, Acknowledgment) and signal.is_receipt:
            self._tasks.start(self._relay_receipt(heard.entry, signal))
        self._carry_out(heard, signal=signal)
        return True

    async def take_response(self, response: Message, caller: Caller) -> None:
        """Note that a business response shows that its request arrived (seed 001 §1.3.3 (8b)).

        Nothing is sent upstream for it: the response itself goes there.
        """
        await self._desk.persist(
            lambda txn, ground: transit.hear_response(txn, ground, response, caller)
        )

    def _carry_out(
        self,
        heard: Heard,
        *,
        signal: Acknowledgment | ErrorSignal | None = None,
        package: Package | None = None,
        payloads: Sequence[StoredPayload] = (),
    ) -> None:
        """Send what the effects ask for; called after the commit."""
        entry = heard.entry
        for effect in heard.effects:
            match effect:
                case Forward(copy):
                    self._waiting += 1
                    self._bugs.start(
                        FORWARDING,
                        partial(self._forward, entry, copy, package, payloads),
                        partial(self._park, entry, copy),
                        message_id=entry.key.message_id,
                    )
                case AcknowledgeUpstream(is_of_hop=True):
                    if _answers_hop(entry, self._subject(entry).route):
                        self._tasks.start(self.acknowledge_hop(self._subject(entry)))
                case AcknowledgeUpstream():
                    assert isinstance(signal, Acknowledgment), "only one brings another"
                    self._tasks.start(self._relay_acknowledgment(entry, signal))
                case AnswerUpstream():
                    self._tasks.start(self._answer(entry, effect, signal))
                case Journal() | OpenIncident():
                    pass  # Written in the step.
                case _:
                    raise AssertionError(f"{effect} is no effect of a relay")

    async def _forward(
        self,
        entry: TransitEntry,
        copy: int,
        package: Package | None,
        payloads: Sequence[StoredPayload],
    ) -> None:
        """Transmit one copy, once, tell the machine how that ended, and take what came back."""
        route, message_id = self._subject(entry).route, entry.key.message_id
        reply = HeardAnswer() if route.profile.reads_every_answer else None
        transmission: Transmission | None = None
        try:
            try:
                async with self._forwards:
                    transmission = await self._transmit(entry, package, payloads, reply)
            except StoreFull as full:
                # A payload could not be read for now; it is not known whether bytes left.
                transmission = Transmission(Outcome.UNKNOWN, bytes_left=True, detail=str(full))
            finally:
                self._waiting -= 1
            if transmission is None:
                return
            await self._tell(entry, ForwardEnded(copy, transmission))
            if reply is not None and transmission.outcome is Outcome.ACCEPTED:
                await self._desk.take_reply(route.send_to, reply, Answered(message_id, route.id))
        finally:
            self._held.end(route.id, message_id, transmission, reply)

    async def _park(self, entry: TransitEntry, copy: int, bug: Exception) -> None:
        """A copy met a bug of ours on its way out; no restart takes it up (R-43)."""
        await self._tell(entry, ForwardParked(copy, words_for(bug)))

    async def _tell(self, entry: TransitEntry, event: RelayingEvent) -> None:
        heard = await self._desk.persist(
            lambda txn, ground: transit.happen(
                txn, ground, entry.route_id, entry.key.message_id, event
            )
        )
        if heard is not None:
            self._carry_out(heard)

    async def take_up_parked(self, key: MessageKey, reason: str) -> bool:
        """An operator asks for it: send the stored copy on once more; False if there is none.

        Raises `StoreFull`.
        """
        heard = await self._desk.transact(
            lambda txn, ground: transit.take_up_parked(txn, ground, key, reason)
        )
        if heard is None:
            return False
        self._carry_out(heard)
        return True

    async def _transmit(
        self,
        entry: TransitEntry,
        package: Package | None,
        payloads: Sequence[StoredPayload],
        reply: HeardAnswer | None,
    ) -> Transmission | None:
        self._desk.failpoints.reach("before-transmit")
        if package is None:
            snapshot = self._desk.snapshot()
            place = entry.route_id, entry.key.message_id
            if snapshot.find_transit(*place) is None:
                return None  # Its time passed while it waited, and it was forgotten.
            package = snapshot.get_transit_package(*place)
            payloads = snapshot.list_transit_payloads(*place)
        route = self._subject(entry).route
        # The previous hop expects no answer to it, so it would not send it again.
        is_unanswered = entry.state.status is TransitStatus.SENT
        is_hop_answered = _answers_hop(entry, route)
        transmission = await self._desk.forward(
            route.send_to,
            package,
            payloads,
            entry.key.message_id,
            leaves_once=is_unanswered and not is_hop_answered,
            headers=passing_headers(route, entry.hop - 1),
            take_reply=None if reply is None else reply.take,
        )
        self._desk.failpoints.reach("after-transmit")
        return transmission

    async def _relay_acknowledgment(self, entry: TransitEntry, signal: Acknowledgment) -> None:
        self._desk.failpoints.reach("before-acknowledge")
        await self._pass_on(entry, signal, Event.ACK_RELAYED)
        self._desk.failpoints.reach("after-acknowledge")

    async def acknowledge_hop(self, subject: Subject) -> None:
        """Acknowledge our own hop, after the next one acknowledged its own (`ebms-2.0`)."""
        self._desk.failpoints.reach("before-acknowledge")
        package = acknowledgment_of_hop(self._desk.ground(), subject)
        await self._upstream.send(subject, package, Event.ACK_RELAYED)
        self._desk.failpoints.reach("after-acknowledge")

    async def _relay_receipt(self, entry: TransitEntry, signal: Acknowledgment) -> None:
        await self._pass_on(entry, signal, Event.RECEIPT_SENT)

    async def _pass_on(self, entry: TransitEntry, signal: Acknowledgment, event: Event) -> None:
        """Send upstream what the final party said, addressed for the previous hop."""
        subject = self._subject(entry)
        package = acknowledgment_upstream(
            self._desk.ground(),
            subject,
            element=transit.element_upstream(entry, signal, subject),
            status=signal.status,
            is_receipt=signal.is_receipt,
        )
        await self._upstream.send(subject, package, event)

    async def _answer(
        self,
        entry: TransitEntry,
        answer: AnswerUpstream,
        signal: Acknowledgment | ErrorSignal | None,
    ) -> None:
        subject = self._subject(entry)
        if isinstance(signal, ErrorSignal):
            await self._upstream.send_error(subject, answer, Event.ERROR_RELAYED, signal.semantics)
        else:
            await self._upstream.send_error(subject, answer, Event.ERROR_SENT)

    def _subject(self, entry: TransitEntry) -> Subject:
        return transit.subject_of(self._desk.house, entry)


def _answers_hop(entry: TransitEntry, route: Route) -> bool:
    """Whether the previous hop asked us, as the next MSH, for an acknowledgement (`ebms-2.0`)."""
    is_asked = entry.ack_requested is AckRequested.UNSIGNED
    return is_asked and route.profile.acknowledges_on_request


async def _leave_it(bug: Exception) -> None:
    """Do nothing: the origin sends again what was not taken up."""
    del bug
