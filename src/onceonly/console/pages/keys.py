"""Keys of the API: who has one, what it allows; a new one is shown once."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from onceonly.api.decoding import converted
from onceonly.api.key_operations import CREATE_KEY, LIST_KEYS
from onceonly.api.keys import Key, NewKey
from onceonly.api.words import Scope
from onceonly.console.calls import NOTHING, ApiRefused, twin_of
from onceonly.console.page import Shown, Visit

SCOPES: Final[tuple[str, ...]] = Scope.__args__  # type: ignore[attr-defined]  # because a Literal has them
MEANINGS: Final = {
    "submit": "hand messages over, and say how far their processing is",
    "read": "look at messages, inbox, notices, jobs, journal",
    "payloads": "look at the documents themselves",
    "operate": "resend, suspend, resume, ask partners, publish; read the audit",
    "admin": "everything, with backups and keys",
}
"""What each scope allows."""


async def keys(visit: Visit) -> Shown:
    """Every key that there ever was, and the form for a new one."""
    return await _page(visit, {})


async def made(visit: Visit, fields: Mapping[str, str]) -> Shown:
    """Make the key that the form asks for, and show it this once."""
    given: dict[str, Any] = {
        "name": fields.get("name", ""),
        "scopes": fields.get("scope", "").split(),
        "application": fields.get("application", "").strip() or None,
        "agreements": fields.get("agreements", "").split(),
        "certificate": fields.get("certificate", "").replace(":", "").strip().lower() or None,
    }
    try:
        wanted = converted(given, NewKey)
        key = await visit.calls.ask(CREATE_KEY, NOTHING, NOTHING, wanted)
    except msgspec.ValidationError as error:
        return await _page(visit, fields, problem=str(error), status=400)
    except ApiRefused as refused:
        if refused.status in (401, 403):
            raise
        text = f"{refused.refusal.name}: {refused.refusal.text}"
        return await _page(visit, fields, problem=text, status=refused.status)
    return await _page(visit, {}, key=key)


async def _page(
    visit: Visit, fields: Mapping[str, str], *, status: int = 200, **more: Any
) -> Shown:
    known: tuple[Key, ...]
    try:
        known = (await visit.calls.ask(LIST_KEYS, NOTHING, NOTHING)).keys
    except ApiRefused:
        # The first key closes the API to whoever has none, and must be shown before that is told.
        if "key" not in more:
            raise
        known = (more["key"],)
    return Shown(
        template="keys.html",
        title="Keys",
        values={
            "keys": known,
            "scopes": tuple((scope, MEANINGS[scope]) for scope in SCOPES),
            "fields": fields,
            "key": None,
            "problem": None,
            **more,
        },
        twin=twin_of(LIST_KEYS, NOTHING, NOTHING),
        command="onceonly key list",
        status=status,
    )
