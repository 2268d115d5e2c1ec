"""Which messages that ended may be sent again, and who has to ask for it (R-41).

If it is certain that a message was not delivered, its content can be sent as a new message without
a second delivery. Where a copy may have been delivered, only a person can decide to send the
content once more. Must not know how it is sent; `turn` does that.
"""

from onceonly.message.agreement import Agreement
from onceonly.message.errors import LocalError
from onceonly.protocol import pairing, schedule
from onceonly.protocol.events import Requeued
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.sending import OutboundStatus, can_be_sent_again, has_way_on
from onceonly.steps.ground import Ground
from onceonly.steps.work import MessageWork, PairWork, Work
from onceonly.store.contract.entries import OutboundEntry, OutboundView
from onceonly.store.contract.store import Snapshot


def goes_again_by_key(view: OutboundView) -> bool:
    """Whether another submission under its Idempotency-Key makes a new message."""
    return has_way_on(view.state) and view.resent_as is None


def was_resent(snapshot: Snapshot, entry: OutboundEntry) -> bool:
    """Whether its content was sent again as a new message; then no rule sends it again."""
    view = snapshot.find_outbound_view(entry.message_id)
    return view is not None and view.resent_as is not None


def may_be_forgotten(snapshot: Snapshot, ground: Ground, entry: OutboundEntry) -> bool:
    """Whether the receiver may have forgotten the message, if it ever had it."""
    view = snapshot.find_outbound_view(entry.message_id)
    assert view is not None, f"{entry.message_id} is not stored"
    terms = ground.house.agreement(entry.agreement_id).terms
    return schedule.may_be_forgotten(view.message.timestamp_at, ground.now, terms)


def can_resend(snapshot: Snapshot, ground: Ground, entry: OutboundEntry) -> bool:
    """Whether the message was given up and may be sent again under its id (S4-18, S4-24).

    A message that kept its turn is sent again when its pair is resumed.
    """
    if can_be_sent_again(entry.state, ground.now):
        return True
    pair = snapshot.get_sending_pair(entry.pair)
    return entry.message_id in pair.in_flight and pair.status is not PairStatus.OPEN


def goes_again_itself(snapshot: Snapshot, ground: Ground, entry: OutboundEntry) -> bool:
    """Whether whoever asks for a resend gets the same bytes, under the same id (S4-24)."""
    return can_resend(snapshot, ground, entry) and not was_resent(snapshot, entry)


def resend(entry: OutboundEntry, pair: SendingPair, reason: str) -> Work:
    """The work that sends a given-up message again: resume its pair, or queue it again."""
    if entry.message_id in pair.in_flight:
        return PairWork(entry.pair, pairing.ResumeRequested())
    return MessageWork(entry.message_id, Requeued(reason))


def check_way_on(
    view: OutboundView, agreement: Agreement | None, *, has_turn: bool, is_anyway: bool
) -> None:
    """Raise `LocalError` (NotResendable) if its content may not be sent as a new message.

    `is_anyway`: a person asks for it, although it may then be delivered twice.
    """
    _check_ours(view, agreement)
    if not has_way_on(view.state):
        _check_word(view.state.status, has_turn=has_turn, is_anyway=is_anyway)


def _check_ours(view: OutboundView, agreement: Agreement | None) -> None:
    if view.resent_as is not None:
        raise _not_resendable(f"its content was sent again already, as {view.resent_as}")
    if agreement is None:
        name = view.message.agreement_id
        raise _not_resendable(f"its agreement {name!r} is not configured any more")
    if agreement.is_route:
        party = view.message.pair.from_party
        raise _not_resendable(f"the message is {party}'s, who was told how it ended")


def _check_word(status: OutboundStatus, *, has_turn: bool, is_anyway: bool) -> None:
    if status in (OutboundStatus.QUEUED, OutboundStatus.SENDING):
        raise _not_resendable("the sender has not given up yet")
    if status not in _ASKS_FOR_A_WORD:
        raise _not_resendable(f"the message is {status} already")
    if has_turn:
        raise _not_resendable("it goes out again itself when its pair is resumed")
    if not is_anyway:
        raise _not_resendable(_ASKS_FOR_A_WORD[status])


def _not_resendable(text: str) -> LocalError:
    return LocalError("NotResendable", text)


_ASKS_FOR_A_WORD = {
    OutboundStatus.IN_DOUBT: (
        "it has expired, or its SequenceNumber was taken back; send a new version, to which its "
        "partner has to agree, or, as it may have been delivered, a new message on your word "
        "(anyway) and reason"
    ),
    OutboundStatus.FAILED: (
        "it may have been delivered: only its time is over; as a new message it goes out on your"
        " word (anyway) and reason"
    ),
    OutboundStatus.SETTLED_DELIVERED: (
        "an operator has said that it was delivered; if that was wrong, it goes out as a new "
        "message on your word (anyway) and reason"
    ),
    OutboundStatus.CANCELLED: (
        "it was taken back; as a new message it goes out on your word (anyway) and reason"
    ),
}
