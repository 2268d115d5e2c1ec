"""Payloads that were too large to come along with their rows, fetched one by one.

Knows what a row lacks and how to get it; must not know where the row goes.
"""

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from onceonly.api.inbox import InboxItem
from onceonly.client import Client
from pyspark_onceonly.patience import patiently


class Bodies(NamedTuple):
    """Where they are fetched, and for how long a gateway that does not answer is asked again."""

    client: Client
    patience_s: float

    def fill(self, table: pa.Table) -> pa.Table:
        """The rows of the inbox with every payload in them."""
        if not _lacks_any(table):
            return table
        payloads, attachments = table["payload"].to_pylist(), table["attachments"].to_pylist()
        types = table["content_type"].to_pylist()
        for n, parts in enumerate(attachments):
            is_missing = payloads[n] is None and types[n] is not None
            if is_missing or any(part["body"] is None for part in parts):
                item = self._item(table["message_id"][n].as_py(), table["offset"][n].as_py())
                payloads[n] = self._body(item, 0) if is_missing else payloads[n]
                attachments[n] = [self._whole(item, *one) for one in enumerate(parts, 1)]
        return _with(_with(table, "payload", payloads), "attachments", attachments)

    def _item(self, message_id: str, offset: int) -> InboxItem:
        return patiently(lambda: self.client.get_inbox_item(message_id, offset), self.patience_s)

    def _whole(self, item: InboxItem, number: int, part: dict[str, Any]) -> dict[str, Any]:
        return part if part["body"] is not None else {**part, "body": self._body(item, number)}

    def _body(self, item: InboxItem, number: int) -> bytes:
        """Read to its end inside: a gateway may go away in the middle."""
        return patiently(lambda: b"".join(self.client.payload(item, number)), self.patience_s)


def _lacks_any(table: pa.Table) -> bool:
    first = pc.and_(pc.is_null(table["payload"]), pc.is_valid(table["content_type"]))
    parts = pc.list_flatten(table["attachments"])
    others = pc.is_null(pc.struct_field(parts, "body"))
    return bool(pc.any(first).as_py() or pc.any(others).as_py())


def _with(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    at = table.schema.get_field_index(name)
    field = table.schema.field(at)
    return table.set_column(at, field, pa.array(values, type=field.type))
