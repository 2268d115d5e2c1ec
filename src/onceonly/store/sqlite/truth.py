"""Whether what the writer knows without asking is what its tables say.

For simulations and tests, after a commit: a value in the working set that differs from its row
would have a step decide by what is not stored. Must not change anything.
"""

from collections.abc import Iterator

import apsw

from onceonly.message.identity import MessageKey
from onceonly.store.contract.counting import WAITING
from onceonly.store.contract.entries import InboundEntry, OutboundEntry, OutboundView
from onceonly.store.sqlite import mapping
from onceonly.store.sqlite.kept import Carried, KeptContent, WorkingSet
from onceonly.store.sqlite.queries import SQL
from onceonly.store.sqlite.reading import SqliteSnapshot


def differences(writer: apsw.Connection, kept: WorkingSet, carried: Carried) -> list[str]:
    """What differs, in words; empty where everything that is kept is true."""
    rows = SqliteSnapshot(writer)
    return [
        *_of_carried(rows, writer, carried),
        *_of_messages(rows, writer, kept),
        *(
            f"sending pair {pair}: {state}"
            for pair, state in kept.sending_pairs.settled.items()
            if rows.get_sending_pair(pair) != state
        ),
        *(
            f"receiving pair {pair}: {state}"
            for pair, state in kept.receiving_pairs.settled.items()
            if rows.get_receiving_pair(pair) != state
        ),
    ]


def _of_carried(rows: SqliteSnapshot, writer: apsw.Connection, carried: Carried) -> Iterator[str]:
    counts = rows.count_by_status()
    if carried.waiting != sum(counts[word] for word in WAITING):
        yield f"{carried.waiting} messages wait"
    if carried.last_offset != rows.last_offset():
        yield f"the last offset is {carried.last_offset}"
    seq, chain_hash = writer.execute(SQL["get_journal_end"]).get or (0, carried.chain_hash)
    if (carried.journal_seq, carried.chain_hash) != (seq, chain_hash):
        yield f"the journal ends at {carried.journal_seq}"
    _, has_unkeyed, has_tombstones = writer.execute(SQL["get_carried"]).get
    if has_unkeyed > carried.has_unkeyed or has_tombstones > carried.has_tombstones:
        yield "there are no tombstones, or no messages without a key"


def _of_messages(rows: SqliteSnapshot, writer: apsw.Connection, kept: WorkingSet) -> Iterator[str]:
    for message_id, outbound in kept.outbound.settled.items():
        if _outbound(writer, message_id) != outbound:
            yield f"outbound {message_id}: {outbound}"
    for message_id, content in kept.contents.settled.items():
        view = rows.find_outbound_view(message_id)
        if view is None or not _is_of(view, content):
            yield f"content {message_id}: {content}"
        elif list(rows.list_payloads(message_id)) != list(content.payloads):
            yield f"payloads of {message_id}"
    for key, stored in kept.stored.settled.items():
        if _stored(writer, key) != stored:
            yield f"stored {key}: {stored}"


def _outbound(writer: apsw.Connection, message_id: str) -> tuple[int, OutboundEntry] | None:
    row = writer.execute(SQL["find_outbound"], (message_id,)).get
    return None if row is None else (row[0], mapping.to_outbound_entry(row))


def _is_of(view: OutboundView, content: KeptContent) -> bool:
    digests = content.digest, content.header_digest
    columns = (content.message, *digests, content.submitted_at, None, None, None)
    return columns == (
        view.message,
        view.digest,
        view.header_digest,
        view.submitted_at,
        view.settled_at,
        view.resend_of,
        view.resent_as,
    )


def _stored(writer: apsw.Connection, key: MessageKey) -> tuple[int, InboundEntry] | None:
    row = writer.execute(SQL["find_inbound"], (key.message_id, *key.pair)).get
    return None if row is None else (row[0], mapping.to_inbound_entry(row))
