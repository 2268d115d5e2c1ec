"""What calls that read ask of the store, by every combination of their parameters."""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import apsw
import pytest
from calling import query_of
from packages import ORDER
from running_gateway import running

from onceonly.api.operations import OPERATIONS, AnyOperation
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.sqlite.queries import SQL
from query_plans import connect, scans

pytestmark = pytest.mark.anyio

VALUES: dict[str, tuple[str, ...]] = {
    "state": tuple(OutboundStatus),
    "to": ("urn:duns:000000000", "2026-11-25T12:00:00Z"),
    "conversation": ("c-1",),
    "after": ("1",),
    "before": ("1",),
    "limit": ("10",),
    "up_to": ("5",),
    "wait": ("0",),
    "payloads": ("inline",),
    "purged": ("count",),
    "message_id": ("m-1",),
    "all": ("1",),
    "offset": ("1",),
    "agreement": ("tpa-ab-1",),
    "service": ("Ordering",),
    "action": ("NewOrder",),
    "key": ("PO-1",),
    "error": ("DeliveryFailure",),
    "from": ("urn:duns:000000000", "2026-11-25T11:00:00Z"),
    "processing": ("complete",),
    "partner": ("urn:duns:000000000",),
    "event": ("DuplicateEliminated",),
    "kind": ("DeliveryFailure",),
    "kinds": ("verdicts,inbox",),
    "role": ("sender",),
    "id_prefix": ("m",),
    "since": ("2026-11-25T08:00:00Z",),
    "until": ("2030-02-31T08:00:00.5Z",),
    "settled_since": ("2026-11-25T08:00:00Z",),
    "settled_until": ("2030-02-31T08:00:00.5Z",),
    "order": ("newest",),
    "path": ("a.html",),
    "step": ("minute", "hour"),
}
"""A value for each parameter of a call that reads; a new one has to be named here."""

READS = [one for one in OPERATIONS if one.method == "get"]

NAMES = {statement: name for name, statement in SQL.items()}


TOGETHER_MAX = 7
"""Parameters that are asked for in every combination. Of the criteria of a long list every
combination is asked of the store itself (`tests/store/test_list_plans.py`); here, every two."""


def queries_of(operation: AnyOperation) -> list[dict[str, str]]:
    """Every combination of the parameters, with every value."""
    names = query_of(operation)
    most = len(names) if len(names) <= TOGETHER_MAX else 2
    return [
        dict(zip(chosen, values, strict=True))
        for count in range(most + 1)
        for chosen in combinations(names, count)
        for values in product(*(VALUES[name] for name in chosen))
    ]


@pytest.fixture
def asked() -> Iterator[set[str]]:
    """Every statement that a connection which is opened from now on executes."""
    statements: set[str] = set()

    def note(cursor: apsw.Cursor, statement: str, bindings: Any) -> bool:
        del cursor, bindings
        statements.add(statement)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    apsw.connection_hooks.append(watch)
    yield statements
    apsw.connection_hooks.remove(watch)


async def test_a_call_that_reads_does_it_by_an_index(asked, tmp_path, peer):
    """Whatever a caller filters by, no table that grows for ever is read from end to end."""
    async with running(tmp_path, peer) as gateway:
        await gateway.submit(ORDER, to=peer)
        await gateway.everything_said()
        asked.clear()
        for operation in READS:
            path = operation.path.replace("{n}", "0").replace("{", "").replace("}", "")
            for query in queries_of(operation):
                answer = await gateway.api.get(path, params=query)
                assert answer.status_code in (200, 400, 404), (path, query, answer.text)
        names = {NAMES[statement] for statement in asked if statement in NAMES}
        planner = connect(gateway.configuration.store)
        found = [step for name in names for step in scans(planner, name)]
    assert {"list_inbox", "list_journal_of", "gather_open_incidents"} <= names
    assert {"list_counters", "list_listed", "find_listed_end", "list_pair_times"} <= names
    assert found == []
