"""The client's calls that look at what was sent and what happened, and change nothing."""

from abc import ABC, abstractmethod

from onceonly.api import messages, sent
from onceonly.api.condition import Condition
from onceonly.api.counters import (
    Counters,
    CountersQuery,
    CounterStep,
    ExceptionName,
    ExceptionPage,
    ExceptionsQuery,
)
from onceonly.api.operation import A, B, Nothing, Operation, P, Q
from onceonly.api.watching import (
    GET_CONDITION,
    GET_COUNTERS,
    GET_EVIDENCE,
    GET_SENT_HEADER,
    LIST_EXCEPTIONS,
)


class WatchingMethods(ABC):
    """What was sent, what happened, and how the gateway is."""

    @abstractmethod
    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call whose body, if it has one, is JSON."""

    def condition(self) -> Condition:
        """How the gateway is: its disk, certificates, what waits, what is published."""
        return self._ask(GET_CONDITION, Nothing(), Nothing())

    def sent_header(self, message_id: str) -> sent.SentHeader:
        """The header document of an outbound message as it left, raw and in its parts."""
        path = messages.MessagePath(message_id=message_id)
        return self._ask(GET_SENT_HEADER, path, Nothing())

    def evidence(self, message_id: str) -> sent.MessageEvidence:
        """The signed envelopes that prove a message, and that its To Party has it."""
        path = messages.MessagePath(message_id=message_id)
        return self._ask(GET_EVIDENCE, path, Nothing())

    def counters(
        self,
        *,
        step: CounterStep = "minute",
        since: str | None = None,
        until: str | None = None,
        agreement: str | None = None,
    ) -> Counters:
        """What happened over time: the last hour by the minute, or the last day by the hour.

        `since` and `until` are instants such as 2026-11-25T21:30:00Z.
        """
        query = CountersQuery(step=step, since=since, until=until, agreement=agreement)
        return self._ask(GET_COUNTERS, Nothing(), query)

    def exceptions(
        self,
        event: ExceptionName | None = None,
        *,
        partner: str | None = None,
        since: str | None = None,
        until: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> ExceptionPage:
        """A page of rare journal rows, newest first, and with `next_before` where the next begins.

        Without `event` those of all kinds: duplicates, collisions, refusals, security events …
        """
        query = ExceptionsQuery(
            event=event, partner=partner, since=since, until=until, before=before, limit=limit
        )
        return self._ask(LIST_EXCEPTIONS, Nothing(), query)
