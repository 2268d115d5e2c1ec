"""What an intermediary says to the previous hop about a message that came from there.

Knows how such a signal is addressed: hop by hop, from our URI to the SenderURI that brought the
message, and posted to the address that the *route* names (R-26). So an origin sees the same
whether or not somebody stands between it and the destination (seed 001 §1.3.4). Must not know when
something is to be said; `transit` and `custody` do.
"""

from onceonly.gateway.clock import Clock
from onceonly.gateway.persistence import persist
from onceonly.gateway.receiving.signals import Hop, Signals
from onceonly.gateway.relaying.routes import Passage, as_agreement
from onceonly.gateway.rows import Rows
from onceonly.journal.record import Record
from onceonly.message.agreement import Route
from onceonly.message.errors import ErrorCode
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, PartyId
from onceonly.message.instant import Now
from onceonly.message.message import AcknowledgmentElement, DeliverySemantics
from onceonly.message.package import Package
from onceonly.message.signals import (
    PLAIN_ACK,
    Acknowledgment,
    AckStatus,
    ErrorEntry,
    ErrorSignal,
)
from onceonly.message.word import Word, changed
from onceonly.protocol.effects import Answer, AnswerUpstream, Journal
from onceonly.protocol.events import Transmission
from onceonly.store.group import GroupCommit


def outcome_row(event: Event, transmission: Transmission) -> Journal:
    """The row about how a transmission ended."""
    return Journal(
        event,
        outcome=transmission.outcome.value,
        status_code=transmission.status_code,
        reason=transmission.detail or None,
    )


class Subject(Word):
    """A message of a route, as whatever is said about it upstream needs it."""

    route: Route
    key: MessageKey
    agreement_id: str
    """TPAId or CPAId of the message."""
    conversation_id: str
    upstream_uri: str
    """SenderURI of the hop that brought it."""
    hop: int
    """Number of the RoutingHeader that we add to it."""


class Upstream:
    """Builds and posts what goes to previous hops, and writes the rows about it."""

    def __init__(
        self, *, signals: Signals, group: GroupCommit, rows: Rows, clock: Clock, our_uri: str
    ) -> None:
        self._signals = signals
        self._group = group
        self._rows = rows
        self._clock = clock
        self._our_uri = our_uri

    def acknowledgment(
        self,
        subject: Subject,
        now: Now,
        *,
        element: AcknowledgmentElement | None,
        status: AckStatus = PLAIN_ACK,
        is_receipt: bool = False,
    ) -> Package:
        """The acknowledgement of the message, encoded."""
        hop = self.hop(subject)
        header = self._signals.header(hop, subject.key.message_id, now)
        return self._signals.encode(Acknowledgment(header, element, status, is_receipt), hop, now)

    async def post(self, subject: Subject, package: Package) -> Transmission:
        """Transmit a signal once."""
        return await self._signals.post(subject.route.back_to, package)

    async def send_error(
        self,
        subject: Subject,
        answer: Answer | AnswerUpstream,
        event: Event,
        semantics: DeliverySemantics = DeliverySemantics.BEST_EFFORT,
    ) -> None:
        """Tell the previous hop of an error about the message, and note it as `event`."""
        package = self._error(subject, answer, semantics, self._clock.now())
        transmission = await self.post(subject, package)
        row = changed(
            outcome_row(event, transmission),
            error_code=answer.code,
            severity=answer.severity,
            reason=answer.description or None,
        )
        await self.note(subject, row)

    async def note(self, subject: Subject, row: Journal) -> None:
        """Write a row about something that went to the previous hop, once there is space."""
        record = self.row(subject, Direction.IN, row, self._clock.now())
        await persist(self._group, lambda txn: txn.append((record,)))

    async def note_rejection(self, subject: Subject, row: Journal) -> None:
        """Write the row of what may not pass, before anything is said. Raises `StoreFull`."""
        record = self.row(subject, Direction.IN, row, self._clock.now())
        await self._group.transact(lambda txn: txn.append((record,)))

    def row(self, subject: Subject, direction: Direction, effect: Journal, now: Now) -> Record:
        """A row about the message; `hop` says that an intermediary wrote it."""
        route = subject.route
        endpoint = route.back_to if direction is Direction.IN else route.send_to
        return changed(
            self._rows.about_message(
                subject.key,
                changed(as_agreement(route), id=subject.agreement_id),
                direction,
                effect,
                now,
                endpoint=endpoint if effect.outcome else None,
            ),
            hop=subject.hop,
            conversation_id=subject.conversation_id,
        )

    def row_with_header(
        self, subject: Subject, passage: Passage, effect: Journal, now: Now
    ) -> Record:
        """A row about an arrival, with everything of the header that evidence needs."""
        agreement = changed(as_agreement(subject.route), id=subject.agreement_id)
        row = self._rows.with_header(
            passage.message,
            agreement,
            Direction.IN,
            effect,
            now,
            digests=passage.digests,
            ack_requested=passage.previous.ack_requested,
        )
        return changed(row, hop=subject.hop, attempt=effect.attempt)

    def _error(
        self,
        subject: Subject,
        answer: Answer | AnswerUpstream,
        semantics: DeliverySemantics,
        now: Now,
    ) -> Package:
        hop = self.hop(subject)
        header = self._signals.header(hop, subject.key.message_id, now)
        if answer.code is ErrorCode.DELIVERY_FAILURE and hop.profile.has_failure_notices:
            # A notice names who found the problem and whose message it was (seed 001 §1.6).
            header = changed(
                header, from_ids=(PartyId(self._our_uri),), to_ids=subject.route.from_ids
            )
        entry = ErrorEntry(
            code=answer.code,
            severity=answer.severity,
            description=answer.description,
            min_retry_s=answer.min_retry_s,
        )
        return self._signals.encode(ErrorSignal(header, (entry,), semantics), hop, now)

    def hop(self, subject: Subject) -> Hop:
        """The way of a signal to the previous hop."""
        return Hop(
            self._our_uri,
            subject.upstream_uri,
            subject.route.profile,
            subject.agreement_id,
            subject.conversation_id,
        )
