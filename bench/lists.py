"""What lists and counts cost over a full store, and whether `/healthz` waits for them.

For `bench.growth`. Every two criteria are asked together, with values that many rows have, few and
none, in both orders, listed and counted; processor time of this process is measured. Then a gateway
is asked the dearest of these questions by several callers at once, and `/healthz` in between.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from typing import Any

import httpx

from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.receiving import ProcessingState
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.entries import MessageFilter, Role
from onceonly.store.contract.listing import (
    InboxFilter,
    IncidentFilter,
    JobFilter,
    JournalFilter,
    ListFilter,
    NoticeFilter,
)
from onceonly.store.contract.store import Store

MANY, NONE = "urn:duns:222000000", "urn:duns:000000000"
CALLERS = 8
"""Callers at once: twice as many as the gateway lets read at the same time."""

HEALTH_PAUSE_S = 0.02
"""Between two questions for `/healthz`."""


def _times(messages: int) -> dict[str, tuple[Any, ...]]:
    return {"since_at": (messages // 2, messages - 10), "until_at": (messages // 2, 10)}


def _criteria(messages: int) -> dict[type[Any], dict[str, tuple[Any, ...]]]:
    """Of each list, values that many rows have, some or none, by criterion."""
    agreements = {
        "agreement_id": ("tpa-0", "none"),
        "agreement_ids": (("tpa-0", "tpa-1"), tuple(f"tpa-{n}" for n in range(150)), ("none",)),
    }
    headers = {
        "service": ("Ordering", "None"),
        "action": ("NewOrder", "None"),
        "conversation_id": ("c-1", "none"),
    }
    shared = {"id_prefix": ("a", "ab12", "none"), **_times(messages)}
    return {
        MessageFilter: {
            **agreements,
            **headers,
            **shared,
            "status": tuple(OutboundStatus),
            "settled_since_at": (messages // 2, messages - 10),
            "settled_until_at": (messages // 2, 10),
            "to_party": (MANY, NONE),
            "idempotency_key": ("none",),
            "error_code": (ErrorCode.DELIVERY_FAILURE, ErrorCode.UNKNOWN),
        },
        InboxFilter: {
            **agreements,
            **headers,
            **shared,
            "from_party": (MANY, NONE),
            "processing": tuple(ProcessingState),
        },
        JournalFilter: {
            **agreements,
            **headers,
            **shared,
            "partner": (MANY, NONE),
            "event": (Event.SUBMITTED, Event.FAILED),
            "error_code": ("None",),
        },
        NoticeFilter: {**agreements, **shared, "kind": tuple(NoticeKind)},
        IncidentFilter: {
            **agreements,
            **shared,
            "role": tuple(Role),
            "partner": (MANY, NONE),
            "is_open": (True, False),
        },
        JobFilter: shared,
    }


def questions(messages: int) -> Iterator[tuple[str, Callable[[Store], object]]]:
    """Every question, with a name for it that does not depend on the store."""
    for asked_by, criteria in _criteria(messages).items():
        for name, wanted in _wanted(asked_by, criteria):
            newest = changed(wanted, is_newest_first=True)
            yield name, lambda store, wanted=wanted: _list(store, wanted)
            yield f"{name} newest", lambda store, newest=newest: _list(store, newest)
            yield f"{name} counted", lambda store, wanted=wanted: _count(store, wanted)


def _wanted(asked_by: type[Any], criteria: dict[str, tuple[Any, ...]]) -> Iterator[tuple[str, Any]]:
    every = [
        (f"{name}/{number}", {name: value})
        for name, values in criteria.items()
        for number, value in enumerate(values)
    ]
    yield f"{asked_by.__name__}: all", asked_by()
    for name, one in every:
        yield f"{asked_by.__name__}: {name}", asked_by(**one)
    for (name, one), (other_name, other) in combinations(every, 2):
        if one.keys() != other.keys():
            yield f"{asked_by.__name__}: {name} {other_name}", asked_by(**one, **other)


def _list(store: Store, wanted: ListFilter[Any] | MessageFilter) -> object:
    snapshot = store.snapshot()
    is_of_messages = isinstance(wanted, MessageFilter)
    return snapshot.list_messages(wanted) if is_of_messages else snapshot.search(wanted)


def _count(store: Store, wanted: ListFilter[Any] | MessageFilter) -> object:
    snapshot = store.snapshot()
    is_of_messages = isinstance(wanted, MessageFilter)
    return snapshot.count_messages(wanted) if is_of_messages else snapshot.count(wanted)


def timed(store: Store, messages: int) -> dict[str, float]:
    """Milliseconds of processor time of each question, when it is asked for the second time."""
    took: dict[str, float] = {}
    for name, ask in questions(messages):
        ask(store)
        began = time.process_time_ns()
        ask(store)
        took[name] = round((time.process_time_ns() - began) / 1_000_000, 2)
    return took


PATHS = (
    "/v1/messages?service=None",
    "/v1/messages?service=None&order=newest",
    f"/v1/messages?to={MANY}&action=None",
    "/v1/messages?state=acknowledged&service=None",
    "/v1/messages?id_prefix=a&limit=1000",
    "/v1/messages?agreement=tpa-0&service=None",
    "/v1/inbox?service=None&order=newest",
    f"/v1/journal?partner={NONE}",
    "/v1/messages?limit=1000",
    "/v1/counts/messages?service=Ordering",
    "/v1/counts/messages?service=None",
    "/v1/counts/inbox?action=None",
    "/v1/counts/journal?service=None",
    "/v1/counts/messages",
)
"""Of each kind of question the dearest ones, as a caller asks them."""


def asked_at_once(api: str, seconds: float) -> dict[str, Any]:
    """Latency of `/healthz`, while `CALLERS` ask for lists and counts as fast as they can.

    It is asked by a process of its own, which does not wait for the callers' own work.
    """
    with ProcessPoolExecutor(1) as asker:
        asking = asker.submit(_ask_health, api, seconds)
        answered = asyncio.run(_ask_all(api, seconds))
        health = sorted(asking.result())
    return {
        "answered": answered,
        "healthz": len(health),
        "healthz_median_ms": round(health[len(health) // 2], 2),
        "healthz_p99_ms": round(health[len(health) * 99 // 100], 2),
        "healthz_max_ms": round(health[-1], 2),
    }


def _ask_health(api: str, seconds: float) -> list[float]:
    """Milliseconds of each answer."""
    took: list[float] = []
    until = time.monotonic() + seconds
    with httpx.Client(base_url=api, timeout=60) as client:
        while time.monotonic() < until:
            began = time.perf_counter()
            client.get("/healthz").raise_for_status()
            took.append((time.perf_counter() - began) * 1000)
            time.sleep(HEALTH_PAUSE_S)
    return took


async def _ask_all(api: str, seconds: float) -> int:
    """How many lists and counts were answered."""
    until = time.monotonic() + seconds
    async with httpx.AsyncClient(base_url=api, timeout=60) as client:
        return sum(await asyncio.gather(*(_ask_on(client, n, until) for n in range(CALLERS))))


async def _ask_on(client: httpx.AsyncClient, number: int, until: float) -> int:
    answered = 0
    while time.monotonic() < until:
        answer = await client.get(PATHS[(number + answered) % len(PATHS)])
        answer.raise_for_status()
        answered += 1
    return answered
