"""Reads what callers of the application API send; every refusal has a name.

Every function raises `LocalError` (InvalidField, InvalidJson, InvalidMultipart) for what is not
legal.
"""

import json
import re
from typing import Any, NoReturn

from starlette.datastructures import UploadFile
from starlette.requests import Request

from onceonly.api.fields import PAGE_MAX
from onceonly.api.jobs import StagedRow
from onceonly.api.messages import Header, IdempotencyHead, Reason
from onceonly.gateway.api.answers import shown
from onceonly.gateway.api.declared import from_members, from_texts, wrong
from onceonly.gateway.api.forms import HEADER_BYTES_MAX
from onceonly.gateway.application.submissions import Part, Submission
from onceonly.message.errors import LocalError

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


def submission_of(
    header: Any, parts: list[Part], message_id: str | None, key: str | None
) -> Submission:
    """The submission; `message_id` of the path and `key` of the head must fit the JSON."""
    if not isinstance(header, dict):
        raise LocalError("InvalidMultipart", "the part 'message' is no JSON object")
    asked = from_members(Header, header)
    return submission(
        asked,
        parts,
        _said("message_id", message_id, asked.message_id, "the one in the path"),
        _said("key", key, asked.key, "the Idempotency-Key"),
    )


def submission(
    asked: Header | StagedRow, parts: list[Part], message_id: str | None, key: str | None
) -> Submission:
    """What is asked for, in the gateway's own words."""
    return Submission(
        to=asked.to,
        service=asked.service,
        action=asked.action,
        parts=parts,
        agreement_id=asked.agreement,
        message_id=message_id,
        idempotency_key=key,
        conversation_id=asked.conversation,
        ref_to_message_id=asked.ref,
    )


def _said(name: str, outside: str | None, inside: str | None, where: str) -> str | None:
    """What is said outside of the JSON, where that says nothing else."""
    if outside is not None and inside not in (None, outside):
        text = f"{name} in the JSON is not {where}"
        raise wrong(name, inside, f"{shown(outside)}, or none", text)
    return inside if outside is None else outside


def key_of(request: Request) -> str | None:
    """The Idempotency-Key of the head, read as UTF-8."""
    given = request.headers.getlist("idempotency-key")
    try:
        texts = [("Idempotency-Key", one.encode("latin-1").decode()) for one in given]
    except UnicodeDecodeError as error:
        raise LocalError("InvalidField", "the Idempotency-Key is not UTF-8") from error
    return from_texts(IdempotencyHead, texts).key


def needed_reason(reason: str | None) -> str:
    """Why a person wants this, who has to say it."""
    if reason is None or not reason.strip():
        text = "reason says why, in a text that is not empty"
        raise wrong("reason", reason, "a text that is not empty", text)
    return reason.strip()[:REASON_LENGTH_MAX]


REASON_LENGTH_MAX = 500
"""Longest reason that a caller has to give; it is written into a row."""


def line_of(reason: str | None, default: str) -> str:
    """The reason as one line of text, or the default where none is given."""
    given = from_members(Reason, {"reason": reason}).reason
    return given or default


def page_limit(limit: int) -> int:
    """How many items a page of this `limit` has."""
    return max(1, min(limit, PAGE_MAX))
