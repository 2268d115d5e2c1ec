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
from onceonly.gateway.relaying.transits import Transits
from onceonly.gateway.relaying.upstream import Upstream
from onceonly.gateway.tasks import Tasks
from onceonly.message.agreement import Route
from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey
from onceonly.message.message import Message, RoutingHeader
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, ErrorSignal
from onceonly.message.word import changed
from onceonly.protocol.effects import Answer, Journal
from onceonly.steps import verdicts
from onceonly.steps.authority import Caller
from onceonly.steps.routes import Passage, is_accepted
from onceonly.steps.transmission import made_after
from onceonly.steps.upstream import Subject
from onceonly.store.spool import Sink
from onceonly.transport.transport import Answer as TransportAnswer
from onceonly.wire.envelope import Envelope, boundary_for, forward
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
        tasks: Tasks,
        error_posts: Rations,
        payload_bytes_max: int,
    ) -> None:
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

    async def take_message(
        self, route: Route, envelope: Envelope, sinks: Sequence[Sink], caller: Caller
    ) -> TransportAnswer:
        """Take a message that is for somebody else, and answer its transport.

        The caller is the route's previous hop.

        Raises `StoreFull`; then nothing is stored and nobody is told (seed 003 §4).
        """
        assert isinstance(envelope.content, Message), "only messages have routes"
        message = under_names_of(route, envelope.content)
        subject = _subject_of(route, envelope, message)
        try:
            self._desk.house.routes.check(route, message, envelope.routing, envelope.profile)
            self._check_size(message)
            is_ours = is_accepted(route, message, envelope.routing[-1])
            passage = await self._passage(route, envelope, message, sinks)
            self._check_transport(passage)
            if is_ours:
                await self._custodies.take(passage, subject)
            else:
                await self._transits.take(passage)
        except RemoteError as error:
            # A previous hop that uses another profile is answered in the profile that it used.
            in_his = changed(route, profile=envelope.profile)
            return await self._reject(changed(subject, route=in_his), error)
        if message.ref_to_message_id is not None and route.profile.response_acknowledges:
            self._tasks.start(self._hear_response(message, caller), place="hearing a response")
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
        self, route: Route, envelope: Envelope, message: Message, sinks: Sequence[Sink]
    ) -> Passage:
        said = envelope.content
        assert isinstance(said, Message), "only messages have routes"
        payloads = await keep(message.payloads, sinks)
        return Passage(
            route,
            message,
            envelope.routing[-1],
            len(envelope.routing) + 1,
            self._package(route, envelope, message),
            payloads,
            digests_of(said, envelope.profile),
        )

    def _package(self, route: Route, envelope: Envelope, message: Message) -> Package:
        """The message with our RoutingHeader after the others, and otherwise as it came."""
        ground, our_uri = self._desk.ground(), self._desk.house.uri
        previous = envelope.routing[-1]
        is_ours = is_accepted(route, message, previous)
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
            envelope, routing, boundary=boundary_for(token), root_content_id=f"header-{token}"
        )

    async def _reject(self, subject: Subject, error: RemoteError) -> TransportAnswer:
        is_transient = error.code is ErrorCode.TRANSIENT_ERROR
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


def _subject_of(route: Route, envelope: Envelope, message: Message) -> Subject:
    return Subject(
        route,
        MessageKey(*route.pair, message.message_id),
        message.agreement_id,
        message.conversation_id,
        envelope.routing[-1].sender_uri,
        len(envelope.routing) + 1,
    )
