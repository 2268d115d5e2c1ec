"""Reads what callers of the application API send; every refusal has a name.

Every function raises `LocalError` (InvalidField, InvalidJson, InvalidMultipart) for what is not
legal.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from starlette.datastructures import UploadFile
from starlette.requests import Request

from onceonly.gateway.api.answers import shown
from onceonly.gateway.api.forms import HEADER_BYTES_MAX
from onceonly.gateway.api.openapi import Operation, members_of
from onceonly.gateway.application.submissions import Part, Submission
from onceonly.message.errors import LocalError, RemoteError
from onceonly.message.identity import checked_key, checked_text

LIMIT_MAX = 1000
"""Most items of one page."""

DEPTH_MAX = 32
"""Deepest JSON of a caller; a row of a job with its payloads is three deep."""


def too_large(payload_bytes_max: int) -> LocalError:
    """The error for a message whose payloads together have more than that many bytes."""
    text = f"the payloads of a message have {payload_bytes_max} bytes at most"
    return LocalError("PayloadTooLarge", text)


async def header_json(value: str | UploadFile) -> Any:
    """The `message` JSON of a submission."""
    try:
        text = value if isinstance(value, str) else await value.read(HEADER_BYTES_MAX + 1)
        return parsed(text)
    except ValueError as error:
        raise LocalError("InvalidMultipart", f"the part 'message' is no JSON: {error}") from error


_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NESTING = {"[": 1, "{": 1, "]": -1, "}": -1}


def parsed(text: str | bytes) -> Any:
    """The JSON value, nested to `DEPTH_MAX` at most.

    Raises `ValueError`, also if a string in it is no Unicode text, or if a number is not legal in
    JSON (NaN).
    """
    text = text if isinstance(text, str) else text.decode("utf-8-sig")
    _check_depth(text)
    value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
    if "\\ud" in text.lower():
        # JSON can contain half a surrogate pair as an escape; no store or answer could hold it.
        json.dumps(value, ensure_ascii=False).encode()
    elif not text.isascii():
        # A field of a form can contain one without an escape.
        text.encode()
    return value


def _check_depth(text: str) -> None:
    """Check before any value is built: code that reads or writes values recurses for each level."""
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return
    depth = 0
    for sign in re.findall(r"[][{}]", _STRING.sub("", text)):
        depth += _NESTING[sign]
        if depth > DEPTH_MAX:
            raise ValueError(f"it is nested more than {DEPTH_MAX} deep")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse two members with the same name, since readers would choose differently."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{shown(twice)} is there more than once")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def check_query(request: Request, operation: Operation) -> None:
    """Allow only parameters that the call reads, and each only once."""
    legal = [name for name, _ in operation.query]
    given = [name for name, _ in request.query_params.multi_items()]
    _check_names(given, legal, "parameter")
    twice = next((name for name in given if given.count(name) > 1), None)
    if twice is not None:
        raise LocalError("InvalidField", f"the parameter {twice} is given more than once")


def check_members(body: dict[str, Any], operation: Operation) -> None:
    """Allow only members that the call reads; `parsed` has refused members that come twice."""
    _check_names(body, members_of(operation), "member")


def _check_names(given: Iterable[str], legal: Sequence[str], kind: str) -> None:
    for name in given:
        if name not in legal:
            there = f"legal: {', '.join(legal)}" if legal else "there are none"
            raise LocalError("InvalidField", f"{shown(name)} is no {kind} of this call; {there}")


async def json_object(request: Request) -> dict[str, Any]:
    """The body; an empty object if there is none."""
    body = await request.body()
    if not body:
        return {}
    try:
        value = parsed(body)
    except ValueError as error:
        raise LocalError("InvalidJson", str(error)) from error
    if not isinstance(value, dict):
        raise LocalError("InvalidJson", "the body is not a JSON object")
    return value


SUBMISSION_FIELDS = {
    "to": "to",
    "service": "service",
    "action": "action",
    "agreement": "agreement_id",
    "message_id": "message_id",
    "key": "idempotency_key",
    "conversation": "conversation_id",
    "ref": "ref_to_message_id",
}
"""Fields of the `message` JSON, and what they are called here."""


def submission_of(
    header: Any, parts: list[Part], message_id: str | None, key: str | None
) -> Submission:
    """The submission; `message_id` of the path and `key` of the head must fit the JSON."""
    if not isinstance(header, dict):
        raise LocalError("InvalidMultipart", "the part 'message' is no JSON object")
    for name, value in header.items():
        if name not in SUBMISSION_FIELDS:
            legal = ", ".join(SUBMISSION_FIELDS)
            raise LocalError("InvalidField", f"{shown(name)} is no field; legal: {legal}")
        if value is not None and not isinstance(value, str):
            raise LocalError("InvalidField", f"{name} is not a text")
    for name in ("to", "service", "action"):
        if not header.get(name):
            raise LocalError("InvalidField", f"{name} is missing")
    fields = {SUBMISSION_FIELDS[name]: value for name, value in header.items()}
    _put_said(fields, "message_id", message_id, "message_id in the JSON is not the one in the path")
    _put_said(fields, "idempotency_key", key, "key in the JSON is not the Idempotency-Key")
    if fields.get("idempotency_key") is not None:
        _check_key(fields["idempotency_key"])
    return Submission(parts=parts, **fields)


def _put_said(fields: dict[str, Any], name: str, said: str | None, contradiction: str) -> None:
    """Put a value from outside the JSON; refuse it if the JSON has another one."""
    if said is None:
        return
    if fields.get(name) not in (None, said):
        raise LocalError("InvalidField", contradiction)
    fields[name] = said


def _check_key(key: str) -> None:
    """Refuse an illegal key, such as an empty one, which several submissions could share."""
    try:
        checked_key(key)
    except RemoteError as error:
        raise LocalError("InvalidField", error.description) from error


def key_of(request: Request) -> str | None:
    """The Idempotency-Key of the head, read as UTF-8."""
    given = request.headers.getlist("idempotency-key")
    if len(given) > 1:
        raise LocalError("InvalidField", "the Idempotency-Key is given more than once")
    try:
        return given[0].encode("latin-1").decode() if given else None
    except UnicodeDecodeError as error:
        raise LocalError("InvalidField", "the Idempotency-Key is not UTF-8") from error


def one_line(value: Any, name: str) -> str:
    """The value as one line of text."""
    if not isinstance(value, str):
        raise LocalError("InvalidField", f"{name} is not a text")
    try:
        return checked_text(value, name)
    except RemoteError as error:
        raise LocalError("InvalidField", error.description) from error


def reason_of(body: dict[str, Any], default: str) -> str:
    """The reason in the body, or the default if there is none."""
    value = body.get("reason")
    return default if value is None or value == "" else one_line(value, "reason")


REASON_LENGTH_MAX = 500
"""Longest reason that a caller has to give; it is written into a row."""


def needed_reason(body: dict[str, Any]) -> str:
    """The reason of a person who asks for something; it must be given."""
    reason = body.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise LocalError("InvalidField", "reason says why, in a text that is not empty")
    return reason.strip()[:REASON_LENGTH_MAX]


def whole(request: Request, name: str, default: int) -> int:
    """A whole number of the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 1 << 63):
        raise LocalError("InvalidField", f"{name} {shown(text)} is not a whole number")
    return int(text)


_ITEMS = "items"
"""The path segment before an offset, or before a MessageId in the query; also a legal MessageId."""


def item_of(request: Request) -> tuple[str | None, int | None]:
    """MessageId and offset of the inbox item that a call is about; one of them may be missing."""
    if "offset" in request.path_params:
        return None, request.path_params["offset"]
    named = request.query_params.get("message_id", _ITEMS)
    message_id = request.path_params.get("message_id", named)
    is_there = "offset" in request.query_params
    return message_id, whole(request, "offset", 0) if is_there else None


def number(request: Request, name: str, default: float) -> float:
    """A finite number of the query, not below zero."""
    text = request.query_params.get(name)
    try:
        value = default if text is None else float(text)
    except ValueError as error:
        raise LocalError("InvalidField", f"{name} {shown(text)} is not a number") from error
    if not 0 <= value < float("inf"):
        raise LocalError("InvalidField", f"{name} {shown(text)} is not a time")
    return value


def limit_of(request: Request) -> int:
    """How many items a page may have."""
    return max(1, min(whole(request, "limit", 100), LIMIT_MAX))


def flag(body: dict[str, Any], name: str) -> bool:
    """A truth value of the body; False if it is not there."""
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise LocalError("InvalidField", f"{name} is neither true nor false")
    return value


def count(body: dict[str, Any], name: str, default: int | None) -> int:
    """A whole number of the body; it must be there if there is no default."""
    value = body.get(name, default)
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise LocalError("InvalidField", f"{name} {shown(value)} is not a whole number")
    return value


def one_of(request: Request, name: str, words: Sequence[str]) -> str:
    """A word of the query; the first of `words` if it is not there."""
    word = request.query_params.get(name, words[0])
    if word not in words:
        raise LocalError("InvalidField", f"{name} {shown(word)} is none of {', '.join(words)}")
    return word
