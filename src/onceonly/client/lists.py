"""The methods of the client that list and count.

Each list can be asked by criteria, by time and in both orders: `message list` and its like are made
of these.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypedDict, Unpack

import msgspec

from onceonly.api import counts, inbox_operations, operations
from onceonly.api.history import JournalCriteria, JournalPage, JournalQuery, JournalRow
from onceonly.api.inbox import InboxCriteria, InboxItem, InboxPage, InboxQuery
from onceonly.api.jobs import JobCriteria, JobPage, JobsQuery
from onceonly.api.lists import Count
from onceonly.api.messages import MessageCriteria, MessagePage, MessagesQuery
from onceonly.api.operating import (
    Incident,
    IncidentCriteria,
    Incidents,
    IncidentsQuery,
    Notice,
    NoticeCriteria,
    NoticePage,
    NoticesQuery,
)
from onceonly.api.operation import A, B, Nothing, Operation, P, Q
from onceonly.api.words import ErrorWord, MessageState, Order

_NOTHING = Nothing()


class MessageChoice(TypedDict, total=False):
    """What `Client.list` and `Client.count` can be asked for: see `MessageCriteria`."""

    state: MessageState | None
    to: str | None
    agreement: str | None
    service: str | None
    action: str | None
    conversation: str | None
    key: str | None
    error: ErrorWord | None
    id_prefix: str | None
    since: str | None
    until: str | None
    settled_since: str | None
    settled_until: str | None


class ListMethods(ABC):
    """What `Client` offers of lists."""

    @abstractmethod
    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call."""

    def list(
        self,
        *,
        order: Order = "oldest",
        after: int = 0,
        limit: int = 100,
        **criteria: Unpack[MessageChoice],
    ) -> MessagePage:
        """A page of outbound messages, and with `next_after` where the next one begins.

        The criteria are those of `MessageCriteria`; instants are RFC 3339 in UTC, as in answers. A
        page with `is_cut` can have fewer messages than `limit`, and is not the last one.
        """
        query = MessagesQuery(order=order, after=after, limit=limit, **criteria)
        return self._ask(operations.LIST_MESSAGES, _NOTHING, query)

    def count(self, **criteria: Unpack[MessageChoice]) -> Count:
        """How many outbound messages fit; `is_more` where the count stopped, at 10,000."""
        return self._ask(counts.COUNT_MESSAGES, _NOTHING, MessageCriteria(**criteria))

    def jobs(self, after: int = 0, limit: int = 100) -> JobPage:
        """A page of jobs, and with `next_after` where the next one begins."""
        return self._ask(operations.LIST_JOBS, _NOTHING, JobsQuery(after=after, limit=limit))

    def job_page(self, query: JobsQuery) -> JobPage:
        """A page of the jobs that fit the query."""
        return self._ask(operations.LIST_JOBS, _NOTHING, query)

    def count_jobs(self, criteria: JobCriteria | None = None) -> Count:
        """How many jobs fit."""
        return self._ask(counts.COUNT_JOBS, _NOTHING, criteria or JobCriteria())

    def inbox(self, after: int = 0, limit: int = 100, wait_s: float = 0.0) -> Sequence[InboxItem]:
        """Received messages above the offset, in order."""
        return self.inbox_page(InboxQuery(after=after, limit=limit, wait=wait_s)).items

    def inbox_page(self, query: InboxQuery) -> InboxPage:
        """A page of the received messages that fit the query."""
        return self._ask(inbox_operations.LIST_INBOX, _NOTHING, query)

    def count_inbox(self, criteria: InboxCriteria | None = None) -> Count:
        """How many received messages fit; `is_more` where the count stopped, at 10,000."""
        return self._ask(counts.COUNT_INBOX, _NOTHING, criteria or InboxCriteria())

    def notices(self, after: int = 0, limit: int = 100) -> Sequence[Notice]:
        """Notices for the application."""
        return self.notice_page(NoticesQuery(after=after, limit=limit)).notices

    def notice_page(self, query: NoticesQuery) -> NoticePage:
        """A page of the notices that fit the query."""
        return self._ask(operations.LIST_NOTICES, _NOTHING, query)

    def count_notices(self, criteria: NoticeCriteria | None = None) -> Count:
        """How many notices fit."""
        return self._ask(counts.COUNT_NOTICES, _NOTHING, criteria or NoticeCriteria())

    def incidents(self, *, resolved: bool = False) -> Sequence[Incident]:
        """Open incidents, or with `resolved` all of them."""
        query = IncidentsQuery(is_all="yes" if resolved else None)
        found: list[Incident] = []
        after: int | None = 0
        while after is not None:
            page = self.incident_page(msgspec.structs.replace(query, after=after))
            found += page.incidents
            after = page.next_after
        return tuple(found)

    def incident_page(self, query: IncidentsQuery) -> Incidents:
        """A page of the incidents that fit the query."""
        return self._ask(operations.LIST_INCIDENTS, _NOTHING, query)

    def count_incidents(self, criteria: IncidentCriteria | None = None) -> Count:
        """How many incidents fit."""
        return self._ask(counts.COUNT_INCIDENTS, _NOTHING, criteria or IncidentCriteria())

    def journal(self, after: int = 0, limit: int = 1000) -> Sequence[JournalRow]:
        """Journal rows above a seq."""
        return self.journal_page(JournalQuery(after=after, limit=limit)).records

    def journal_page(self, query: JournalQuery) -> JournalPage:
        """A page of the journal rows that fit the query."""
        return self._ask(operations.LIST_JOURNAL, _NOTHING, query)

    def count_journal(self, criteria: JournalCriteria | None = None) -> Count:
        """How many journal rows fit; `is_more` where the count stopped, at 10,000."""
        return self._ask(counts.COUNT_JOURNAL, _NOTHING, criteria or JournalCriteria())
