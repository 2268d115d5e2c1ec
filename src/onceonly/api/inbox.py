"""The inbox over the API: what came, its payloads, and what the application says of it."""

from typing import Literal

from msgspec import UNSET, UnsetType

from onceonly.api.fields import (
    NUMBER_MAX,
    Digest,
    Instant,
    Limit,
    Name,
    Number,
    PathNumber,
    PathOffset,
    Seconds,
    Why,
)
from onceonly.api.lists import Times
from onceonly.api.messages import Sent
from onceonly.api.words import Order, ProcessingState
from onceonly.message.word import Word, field


class OffsetPath(Word, kw_only=True):
    """The item that a call is about, by its offset."""

    offset: PathOffset


class OffsetPayloadPath(OffsetPath, kw_only=True):
    """A payload of it."""

    n: PathNumber


class ItemPath(Word, kw_only=True):
    """The item that a call is about, by its MessageId."""

    message_id: Name


class ItemPayloadPath(ItemPath, kw_only=True):
    """A payload of it."""

    n: PathNumber


class PayloadPath(Word, kw_only=True):
    """A payload of the item that the query names."""

    n: PathNumber


class WhichOffset(Word, kw_only=True, omit_defaults=True):
    """Which of several items with one MessageId; if it is not said, the newest of the message."""

    offset: Number | None = None


class WhichItem(WhichOffset, kw_only=True, omit_defaults=True):
    """The item, by a MessageId that no other message has, or with its offset."""

    message_id: str = "items"


class InboxCriteria(Times, kw_only=True, omit_defaults=True):
    """Which received messages; those that fit everything that is given.

    `since` and `until` are about `received_at`.
    """

    sender: str | None = field(default=None, name="from")
    agreement: str | None = None
    service: str | None = None
    action: str | None = None
    conversation: str | None = None
    processing: ProcessingState | None = None
    id_prefix: str | None = None
    """How the MessageId begins."""


class InboxQuery(InboxCriteria, kw_only=True, omit_defaults=True):
    """Which received messages to list, and with `inline` their bytes.

    Where `payloads` is not said, JSON has no bytes, and an Arrow stream has them. Where something
    is asked for by criteria, `wait` ends with the next message, whether or not it fits.
    """

    order: Order = "oldest"
    after: Number = 0
    limit: Limit = 100
    up_to: Number = NUMBER_MAX
    wait: Seconds = 0.0
    payloads: Literal["none", "inline"] | UnsetType = UNSET
    purged: Literal["none", "count"] = "none"
    """`count`: say how many were purged above `after` up to `up_to`, whatever the criteria."""


class Schema(Word, kw_only=True):
    """Where a schema of a payload is said to be; it was not fetched."""

    location: str
    version: str


class Payload(Word, kw_only=True):
    """One payload of a received message.

    `body` is there where it was asked for; null, if it is too large to come along.
    """

    n: int
    name: str
    content_type: str
    size_bytes: int
    digest: Digest
    href: str
    body: bytes | UnsetType | None = UNSET
    reference_id: str | UnsetType = UNSET
    """What the Manifest of `ebms-2.0` says of it beside, if it says anything."""
    role: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    schemas: tuple[Schema, ...] | UnsetType = UNSET


class InboxItem(Sent, kw_only=True):
    """A received message in the inbox."""

    offset: int
    digest: Digest
    header_digest: Digest | None
    processing: ProcessingState
    received_at: Instant
    handed_over_at: Instant
    handed_over_again: int = 0
    """0 for the hand-over that nobody asked for; 1 for the first repetition of it, and so on. Each
    has an offset and a processing state of its own."""
    first_offset: int | None = None
    """Of a repetition: where in the inbox the message was first. That item may be purged by now."""
    first_handed_over_at: Instant | None = None
    """Of a repetition: when the message was handed over first."""
    payloads: tuple[Payload, ...]


class InboxPage(Word, kw_only=True):
    """Received messages in order; `last_offset` is the last in the store named `store_id`.

    With `is_cut` the page ends because 20,000 messages were looked at, perhaps without any that
    fits: ask for less, or go on with `next_after`.
    """

    items: tuple[InboxItem, ...]
    last_offset: int
    store_id: str | None
    """Null before the store's first row."""
    next_after: int | None = None
    """Where the next page begins; null where there was no more."""
    is_cut: bool = False
    purged: int | UnsetType = UNSET
    """How many messages of the range were purged. Not there where nobody asked, nor for a key that
    sees some agreements only."""


class Processing(Word, kw_only=True, forbid_unknown_fields=True):
    """How far the application is."""

    processing: ProcessingState


class ProcessingRange(Word, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How far the application is with everything above `after`, up to `up_to`."""

    processing: ProcessingState
    after: Number = 0
    up_to: Number


class Redeliver(Word, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Why the message is to be handed over once more."""

    reason: Why
    after: Number | None = None
    """The last offset of the inbox that the caller has seen. If the message was handed over again
    at a later one, the call is refused: it may be a repetition of the call that did it."""


class Moved(Word, kw_only=True):
    """How many items a report changed."""

    moved: int
