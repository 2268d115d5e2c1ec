"""A message of an application is stored before the submission is answered (I14).

A submission is idempotent by its MessageId or its Idempotency-Key: the same submission again gets
the answer of the first one; another one under the same name is refused.
"""

from collections.abc import Sequence

from onceonly.message.agreement import Agreement
from onceonly.message.digest import Digests, content_digest
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    Message,
    SyncReplyMode,
)
from onceonly.message.word import Word, changed
from onceonly.protocol import recovering, schedule
from onceonly.protocol.effects import Journal
from onceonly.protocol.sending import Outbound
from onceonly.steps import sending
from onceonly.steps.again import goes_again_by_key
from onceonly.steps.cpa import called_on_wire, check_sendable, with_cpa
from onceonly.steps.ground import Ground, House
from onceonly.steps.leaving import Draft, Leaving, Released
from onceonly.steps.work import AgainWork
from onceonly.store.contract.entries import OutboundView
from onceonly.store.contract.store import Transaction
from onceonly.wire.header_digest import header_digest


class Names(Word):
    """The names that the application gave its submission; None if it leaves the choice to us."""

    message_id: str | None = None
    idempotency_key: str | None = None
    conversation_id: str | None = None
    ref_to_message_id: str | None = None


class Receipt(Word):
    """What the application is told: the message is stored and will be sent, once."""

    message_id: str
    is_replayed: bool
    """The same submission was made before; nothing new was stored."""


class Submitted(Released):
    """The result of a submission; nothing is sent if nothing was stored."""

    receipt: Receipt


def submit(txn: Transaction, ground: Ground, draft: Draft, names: Names) -> Submitted:
    """Store the message and queue it on its pair, unless it was submitted before.

    Raises `LocalError` (MessageIdTaken, IdempotencyKeyTaken, UnknownAgreement, QueueFull).
    """
    digest = content_digest(draft.message.payloads)
    earlier = _find_earlier(txn, names)
    if earlier is not None:
        check_same(earlier, draft.message, digest, names)
        earlier_id = earlier.message.message_id
        if names.message_id is None and goes_again_by_key(earlier):
            return _submit_again(txn, ground, earlier_id)
        return Submitted(Receipt(earlier_id, is_replayed=True))
    agreement_id = draft.message.agreement_id
    agreement = ground.house.agreements.find_ours(agreement_id)
    if agreement is None:
        # Taken away by a reload while the payloads came in.
        raise LocalError("UnknownAgreement", f"agreement {agreement_id!r} is configured no more")
    check_sendable(agreement, draft.message, ground.now.at)
    check_room(txn, ground.house)
    leaving = enter(txn, ground, draft, digest, key=names.idempotency_key)
    return Submitted(Receipt(draft.message.message_id, is_replayed=False), leaving=leaving)


def _submit_again(txn: Transaction, ground: Ground, earlier: str) -> Submitted:
    """Make a new message under the key of one that certainly failed; the key names it from now on.

    The content is the same, and so are the stored payloads (R-41).
    """
    check_room(txn, ground.house)
    leaving = sending.run(txn, ground, (AgainWork(earlier, "submitted again under its key"),))
    view = txn.find_outbound_view(earlier)
    assert view is not None, "it was found in this step"
    assert view.resent_as is not None, "it was sent again in this step"
    return Submitted(Receipt(view.resent_as, is_replayed=False), leaving=leaving)


def enter_staged(
    txn: Transaction, ground: Ground, draft: Draft, digest: str, *, actor: str
) -> Leaving:
    """Store and queue a draft that was staged earlier, if its id is free; its times begin now."""
    agreement = ground.house.agreement(draft.message.agreement_id)
    message = changed(draft.message, timestamp_at=ground.now.at)
    if agreement.profile.header_has_parameters:
        message = with_terms(message, agreement)
    return enter(txn, ground, Draft(message, draft.payloads), digest, actor=actor)


def enter(
    txn: Transaction,
    ground: Ground,
    draft: Draft,
    digest: str,
    *,
    key: str | None = None,
    actor: str | None = None,
) -> Leaving:
    """Store and queue a message whose MessageId and key are not used yet."""
    message, now = draft.message, ground.now
    agreement = ground.house.agreement(message.agreement_id)
    digests = Digests(digest, header_digest(called_on_wire(message, agreement), agreement.profile))
    state = Outbound(expires_at=schedule.expires_at(message.timestamp_at, agreement.terms))
    txn.add_outbound(
        message,
        state,
        draft.payloads,
        digest=digest,
        header_digest=digests.header,
        submitted_at=now.at,
        idempotency_key=key,
    )
    submitted = Journal(Event.SUBMITTED)
    row = ground.house.rows.submitted(message, agreement, submitted, now, digests)
    txn.append((row if actor is None else changed(row, actor=actor),))
    expected = recovering.expecting_response(message.timestamp_at, agreement.terms)
    if expected is not None and message.ref_to_message_id is None:
        txn.put_recovery(message.message_id, expected)
    return sending.enqueue(txn, ground, draft, state)


def room_left(txn: Transaction, house: House) -> int:
    """How many more messages may wait for a verdict (R-27).

    Messages of applications, of previous hops and of a recovery that sends a new version are in the
    same queues; the store counts all of them.
    """
    return max(0, house.queued_max - txn.count_waiting())


def check_room(txn: Transaction, house: House) -> int:
    """Like `room_left`, but raises `LocalError` (QueueFull) if there is no room."""
    left = room_left(txn, house)
    if not left:
        raise queue_full(txn.count_waiting())
    return left


def queue_full(waiting: int) -> LocalError:
    """The error for a submission when no more messages may wait."""
    return LocalError("QueueFull", f"{waiting} messages wait for a verdict; queued_max is reached")


def with_terms(message: Message, agreement: Agreement, *, wants_element: bool = False) -> Message:
    """The message with the agreed parameters, for a profile whose header has them (seed 001 §1.2).

    A response asks for nothing in the answer, even if the agreement does, since it is the answer
    itself. `wants_element`: the response also carries the acknowledgement of its request.
    """
    terms = agreement.terms
    mode = None
    if terms.sync_reply_mode is not SyncReplyMode.NONE:
        is_response = message.ref_to_message_id is not None
        mode = SyncReplyMode.NONE if is_response else terms.sync_reply_mode
        if mode.has_signals and not agreement.profile.header_names_semantics:
            mode = SyncReplyMode.SIGNALS_AND_RESPONSE  # The header asks, and cannot say for what.
    receipt = terms.delivery_receipt_requested
    element = None
    if wants_element:
        element = AcknowledgmentElement(
            timestamp_at=message.timestamp_at, from_ids=agreement.our_ids
        )
    return changed(
        with_cpa(message, agreement),
        time_to_live_at=schedule.time_to_live_at(message.timestamp_at, terms),
        sync_reply_mode=mode,
        delivery_receipt_requested=None if receipt is AckRequested.NONE else receipt,
        acknowledgment=element,
    )


def _find_earlier(txn: Transaction, names: Names) -> OutboundView | None:
    """The message that the key names; if it is a resend, the earlier one with the MessageId."""
    message_id = names.message_id
    if names.idempotency_key is not None:
        message_id = txn.find_message_id_by_key(names.idempotency_key) or message_id
    view = None if message_id is None else txn.find_outbound_view(message_id)
    named = view
    while view is not None and names.message_id not in (None, view.message.message_id):
        view = None if view.resend_of is None else txn.find_outbound_view(view.resend_of)
    return view or named


def _kinds(message: Message) -> Sequence[tuple[str, str]]:
    """Type and name of each payload, which its bytes do not contain."""
    return [(payload.content_type, payload.name) for payload in message.payloads]


def check_same(earlier: OutboundView, message: Message, digest: str, names: Names) -> None:
    """Raise `LocalError` (MessageIdTaken, IdempotencyKeyTaken) if the stored message differs."""
    then = earlier.message
    same = (
        earlier.digest == digest
        and _kinds(then) == _kinds(message)
        and (then.agreement_id, then.service, then.action)
        == (message.agreement_id, message.service, message.action)
        and names.message_id in (None, then.message_id)
        and names.conversation_id in (None, then.conversation_id)
        and names.ref_to_message_id in (None, then.ref_to_message_id)
    )
    if same:
        return
    if names.message_id == then.message_id:
        raise LocalError("MessageIdTaken", f"another message is stored as {then.message_id!r}")
    text = "another message was submitted under that key"
    if then.agreement_id == message.agreement_id:
        # Under another agreement it may be another application's, which is nobody else's business.
        text += f": {then.message_id!r}"
    raise LocalError("IdempotencyKeyTaken", text)
