"""The journal over the API: its rows, and which of them are asked for."""

from onceonly.api.fields import NUMBER_MAX, Digest, Instant, Limit, Number
from onceonly.api.lists import Times
from onceonly.api.words import Order
from onceonly.message.event import Direction, Event
from onceonly.message.word import Word


class JournalRow(Word, kw_only=True, omit_defaults=True):
    """One journal row; what has no value is left out.

    `at` is text; the other instants are as the row has them, in microseconds since 1970 in UTC.
    `partner_name` is no part of the row: it is what people call the partner now.
    """

    party: str
    event: Event
    at: Instant
    monotonic_ns: int
    direction: Direction | None = None
    from_party: str | None = None
    to_party: str | None = None
    message_id: str | None = None
    ref_to_message_id: str | None = None
    conversation_id: str | None = None
    agreement_id: str | None = None
    profile: str | None = None
    semantics: str | None = None
    service: str | None = None
    action: str | None = None
    sequence_number: int | None = None
    attempt: int | None = None
    transport: str | None = None
    endpoint: str | None = None
    outcome: str | None = None
    status_code: int | None = None
    error_code: str | None = None
    severity: str | None = None
    size_bytes: int | None = None
    digest: Digest | None = None
    hop: int | None = None
    actor: str | None = None
    reason: str | None = None
    header_digest: Digest | None = None
    message_timestamp_at: int | None = None
    time_to_live_at: int | None = None
    ack_requested: str | None = None
    receipt_requested: str | None = None
    order_number: int | None = None
    signer: Digest | None = None
    schema_version: int
    seq: int
    store_epoch: int
    chain_hash: str
    partner_name: str | None = None


class JournalCriteria(Times, kw_only=True, omit_defaults=True):
    """Which journal rows; those that fit everything that is given."""

    partner: str | None = None
    """PartyId of either side."""
    event: Event | None = None
    agreement: str | None = None
    service: str | None = None
    action: str | None = None
    conversation: str | None = None
    error: str | None = None
    id_prefix: str | None = None
    """How the MessageId begins."""


class JournalQuery(JournalCriteria, kw_only=True, omit_defaults=True):
    """Which journal rows to list: those above a seq, in the order of their seq.

    With `message_id`, every row about that message, and nothing else is looked at.
    """

    order: Order = "oldest"
    after: Number = 0
    limit: Limit = 100
    message_id: str | None = None


class AuditQuery(Word, kw_only=True, omit_defaults=True):
    """Which rows: those below a seq, the latest first."""

    before: Number = NUMBER_MAX
    limit: Limit = 100


class AuditPage(Word, kw_only=True):
    """Rows of actions, and with `next_before` where the page after this one begins."""

    records: tuple[JournalRow, ...]
    next_before: int | None


class JournalPage(Word, kw_only=True):
    """Journal rows in order; `last_seq` is the last in the store, whose name is `store_id`.

    With `is_cut` the page ends because 20,000 rows were looked at, perhaps without any that fits:
    ask for less, or go on with `next_after`.
    """

    records: tuple[JournalRow, ...]
    last_seq: int
    store_id: str | None
    """Null before the store's first row."""
    next_after: int | None = None
    """Where the next page begins; null where there was no more."""
    is_cut: bool = False
