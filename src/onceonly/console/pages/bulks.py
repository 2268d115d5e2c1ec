"""Actions on many messages: choose, look at the selection, confirm by its number, follow.

Nothing is done to a message before somebody has seen how many there are and typed that number; the
gateway compares it with its frozen selection.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from onceonly.api.bulk import (
    BulkDetail,
    BulkItemQuery,
    BulkPath,
    BulkQuery,
    PrepareBulk,
    StartBulk,
    Where,
    WhereInInbox,
)
from onceonly.api.bulk_operations import (
    GET_BULK,
    LIST_BULK_RESULTS,
    LIST_BULKS,
    PREPARE_BULK,
    START_BULK,
    STOP_BULK,
)
from onceonly.api.decoding import converted
from onceonly.console import words
from onceonly.console.browser import PostedForm
from onceonly.console.calls import NOTHING, ApiRefused, twin_of
from onceonly.console.page import ROWS, Shown, Visit, command
from onceonly.console.pages.messages import KEYS, criteria_of, query_of
from onceonly.console.query_line import LineError, QueryLine, read_line
from onceonly.console.rendering import url

INBOX_KEYS: Final = tuple(one.encode_name for one in msgspec.structs.fields(WhereInInbox))
"""The keys of a query line for the inbox: whatever the API can filter by."""

IN_INBOX: Final = "inbox"
"""Of a selection of received messages, in an address or a form."""

_UNAUTHORIZED: Final = 401
_BAD: Final = 400


async def bulks(visit: Visit) -> Shown:
    """A page of them, the latest first."""
    query = BulkQuery(order="newest", after=visit.number("after"), limit=ROWS)
    page = await visit.calls.ask(LIST_BULKS, NOTHING, query)
    return Shown(
        template="bulks.html",
        title="Bulk actions",
        values={"page": page},
        twin=twin_of(LIST_BULKS, NOTHING, query),
        command="onceonly bulk list --newest",
        is_live=not query.after,
    )


async def new_bulk(visit: Visit) -> Shown:
    """Which action, and why, for what a query line finds, of sent messages or of the inbox."""
    return _asked(visit.query.get("q", ""), of=visit.query.get("of", ""))


def _asked(
    text: str,
    do: str = "",
    reason: str = "",
    problem: str | None = None,
    status: int = 200,
    *,
    of: str,
) -> Shown:
    query, of_inbox = BulkQuery(limit=ROWS), of == IN_INBOX
    return Shown(
        template="new-bulk.html",
        title="Act on many messages",
        values={
            "text": text,
            "do": do,
            "reason": reason,
            "problem": problem,
            "of": IN_INBOX if of_inbox else "",
            "keys": INBOX_KEYS if of_inbox else KEYS,
            "actions": {
                name: means
                for name, means in words.BULK_ACTIONS.items()
                if (name in words.OF_INBOX) == of_inbox
            },
        },
        twin=twin_of(LIST_BULKS, NOTHING, query),
        command="onceonly bulk prepare",
        status=status,
    )


async def bulk(visit: Visit) -> Shown:
    """One action: its selection before, its progress while, and its results after."""
    return await _followed(visit, visit.number("number"))


async def _followed(
    visit: Visit, number: int, problem: str | None = None, status: int = 200
) -> Shown:
    path, query = BulkPath(number=number), BulkItemQuery(after=visit.number("after"), limit=ROWS)
    found, results = await asyncio.gather(
        visit.calls.ask(GET_BULK, path, NOTHING),
        visit.calls.ask(LIST_BULK_RESULTS, path, query),
    )
    given = msgspec.to_builtins(found.where or found.inbox)
    terms = {name: value for name, value in given.items() if value is not None}
    return Shown(
        template="bulk.html",
        title=f"Bulk action {found.number}",
        values={
            "bulk": found,
            "line": QueryLine(terms=terms).text,
            "of_inbox": found.inbox is not None,
            "means": words.BULK_ACTIONS[found.do],
            "results": results,
            "outcomes": words.ITEM_OUTCOMES,
            "problem": problem,
        },
        twin=twin_of(GET_BULK, path, NOTHING),
        command=command("onceonly", "bulk", "show", str(found.number)),
        status=status,
        is_live=found.state in ("selecting", "running"),
    )


async def prepared(visit: Visit, form: PostedForm) -> Shown | str:
    """The form of a new action: the address of its selection, or the form with what is wrong."""
    text, do, reason = form.get("q"), form.get("do"), form.get("reason").strip()
    of = form.get("of")
    if not reason:
        return _asked(text, do, reason, "Say why; it is kept with each message.", _BAD, of=of)
    try:
        which = _in_inbox(text) if of == IN_INBOX else _sent(text)
        body = converted({"do": do, "reason": reason, **which}, PrepareBulk)
        made = await visit.calls.ask(PREPARE_BULK, NOTHING, NOTHING, body)
    except (LineError, msgspec.ValidationError) as error:
        return _asked(text, do, reason, str(error), _BAD, of=of)
    except ApiRefused as refused:
        if refused.status == _UNAUTHORIZED:
            raise
        problem = f"{refused.refusal.name}: {refused.refusal.text}"
        return _asked(text, do, reason, problem, refused.status, of=of)
    return url("bulk", number=made.number)


def _sent(text: str) -> dict[str, Where]:
    """Raises `LineError`."""
    criteria = criteria_of(query_of(read_line(text, KEYS), after=0, limit=1))
    return {"where": Where(**{name: getattr(criteria, name) for name in KEYS})}


def _in_inbox(text: str) -> dict[str, WhereInInbox]:
    """Raises `LineError`, `msgspec.ValidationError`."""
    line = read_line(text, INBOX_KEYS)
    given = {"id_prefix": line.message_id, **line.terms}
    return {"inbox": converted(given, WhereInInbox, strict=False)}


async def started(visit: Visit, form: PostedForm) -> Shown | str:
    """The number that was typed goes to the gateway, which compares it."""
    number, count = _number(form, "number"), _number(form, "count")

    async def start() -> Any:
        path = BulkPath(number=number)
        return await visit.calls.ask(START_BULK, path, NOTHING, StartBulk(count=count))

    return await _changed(visit, number, start)


async def stopped(visit: Visit, form: PostedForm) -> Shown | str:
    """No more of it."""
    number = _number(form, "number")

    async def stop() -> Any:
        return await visit.calls.ask(STOP_BULK, BulkPath(number=number), NOTHING)

    return await _changed(visit, number, stop)


async def _changed(
    visit: Visit, number: int, change: Callable[[], Awaitable[BulkDetail]]
) -> Shown | str:
    try:
        await change()
    except ApiRefused as refused:
        if refused.status in (_UNAUTHORIZED, 403, 404):
            raise
        problem = f"{refused.refusal.name}: {refused.refusal.text}"
        return await _followed(visit, number, problem, refused.status)
    return url("bulk", number=number)


def _number(form: PostedForm, name: str) -> int:
    """A number as people type it, with blanks; 0 for everything that is none."""
    text = "".join(form.get(name).split())
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


FORMS: Final[Mapping[str, Callable[[Visit, PostedForm], Awaitable[Shown | str]]]] = {
    "prepare": prepared,
    "start": started,
    "stop": stopped,
}
"""What a form of these pages does, by the name that its address has."""
