"""Tables of the store of simulations, and the copies that an open transaction changes.

Knows rows, their order, and how changes are kept apart until they are committed; must not know
what is asked of them.
"""

from dataclasses import dataclass, field, fields
from typing import Any

from onceonly.journal.record import Record
from onceonly.message.identity import ConversationKey, MessageKey, Pair
from onceonly.message.message import AckRequested, Message
from onceonly.message.package import Package
from onceonly.message.word import Word
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.ordering import ReceivingOrder, SendingOrder
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery
from onceonly.protocol.sending import Outbound
from onceonly.store.contract.counters import EventCounts, PairTimes, RareRow, Span
from onceonly.store.contract.entries import (
    InboundEntry,
    InboxItem,
    InboxStanding,
    Incident,
    Notice,
    OutboundEntry,
    OutboundView,
    OwedNotice,
    Repetition,
    StoredPayload,
    TransitEntry,
)
from onceonly.store.contract.evidence import EvidenceKind, KeptEnvelope
from onceonly.store.contract.jobs import Job, JobRow, Run, StagedMessage
from onceonly.store.contract.keys import ApiKey


class OutboundRow(Word):
    """An outbound message, `position` in the order of submission."""

    position: int
    message: Message
    state: Outbound
    payloads: tuple[StoredPayload, ...]
    digest: str
    submitted_at: int
    settled_at: int | None
    idempotency_key: str | None
    header_digest: str | None
    resend_of: str | None = None
    resent_as: str | None = None
    awaits_in: str | None = None
    """The conversation whose turn it awaits."""

    def entry(self) -> OutboundEntry:
        """The message as a step reads it."""
        message = self.message
        return OutboundEntry(message.message_id, message.pair, message.agreement_id, self.state)

    def view(self) -> OutboundView:
        """The message as its owner sees it."""
        return OutboundView(
            self.message,
            self.state,
            self.submitted_at,
            self.settled_at,
            self.digest,
            self.header_digest,
            self.resend_of,
            self.resent_as,
        )


class InboundRow(Word):
    """An inbound message, `number` in the order of arrival."""

    number: int
    message: Message
    payloads: tuple[StoredPayload, ...]
    response: Package | None
    digest: str
    received_at: int
    keep_until_at: int | None
    status: InboundStatus
    processing: ProcessingState = ProcessingState.NOT_STARTED
    offset: int | None = None
    handed_over_at: int = 0
    is_refused: bool = False
    is_withheld: bool = False
    parked: str | None = None
    header_digest: str | None = None
    ack_requested: AckRequested | None = None
    repeats: Repetition | None = None

    def entry(self) -> InboundEntry:
        """The message as a step reads it."""
        message = self.message
        return InboundEntry(
            message.key,
            message.agreement_id,
            self.status,
            self.processing,
            self.digest,
            self.received_at,
            self.is_withheld,
            self.parked,
            self.header_digest,
            self.ack_requested,
        )

    def item(self) -> InboxItem:
        """The message as the application sees it."""
        assert self.offset is not None, "not in the inbox yet"
        return InboxItem(
            self.offset,
            self.message,
            self.received_at,
            self.handed_over_at,
            self.processing,
            self.digest,
            self.header_digest,
            self.repeats,
        )

    def standing(self) -> InboxStanding:
        """The status of the inbox item."""
        return InboxStanding(self.status, self.processing, self.is_refused)

    @property
    def is_finished(self) -> bool:
        """Whether the message is only kept so that its repeats are recognized."""
        if self.status is InboundStatus.HANDED_OVER:
            return self.is_refused or self.processing is ProcessingState.COMPLETE
        return self.status is not InboundStatus.STORED


class Passing(Word):
    """A message in transit, `number` in the order of arrival."""

    number: int
    entry: TransitEntry
    package: Package
    payloads: tuple[StoredPayload, ...]
    keep_until_at: int | None


class Staged(Word):
    """What is staged in one row of a job."""

    message: Message
    payloads: tuple[StoredPayload, ...]
    digest: str


class RowOfJob(Word):
    """One row of a job, what is staged in it, and how its message ended, if that was purged."""

    row: JobRow
    staged: Staged | None = None
    ended: str | None = None

    def of(self, job: Job) -> StagedMessage:
        """What is staged in the row of this job."""
        assert self.staged is not None, "nothing is staged"
        return StagedMessage(job, self.row, self.staged.message, self.staged.digest)


_NoticeKey = tuple[str, NoticeKind, int]
_TransitKey = tuple[str, str]


@dataclass(slots=True)
class Tables:
    """Rows by key, in the order in which they came."""

    outbound: dict[str, OutboundRow] = field(default_factory=dict)
    packages: dict[str, Package] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    recovery: dict[str, Recovery] = field(default_factory=dict)
    sending: dict[Pair, SendingPair] = field(default_factory=dict)
    used_at: dict[Pair, int] = field(default_factory=dict)
    receiving: dict[Pair, ReceivingPair] = field(default_factory=dict)
    inbound: dict[int, InboundRow] = field(default_factory=dict)
    known: dict[MessageKey, int] = field(default_factory=dict)
    inbox: dict[int, int] = field(default_factory=dict)
    tombstones: dict[MessageKey, tuple[int, int | None]] = field(default_factory=dict)
    transits: dict[_TransitKey, Passing] = field(default_factory=dict)
    owed: dict[MessageKey, OwedNotice] = field(default_factory=dict)
    notices: dict[_NoticeKey, tuple[int, Notice]] = field(default_factory=dict)
    incidents: dict[int, Incident] = field(default_factory=dict)
    journal: dict[int, Record] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    job_rows: dict[tuple[int, int], RowOfJob] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    blocks: dict[tuple[int, int], int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    api_keys: dict[str, ApiKey] = field(default_factory=dict)
    evidence: dict[tuple[MessageKey, EvidenceKind], KeptEnvelope] = field(default_factory=dict)
    counters: dict[tuple[Span, str, int], EventCounts] = field(default_factory=dict)
    pair_times: dict[Pair, PairTimes] = field(default_factory=dict)
    listed: dict[int, RareRow] = field(default_factory=dict)
    sending_orders: dict[ConversationKey, tuple[SendingOrder, int | None]] = field(
        default_factory=dict
    )
    receiving_orders: dict[ConversationKey, tuple[ReceivingOrder, int | None]] = field(
        default_factory=dict
    )
    places: dict[tuple[ConversationKey, int], MessageKey] = field(default_factory=dict)

    def pending(self) -> "PendingTables":
        """Tables with the same rows; changes in them do not change these."""
        return PendingTables(self)

    def copied(self) -> "Tables":
        """Copies of the tables; they share the rows, which never change."""
        return Tables(*(dict(getattr(self, name)) for name in _NAMES))


_NAMES = tuple(table.name for table in fields(Tables))


class PendingTables(Tables):
    """Copies of other tables. Each is made when it is first used, since most are never used.

    A copy costs less than looking in two places: simulations are short and rows never change.
    """

    def __init__(self, below: Tables) -> None:
        self._below = below
        self._copied: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name not in _NAMES:
            raise AttributeError(name)
        table = dict(getattr(self._below, name))
        setattr(self, name, table)
        self._copied.append(name)
        return table

    def settle(self) -> None:
        """Put the copies in the place of the tables that they were made from."""
        for name in self._copied:
            setattr(self._below, name, getattr(self, name))
