"""One more hand-over of a message that its application had and lost: say, from a restored database.

An operator asks for it; nothing does it by itself. The message gets a new place in the inbox, so
that whoever reads on by offset sees it, once for each time that it was asked for. It is a matter
between the gateway and its application: nothing goes out, not even the acknowledgement, and what
partners are told stays true (I44). Two things follow from that:

* Whoever asks says that the application had the message. A message of which it reported nothing is
  in progress from now on, so that its sender cannot take it back any more (seed 004 level 3).
* The new item has a processing state of its own. It carries the state of the message forward where
  that is not at its end yet, and never back (`processing`).
"""

from onceonly.message.digest import Digests
from onceonly.message.errors import LocalError
from onceonly.message.event import Direction, Event
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.keeping import taken_back
from onceonly.protocol.receiving import InboundStatus
from onceonly.steps.ground import Ground
from onceonly.steps.processing import agreement_of, attempt_of, begin, standing_of
from onceonly.store.contract.entries import InboxItem
from onceonly.store.contract.store import Snapshot, Transaction
from onceonly.wire.timestamp import write_extended_timestamp

ONLY_ITS_SENDER = "only its sender can send it once more, as a new message"


def hand_over_again(
    txn: Transaction,
    ground: Ground,
    offset: int,
    *,
    actor: str | None,
    reason: str,
    after: int | None = None,
) -> InboxItem:
    """Put the message of the item into the inbox once more; returns the new item.

    `after`: the last offset that the caller has seen, if it says that; where the message was handed
    over again at a later one, nothing is done. The row about who asked, and why, and that of the
    hand-over are in the same transaction: after a crash there are both and the item, or nothing.
    Raises `LocalError` (NotFound, Purged, Cancelled, UnknownAgreement, AlreadyHandedOver).
    """
    item = txn.find_inbox_item(offset)
    if item is None:
        raise missing(txn, offset)
    if standing_of(txn, item).status is not InboundStatus.HANDED_OVER:
        raise taken_back()
    if after is not None:
        _check_not_since(txn, offset, after)
    agreement, rows = agreement_of(ground, item.message), ground.house.rows
    again = txn.find_inbox_item(txn.hand_over_again(offset, at=ground.now.at))
    assert again is not None, "it was put there"
    assert again.repeats is not None, "it repeats the first"
    number, first = attempt_of(again), again.repeats.first_offset
    asked = Journal(Event.HANDED_OVER_AGAIN, attempt=number, reason=reason)
    first_at = write_extended_timestamp(again.repeats.first_handed_over_at)
    place = f"again, at offset {again.offset}; first at offset {first} on {first_at}"
    handed = Journal(Event.HANDED_OVER, attempt=number, reason=place)
    key, digests = item.message.key, Digests(item.digest, item.header_digest)
    row = rows.about_message(key, agreement, Direction.IN, asked, ground.now)
    txn.append([changed(row, actor=actor)])
    begin(txn, ground, item)
    txn.append(
        [rows.about_message(key, agreement, Direction.IN, handed, ground.now, digests=digests)]
    )
    return again


def _check_not_since(snapshot: Snapshot, offset: int, after: int) -> None:
    newest = snapshot.find_newest_offset(offset)
    if newest is None or newest <= after:
        return
    item = snapshot.find_inbox_item(newest)
    assert item is not None, "it was found"
    on = write_extended_timestamp(item.handed_over_at)
    text = f"already handed over again on {on}, at offset {newest}; look, and ask anew for one more"
    raise LocalError("AlreadyHandedOver", text)


def missing(snapshot: Snapshot, offset: int) -> LocalError:
    """The error for an offset without an item: it is forgotten, or was never given."""
    if not 0 < offset <= snapshot.last_offset():
        return LocalError("NotFound", f"no message in the inbox at offset {offset}")
    return LocalError("Purged", f"the message at offset {offset} is purged; {ONLY_ITS_SENDER}")
