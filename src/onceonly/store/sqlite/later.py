"""Writes that wait in memory for the end of their transaction, and are then written together.

What is written once for each message, or is replaced by every step, is put off: many rows of one
table cost much less in one call, and of a state that many steps replace only the last is written.
Nothing is durable later for it, and nothing is read too early: before a statement that may see a
table with rows put off, they are written.

Knows which statements see such tables; must not know what the rows mean.
"""

from collections.abc import Mapping
from typing import Any, Final

import apsw

from onceonly.store.contract.conditions import StoreMisused, StoreMisusedBefore
from onceonly.store.failures import from_sqlite
from onceonly.store.sqlite.asking import SqliteQuestions
from onceonly.store.sqlite.queries import SQL

PUT_OFF: Final = frozenset(
    {
        "append",
        "add_outbound_message",
        "add_outbound_body",
        "add_inbound_message",
        "add_inbound_body",
        "put_package",
        "put_sending_pair",
        "put_receiving_pair",
    }
)
"""Statements that are put off. Each either finds its row by a position that was just given, or
replaces it, so it cannot meet another row there."""

APART: Final = frozenset(
    {
        "add_idempotency_key",
        "add_inbound",
        "add_outbound",
        "find_inbound",
        "find_inbound_position",
        "find_inbound_without_key",
        "find_message_id_by_key",
        "find_next_queued",
        "find_outbound",
        "hand_over",
        "is_cancelled",
        "put_outbound",
    }
)
"""Statements of the short way of a message that neither read nor write a table of `PUT_OFF`."""

OF_PAIRS: Final = frozenset({"get_sending_pair", "get_receiving_pair"})
"""They see such a table, but are asked only for pairs whose state was not put off: the working set
has what this transaction wrote."""

_AT_ONCE: Final = APART | OF_PAIRS


class SqliteLater(SqliteQuestions):
    """Statements over the writer connection, in one transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(connection)
        self._connection = connection
        self._changes_before = connection.total_changes()
        self._rows: dict[str, list[tuple[Any, ...]]] = {}
        self._states: dict[str, dict[Any, tuple[Any, ...]]] = {}
        self._is_put_off = False
        self._put_off = 0
        self._misuse: StoreMisusedBefore | None = None

    @property
    def write_count(self) -> int:
        """Grows with every row written or put off, but not when the latter are written."""
        return self._connection.total_changes() - self._changes_before + self._put_off

    def _get(self, query: str, *bindings: Any) -> Any:
        if self._is_put_off and query not in _AT_ONCE:
            self._write_put_off()
        return super()._get(query, *bindings)

    def _list(self, query: str, *bindings: Any) -> list[Any]:
        if self._is_put_off and query not in _AT_ONCE:
            self._write_put_off()
        return super()._list(query, *bindings)

    def _ask(self, statement: str, bindings: Mapping[str, Any]) -> list[Any]:
        if self._is_put_off:
            self._write_put_off()
        return super()._ask(statement, bindings)

    def _write(self, query: str, *bindings: Any) -> None:
        if self._is_put_off and query not in _AT_ONCE:
            self._write_put_off()
        try:
            self._cursor.execute(SQL[query], bindings)
        except apsw.Error as error:
            raise from_sqlite(error) from error

    def _write_later(self, query: str, *rows: tuple[Any, ...]) -> None:
        """New rows."""
        self._is_put_off = True
        self._put_off += len(rows)
        if query in self._rows:
            self._rows[query] += rows
        else:
            self._rows[query] = [*rows]

    def _replace_later(self, query: str, key: object, row: tuple[Any, ...]) -> None:
        """The row with this key; of several the last counts."""
        self._is_put_off = True
        self._put_off += 1
        self._states.setdefault(query, {})[key] = row

    def _write_put_off(self) -> None:
        """Raises `StoreMisusedBefore` for a row that the table does not allow, and then always."""
        if self._misuse is not None:
            raise self._misuse
        changes = self._connection.total_changes()
        try:
            for query, rows in self._rows.items():
                self._cursor.executemany(SQL[query], rows)
            for query, states in self._states.items():
                self._cursor.executemany(SQL[query], states.values())
        except apsw.Error as error:
            reason = from_sqlite(error)
            if isinstance(reason, StoreMisused):
                reason = self._misuse = StoreMisusedBefore(str(reason))
            raise reason from error
        except (OverflowError, TypeError, UnicodeError, ValueError) as bug:
            self._misuse = StoreMisusedBefore(f"{type(bug).__name__}: {bug}")
            raise self._misuse from bug
        self._is_put_off = False
        self._rows.clear()
        self._states.clear()
        # They were counted when they were put off.
        self._changes_before += self._connection.total_changes() - changes
