"""No question to the store reads all that there ever was: asked of SQLite's planner."""

from itertools import product
from pathlib import Path
from typing import Any

import apsw
import pytest
from store_samples import NOW_AT, PARTY

from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.entries import MessageFilter
from onceonly.store.sqlite.queries import SQL
from onceonly.store.sqlite.reading import SqliteSnapshot
from onceonly.store.sqlite.store import open_sqlite
from query_plans import WHOLE, connect, scans, steps_of

CRITERIA: dict[str, tuple[Any, ...]] = {
    "status": (None, *OutboundStatus),
    "to_party": (None, "urn:duns:333333333"),
    "conversation_id": (None, "c-1"),
}
"""What a list of messages can be asked for, with every value that is read in its own way."""

PAGING = {"after", "limit"}

OF_JOBS = ("list_rows_of_run", "is_filled", "list_released_of")
"""Asked in steps: a search for a job alone reads all its rows, each time."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the newest schema."""
    path = tmp_path_factory.mktemp("plans") / "buyer.db"
    open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT).close()
    return path


def indexes(connection: apsw.Connection) -> list[str]:
    """The indexes that a migration makes by name."""
    found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql <> ''")
    return [name for (name,) in found]


@pytest.mark.parametrize("name", SQL)
def test_no_statement_reads_a_table_from_end_to_end(path: Path, name: str) -> None:
    """Nor makes an index for itself; except what is small, or asked for as a whole."""
    assert list(scans(connect(path), name)) == []


def test_nothing_is_excepted_in_vain(path: Path) -> None:
    """Every exception is met by the planner as it stands."""
    connection = connect(path)
    for name, excepted in WHOLE.items():
        assert set(excepted) <= set(steps_of(connection, SQL[name])), name


def test_without_any_of_its_indexes_a_statement_is_found(path: Path) -> None:
    """Each index serves a statement that would otherwise read a table, or could not be planned."""
    connection = connect(path)
    names = indexes(connection)
    assert len(names) > 20
    for name in names:
        connection.execute("BEGIN")
        connection.execute(f"DROP INDEX {name}")
        assert any(list(scans(connection, query)) for query in SQL), name
        connection.execute("ROLLBACK")


@pytest.mark.parametrize("name", OF_JOBS)
def test_steps_of_a_job_read_no_more_than_they_take(path: Path, name: str) -> None:
    """A search for a job alone would read all its rows, each time; so would a sort."""
    for step in steps_of(connect(path), SQL[name]):
        assert "job=?)" not in step
        assert "TEMP B-TREE" not in step


@pytest.mark.parametrize("name", ["list_not_complete", "list_not_started"])
def test_a_report_about_a_range_looks_at_what_is_not_complete_alone(path: Path, name: str) -> None:
    """However much of the inbox is kept: a stream reports after every batch."""
    found = steps_of(connect(path), SQL[name])
    assert found[0].startswith("SEARCH inbound USING INDEX inbound_unfinished"), found
    assert not any("TEMP B-TREE" in step for step in found)


def test_every_criterion_of_a_list_of_messages_is_known_here() -> None:
    """Who adds a criterion has to say which index serves it."""
    assert set(CRITERIA) == set(MessageFilter.__struct_fields__) - PAGING


@pytest.mark.parametrize("values", list(product(*CRITERIA.values())), ids=str)
def test_messages_are_listed_by_an_index(path: Path, values: tuple[Any, ...]) -> None:
    """By any combination of criteria the first step searches an index for one of them.

    Its rows come in the order of the page, which ends where it is full.
    """
    wanted = dict(zip(CRITERIA, values, strict=True))
    connection = connect(path)
    asked: list[tuple[str, Any]] = []

    def note(cursor: apsw.Cursor, statement: str, bindings: Any) -> bool:
        del cursor
        asked.append((statement, bindings))
        return True

    connection.exec_trace = note
    SqliteSnapshot(connection).list_messages(MessageFilter(**wanted, after=7, limit=10))
    connection.exec_trace = None
    assert len(asked) == 1
    first, *others = steps_of(connection, *asked[0])
    assert first.startswith("SEARCH")
    searched = [name for name, value in wanted.items() if value is not None]
    if searched:
        assert any(f"{name}=?" in first for name in searched), first
    else:
        assert "PRIMARY KEY (rowid>?)" in first
    assert others == [step for step in others if "(rowid=?)" in step]
