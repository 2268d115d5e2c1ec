"""A store that remembers what webhooks were told; not every one does, since not every one is kept.

An event of a webhook is a row of the journal, and its number is the row's `seq`.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

from onceonly.message.word import Word


class DeliveryState(StrEnum):
    """How the delivery of one event to one webhook stands."""

    PENDING = "pending"
    """It was tried, and will be again."""
    DELIVERED = "delivered"
    """The receiver said that it has it."""
    DEAD = "dead"
    """It was given up, and is tried again only on request."""
    REPLAY = "replay"
    """Somebody asked for it once more."""


class WebhookDelivery(Word):
    """One event on its way to one webhook; instants are microseconds UTC."""

    webhook: str
    seq: int
    state: DeliveryState
    attempts: int
    first_at: int
    last_at: int | None = None
    status_code: int | None = None
    """Of the last answer; None if there was none."""
    reason: str | None = None
    """Why the last attempt failed."""


@runtime_checkable
class WebhookSnapshot(Protocol):
    """Reads about webhooks."""

    def find_webhook_seq(self, webhook: str) -> int | None:
        """Up to here every event was delivered or given up; None for one that is not known."""
        ...

    def list_webhooks(self) -> Sequence[str]:
        """Every webhook that has a place, also those that are not configured any more."""
        ...

    def find_delivery(self, webhook: str, seq: int) -> WebhookDelivery | None:
        """How the event's delivery stands; None if it was not tried, or is forgotten."""
        ...

    def list_deliveries(
        self, webhook: str, after: int, limit: int, state: DeliveryState | None = None
    ) -> Sequence[WebhookDelivery]:
        """Deliveries above `after` in the order of their events, all or those in one state."""
        ...


@runtime_checkable
class WebhookTransaction(WebhookSnapshot, Protocol):
    """Writes about webhooks, in the transaction that does them."""

    def put_webhook_seq(self, webhook: str, seq: int) -> None:
        """Note up to which event the webhook was told."""
        ...

    def put_delivery(self, delivery: WebhookDelivery) -> None:
        """Replace how the delivery stands."""
        ...

    def forget_delivered(self, webhook: str, keep: int, limit: int) -> int:
        """Forget the oldest delivered events except the last `keep`; returns how many."""
        ...

    def forget_dead(self, webhook: str, before_at: int, limit: int) -> int:
        """Forget those of the oldest `limit` dead events that were last tried before `before_at`.

        Returns how many. Not more are looked at, so a step is short however many are dead.
        """
        ...

    def forget_deliveries(self, webhook: str, limit: int) -> int:
        """Forget the oldest deliveries, in whatever state; returns how many."""
        ...
