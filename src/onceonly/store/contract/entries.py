"""What the store is asked with, and what it answers: messages, pairs and debts as values.

Knows which facts belong together; must not know how a store keeps them.
"""

from collections.abc import Sequence
from enum import StrEnum

from onceonly.message.digest import Digests
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import AckRequested, DeliverySemantics, Message, Payload
from onceonly.message.word import Word
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.pairing import PairStatus
from onceonly.protocol.receiving import InboundStatus, Known, ProcessingState, differences
from onceonly.protocol.relaying import Transit
from onceonly.protocol.sending import Outbound, OutboundStatus


class Role(StrEnum):
    """Which side of a pair we are on."""

    SENDER = "sender"
    RECEIVER = "receiver"


class StoredPayload(Word):
    """A payload part and its bytes; `body` is None where they are in the spool by digest."""

    payload: Payload
    body: bytes | None


class OutboundEntry(Word):
    """What a step on an outbound message reads: no header, no payload, no package."""

    message_id: str
    pair: Pair
    agreement_id: str
    state: Outbound


class OutboundView(Word):
    """An outbound message as its owner sees it."""

    message: Message
    state: Outbound
    submitted_at: int
    settled_at: int | None
    """When the status became final, or None."""
    digest: str
    header_digest: str | None = None
    """None for messages that were stored before header digests existed (R-37)."""
    resend_of: str | None = None
    """MessageId of the message whose content this one sends again (R-41)."""
    resent_as: str | None = None
    """MessageId of the message that sends this one's content again."""


class InboundEntry(Word):
    """What a step on a stored inbound message reads."""

    key: MessageKey
    agreement_id: str
    status: InboundStatus
    processing: ProcessingState
    digest: str
    received_at: int
    is_withheld: bool = False
    """No acknowledgement of it has left, and none is on its way (R-12)."""
    parked: str | None = None
    """The bug of ours that set it aside; None if it is not parked (R-43)."""
    header_digest: str | None = None
    """None for messages that were stored before header digests existed: only their payloads are
    compared (R-37)."""
    ack_requested: AckRequested | None = None
    """Which acknowledgement the hop that brought it asked for."""

    @property
    def digests(self) -> Digests:
        """Both digests of its content."""
        return Digests(self.digest, self.header_digest)

    def has_content(self, digests: Digests) -> bool:
        """Whether a copy with these digests has the same content."""
        known = Known(self.digest, header_digest=self.header_digest)
        return not differences(known, digests.payloads, digests.header)


class Repetition(Word):
    """What an item of the inbox repeats: somebody asked for one more hand-over of its message."""

    number: int
    """1 for the first that was asked for, 2 for the second."""
    first_offset: int
    """Offset at which the message was handed over first; that item may be purged by now."""
    first_handed_over_at: int
    """When that was."""


class InboxItem(Word):
    """A message in the application's inbox. Offsets grow, are never reused, and may have gaps."""

    offset: int
    message: Message
    received_at: int
    handed_over_at: int
    processing: ProcessingState
    digest: str
    header_digest: str | None = None
    repeats: Repetition | None = None
    """None for the one hand-over that nobody has to ask for."""


class InboxStanding(Word):
    """The status of an item of the inbox."""

    status: InboundStatus
    processing: ProcessingState
    is_refused: bool
    """The application said that it will not process it."""


class TransitEntry(Word):
    """A message in transit through a relay, as a step reads it."""

    key: MessageKey
    route_id: str
    upstream_uri: str
    """SenderURI of the hop that brought it; our acknowledgement names it."""
    agreement_id: str
    """TPAId or CPAId of the message; every signal about it has the same."""
    conversation_id: str
    ack_requested: AckRequested | None
    digest: str
    hop: int
    """Number of the RoutingHeader that we added: 2 at the first intermediary."""
    state: Transit


class OwedNotice(Word):
    """A DeliveryFailure notice that must reach the From Party (seed 001 §1.6)."""

    key: MessageKey
    agreement_id: str
    """Agreement or route under which it goes upstream."""
    conversation_id: str
    semantics: DeliverySemantics
    severity: Severity
    reason: str
    attempts: int = 0


class Notice(Word):
    """One entry of the application's notification inbox; unique by (message, kind, episode)."""

    message_id: str
    kind: NoticeKind
    severity: Severity
    error_code: ErrorCode
    reason: str
    episode: int
    at: int


class Incident(Word):
    """Something that an operator has to look at. `incident_id` is given by the store."""

    incident_id: int
    role: Role
    pair: Pair
    reason: str
    opened_at: int
    resolved_at: int | None
    message_id: str | None = None
    """The parked message that it is about, where it is about one (R-43)."""
    is_trouble: bool = False
    """It is trouble with the partner: `reason` is the last cause, and a word of the partner
    resolves it (R-40)."""


class PairView(Word):
    """One sending or receiving pair as operators see it."""

    role: Role
    pair: Pair
    status: PairStatus
    reason: str | None
    sequence_number: int | None
    in_flight: tuple[str, ...]
    """MessageIds with a turn, the oldest first (sender only)."""
    queued: int
    """Messages that wait for their turn (sender only)."""
    trouble: str | None = None
    """The last cause of trouble with the partner (R-40; sender only)."""


ROWS_READ_MAX = 20_000
"""Most rows that one page or one count looks at: some 20 ms of processor time, where each of them
has to be read from its tables."""

COUNT_MAX = 10_000
"""Where a count stops."""


class Excerpt(Word, kw_only=True):
    """Which part of a list to show, and in which order.

    The cursor is a number of the list (`position`, offset, seq, …) that need not be there any more.
    """

    is_newest_first: bool = False
    after: int = 0
    """Cursor of the page before, which comes *before* the page in the order of the list: the rows
    wanted have greater numbers, or with `is_newest_first` smaller ones. 0 begins the list."""
    limit: int = 100
    """Most rows of the page; a count does not look at it."""
    rows_max: int = ROWS_READ_MAX
    """Most rows to look at."""
    since_at: int | None = None
    """No rows from before this instant; which instant of theirs is meant, the list says."""
    until_at: int | None = None
    """No rows from this instant on."""


class MessageFilter(Excerpt, kw_only=True):
    """Which outbound messages to list; None means any.

    `since_at` and `until_at` are about the submission, the other instants about its end.
    """

    status: OutboundStatus | None = None
    to_party: str | None = None
    agreement_id: str | None = None
    agreement_ids: tuple[str, ...] | None = None
    """Only messages of these agreements; it narrows whatever else is asked for."""
    service: str | None = None
    action: str | None = None
    conversation_id: str | None = None
    idempotency_key: str | None = None
    """The message that was submitted under this key, and those that send its content again."""
    error_code: ErrorCode | None = None
    id_prefix: str | None = None
    """How the MessageId begins."""
    settled_since_at: int | None = None
    """No messages without an end, or with one before this instant."""
    settled_until_at: int | None = None
    """No messages without an end, or with one from this instant on."""


class Page(Word):
    """A page of outbound messages, in the order that was asked for."""

    messages: Sequence[OutboundView]
    next_after: int | None
    """`after` of the next page, in the same order; None on the last one."""
    is_cut: bool = False
    """The page ends because `rows_max` rows were looked at: more may follow, further on."""


class Count(Word):
    """How many rows fit."""

    count: int
    is_more: bool
    """There may be more: the count stopped at `COUNT_MAX`, or after `rows_max` rows."""
