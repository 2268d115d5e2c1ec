"""Fuzzes what the application API reads: JSON of a submission, bodies, numbers of a query.

The input is a query string, a line feed, and a body.
"""

import json
from collections.abc import Coroutine
from typing import Any

from starlette.requests import Request

from onceonly.gateway.api import reading
from onceonly.gateway.application.submissions import Submission


def read(data: bytes) -> None:
    """Values or named refusals."""
    query, _, body = data.partition(b"\n")
    request = _request(query, body)
    assert 1 <= reading.limit_of(request) <= reading.LIMIT_MAX
    assert reading.number(request, "wait", 0.0) >= 0
    value = _ran(reading.json_object(request))
    assert json.loads(json.dumps(value)) is not None
    reading.flag(value, "force")
    if "reason" in value:
        assert "\n" not in reading.one_line(value["reason"], "reason")
    header = _ran(reading.header_json(body.decode("utf-8", "surrogateescape")))
    assert isinstance(reading.submission_of(header, [], None, None), Submission)


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
