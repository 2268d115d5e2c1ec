"""What a message or a signal says, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Final

from onceonly.message.errors import ErrorCode, FaultCode, Severity
from onceonly.message.instant import to_datetime
from onceonly.message.message import AckRequested, DeliverySemantics, Message, SyncReplyMode
from onceonly.message.signals import (
    Acknowledgment,
    Assurance,
    ErrorEntry,
    ErrorSignal,
    Inquiry,
    InquiryKind,
    Report,
    SoapFault,
)
from onceonly.wire.envelope import Content

CODES: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.TRANSIENT_ERROR: "the peer cannot take the message now: the same again, later",
    ErrorCode.INVALID_SEQUENCE_NUMBER: (
        "its SequenceNumber is neither the next one, nor that of a repeat, nor 1"
    ),
    ErrorCode.VALUE_NOT_RECOGNIZED: (
        "a value is well-formed and not known here, such as an agreement or a party"
    ),
    ErrorCode.NOT_SUPPORTED: "it was understood, and is not offered here",
    ErrorCode.INCONSISTENT: (
        "two values of the message, or the message and the agreement, contradict each other"
    ),
    ErrorCode.OTHER_XML: "the header is not the XML document that the profile prescribes",
    ErrorCode.MIME_PROBLEM: (
        "the package is not well formed, or its Manifest names a part that is not there"
    ),
    ErrorCode.MESSAGE_TOO_LARGE: "it is above a limit of bytes, parts, depth or count",
    ErrorCode.SECURITY_FAILURE: (
        "a known MessageId with other content, a signature that is not as agreed, or a caller"
        " without the right to say this"
    ),
    ErrorCode.TIME_TO_LIVE_EXPIRED: (
        "it came for the first time after its TimeToLive, or is older than PersistDuration"
    ),
    ErrorCode.DELIVERY_FAILURE: "it was surely or probably not delivered",
    ErrorCode.UNKNOWN: "anything else, or a code that is not known here",
}
"""Each code of an ErrorList in words."""

_ASKS: Final[Mapping[InquiryKind, str]] = {
    InquiryKind.PING: "are you running, and do you take messages?",
    InquiryKind.STATUS: "what do you know of this message?",
    InquiryKind.CANCEL: "never process this message, whether you have it already or not",
    InquiryKind.RESPONSE: "send your business response to this message again",
}
_LOOKED: Final[Mapping[Assurance, str]] = {
    Assurance.RECEIVED: "",
    Assurance.STRUCTURE: ", and its structure is valid",
    Assurance.CONTENT: ", and its structure and its content are valid",
}


def sentences(content: Content) -> tuple[str, ...]:
    """What it says, the most important first."""
    return tuple(_sentences(content))


def _sentences(content: Content) -> Iterator[str]:
    match content:
        case Message():
            yield from _of_message(content)
        case Acknowledgment():
            yield from _of_acknowledgment(content)
        case ErrorSignal():
            yield from _of_errors(content)
        case Inquiry():
            about = content.header.ref_to_message_id
            yield f"an inquiry ({content.kind.value}): {_ASKS[content.kind]}"
            if about:
                yield f"it asks about the message {about}"
        case Report():
            yield from _of_report(content)


def _of_message(message: Message) -> Iterator[str]:
    count = len(message.payloads)
    parts = "one payload" if count == 1 else f"{count or 'no'} payloads"
    yield (
        f"a business message from {message.from_ids[0]} to {message.to_ids[0]} under agreement"
        f" {message.agreement_id}: service {message.service}, action {message.action}, {parts}"
    )
    if message.leaves_semantics:
        yield "how reliable its delivery is to be is left to the agreement"
    elif message.semantics is DeliverySemantics.BEST_EFFORT:
        yield "BestEffort: nobody acknowledges it, and it is not sent again"
    elif message.semantics is DeliverySemantics.AT_MOST_ONCE:
        yield "AtMostOnce: nobody acknowledges it, and a repeat of it is not delivered"
    elif message.duplicate_elimination is False:
        yield "AtLeastOnce: it is sent again until it is acknowledged; repeats are its receiver's"
    else:
        yield "OnceAndOnlyOnce: it is sent again until it is acknowledged, and delivered once"
    yield from _of_wishes(message)
    if message.ref_to_message_id is not None:
        yield f"it is the business response to {message.ref_to_message_id}"
    if message.acknowledgment is not None:
        yield f"it carries the acknowledgement of {message.ref_to_message_id}"
    if message.time_to_live_at is not None:
        yield f"after {instant(message.time_to_live_at)} an unknown copy of it is refused"


def _of_wishes(message: Message) -> Iterator[str]:
    """What a header of ebMS 2.0 asks for, by blocks of its own."""
    for wish, whom in (
        (message.ack_requested, "the MSH of the To Party"),
        (message.next_ack_requested, "the next MSH"),
    ):
        if wish not in (None, AckRequested.NONE):
            signed = "signed" if wish is AckRequested.SIGNED else "unsigned"
            yield f"it asks {whom} for an acknowledgement, {signed}"
    if message.order is not None:
        status = "Reset" if message.order.is_reset else "Continue"
        yield f"it has the number {message.order.number} in its conversation ({status})"
    if message.duplicate_elimination is not None and message.sync_reply_mode not in (
        None,
        SyncReplyMode.NONE,
    ):
        yield "its sender keeps the connection open for the answer (SyncReply)"


def _of_acknowledgment(signal: Acknowledgment) -> Iterator[str]:
    about = signal.header.ref_to_message_id
    if signal.is_receipt:
        yield f"a delivery receipt: the application of the To party has the message {about}"
    else:
        looked = _LOOKED[signal.status.assurance]
        yield f"an acknowledgement: the receiver holds the message {about} in its store{looked}"
    if signal.status.is_passed_on:
        yield "the message was passed on to the application"
    if signal.element is not None and signal.element.from_ids:
        yield f"the party that acknowledges is {', '.join(map(str, signal.element.from_ids))}"
    if signal.next_element is not None:
        alone = " alone: the To Party has not acknowledged it" if signal.element is None else ""
        yield f"the next MSH acknowledges it{alone}"
    if signal.element is not None and signal.element.is_signed:
        yield "it claims to be signed; no gateway here can check that, so it is refused"


def _of_errors(signal: ErrorSignal) -> Iterator[str]:
    about = signal.header.ref_to_message_id
    is_notice = any(entry.code is ErrorCode.DELIVERY_FAILURE for entry in signal.errors)
    if is_notice:
        yield f"a DeliveryFailure notice about the message {about}"
    else:
        yield f"an error about the message {about}: the receiver did not take it"
    yield from map(of_error, signal.errors)


def of_error(entry: ErrorEntry) -> str:
    """One Error of a list."""
    code = entry.code_text or entry.code.value
    said = f"{code} ({entry.severity.value}): {CODES[entry.code]}"
    if entry.code is ErrorCode.DELIVERY_FAILURE:
        is_sure = entry.severity is Severity.ERROR
        said += "; no byte of it ever left" if is_sure else "; a copy may have arrived"
    if entry.description:
        said += f"; it says: {entry.description}"
    if entry.min_retry_s is not None:
        said += f"; not again before {entry.min_retry_s} s"
    return said


_AFTER_FAULT: Final[Mapping[FaultCode | None, str]] = {
    FaultCode.CLIENT: "it refuses the message as it is: the same bytes would be refused again",
    FaultCode.MUST_UNDERSTAND: "a block that must be understood is not known there",
    FaultCode.VERSION_MISMATCH: "another version of SOAP is expected there",
    FaultCode.SERVER: "the receiver could not process it now: the message is sent again",
    None: "a code that SOAP does not have: the message is sent again",
}


def of_fault(fault: SoapFault | None) -> tuple[str, ...]:
    """A SOAP Fault, as the sender of the request takes it; nothing where there is none."""
    if fault is None:
        return ()
    said = f"a SOAP Fault, {fault.code_text}: {_AFTER_FAULT[fault.code]}"
    told = tuple(f"it says: {text}" for text in (fault.text, *fault.details) if text)
    return (said, *told)


def _of_report(report: Report) -> Iterator[str]:
    yield f"the answer to the inquiry {report.header.ref_to_message_id} ({report.kind.value})"
    yes = {
        InquiryKind.PING: ("messages are taken", "no messages are taken"),
        InquiryKind.STATUS: ("", ""),
        InquiryKind.CANCEL: (
            f"the message {report.about} will never be processed",
            f"the message {report.about} cannot be taken back any more",
        ),
        InquiryKind.RESPONSE: ("the response follows", "there is no response"),
    }[report.kind]
    said = yes[0] if report.is_accepted else yes[1]
    if said:
        yield said
    if report.status is not None:
        yield f"the message {report.about} is {report.status.value} there"
    if report.processing is not None:
        yield f"the work of the application on it: {report.processing.value}"
    if report.received_at is not None:
        yield f"it was received at {instant(report.received_at)}"


def instant(at: int) -> str:
    """An instant for people and programs."""
    return to_datetime(at).isoformat().replace("+00:00", "Z")
