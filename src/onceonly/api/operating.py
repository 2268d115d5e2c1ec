"""What operators see and do over the API: partners, incidents, notices, health, publishing."""

from onceonly.api.fields import PAGE_MAX, PING_WAIT_S, Instant, Limit, Name, Number, Seconds
from onceonly.api.lists import Times
from onceonly.api.messages import LastOutcome
from onceonly.api.words import (
    ErrorWord,
    MessageState,
    NoticeKind,
    Order,
    PairState,
    Role,
    TransmissionOutcome,
)
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.word import Word, field


class PartnerPath(Word, kw_only=True):
    """The partner that a call is about."""

    partner: Name


class Waiting(Word, kw_only=True):
    """A message in flight, and what lies ahead of it if no answer comes."""

    message_id: str
    submitted_at: Instant
    attempt: int
    attempts_max: int | None
    next_attempt_at: Instant | None
    gives_up_at: Instant | None


class PartnerPair(Word, kw_only=True):
    """One side of a pair, as operators see it; `window` and `verdict_after_s` where we send.

    `partner_name` is the `name` of its agreement, if it has one.
    `state_since_at` is null if the state never changed, `last_contact_at` if the partner was never
    heard in either direction. `oldest_waiting_at` is the submission of the oldest message without
    an end. Of `first_try_of` messages acknowledged in the last 24 hours, `first_try_share` took one
    transmission.
    """

    partner: str
    partner_name: str | None
    role: Role
    from_party: str = field(name="from")
    to_party: str = field(name="to")
    state: PairState
    reason: str | None
    trouble: str | None
    sequence_number: int | None
    in_flight: tuple[str, ...]
    window: int | None
    queued: int
    verdict_after_s: int | None
    last_outcome: LastOutcome | None
    state_since_at: Instant | None
    last_contact_at: Instant | None
    oldest_waiting_at: Instant | None
    first_try_share: float | None
    first_try_of: int
    waiting: tuple[Waiting, ...]


class PartnerPairs(Word, kw_only=True):
    """Pairs with partners, both directions."""

    partners: tuple[PartnerPair, ...]


class Resume(Word, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Whether what never left is sent again."""

    unsent: bool = False


class ResumedPartner(PartnerPairs, kw_only=True):
    """The partner's pairs, and how many messages were sent again."""

    resent: int


class PingQuery(Word, kw_only=True, omit_defaults=True):
    """How long to wait for the answer."""

    wait: Seconds = PING_WAIT_S


class Ping(Word, kw_only=True):
    """What a Ping of a partner showed; `available` is null without an answer."""

    partner: str
    partner_name: str | None
    agreement: str
    outcome: TransmissionOutcome
    available: bool | None
    at: Instant


class Pings(Word, kw_only=True):
    """A Ping under each agreement with a partner."""

    pings: tuple[Ping, ...]


class IncidentCriteria(Times, kw_only=True, omit_defaults=True):
    """Which incidents: the open ones, or with `all`, whatever its value, also those of before.

    `since` and `until` are about `opened_at`.
    """

    is_all: str | None = field(default=None, name="all")
    role: Role | None = None
    partner: str | None = None
    """PartyId of either side."""
    agreement: str | None = None
    """Those that name an outbound message under this agreement."""
    id_prefix: str | None = None
    """How the MessageId begins, of those that are about a message."""


class IncidentsQuery(IncidentCriteria, kw_only=True, omit_defaults=True):
    """Which incidents to list, and which page; it has 1,000 unless `limit` says less."""

    order: Order = "oldest"
    after: Number = 0
    limit: Limit = PAGE_MAX


class Incident(Word, kw_only=True):
    """Something for an operator; of trouble with a partner, how many messages it concerns."""

    incident_id: int
    role: Role
    from_party: str = field(name="from")
    to_party: str = field(name="to")
    partner_name: str | None
    reason: str
    message_id: str | None
    is_trouble: bool
    messages: dict[MessageState, int] | None
    opened_at: Instant
    resolved_at: Instant | None


class Incidents(Word, kw_only=True):
    """What an operator has to look at; `next_after` is null on the last page."""

    incidents: tuple[Incident, ...]
    next_after: int | None = None
    is_cut: bool = False
    """The page ends because 20,000 incidents were looked at: ask for less, or go on."""


class Notice(Word, kw_only=True):
    """One notice for the application.

    `partner` and `partner_name` are those of the message's agreement, as long as both are known.
    """

    number: int
    message_id: str
    partner: str | None
    partner_name: str | None
    kind: NoticeKind
    severity: Severity
    error_code: ErrorCode
    reason: str
    episode: int
    at: Instant


class NoticeCriteria(Times, kw_only=True, omit_defaults=True):
    """Which notices; those that fit everything that is given."""

    kind: NoticeKind | None = None
    error: ErrorWord | None = None
    agreement: str | None = None
    """Agreement of the message, as long as that is kept."""
    id_prefix: str | None = None
    """How the MessageId begins."""


class NoticesQuery(NoticeCriteria, kw_only=True, omit_defaults=True):
    """Which notices to list, and which page."""

    order: Order = "oldest"
    after: Number = 0
    limit: Limit = 100


class NoticePage(Word, kw_only=True):
    """Notices in order; `next_after` is null on the last page."""

    notices: tuple[Notice, ...]
    next_after: int | None = None
    is_cut: bool = False
    """The page ends because 20,000 notices were looked at: ask for less, or go on."""


class Draining(Word, kw_only=True, forbid_unknown_fields=True):
    """Whether partners that ask first are told to send nothing."""

    draining: bool


class Published(Word, kw_only=True):
    """How many journal rows were published."""

    published: int


class Drill(Word, kw_only=True):
    """What is not real in a drill."""

    clock_rate: float
    failpoints: dict[str, int]


class Health(Word, kw_only=True):
    """Who the gateway is, and whether its times and faults are real."""

    status: str
    version: str
    party: tuple[str, ...]
    store_epoch: int
    draining: bool
    drill: Drill | None


class Readiness(Word, kw_only=True):
    """Whether packages and submissions are taken."""

    ready: bool
    warnings: tuple[str, ...] = ()
    """What will stop later: certificates that sign, and end within 30 days."""
