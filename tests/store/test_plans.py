"""No question to the store reads all that there ever was: asked of SQLite's planner."""

import re
from pathlib import Path

import apsw
import pytest
from list_questions import OF_MESSAGES, combinations, listed, statements
from store_samples import NOW_AT, PARTY

from onceonly.store.contract.entries import MessageFilter
from onceonly.store.sqlite.queries import SQL
from onceonly.store.sqlite.store import open_sqlite
from query_plans import WHOLE, connect, scans, steps_of

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


def indexes_of_lists(connection: apsw.Connection) -> set[str]:
    """The indexes that a list is walked by, in the combinations of two criteria."""
    statuses = {"status": OF_MESSAGES["status"]}
    wanted = [
        MessageFilter(**criteria)
        for name, values in OF_MESSAGES.items()
        for criteria in combinations({**statuses, name: values})
    ]
    found = statements(connection, map(listed, wanted))
    return {name for statement in found for name in re.findall(r"INDEXED BY (\w+)", statement)}


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
    of_lists = indexes_of_lists(connection)
    for name in names:
        connection.execute("BEGIN")
        connection.execute(f"DROP INDEX {name}")
        by_name = any(list(scans(connection, query)) for query in SQL)
        assert by_name or name in of_lists, name
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
