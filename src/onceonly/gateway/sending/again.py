"""What of a message that ended may go out again, and on whose word (R-41).

A certain end has a way on that cannot double. Where a copy may have been delivered, only a person
can decide that its content goes out once more. Must not know how it goes out; `turn` does that.
"""

from onceonly.message.agreement import Agreement
from onceonly.message.errors import LocalError
from onceonly.protocol.sending import OutboundStatus, has_way_on
from onceonly.store.contract.entries import OutboundView


def goes_again_by_key(view: OutboundView) -> bool:
    """Whether a submission under its business key makes a new message of it."""
    return has_way_on(view.state) and view.resent_as is None


def check_way_on(
    view: OutboundView, agreement: Agreement | None, *, has_turn: bool, is_anyway: bool
) -> None:
    """Raise `LocalError` (NotResendable) where its content may not go out as a new message.

    `is_anyway`: a person says so, though it may then be delivered twice.
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
    OutboundStatus.CANCELLED: (
        "it was taken back; as a new message it goes out on your word (anyway) and reason"
    ),
}
