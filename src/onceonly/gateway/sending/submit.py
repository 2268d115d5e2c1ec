"""Submissions: what an application hands over is stored before anybody says yes (I14).

A submission is idempotent on its MessageId or its Idempotency-Key: the same again returns the
first one; something else under the same name is refused.
"""

from collections.abc import Sequence

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.clock import Clock
from onceonly.gateway.ids import Identifiers
from onceonly.gateway.payloads import keep
from onceonly.gateway.receiving.replies import Exchange, Replies
from onceonly.gateway.rows import Rows
from onceonly.gateway.sending.again import goes_again_by_key
from onceonly.gateway.sending.dispatch import Dispatch
from onceonly.gateway.sending.room import Room
from onceonly.gateway.sending.work import Draft, Outcome
from onceonly.message.agreement import Agreement
from onceonly.message.digest import Digests, content_digest
from onceonly.message.errors import LocalError, RemoteError
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey, checked_text
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    Message,
    Payload,
    SyncReplyMode,
)
from onceonly.message.word import Word, changed
from onceonly.protocol import recovering, schedule
from onceonly.protocol.effects import Journal
from onceonly.protocol.sending import Outbound
from onceonly.store.contract.entries import OutboundView, StoredPayload
from onceonly.store.contract.store import Store, Transaction
from onceonly.store.group import GroupCommit
from onceonly.store.spool import Sink
from onceonly.wire.header_digest import header_digest
from onceonly.wire.mime import check_writable_type
from onceonly.wire.names import SERVICE_STEM

PAYLOADS_MAX = 99
"""A package has at most 100 parts, and one of them is the header."""

CONTENT_TYPE_LENGTH_MAX = 255
"""Longest Content-Type of a payload: twice the longest that is registered."""


class Part(Word):
    """One payload as the application gave it, its bytes already in a sink."""

    sink: Sink
    content_type: str
    name: str


class Submission(Word):
    """What the application asks for; None where it leaves the choice to us."""

    to: str
    service: str
    action: str
    parts: Sequence[Part]
    agreement_id: str | None = None
    message_id: str | None = None
    idempotency_key: str | None = None
    conversation_id: str | None = None
    ref_to_message_id: str | None = None


class Receipt(Word):
    """What the application is told: the message is stored and will be sent, once."""

    message_id: str
    is_replayed: bool
    """The same submission was made before; nothing was added."""


class Submissions:
    """Takes submissions in."""

    def __init__(  # noqa: PLR0913 - because this is where the parts of a submission meet
        self,
        *,
        store: Store,
        group: GroupCommit,
        agreements: Agreements,
        dispatch: Dispatch,
        rows: Rows,
        clock: Clock,
        ids: Identifiers,
        replies: Replies,
        room: Room,
    ) -> None:
        self._store = store
        self._group = group
        self._agreements = agreements
        self._dispatch = dispatch
        self._rows = rows
        self._clock = clock
        self._ids = ids
        self._replies = replies
        self._room = room

    async def submit(self, submission: Submission) -> Receipt:
        """Store the message and queue it on its pair.

        Returns after the commit. Raises `LocalError` (UnknownPartner, UnknownAgreement,
        AmbiguousAgreement, InvalidField, TooManyPayloads, MessageIdTaken, IdempotencyKeyTaken,
        QueueFull) or `StoreFull`; then nothing is stored.
        """
        agreement = self._agreements.choose(submission.to, submission.agreement_id)
        if not self._room.seems_left(self._store.snapshot()):
            raise self._queue_full()
        exchange = self._find_exchange(submission, agreement)
        message = self._message(submission, agreement, exchange)
        payloads = await keep(message.payloads, [part.sink for part in submission.parts])
        receipt, outcome = await self._group.transact(
            lambda txn: self._store_step(txn, submission, message, payloads, agreement)
        )
        if outcome is not None:
            if exchange is not None:
                self._replies.expect(receipt.message_id, exchange)
            self._dispatch.release(outcome)
        return receipt

    async def draft(self, submission: Submission) -> Draft:
        """The message that the submission asks for, its payloads kept; nothing is stored yet.

        Raises as `submit` does, but for QueueFull and what is taken already.
        """
        agreement = self._agreements.choose(submission.to, submission.agreement_id)
        message = self._message(submission, agreement, None)
        return Draft(
            message, await keep(message.payloads, [part.sink for part in submission.parts])
        )

    def enter(self, txn: Transaction, draft: Draft, digest: str, *, actor: str) -> Outcome:
        """In a step that has seen that its id is free: store and queue a draft of earlier, now.

        Its times begin here. The outcome is to be released after the commit. The agreement is
        one of ours.
        """
        agreement = self._agreements.find(draft.message.agreement_id)
        assert agreement is not None, "the caller has looked"
        message = changed(draft.message, timestamp_at=self._clock.at())
        if agreement.profile.header_has_parameters:
            message = _with_terms(message, agreement, None)
        return self._enter(txn, Draft(message, draft.payloads), digest, agreement, actor=actor)

    def check_room(self, txn: Transaction) -> int:
        """How many messages more may wait for a verdict (R-27); `LocalError` (QueueFull): none."""
        left = self._room.left(txn)
        if not left:
            raise self._queue_full()
        return left

    def _queue_full(self) -> LocalError:
        text = f"{self._room.waiting} messages wait for a verdict; queued_max is reached"
        return LocalError("QueueFull", text)

    def _find_exchange(self, submission: Submission, agreement: Agreement) -> Exchange | None:
        """Where the partner waits for this very message, in the answer to the one it refers to."""
        ref = submission.ref_to_message_id
        if ref is None or not agreement.profile.response_acknowledges:
            return None
        return self._replies.find(MessageKey(agreement.their_party, agreement.our_party, ref))

    def _message(
        self, submission: Submission, agreement: Agreement, exchange: Exchange | None
    ) -> Message:
        if not submission.service or not submission.action:
            raise LocalError("InvalidField", "service and action must not be empty")
        if len(submission.parts) > PAYLOADS_MAX:
            raise LocalError("TooManyPayloads", f"a message has at most {PAYLOADS_MAX} payloads")
        if submission.service.startswith(SERVICE_STEM):
            raise LocalError("InvalidField", f"services under {SERVICE_STEM} are the MSHs' own")
        message_id = submission.message_id or self._ids.message_id()
        try:
            message = Message(
                message_id=message_id,
                from_ids=agreement.our_ids,
                to_ids=agreement.their_ids,
                agreement_id=agreement.id,
                # Not a fresh one: whoever submits the same again would have another content.
                conversation_id=submission.conversation_id or message_id,
                service=submission.service,
                action=submission.action,
                timestamp_at=self._clock.at(),
                semantics=agreement.terms.semantics.on_wire,
                ref_to_message_id=submission.ref_to_message_id,
                payloads=self._payloads(submission.parts),
            )
        except RemoteError as error:
            raise LocalError("InvalidField", error.description) from error
        if not agreement.profile.header_has_parameters:
            return message
        return _with_terms(message, agreement, exchange)

    def _payloads(self, parts: Sequence[Part]) -> tuple[Payload, ...]:
        token = self._ids.token()
        return tuple(
            _payload(part, f"payload-{number}-{token}") for number, part in enumerate(parts, 1)
        )

    def _store_step(
        self,
        txn: Transaction,
        submission: Submission,
        message: Message,
        payloads: Sequence[StoredPayload],
        agreement: Agreement,
    ) -> tuple[Receipt, Outcome | None]:
        digest = content_digest(message.payloads)
        earlier = _find_earlier(txn, submission)
        if earlier is not None:
            check_same(earlier, message, digest, submission)
            if submission.message_id is None and goes_again_by_key(earlier):
                return self._submit_again(txn, earlier.message.message_id)
            return Receipt(earlier.message.message_id, is_replayed=True), None
        self.check_room(txn)
        key = submission.idempotency_key
        outcome = self._enter(txn, Draft(message, payloads), digest, agreement, key=key)
        return Receipt(message.message_id, is_replayed=False), outcome

    def _submit_again(self, txn: Transaction, earlier: str) -> tuple[Receipt, Outcome]:
        """Under the key of a message that certainly failed: a new one, which the key names now.

        The content is the same, and so is what is stored of it (R-41).
        """
        self.check_room(txn)
        outcome = self._dispatch.send_again_as_new(txn, earlier, "submitted again under its key")
        view = txn.find_outbound_view(earlier)
        assert view is not None, "it was found in this step"
        assert view.resent_as is not None, "it was sent again in this step"
        return Receipt(view.resent_as, is_replayed=False), outcome

    def _enter(
        self,
        txn: Transaction,
        draft: Draft,
        digest: str,
        agreement: Agreement,
        *,
        key: str | None = None,
        actor: str | None = None,
    ) -> Outcome:
        message = draft.message
        now = self._clock.now()
        digests = Digests(digest, header_digest(message, agreement.profile))
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
        row = self._rows.submitted(message, agreement, Journal(Event.SUBMITTED), now, digests)
        txn.append((changed(row, actor=actor),))
        expected = recovering.expecting_response(message.timestamp_at, agreement.terms)
        if expected is not None and message.ref_to_message_id is None:
            txn.put_recovery(message.message_id, expected)
        return self._dispatch.enqueue(txn, draft, state, now)


def _with_terms(message: Message, agreement: Agreement, exchange: Exchange | None) -> Message:
    """What a header that has them says of the agreed parameters (seed 001 §1.2).

    A response asks for nothing in the answer, even where the agreement has it: it is the answer.
    """
    terms = agreement.terms
    mode = None
    if terms.sync_reply_mode is not SyncReplyMode.NONE:
        is_response = message.ref_to_message_id is not None
        mode = SyncReplyMode.NONE if is_response else terms.sync_reply_mode
    receipt = terms.delivery_receipt_requested
    element = None
    if exchange is not None and exchange.wants_element:
        element = AcknowledgmentElement(
            timestamp_at=message.timestamp_at, from_ids=agreement.our_ids
        )
    return changed(
        message,
        time_to_live_at=schedule.time_to_live_at(message.timestamp_at, terms),
        sync_reply_mode=mode,
        delivery_receipt_requested=None if receipt is AckRequested.NONE else receipt,
        acknowledgment=element,
    )


def _payload(part: Part, content_id: str) -> Payload:
    """The part, described. What passes here can be written and is read back by the partner."""
    if len(part.content_type) > CONTENT_TYPE_LENGTH_MAX:
        raise LocalError("InvalidField", "a Content-Type is too long")
    try:
        check_writable_type(part.content_type)
        checked_text(part.name, "a payload's name").encode()
    except (LocalError, UnicodeEncodeError) as error:
        raise LocalError("InvalidField", str(error)) from error
    size_bytes, digest = part.sink.close()
    return Payload(content_id, part.content_type, size_bytes, digest, part.name)


def _find_earlier(txn: Transaction, submission: Submission) -> OutboundView | None:
    """The message that the key names; under a MessageId of before that, the one which has that."""
    message_id = submission.message_id
    if submission.idempotency_key is not None:
        message_id = txn.find_message_id_by_key(submission.idempotency_key) or message_id
    view = None if message_id is None else txn.find_outbound_view(message_id)
    named = view
    while view is not None and submission.message_id not in (None, view.message.message_id):
        view = None if view.resend_of is None else txn.find_outbound_view(view.resend_of)
    return view or named


def _kinds(message: Message) -> list[tuple[str, str]]:
    """What each payload is and is called, which its bytes do not say."""
    return [(payload.content_type, payload.name) for payload in message.payloads]


def check_same(
    earlier: OutboundView, message: Message, digest: str, submission: Submission
) -> None:
    """Raise `LocalError` where what was stored is not what is submitted."""
    then = earlier.message
    same = (
        earlier.digest == digest
        and _kinds(then) == _kinds(message)
        and (then.agreement_id, then.service, then.action)
        == (message.agreement_id, message.service, message.action)
        and submission.message_id in (None, then.message_id)
        and submission.conversation_id in (None, then.conversation_id)
        and submission.ref_to_message_id in (None, then.ref_to_message_id)
    )
    if same:
        return
    if submission.message_id == then.message_id:
        raise LocalError("MessageIdTaken", f"another message is stored as {then.message_id!r}")
    raise LocalError(
        "IdempotencyKeyTaken", f"another message was submitted under that key: {then.message_id!r}"
    )
