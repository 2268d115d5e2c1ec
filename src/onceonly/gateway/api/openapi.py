"""The OpenAPI 3.1 description of the application API, from one table."""

import re
from collections.abc import Sequence
from typing import Any

from onceonly import __version__
from onceonly.message.signals import MessageStatus, ReportedProcessing
from onceonly.message.word import Word
from onceonly.protocol.receiving import ProcessingState
from onceonly.protocol.recovering import RecoveryPhase, ResponseStatus
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.jobs import RowOutcome


class Operation(Word):
    """One route: what it does and which query parameters it reads."""

    method: str
    path: str
    summary: str
    query: tuple[tuple[str, str], ...] = ()
    body: str | None = None


_PAGE = (("after", "integer"), ("limit", "integer"))


def _of_item(path: str, how: str, query: tuple[tuple[str, str], ...] = ()) -> tuple[Operation, ...]:
    """The calls about one item of the inbox, which is named in three ways."""
    states = ", ".join(ProcessingState)
    return (
        Operation("get", path, f"One received message, {how}", query),
        Operation("get", f"{path}/payloads/{{n}}", f"The bytes of a payload of it, {how}", query),
        Operation(
            "post",
            f"{path}/processing",
            f"Report the application's processing state of it, {how}: {states}",
            query,
            body="processing",
        ),
        Operation(
            "post",
            f"{path}/refuse",
            f"Say that the application will not process it, and why, {how}",
            query,
            body="reason",
        ),
    )


OPERATIONS = (
    Operation(
        "post",
        "/v1/messages",
        "Submit a message; idempotent on its message_id or the Idempotency-Key header",
        body="multipart",
    ),
    Operation(
        "get",
        "/v1/messages",
        "List outbound messages, oldest first",
        (("state", "string"), ("to", "string"), ("conversation", "string"), *_PAGE),
    ),
    Operation(
        "put",
        "/v1/messages/{message_id}",
        "Submit a message under this MessageId; again with the same content changes nothing",
        body="multipart",
    ),
    Operation("get", "/v1/messages/{message_id}", "State and timeline of an outbound message"),
    Operation(
        "post",
        "/v1/messages/{message_id}/cancel",
        "Take a message back: 200 where no byte left, 202 where the receiver is asked",
    ),
    Operation(
        "post",
        "/v1/messages/{message_id}/resend",
        "Send a message again that was given up: under its id, or its content as a new message "
        "(`resent_as`) where it certainly was not delivered. `new_version`: the partner is asked "
        "to cancel it first (202); `anyway`: as a new message though it may be delivered twice, "
        "with a `reason`",
        body="resend",
    ),
    Operation(
        "post",
        "/v1/messages/{message_id}/status-request",
        "Ask the partner how a message stands (202); the answer is in `recovery`",
    ),
    Operation(
        "post",
        "/v1/messages/{message_id}/resume",
        "Let a message go on that a bug of onceonly parked, sent, forwarded or received; "
        "a received one that is stored and not handed over, also without a bug",
        body="reason",
    ),
    Operation("get", "/v1/jobs", "Jobs and what became of their rows, oldest first", _PAGE),
    Operation(
        "put",
        "/v1/jobs/{job}/messages/{message_id}",
        "Stage a message in a job: durable, and not sent before the job is released",
        (("row", "integer"), ("run", "string"), ("attempt", "integer")),
        body="multipart",
    ),
    Operation(
        "post",
        "/v1/jobs/{job}/messages",
        "Stage many messages, one JSON object per line: one commit, one answer per row",
        (("run", "string"), ("attempt", "integer")),
        body="rows",
    ),
    Operation("get", "/v1/jobs/{job}/rejects", "Rows of a job that were rejected, and why", _PAGE),
    Operation(
        "post",
        "/v1/jobs/{job}/release",
        "Send what is staged in a job, or in one run of it, in the order of its rows; again, it "
        "changes nothing. Refused if of the run are fewer than `staged` accepted rows there",
        (("run", "string"), ("staged", "integer")),
    ),
    Operation("get", "/v1/jobs/{job}", "What became of the rows of a job"),
    Operation(
        "delete",
        "/v1/jobs/{job}",
        "Forget what is staged in a job, or in one run of it, and not released",
        (("run", "string"),),
    ),
    Operation(
        "get",
        "/v1/inbox",
        "Received messages above an offset, in order; waits up to `wait` seconds for one. "
        "`payloads=inline` adds their bytes; as an Arrow stream (Accept), they are in it",
        (*_PAGE, ("up_to", "integer"), ("wait", "number"), ("payloads", "string")),
    ),
    Operation(
        "post",
        "/v1/inbox/processing",
        "Report a processing state for all messages above `after` up to the offset `up_to`; "
        "what has come further stays as it is",
        body="processing_range",
    ),
    *_of_item("/v1/inbox/items/{offset}", "by its offset"),
    *_of_item(
        "/v1/inbox/items",
        "by its MessageId, if one item has it alone (409 `Ambiguous` names the offsets)",
        (("message_id", "string"), ("offset", "integer")),
    ),
    *_of_item(
        "/v1/inbox/{message_id}",
        "by its MessageId, if one item has it alone or `offset` says which",
        (("offset", "integer"),),
    ),
    Operation("get", "/v1/notices", "Failure and late-acknowledgement notices", _PAGE),
    Operation("get", "/v1/partners", "Pairs with every partner, both directions"),
    Operation(
        "post",
        "/v1/partners/{partner}/ping",
        "Ask a partner whether it takes messages; waits up to `wait` seconds",
        (("wait", "number"),),
    ),
    Operation(
        "post", "/v1/partners/{partner}/suspend", "Suspend sending to a partner", body="reason"
    ),
    Operation(
        "post",
        "/v1/partners/{partner}/resume",
        "Resume both directions with a partner, and close its incidents; with `unsent`, send as "
        "new messages what failed or expired before a byte of it left: `resent` of them",
        body="resume",
    ),
    Operation("get", "/v1/incidents", "What an operator has to look at", (("all", "string"),)),
    Operation(
        "post",
        "/v1/drain",
        "Tell partners that ask first (Ping) to send nothing, or to send again",
        body="draining",
    ),
    Operation(
        "get",
        "/v1/journal",
        "Journal rows above a seq, in order; with `message_id`, every row about that message; "
        "also as an Arrow stream (Accept)",
        (*_PAGE, ("message_id", "string")),
    ),
    Operation("post", "/v1/lake/publish", "Publish the journal's new rows now"),
    Operation("get", "/healthz", "Alive, and whether this is a drill"),
    Operation("get", "/readyz", "200 while packages and submissions are taken, else 503"),
    Operation("get", "/metrics", "Prometheus metrics"),
    Operation("get", "/openapi.json", "This document"),
)


def openapi_document() -> dict[str, Any]:
    """The document, as JSON-ready values."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "onceonly application API", "version": __version__},
        "paths": paths,
        "components": {"schemas": _SCHEMAS},
    }


def members_of(operation: Operation) -> Sequence[str]:
    """The members that the JSON of a call may have, where it is no document."""
    body = {} if operation.body is None else _BODIES[operation.body]["content"]
    described = body.get("application/json", {}).get("schema", {})
    return tuple(described.get("properties", ()))


def _operation(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": operation.summary,
        "parameters": _parameters(operation),
        "responses": {
            "2XX": {"description": "Done"},
            "default": {
                "description": "Refused; nothing was changed",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    if operation.body is not None:
        described["requestBody"] = _BODIES[operation.body]
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    in_path = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "integer" if name in ("n", "offset") else "string"},
        }
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    in_query = [
        {"name": name, "in": "query", "schema": {"type": kind}} for name, kind in operation.query
    ]
    return in_path + in_query


_TEXT = {"type": "string"}
_TRUTH = {"type": "boolean"}
_NUMBER = {"type": "integer"}


def _json_body(properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {"content": {"application/json": {"schema": schema}}}


_BODIES: dict[str, Any] = {
    "multipart": {
        "required": True,
        "content": {"multipart/form-data": {"schema": {"$ref": "#/components/schemas/Submission"}}},
    },
    "processing": _json_body({"processing": {"type": "string", "enum": list(ProcessingState)}}),
    "processing_range": _json_body(
        {
            "processing": {"type": "string", "enum": list(ProcessingState)},
            "after": _NUMBER,
            "up_to": _NUMBER,
        }
    ),
    "rows": {
        "required": True,
        "content": {"application/x-ndjson": {"schema": {"$ref": "#/components/schemas/JobRow"}}},
    },
    "reason": _json_body({"reason": _TEXT}),
    "resend": _json_body({"new_version": _TRUTH, "anyway": _TRUTH, "reason": _TEXT}),
    "resume": _json_body({"unsent": _TRUTH}),
    "draining": _json_body({"draining": _TRUTH}),
}

_PART = {
    "payload": _TEXT,
    "payload_base64": {"type": "string", "contentEncoding": "base64"},
    "content_type": _TEXT,
    "name": _TEXT,
}

SUBMISSION_FIELDS = (
    "to",
    "service",
    "action",
    "agreement",
    "message_id",
    "key",
    "conversation",
    "ref",
)
"""Fields of the `message` JSON; `reading` reads exactly these."""

_SCHEMAS: dict[str, Any] = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["name", "text"],
                "properties": {
                    "name": _TEXT,
                    "text": _TEXT,
                    "offsets": {"type": "array", "items": _NUMBER},
                },
            }
        },
    },
    "Submission": {
        "type": "object",
        "required": ["message"],
        "properties": {
            "message": {
                "type": "object",
                "required": ["to", "service", "action"],
                "additionalProperties": False,
                "properties": dict.fromkeys(
                    (
                        "to",
                        "service",
                        "action",
                        "agreement",
                        "message_id",
                        "key",
                        "conversation",
                        "ref",
                    ),
                    _TEXT,
                ),
            },
            "payload": {"type": "array", "items": {"type": "string", "format": "binary"}},
        },
    },
    "JobRow": {
        "type": "object",
        "required": ["message_id", "to", "service", "action"],
        "additionalProperties": False,
        "properties": {
            "row": {**_NUMBER, "description": "the row's number; makes a repeat the same row"},
            **dict.fromkeys(
                ("message_id", "to", "service", "action", "agreement", "conversation", "ref"),
                _TEXT,
            ),
            **_PART,
            "payloads": {"type": "array", "items": {"type": "object", "properties": _PART}},
        },
    },
    "RowOutcome": {"type": "string", "enum": list(RowOutcome)},
    "MessageState": {"type": "string", "enum": list(OutboundStatus)},
    "RecoveryPhase": {"type": "string", "enum": list(RecoveryPhase)},
    "ResponseState": {"type": "string", "enum": list(ResponseStatus)},
    "MessageStatus": {"type": "string", "enum": list(MessageStatus)},
    "ReportedProcessing": {"type": "string", "enum": list(ReportedProcessing)},
}
