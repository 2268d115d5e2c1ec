"""Calls about counters over time, and about rare rows of the journal."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec.structs import asdict

from onceonly.api import counters, watching
from onceonly.api.condition import CertificateEnd, Condition, DiskSpace
from onceonly.api.counters import CountersQuery, ExceptionsQuery
from onceonly.api.operation import Nothing
from onceonly.gateway import shapes
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.reading import page_limit
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves
from onceonly.gateway.application.conditions import CONVERSATIONS_COUNTED, Conditions, ages_of
from onceonly.gateway.application.statistics import ListedRow
from onceonly.message.event import Event
from onceonly.message.instant import US_PER_S
from onceonly.store.contract.counters import (
    END,
    HOUR_US,
    LATENCY_BOUNDS_S,
    MINUTE_US,
    EventCounts,
    ListedFilter,
    Span,
    quantile_s,
)

USUAL_US: Final = {Span.MINUTE: 60 * MINUTE_US, Span.HOUR: 24 * HOUR_US}
"""How far back counters are shown, unless the caller says."""

_NUMBERS: Final = re.compile(r"[0-9]+")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class CounterCalls:
    """The routes to counters and rare rows, of the API that has them."""

    _served: Served

    @serves(watching.GET_CONDITION)
    def get_condition(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[Condition]:
        """How the gateway is."""
        del asked
        return Json(
            condition_shape(self._served.conditions, is_ready=self._served.operations.is_ready)
        )

    @serves(watching.GET_COUNTERS)
    def get_counters(
        self, asked: Asked[Nothing, CountersQuery, Nothing]
    ) -> Answer[counters.Counters]:
        """What happened over time."""
        query, span = asked.query, Span(asked.query.step)
        until_at = self._served.statistics.now_at() if query.until is None else when(query.until)
        since_at = until_at - USUAL_US[span] if query.since is None else when(query.since)
        found = self._served.statistics.count(
            span, query.agreement, span.begin_of(since_at), until_at
        )
        return Json(
            counters.Counters(
                step=query.step,
                agreement=query.agreement,
                since=shapes.text_of(span.begin_of(since_at)),
                until=shapes.text_of(until_at),
                counted_seq=found.counted_seq,
                last_seq=found.last_seq,
                latency_bounds_s=LATENCY_BOUNDS_S,
                counters=tuple(
                    counters.Counter(begins_at=shapes.text_of(begins_at), **members_of(counts))
                    for begins_at, counts in found.counters
                ),
                together=counters.Happened(**members_of(found.together)),
            )
        )

    @serves(watching.LIST_EXCEPTIONS)
    def list_exceptions(
        self, asked: Asked[Nothing, ExceptionsQuery, Nothing]
    ) -> Answer[counters.ExceptionPage]:
        """Rare rows of the journal, the newest first."""
        query, name_of = asked.query, self._served.names.name_of
        event = None if query.event is None else Event(query.event)
        wanted = ListedFilter(
            event or Event.DUPLICATE_ELIMINATED,
            partner=query.partner,
            since_at=0 if query.since is None else when(query.since),
            until_at=END if query.until is None else when(query.until),
            before=END if query.before is None else query.before,
            limit=page_limit(query.limit),
        )
        found = self._served.statistics.list_rare(wanted, event)
        return Json(
            counters.ExceptionPage(
                exceptions=tuple(_event_shape(one, name_of) for one in found.rows),
                next_before=found.next_before,
                counted_seq=found.counted_seq,
                last_seq=found.last_seq,
            )
        )


def condition_shape(conditions: Conditions, *, is_ready: bool) -> Condition:
    """How the gateway is; reads the store and the disk."""
    snapshot = conditions.snapshot()
    ages, last_seq = ages_of(snapshot), snapshot.last_seq()
    last = snapshot.list_journal(last_seq - 1, 1) if last_seq else ()
    return Condition(
        now=shapes.text_of(conditions.now_at()),
        ready=is_ready,
        disk=DiskSpace(**asdict(conditions.sizes())),
        certificates=tuple(
            CertificateEnd(
                file=file,
                ends_at=None if times is None else shapes.text_of(times.until_at),
                begins_at=None if times is None else shapes.text_of(times.from_at),
            )
            for file, times in conditions.certificates()
        ),
        messages=snapshot.count_by_status(),
        oldest_waiting_at=shapes.instant(ages.waiting_at),
        oldest_doubt_at=shapes.instant(ages.doubt_at),
        incidents_open=len(snapshot.list_incidents(is_open=True)),
        last_row_at=shapes.text_of(last[0].at) if last else None,
        last_seq=last_seq,
        counted_seq=snapshot.counted_seq(),
        published_seq=conditions.published_seq(),
        publish_interval_s=conditions.publish_interval_s,
        conversations_blocked=len(snapshot.list_blocked_orders(CONVERSATIONS_COUNTED)),
        conversations_with_gap=len(snapshot.list_gaps(CONVERSATIONS_COUNTED)),
    )


def when(text: str) -> int:
    """The instant of a text that has the declared form; the 30th of February is the 1st or 2nd.

    In microseconds; never before 1970, when there was no journal.
    """
    year, month, day, hour, minute, second, *rest = _NUMBERS.findall(text)
    first = datetime(max(int(year), 1970), int(month), 1, tzinfo=UTC)
    past = timedelta(
        days=int(day) - 1,
        hours=int(hour),
        minutes=int(minute),
        seconds=int(second),
        microseconds=int("".join(rest).ljust(6, "0")),
    )
    return (first - _EPOCH + past) // timedelta(microseconds=1)


def members_of(counts: EventCounts) -> Mapping[str, Any]:
    """The members of `counters.Happened`."""
    known = asdict(counts)
    latency_us = known.pop("latency_us")
    count = sum(counts.latencies)
    return {
        **known,
        "latency_mean_s": round(latency_us / count / US_PER_S, 6) if count else None,
        **{
            f"latency_p{share}_s": quantile_s(counts.latencies, share / 100)
            for share in (50, 95, 99)
        },
    }


def _event_shape(listed: ListedRow, name_of: shapes.NameOf) -> counters.ListedException:
    row, first, answer = listed.record, listed.first, listed.answer
    repeats = None
    if first is not None:
        repeats = counters.Repeat(
            first_at=shapes.text_of(first.at),
            delay_s=(row.at - first.at) / US_PER_S,
            answered_at=None if answer is None else shapes.text_of(answer.at),
            answer=None if answer is None else f"{answer.event} {answer.outcome}",
        )
    return counters.ListedException(row=shapes.record_shape(row, name_of), repeats=repeats)
