"""What a purge forgets, over the API."""

from onceonly.api.fields import Instant
from onceonly.message.word import Word


class Forgettable(Word, kw_only=True):
    """Messages of one kind whose time is over; `is_more` where not all of them were counted.

    `bytes` are those of payloads in the store; large payloads are files of their own.
    """

    kind: str
    count: int
    is_more: bool
    oldest_at: Instant | None
    bytes: int


class PurgeDone(Word, kw_only=True):
    """What the last purge of this process forgot."""

    at: Instant
    inbound: int
    outbound: int
    pairs: int
    jobs: int
    files: int


class PurgePreview(Word, kw_only=True):
    """What the next purge forgets of messages, and the size of the store's file.

    `free_bytes` of it are used for further rows before it grows.
    """

    forgettable: tuple[Forgettable, ...]
    store_bytes: int
    free_bytes: int
    is_running: bool
    last: PurgeDone | None


class PurgeBegun(Word, kw_only=True):
    """A purge runs; `is_new` is false where one ran already."""

    is_new: bool
