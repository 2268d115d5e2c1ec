"""What the writer knows without asking SQLite: its working set.

Steps read again and again what a step before them wrote: the pair, the state of a message that is
under way, the content of one that waits for its turn. These are kept here as they were written.
The tables have every one of them, and are asked for whatever is not here, so nothing has to be
rebuilt at a start; `truth.differences` tells whether any value differs from its row.

Each value belongs to the open transaction until the commit settles it; a rollback drops it. Must
not know SQL.
"""

from typing import Any, Final, Generic, TypeVar

from onceonly.journal.record import CHAIN_START
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.message import Message
from onceonly.message.word import Word
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import ReceivingPair
from onceonly.store.contract.entries import InboundEntry, OutboundEntry, StoredPayload

K = TypeVar("K")
V = TypeVar("V")

ENTRIES_MAX: Final = 16_384
"""Pairs, and messages under way in each direction, that are kept: some 10 MB of each at most."""

CONTENTS_MAX: Final = 8_192
CONTENT_BYTES_MAX: Final = 8 * 1_024
"""Contents that are kept until their first transmission: at most 64 MB of payloads. A message with
more than `CONTENT_BYTES_MAX` is read from the disk, which takes little beside sending it."""


class Carried(Word):
    """What one transaction hands on to the next, as of the last commit."""

    journal_seq: int = 0
    chain_hash: str = CHAIN_START
    waiting: int = 0
    """Messages of ours without a verdict."""
    last_offset: int = 0
    has_unkeyed: bool = True
    """Whether there may be an inbound message without a duplicate key (R-16)."""
    has_tombstones: bool = True
    """Whether there may be a message that its sender took back (R-08)."""


class Kept(Generic[K, V]):
    """Values by key: the settled ones, under what the open transaction says.

    If it is full, what is new is not kept: the oldest are those that are needed first.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.settled: dict[K, V] = {}
        self.said: dict[K, V | None] = {}
        """What the open transaction says: a value as it is in the tables now, or None where SQLite
        must be asked from now on. Steps write here, each of them some ten times."""

    def find(self, key: K) -> V | None:
        """The value as a step of the open transaction sees it; None where SQLite must be asked."""
        said = self.said
        return said[key] if key in said else self.settled.get(key)


class KeptContent(Word):
    """What never changes of a message of ours that waits for its first transmission."""

    message: Message
    payloads: tuple[StoredPayload, ...]
    digest: str
    header_digest: str | None
    submitted_at: int

    @property
    def is_small(self) -> bool:
        """Whether it may be kept in memory."""
        sizes = [len(one.body) for one in self.payloads if one.body is not None]
        return sum(sizes) <= CONTENT_BYTES_MAX


class WorkingSet:
    """Everything that is kept. `position` is the row's, by which its writes find it."""

    def __init__(self) -> None:
        self.outbound: Kept[str, tuple[int, OutboundEntry]] = Kept(ENTRIES_MAX)
        """(position, entry) of messages without a verdict, by MessageId."""
        self.contents: Kept[str, KeptContent] = Kept(CONTENTS_MAX)
        self.sending_pairs: Kept[Pair, SendingPair] = Kept(ENTRIES_MAX)
        self.receiving_pairs: Kept[Pair, ReceivingPair] = Kept(ENTRIES_MAX)
        self.stored: Kept[MessageKey, tuple[int, InboundEntry]] = Kept(ENTRIES_MAX)
        """(position, entry) of messages that came and are not handed over yet."""
        self._all: tuple[Kept[Any, Any], ...] = (
            self.outbound,
            self.contents,
            self.sending_pairs,
            self.receiving_pairs,
            self.stored,
        )

    def settle(self) -> None:
        """The open transaction is committed."""
        for kept in self._all:
            settled, most = kept.settled, kept.most
            for key, value in kept.said.items():
                if value is None:
                    settled.pop(key, None)
                elif key in settled or len(settled) < most:
                    settled[key] = value
            kept.said.clear()

    def forget(self) -> None:
        """Somebody else wrote to the tables, such as an operator's shell: they are asked again."""
        for kept in self._all:
            kept.settled.clear()

    def drop(self) -> None:
        """The open transaction is rolled back."""
        for kept in self._all:
            kept.said.clear()
