"""Reading the SOAP envelope of profile `ebms-2.0`.

Implements `ebms2.md` §3 and §5 on the elements of `wire.md` B3. A MessageHeader that cannot be read
is refused by a fault, since nobody is known who could be told; everything after it is refused by a
code and a location.
"""

import re
from typing import Final

from onceonly.message.errors import ErrorCode, RemoteError, Severity, changed_error
from onceonly.message.identity import checked_identifier
from onceonly.message.message import (
    MESSAGE_ORDER_MAX,
    AckRequested,
    DeliverySemantics,
    Message,
    MessageOrder,
    SyncReplyMode,
)
from onceonly.message.printable import quoted
from onceonly.message.profile import Profile
from onceonly.message.signals import (
    Acknowledgment,
    ErrorEntry,
    ErrorSignal,
    Inquiry,
    InquiryKind,
    MessageStatus,
    Report,
    Signal,
    SignalHeader,
)
from onceonly.message.word import changed
from onceonly.wire import names
from onceonly.wire.document import About, Document
from onceonly.wire.ebms2 import names as own
from onceonly.wire.ebms2.header import ORDERS, Header, located, read_header, salvage_header
from onceonly.wire.ebms2.manifest import read_manifest
from onceonly.wire.ebms2.sections import (
    Sections,
    check_versions,
    refuse_not_understood,
    sections_of,
)
from onceonly.wire.ebms2.verdicts import read_acknowledgment, read_errors
from onceonly.wire.elements import find_attribute, find_text, get, get_text, misshapen, once
from onceonly.wire.extension import read_ack_status, read_processing, read_report
from onceonly.wire.fields import checked_word, find_boolean
from onceonly.wire.limits import Limits
from onceonly.wire.reading import refuse_manifest
from onceonly.wire.signature import find_signature
from onceonly.wire.soap import find_fault, read_envelope, refused
from onceonly.wire.timestamp import read_timestamp
from onceonly.wire.xml import Element

_SIGNED: Final = own.own("signed")
_ORDER_NUMBER: Final = re.compile(r"\+?0*([0-9]{1,8})")
_RESETS: Final = {"Reset": True, "Continue": False}
_STATUSES: Final = {status.value: status for status in MessageStatus}
_HEADER: Final = "//SOAP:Header/eb:"
_BODY: Final = "//SOAP:Body/eb:"


def read(root: Element, limits: Limits) -> Document:
    """The document under `root`.

    Raises `RemoteError`: with a fault code where no MessageHeader can be read; otherwise OtherXml,
    Inconsistent, NotSupported, MimeProblem with a location, and MessageTooLarge past a limit.
    """
    envelope = read_envelope(root)
    sections = sections_of(root, envelope)
    refuse_not_understood(envelope)
    element = sections.blocks.get("MessageHeader")
    if element is None:
        is_fault = find_fault(root) is not None
        seen = "a SOAP Fault and no message" if is_fault else "no MessageHeader in its Header"
        raise refused(f"the envelope has {seen}; expected is one for the MSH of the To Party")
    header = read_header(element, limits)
    check_versions(sections)
    try:
        document = _read_sections(header, sections, envelope.header, limits)
    except RemoteError as error:
        # The schema has these values, so that a wrong one makes the document none (§7).
        if error.code is ErrorCode.VALUE_NOT_RECOGNIZED:
            raise changed_error(error, code=ErrorCode.OTHER_XML) from error
        raise
    signature = find_signature(root)
    return document if signature is None else changed(document, signature=signature)


def _read_sections(
    header: Header, sections: Sections, envelope_header: Element | None, limits: Limits
) -> Document:
    manifest = sections.body.get("Manifest")
    labels, references = read_manifest(manifest, limits)
    errors = _read_errors(sections, limits)
    content: Message | Signal
    if header.message_type == names.NORMAL:
        _refuse_status(sections, allowed=None)
        content = _read_message(header, sections, limits)
    else:
        with located(f"{_BODY}Manifest"):
            refuse_manifest(labels, header.message_type)
        content = _read_signal(header, sections, errors, envelope_header, limits)
    if isinstance(content, ErrorSignal):
        return Document(content, (), labels, Profile.EBMS_2_0, references)
    if any(error.severity is Severity.ERROR for error in errors):
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            "an ErrorList with an Error of severity Error is in another message than a"
            " MessageError; expected is such a list alone",
            location=f"{_HEADER}ErrorList",
        )
    return Document(content, (), labels, Profile.EBMS_2_0, references, errors)


def _read_errors(sections: Sections, limits: Limits) -> tuple[ErrorEntry, ...]:
    element = sections.blocks.get("ErrorList")
    if element is None:
        return ()
    with located(f"{_HEADER}ErrorList"):
        return read_errors(element, limits)


def _refuse_status(sections: Sections, allowed: str | None) -> None:
    """Refuse a StatusRequest or StatusResponse in any other message than its own."""
    for name in ("StatusRequest", "StatusResponse"):
        if name in sections.body and name != allowed:
            raise RemoteError(
                ErrorCode.INCONSISTENT,
                f"{name} is in a message whose Service and Action do not allow it; expected is a"
                " message without it",
                location=f"{_BODY}{name}",
            )


# --- Business messages --------------------------------------------------------------------------


def _read_message(header: Header, sections: Sections, limits: Limits) -> Message:
    blocks, hop_blocks = sections.blocks, sections.hop_blocks
    ack_requested = _read_ack_requested(blocks)
    order = _read_order(blocks)
    is_sync = _wants_sync_reply(sections)
    if order is not None and (is_sync or ack_requested is AckRequested.NONE):
        beside = "beside a SyncReply" if is_sync else "without AckRequested"
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            f"MessageOrder is there {beside}; expected is an order of messages that are"
            " acknowledged, each by a message of its own (§9.2)",
            location=f"{_HEADER}MessageOrder",
        )
    acknowledgment = read_acknowledgment(blocks, limits)
    next_acknowledgment = read_acknowledgment(hop_blocks, limits)
    for one in (acknowledgment, next_acknowledgment):
        if one is not None and not (one.ref_to_message_id or header.ref_to_message_id):
            raise misshapen(
                "an Acknowledgment names no message; expected is a RefToMessageId in it, or in"
                " MessageData"
            )
    return Message(
        message_id=header.message_id,
        from_ids=header.from_ids,
        to_ids=header.to_ids,
        agreement_id=header.agreement_id,
        conversation_id=header.conversation_id,
        service=header.service,
        action=header.action,
        timestamp_at=header.timestamp_at,
        semantics=_semantics(ack_requested, is_eliminated=header.duplicate_elimination),
        ref_to_message_id=header.ref_to_message_id or None,
        time_to_live_at=header.time_to_live_at,
        # The element does not say which; a sender that waits gets all that there is.
        sync_reply_mode=SyncReplyMode.SIGNALS_AND_RESPONSE if is_sync else SyncReplyMode.NONE,
        acknowledgment=acknowledgment,
        from_role=header.from_role,
        to_role=header.to_role,
        service_type=header.service_type,
        duplicate_elimination=header.duplicate_elimination,
        ack_requested=ack_requested,
        next_ack_requested=_read_ack_requested(hop_blocks),
        next_acknowledgment=next_acknowledgment,
        order=order,
        description=header.description,
    )


def _semantics(ack_requested: AckRequested, *, is_eliminated: bool) -> DeliverySemantics:
    """The degree of reliability that both flags come to (`wire.md` B7.1).

    A repeat of what is acknowledged is eliminated, asked for or not (ruling R-29).
    """
    if ack_requested is not AckRequested.NONE:
        return DeliverySemantics.ONCE_AND_ONLY_ONCE
    return DeliverySemantics.AT_MOST_ONCE if is_eliminated else DeliverySemantics.BEST_EFFORT


def _read_ack_requested(blocks: dict[str, Element]) -> AckRequested:
    element = blocks.get("AckRequested")
    if element is None:
        return AckRequested.NONE
    with located(f"{_HEADER}AckRequested"):
        once(element, ORDERS["AckRequested"])
        is_signed = find_boolean(element, _SIGNED)
        if is_signed is None:
            raise misshapen("AckRequested has no eb:signed; expected is true or false")
    return AckRequested.SIGNED if is_signed else AckRequested.UNSIGNED


def _wants_sync_reply(sections: Sections) -> bool:
    with located(f"{_HEADER}SyncReply"):
        if "SyncReply" in sections.blocks:
            raise misshapen(
                "SyncReply has not the actor that it must have; expected is"
                " http://schemas.xmlsoap.org/soap/actor/next"
            )
        element = sections.hop_blocks.get("SyncReply")
        if element is not None:
            once(element, ORDERS["SyncReply"])
    return element is not None


def _read_order(blocks: dict[str, Element]) -> MessageOrder | None:
    element = blocks.get("MessageOrder")
    if element is None:
        return None
    with located(f"{_HEADER}MessageOrder/eb:SequenceNumber"):
        found = once(element, ORDERS["MessageOrder"])
        number = checked_order_number(get_text(found, "SequenceNumber"))
        said = find_attribute(found["SequenceNumber"], own.own("status"))
        is_reset = False if said is None else checked_word(said, "status", _RESETS)
        order = MessageOrder(number, is_reset)
        if is_reset and order.number:
            raise RemoteError(
                ErrorCode.INCONSISTENT,
                f"SequenceNumber is {order.number} with status Reset; expected is 0 there",
            )
    return order


def checked_order_number(digits: str) -> int:
    """The number in a MessageOrder. Raises `RemoteError` (OtherXml)."""
    number = _ORDER_NUMBER.fullmatch(digits)
    if number is None:
        raise misshapen(
            f"SequenceNumber is {quoted(digits)}; expected is a number from 0 to"
            f" {MESSAGE_ORDER_MAX}"
        )
    return int(number[1])


# --- Signals ------------------------------------------------------------------------------------


def _read_signal(
    header: Header,
    sections: Sections,
    errors: tuple[ErrorEntry, ...],
    envelope_header: Element | None,
    limits: Limits,
) -> Signal:
    """AckRequested and DuplicateElimination have no effect on a signal (E2-74, IR-01)."""
    is_sync = _wants_sync_reply(sections)
    _refuse_status(sections, allowed=header.action)
    if header.message_type == names.ERROR:
        return _read_error_signal(header, sections, errors, is_sync=is_sync)
    if header.message_type == names.ACKNOWLEDGEMENT:
        return _read_ack_signal(header, sections, envelope_header, limits)
    kind = names.REQUEST_KINDS.get(header.message_type)
    if kind is not None:
        about = _asked_about(kind, header, sections)
        return Inquiry(_signal_header(header, about, is_sync=is_sync), kind)
    signal_header = _signal_header(header, _reference(header), is_sync=is_sync)
    kind = names.REPORT_KINDS[header.message_type]
    if kind is InquiryKind.PING:
        return Report(header=signal_header, kind=kind)
    own_blocks = Element("Header") if envelope_header is None else envelope_header
    if kind is not InquiryKind.STATUS:
        return read_report(own_blocks, signal_header, kind)
    with located(f"{_BODY}StatusResponse"):
        status = _read_status(signal_header, get(sections.body, "StatusResponse"))
    return changed(status, processing=read_processing(own_blocks))


def _asked_about(kind: InquiryKind, header: Header, sections: Sections) -> str:
    """The message that a question is about; empty for a Ping."""
    if kind is InquiryKind.PING:
        return ""
    if kind is not InquiryKind.STATUS:
        return _reference(header)
    with located(f"{_BODY}StatusRequest"):
        element = get(sections.body, "StatusRequest")
        return _about(once(element, ORDERS["StatusRequest"]))


def _signal_header(header: Header, about: str, *, is_sync: bool) -> SignalHeader:
    return SignalHeader(
        message_id=header.message_id,
        from_ids=header.from_ids,
        to_ids=header.to_ids,
        agreement_id=header.agreement_id,
        conversation_id=header.conversation_id,
        timestamp_at=header.timestamp_at,
        ref_to_message_id=about,
        from_role=header.from_role,
        to_role=header.to_role,
        wants_sync_reply=is_sync,
    )


def _reference(header: Header) -> str:
    if not header.ref_to_message_id:
        raise RemoteError(
            ErrorCode.OTHER_XML,
            f"the {header.action} has no RefToMessageId; expected is that of the message that it is"
            " about",
            location=f"{_HEADER}MessageHeader/eb:MessageData",
        )
    return header.ref_to_message_id


def _about(found: dict[str, Element]) -> str:
    return checked_identifier(get_text(found, "RefToMessageId"), "RefToMessageId")


def _read_error_signal(
    header: Header, sections: Sections, errors: tuple[ErrorEntry, ...], *, is_sync: bool
) -> ErrorSignal:
    if "Acknowledgment" in sections.blocks or "Acknowledgment" in sections.hop_blocks:
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            "an Acknowledgment is in a MessageError; expected is one of both",
            location=f"{_HEADER}Acknowledgment",
        )
    if not errors:
        raise misshapen("the MessageError has no ErrorList; expected is one")
    return ErrorSignal(_signal_header(header, _reference(header), is_sync=is_sync), errors)


def _read_ack_signal(
    header: Header, sections: Sections, envelope_header: Element | None, limits: Limits
) -> Acknowledgment:
    element = read_acknowledgment(sections.blocks, limits)
    next_element = read_acknowledgment(sections.hop_blocks, limits)
    said = [one.ref_to_message_id for one in (element, next_element) if one is not None]
    if not said:
        raise RemoteError(
            ErrorCode.OTHER_XML,
            "the Acknowledgment message has no Acknowledgment in its Header; expected is one",
            location=f"{_HEADER}Acknowledgment",
        )
    named = {about for about in (*said, header.ref_to_message_id) if about}
    if len(named) > 1:
        raise RemoteError(
            ErrorCode.INCONSISTENT,
            f"the Acknowledgment names two messages, {quoted(' and '.join(sorted(named)))};"
            " expected is one RefToMessageId in it and in MessageData",
            location=f"{_HEADER}Acknowledgment/eb:RefToMessageId",
        )
    about = named.pop() if named else _reference(header)
    is_sync = _wants_sync_reply(sections)
    status_at = Element("Header") if envelope_header is None else envelope_header
    return Acknowledgment(
        _signal_header(header, about, is_sync=is_sync),
        element,
        read_ack_status(status_at),
        next_element=next_element,
    )


def _read_status(header: SignalHeader, element: Element) -> Report:
    found = once(element, ORDERS["StatusResponse"])
    received_at = find_text(found, "Timestamp")
    said = find_attribute(element, own.own("messageStatus")) or ""
    return Report(
        header=header,
        kind=InquiryKind.STATUS,
        about=_about(found),
        status=checked_word(said, "messageStatus", _STATUSES),
        received_at=None if received_at is None else read_timestamp(received_at),
    )


def salvage(root: Element, limits: Limits) -> About:
    """What can be known about the sender of a refused document. Never raises."""
    try:
        sections = sections_of(root, read_envelope(root))
        header = sections.blocks.get("MessageHeader")
        fault = find_fault(root) if header is None else None
    except RemoteError:
        return salvage_header(None, limits)
    about = changed(salvage_header(header, limits), fault=fault)
    return changed(about, wants_sync_reply="SyncReply" in sections.hop_blocks)
