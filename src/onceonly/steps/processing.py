"""The steps that write how far the application is with its inbox (R-29, I44)."""

from collections.abc import Sequence

from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.errors import LocalError, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.message import Message
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.keeping import may_follow, report_processing
from onceonly.protocol.receiving import InboundStatus, ProcessingState
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Leaving
from onceonly.steps.notices import tells_refusals
from onceonly.store.contract.entries import InboxItem, InboxStanding, OwedNotice
from onceonly.store.contract.store import Snapshot, Transaction

REPORTED_PER_STEP = 200
"""Most items whose state changes in one step: about 20 ms in which no other step runs."""


def report(txn: Transaction, ground: Ground, item: InboxItem, processing: ProcessingState) -> None:
    """Record the processing state of an item; it only moves forward.

    Raises `LocalError` (NotFound, ProcessingWentBack, Cancelled, Refused, UnknownAgreement).
    """
    standing = standing_of(txn, item)
    if standing.is_refused:
        raise LocalError("Refused", f"{item.message.message_id!r} was refused by the application")
    _put(txn, ground, item, processing, _reported(standing, processing))


def begin(txn: Transaction, ground: Ground, item: InboxItem) -> None:
    """The application has begun with the message of the item, whatever it reported.

    Also if it had refused it: its sender cannot take back what is handed over after that (R-08).
    Raises `LocalError` (UnknownAgreement).
    """
    _carry(txn, ground, first_offset(item), ProcessingState.IN_PROGRESS, is_also_of_refused=True)


def attempt_of(item: InboxItem) -> int | None:
    """`attempt` of rows about this hand-over: 2 for the first that was asked for."""
    return None if item.repeats is None else item.repeats.number + 1


def report_some(
    txn: Transaction,
    ground: Ground,
    after: int,
    up_to: int,
    processing: ProcessingState,
    *,
    own: frozenset[str] | None = None,
) -> tuple[int, int | None]:
    """Record the state for the next items above `after`: how many changed, and the last offset.

    The offset is None if there are no more items. An item that is already in a later state stays as
    it is. So does one that the application refused, one whose agreement is not configured any more,
    and with `own` one under another agreement.
    """
    items = txn.list_unfinished(after, up_to, processing, REPORTED_PER_STEP)
    ours = [item for item in items if own is None or item.message.agreement_id in own]
    count = sum(_move(txn, ground, item, processing) for item in ours)
    return count, items[-1].offset if items else None


def refuse(txn: Transaction, ground: Ground, item: InboxItem, reason: str) -> Leaving:
    """Record that the application will not process the message; a notice may be owed for it.

    Refusing again changes nothing. Raises `LocalError` (NotFound, ProcessingWentBack, Cancelled,
    UnknownAgreement).
    """
    standing = standing_of(txn, item)
    if standing.is_refused:
        return Leaving()
    _reported(standing, ProcessingState.IN_PROGRESS)
    refused = Journal(Event.APPLICATION_REFUSED, reason=reason)
    txn.append(_records(ground, item, (refused,)))
    txn.put_refused(item.offset)
    if item.repeats is not None:
        first = txn.find_inbox_item(item.repeats.first_offset)
        # At its end the message has an end, which its sender may have been told.
        if first is None or first.processing is ProcessingState.COMPLETE:
            return Leaving()
        return refuse(txn, ground, first, reason)
    notice = _notice(ground, item.message, reason)
    if notice is None:
        return Leaving()
    txn.put_owed_notice(notice)
    return Leaving(owed=(notice,))


def standing_of(snapshot: Snapshot, item: InboxItem) -> InboxStanding:
    """The standing of the item, found by its offset: several may have its MessageId (R-16).

    What the sender took back is taken back in each of its hand-overs (R-08). Raises `LocalError`
    (NotFound).
    """
    standing = snapshot.find_inbox_standing(item.offset)
    if standing is None:
        raise not_found(item.message.message_id, item.offset)
    first = snapshot.find_inbox_standing(first_offset(item))
    if first is not None and first.status is InboundStatus.CANCELLED:
        return changed(standing, status=InboundStatus.CANCELLED)
    return standing


def was_refused(snapshot: Snapshot, item: InboxItem) -> bool:
    """Whether the application refused this hand-over of the message, or the first one."""
    standings = map(snapshot.find_inbox_standing, (item.offset, first_offset(item)))
    return any(one is not None and one.is_refused for one in standings)


def not_found(message_id: str | None, offset: int | None) -> LocalError:
    """The error for an item that does not exist."""
    named = "message" if message_id is None else f"message {message_id!r}"
    place = "" if offset is None else f" at offset {offset}"
    return LocalError("NotFound", f"no {named} in the inbox{place}")


def _move(txn: Transaction, ground: Ground, item: InboxItem, processing: ProcessingState) -> bool:
    standing = standing_of(txn, item)
    current = standing.processing
    if standing.status is InboundStatus.CANCELLED or not may_follow(current, processing):
        return False
    is_known = ground.house.agreements.find(item.message.agreement_id) is not None
    if not is_known or standing.is_refused:
        return False
    _put(txn, ground, item, processing, _reported(standing, processing))
    return current is not processing


def _put(
    txn: Transaction,
    ground: Ground,
    item: InboxItem,
    processing: ProcessingState,
    rows: Sequence[Journal],
) -> None:
    # Made first: if the agreement is not configured any more, it raises before any write.
    records = _records(ground, item, rows)
    if records:
        txn.put_processing(item.offset, processing)
        txn.append(records)
    if item.repeats is not None:
        _carry(txn, ground, item.repeats.first_offset, processing)


def _carry(
    txn: Transaction,
    ground: Ground,
    offset: int,
    processing: ProcessingState,
    *,
    is_also_of_refused: bool = False,
) -> None:
    """Carry the state of the message forward, which is that of its first hand-over (I44).

    Its sender is told that one, so it never goes back with a later hand-over.
    """
    first = txn.find_inbox_item(offset)
    standing = None if first is None else txn.find_inbox_standing(offset)
    if first is None or standing is None:
        return
    if standing.is_refused and not is_also_of_refused:
        return
    if standing.status is InboundStatus.HANDED_OVER and may_follow(standing.processing, processing):
        _put(txn, ground, first, processing, _reported(standing, processing))


def first_offset(item: InboxItem) -> int:
    """Where in the inbox the message of the item was first: one for all of its hand-overs."""
    return item.offset if item.repeats is None else item.repeats.first_offset


def _reported(standing: InboxStanding, processing: ProcessingState) -> tuple[Journal, ...]:
    return report_processing(standing.status, standing.processing, processing)


def _notice(ground: Ground, message: Message, reason: str) -> OwedNotice | None:
    agreement = agreement_of(ground, message)
    if not message.wants_ack or not tells_refusals(agreement.profile, agreement.terms):
        return None
    return OwedNotice(
        message.key,
        agreement.id,
        message.conversation_id,
        message.semantics,
        Severity.ERROR,
        reason,
    )


def _records(ground: Ground, item: InboxItem, rows: Sequence[Journal]) -> list[Record]:
    agreement, house = agreement_of(ground, item.message), ground.house
    about, attempt = item.message.key, attempt_of(item)
    return [
        house.rows.about_message(
            about, agreement, Direction.IN, changed(row, attempt=attempt), ground.now
        )
        for row in rows
    ]


def agreement_of(ground: Ground, message: Message) -> Agreement:
    """The agreement of the message. Raises `LocalError` (UnknownAgreement)."""
    agreement = ground.house.agreements.find(message.agreement_id)
    if agreement is None:
        raise LocalError(
            "UnknownAgreement", f"agreement {message.agreement_id!r} is configured no more"
        )
    return agreement
