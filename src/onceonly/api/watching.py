"""The calls that look at what was sent and what happened, and change nothing."""

from typing import Any, Final

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
from onceonly.api.operation import ANY, BYTES, A, B, Nothing, Operation, P, Q

GET_SENT_PAYLOAD: Final = Operation(
    name="getSentPayload",
    method="get",
    path="/v1/messages/{message_id}/payloads/{n}",
    summary="The bytes of a payload of an outbound message",
    path_type=sent.SentPayloadPath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=bytes,
    media=(BYTES, ANY),
    refusals=("NotFound",),
)

GET_SENT_HEADER: Final = Operation(
    name="getSentHeader",
    method="get",
    path="/v1/messages/{message_id}/header",
    summary="The header document of an outbound message as it left, raw and in its parts; 404 "
    "before its first transmission",
    path_type=messages.MessagePath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=sent.SentHeader,
    refusals=("NotFound",),
)
GET_COUNTERS: Final = Operation(
    name="getCounters",
    method="get",
    path="/v1/counters",
    summary="What happened over time: submitted, acknowledged, in doubt, duplicates and so on, by "
    "the minute for a day and by the hour for a month",
    path_type=Nothing,
    query_type=CountersQuery,
    body_type=Nothing,
    answer_type=Counters,
)
LIST_EXCEPTIONS: Final = Operation(
    name="listExceptions",
    method="get",
    path="/v1/exceptions",
    summary="Duplicates, collisions, refusals, security events and other rare rows of the journal, "
    "newest first",
    path_type=Nothing,
    query_type=ExceptionsQuery,
    body_type=Nothing,
    answer_type=ExceptionPage,
)

GET_CONDITION: Final = Operation(
    name="getCondition",
    method="get",
    path="/v1/condition",
    summary="How the gateway is: its disk, certificates, what waits, what is published",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=Condition,
)

ALL: Final[tuple[Operation[Any, Any, Any, Any], ...]] = (
    GET_SENT_PAYLOAD,
    GET_SENT_HEADER,
    GET_COUNTERS,
    LIST_EXCEPTIONS,
    GET_CONDITION,
)
"""All of them."""


class WatchingCalls:
    """These calls, of a client that can ask."""

    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call; the client knows how."""
        raise NotImplementedError

    def condition(self) -> Condition:
        """How the gateway is: its disk, certificates, what waits, what is published."""
        return self._ask(GET_CONDITION, Nothing(), Nothing())

    def sent_header(self, message_id: str) -> sent.SentHeader:
        """The header document of an outbound message as it left, raw and in its parts."""
        path = messages.MessagePath(message_id=message_id)
        return self._ask(GET_SENT_HEADER, path, Nothing())

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
