"""Outbound messages: the query line, its chips, and a page of the list."""

from typing import Any, Final

import msgspec

from onceonly.api import counts, operations
from onceonly.api.decoding import converted
from onceonly.api.messages import MessageCriteria, MessagePage, MessagesQuery
from onceonly.api.words import MessageState
from onceonly.console.calls import NOTHING, ApiRefused, twin_of
from onceonly.console.columns import ListColumn, chosen
from onceonly.console.page import ROWS, Elsewhere, Shown, Visit, command
from onceonly.console.query_line import LineError, QueryLine, read_line
from onceonly.console.rendering import url

KEYS: Final = tuple(field.encode_name for field in msgspec.structs.fields(MessageCriteria))
"""The keys of the query line: whatever the API can filter by."""
STATES: Final[tuple[str, ...]] = MessageState.__args__  # type: ignore[attr-defined]  # because a Literal has them

COLUMNS: Final = (
    ListColumn(name="state", label="state"),
    ListColumn(name="error", label="error", is_usual=False),
    ListColumn(name="message", label="message", is_always=True, style="name"),
    ListColumn(name="to", label="to", style="name broad"),
    ListColumn(name="agreement", label="agreement", is_usual=False, style="name"),
    ListColumn(name="service", label="service, action", style="text broad"),
    ListColumn(name="conversation", label="conversation", is_usual=False, style="name"),
    ListColumn(name="submitted", label="submitted", style="when"),
    ListColumn(name="settled", label="settled", is_usual=False, style="when"),
    ListColumn(name="expires", label="expires", is_usual=False, style="when"),
    ListColumn(name="sequence", label="sequence", is_usual=False, style="n"),
    ListColumn(name="tries", label="tries", style="n broad"),
    ListColumn(name="size", label="size", style="n broad"),
)


def line_of(visit: Visit) -> QueryLine:
    """The line of the address. Raises `LineError`."""
    return read_line(visit.query.get("q", ""), KEYS)


def query_of(line: QueryLine, *, after: int, limit: int) -> MessagesQuery:
    """What the line asks of the API. Raises `LineError`."""
    given: dict[str, Any] = {"id_prefix": line.message_id, **line.terms}
    given |= {"order": "newest", "after": after, "limit": limit}
    try:
        return converted(given, MessagesQuery, strict=False)
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
    line, columns = QueryLine(), chosen(visit, COLUMNS)
    query = MessagesQuery(after=after, limit=ROWS)
    try:
        line = line_of(visit)
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
            "columns": columns,
            "chips": tuple(_chip(line, state, columns.query) for state in STATES),
            "terms": tuple(
                (key, value, _found_by(line.with_term(key, None), columns.query))
                for key, value in line.terms.items()
            ),
        },
        twin=twin_of(operations.LIST_MESSAGES, NOTHING, query),
        command=command("onceonly", "message", "list", "--newest", *_options(line)),
        status=200 if problem is None else 400,
        is_live=not after and problem is None,
    )


def _chip(line: QueryLine, state: str, columns: str | None) -> tuple[str, str, bool]:
    is_on = line.terms.get("state") == state
    return state, _found_by(line.with_term("state", None if is_on else state), columns), is_on


def _found_by(line: QueryLine, columns: str | None) -> str:
    return url("messages", q=line.text or None, columns=columns)


def _options(line: QueryLine) -> list[str]:
    named = ((f"--{key.replace('_', '-')}", value) for key, value in line.terms.items())
    return [word for option in named for word in option]
