"""What all reads of the SQLite store need: a cursor, named queries, and a check of payloads.

Knows how an answer of APSW becomes a row or an error of ours; must not know which question is
asked.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import apsw

from onceonly.message.message import Payload
from onceonly.store.contract.conditions import StoreFailed
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.failures import from_sqlite
from onceonly.store.sqlite import mapping
from onceonly.store.sqlite.queries import SQL


class SqliteQuestions:
    """Named queries over one connection, used by one thread at a time."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._cursor = connection.cursor()

    def _get(self, query: str, *bindings: Any) -> Any:
        """The only row, or its only column, or None."""
        try:
            return self._cursor.execute(SQL[query], bindings).get
        except apsw.Error as error:
            raise from_sqlite(error) from error

    def _list(self, query: str, *bindings: Any) -> list[Any]:
        try:
            return self._cursor.execute(SQL[query], bindings).fetchall()
        except apsw.Error as error:
            raise from_sqlite(error) from error

    def _ask(self, statement: str, bindings: Mapping[str, Any]) -> list[Any]:
        """Rows of a statement that `listing` composed."""
        try:
            return self._cursor.execute(statement, bindings).fetchall()
        except apsw.Error as error:
            raise from_sqlite(error) from error

    def _payloads(self, row: Any, bodies_query: str) -> Sequence[StoredPayload]:
        if row is None:
            return ()
        position, payloads = row
        bodies: dict[int, bytes] = dict(self._list(bodies_query, position))
        return [
            StoredPayload(payload, _undamaged(payload, bodies.get(number)))
            for number, payload in enumerate(mapping.decode_payloads(payloads))
        ]


def _undamaged(payload: Payload, body: bytes | None) -> bytes | None:
    # SQLite has no checksums, and a damaged body must never be sent as if it were the document.
    if body is not None and sha256(body).hexdigest() != payload.digest:
        raise StoreFailed(f"stored payload {payload.digest} is damaged: its SHA-256 is another")
    return body
