"""What happened over time, in numbers, and the rare rows of the journal that people ask for."""

from typing import Annotated, Literal

from msgspec import Meta

from onceonly.api.fields import Instant, Limit, Number
from onceonly.api.history import JournalRow
from onceonly.message.word import Word, field

WHEN = (
    r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?Z$"
)

When = Annotated[
    str, Meta(description="RFC 3339 in UTC, such as 2026-11-25T21:30:00Z", pattern=WHEN)
]

CounterStep = Literal["minute", "hour"]
"""How long one counter counts: minutes are kept for a day, hours for 31 days."""

ExceptionName = Literal[
    "DuplicateEliminated",
    "CollisionDetected",
    "Rejected",
    "SecurityEvent",
    "ErrorReceived",
    "OrphanAckReceived",
    "LateAckReceived",
    "Withheld",
    "ApplicationRefused",
    "Parked",
    "InternalError",
    "SignatureRefused",
]
"""Events of the journal that are listed by themselves."""


class CountersQuery(Word, kw_only=True, omit_defaults=True):
    """Which counters: those that begin from `from` on and before `to`; the last hour, or day.

    Without `agreement`, what happened under any agreement or none.
    """

    since: When | None = field(default=None, name="from")
    until: When | None = field(default=None, name="to")
    step: CounterStep = "minute"
    agreement: str | None = None


class Happened(Word, kw_only=True):
    """How often what happened.

    `in_doubt`, `failed`, `expired` and `cancelled` are ends of messages; `first_try` are those of
    the acknowledged ones that one transmission was enough for; `late` were acknowledged after a
    failure was told; `errors` came about messages of ours. Of received messages, `refused` are
    those neither stored nor acknowledged.
    """

    submitted: int
    transmitted: int
    acknowledged: int
    first_try: int
    sent: int
    in_doubt: int
    failed: int
    expired: int
    cancelled: int
    late: int
    received: int
    handed_over: int
    duplicates: int
    collisions: int
    refused: int
    errors: int
    security: int
    bugs: int
    latencies: tuple[int, ...]
    """Acknowledged messages by class of the time from the submission; empty for none."""
    latency_mean_s: float | None
    latency_p50_s: float | None
    latency_p95_s: float | None
    latency_p99_s: float | None


class Counter(Happened, kw_only=True):
    """What happened in the minute or hour that begins then."""

    begins_at: Instant


class Counters(Word, kw_only=True):
    """What happened over time, without the steps in which nothing did; and all of it together.

    The journal is counted up to row `counted_seq` of `last_seq`. `latency_bounds_s` are the upper
    bounds of the classes of a latency; the last class has none.
    """

    step: CounterStep
    agreement: str | None
    since: Instant = field(name="from")
    until: Instant = field(name="to")
    counted_seq: int
    last_seq: int
    latency_bounds_s: tuple[float, ...]
    counters: tuple[Counter, ...]
    together: Happened


class ExceptionsQuery(Word, kw_only=True, omit_defaults=True):
    """Which rare rows of the journal, the newest first; `partner` is its From or its To."""

    event: ExceptionName | None = None
    partner: str | None = None
    since: When | None = None
    until: When | None = None
    before: Number | None = None
    limit: Limit = 100


class Repeat(Word, kw_only=True):
    """What a duplicate repeats: the first copy, and how long before; which answer it got."""

    first_at: Instant
    delay_s: float
    answered_at: Instant | None
    answer: str | None


class ListedException(Word, kw_only=True):
    """A rare row of the journal; `repeats` is there for duplicates whose first copy is known."""

    row: JournalRow
    repeats: Repeat | None


class ExceptionPage(Word, kw_only=True):
    """Rare rows of the journal, the newest first; `next_before` is null on the last page.

    A page may be short, or empty, and not the last: it looks at a limited number of rows. The
    journal is looked through up to row `counted_seq` of `last_seq`.
    """

    exceptions: tuple[ListedException, ...]
    next_before: int | None
    counted_seq: int
    last_seq: int
