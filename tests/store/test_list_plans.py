"""Every combination of criteria starts from an index: asked of SQLite's planner."""

from collections.abc import Iterator
from typing import Any

import apsw
import pytest
from list_questions import (
    LISTS,
    OF_MESSAGES,
    OTHERS,
    PAGING,
    Question,
    combinations,
    counted,
    listed,
    statements,
)
from store_samples import CARRIER, NOTICE, NOW_AT, PAIR, PARTY, message, receive, row, submit

from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.message.word import changed
from onceonly.protocol.sending import Outbound, OutboundStatus
from onceonly.store.contract.entries import Excerpt, MessageFilter, Role
from onceonly.store.contract.listing import ListFilter
from onceonly.store.sqlite.queries import SQL
from onceonly.store.sqlite.store import open_sqlite
from query_plans import connect, steps_of

FEW, MANY = 1_000, 0
"""Bounds, so that every index has few rows for the one, and too many for the other."""


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> apsw.Connection:
    """To a store with a message of each status, which fits whatever else is asked for."""
    path = tmp_path_factory.mktemp("plans") / "buyer.db"
    store = open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT)
    transaction = store.begin()
    for number, status in enumerate(OutboundStatus):
        state = Outbound(status, error_code=ErrorCode.UNKNOWN)
        sent = message(f"m-{number}", to=CARRIER)
        submit(transaction, sent, state=state, idempotency_key=f"key-{number}")
    receive(transaction, message("m-in"))
    transaction.hand_over(message("m-in").key, at=9)
    transaction.append([row(Event.SUBMITTED, "m-1")])
    transaction.add_notice(NOTICE)
    transaction.open_incident(Role.SENDER, PAIR, "x", at=1, message_id="m-1")
    transaction.open_job("m-job", at=1)
    store.commit()
    store.close()
    return connect(path)


@pytest.mark.parametrize("asked_by", LISTS)
def test_every_criterion_of_a_list_is_known_here(asked_by: type[Excerpt]) -> None:
    """Who adds a criterion has to say which index serves it."""
    assert set(LISTS[asked_by]) == set(asked_by.__struct_fields__) - PAGING


def questions_about_messages(status: OutboundStatus | None) -> Iterator[Question]:
    for criteria in combinations({**OF_MESSAGES, "status": (status,)}):
        for rows_max in (FEW, MANY):
            wanted = MessageFilter(**criteria, after=7, limit=10, rows_max=rows_max)
            yield listed(wanted)
            yield listed(changed(wanted, is_newest_first=True))
            yield counted(wanted)


ONE_OF_EACH_KIND = (
    None,
    OutboundStatus.QUEUED,
    OutboundStatus.IN_DOUBT,
    OutboundStatus.ACKNOWLEDGED,
)
"""Statuses that are read in the same way have the same statements, as another test shows."""


@pytest.mark.long
@pytest.mark.parametrize("status", ONE_OF_EACH_KIND)
def test_messages_are_listed_and_counted_by_an_index(
    connection: apsw.Connection, status: OutboundStatus | None
) -> None:
    """By any combination, in both orders, whether few rows can fit or many."""
    found = statements(connection, questions_about_messages(status))
    assert len(found) > 500
    assert list(unindexed(connection, found)) == []


def test_every_status_is_read_as_one_of_its_kind(connection: apsw.Connection) -> None:
    """So that one status of each kind is asked about in every combination."""

    def asked(status: OutboundStatus | None) -> set[str]:
        few = {**OF_MESSAGES, "status": (status,), "service": (None,), "action": (None,)}
        wanted = combinations({**few, "since_at": (None,), "until_at": (None,)})
        return set(statements(connection, (listed(MessageFilter(**one)) for one in wanted)))

    kinds = [asked(status) for status in ONE_OF_EACH_KIND]
    assert all(asked(status) in kinds for status in OutboundStatus)


def questions_about(asked_by: type[ListFilter[Any]]) -> Iterator[Question]:
    for criteria in combinations(OTHERS[asked_by]):
        for rows_max in (FEW, MANY):
            wanted = asked_by(**criteria, after=0, limit=10, rows_max=rows_max)
            newest = changed(wanted, is_newest_first=True)
            yield lambda snapshot, wanted=wanted: snapshot.search(wanted)
            yield lambda snapshot, newest=newest: snapshot.search(newest)
            yield lambda snapshot, wanted=wanted: snapshot.count(wanted)


@pytest.mark.parametrize("asked_by", OTHERS)
def test_other_lists_are_read_by_an_index(
    connection: apsw.Connection, asked_by: type[ListFilter[Any]]
) -> None:
    """By any combination, in both orders, whether few rows can fit or many."""
    found = statements(connection, questions_about(asked_by))
    assert list(unindexed(connection, found)) == []
    names = set(SQL.values())
    assert len(found.keys() - names) > 2 ** (len(OTHERS[asked_by]) - 1)
    assert any(":numbers" in statement for statement in found)


def unindexed(connection: apsw.Connection, found: dict[str, Any]) -> Iterator[str]:
    """Statements that read a table from end to end, or sort more than a handful of rows."""
    for statement, bindings in found.items():
        first, *others = steps_of(connection, statement, bindings)
        steps = [first, *others]
        is_sorted = any("TEMP B-TREE" in step for step in steps)
        if any(step.startswith("SCAN") and not is_small(step) for step in steps):
            yield f"{statement}: {steps}"
        if "AUTOMATIC" in str(steps) or (is_sorted and ":numbers" not in statement):
            yield f"{statement}: {steps}"


def is_small(step: str) -> bool:
    """What the caller gave, what an operator has to look at, or what is limited inside.

    `known` has a row for each agreement.
    """
    if step in ("SCAN incident USING INDEX incident_unresolved", "SCAN known"):
        return True
    return step.startswith(("SCAN json_each", "SCAN (subquery"))
