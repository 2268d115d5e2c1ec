"""One journal row, and the hash chain that reveals an edited row (invariant E3).

A row is written in the same transaction as the change that it reports, and never changes. It has no
payload, so a journal can be shown to a partner or an auditor.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final

from msgspec.structs import astuple

from onceonly.message.event import Direction, Event
from onceonly.message.word import Word

SCHEMA_VERSION = 3
"""Grows when columns are added; for older rows readers fill them with null."""

METHOD_TRANSPORT = "method Transport"
"""Beginning of the `reason` of Submitted and Stored if nobody acknowledges (seed 001 §1.2.4)."""

CHAIN_START = "0" * 64
"""`chain_hash` before the first row of a store."""


class Record(Word):
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
    """Content digest of the message (`message.digest.content_digest`), hexadecimal SHA-256; of an
    EvidenceKept row that of the envelope which is kept."""
    hop: int | None = None
    """Number of the hop, in rows of an intermediary; None in the journals of the two parties."""
    actor: str | None = None
    """Who asked for it, if a person or a program outside the gateway did."""
    reason: str | None = None
    header_digest: str | None = None
    """Digest of the message's header (`wire.header_digest`), hexadecimal SHA-256 (R-37)."""
    message_timestamp_at: int | None = None
    """Timestamp in the header of the message."""
    time_to_live_at: int | None = None
    """TimeToLive of the message; None if its header has none."""
    ack_requested: str | None = None
    """Which acknowledgement the last hop was asked for; None if its header does not say."""
    receipt_requested: str | None = None
    """Which delivery receipt was asked for; None if the header does not say."""
    order_number: int | None = None
    """Number of the message in its ordered conversation (`ebms-2.0`, MessageOrder)."""
    signer: str | None = None
    """Who signed the envelope that the row is about: hexadecimal SHA-256 of the certificate."""
    schema_version: int = SCHEMA_VERSION
    seq: int = 0
    store_epoch: int = 0
    chain_hash: str = ""


COLUMNS = Record.__struct_fields__
ADDED: Final = {
    2: (
        "header_digest",
        "message_timestamp_at",
        "time_to_live_at",
        "ack_requested",
        "receipt_requested",
    ),
    3: ("order_number", "signer"),
}
"""The columns that each schema version added; rows of older versions have null there."""


def younger_than(version: int) -> tuple[str, ...]:
    """The columns that rows of this schema version do not have."""
    return tuple(name for added, names in ADDED.items() if added > version for name in names)


def chained_columns(version: int) -> tuple[str, ...]:
    """The columns that the hash of a row of this schema version covers: all but the hash."""
    left_out = {"chain_hash", *younger_than(version)}
    return tuple(name for name in COLUMNS if name not in left_out)


_PLACES: Final = {
    version: tuple(
        tuple(map(COLUMNS.index, names))
        for names in (chained_columns(version), younger_than(version))
    )
    for version in range(1, SCHEMA_VERSION)
}
"""For each older version: the places of its own columns, and of those that came later."""

_VERSION_PLACE: Final = COLUMNS.index("schema_version")
_GIVEN_ON_APPEND: Final = COLUMNS.index("seq")
"""The place of the first column that the store gives: all after it are the store's, too."""


def chain(previous_hash: str, record: Record) -> str:
    """The `chain_hash` of `record` after a row whose hash was `previous_hash`.

    SHA-256 over the previous hash and the other columns of the row's own schema version. If a
    younger column has a value, the hash covers every column, so that none can be filled in later.
    """
    text = f"{previous_hash}|{as_text(_hashed(astuple(record)[:-1]))}"
    return sha256(text.encode()).hexdigest()


def linked(record: Record, *, seq: int, store_epoch: int, previous_hash: str) -> tuple[Any, ...]:
    """The columns of `record` as a row of the journal: with its number, epoch and hash.

    `previous_hash` is the `chain_hash` of the row before it.
    """
    columns = (*astuple(record)[:_GIVEN_ON_APPEND], seq, store_epoch)
    values = columns if record.schema_version == SCHEMA_VERSION else _hashed(columns)
    text = f"{previous_hash}|{as_text(values)}"
    return (*columns, sha256(text.encode()).hexdigest())


def _hashed(columns: tuple[Any, ...]) -> tuple[Any, ...]:
    """Those of `columns`, which are all but the hash, that the hash covers."""
    version = columns[_VERSION_PLACE]
    if version in _PLACES:
        own, younger = _PLACES[version]
        if all(columns[place] is None for place in younger):
            return tuple([columns[place] for place in own])
    return columns


def as_text(values: Iterable[object]) -> str:
    """The values as length-prefixed text (`~` for null): different lists have different texts."""
    # A list, since joining a generator costs one call more for each value.
    return "|".join(
        ["~" if value is None else f"{len(text := str(value))}:{text}" for value in values]
    )
