"""Inbox and journal as Arrow, for programs that read many rows at once.

Knows the columns and how items become them; must not know HTTP or the store. Instants are
microseconds UTC, as in the journal's segments.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import pyarrow as pa

from onceonly.gateway.application.inbox import WholeItem
from onceonly.journal.record import Record
from onceonly.journal.segment import to_table
from onceonly.message.message import Payload

_PART: Final = pa.struct(
    [
        pa.field("content_type", pa.utf8()),
        pa.field("name", pa.utf8()),
        pa.field("size_bytes", pa.int64()),
        pa.field("digest", pa.utf8()),
        pa.field("body", pa.binary()),
    ]
)

INBOX_SCHEMA: Final = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("message_id", pa.utf8(), nullable=False),
        pa.field("from_party", pa.utf8(), nullable=False),
        pa.field("to_party", pa.utf8(), nullable=False),
        pa.field("agreement_id", pa.utf8(), nullable=False),
        pa.field("conversation_id", pa.utf8(), nullable=False),
        pa.field("service", pa.utf8(), nullable=False),
        pa.field("action", pa.utf8(), nullable=False),
        pa.field("ref_to_message_id", pa.utf8()),
        pa.field("semantics", pa.utf8(), nullable=False),
        pa.field("timestamp_at", pa.int64(), nullable=False),
        pa.field("received_at", pa.int64(), nullable=False),
        pa.field("handed_over_at", pa.int64(), nullable=False),
        pa.field("processing", pa.utf8(), nullable=False),
        pa.field("size_bytes", pa.int64(), nullable=False),
        pa.field("digest", pa.utf8(), nullable=False),
        pa.field("header_digest", pa.utf8()),
        pa.field("content_type", pa.utf8()),
        pa.field("name", pa.utf8()),
        pa.field("payload", pa.binary()),
        pa.field("attachments", pa.list_(_PART), nullable=False),
        pa.field("handed_over_again", pa.int64(), nullable=False),
    ]
)
"""An inbox item; its first payload in columns of its own, the others in `attachments`.

`payload` is null if there is none, or if it is too large to be sent with the item.
"""


NEXT_AFTER: Final = b"next_after"
"""Key of the schema's metadata: the offset after which to ask on. Not there at the end."""


def inbox_stream(items: Iterable[WholeItem], next_after: int | None = None) -> bytes:
    """The items as one record batch, and where the next ones are."""
    rows = [_inbox_row(whole) for whole in items]
    columns = [
        pa.array([row[n] for row in rows], type=field.type) for n, field in enumerate(INBOX_SCHEMA)
    ]
    told = {} if next_after is None else {NEXT_AFTER: str(next_after).encode()}
    return _stream(pa.Table.from_arrays(columns, schema=INBOX_SCHEMA.with_metadata(told)))


def _inbox_row(whole: WholeItem) -> tuple[object, ...]:
    item, message = whole.item, whole.item.message
    parts = [_part(*both) for both in zip(message.payloads, whole.bodies, strict=True)]
    first = parts[0] if parts else {}
    return (
        item.offset,
        message.message_id,
        str(message.from_ids[0]),
        str(message.to_ids[0]),
        message.agreement_id,
        message.conversation_id,
        message.service,
        message.action,
        message.ref_to_message_id,
        message.semantics.value,
        message.timestamp_at,
        item.received_at,
        item.handed_over_at,
        item.processing.value,
        message.size_bytes,
        item.digest,
        item.header_digest,
        first.get("content_type"),
        first.get("name"),
        first.get("body"),
        parts[1:],
        0 if item.repeats is None else item.repeats.number,
    )


def _part(payload: Payload, body: bytes | None) -> dict[str, object]:
    return {
        "content_type": payload.content_type,
        "name": payload.name,
        "size_bytes": payload.size_bytes,
        "digest": payload.digest,
        "body": body,
    }


def journal_stream(records: Sequence[Record]) -> bytes:
    """The rows as one record batch, in the columns of a segment."""
    return _stream(to_table(records))


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())
