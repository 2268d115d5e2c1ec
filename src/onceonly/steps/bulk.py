"""Actions on many messages: one step for each, which is the step of the single action.

In its transaction stands what became of the item, so that no crash lets one be done twice. A
message that does not fit any more is skipped and never forced: the world may have changed since it
was selected.
"""

from collections.abc import Sequence
from typing import Any, Final

from onceonly.message.errors import ErrorCode, LocalError
from onceonly.message.word import changed
from onceonly.protocol.events import Settled, Settlement
from onceonly.protocol.sending import OutboundStatus, was_parked
from onceonly.steps import operating, sending
from onceonly.steps.ground import Ground
from onceonly.steps.handing_over_again import hand_over_again
from onceonly.steps.leaving import Leaving
from onceonly.steps.work import Work
from onceonly.store.contract.bulk import (
    Bulk,
    BulkAction,
    BulkItem,
    BulkState,
    BulkTransaction,
    Chosen,
    ItemOutcome,
)

ITEMS_MAX: Final = 100_000
"""Most messages of one selection: 10 MB of the store, and some minutes of work."""

PASSING: Final = frozenset({"QueueFull"})
"""Refusals that say nothing about the message: the item waits, and is not skipped."""


def select(
    txn: BulkTransaction, ground: Ground, action: BulkAction, reason: str, query: str
) -> Bulk:
    """Begin a selection."""
    return txn.add_bulk(action, reason, query, at=ground.now.at)


def note_selected(
    txn: BulkTransaction, ground: Ground, number: int, chosen: Sequence[Chosen]
) -> Bulk:
    """Add messages to a selection. Raises `LocalError` (TooManyItems)."""
    del ground
    bulk = get(txn, number)
    if bulk.items + len(chosen) > ITEMS_MAX:
        raise LocalError("TooManyItems", f"more than {ITEMS_MAX} messages fit; narrow the query")
    txn.add_bulk_items(number, bulk.items + 1, chosen)
    return _put(txn, changed(bulk, items=bulk.items + len(chosen)))


def seal(txn: BulkTransaction, ground: Ground, number: int) -> Bulk:
    """End a selection: from now on nothing is added to it, and it can be started."""
    del ground
    return _put(txn, changed(get(txn, number), state=BulkState.PREPARED))


def start(
    txn: BulkTransaction, ground: Ground, number: int, count: int, *, actor: str | None
) -> Bulk:
    """Start what is prepared, or go on with what was stopped; again, it changes nothing.

    `actor` answers for what is done from then on, in the rows where a single action says who.
    Raises `LocalError` (NotFound, NotStartable, CountDiffers).
    """
    bulk = get(txn, number)
    if bulk.state is BulkState.RUNNING:
        return bulk
    if bulk.state not in (BulkState.PREPARED, BulkState.STOPPED):
        raise LocalError("NotStartable", f"bulk action {number} is {bulk.state}")
    if count != bulk.items:
        text = f"bulk action {number} has {bulk.items} messages, and not {count}"
        raise LocalError("CountDiffers", text)
    started_at = ground.now.at if bulk.started_at is None else bulk.started_at
    started = changed(
        bulk,
        state=BulkState.RUNNING,
        started_at=started_at,
        finished_at=None,
        started_by=actor,
    )
    return _put(txn, started)


def stop(txn: BulkTransaction, ground: Ground, number: int) -> Bulk:
    """Do no more of it; what is done stays done. A prepared one is not started any more, either.

    Raises `LocalError` (NotFound, NotStartable).
    """
    bulk = get(txn, number)
    if bulk.state in (BulkState.STOPPED, BulkState.DONE):
        return bulk
    if bulk.state is BulkState.SELECTING:
        raise LocalError("NotStartable", f"bulk action {number} is {bulk.state}")
    return _put(txn, changed(bulk, state=BulkState.STOPPED, finished_at=ground.now.at))


def finish(txn: BulkTransaction, ground: Ground, number: int) -> Bulk:
    """End one of which every item has an outcome."""
    bulk = get(txn, number)
    if bulk.state is BulkState.RUNNING and not txn.list_open_items(number, 1):
        bulk = _put(txn, changed(bulk, state=BulkState.DONE, finished_at=ground.now.at))
    return bulk


def act(txn: BulkTransaction, ground: Ground, number: int, item: int) -> Leaving | None:
    """Do the action with one item, and note what became of it.

    Returns what is to be sent; None where nothing is. Raises `LocalError` with a name of `PASSING`
    if the item has to wait.
    """
    bulk, found = get(txn, number), txn.find_bulk_item(number, item)
    if bulk.state is not BulkState.RUNNING or found is None or found.outcome is not None:
        return None
    written_before = txn.write_count
    try:
        leaving = sending.run(txn, ground, _work(txn, ground, bulk, found))
    except LocalError as refusal:
        if refusal.name in PASSING or txn.write_count != written_before:
            raise
        _note(
            txn,
            ground,
            bulk,
            found,
            outcome=ItemOutcome.SKIPPED,
            name=refusal.name,
            text=str(refusal),
        )
        return None
    _note(txn, ground, bulk, found, outcome=ItemOutcome.DONE, text=_became(txn, bulk, found))
    return leaving


def give_up(txn: BulkTransaction, ground: Ground, number: int, item: int, bug: str) -> None:
    """Note that a bug met the item, whose own step left no trace (R-43)."""
    bulk, found = get(txn, number), txn.find_bulk_item(number, item)
    if found is not None and found.outcome is None:
        _note(txn, ground, bulk, found, outcome=ItemOutcome.FAILED, name="InternalError", text=bug)


def _work(txn: BulkTransaction, ground: Ground, bulk: Bulk, item: BulkItem) -> Sequence[Work]:
    said = f"{bulk.reason} (bulk action {bulk.number})"
    why = f"an operator asked for it: {said}"
    message_id = item.message_id
    match bulk.action:
        case BulkAction.RESEND | BulkAction.RESEND_ANYWAY:
            is_anyway = bulk.action is BulkAction.RESEND_ANYWAY
            return operating.send_again(txn, ground, message_id, why, is_anyway=is_anyway)
        case BulkAction.CANCEL:
            return operating.cancel(txn, ground, message_id, is_for_new_version=False)
        case BulkAction.ASK:
            return operating.inquire(txn, ground, message_id)
        case BulkAction.RESUME:
            _check_parked(txn, message_id)
            return operating.take_up(txn, ground, message_id, why)
        case BulkAction.SETTLE_DELIVERED | BulkAction.SETTLE_NOT_DELIVERED:
            word = Settled(_WORD_OF[bulk.action], said, bulk.started_by)
            return operating.settle(txn, ground, message_id, word)
        case BulkAction.REDELIVER:
            assert item.offset is not None, "it was selected from the inbox"
            hand_over_again(txn, ground, item.offset, actor=bulk.started_by, reason=said)
            return ()


_WORD_OF: Final = {
    BulkAction.SETTLE_DELIVERED: Settlement.DELIVERED,
    BulkAction.SETTLE_NOT_DELIVERED: Settlement.NOT_DELIVERED,
}


def _check_parked(txn: BulkTransaction, message_id: str) -> None:
    entry = txn.find_outbound(message_id)
    if entry is None:
        raise LocalError("NotFound", f"no outbound message {message_id!r}")
    state = entry.state
    is_doubtful = state.status is OutboundStatus.IN_DOUBT and state.error_code is ErrorCode.UNKNOWN
    if not was_parked(state) and not is_doubtful:
        raise LocalError("NotParked", f"no bug has parked the message; it is {state.status}")


def _became(txn: BulkTransaction, bulk: Bulk, item: BulkItem) -> str | None:
    if bulk.action is BulkAction.REDELIVER:
        return f"at offset {txn.last_offset()}"
    view = txn.find_outbound_view(item.message_id)
    return None if view is None or view.resent_as is None else f"as {view.resent_as}"


def _note(
    txn: BulkTransaction,
    ground: Ground,
    bulk: Bulk,
    item: BulkItem,
    **became: Any,
) -> None:
    """`became`: the outcome of the item, and what is said of it."""
    txn.put_bulk_item(bulk.number, changed(item, at=ground.now.at, **became))
    word = became["outcome"].value
    count = {word: getattr(bulk, word) + 1}
    txn.put_bulk(changed(bulk, **count))


def _put(txn: BulkTransaction, bulk: Bulk) -> Bulk:
    txn.put_bulk(bulk)
    return bulk


def get(txn: BulkTransaction, number: int) -> Bulk:
    """The bulk action. Raises `LocalError` (NotFound)."""
    bulk = txn.find_bulk(number)
    if bulk is None:
        raise LocalError("NotFound", f"no bulk action {number}")
    return bulk
