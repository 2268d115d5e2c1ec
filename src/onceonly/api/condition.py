"""How a gateway is: its disk, its certificates, what waits, and how far the journal has gone."""

from onceonly.api.fields import Instant
from onceonly.message.word import Word


class DiskSpace(Word, kw_only=True):
    """What the store takes on its disk; `spool_bytes` is null with more files than are counted."""

    store_bytes: int
    log_bytes: int
    spool_bytes: int | None
    free_bytes: int
    total_bytes: int


class CertificateEnd(Word, kw_only=True):
    """When the first certificate of a file ends, and the last one begins; null if none is read."""

    file: str
    ends_at: Instant | None
    begins_at: Instant | None = None


class Condition(Word, kw_only=True):
    """How a gateway is, for a probe.

    `oldest_waiting_at` and `oldest_doubt_at` are submissions. `last_row_at` is the instant of the
    last journal row; `published_seq` is the last row in the lake, null if nothing is or it cannot
    be read.
    """

    now: Instant
    ready: bool
    disk: DiskSpace
    certificates: tuple[CertificateEnd, ...]
    messages: dict[str, int]
    oldest_waiting_at: Instant | None
    oldest_doubt_at: Instant | None
    incidents_open: int
    last_row_at: Instant | None
    last_seq: int
    counted_seq: int
    published_seq: int | None
    publish_interval_s: int
    conversations_blocked: int = 0
    """Ordered conversations of ours that a message blocks; at most 1,000 are counted."""
    conversations_with_gap: int = 0
    """Ordered conversations of partners in which messages wait for an earlier one; as many."""
