"""Fuzzes what the application API reads: JSON of a submission, bodies, parameters of a query.

The input is a query string, a line feed, and a body.
"""

import json
from collections.abc import Coroutine
from typing import Any

from starlette.requests import Request

from onceonly.api.operation import JSON
from onceonly.api.operations import OPERATIONS
from onceonly.gateway.api import reading
from onceonly.gateway.api.declared import from_members, from_texts
from onceonly.gateway.application.submissions import Submission
from onceonly.message.errors import LocalError


def read(data: bytes) -> None:
    """Values of the declared types, or named refusals."""
    query, _, body = data.partition(b"\n")
    request = _request(query, body)
    given = request.query_params.multi_items()
    value = _ran(reading.json_object(request))
    assert json.loads(json.dumps(value)) is not None
    for operation in OPERATIONS:
        _read_as(operation.query_type, from_texts, given)
        if operation.body_media == JSON:
            _read_as(operation.body_type, from_members, value)
    header = _ran(reading.header_json(body.decode("utf-8", "surrogateescape")))
    assert isinstance(reading.submission_of(header, [], None, None), Submission)


def _read_as(declared: Any, reader: Any, given: Any) -> None:
    """A value that fits the type is one that any reader of the document would let pass."""
    try:
        found = reader(declared, given)
    except LocalError as error:
        if error.name != "InvalidField":
            raise
        return
    assert isinstance(found, declared)


def _request(query: bytes, body: bytes) -> Request:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": query}
    return Request(scope, receive)


def _ran(reading_on: Coroutine[Any, Any, Any]) -> Any:
    """What the coroutine gives, which waits for nothing but the body above."""
    try:
        reading_on.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("it waits for something")
