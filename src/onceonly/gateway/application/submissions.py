"""Submissions of the application: their payloads are kept, and a step stores the message.

The step is in `steps.submission`. Must not know when a message is sent.
"""

from collections.abc import Sequence

from onceonly.gateway.desk import Desk
from onceonly.gateway.outgoing.replies import Exchange
from onceonly.gateway.payloads import keep
from onceonly.message.agreement import Agreement
from onceonly.message.errors import LocalError, RemoteError
from onceonly.message.identity import MessageKey, checked_identifier, checked_text
from onceonly.message.message import Message, Payload
from onceonly.message.word import Word, changed
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Draft
from onceonly.steps.submission import (
    Names,
    Receipt,
    Submitted,
    queue_full,
    submit,
    with_terms,
)
from onceonly.store.contract.store import Transaction
from onceonly.store.spool import Sink
from onceonly.wire.mime import check_writable_type
from onceonly.wire.registry import codec_of

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
    """What the application asks for; None if it leaves the choice to us."""

    to: str
    service: str
    action: str
    parts: Sequence[Part]
    agreement_id: str | None = None
    message_id: str | None = None
    idempotency_key: str | None = None
    conversation_id: str | None = None
    ref_to_message_id: str | None = None
    own: frozenset[str] | None = None
    """The agreements that the caller may choose from; None: all of them."""

    @property
    def names(self) -> Names:
        """The names that the application gave it."""
        return Names(
            self.message_id, self.idempotency_key, self.conversation_id, self.ref_to_message_id
        )


class Submissions:
    """Takes submissions in."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._replies = desk.replies

    async def submit(self, submission: Submission) -> Receipt:
        """Store the message and queue it on its pair.

        Returns after the commit. Raises `LocalError` (UnknownPartner, UnknownAgreement,
        AmbiguousAgreement, InvalidField, TooManyPayloads, MessageIdTaken, IdempotencyKeyTaken,
        QueueFull) or `StoreFull`; then nothing is stored.
        """
        house = self._desk.house
        agreement = self._choose(submission)
        waiting = self._desk.count_waiting()
        if waiting >= house.queued_max:
            raise queue_full(waiting)  # Before anything of it is kept.
        exchange = self._find_exchange(submission, agreement)
        draft = await self._draft(submission, agreement, exchange)

        def step(txn: Transaction, ground: Ground) -> Submitted:
            submitted = submit(txn, ground, draft, submission.names)
            if submitted.leaving is not None:
                self._desk.failpoints.reach("before-commit")
            return submitted

        submitted = await self._desk.transact(step)
        if exchange is not None and submitted.leaving is not None:
            # A message is sent by a task, which begins only after this.
            self._replies.expect(submitted.receipt.message_id, exchange)
        return submitted.receipt

    async def draft(self, submission: Submission) -> Draft:
        """The message that the submission asks for; its payloads are kept, nothing else is stored.

        Raises as `submit` does, except QueueFull, MessageIdTaken and IdempotencyKeyTaken.
        """
        agreement = self._choose(submission)
        return await self._draft(submission, agreement, None)

    def _choose(self, submission: Submission) -> Agreement:
        return self._desk.house.agreements.choose(
            submission.to,
            submission.agreement_id,
            submission.own,
            service=submission.service,
            action=submission.action,
        )

    async def _draft(
        self, submission: Submission, agreement: Agreement, exchange: Exchange | None
    ) -> Draft:
        submission = changed(submission, parts=_in_order(submission.parts, agreement))
        message = self._message(submission, agreement, exchange)
        sinks = [part.sink for part in submission.parts]
        return Draft(message, await keep(message.payloads, sinks))

    def _find_exchange(self, submission: Submission, agreement: Agreement) -> Exchange | None:
        """The open exchange in which the partner waits for this message as its response."""
        ref = submission.ref_to_message_id
        if ref is None:
            return None
        key = MessageKey(agreement.their_party, agreement.our_party, ref)
        if submission.own is not None:
            # The partner may have sent it under an agreement of another application.
            entry = self._desk.snapshot().find_inbound(key)
            if entry is None or entry.agreement_id not in submission.own:
                return None
        return self._replies.find(key)

    def _conversation_of(self, submission: Submission, agreement: Agreement) -> str | None:
        """That of the message which this one answers, if it is known and the profile says so."""
        ref = submission.ref_to_message_id
        if ref is None or not agreement.profile.has_cpa:
            return None
        key = MessageKey(agreement.their_party, agreement.our_party, ref)
        asked = self._desk.snapshot().find_inbound_message(key)
        return None if asked is None else asked.conversation_id

    def _message(
        self, submission: Submission, agreement: Agreement, exchange: Exchange | None
    ) -> Message:
        if not submission.service or not submission.action:
            raise LocalError("InvalidField", "service and action must not be empty")
        if len(submission.parts) > PAYLOADS_MAX:
            raise LocalError("TooManyPayloads", f"a message has at most {PAYLOADS_MAX} payloads")
        stem = codec_of(agreement.profile).signal_services
        if submission.service.startswith(stem):
            raise LocalError("InvalidField", f"services under {stem} are the MSHs' own")
        ground = self._desk.ground()
        message_id = submission.message_id or ground.message_id("message", agreement)
        try:
            message = Message(
                message_id=message_id,
                from_ids=agreement.our_ids,
                to_ids=agreement.their_ids,
                agreement_id=agreement.id,
                # Not a new one: the same submission again would then have another content.
                conversation_id=submission.conversation_id
                or self._conversation_of(submission, agreement)
                or message_id,
                service=submission.service,
                action=submission.action,
                timestamp_at=ground.now.at,
                semantics=agreement.terms.header_semantics,
                ref_to_message_id=submission.ref_to_message_id,
                payloads=_payloads(submission.parts, ground.token("payloads")),
            )
            if not agreement.profile.has_cpa:
                checked_identifier(message.conversation_id, "ConversationId")
        except RemoteError as error:
            raise LocalError("InvalidField", error.description) from error
        if not agreement.profile.header_has_parameters:
            return message
        wants_element = exchange is not None and exchange.wants_element
        return with_terms(message, agreement, wants_element=wants_element)


def _in_order(parts: Sequence[Part], agreement: Agreement) -> Sequence[Part]:
    """The parts as the agreement wants them: those in XML first, or as they were given."""
    if not agreement.cpa.has_xml_first:
        return parts
    return sorted(parts, key=lambda part: not _is_xml(part.content_type))


def _is_xml(content_type: str) -> bool:
    essence = content_type.partition(";")[0].strip().lower()
    return essence in ("text/xml", "application/xml") or essence.endswith("+xml")


def _payloads(parts: Sequence[Part], token: str) -> tuple[Payload, ...]:
    return tuple(
        _payload(part, f"payload-{number}-{token}") for number, part in enumerate(parts, 1)
    )


def _payload(part: Part, content_id: str) -> Payload:
    """The description of the part. Whatever is accepted here can be written and read again."""
    if len(part.content_type) > CONTENT_TYPE_LENGTH_MAX:
        raise LocalError("InvalidField", "a Content-Type is too long")
    try:
        check_writable_type(part.content_type)
        checked_text(part.name, "a payload's name").encode()
    except (LocalError, UnicodeEncodeError) as error:
        raise LocalError("InvalidField", str(error)) from error
    size_bytes, digest = part.sink.close()
    return Payload(content_id, part.content_type, size_bytes, digest, part.name)
