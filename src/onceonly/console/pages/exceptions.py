"""The rare rows of the journal: duplicates, collisions, refusals, security events, bugs."""

from typing import Any, Final

import msgspec

from onceonly.api.counters import ExceptionName, ExceptionPage, ExceptionsQuery
from onceonly.api.decoding import converted
from onceonly.api.watching import LIST_EXCEPTIONS
from onceonly.console import words
from onceonly.console.calls import NOTHING, ApiRefused, twin_of
from onceonly.console.page import ROWS, Shown, Visit, command
from onceonly.console.rendering import url

EVENTS: Final[tuple[str, ...]] = ExceptionName.__args__  # type: ignore[attr-defined]  # because a Literal has them
FILTERS: Final = ("event", "partner", "since", "until")


async def exceptions(visit: Visit) -> Shown:
    """A page of them, the newest first; each duplicate with what it repeats."""
    given = {name: visit.get(name) for name in FILTERS}
    page, problem = ExceptionPage(exceptions=(), next_before=None, counted_seq=0, last_seq=0), None
    query = ExceptionsQuery(limit=ROWS)
    before = visit.number("before") or None
    try:
        query = converted({**given, "before": before, "limit": ROWS}, ExceptionsQuery)
        page = await visit.calls.ask(LIST_EXCEPTIONS, NOTHING, query)
    except msgspec.ValidationError as error:
        problem = f"{error}; an instant is written as 2026-11-25T21:30:00Z"
    except ApiRefused as refused:
        if refused.refusal.name != "InvalidField":
            raise
        problem = refused.refusal.text
    return Shown(
        template="exceptions.html",
        title="Exceptions",
        values={
            "page": page,
            "given": given,
            "kinds": tuple(_chip(given, event) for event in EVENTS),
            "told": words.EVENTS,
            "problem": problem,
            "older": url("exceptions", **given, before=page.next_before),
            "latest": url("exceptions", **given) if before else None,
        },
        twin=twin_of(LIST_EXCEPTIONS, NOTHING, query),
        command=command("onceonly", "exceptions", *_options(given)),
        status=200 if problem is None else 400,
        is_live=before is None and problem is None,
    )


def _chip(given: dict[str, str | None], event: str) -> tuple[str, str, bool]:
    is_on = given["event"] == event
    filters: dict[str, Any] = {**given, "event": None if is_on else event}
    return event, url("exceptions", **filters), is_on


def _options(given: dict[str, str | None]) -> list[str]:
    return [word for name, value in given.items() if value for word in (f"--{name}", value)]
