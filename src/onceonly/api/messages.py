"""Messages as they are submitted, listed, looked at and acted on."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from onceonly.api.fields import (
    Choice,
    Digest,
    FullLine,
    Identifier,
    Instant,
    Limit,
    Line,
    Name,
    Number,
    Seconds,
    When,
    Why,
)
from onceonly.api.history import JournalRow
from onceonly.api.lists import Times
from onceonly.api.sent import SentPayload
from onceonly.api.words import (
    ErrorWord,
    MessageState,
    Order,
    PairState,
    RecoveryPhase,
    ResponseState,
    Settlement,
    TakenUp,
    TransmissionOutcome,
    WayOn,
)
from onceonly.message.message import DeliverySemantics
from onceonly.message.signals import MessageStatus, ReportedProcessing
from onceonly.message.word import Word, field


class MessagePath(Word, kw_only=True):
    """The message that a call is about."""

    message_id: Name


class NewMessagePath(Word, kw_only=True):
    """The message that a call submits."""

    message_id: Identifier


class IdempotencyHead(Word, kw_only=True, omit_defaults=True):
    """What the head of a submission can say."""

    key: FullLine | None = field(default=None, name="Idempotency-Key")
    """A business key, in UTF-8; the same again returns the first submission."""


class Header(Word, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The part `message` of a submission."""

    to: Annotated[str, Meta(description="PartyId of the partner", min_length=1)]
    service: FullLine
    """What the message is for."""
    action: FullLine
    """What the partner should do."""
    agreement: str | None = None
    """TPAId, if there are several agreements with the partner."""
    message_id: Choice | None = None
    """The MessageId to use; chosen by the gateway if absent."""
    key: FullLine | None = None
    """Business key; the same again returns the first submission."""
    conversation: Choice | None = None
    """ConversationId to join; if absent, a new one, which is the MessageId."""
    ref: Identifier | None = None
    """MessageId that this message answers."""


class Sent(Word, kw_only=True):
    """What the header of a message says, sent or received.

    `partner_name` is what people call the partner: the `name` of its agreement, if it has one.
    """

    message_id: str
    from_ids: tuple[str, ...] = field(name="from")
    to_ids: tuple[str, ...] = field(name="to")
    partner_name: str | None
    agreement: str
    conversation: str
    service: str
    action: str
    ref: str | None
    semantics: DeliverySemantics
    timestamp: Instant
    size_bytes: int
    from_role: str | UnsetType = UNSET
    """Roles, the type of the service, and the description are of `ebms-2.0`, if the header has
    them."""
    to_role: str | UnsetType = UNSET
    service_type: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


class PairCondition(Word, kw_only=True):
    """How the pair of a message stands."""

    state: PairState
    reason: str | None


class Recovery(Word, kw_only=True):
    """What is asked about a message, and what its partner last said."""

    phase: RecoveryPhase
    asked: int
    wants_new_version: bool
    replaced_by: str | None
    status: MessageStatus | None
    processing: ReportedProcessing | None
    reported_at: Instant | None


class Response(Word, kw_only=True):
    """How the business response to a message stands (level 5)."""

    state: ResponseState
    due_at: Instant | None


class OutboundMessage(Sent, kw_only=True):
    """An outbound message: what it is, where it stands, and what comes next.

    `pair`, `recovery` and `response` are null in lists.
    """

    state: MessageState
    is_final: bool
    attempt: int
    episode: int
    sequence_number: int | None
    error_code: str | None
    digest: Digest
    header_digest: Digest | None
    submitted_at: Instant
    settled_at: Instant | None
    expires_at: Instant | None
    is_certain: bool | None
    resend_of: str | None
    resent_as: str | None
    pair: PairCondition | None
    recovery: Recovery | None
    response: Response | None


class Receipt(OutboundMessage, kw_only=True):
    """A message that was submitted; `replayed` if it was submitted before."""

    replayed: bool


class Said(Word, kw_only=True):
    """When a partner said something, and what."""

    at: Instant
    said: str | None


class LastOutcome(Word, kw_only=True):
    """How the last transmission ended, in words as well."""

    at: Instant
    endpoint: str | None
    attempt: int | None
    outcome: TransmissionOutcome
    status_code: int | None
    words: str


class MessageDetail(OutboundMessage, kw_only=True):
    """An outbound message, and what the journal has of it.

    `reason` belongs to `error_code`: null where that is. `attempts_max`, `next_attempt_at` and
    `gives_up_at` are what lies ahead if no answer comes: null where no number or no time limits it,
    or nothing is to come. `known` says in words what is known of its delivery.
    `way_on` says whether a message in doubt can be sent again as it is, or as a new version; null
    where it takes a person's word.
    """

    reason: str | None
    attempts_max: int | None
    next_attempt_at: Instant | None
    gives_up_at: Instant | None
    known: str | None
    way_on: WayOn | None
    payloads: tuple[SentPayload, ...]
    last_outcome: LastOutcome | None
    acknowledgment: Said | None
    report: Said | None
    receipts: tuple[Instant, ...]
    timeline: tuple[JournalRow, ...]


SETTLED: Final = (
    *("acknowledged", "sent", "failed", "expired", "cancelled", "in_doubt"),
    *("settled_delivered", "settled_not_delivered"),
)
"""States in which nothing happens without a word of the partner or an operator."""


def is_over(found: OutboundMessage) -> bool:
    """Whether nobody needs to wait for the message: it has a verdict, or its pair is closed."""
    pair = found.pair
    return found.state in SETTLED or (pair is not None and pair.state != "open")


class WaitQuery(Word, kw_only=True, omit_defaults=True):
    """How long to wait for a verdict."""

    wait: Seconds = 0.0


class MessageCriteria(Times, kw_only=True, omit_defaults=True):
    """Which outbound messages; those that fit everything that is given.

    `since` and `until` are about `submitted_at`, `settled_since` and `settled_until` about
    `settled_at`, which only messages have that ended.
    """

    state: MessageState | None = None
    to: str | None = None
    agreement: str | None = None
    service: str | None = None
    action: str | None = None
    conversation: str | None = None
    key: str | None = None
    """Business key: the message that has it, and those that send its content again."""
    error: ErrorWord | None = None
    id_prefix: str | None = None
    """How the MessageId begins."""
    settled_since: When | None = None
    settled_until: When | None = None


class MessagesQuery(MessageCriteria, kw_only=True, omit_defaults=True):
    """Which outbound messages to list, and which page.

    `after` is the `next_after` of the page before, in the same order.
    """

    order: Order = "oldest"
    after: Number = 0
    limit: Limit = 100


class MessagePage(Word, kw_only=True):
    """A page of outbound messages; `next_after` is null on the last.

    With `is_cut` the page ends because 20,000 messages were looked at: ask for less, or go on.
    """

    messages: tuple[OutboundMessage, ...]
    next_after: int | None
    is_cut: bool = False


class Resend(Word, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a message is sent again.

    Without `anyway` the reason is one line of text; with it there must be one.
    """

    new_version: bool = False
    anyway: bool = False
    reason: str | None = None


class ResumeMessage(Word, kw_only=True, forbid_unknown_fields=True):
    """Why a message may go on."""

    reason: Why


class Settle(Word, kw_only=True, forbid_unknown_fields=True):
    """What a person says became of a message in doubt, and how he knows (R-49)."""

    word: Settlement = field(name="as")
    reason: Why


class ResumedMessage(Word, kw_only=True):
    """What went on, a word for each place where the message had waited."""

    message_id: str
    taken_up: tuple[TakenUp, ...]


class Reason(Word, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Why; goes into the journal."""

    reason: Line | None = None
