"""What an operator asks for, as work for the machines of messages and pairs.

Each function checks inside the step whether the request is allowed, and returns the work to do. It
raises `LocalError` before anything is written.
"""

from collections.abc import Sequence
from enum import StrEnum

from onceonly.message.errors import LocalError
from onceonly.message.identity import ConversationKey, Pair
from onceonly.protocol import pairing, settling
from onceonly.protocol.events import Cancelled, Settled, Settlement
from onceonly.protocol.ordering import OrderStatus, ResetRequested, SendingOrder
from onceonly.protocol.recovering import CancelWanted, StatusWanted
from onceonly.protocol.sending import Exposure, OutboundStatus, can_be_sent_again, was_parked
from onceonly.steps.again import (
    check_way_on,
    goes_again_itself,
    may_be_forgotten,
    resend,
    was_resent,
)
from onceonly.steps.ground import Ground
from onceonly.steps.submission import check_room
from onceonly.steps.work import (
    AgainWork,
    MessageWork,
    OrderWork,
    PairWork,
    RecoveryWork,
    TakeUpWork,
    Work,
)
from onceonly.store.contract.entries import Incident, OutboundEntry, Role
from onceonly.store.contract.store import Snapshot, Transaction

UNSENT_BATCH = 100
"""Most messages that are sent again in one step, so that the step stays short."""

_OVER = frozenset({OutboundStatus.FAILED, OutboundStatus.EXPIRED, OutboundStatus.CANCELLED})
"""Statuses in which there is nothing left to take back."""


class WayOn(StrEnum):
    """How the content of a message in doubt can go out again without a person's word."""

    RESEND = "resend"
    """The same bytes under the same id, of which the receiver eliminates a repeat."""
    NEW_VERSION = "new-version"
    """As a new message, once the partner has confirmed that the old one is cancelled."""


def cancel(
    txn: Snapshot, ground: Ground, message_id: str, *, is_for_new_version: bool
) -> Sequence[Work]:
    """Take a message back: at once if no byte left, otherwise by asking the receiver (R-08).

    Raises `LocalError` (NotFound, NotCancellable).
    """
    entry = _found(txn, message_id)
    if entry.state.status in _OVER:
        raise LocalError("NotCancellable", f"the message is {entry.state.status} already")
    _check_agreed(ground, entry, "NotCancellable")
    _check_ours(ground, entry)
    if is_unsent(entry) and not is_for_new_version:
        return [MessageWork(message_id, Cancelled())]
    _check_can_be_asked(ground, entry)
    if may_be_forgotten(txn, ground, entry):
        raise LocalError(
            "NotCancellable", "so old that the partner may have processed and forgotten it"
        )
    return [RecoveryWork(message_id, CancelWanted(is_for_new_version))]


def find_way_on(snapshot: Snapshot, ground: Ground, message_id: str) -> WayOn | None:
    """What `send_again` or `cancel` for a new version would take now, by their own checks.

    None: they would refuse both, or there is no doubt. Raises `LocalError` (NotFound).
    """
    entry = _found(snapshot, message_id)
    if entry.state.status is not OutboundStatus.IN_DOUBT or was_resent(snapshot, entry):
        return None
    if goes_again_itself(snapshot, ground, entry):
        return WayOn.RESEND
    try:
        cancel(snapshot, ground, message_id, is_for_new_version=True)
    except LocalError:
        return None
    return WayOn.NEW_VERSION


def is_unsent(entry: OutboundEntry) -> bool:
    """Whether no byte of the message has left."""
    return entry.state.exposure is Exposure.NEVER


def send_again(
    txn: Transaction, ground: Ground, message_id: str, reason: str, *, is_anyway: bool
) -> Sequence[Work]:
    """Send a message again that was given up, or its content as a new one (S4-24, R-41).

    Raises `LocalError` (NotFound, NotResendable, QueueFull).
    """
    entry = _found(txn, message_id)
    pair = txn.get_sending_pair(entry.pair)
    view = txn.find_outbound_view(message_id)
    assert view is not None, "its entry is there"
    _check_agreed(ground, entry, "NotResendable")
    if not is_anyway and goes_again_itself(txn, ground, entry):
        return [resend(entry, pair, reason)]
    agreement = ground.house.agreements.find(entry.agreement_id)
    check_way_on(view, agreement, has_turn=message_id in pair.in_flight, is_anyway=is_anyway)
    check_room(txn, ground.house)
    return [AgainWork(message_id, reason)]


def send_unsent(txn: Transaction, ground: Ground, agreement_id: str) -> Sequence[Work]:
    """Send messages that failed or expired before a byte of them left as new ones (R-41).

    Raises `LocalError` (QueueFull).
    """
    entries = txn.list_unsent(agreement_id, UNSENT_BATCH)
    if entries:
        entries = entries[: check_room(txn, ground.house)]
    return [AgainWork(entry.message_id, "an operator resumed its partner") for entry in entries]


def inquire(txn: Transaction, ground: Ground, message_id: str) -> Sequence[Work]:
    """Ask the partner about the message.

    Raises `LocalError` (NotFound, NeverSent, UnknownAgreement).
    """
    entry = _found(txn, message_id)
    if is_unsent(entry):
        raise LocalError("NeverSent", "no byte of the message has left this gateway")
    _check_agreed(ground, entry, "UnknownAgreement")
    return [RecoveryWork(message_id, StatusWanted())]


def settle(txn: Transaction, ground: Ground, message_id: str, word: Settled) -> Sequence[Work]:
    """End a doubt by a person's word (R-49). Raises `LocalError` (NotFound, NotSettleable)."""
    del ground
    state = _found(txn, message_id).state
    if state.status is not OutboundStatus.IN_DOUBT:
        # Before any work: of a message that ended, the agreement may be gone.
        raise LocalError("NotSettleable", settling.what_else(state))
    return [MessageWork(message_id, word)]


def reset_order(
    txn: Transaction,
    ground: Ground,
    conversation: ConversationKey,
    *,
    anyway: str | None,
    actor: str,
    reason: str,
) -> Sequence[Work]:
    """Let the numbers of a blocked conversation begin again, without the message that blocks it.

    A later copy of that message would carry a number of the old numbers. So a doubt about it is
    settled first, by an operator, or here, if he names the message: `anyway` (R-34, R-49). Raises
    `LocalError` (NotBlocked, InDoubt).
    """
    state = txn.get_sending_order(conversation)
    name = state.in_turn
    if state.status is not OrderStatus.BLOCKED or name is None:
        raise LocalError("NotBlocked", _why_not_blocked(conversation, state))
    entry = _found(txn, name)
    _check_agreed(ground, entry, "NotBlocked")
    reset = OrderWork(name, ResetRequested(actor, reason))
    if entry.state.status is not OutboundStatus.IN_DOUBT:
        return [reset]
    if anyway != name:
        raise LocalError(
            "InDoubt",
            f"message {name} of it is in doubt: settle it first, or name it, if it counts as not"
            " delivered",
        )
    return [MessageWork(name, Settled(Settlement.NOT_DELIVERED, reason, actor)), reset]


def _why_not_blocked(conversation: ConversationKey, state: SendingOrder) -> str:
    if state.status is OrderStatus.BUSY:
        return f"message {state.in_turn} of the conversation is under way: wait for its end"
    return f"no message blocks conversation {conversation.conversation_id!r}"


def take_up(txn: Transaction, ground: Ground, message_id: str, reason: str) -> Sequence[Work]:
    """Let an outbound message that was parked go on (R-43).

    Raises `LocalError` (NotParked, NotResendable).
    """
    view = txn.find_outbound_view(message_id)
    if view is not None:
        _check_agreed(ground, _found(txn, message_id), "NotResendable")
    if view is not None and view.resent_as is not None:
        raise LocalError("NotParked", f"its content was sent again already, as {view.resent_as}")
    if view is not None:
        _check_goes_on(ground, _found(txn, message_id))
    return [TakeUpWork(message_id, reason)]


def note_parked(
    txn: Transaction, ground: Ground, incident: Incident, message_id: str
) -> Sequence[Work]:
    """An operator has seen the incident of a message that is not sent any more."""
    at = ground.now.at
    txn.resolve_parked(incident.role, incident.pair, message_id, at=at)
    return ()


def suspend(txn: Transaction, ground: Ground, pair: Pair, reason: str) -> Sequence[Work]:
    """Suspend sending to a partner."""
    del txn, ground
    return [PairWork(pair, pairing.SuspendRequested(reason))]


def resume(txn: Transaction, ground: Ground, pair: Pair) -> Sequence[Work]:
    """Resume sending to a partner, whose incidents the operator has seen."""
    txn.resolve_incidents(Role.SENDER, pair, at=ground.now.at, with_parked=True)
    return [PairWork(pair, pairing.ResumeRequested())]


def _found(txn: Snapshot, message_id: str) -> OutboundEntry:
    entry = txn.find_outbound(message_id)
    if entry is None:
        raise LocalError("NotFound", f"no outbound message {message_id!r}")
    return entry


def _check_agreed(ground: Ground, entry: OutboundEntry, refusal: str) -> None:
    """Nothing goes out under an agreement that the configuration has no more.

    Only a message that ended can have lost its agreement. Raises `LocalError` (`refusal`).
    """
    if ground.house.agreements.find(entry.agreement_id) is None:
        text = f"its agreement {entry.agreement_id!r} is not configured any more"
        raise LocalError(refusal, text)


def _check_can_be_asked(ground: Ground, entry: OutboundEntry) -> None:
    """What has left can be taken back only where a partner can be asked to cancel it."""
    agreement = ground.house.agreement(entry.agreement_id)
    if not agreement.has_cancels:
        raise LocalError(
            "NotCancellable",
            f"a copy of it has left, and in {agreement.profile.name} nobody can be asked to cancel"
            " a message; ask the partner's people",
        )


def _check_goes_on(ground: Ground, entry: OutboundEntry) -> None:
    """What can neither be sent as it is nor be cancelled waits for a person's word (R-49).

    A copy of it may have left, and its time is over. Raises `LocalError` (NotResendable).
    """
    profile = ground.house.agreement(entry.agreement_id).profile
    goes_on = can_be_sent_again(entry.state, ground.now) or was_parked(entry.state)
    if not (goes_on or profile.has_cancels):
        raise LocalError(
            "NotResendable",
            f"a copy of it may have left, its time is over, and in {profile.name} nobody can be"
            " asked to cancel a message; ask the partner's people whether they have it, and settle"
            " it by their word",
        )


def _check_ours(ground: Ground, entry: OutboundEntry) -> None:
    """A message that we carry for others can be taken back only by its From Party (I37)."""
    if ground.house.agreement(entry.agreement_id).is_route:
        raise LocalError("NotCancellable", f"the message is {entry.pair.from_party}'s, not ours")
