"""Relay mode: messages go on, and what the next hop says about them goes back (R-13).

A copy is stored before its transport is answered and goes on after the commit; the machine of
`protocol.relaying` decides everything else. Seeds 000 §4.1 and 003 §4.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from onceonly.gateway.authority import Caller, is_next_hop
from onceonly.gateway.bugs import Bugs, words_for
from onceonly.gateway.clock import Clock
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.persistence import persist
from onceonly.gateway.relaying.routes import Passage, Routes
from onceonly.gateway.relaying.upstream import Subject, Upstream, outcome_row
from onceonly.gateway.sending.package_body import PackageBody
from onceonly.gateway.tasks import Tasks
from onceonly.message.agreement import Route
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import AcknowledgmentElement, AckRequested, Message
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, ErrorEntry, ErrorSignal, SignalHeader
from onceonly.message.word import Word, changed
from onceonly.protocol import relaying, schedule
from onceonly.protocol.effects import (
    AcknowledgeUpstream,
    AnswerUpstream,
    Effect,
    Forward,
    Journal,
    OpenIncident,
)
from onceonly.protocol.events import (
    AckReceived,
    ErrorReceived,
    Outcome,
    Restarted,
    Transmission,
)
from onceonly.protocol.relaying import (
    Arrived,
    ForwardEnded,
    ForwardParked,
    RelayingEvent,
    TakenUp,
    Transit,
    TransitStatus,
)
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.entries import Role, StoredPayload, TransitEntry
from onceonly.store.contract.store import Snapshot, Store, Transaction
from onceonly.store.group import GroupCommit
from onceonly.store.spool import Spool
from onceonly.transport.transport import Outgoing, Transport

FORWARDING = "sending a message on"
"""Where a bug was met, in words for counts and rows."""

FORWARDS_MAX = 64
"""Copies on their way to next hops at once: more connections than one peer likes to serve, and
few enough that their payloads' file handles are no matter."""

WAITING_MAX = 4_096
"""Copies that may wait for one of those. Past it the previous hop is told to come again, before
anything is stored (R-27)."""


class Heard(Word):
    """What the machine said to something that happened to the message."""

    entry: TransitEntry
    effects: Sequence[Effect]


class Transits:
    """Runs every message that passes through this gateway in relay mode."""

    def __init__(  # noqa: PLR0913 - because this is where relay mode's parts meet
        self,
        *,
        routes: Routes,
        upstream: Upstream,
        store: Store,
        group: GroupCommit,
        spool: Spool,
        transport: Transport,
        clock: Clock,
        failpoints: Failpoints,
        tasks: Tasks,
        bugs: Bugs,
    ) -> None:
        self._routes = routes
        self._upstream = upstream
        self._store = store
        self._group = group
        self._spool = spool
        self._transport = transport
        self._clock = clock
        self._failpoints = failpoints
        self._tasks = tasks
        self._bugs = bugs
        self._forwards = asyncio.Semaphore(FORWARDS_MAX)
        self._waiting = 0

    async def start(self) -> None:
        """Send on what a stop or a crash left without an answer from the next hop."""
        await self._bugs.contain(FORWARDING, self._take_up_all(), _leave_it)

    async def _take_up_all(self) -> None:
        for entry in self._store.snapshot().list_forwarding():
            route = self._routes.find(entry.route_id)
            if route is None:
                continue  # A relay owes nothing: the origin sends again, by another way (S3-22).
            _, effects = relaying.step(entry.state, Restarted(), route.terms)
            self._release(Heard(entry, effects))

    async def take(self, passage: Passage) -> None:
        """Store one copy and let it go on. Raises `RemoteError` or `StoreFull`."""
        if self._waiting >= WAITING_MAX:
            raise RemoteError(ErrorCode.TRANSIENT_ERROR, f"{self._waiting} messages wait here")
        heard = await self._group.transact(lambda txn: self._arrive(txn, passage))
        self._failpoints.reach("after-commit")
        self._release(heard, package=passage.package, payloads=passage.payloads)

    async def take_signal(
        self, signal: Acknowledgment | ErrorSignal, profile: Profile, caller: Caller
    ) -> bool:
        """Take what a next hop says about a message; False if it fits none in transit.

        It fits by its names, its caller and the agreement of the message (R-20, R-44).
        """
        routes = self._routes.leading_to(signal.header, profile, caller)
        if self._find_spoken_of(self._store.snapshot(), routes, signal.header) is None:
            return False

        def step(txn: Transaction) -> Heard | None:
            entry = self._find_spoken_of(txn, routes, signal.header)
            return None if entry is None else self._hear(txn, entry, signal)

        heard = await self._group.transact(step)
        if heard is None:
            return False
        if isinstance(signal, Acknowledgment) and signal.is_receipt:
            self._tasks.start(self._relay_receipt(heard.entry, signal))
        self._release(heard, signal=signal)
        return True

    def _find_spoken_of(
        self, snapshot: Snapshot, routes: Sequence[Route], header: SignalHeader
    ) -> TransitEntry | None:
        about = header.ref_to_message_id
        found = filter(None, (snapshot.find_transit(route.id, about) for route in routes))
        named = [one for one in found if header.agreement_id in ("", one.agreement_id)]
        return spoken_of(named, header)

    async def take_response(self, response: Message, caller: Caller) -> None:
        """Note that a business response shows its request to have arrived (seed 001 §1.3.3 (8b)).

        Nothing is said upstream: the response itself goes there and says it.
        """
        request_id = response.ref_to_message_id
        assert request_id is not None, "a response names its request"
        detail = f"on the business response {response.message_id}"
        back = Pair(response.pair.to_party, response.pair.from_party)

        def step(txn: Transaction) -> None:
            for route in self._routes:
                is_its = route.pair == back and is_next_hop(caller, route)
                entry = txn.find_transit(route.id, request_id) if is_its else None
                if entry is not None and entry.state.status is TransitStatus.FORWARDING:
                    self._advance(txn, entry, [AckReceived(detail)])

        await persist(self._group, step)

    def _arrive(self, txn: Transaction, passage: Passage) -> Heard:
        now = self._clock.now()
        route, message = passage.route, passage.message
        known = txn.find_transit(route.id, message.message_id)
        ours = txn.find_outbound(message.message_id)
        if ours is not None and ours.pair != message.pair:
            # The next hop's word about it could not be told from its word about ours.
            raise RemoteError(
                ErrorCode.SECURITY_FAILURE, "another message is on its way under this MessageId"
            )
        before = Transit() if known is None else known.state
        event = Arrived(is_answered=passage.is_answered)
        after, effects = relaying.step(before, event, route.terms)
        if known is None:
            entry = _entry_of(passage, after)
            # By our clock alone: its Timestamp is for its To Party to judge, which may never
            # forget, and nobody is to keep us an entry for a year by naming one.
            keep_until_at = schedule.forgettable_at(now.at, now, route.terms)
            txn.add_transit(entry, passage.package, passage.payloads, keep_until_at=keep_until_at)
        else:
            entry = changed(known, state=after)
            txn.put_transit(entry)
        subject = self._subject(entry)
        txn.append(
            self._upstream.row_with_header(subject, passage, effect, now)
            for effect in effects
            if isinstance(effect, Journal)
        )
        self._failpoints.reach("before-commit")
        return Heard(entry, effects)

    def _hear(
        self, txn: Transaction, entry: TransitEntry, signal: Acknowledgment | ErrorSignal
    ) -> Heard:
        if isinstance(signal, ErrorSignal):
            return self._advance(txn, entry, [_error_received(one) for one in signal.errors])
        if signal.is_receipt:
            self._note(txn, entry, [Journal(Event.RECEIPT_RECEIVED)])
            return Heard(entry, ())
        return self._advance(txn, entry, [AckReceived()])

    def _advance(
        self, txn: Transaction, entry: TransitEntry, events: Sequence[RelayingEvent]
    ) -> Heard:
        state = entry.state
        effects: list[Effect] = []
        for event in events:
            state, more = relaying.step(state, event, self._subject(entry).route.terms)
            effects += more
        if state != entry.state:
            if entry.state.status is TransitStatus.REFUSED:
                # It may have been parked, and goes on after all.
                at, name = self._clock.at(), entry.key.message_id
                txn.resolve_parked(Role.RECEIVER, entry.key.pair, name, at=at)
            entry = changed(entry, state=state)
            txn.put_transit(entry)
        self._note(txn, entry, effects)
        return Heard(entry, effects)

    def _note(self, txn: Transaction, entry: TransitEntry, effects: Sequence[Effect]) -> None:
        now = self._clock.now()
        subject = self._subject(entry)
        txn.append(
            self._upstream.row(subject, Direction.OUT, effect, now)
            for effect in effects
            if isinstance(effect, Journal)
        )
        name = entry.key.message_id
        for effect in effects:
            if isinstance(effect, OpenIncident):
                text = f"{effect.reason} ({name})"
                txn.open_incident(Role.RECEIVER, entry.key.pair, text, at=now.at, message_id=name)

    def _release(
        self,
        heard: Heard,
        *,
        signal: Acknowledgment | ErrorSignal | None = None,
        package: Package | None = None,
        payloads: Sequence[StoredPayload] = (),
    ) -> None:
        """After the commit: let go what is to leave the house."""
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
        """Transmit one copy, once, and tell the machine how that ended."""
        try:
            async with self._forwards:
                transmission = await self._transmit(entry, package, payloads)
        except StoreFull as full:
            # A payload could not be read for now: what left of it is not known.
            transmission = Transmission(Outcome.UNKNOWN, bytes_left=True, detail=str(full))
        finally:
            self._waiting -= 1
        if transmission is None:
            return
        ended = ForwardEnded(copy, transmission)

        def step(txn: Transaction) -> Heard | None:
            known = txn.find_transit(entry.route_id, entry.key.message_id)
            return None if known is None else self._advance(txn, known, [ended])

        heard = await persist(self._group, step)
        if heard is not None:
            self._release(heard)

    async def _park(self, entry: TransitEntry, copy: int, bug: Exception) -> None:
        """A copy met a bug of ours on its way out; no restart takes it up (R-43)."""
        parked = ForwardParked(copy, words_for(bug))

        def step(txn: Transaction) -> Heard | None:
            known = txn.find_transit(entry.route_id, entry.key.message_id)
            return None if known is None else self._advance(txn, known, [parked])

        heard = await persist(self._group, step)
        if heard is not None:
            self._release(heard)

    async def take_up_parked(self, key: MessageKey, reason: str) -> bool:
        """On an operator's word: send the stored copy on once more; False where there is none.

        Raises `StoreFull`.
        """

        def step(txn: Transaction) -> Heard | None:
            found = (txn.find_transit(route.id, key.message_id) for route in self._routes)
            entry = next((one for one in found if one is not None and one.key == key), None)
            if entry is None:
                return None
            txn.resolve_parked(Role.RECEIVER, key.pair, key.message_id, at=self._clock.at())
            return self._advance(txn, entry, [TakenUp(reason)])

        heard = await self._group.transact(step)
        if heard is None:
            return False
        self._release(heard)
        return True

    async def _transmit(
        self, entry: TransitEntry, package: Package | None, payloads: Sequence[StoredPayload]
    ) -> Transmission | None:
        self._failpoints.reach("before-transmit")
        if package is None:
            snapshot = self._store.snapshot()
            place = entry.route_id, entry.key.message_id
            if snapshot.find_transit(*place) is None:
                return None  # Its time passed while it waited for its turn: it is forgotten.
            package = snapshot.get_transit_package(*place)
            payloads = snapshot.list_transit_payloads(*place)
        outgoing = Outgoing(
            self._subject(entry).route.send_to,
            package.content_type,
            PackageBody(package, payloads, self._spool),
            entry.key.message_id,
            # Nobody upstream waits for an answer to it, so nobody would send it again.
            leaves_once=entry.state.status is TransitStatus.SENT,
        )
        transmission = await self._transport.send(outgoing)
        self._failpoints.reach("after-transmit")
        return transmission

    async def _relay_acknowledgment(self, entry: TransitEntry, signal: Acknowledgment) -> None:
        self._failpoints.reach("before-acknowledge")
        await self._pass_on(entry, signal, Event.ACK_RELAYED)
        self._failpoints.reach("after-acknowledge")

    async def _relay_receipt(self, entry: TransitEntry, signal: Acknowledgment) -> None:
        await self._pass_on(entry, signal, Event.RECEIPT_SENT)

    async def _pass_on(self, entry: TransitEntry, signal: Acknowledgment, event: Event) -> None:
        """Say upstream what the final party said, in the words of the hop there."""
        subject = self._subject(entry)
        package = self._upstream.acknowledgment(
            subject,
            self._clock.now(),
            element=_element_of(entry, signal, subject),
            status=signal.status,
            is_receipt=signal.is_receipt,
        )
        ended = await self._upstream.post(subject, package)
        await self._upstream.note(subject, outcome_row(event, ended))

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
        route = self._routes.find(entry.route_id)
        assert route is not None, f"a message in transit was looked up by route {entry.route_id!r}"
        return Subject(
            route,
            entry.key,
            entry.agreement_id,
            entry.conversation_id,
            entry.upstream_uri,
            entry.hop,
        )


async def _leave_it(bug: Exception) -> None:
    """A relay owes nothing: what was not taken up comes again from its origin."""
    del bug


def spoken_of(found: Sequence[TransitEntry], header: SignalHeader) -> TransitEntry | None:
    """Which of the messages of one id the next hop speaks of; None where that is not clear.

    Two origins may send under one id, by chance or on purpose; what was said of one must not reach
    the other. Signals copy the agreement and the conversation of their message (S0-63).
    """
    if len(found) < 2:
        return next(iter(found), None)
    named = (header.agreement_id, header.conversation_id)
    meant = [one for one in found if (one.agreement_id, one.conversation_id) == named]
    return meant[0] if len(meant) == 1 else None


def _entry_of(passage: Passage, state: Transit) -> TransitEntry:
    message = passage.message
    return TransitEntry(
        key=message.key,
        route_id=passage.route.id,
        upstream_uri=passage.previous.sender_uri,
        agreement_id=message.agreement_id,
        conversation_id=message.conversation_id,
        ack_requested=passage.previous.ack_requested,
        digest=passage.digests.payloads,
        hop=passage.hop,
        state=state,
    )


def _element_of(
    entry: TransitEntry, signal: Acknowledgment, subject: Subject
) -> AcknowledgmentElement | None:
    """The final party's Acknowledgment element, where the origin asked for one (S1-49)."""
    if entry.ack_requested in (None, AckRequested.NONE):
        return None
    final_party = subject.route.to_ids
    heard = signal.element
    if heard is None:
        return AcknowledgmentElement(timestamp_at=signal.header.timestamp_at, from_ids=final_party)
    return heard if heard.from_ids else changed(heard, from_ids=final_party)


def _error_received(entry: ErrorEntry) -> ErrorReceived:
    text = ": ".join(part for part in (entry.code_text, entry.description) if part)
    return ErrorReceived(entry.code, entry.severity, entry.min_retry_s, text)
