"""Actions on many messages: which, why, how far, and what became of each."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from onceonly.api.fields import Instant, Limit, Number, PathNumber, Why
from onceonly.api.inbox import InboxCriteria, InboxItem
from onceonly.api.messages import MessageCriteria, OutboundMessage
from onceonly.api.words import BulkAction, BulkState, ItemOutcome, Order
from onceonly.message.word import Word


class Where(MessageCriteria, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which outbound messages: those that fit all of it, as in `GET /v1/messages`."""


class WhereInInbox(InboxCriteria, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which received messages: those that fit all of it, as in `GET /v1/inbox`.

    What the application refused is left out, as its sender was told that it is not processed.
    """

    refused: bool = False
    """Whether what the application refused is selected, too."""


class PrepareBulk(Word, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is to be done with which messages, and why.

    They are selected now; what fits later is not among them. Which ones is said by `inbox` for
    `redeliver`, and by `where` for every other action.
    """

    do: BulkAction
    where: Where | UnsetType = UNSET
    inbox: WhereInInbox | UnsetType = UNSET
    """Of a message that was handed over again, only the newest item that fits is selected."""
    reason: Why


class StartBulk(Word, kw_only=True, forbid_unknown_fields=True):
    """The number of messages, from whoever has looked at it."""

    count: Annotated[Number, Meta(description="`items` of it: the caller knows how many they are")]


class BulkPath(Word, kw_only=True):
    """The bulk action that a call is about."""

    number: PathNumber


class BulkItemQuery(Word, kw_only=True, omit_defaults=True):
    """Which page: what is above a number."""

    after: Number = 0
    limit: Limit = 100


class BulkQuery(BulkItemQuery, kw_only=True, omit_defaults=True):
    """Which page: what comes after a number, in the order that is asked for; 0 begins it."""

    order: Order = "oldest"


class Bulk(Word, kw_only=True):
    """One action on many messages, and how far it is.

    `done`, `skipped`, `failed` and `left` add up to `items`. What was skipped did not fit any more;
    what failed met a bug of ours. With both nothing was changed. `where` says which messages are
    meant, or for `redeliver` `inbox`; the other one is null.
    """

    number: int
    do: BulkAction
    where: MessageCriteria | None
    inbox: WhereInInbox | None
    reason: str
    state: BulkState
    items: int
    done: int
    skipped: int
    failed: int
    left: int
    prepared_at: Instant
    started_at: Instant | None
    started_by: str | None
    """Who started it last; the actor of what is done with each message."""
    finished_at: Instant | None


class BulkDetail(Bulk, kw_only=True):
    """One action, and its first messages as they are now."""

    samples: tuple[OutboundMessage, ...]
    """Empty for `redeliver`."""
    items_of_inbox: tuple[InboxItem, ...] = ()
    """The first of them for `redeliver`."""


class BulkPage(Word, kw_only=True):
    """Bulk actions in the order of their numbers; `next_after` is null on the last page."""

    bulks: tuple[Bulk, ...]
    next_after: int | None


class BulkItem(Word, kw_only=True):
    """What became of one message; `outcome` is null until its turn has come.

    `error` is the name of the refusal where it was skipped, and `text` says why; where it was sent
    again as a new message, `text` says as which. `offset` is that of the item of the inbox that was
    selected, for `redeliver`.
    """

    item: int
    message_id: str
    offset: int | None = None
    outcome: ItemOutcome | None
    error: str | None
    text: str | None
    at: Instant | None


class BulkItemPage(Word, kw_only=True):
    """Messages of a bulk action, in order; `next_after` is null on the last page."""

    results: tuple[BulkItem, ...]
    next_after: int | None
