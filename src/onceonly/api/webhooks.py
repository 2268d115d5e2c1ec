"""Webhooks: what is posted to them, and what calls show of their deliveries."""

from typing import Annotated, Literal

from msgspec import Meta

from onceonly.api.events import EventKind, HappenedEvent
from onceonly.api.fields import Instant, Limit, Name, Number, PathOffset
from onceonly.message.word import Word

DeliveryState = Literal["pending", "delivered", "dead", "replay"]


class WebhookBody(Word, kw_only=True):
    """The body of a post: `type` is the event's kind and name, such as `verdicts.AckReceived`."""

    type: str
    timestamp: Instant
    data: HappenedEvent


class WebhookPath(Word, kw_only=True):
    """The webhook that a call is about."""

    webhook: Name


class DeliveryPath(WebhookPath, kw_only=True):
    """The event that a call is about."""

    seq: PathOffset


class DeliveriesQuery(Word, kw_only=True, omit_defaults=True):
    """Which deliveries to list."""

    state: DeliveryState | None = None
    after: Number = 0
    limit: Limit = 100


class Webhook(Word, kw_only=True):
    """One webhook: up to which event it was told, and why it is not told more at the moment."""

    id: str
    url: Annotated[
        str, Meta(description="up to the first step of its path: what comes after may be a secret")
    ]
    kinds: tuple[EventKind, ...]
    seq: int | None
    behind: Annotated[int, Meta(description="rows of the journal that it was not asked about yet")]
    attempts: int
    has_dead: bool
    trouble: str | None


class WebhookList(Word, kw_only=True):
    """The webhooks of the configuration, in its order."""

    webhooks: tuple[Webhook, ...]


class Delivery(Word, kw_only=True):
    """One event on its way to one webhook."""

    webhook: str
    seq: int
    state: DeliveryState
    attempts: int
    first_at: Instant
    last_at: Instant | None
    status_code: int | None
    reason: str | None


class DeliveryPage(Word, kw_only=True):
    """A page of deliveries, in the order of events; `next_after` is null on the last."""

    deliveries: tuple[Delivery, ...]
    next_after: int | None
