"""Messages of the MSHs themselves: acknowledgements, errors, inquiries and their reports.

Only an inquiry is answered (R-20). Their From and To are the URIs of the MSHs, taken from the
RoutingHeader of the message that they are about (seed 000 §2.2.2, seed 001 §1.3.3.1); here they are
ordinary PartyIds. A DeliveryFailure notice names the parties (seed 001 §1.6).
"""

import re
from enum import StrEnum
from typing import Final

from onceonly.message.errors import ErrorCode, FaultCode, Severity
from onceonly.message.identity import PartyId, checked_identifier, checked_name
from onceonly.message.message import AcknowledgmentElement, DeliverySemantics
from onceonly.message.word import Word, changed

# Four identifiers of visible ASCII, one per line, each of which may be missing.
_PLAIN: Final = re.compile(r"(?:(?!\.\.?\n)[!-~]{0,255}+\n){4}")


class SignalHeader(Word, kw_only=True):
    """What every signal carries in its Header.

    `message_id`, `agreement_id` and `conversation_id` are empty if the partner's product left them
    out of an acknowledgement or an error: there `ref_to_message_id` says what it is about (rulings
    R-42, R-44).
    """

    message_id: str
    from_ids: tuple[PartyId, ...]
    to_ids: tuple[PartyId, ...]
    agreement_id: str
    """Empty if the signal names none: then that of the message it is about applies (R-44)."""
    conversation_id: str
    timestamp_at: int
    ref_to_message_id: str
    """MessageId of the message that the signal is about; empty in a Ping."""
    from_role: str | None = None
    to_role: str | None = None
    wants_sync_reply: bool = False
    """The answer is wanted in that of the transport (`ebms-2.0`, SyncReply)."""

    def __post_init__(self) -> None:
        lines = (
            f"{self.message_id}\n{self.agreement_id}\n{self.conversation_id}\n"
            f"{self.ref_to_message_id}\n"
        )
        if _PLAIN.fullmatch(lines) is None:
            self._check_each()

    def _check_each(self) -> None:
        for value, name, checked in (
            (self.message_id, "MessageId", checked_identifier),
            (self.agreement_id, "TPAId", checked_name),
            (self.conversation_id, "ConversationId", checked_name),
            (self.ref_to_message_id, "RefToMessageId", checked_identifier),
        ):
            if value:
                checked(value, name)


class Assurance(StrEnum):
    """What the receiver had checked when it acknowledged; each word includes the one before it.

    Seed 004 level 0: received and persisted, structure valid (a), content valid (b).
    """

    RECEIVED = "received"
    STRUCTURE = "structure"
    CONTENT = "content"


class SignalAction(StrEnum):
    """The Action of a signal, in the words of ebMS 2.0."""

    ACKNOWLEDGMENT = "Acknowledgment"
    ERROR = "MessageError"
    STATUS_REQUEST = "StatusRequest"
    STATUS_RESPONSE = "StatusResponse"
    PING = "Ping"
    PONG = "Pong"


class AckStatus(Word):
    """What an acknowledgement says beyond "received and persisted" (seed 004 level 0 a-c)."""

    assurance: Assurance = Assurance.RECEIVED
    is_passed_on: bool = False
    """Level 0 c: the message has been passed on to the application."""


PLAIN_ACK = AckStatus()
"""Received and persisted, nothing more."""


class Acknowledgment(Word):
    """The receiving MSH holds the message in persistent storage (seed 000 §2.1.3 (4))."""

    header: SignalHeader
    element: AcknowledgmentElement | None = None
    """The element of `rm-2001`, if the sender asked for it (seed 001 §1.3.3.1)."""
    status: AckStatus = PLAIN_ACK
    is_receipt: bool = False
    """It is a delivery receipt: the application has the message (seed 001 §2.1.1.2)."""
    next_element: AcknowledgmentElement | None = None
    """The acknowledgement of the next MSH, which may travel alone or beside that of the To Party
    (`ebms-2.0`)."""


class ErrorEntry(Word, kw_only=True):
    """One Error of an ErrorList. `min_retry_s` goes with TransientError only (seed 000 §4.2)."""

    code: ErrorCode
    severity: Severity
    description: str = ""
    min_retry_s: int | None = None
    code_text: str = ""
    """The code on the wire, if we do not know it (`code` is then Unknown)."""
    location: str = ""
    """Where the error is, as the partner says it: an XPath or a cid: URI (`ebms-2.0`)."""
    code_context: str = ""
    """Whose code it is, if it is not one of the standard (`ebms-2.0`)."""


class ErrorSignal(Word):
    """The receiving MSH refused the message, or somebody on the way failed to deliver it."""

    header: SignalHeader
    errors: tuple[ErrorEntry, ...]
    semantics: DeliverySemantics = DeliverySemantics.BEST_EFFORT
    """In a DeliveryFailure notice: the degree of the failed message (seed 001 §1.6)."""


class SoapFault(Word, kw_only=True):
    """A SOAP Fault: what one MSH says of one transmission, without a header (`ebms-2.0`).

    It names no message and no party, so it is about the package that it answers.
    """

    code: FaultCode | None
    """None for a code that SOAP 1.1 does not have."""
    code_text: str
    """The code as it was written, without its prefix."""
    text: str = ""
    actor: str = ""
    details: tuple[str, ...] = ()
    """The texts of the leaves of its detail, such as error codes of the partner's product."""


Verdict = Acknowledgment | ErrorSignal


def readings_of(signal: Verdict) -> tuple[Verdict, ...]:
    """The signal with each id that it may mean: the id as written, then without angle brackets.

    Products that write MessageIds as mail does send `<id>` (ruling R-42). An id of ours may itself
    have brackets, so the id as written is tried first.
    """
    about = signal.header.ref_to_message_id
    plain = about[1:-1] if about[:1] == "<" and about[-1:] == ">" else ""
    if not plain:
        return (signal,)
    return (signal, changed(signal, header=changed(signal.header, ref_to_message_id=plain)))


class InquiryKind(StrEnum):
    """What one MSH can ask another (seed 004 levels 2, 3 and 5)."""

    PING = "Ping"
    """Are you running, and do you take messages?"""
    STATUS = "StatusRequest"
    """What do you know of this message?"""
    CANCEL = "CancelRequest"
    """Never process this message, whether you have it already or not."""
    RESPONSE = "ResponseRequest"
    """Send your business response to this message again."""


class MessageStatus(StrEnum):
    """Answer to a status inquiry, in the words of ebMS."""

    UNAUTHORIZED = "UnAuthorized"
    NOT_RECOGNIZED = "NotRecognized"
    RECEIVED = "Received"
    PROCESSED = "Processed"
    FORWARDED = "Forwarded"


class ReportedProcessing(StrEnum):
    """The application's processing state as the partner is told it (seed 004 level 3 (3b))."""

    NOT_STARTED = "not-started"
    IN_PROGRESS = "in-progress"
    COMPLETE = "complete"
    NOT_KNOWN = "not-known"
    """The application does not report it."""


class Inquiry(Word):
    """A question; `header.ref_to_message_id` names the message that it is about."""

    header: SignalHeader
    kind: InquiryKind
    has_reference: bool = False
    """MessageData names the message, too (`ebms-2.0`, whose StatusRequest names it in the Body)."""


class Report(Word, kw_only=True):
    """The answer to an inquiry, whose MessageId is `header.ref_to_message_id`."""

    header: SignalHeader
    kind: InquiryKind
    """What was asked."""
    about: str = ""
    """MessageId of the message that was asked about; empty in the answer to a Ping."""
    is_accepted: bool = True
    """Ping: messages are taken. Cancel: the message will never be processed. Response: it follows.
    """
    status: MessageStatus | None = None
    processing: ReportedProcessing | None = None
    received_at: int | None = None
    """When the message was received, if it was (seed 001 §1.1.1)."""


Signal = Acknowledgment | ErrorSignal | Inquiry | Report
