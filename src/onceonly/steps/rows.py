"""Journal rows as the gateway writes them: a decision's `Journal` effect plus who and when."""

from onceonly.journal.record import METHOD_TRANSPORT, Record
from onceonly.message.agreement import Agreement
from onceonly.message.digest import Digests
from onceonly.message.errors import LocalError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import ConversationKey, MessageKey, Pair
from onceonly.message.instant import Now
from onceonly.message.message import (
    AckRequested,
    DeliverySemantics,
    Message,
    ReliableMessagingMethod,
)
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import Outcome, Transmission
from onceonly.wire.timestamp import cut_to_milliseconds


def outcome_of(row: Record) -> Transmission:
    """How a transmission ended, from its row; only the state knows whether bytes left."""
    assert row.outcome is not None, "a row about a transmission has its outcome"
    return Transmission(
        Outcome(row.outcome), bytes_left=True, status_code=row.status_code, detail=row.reason or ""
    )


def at_what_waits(row: Record, message_id: str, pair: Pair | None, what: str) -> Record:
    """The row about a refused package, written again for the message that waits for it.

    `pair` is the pair of that message, if it is ours.
    """
    return Record(
        party=row.party,
        event=row.event,
        at=row.at,
        monotonic_ns=row.monotonic_ns,
        direction=row.direction if pair is None else Direction.OUT,
        from_party=None if pair is None else pair.from_party,
        to_party=None if pair is None else pair.to_party,
        message_id=message_id,
        agreement_id=row.agreement_id,
        transport=row.transport,
        endpoint=row.endpoint,
        error_code=row.error_code,
        severity=row.severity,
        reason=f"{what} was refused: {row.reason}",
    )


SOME_HOP = 0
"""`hop` of a row of an intermediary that does not know the number of its hop. In all other rows of
intermediaries it counts the RoutingHeaders; in rows of everybody else it is empty."""


class Rows:
    """Builds rows of one journal, whose owner is the gateway's first PartyId."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    def about_message(  # noqa: PLR0913 - because a row has this many facts
        self,
        key: MessageKey,
        agreement: Agreement,
        direction: Direction,
        effect: Journal,
        now: Now,
        *,
        endpoint: str | None = None,
        digests: Digests | None = None,
    ) -> Record:
        """A row about a message whose header is in an earlier row."""
        return Record(
            party=self._owner,
            event=effect.event,
            at=now.at,
            monotonic_ns=now.monotonic_ns,
            direction=direction,
            from_party=key.from_party,
            to_party=key.to_party,
            message_id=key.message_id,
            agreement_id=agreement.name_on_wire,
            profile=agreement.profile.name,
            sequence_number=effect.sequence_number,
            order_number=effect.order_number,
            attempt=effect.attempt,
            transport=None if endpoint is None else endpoint.partition(":")[0],
            endpoint=endpoint,
            outcome=effect.outcome,
            status_code=effect.status_code,
            error_code=effect.error_code,
            severity=effect.severity,
            digest=None if digests is None else digests.payloads,
            header_digest=None if digests is None else digests.header,
            hop=SOME_HOP if agreement.is_route else None,
            actor=effect.actor,
            reason=effect.reason,
        )

    def with_header(  # noqa: PLR0913 - because a row has this many facts
        self,
        message: Message,
        agreement: Agreement,
        direction: Direction,
        effect: Journal,
        now: Now,
        *,
        digests: Digests,
        ack_requested: AckRequested | None,
    ) -> Record:
        """A row with everything of the header that evidence needs.

        `ack_requested` is of the hop that brings the message here, or takes it from here.
        """
        return Record(
            party=self._owner,
            event=effect.event,
            at=now.at,
            monotonic_ns=now.monotonic_ns,
            direction=direction,
            from_party=str(message.from_ids[0]),
            to_party=str(message.to_ids[0]),
            message_id=message.message_id,
            ref_to_message_id=message.ref_to_message_id,
            conversation_id=message.conversation_id,
            agreement_id=agreement.name_on_wire,
            profile=agreement.profile.name,
            semantics=_agreed_semantics(message, agreement).value,
            service=message.service,
            action=message.action,
            sequence_number=effect.sequence_number,
            order_number=effect.order_number,
            error_code=effect.error_code,
            severity=effect.severity,
            size_bytes=message.size_bytes,
            digest=digests.payloads,
            header_digest=digests.header,
            message_timestamp_at=message.timestamp_at,
            time_to_live_at=message.time_to_live_at,
            ack_requested=ack_requested and ack_requested.value,
            receipt_requested=message.delivery_receipt_requested
            and message.delivery_receipt_requested.value,
            reason=_with_method(effect.reason, agreement),
        )

    def submitted(
        self, message: Message, agreement: Agreement, effect: Journal, now: Now, digests: Digests
    ) -> Record:
        """The row about a message of ours, with its times as they will be in its header."""
        terms, profile = agreement.terms, agreement.profile
        row = self.with_header(
            message,
            agreement,
            Direction.OUT,
            effect,
            now,
            digests=digests,
            ack_requested=terms.ack_requested if profile.header_has_parameters else None,
        )
        ends_at = message.time_to_live_at
        return changed(
            row,
            message_timestamp_at=cut_to_milliseconds(message.timestamp_at),
            time_to_live_at=None if ends_at is None else cut_to_milliseconds(ends_at),
        )

    def about_pair(
        self, pair: Pair, message_id: str | None, direction: Direction, effect: Journal, now: Now
    ) -> Record:
        """A row about a pair, and about the message that has the turn, if there is one."""
        return Record(
            party=self._owner,
            event=effect.event,
            at=now.at,
            monotonic_ns=now.monotonic_ns,
            direction=direction,
            from_party=pair.from_party,
            to_party=pair.to_party,
            message_id=message_id,
            reason=effect.reason,
        )

    def of_conversation(self, row: Record, conversation: ConversationKey) -> Record:
        """The row with the conversation that it is about."""
        return changed(row, conversation_id=conversation.conversation_id)

    def refused_submission(
        self, message_id: str | None, error: LocalError, actor: str, now: Now
    ) -> Record:
        """A row about a submission that was refused; it never became a message with a key."""
        return Record(
            party=self._owner,
            event=Event.REJECTED,
            at=now.at,
            monotonic_ns=now.monotonic_ns,
            direction=Direction.OUT,
            message_id=message_id,
            error_code=error.name,
            actor=actor,
            reason=str(error),
        )

    def about_gateway(self, event: Event, now: Now, reason: str | None = None) -> Record:
        """A row about the gateway itself."""
        return Record(
            party=self._owner, event=event, at=now.at, monotonic_ns=now.monotonic_ns, reason=reason
        )


def _agreed_semantics(message: Message, agreement: Agreement) -> DeliverySemantics:
    """The agreed semantics, if the wire has no word for it (R-16, R-17)."""
    agreed = agreement.terms.semantics
    return agreed if message.semantics is agreement.terms.header_semantics else message.semantics


def _with_method(reason: str | None, agreement: Agreement) -> str | None:
    """Says in the row that no acknowledgement was agreed, so that nobody looks for one."""
    if agreement.terms.method is ReliableMessagingMethod.EBXML:
        return reason
    return METHOD_TRANSPORT if reason is None else f"{METHOD_TRANSPORT}; {reason}"
