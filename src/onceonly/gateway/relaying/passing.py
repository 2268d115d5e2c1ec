"""Signals of the two ends that pass through us on their way (`ebms-2.0`).

In a profile without RoutingHeaders a signal goes from party to party, so it travels a route as a
message does, byte for byte, and is heard on its way: it may speak of a message that passed here, or
of one whose delivery we took over. What is for the next MSH is for us, and goes no further. A
signal that may not pass is never answered (R-20); it has one row.
"""

from onceonly.gateway.desk import Desk
from onceonly.gateway.outgoing.heard import Heard as HeardAnswer
from onceonly.gateway.outgoing.replies import IN_THE_ANSWER
from onceonly.gateway.relaying.held import BUSY, TAKEN, Held, answer_into
from onceonly.gateway.relaying.transits import Transits
from onceonly.gateway.relaying.upstream import Upstream
from onceonly.gateway.tasks import Tasks
from onceonly.message.agreement import Route
from onceonly.message.errors import RemoteError
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import AckRequested
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, ErrorSignal, Inquiry, Signal, Verdict
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import Outcome, Transmission
from onceonly.steps import verdicts
from onceonly.steps.authority import Answered, Caller, readings_by
from onceonly.steps.signals import outcome_row
from onceonly.steps.transit import subject_of
from onceonly.steps.transmission import passing_headers
from onceonly.steps.upstream import Subject, element_of_hop
from onceonly.store.contract.entries import TransitEntry
from onceonly.transport.transport import Answer as TransportAnswer
from onceonly.wire.envelope import Envelope, HopChange, boundary_for, pass_on


class PassingSignals:
    """Takes signals that are for somebody else, and sends them on."""

    def __init__(
        self, *, desk: Desk, transits: Transits, upstream: Upstream, tasks: Tasks, held: Held
    ) -> None:
        self._desk = desk
        self._transits = transits
        self._upstream = upstream
        self._tasks = tasks
        self._held = held

    async def take(self, route: Route, envelope: Envelope, caller: Caller) -> TransportAnswer:
        """Take a signal along the route, whose previous hop the caller is.

        Raises `StoreFull`.
        """
        signal = envelope.content
        assert isinstance(signal, Signal), "messages have a way of their own"
        subject = self._subject_of(route, signal, caller.hops + 2)
        try:
            self._desk.house.routes.check_passing(route, envelope.profile, caller.hops + 1)
            entry = self._find_entry(signal, envelope.profile, caller)
            package = self._package(envelope, signal, entry)
        except RemoteError as error:
            row = Journal(
                Event.REJECTED,
                error_code=error.code,
                severity=error.severity,
                reason=f"{_name_of(signal)} of {subject.route.id!r}: {error.description}",
            )
            await self._upstream.note_rejection(subject, row)
            return changed(TAKEN, error=error.code.value, reason=error.description)
        if isinstance(signal, Acknowledgment | ErrorSignal):
            await self._hear(signal, envelope.profile, caller)
        if package is None:
            if entry is not None and _is_asked(entry):
                answered = subject_of(self._desk.house, entry)
                self._tasks.start(self._transits.acknowledge_hop(answered))
            return TAKEN
        return await self._send_on(route, package, signal, subject, caller)

    async def hear_of_hop(
        self, signal: Acknowledgment, profile: Profile, caller: Caller
    ) -> TransitEntry | None:
        """Hear an acknowledgement of the next MSH that a business message carried.

        The message of which it speaks, if that passed here and its previous hop asked us as well.
        """
        entry = self._find_entry(signal, profile, caller)
        await self._hear(signal, profile, caller)
        return entry if entry is not None and _is_asked(entry) else None

    def _find_entry(self, signal: Signal, profile: Profile, caller: Caller) -> TransitEntry | None:
        if not isinstance(signal, Acknowledgment | ErrorSignal):
            return None
        found = (self._transits.find(one, profile, caller) for one in readings_by(caller, signal))
        return next(filter(None, found), None)

    async def _hear(self, signal: Verdict, profile: Profile, caller: Caller) -> None:
        """Tell whatever it speaks of: a message in transit, or one that we deliver."""
        for reading in readings_by(caller, signal):
            if await self._transits.hear(reading, profile, caller) is not None:
                return
            about = reading.header.ref_to_message_id
            if self._desk.snapshot().find_outbound(about) is not None:
                await self._hear_of_ours(reading, profile, caller)
                return

    async def _hear_of_ours(self, signal: Verdict, profile: Profile, caller: Caller) -> None:
        if isinstance(signal, Acknowledgment):
            await self._desk.transact(
                lambda txn, ground: verdicts.take_acknowledgment(
                    txn, ground, signal, profile, caller
                ),
                point="verdict",
            )
        else:
            await self._desk.transact(
                lambda txn, ground: verdicts.take_errors(txn, ground, signal, profile, caller),
                point="verdict",
            )

    def _package(
        self, envelope: Envelope, signal: Signal, entry: TransitEntry | None
    ) -> Package | None:
        """What goes on; None where all of it was for us. Raises `RemoteError` (NotSupported)."""
        change = HopChange()
        if isinstance(signal, Acknowledgment) and signal.next_element is not None:
            if signal.element is None:
                return None
            ground, about = self._desk.ground(), signal.header.ref_to_message_id
            is_owed = entry is not None and _is_asked(entry)
            change = HopChange(
                takes_acknowledgment=True,
                acknowledgment=element_of_hop(ground, about) if is_owed else None,
            )
        token = self._desk.ground().token(f"package {signal.header.message_id}")
        return pass_on(
            envelope,
            change,
            boundary=boundary_for(token),
            root_content_id=f"header-{token}",
        )

    async def _send_on(
        self, route: Route, package: Package, signal: Signal, subject: Subject, caller: Caller
    ) -> TransportAnswer:
        """Send it on, or answer with it whoever waits for it. One that waits itself is held."""
        headers = passing_headers(route, caller.hops + 1)
        waiting = self._held.find(caller.answered)
        if waiting is not None and await answer_into(self._desk, waiting, package, (), headers):
            await self._note(signal, subject, IN_THE_ANSWER)
            return TAKEN
        passing = self._pass(route, package, signal, subject, caller.hops + 1)
        if not (signal.header.wants_sync_reply and caller.awaits_an_answer):
            self._tasks.start(passing)
            return TAKEN
        if not self._held.has_room:
            passing.close()
            return BUSY
        message_id = signal.header.message_id
        held = self._held.open(route.id, message_id)
        self._tasks.start(passing)
        answer = await self._held.wait(route.id, message_id, held)
        await self._upstream.note_fault(subject, answer)
        return answer

    async def _pass(
        self, route: Route, package: Package, signal: Signal, subject: Subject, hops: int
    ) -> None:
        """Transmit it once (R-20), and take what comes back."""
        message_id, reply = signal.header.message_id, HeardAnswer()
        ended: Transmission | None = None
        try:
            ended = await self._desk.forward(
                route.send_to,
                package,
                (),
                message_id,
                headers=passing_headers(route, hops),
                take_reply=reply.take,
            )
            await self._note(signal, subject, ended)
            if ended.outcome is Outcome.ACCEPTED:
                await self._desk.take_reply(route.send_to, reply, Answered(message_id, route.id))
        finally:
            self._held.end(route.id, message_id, ended, reply)

    async def _note(self, signal: Signal, subject: Subject, ended: Transmission) -> None:
        match signal:
            case Acknowledgment():
                event = Event.ACK_RELAYED
            case ErrorSignal():
                event = Event.ERROR_RELAYED
            case Inquiry():
                event = Event.INQUIRY_SENT
            case _:
                event = Event.REPORT_SENT
        effect = outcome_row(event, ended)
        if isinstance(signal, ErrorSignal):
            worst = signal.errors[0]
            effect = changed(
                effect,
                error_code=worst.code,
                severity=worst.severity,
                reason=worst.description or None,
            )
        elif not isinstance(signal, Acknowledgment):
            effect = changed(effect, reason=f"{signal.kind.value}, passed on")
        await self._upstream.note(subject, effect)

    def _subject_of(self, route: Route, signal: Signal, hop: int) -> Subject:
        """The message that it speaks of, as far as the signal and its route say it."""
        header, pair = signal.header, route.pair
        asks = isinstance(signal, Inquiry)
        back = Pair(pair.to_party, pair.from_party)
        there = route if asks else next(iter(self._desk.house.routes.find_back(route)), route)
        return Subject(
            there,
            MessageKey(*(pair if asks else back), header.ref_to_message_id),
            header.agreement_id or route.agreement_id or route.id,
            header.conversation_id,
            there.sender_uri,
            hop,
        )


def _is_asked(entry: TransitEntry) -> bool:
    """Whether the previous hop asked us, as the next MSH, for an acknowledgement."""
    return entry.ack_requested is AckRequested.UNSIGNED


def _name_of(signal: Signal) -> str:
    match signal:
        case Acknowledgment():
            return "Acknowledgment"
        case ErrorSignal():
            return "MessageError"
    return signal.kind.value
