"""The calls that look at what was sent and what happened, and change nothing."""

from typing import Any, Final

from onceonly.api import messages, sent
from onceonly.api.condition import Condition
from onceonly.api.counters import (
    Counters,
    CountersQuery,
    ExceptionPage,
    ExceptionsQuery,
)
from onceonly.api.operation import ANY, BYTES, Nothing, Operation

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
GET_EVIDENCE: Final = Operation(
    name="getEvidence",
    method="get",
    path="/v1/messages/{message_id}/evidence",
    summary="The signed envelopes that prove a message, and that its To Party has it; also of one "
    "that came, and of one that is forgotten",
    path_type=messages.MessagePath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=sent.MessageEvidence,
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
    GET_EVIDENCE,
    GET_COUNTERS,
    LIST_EXCEPTIONS,
    GET_CONDITION,
)
"""All of them."""
