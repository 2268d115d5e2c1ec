"""One journal row, and the chain that makes an edited row show (invariant E3).

A row is written in the transaction that made it true and never changes. It carries no payload:
a journal can be shown to a partner or an auditor.
"""

from hashlib import sha256
from typing import NamedTuple

from onceonly.message.event import Direction, Event

SCHEMA_VERSION = 1
"""Raised when a column is added; readers fill what an older row lacks with null."""

METHOD_TRANSPORT = "method Transport"
"""How the `reason` of Submitted and Stored begins where nobody acknowledges (seed 001 §1.2.4)."""

REFUSED_SIGNAL = "signal "
"""How the `reason` of Rejected begins where a signal was refused; its kind follows."""

CHAIN_START = "0" * 64
"""`chain_hash` before the first row of a store."""


class Record(NamedTuple):
    """One row. Instants are microseconds UTC; every other unit is in the column's name.

    `seq`, `store_epoch` and `chain_hash` are given by the store on append; the writer leaves
    them at their defaults.
    """

    party: str
    event: Event
    at: int
    monotonic_ns: int
    direction: Direction | None = None
    from_party: str | None = None
    to_party: str | None = None
    message_id: str | None = None
    ref_to_message_id: str | None = None
    conversation_id: str | None = None
    agreement_id: str | None = None
    profile: str | None = None
    semantics: str | None = None
    service: str | None = None
    action: str | None = None
    sequence_number: int | None = None
    attempt: int | None = None
    transport: str | None = None
    endpoint: str | None = None
    outcome: str | None = None
    status_code: int | None = None
    error_code: str | None = None
    severity: str | None = None
    size_bytes: int | None = None
    digest: str | None = None
    """Content digest of the message (`message.digest.content_digest`), hexadecimal SHA-256."""
    hop: int | None = None
    """Which hop wrote the row, where an intermediary did; None in the journals of the ends."""
    actor: str | None = None
    """Who asked for it, where a person or a program outside the gateway did."""
    reason: str | None = None
    schema_version: int = SCHEMA_VERSION
    seq: int = 0
    store_epoch: int = 0
    chain_hash: str = ""


COLUMNS = Record._fields
CHAINED = COLUMNS[: COLUMNS.index("chain_hash")]
"""The columns under the hash: all but the hash itself."""


def chain(previous_hash: str, record: Record) -> str:
    """The `chain_hash` of `record` after a row whose hash was `previous_hash`.

    SHA-256 over the previous hash and every other column, each as length-prefixed UTF-8 text
    (`~` for null), so that no two rows have the same bytes.
    """
    parts = ["~" if value is None else f"{len(text := str(value))}:{text}" for value in record[:-1]]
    return sha256("|".join([previous_hash, *parts]).encode()).hexdigest()
