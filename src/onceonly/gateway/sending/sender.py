"""What every run of the sending machines shares: agreements, identifiers, deadlines.

Knows how a first transmission is made and where each transmission goes. Must not know the order
in which the machines speak; `turn` has that.
"""

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.ids import Identifiers
from onceonly.gateway.recovery.steps import Recoveries
from onceonly.gateway.rows import Rows
from onceonly.gateway.sending.deadlines import Waits
from onceonly.gateway.sending.room import Room
from onceonly.gateway.sending.work import MessageWork, PairWork, Work
from onceonly.message.agreement import Agreement
from onceonly.message.instant import Now
from onceonly.message.message import Message, RoutingHeader
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.protocol import pairing
from onceonly.protocol.events import Requeued
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.entries import OutboundEntry
from onceonly.store.contract.store import Transaction
from onceonly.wire.envelope import boundary_for, encode

UNSETTLED = frozenset({OutboundStatus.SENDING, OutboundStatus.IN_DOUBT})
"""Statuses in which word from the receiver that it has the message is news."""


class Sender:
    """The sending side's shared facts; its deadlines, which are not durable, live here."""

    def __init__(
        self, *, agreements: Agreements, rows: Rows, ids: Identifiers, room: Room, our_uri: str
    ) -> None:
        self._agreements = agreements
        self.room = room
        self._ids = ids
        self._our_uri = our_uri
        self.rows = rows
        self.waits = Waits()
        self.recovery_waits = Waits()
        """Until when recoveries wait; one that waits for nothing is at rest."""

    def find_agreement(self, agreement_id: str) -> Agreement | None:
        """The agreement of a stored message; None where it is settled and the agreement is gone."""
        return self._agreements.find(agreement_id)

    def agreement(self, agreement_id: str) -> Agreement:
        """The agreement of a message without a verdict; start-up has seen that it is configured."""
        agreement = self.find_agreement(agreement_id)
        assert agreement is not None, f"a stored message names agreement {agreement_id!r}"
        return agreement

    def queued(self, entry: OutboundEntry) -> PairWork:
        """The word to the pair that the message waits for its turn."""
        terms = self.agreement(entry.agreement_id).terms
        event = pairing.MessageQueued(entry.message_id, terms.window, terms.numbers_messages)
        return PairWork(entry.pair, event)

    def encode(self, message: Message, sequence_number: int | None, now: Now) -> Package:
        """The package of the first transmission; every resend is its bytes (R-04)."""
        agreement = self.agreement(message.agreement_id)
        routing = self._routing(agreement, sequence_number, made_after(message, now.at))
        token = self._ids.token()
        return encode(
            message,
            routing,
            profile=agreement.profile,
            boundary=boundary_for(token),
            root_content_id=f"header-{token}",
        )

    def _routing(
        self, agreement: Agreement, sequence_number: int | None, made_at: int
    ) -> RoutingHeader:
        """The hop as the profile has it (seeds 000 §2.2.2, 001 §1.2.4 and §1.2.5)."""
        hop = RoutingHeader(
            sender_uri=self._our_uri,
            receiver_uri=agreement.receiver_uri,
            error_uri=self._our_uri if agreement.profile.has_error_uri else None,
            timestamp_at=made_at,
            sequence_number=sequence_number,
        )
        if not agreement.profile.header_has_parameters:
            return hop
        return changed(
            hop,
            reliable_messaging_method=agreement.terms.method,
            ack_requested=agreement.terms.ack_requested,
        )

    def recoveries(self, txn: Transaction, now: Now) -> Recoveries:
        """The recoveries of one run."""
        return Recoveries(self.recovery_waits, self._ids, txn, now)

    def fresh_id(self) -> str:
        """A MessageId for something that a step sends of itself."""
        return self._ids.message_id()


def made_after(message: Message, at: int) -> int:
    """When a RoutingHeader is made by a clock that says `at`: never before its message (S0-47).

    A clock that was set back since the message was written, or that of an intermediary, would else
    make a header that every receiver refuses, and the message with it (I40).
    """
    return max(at, message.timestamp_at)


def resend(entry: OutboundEntry, pair: SendingPair, reason: str) -> Work:
    """What sends a message again that was given up: its pair's resume, or its turn anew."""
    if entry.message_id in pair.in_flight:
        return PairWork(entry.pair, pairing.ResumeRequested())
    return MessageWork(entry.message_id, Requeued(reason))


def endpoint_of(agreement: Agreement, attempt: int) -> str:
    """Where this transmission goes: a resend may take another way (seed 001 §1.3.3.3, S1-46)."""
    if attempt > 1 and agreement.resend_to is not None:
        return agreement.resend_to
    return agreement.send_to
