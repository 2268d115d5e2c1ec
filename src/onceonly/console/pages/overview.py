"""The first page: six numbers, what is in trouble, what happened last."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from onceonly.api import operations
from onceonly.api.counters import Counters
from onceonly.api.counts import COUNT_INBOX, COUNT_MESSAGES
from onceonly.api.history import JournalQuery, JournalRow
from onceonly.api.inbox import InboxCriteria
from onceonly.api.lists import Count
from onceonly.api.messages import MessageCriteria
from onceonly.api.operating import IncidentsQuery, PartnerPair
from onceonly.api.watching import GET_COUNTERS
from onceonly.console import plots, spans, words
from onceonly.console.calls import NOTHING, twin_of
from onceonly.console.counts import messages_by_state
from onceonly.console.page import Shown, Visit
from onceonly.console.rendering import url
from onceonly.message.event import Event
from onceonly.message.word import Word

ROWS_LOOKED_AT: Final = 400
"""Of the end of the journal, for what happened last."""
SHOWN: Final = 8
BEHIND: Final = 2_000
"""Rows of the journal that may be uncounted without a word: a busy gateway's last seconds."""

FAILURES: Final = frozenset(
    {
        *(Event.FAILED, Event.EXPIRED, Event.EXHAUSTED, Event.PARKED, Event.COLLISION_DETECTED),
        *(Event.APPLICATION_REFUSED, Event.SECURITY_EVENT, Event.RESPONSE_OVERDUE, Event.REJECTED),
    }
)


class Number(Word, kw_only=True):
    """One of the six: a count, and the list that it counts."""

    count: str
    label: str
    url: str
    tone: str


class BarPart(Word, kw_only=True):
    """A part of the bar of states: where it begins and ends, of a thousand."""

    state: str
    count: int
    begins: int
    width: int


async def overview(visit: Visit) -> Shown:
    """The six numbers, what was promised and kept, trouble by partner, the last failures."""
    ask = visit.calls.ask
    chosen = plots.range_of(visit.get("range"))
    drawn = plots.query_of(chosen, visit.now)
    midnight = visit.now.strftime("%Y-%m-%dT00:00:00Z")
    failed_today = MessageCriteria(state="failed", settled_since=midnight)
    counted, failed, untaken = await asyncio.gather(
        ask(GET_COUNTERS, NOTHING, drawn),
        ask(COUNT_MESSAGES, NOTHING, failed_today),
        ask(COUNT_INBOX, NOTHING, InboxCriteria(processing="not-started")),
    )
    metrics, pairs, incidents, rows = await asyncio.gather(
        ask(operations.GET_METRICS, NOTHING, NOTHING),
        ask(operations.LIST_PARTNERS, NOTHING, NOTHING),
        ask(operations.LIST_INCIDENTS, NOTHING, IncidentsQuery()),
        ask(operations.LIST_JOURNAL, NOTHING, JournalQuery(order="newest", limit=ROWS_LOOKED_AT)),
    )
    counts = messages_by_state(metrics)
    return Shown(
        template="overview.html",
        title="Overview",
        values={
            "numbers": (
                *_under_way(counts, pairs.partners),
                _found(
                    failed,
                    "failed today",
                    url("messages", q=f"state:failed settled_since:{midnight}"),
                    tone="bad",
                ),
                _found(
                    untaken,
                    "not taken by the application",
                    url("inbox", processing="not-started"),
                ),
            ),
            "plots": plots.plots_of(chosen, visit.now, counted),
            "plots_twin": twin_of(GET_COUNTERS, NOTHING, drawn),
            "uncounted": _uncounted(counted),
            "ranges": tuple(plots.RANGES.values()),
            "parts": parts_of(counts),
            "sum": sum(counts.values()),
            "troubled": sorted(filter(_is_troubled, pairs.partners), key=_gravity)[:SHOWN],
            "incidents": len(incidents.incidents),
            "failures": _last(row for row in rows.records if row.event in FAILURES),
            "actions": _last(row for row in rows.records if row.event is Event.ASKED),
        },
        twin=twin_of(operations.LIST_PARTNERS, NOTHING, NOTHING),
        command="onceonly partner list",
        is_live=True,
    )


def _uncounted(counted: Counters) -> int:
    """How many rows the charts lack, if that is worth a word."""
    behind = counted.last_seq - counted.counted_seq
    return behind if behind > BEHIND else 0


def _under_way(counts: Mapping[str, int], pairs: tuple[PartnerPair, ...]) -> tuple[Number, ...]:
    """What has no end yet, and the pairs that hold it up."""
    waiting = [one for pair in pairs for one in pair.waiting if one.next_attempt_at is not None]
    retrying = sum(one.attempt > 1 for one in waiting)
    closed = sum(pair.state != "open" for pair in pairs)
    sending = "state:sending"
    return (
        _number(counts.get("sending", 0), "in flight", "messages", q=sending),
        _number(retrying, "retrying", "messages", tone="doubt", q=sending),
        _number(counts.get("in_doubt", 0), "in doubt", "doubts", tone="doubt"),
        _number(closed, "suspended", "partners", tone="doubt"),
    )


def _number(count: int, label: str, path: str, tone: str = "", **query: str) -> Number:
    shown = tone if count else "good"
    return Number(count=spans.count(count), label=label, url=url(path, **query), tone=shown)


def _found(counted: Count, label: str, address: str, tone: str = "") -> Number:
    """What a count of the API says, which stops somewhere."""
    count = spans.count(counted.count) + ("+" if counted.is_more else "")
    shown = tone if counted.count or counted.is_more else "good"
    return Number(count=count, label=label, url=address, tone=shown)


def _is_troubled(pair: PartnerPair) -> bool:
    return pair.state != "open" or pair.trouble is not None


def _gravity(pair: PartnerPair) -> tuple[bool, int]:
    return (pair.state == "open", -pair.queued)


def _last(rows: Iterable[JournalRow]) -> tuple[JournalRow, ...]:
    return tuple(rows)[:SHOWN]


def parts_of(counts: dict[str, int] | object) -> tuple[BarPart, ...]:
    """The states as parts of a bar of a thousand; what is there is never too thin to be seen."""
    assert isinstance(counts, dict)
    present = {state: counts[state] for state in words.MESSAGE_STATES if counts.get(state)}
    whole = sum(present.values())
    widths = {state: max(6, 1000 * count // whole) for state, count in present.items()}
    if widths:
        widest = max(widths, key=lambda state: widths[state])
        widths[widest] += 1000 - sum(widths.values())
    begins, parts = 0, []
    for state, count in present.items():
        parts.append(BarPart(state=state, count=count, begins=begins, width=widths[state]))
        begins += widths[state]
    return tuple(parts)
