"""Outbound messages: the query line, its chips, a page of the list, and the list as a file."""

import csv
import io
from collections.abc import AsyncIterator
from typing import Any, Final

import msgspec

from onceonly.api import counts, operations
from onceonly.api.messages import MessageCriteria, MessagePage, MessagesQuery, OutboundMessage
from onceonly.api.words import MessageState
from onceonly.console.calls import NOTHING, ApiRefused, twin_of
from onceonly.console.page import ROWS, Elsewhere, Shown, Visit, command
from onceonly.console.query_line import LineError, QueryLine, read_line
from onceonly.console.rendering import url

KEYS: Final = tuple(field.encode_name for field in msgspec.structs.fields(MessageCriteria))
"""The keys of the query line: whatever the API can filter by."""
STATES: Final[tuple[str, ...]] = MessageState.__args__  # type: ignore[attr-defined]  # because a Literal has them

EXPORT_MAX: Final = 100_000
"""Most messages of one file; more are for the lake's tables."""
EXPORT_PAGE: Final = 1_000
COLUMNS: Final = (
    *("message_id", "state", "to", "agreement", "service", "action", "conversation"),
    *("submitted_at", "settled_at", "attempt", "size_bytes", "error_code"),
)


def query_of(line: QueryLine, *, after: int, limit: int) -> MessagesQuery:
    """What the line asks of the API. Raises `LineError`."""
    given: dict[str, Any] = {"id_prefix": line.message_id, **line.terms}
    given |= {"order": "newest", "after": after, "limit": limit}
    try:
        return msgspec.convert(given, MessagesQuery, strict=False)
    except msgspec.ValidationError as error:
        states = ", ".join(STATES)
        raise LineError(f"{error}; states are {states}") from error


def criteria_of(query: MessagesQuery) -> MessageCriteria:
    """What the list is asked for, without its page."""
    return MessageCriteria(**{name: getattr(query, name) for name in KEYS})


async def messages(visit: Visit) -> Shown:
    """A page of the messages that the line asks for."""
    text = visit.query.get("q", "")
    after, page, counted, problem = visit.number("after"), None, None, None
    line = QueryLine()
    query = MessagesQuery(after=after, limit=ROWS)
    try:
        line = read_line(text, KEYS)
        query = query_of(line, after=after, limit=ROWS)
        page = await visit.calls.ask(operations.LIST_MESSAGES, NOTHING, query)
        if [one.message_id for one in page.messages] == [line.message_id]:
            raise Elsewhere(url("message", id=line.message_id))
        counted = await visit.calls.ask(counts.COUNT_MESSAGES, NOTHING, criteria_of(query))
    except LineError as error:
        problem = str(error)
    except ApiRefused as refused:
        if refused.refusal.name != "InvalidField":
            raise
        problem = refused.refusal.text
    return Shown(
        template="messages.html",
        title="Messages",
        values={
            "text": text,
            "keys": KEYS,
            "problem": problem,
            "page": page or MessagePage(messages=(), next_after=None),
            "counted": counted,
            "after": after,
            "chips": tuple(_chip(line, state) for state in STATES),
            "terms": tuple(
                (key, value, url("messages", q=line.with_term(key, None).text or None))
                for key, value in line.terms.items()
            ),
        },
        twin=twin_of(operations.LIST_MESSAGES, NOTHING, query),
        command=command("onceonly", "message", "list", "--newest", *_options(line)),
        status=200 if problem is None else 400,
        is_live=not after and problem is None,
    )


def _chip(line: QueryLine, state: str) -> tuple[str, str, bool]:
    is_on = line.terms.get("state") == state
    return state, url("messages", q=line.with_term("state", None if is_on else state).text), is_on


def _options(line: QueryLine) -> list[str]:
    named = ((f"--{key.replace('_', '-')}", value) for key, value in line.terms.items())
    return [word for option in named for word in option]


async def exported(visit: Visit, form: str) -> AsyncIterator[bytes]:
    """The messages that the line asks for, as CSV or NDJSON, page by page.

    Raises `LineError` and, with the first piece, `ApiRefused`.
    """
    line = read_line(visit.query.get("q", ""), KEYS)
    written, after = 0, 0
    if form == "csv":
        yield _row(COLUMNS)
    while written < EXPORT_MAX:
        query = query_of(line, after=after, limit=EXPORT_PAGE)
        page = await visit.calls.ask(operations.LIST_MESSAGES, NOTHING, query)
        yield b"".join(_written(message, form) for message in page.messages)
        written += len(page.messages)
        if page.next_after is None:
            return
        after = page.next_after


def _written(message: OutboundMessage, form: str) -> bytes:
    if form != "csv":
        return msgspec.json.encode(message) + b"\n"
    shown = {"to": " ".join(message.to_ids)}
    return _row(tuple(shown.get(name, getattr(message, name, "")) for name in COLUMNS))


def _row(cells: tuple[Any, ...]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(map(_cell, cells))
    return line.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: Any) -> str:
    """A spreadsheet would take a text that begins so for a formula, and a partner can choose it."""
    text = "" if value is None else str(value)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
