"""Lists over the API: criteria, order and cursors, of each list; and counts."""

import asyncio
from typing import Any

import pytest
from calling import received, refused
from packages import ORDER
from peer import PATIENCE_S
from running_gateway import OUR_PARTY

from onceonly.api import counts, inbox_operations, operations
from onceonly.api.lists import Times
from onceonly.api.operations import AnyOperation
from onceonly.gateway.api.list_calls import times_of
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.identity import Pair
from onceonly.protocol.effects import NoticeKind
from onceonly.store.contract.entries import Notice, Role

pytestmark = pytest.mark.anyio

M = "m-{}@a.example.com"

LISTS: dict[str, tuple[AnyOperation, AnyOperation, str]] = {
    "messages": (operations.LIST_MESSAGES, counts.COUNT_MESSAGES, "message_id"),
    "items": (inbox_operations.LIST_INBOX, counts.COUNT_INBOX, "offset"),
    "records": (operations.LIST_JOURNAL, counts.COUNT_JOURNAL, "seq"),
    "notices": (operations.LIST_NOTICES, counts.COUNT_NOTICES, "number"),
    "incidents": (operations.LIST_INCIDENTS, counts.COUNT_INCIDENTS, "incident_id"),
    "jobs": (operations.LIST_JOBS, counts.COUNT_JOBS, "job"),
}
"""By the member that has the rows: the list, its count, and what names a row."""


def notice(number: int) -> Notice:
    kind, code = NoticeKind.DELIVERY_FAILURE, ErrorCode.DELIVERY_FAILURE
    return Notice(f"n-{number}", kind, Severity.WARNING, code, "no answer", 0, number)


@pytest.fixture
async def full(gateway, peer):
    """A gateway with three rows, or more, in each list."""
    for number in range(1, 4):
        await received(gateway, peer, M.format(number), number)
    for number in range(1, 4):
        line = b'{"message_id": "%d", "to": "x", "service": "s", "action": "a"}' % number
        headers = {"content-type": "application/x-ndjson"}
        await gateway.api.post(f"/v1/jobs/job-{number}/messages", content=line, headers=headers)
        await gateway.submit(ORDER, to=peer, message_id=f"out-{number}", key=f"PO-{number}")
    await peer.hear("Normal")
    await gateway.everything_said()
    # Nothing else is written meanwhile: the gateway has nothing to do.
    transaction = gateway.store.begin()
    for number in range(3):
        transaction.add_notice(notice(number))
        pair = Pair(OUR_PARTY, peer.party)
        transaction.open_incident(Role.SENDER, pair, f"because {number}", at=number)
    gateway.store.commit()
    return gateway


async def pages(gateway: Any, path: str, rows: str, **query: Any) -> list[Any]:
    """The rows of all pages."""
    found: list[Any] = []
    after: int | None = 0
    while after is not None:
        answer = await gateway.api.get(path, params={**query, "after": after})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert page["is_cut"] is False
        found += page[rows]
        after = page["next_after"]
    return found


async def test_pages_in_both_orders_are_the_list_and_its_count(full):
    """The one order is the other one backwards; the cursor goes on in the order of its page."""
    for rows, (operation, count, name) in LISTS.items():
        oldest = [one[name] for one in await pages(full, operation.path, rows, limit=2)]
        newest = await pages(full, operation.path, rows, limit=2, order="newest")
        assert [one[name] for one in newest] == oldest[::-1]
        assert await full.get(count.path) == {"count": len(oldest), "is_more": False}
        assert len(oldest) >= 3


QUESTIONS: list[tuple[str, str, dict[str, Any], int]] = [
    ("/v1/messages", "messages", {"id_prefix": "out-1"}, 1),
    ("/v1/messages", "messages", {"state": "cancelled"}, 0),
    ("/v1/messages", "messages", {"agreement": "tpa-ab-1", "service": "Ordering"}, 3),
    ("/v1/messages", "messages", {"agreement": "other"}, 0),
    ("/v1/messages", "messages", {"key": "PO-2"}, 1),
    ("/v1/messages", "messages", {"error": "DeliveryFailure"}, 0),
    ("/v1/messages", "messages", {"since": "9999-12-31T23:59:59.999999Z"}, 0),
    ("/v1/messages", "messages", {"until": "9999-02-31T00:00:00Z", "action": "NewOrder"}, 3),
    ("/v1/messages", "messages", {"settled_since": "2000-01-01T00:00:00Z"}, 0),
    ("/v1/inbox", "items", {"id_prefix": "m-2"}, 1),
    ("/v1/inbox", "items", {"processing": "not-started"}, 3),
    ("/v1/inbox", "items", {"from": "nobody"}, 0),
    ("/v1/inbox", "items", {"order": "newest", "up_to": 2}, 2),
    ("/v1/inbox", "items", {"agreement": "tpa-ab-1", "up_to": 1}, 1),
    ("/v1/inbox", "items", {"conversation": "no", "wait": 0.01}, 0),
    ("/v1/journal", "records", {"event": "Submitted"}, 3),
    ("/v1/journal", "records", {"event": "Submitted", "id_prefix": "out-3"}, 1),
    ("/v1/notices", "notices", {"kind": "DeliveryFailure", "id_prefix": "n-1"}, 1),
    ("/v1/notices", "notices", {"error": "Unknown"}, 0),
    ("/v1/incidents", "incidents", {"role": "sender", "all": "1"}, 3),
    ("/v1/incidents", "incidents", {"role": "receiver"}, 0),
    ("/v1/jobs", "jobs", {"id_prefix": "job-2"}, 1),
]
"""A path, the member that has the rows, criteria, and how many rows of `full` fit."""


async def test_what_fits_is_found(full):
    """Each criterion reaches the store under its own name."""
    for path, rows, query, count in QUESTIONS:
        assert len(await pages(full, path, rows, **query)) == count, (path, query)


async def test_whoever_waits_for_what_fits_is_answered_when_it_comes(gateway, peer):
    """The next item ends the wait."""
    query = {"from": peer.party, "wait": "20"}
    waiting = asyncio.create_task(gateway.call("GET", "/v1/inbox", params=query))
    await received(gateway, peer, M.format(1), 1)
    async with asyncio.timeout(PATIENCE_S):
        [item] = (await waiting).json["items"]
    assert item["message_id"] == M.format(1)


@pytest.mark.parametrize(
    "query",
    [
        *({"since": text} for text in ("yesterday", "2026-11-25", "2026-11-25T08:00:00+01:00")),
        *({"since": text} for text in ("2026-13-01T00:00:00Z", "0999-01-01T00:00:00Z")),
        {"order": "latest"},
        {"error": "Nothing"},
        {"state": "gone"},
    ],
)
async def test_what_is_no_criterion_is_refused(gateway, query):
    """With what is legal."""
    answer = await gateway.call("GET", "/v1/messages", params=query)
    assert refused(answer) == (400, "InvalidField")
    assert answer.json["error"]["expected"]


def test_a_31st_of_a_month_of_30_days_is_the_first_of_the_next():
    """Whatever fits the pattern is an instant."""
    since_at, until_at = times_of(
        Times(since="2026-06-31T00:00:00.25Z", until="1970-01-01T00:00:01Z")
    )
    assert since_at == times_of(Times(since="2026-07-01T00:00:00.250000Z"))[0]
    assert until_at == 1_000_000
