"""Actions in bulk in the SQLite store: the contract's `BulkSnapshot` and `BulkTransaction`.

Knows which named query answers which question; must not begin, commit or roll back.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in bulk.py

from collections.abc import Sequence
from typing import Any

from onceonly.store.contract.bulk import (
    Bulk,
    BulkAction,
    BulkItem,
    BulkState,
    Chosen,
    ItemOutcome,
)
from onceonly.store.sqlite.asking import SqliteQuestions
from onceonly.store.sqlite.later import SqliteLater
from onceonly.store.sqlite.listing import NUMBER_MAX


class SqliteBulkReading(SqliteQuestions):
    """Reads over one connection."""

    def find_bulk(self, number: int) -> Bulk | None:
        row = self._get("find_bulk", number)
        return None if row is None else _to_bulk(row)

    def list_bulks(
        self, after: int, limit: int, *, is_newest_first: bool = False
    ) -> Sequence[Bulk]:
        if is_newest_first:
            rows = self._list("list_newest_bulks", after or NUMBER_MAX, limit)
        else:
            rows = self._list("list_bulks", after, limit)
        return [_to_bulk(row) for row in rows]

    def list_running_bulks(self) -> Sequence[Bulk]:
        return [_to_bulk(row) for row in self._list("list_running_bulks")]

    def list_bulk_items(self, number: int, after: int, limit: int) -> Sequence[BulkItem]:
        return [_to_item(row) for row in self._list("list_bulk_items", number, after, limit)]

    def list_open_items(self, number: int, limit: int) -> Sequence[BulkItem]:
        return [_to_item(row) for row in self._list("list_open_items", number, limit)]

    def find_bulk_item(self, number: int, item: int) -> BulkItem | None:
        row = self._get("find_bulk_item", number, item)
        return None if row is None else _to_item(row)


class SqliteBulkWriting(SqliteLater, SqliteBulkReading):
    """Writes, on the one writer connection."""

    def add_bulk(self, action: BulkAction, reason: str, query: str, *, at: int) -> Bulk:
        self._write("add_bulk", action.value, reason, query, at)
        number = self._connection.last_insert_rowid()
        return Bulk(number, action, reason, query, BulkState.SELECTING, at)

    def add_bulk_items(self, number: int, first: int, chosen: Sequence[Chosen]) -> None:
        for item, one in enumerate(chosen, first):
            self._write("add_bulk_item", number, item, one.message_id, one.offset)

    def put_bulk(self, bulk: Bulk) -> None:
        state, counts = bulk.state.value, (bulk.items, bulk.done, bulk.skipped, bulk.failed)
        instants = (bulk.started_at, bulk.finished_at)
        self._write("put_bulk", bulk.number, state, *instants, *counts, bulk.started_by)

    def put_bulk_item(self, number: int, item: BulkItem) -> None:
        outcome = None if item.outcome is None else item.outcome.value
        self._write("put_bulk_item", number, item.item, outcome, item.name, item.text, item.at)

    def forget_bulk(self, number: int, limit: int) -> int:
        self._write("forget_bulk_items", number, limit)
        forgotten: int = self._connection.changes()
        if forgotten < limit:
            self._write("forget_bulk", number)
            forgotten += self._connection.changes()
        return forgotten


def _to_bulk(row: Any) -> Bulk:
    number, action, reason, query, state, *more = row
    return Bulk(number, BulkAction(action), reason, query, BulkState(state), *more)


def _to_item(row: Any) -> BulkItem:
    item, message_id, outcome, *more = row
    return BulkItem(item, message_id, None if outcome is None else ItemOutcome(outcome), *more)
