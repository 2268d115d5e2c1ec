"""What webhooks were told, in the SQLite store: the contract's `webhooks`.

Knows which named query answers which question; must not begin, commit or roll back.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in webhooks.py

from collections.abc import Sequence
from typing import Any

from msgspec.structs import astuple

from onceonly.store.contract.webhooks import DeliveryState, WebhookDelivery
from onceonly.store.sqlite.asking import SqliteQuestions
from onceonly.store.sqlite.later import SqliteLater


class SqliteWebhookReading(SqliteQuestions):
    """Reads about webhooks over one connection."""

    def find_webhook_seq(self, webhook: str) -> int | None:
        found: int | None = self._get("find_webhook", webhook)
        return found

    def list_webhooks(self) -> Sequence[str]:
        return [name for (name,) in self._list("list_webhooks")]

    def find_delivery(self, webhook: str, seq: int) -> WebhookDelivery | None:
        row = self._get("find_delivery", webhook, seq)
        return None if row is None else _delivery(row)

    def list_deliveries(
        self, webhook: str, after: int, limit: int, state: DeliveryState | None = None
    ) -> Sequence[WebhookDelivery]:
        if state is None:
            rows = self._list("list_deliveries", webhook, after, limit)
        else:
            rows = self._list("list_deliveries_in", webhook, state, after, limit)
        return [_delivery(row) for row in rows]


class SqliteWebhookWriting(SqliteLater, SqliteWebhookReading):
    """Writes about webhooks, on the one writer connection."""

    def put_webhook_seq(self, webhook: str, seq: int) -> None:
        self._write("put_webhook", webhook, seq)

    def put_delivery(self, delivery: WebhookDelivery) -> None:
        self._write("put_delivery", *astuple(delivery))

    def forget_delivered(self, webhook: str, keep: int, limit: int) -> int:
        last = self._get("find_kept_delivery", webhook, keep)
        return 0 if last is None else self._changed("forget_delivered", webhook, last, limit)

    def forget_dead(self, webhook: str, before_at: int, limit: int) -> int:
        return self._changed("forget_dead", webhook, before_at, limit)

    def forget_deliveries(self, webhook: str, limit: int) -> int:
        return self._changed("forget_deliveries", webhook, limit)

    def _changed(self, query: str, *bindings: Any) -> int:
        self._write(query, *bindings)
        count: int = self._connection.changes()
        return count


def _delivery(row: Any) -> WebhookDelivery:
    webhook, seq, state, *rest = row
    return WebhookDelivery(webhook, seq, DeliveryState(state), *rest)
