"""Actions in bulk that a store can keep: frozen selections of messages, and what became of each.

A contract of its own, since not every store needs it: a simulation has no operators with a query.
An item and the step that acts on its message are written in one transaction, so that after a crash
it is known of each item whether its action was done.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

from onceonly.message.word import Word
from onceonly.store.contract.store import Transaction


class BulkAction(StrEnum):
    """What is done with each message; the steps are those of a single message."""

    RESEND = "resend"
    """Again under its id, or as a new message what certainly was not delivered (R-41)."""
    RESEND_ANYWAY = "resend-anyway"
    """As a new message, although it may be delivered twice."""
    CANCEL = "cancel"
    RESUME = "resume"
    """Take up what a bug parked (R-43)."""
    ASK = "ask"
    """Ask the partner how the message stands; what it has ends a doubt."""
    SETTLE_DELIVERED = "settle-delivered"
    """End the doubt by a person's word: it was delivered (R-49)."""
    SETTLE_NOT_DELIVERED = "settle-not-delivered"
    """As above, and the word is that it was not."""
    REDELIVER = "redeliver"
    """Hand over to the application once more what is in the inbox: the one action about received
    messages."""


class BulkState(StrEnum):
    """How far a bulk action is."""

    SELECTING = "selecting"
    """Its messages are still being noted; a crash leaves it so, and it is forgotten."""
    PREPARED = "prepared"
    RUNNING = "running"
    STOPPED = "stopped"
    DONE = "done"


class ItemOutcome(StrEnum):
    """What became of one message."""

    DONE = "done"
    SKIPPED = "skipped"
    """It did not fit any more; nothing was changed."""
    FAILED = "failed"
    """A bug of ours met it; nothing was changed."""


class Bulk(Word):
    """One action on many messages. Instants are microseconds UTC."""

    number: int
    action: BulkAction
    reason: str
    query: str
    """The caller's, as JSON, to be shown."""
    state: BulkState
    prepared_at: int
    started_at: int | None = None
    finished_at: int | None = None
    items: int = 0
    done: int = 0
    skipped: int = 0
    failed: int = 0
    started_by: str | None = None
    """Who started it last, or went on with it: the actor of what is done with its items."""


class Chosen(Word):
    """One message of a selection."""

    message_id: str
    offset: int | None = None
    """The item of the inbox, where the action is about one."""


class BulkItem(Word):
    """One message of a selection, and what became of it; `item` counts from 1."""

    item: int
    message_id: str
    outcome: ItemOutcome | None = None
    """None until its turn has come."""
    name: str | None = None
    """Name of the refusal, where it was skipped."""
    text: str | None = None
    at: int | None = None
    offset: int | None = None


@runtime_checkable
class BulkSnapshot(Protocol):
    """Reads."""

    def find_bulk(self, number: int) -> Bulk | None:
        """The bulk action of this number."""
        ...

    def list_bulks(
        self, after: int, limit: int, *, is_newest_first: bool = False
    ) -> Sequence[Bulk]:
        """Bulk actions that come after the number, 0 for all: above it, or below it."""
        ...

    def list_running_bulks(self) -> Sequence[Bulk]:
        """Those that were started and have not ended, in the order of their numbers."""
        ...

    def list_bulk_items(self, number: int, after: int, limit: int) -> Sequence[BulkItem]:
        """Items of one above the item `after`, in order."""
        ...

    def list_open_items(self, number: int, limit: int) -> Sequence[BulkItem]:
        """The first items without an outcome, in order."""
        ...

    def find_bulk_item(self, number: int, item: int) -> BulkItem | None:
        """One item."""
        ...


class BulkTransaction(Transaction, BulkSnapshot, Protocol):
    """Writes, in the transaction of a step."""

    def add_bulk(self, action: BulkAction, reason: str, query: str, *, at: int) -> Bulk:
        """Begin a selection; its number was never given before."""
        ...

    def add_bulk_items(self, number: int, first: int, chosen: Sequence[Chosen]) -> None:
        """Note messages of a selection, the first of them as item `first`."""
        ...

    def put_bulk(self, bulk: Bulk) -> None:
        """Replace state, instants, counts and who started it."""
        ...

    def put_bulk_item(self, number: int, item: BulkItem) -> None:
        """Replace what became of one item."""
        ...

    def forget_bulk(self, number: int, limit: int) -> int:
        """Forget at most `limit` items of one, and with the last of them itself.

        Returns how many rows; 0 when nothing of it is left.
        """
        ...
