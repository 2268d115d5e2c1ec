"""The steps that write what webhooks were told: the outcome and the place in the journal together.

So a kill repeats at most the event whose outcome it cut off, and loses none.
"""

from onceonly.message.errors import LocalError
from onceonly.message.identity import Pair
from onceonly.message.instant import US_PER_S
from onceonly.message.word import changed
from onceonly.steps.ground import Ground
from onceonly.store.contract.entries import Role
from onceonly.store.contract.store import Transaction
from onceonly.store.contract.webhooks import DeliveryState, WebhookDelivery, WebhookTransaction

DELIVERED_KEPT = 10_000
"""Delivered events of one webhook that stay known."""

DEAD_KEPT_S = 30 * 86_400
"""Seconds after its last attempt in which a dead event stays known: time enough to find it."""

ROWS_PER_STEP = 200
"""Most rows of each sort forgotten in one step, so that no other step waits for long."""


def begin(txn: Transaction, ground: Ground, webhook: str) -> int:
    """Up to which row the webhook was told; a new one is told what happens from now on."""
    del ground
    store = _webhooks(txn)
    seq = store.find_webhook_seq(webhook)
    if seq is None:
        seq = txn.last_seq()
        store.put_webhook_seq(webhook, seq)
    return seq


def pass_by(txn: Transaction, ground: Ground, webhook: str, seq: int) -> None:
    """Note that there was nothing for the webhook up to `seq`."""
    del ground
    _webhooks(txn).put_webhook_seq(webhook, seq)


def note_attempt(
    txn: Transaction, ground: Ground, delivery: WebhookDelivery, *, is_replay: bool
) -> None:
    """Note how an attempt ended. If the event is delivered or dead, the next one has its turn.

    A dead event is an incident of its webhook, until the webhook has none.
    """
    store = _webhooks(txn)
    store.put_delivery(delivery)
    is_over = delivery.state in (DeliveryState.DELIVERED, DeliveryState.DEAD)
    if is_over and not is_replay:
        store.put_webhook_seq(delivery.webhook, delivery.seq)
    if delivery.state is DeliveryState.DEAD:
        reason = _reason(delivery.webhook)
        txn.open_incident(Role.SENDER, _ourselves(ground), reason, at=ground.now.at)
    elif is_replay:
        _end_incident(txn, ground, delivery.webhook)


def ask_replay(txn: Transaction, ground: Ground, webhook: str, seq: int) -> WebhookDelivery:
    """Ask for one more delivery of an event that the webhook was told, or should have been.

    Raises `LocalError` (NotFound) for one that did not come to its turn yet.
    """
    store = _webhooks(txn)
    told = store.find_webhook_seq(webhook)
    if told is None or not 0 < seq <= told:
        raise LocalError("NotFound", f"webhook {webhook!r} was not told of event {seq} yet")
    found = store.find_delivery(webhook, seq)
    new = WebhookDelivery(webhook, seq, DeliveryState.REPLAY, 0, ground.now.at)
    asked = changed(found or new, state=DeliveryState.REPLAY, first_at=ground.now.at)
    store.put_delivery(asked)
    return asked


def forget_old(txn: Transaction, ground: Ground, webhook: str) -> int:
    """Forget what nobody asks about any more, a few rows; returns how many.

    The incident of dead events ends with the last of them, since nothing can be replayed then.
    """
    store = _webhooks(txn)
    before_at = ground.now.at - DEAD_KEPT_S * US_PER_S
    delivered = store.forget_delivered(webhook, DELIVERED_KEPT, ROWS_PER_STEP)
    dead = store.forget_dead(webhook, before_at, ROWS_PER_STEP)
    if dead:
        _end_incident(txn, ground, webhook)
    return delivered + dead


def forget_removed(txn: Transaction, ground: Ground, webhook: str) -> int:
    """Forget the deliveries of a webhook that is not configured, a few rows; returns how many.

    Its place stays: configured again, it is told what happened meanwhile.
    """
    forgotten = _webhooks(txn).forget_deliveries(webhook, ROWS_PER_STEP)
    _end_incident(txn, ground, webhook)
    return forgotten


def _end_incident(txn: Transaction, ground: Ground, webhook: str) -> None:
    """End the incident of its dead events, if it has none any more."""
    if not _webhooks(txn).list_deliveries(webhook, 0, 1, DeliveryState.DEAD):
        us = _ourselves(ground)
        txn.resolve_reason(Role.SENDER, us, _reason(webhook), at=ground.now.at)


def _reason(webhook: str) -> str:
    return f"webhook {webhook!r} was not told of some events: see its deliveries that are dead"


def _ourselves(ground: Ground) -> Pair:
    """An incident about a webhook is about no partner."""
    us = str(ground.house.party[0])
    return Pair(us, us)


def _webhooks(txn: Transaction) -> WebhookTransaction:
    assert isinstance(txn, WebhookTransaction), "the start has checked the store"
    return txn
