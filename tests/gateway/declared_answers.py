"""Holds every answer of the API that a test sees against what is declared of it.

By the document, as any program outside would; by the type, which has no member beside its own; and
by the names of refusals, which the operation lists.
"""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

import httpx
import msgspec
from jsonschema_rs import validator_for

from onceonly.api.operation import JSON
from onceonly.api.operations import OPERATIONS, AnyOperation
from onceonly.api.refusals import EVERYWHERE, REFUSALS, Refused
from onceonly.gateway.api.openapi import GUARDED, openapi_document

NOWHERE = {400, 401, 403, 404, 405, 421, 431, 500}
"""Statuses of a call that is none of those declared."""


@cache
def document() -> dict[str, Any]:
    """The description, as a gateway with a token serves it."""
    found: dict[str, Any] = json.loads(json.dumps(openapi_document(needs_key=True)))
    return found


async def check_answer(response: httpx.Response) -> None:
    """The answer is one that the document and the types know; httpx calls this with each."""
    request = response.request
    raw = request.url.raw_path.partition(b"?")[0].decode()
    path = "/".join(quote(unquote(step), safe="") for step in raw.split("/"))
    if request.method == "HEAD":
        return
    await response.aread()
    calls = [one for one in OPERATIONS if _pattern(one).fullmatch(path)]
    operation = next((one for one in calls if one.method.upper() == request.method), None)
    where = f"{request.method} {path}: {response.status_code} {response.text[:300]}"
    if operation is None:
        assert response.status_code in NOWHERE, where
        _check_refusal(response, None, where)
        if response.status_code == httpx.codes.METHOD_NOT_ALLOWED:
            assert response.headers["allow"] == ", ".join(sorted(_methods(calls))), where
        return
    described = document()["paths"][operation.path][operation.method]["responses"]
    assert str(response.status_code) in described, f"not declared: {where}"
    _check_content(operation, response, where)


def _methods(calls: list[AnyOperation]) -> set[str]:
    methods = {one.method.upper() for one in calls}
    return methods | {"HEAD"} if "GET" in methods else methods


@cache
def _pattern(operation: AnyOperation) -> re.Pattern[str]:
    numbers = {"{offset}": "[0-9]{1,18}", "{n}": "[0-9]{1,9}"}
    parts = operation.path.split("/")
    steps = (numbers.get(one, "[^/]+") if one[:1] == "{" else one for one in parts)
    return re.compile("/".join(steps))


def _check_content(operation: AnyOperation, response: httpx.Response, where: str) -> None:
    media = response.headers["content-type"].partition(";")[0]
    is_answer = response.status_code in operation.statuses
    if media != JSON or (operation.media[0] != JSON and is_answer):
        assert is_answer, f"a refusal that is no JSON: {where}"
        return
    validator = _validator(operation.path, operation.method, str(response.status_code))
    value = response.json()
    errors = [error.message for error in validator.iter_errors(value)]
    assert not errors, (where, errors)
    if not is_answer or "error" in value:
        _check_refusal(response, operation, where)
    else:
        found = msgspec.json.decode(response.content, type=operation.answer_type)
        assert json.loads(msgspec.json.encode(found)) == value, f"undeclared members: {where}"


def _check_refusal(response: httpx.Response, operation: AnyOperation | None, where: str) -> None:
    error = msgspec.json.decode(response.content, type=Refused).error
    assert json.loads(msgspec.json.encode(Refused(error=error))) == response.json(), where
    assert REFUSALS[error.name].status == response.status_code, where
    if operation is not None:
        names = {*EVERYWHERE, *operation.refusals, *GUARDED}
        assert error.name in names, f"{operation.name} does not declare {where}"


@cache
def _validator(path: str, method: str, status: str) -> Any:
    described = document()["paths"][path][method]["responses"][status]
    schema = described["content"][JSON]["schema"]
    return validator_for({**schema, "components": document()["components"]})
