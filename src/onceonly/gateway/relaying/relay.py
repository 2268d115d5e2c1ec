"""Messages that pass through this gateway on their way between two other parties (R-13).

Knows whether a message passes through, whether it may go on, and in which mode; `transits` relays
it, `custodies` accepts it. A message that may not pass is answered with a named error and causes
one journal row; nothing of it is stored (R-25).
"""

from collections.abc import Sequence

from onceonly.gateway.desk import Desk
from onceonly.gateway.payloads import keep
from onceonly.gateway.ration import Rations
from onceonly.gateway.relaying.custodies import Custodies
from onceonly.gateway.relaying.held import BUSY, Held
from onceonly.gateway.relaying.passing import PassingSignals
from onceonly.gateway.relaying.transits import Transits
from onceonly.gateway.relaying.upstream import Upstream
from onceonly.gateway.tasks import Tasks
from onceonly.message.agreement import Route
from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    DeliverySemantics,
    Message,
    RoutingHeader,
    SyncReplyMode,
)
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, ErrorSignal, SignalHeader
from onceonly.message.word import Word, changed
from onceonly.protocol.effects import Answer, Journal
from onceonly.steps import verdicts
from onceonly.steps.authority import Caller
from onceonly.steps.routes import Passage, Routes, is_accepted
from onceonly.steps.transmission import made_after
from onceonly.steps.upstream import Subject, element_of_hop
from onceonly.store.spool import Sink
from onceonly.transport.transport import Answer as TransportAnswer
from onceonly.wire.envelope import (
    Envelope,
    HopChange,
    boundary_for,
    forward,
    pass_on,
    payload_order,
)
from onceonly.wire.header_digest import digests_of

TAKEN = TransportAnswer(204)


class Relay:
    """Carries messages along the configured routes, and signals about them back."""

    def __init__(  # noqa: PLR0913 - because both modes and the refusals meet here
        self,
        *,
        desk: Desk,
        transits: Transits,
        custodies: Custodies,
        upstream: Upstream,
        signals: PassingSignals,
        held: Held,
        tasks: Tasks,
        error_posts: Rations,
        payload_bytes_max: int,
    ) -> None:
        self._signals = signals
        self._held = held
        self._desk = desk
        self._transits = transits
        self._custodies = custodies
        self._upstream = upstream
        self._tasks = tasks
        self._error_posts = error_posts
        self._payload_bytes_max = payload_bytes_max

    async def start(self) -> None:
        """Go on with messages that were on their way at the last stop or crash."""
        await self._transits.start()

    def find_route(self, message: Message) -> Route | None:
        """The route of the message; None if it does not pass through us."""
        return self._desk.house.routes.find_for(message)

    async def take_up_parked(self, key: MessageKey, reason: str) -> bool:
        """Send a parked copy on once more; False if there is no such copy (R-43)."""
        return await self._transits.take_up_parked(key, reason)

    def find_beside(self, caller: Caller, agreement_id: str) -> Route | None:
        """The first route for that agreement on which the caller is a neighbour of ours."""
        return self._desk.house.routes.find_beside(caller, agreement_id)

    async def take(
        self, route: Route, envelope: Envelope, sinks: Sequence[Sink], caller: Caller
    ) -> TransportAnswer:
        """Take what is for somebody else, and answer its transport.

        The caller is the route's previous hop.

        Raises `StoreFull`; then nothing is stored and nobody is told (seed 003 §4).
        """
        if not isinstance(envelope.content, Message):
            return await self._signals.take(route, envelope, caller)
        message = under_names_of(route, envelope.content)
        arrived = _arrived(self._desk.house.routes, route, envelope, caller)
        subject = _subject_of(arrived, message)
        try:
            self._check(arrived, message)
            passage = await self._passage(arrived, message, sinks)
            self._check_transport(passage)
            answer = await self._carry(arrived, passage, subject)
        except RemoteError as error:
            # A previous hop that uses another profile is answered in the profile that it used.
            in_his = changed(route, profile=envelope.profile)
            return await self._reject(changed(subject, route=in_his), error)
        acknowledges = route.profile.response_acknowledges or message.acknowledgment is not None
        if message.ref_to_message_id is not None and acknowledges:
            self._tasks.start(self._hear_response(message, caller), place="hearing a response")
        return answer

    def _check(self, arrived: "Arrived", message: Message) -> None:
        """Raise `RemoteError` if it must not go on."""
        routes, envelope = self._desk.house.routes, arrived.envelope
        if envelope.routing:
            routes.check(arrived.route, message, envelope.routing, envelope.profile)
        else:
            routes.check_passing(arrived.route, envelope.profile, arrived.hop - 1)
            routes.check_asked(arrived.route, message)
        self._check_size(message)

    async def _carry(
        self, arrived: "Arrived", passage: Passage, subject: Subject
    ) -> TransportAnswer:
        """Store it and send it on, as the mode of the route is. Raises `RemoteError`."""
        if is_accepted(passage.route, passage.message, passage.previous):
            await self._custodies.take(passage, subject)
            return TAKEN
        if arrived.waits:
            answer = await self._transits.take_held(passage)
            await self._upstream.note_fault(subject, answer)
            return answer
        await self._transits.take(passage, answers=self._held.find(arrived.caller.answered))
        return TAKEN

    async def _hear_response(self, message: Message, caller: Caller) -> None:
        """Note that a response shows that its request arrived, in either mode."""
        leaving = await self._desk.persist(
            lambda txn, ground: verdicts.respond(txn, ground, message, caller), point="verdict"
        )
        if leaving is None:
            await self._transits.take_response(message, caller)

    async def take_signal(
        self, signal: Acknowledgment | ErrorSignal, profile: Profile, caller: Caller
    ) -> bool:
        """Take a signal about a message on its way through us; False if it fits none (R-20)."""
        return await self._transits.take_signal(signal, profile, caller)

    def pass_receipt(self, signal: Acknowledgment) -> None:
        """Send back a delivery receipt for a message that we sent, if we sent it for others."""
        self._custodies.pass_receipt(signal)

    def _check_transport(self, passage: Passage) -> None:
        """Refuse, before storing it, what the next hop's transport can never carry (R-43)."""
        send_to, message_id = passage.route.send_to, passage.message.message_id
        try:
            self._desk.check(send_to, passage.package, passage.payloads, message_id)
        except LocalError as error:
            raise RemoteError(
                ErrorCode.NOT_SUPPORTED, f"the way to the next hop cannot carry it: {error}"
            ) from error

    def _check_size(self, message: Message) -> None:
        if message.size_bytes > self._payload_bytes_max:
            raise RemoteError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"the payloads have more than {self._payload_bytes_max} bytes",
            )

    async def _passage(
        self, arrived: "Arrived", message: Message, sinks: Sequence[Sink]
    ) -> Passage:
        route, envelope = arrived.route, arrived.envelope
        said = envelope.content
        assert isinstance(said, Message), "signals have no payloads"
        is_ours = is_accepted(route, message, arrived.previous)
        if envelope.routing:
            package = self._package(arrived, message, is_ours=is_ours)
        else:
            package = await self._as_it_came(arrived, said, is_ours=is_ours)
            # The store keeps payloads in the order of the package.
            order = payload_order(envelope)
            sinks = [sinks[place] for place in order]
            message = changed(message, payloads=tuple(said.payloads[place] for place in order))
            if is_ours and not message.wants_ack:
                # Asked of the hop alone: it is ours to deliver, and the next hop acknowledges it.
                message = changed(message, semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE)
        payloads = await keep(message.payloads, sinks)
        return Passage(
            route,
            message,
            arrived.previous,
            arrived.hop,
            package,
            payloads,
            digests_of(said, envelope.profile),
        )

    async def _as_it_came(self, arrived: "Arrived", said: Message, *, is_ours: bool) -> Package:
        """The package byte for byte, except what is for the next MSH (`ebms2.md` §10).

        The request for an acknowledgement of the hop stands there for the next hop as it stood for
        us; if we deliver, and the route asks for none, it is taken out. Raises `RemoteError`
        (NotSupported).
        """
        ground, envelope, route = self._desk.ground(), arrived.envelope, arrived.route
        element = said.next_acknowledgment
        owed = None
        if element is not None:
            entry = await self._signals.hear_of_hop(
                _acknowledgment_in(said, element), envelope.profile, arrived.caller
            )
            owed = None if entry is None else element_of_hop(ground, entry.key.message_id)
        change = HopChange(
            takes_ack_requested=is_ours and route.terms.ack_requested is AckRequested.NONE,
            takes_acknowledgment=element is not None,
            acknowledgment=owed,
        )
        token = ground.token(f"package {said.message_id}")
        return pass_on(
            envelope, change, boundary=boundary_for(token), root_content_id=f"header-{token}"
        )

    def _package(self, arrived: "Arrived", message: Message, *, is_ours: bool) -> Package:
        """The message with our RoutingHeader after the others, and otherwise as it came."""
        ground, our_uri = self._desk.ground(), self._desk.house.uri
        route, previous = arrived.route, arrived.previous
        routing = RoutingHeader(
            sender_uri=our_uri,
            receiver_uri=route.receiver_uri,
            error_uri=our_uri if route.profile.has_error_uri else None,
            timestamp_at=made_after(message, ground.now.at),
            # Pairs are end to end: the number and its sequence belong to the origin.
            sequence_number=previous.sequence_number,
            reliable_messaging_method=previous.reliable_messaging_method,
            ack_requested=route.terms.ack_requested if is_ours else previous.ack_requested,
        )
        token = ground.token(f"package {message.message_id}")
        # What was read can be written, and nobody can guess the token: a LocalError is our bug.
        return forward(
            arrived.envelope,
            routing,
            boundary=boundary_for(token),
            root_content_id=f"header-{token}",
        )

    async def _reject(self, subject: Subject, error: RemoteError) -> TransportAnswer:
        is_transient = error.code is ErrorCode.TRANSIENT_ERROR
        if is_transient and not subject.route.profile.has_transient_errors:
            return changed(BUSY, reason=error.description)  # No message says "come again".
        pause_s = subject.route.terms.retry_interval_s if is_transient else None
        answer = Answer(error.code, error.severity, error.description, pause_s)
        row = Journal(
            Event.REJECTED,
            error_code=error.code,
            severity=error.severity,
            reason=error.description,
        )
        await self._upstream.note_rejection(subject, row)
        if self._custodies.repeat_response(subject):
            return TAKEN  # It speaks for this copy only.
        if self._error_posts.spend(subject.key.from_party):
            self._tasks.start(self._upstream.send_error(subject, answer, Event.ERROR_SENT))
        return changed(TAKEN, error=error.code.value, reason=error.description)


def under_names_of(route: Route, message: Message) -> Message:
    """The message with the names of the route, for keys and the store; its header is unchanged."""
    semantics = message.semantics
    if message.leaves_semantics:
        semantics = route.terms.header_semantics
    return changed(
        message,
        from_ids=route.from_ids,
        to_ids=route.to_ids,
        semantics=semantics,
        leaves_semantics=False,
    )


class Arrived(Word):
    """A package of a message that is for somebody else, and how it came here."""

    route: Route
    envelope: Envelope
    caller: Caller
    previous: RoutingHeader
    """The hop that brought it."""
    hop: int
    """Number of the hop on which we send it."""

    @property
    def waits(self) -> bool:
        """Whether the previous hop holds its connection for the answer (SyncReply)."""
        content = self.envelope.content
        is_asked = isinstance(content, Message) and content.sync_reply_mode not in (
            None,
            SyncReplyMode.NONE,
        )
        return is_asked and self.caller.awaits_an_answer


def _arrived(routes: Routes, route: Route, envelope: Envelope, caller: Caller) -> Arrived:
    if envelope.routing:
        return Arrived(route, envelope, caller, envelope.routing[-1], len(envelope.routing) + 1)
    assert isinstance(envelope.content, Message), "signals have a way of their own"
    return Arrived(route, envelope, caller, routes.hop_of(route, envelope.content), caller.hops + 2)


def _acknowledgment_in(message: Message, element: AcknowledgmentElement) -> Acknowledgment:
    """What a business message says of the hop of the one that it answers, as a signal."""
    header = SignalHeader(
        message_id=message.message_id,
        from_ids=message.from_ids,
        to_ids=message.to_ids,
        agreement_id=message.agreement_id,
        conversation_id=message.conversation_id,
        timestamp_at=message.timestamp_at,
        ref_to_message_id=element.ref_to_message_id or message.ref_to_message_id or "",
    )
    return Acknowledgment(header, next_element=element)


def _subject_of(arrived: Arrived, message: Message) -> Subject:
    route = arrived.route
    return Subject(
        route,
        MessageKey(*route.pair, message.message_id),
        message.agreement_id,
        message.conversation_id,
        arrived.previous.sender_uri,
        arrived.hop,
    )
