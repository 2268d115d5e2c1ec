"""The store's contract for its other lists: what can be asked of them, and what a page is.

Every list is asked in the same way as the outbound messages (`MessageFilter`): criteria of which
all must fit, a range of time, an order, and a cursor. None means any.
"""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from onceonly.journal.record import Record
from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.message.word import Word
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.receiving import ProcessingState
from onceonly.store.contract.entries import Count, Excerpt, InboxItem, Incident, Notice, Role
from onceonly.store.contract.jobs import Job

T = TypeVar("T")


class ListFilter(Excerpt, Generic[T], kw_only=True):
    """Which rows of a list whose rows are of this kind."""

    id_prefix: str | None = None
    """How the MessageId begins; of a job, how its name begins."""


class OfAgreements(ListFilter[T], Generic[T], kw_only=True):
    """Which rows of a list that is about messages, each under an agreement."""

    agreement_id: str | None = None
    agreement_ids: tuple[str, ...] | None = None
    """Only rows of these agreements; it narrows whatever else is asked for."""


class InboxFilter(OfAgreements[InboxItem], kw_only=True):
    """Items of the inbox, by offset; instants are those of their arrival.

    Cancelled items are left out.
    """

    from_party: str | None = None
    service: str | None = None
    action: str | None = None
    conversation_id: str | None = None
    processing: ProcessingState | None = None


class JournalFilter(OfAgreements[Record], kw_only=True):
    """Rows of the journal, by seq."""

    partner: str | None = None
    """Rows that name this party as sender or as receiver."""
    event: Event | None = None
    service: str | None = None
    action: str | None = None
    conversation_id: str | None = None
    error_code: str | None = None


class NoticeFilter(OfAgreements[tuple[int, Notice]], kw_only=True):
    """Notices with their numbers, by number.

    Their agreement is that of the message, so with one, notices of purged messages are left out.
    """

    kind: NoticeKind | None = None
    error_code: ErrorCode | None = None


class IncidentFilter(OfAgreements[Incident], kw_only=True):
    """Incidents, by id; instants are those at which they were opened.

    With an agreement: those that name an outbound message of it.
    """

    role: Role | None = None
    partner: str | None = None
    """Incidents of pairs with this party."""
    is_open: bool | None = None


class JobFilter(ListFilter[Job], kw_only=True):
    """Jobs, by number; instants are those at which they were opened."""


class Listing(Word, Generic[T]):
    """A page of a list, in the order that was asked for."""

    items: Sequence[T]
    next_after: int | None
    """`after` of the next page, in the same order; None on the last one."""
    is_cut: bool = False
    """The page ends because `rows_max` rows were looked at: more may follow, further on."""


class ListSnapshot(Protocol):
    """What can be asked of lists."""

    def search(self, wanted: ListFilter[T]) -> Listing[T]:
        """Rows that fit every criterion, in the order that is wanted.

        Looks at `rows_max` rows at most, starting from an index. A store that does not have to read
        rows to choose among them may look at more.
        """
        ...

    def count(self, wanted: ListFilter[T]) -> Count:
        """How many rows come after the cursor of `wanted`; stops at `COUNT_MAX`."""
        ...

    def count_offsets(self, after: int, up_to: int) -> int:
        """How many of the offsets of the inbox above `after` up to `up_to` are still known.

        Every offset was given to a message, so the others are those of messages that were purged.
        One that its sender took back counts, as long as it is known.
        """
        ...
