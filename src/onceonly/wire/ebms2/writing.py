"""Writing the SOAP envelope of profile `ebms-2.0`.

A template in the layout of the examples, pinned byte for byte by golden files (`ebms2.md` §3, §4).
The envelope says nothing of the hop.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from onceonly.message.errors import ErrorCode, LocalError
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    Actor,
    Message,
    MessageOrder,
    Payload,
    RoutingHeader,
    SchemaLocation,
    SyncReplyMode,
)
from onceonly.message.signals import (
    Acknowledgment,
    ErrorEntry,
    ErrorSignal,
    Inquiry,
    InquiryKind,
    Report,
    Signal,
    SignalHeader,
)
from onceonly.wire import names
from onceonly.wire.document import Content
from onceonly.wire.ebms2 import names as own
from onceonly.wire.extension import write_ack_status, write_report
from onceonly.wire.fields import highest_severity
from onceonly.wire.soap import NAMESPACE as SOAP
from onceonly.wire.soap import NEXT_ACTOR
from onceonly.wire.timestamp import write_extended_timestamp as write_timestamp
from onceonly.wire.xml import escaped

_START: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\r\n'
    f'<SOAP:Envelope xmlns:SOAP="{SOAP}" xmlns:eb="{own.NAMESPACE}" xmlns:xlink="{own.XLINK}"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    f' xsi:schemaLocation="{own.SCHEMA_LOCATION}">\r\n'
    " <SOAP:Header>\r\n"
)
_BODY: Final = " </SOAP:Header>\r\n <SOAP:Body>"
_END: Final = "</SOAP:Body>\r\n</SOAP:Envelope>\r\n"
_BLOCK: Final = f'eb:version="{own.VERSION}" SOAP:mustUnderstand="1"'
_SYNC_REPLY: Final = f'  <eb:SyncReply {_BLOCK} SOAP:actor="{NEXT_ACTOR}"/>\r\n'
_LANGUAGE: Final = 'xml:lang="en-GB"'


def write(content: Content, _routing: RoutingHeader) -> str:
    """The envelope of `content`, with CRLF line ends; nothing in it is of a hop.

    Timestamps are cut to milliseconds. Raises `LocalError`: InvalidText for text that XML cannot
    carry, ReservedService for a business message with the Service of signals.
    """
    if isinstance(content, Message):
        return _whole(_message_header(content), _message_blocks(content), _manifest(content))
    action, blocks, body = _signal(content)
    is_sync = content.header.wants_sync_reply
    return _whole(
        _signal_header(content.header, action, has_reference=_has_reference(content)),
        (_SYNC_REPLY if is_sync else "", *blocks),
        body,
    )


def _whole(header: str, blocks: Iterable[str], body: str) -> str:
    return "".join((_START, header, *blocks, _BODY, body, _END))


# --- Business messages --------------------------------------------------------------------------


def _message_header(message: Message) -> str:
    if message.service == own.SERVICE:
        raise LocalError("ReservedService", f"{own.SERVICE} is for signals")
    is_eliminated = message.duplicate_elimination
    if is_eliminated is None:
        is_eliminated = message.is_eliminated
    (description,) = escaped((message.description,))
    rest = "   <eb:DuplicateElimination/>\r\n" if is_eliminated else ""
    if description:
        rest += f"   <eb:Description {_LANGUAGE}>{description}</eb:Description>\r\n"
    return _header(
        message,
        (message.service, message.service_type or "", message.action),
        message.ref_to_message_id or "",
        message.time_to_live_at,
        rest,
    )


def _message_blocks(message: Message) -> tuple[str, ...]:
    requested = message.ack_requested
    if requested is None:
        requested = AckRequested.UNSIGNED if message.wants_ack else AckRequested.NONE
    is_sync = message.sync_reply_mode not in (None, SyncReplyMode.NONE)
    return (
        _order(message.order),
        _ack_requested(requested, Actor.TO_PARTY_MSH),
        _ack_requested(message.next_ack_requested, Actor.NEXT_MSH),
        _SYNC_REPLY if is_sync else "",
        _acknowledgment(message.acknowledgment, message.ref_to_message_id),
        _acknowledgment(message.next_acknowledgment, message.ref_to_message_id),
    )


def _order(order: MessageOrder | None) -> str:
    if order is None:
        return ""
    status = "Reset" if order.is_reset else "Continue"
    return (
        f'  <eb:MessageOrder {_BLOCK}><eb:SequenceNumber eb:status="{status}">{order.number}'
        "</eb:SequenceNumber></eb:MessageOrder>\r\n"
    )


def _ack_requested(requested: AckRequested, actor: Actor) -> str:
    if requested is AckRequested.NONE:
        return ""
    signed = "true" if requested is AckRequested.SIGNED else "false"
    return f'  <eb:AckRequested {_BLOCK} SOAP:actor="{actor.value}" eb:signed="{signed}"/>\r\n'


def _acknowledgment(element: AcknowledgmentElement | None, about: str | None) -> str:
    if element is None:
        return ""
    (ref_to_message_id,) = escaped((element.ref_to_message_id or about or "",))
    assert ref_to_message_id, "an Acknowledgment is about a message"
    from_ = f"<eb:From>{_party(element.from_ids)}</eb:From>" if element.from_ids else ""
    references = "".join(reference.text for reference in element.references)
    return (
        f'  <eb:Acknowledgment {_BLOCK} SOAP:actor="{element.actor.value}">'
        f"<eb:Timestamp>{write_timestamp(element.timestamp_at)}</eb:Timestamp>"
        f"<eb:RefToMessageId>{ref_to_message_id}</eb:RefToMessageId>"
        f"{from_}{references}</eb:Acknowledgment>\r\n"
    )


def write_hop_blocks(
    requested: AckRequested, element: AcknowledgmentElement | None
) -> tuple[str, str]:
    """What an intermediary asks and says of its own hop: AckRequested, and Acknowledgment.

    Each stands for itself, with its own declarations, in any envelope; empty where there is none.
    """
    asked = _ack_requested(requested, Actor.NEXT_MSH)
    said = _acknowledgment(element, None)
    return _declared(asked, "AckRequested"), _declared(said, "Acknowledgment")


def _declared(block: str, name: str) -> str:
    return block.strip().replace(
        f"<eb:{name}", f'<eb:{name} xmlns:eb="{own.NAMESPACE}" xmlns:SOAP="{SOAP}"', 1
    )


def _manifest(message: Message) -> str:
    if not message.payloads:
        return ""
    references = "".join(map(_reference, message.payloads))
    return f'\r\n  <eb:Manifest eb:version="{own.VERSION}">{references}</eb:Manifest>\r\n '


def _reference(payload: Payload) -> str:
    content_id, id_, role, title, description = escaped(
        (
            payload.content_id,
            payload.reference_id,
            payload.role,
            payload.name,
            payload.description,
        )
    )
    attributes = f' eb:id="{id_}"' if id_ else ""
    attributes += f' xlink:type="simple" xlink:href="{names.CONTENT_ID_SCHEME}{content_id}"'
    if role:
        attributes += f' xlink:role="{role}"'
    if title:
        attributes += f' xlink:title="{title}"'
    children = "".join(map(_schema, payload.schemas))
    if description:
        children += f"<eb:Description {_LANGUAGE}>{description}</eb:Description>"
    if not children:
        return f"<eb:Reference{attributes}/>"
    return f"<eb:Reference{attributes}>{children}</eb:Reference>"


def _schema(schema: SchemaLocation) -> str:
    location, version = escaped((schema.location, schema.version))
    if version:
        version = f' eb:version="{version}"'
    return f'<eb:Schema eb:location="{location}"{version}/>'


# --- Signals ------------------------------------------------------------------------------------


def _signal(signal: Signal) -> tuple[str, tuple[str, ...], str]:
    """The Action of a signal, its blocks, and what its Body holds."""
    match signal:
        case Acknowledgment():
            return own.ACKNOWLEDGMENT_ACTION, _ack_blocks(signal), ""
        case ErrorSignal():
            return own.ERROR_ACTION, (_error_list(signal.errors),), ""
        case Inquiry():
            return _inquiry(signal)
    return names.REPORTS[signal.kind], *_report(signal)


def _report(report: Report) -> tuple[tuple[str, ...], str]:
    """The blocks and the Body of an answer; what the standard has no word for is in our block."""
    if report.kind is InquiryKind.PING:
        return (), ""
    if report.kind is not InquiryKind.STATUS:
        return (write_report(report),), ""
    block = "" if report.processing is None else write_report(report)
    return (block,), _status(report)


def _has_reference(signal: Signal) -> bool:
    """Whether MessageData names what the signal is about; a StatusRequest has that in the Body."""
    if not isinstance(signal, Inquiry):
        return True
    return signal.has_reference or signal.kind in (InquiryKind.CANCEL, InquiryKind.RESPONSE)


def _ack_blocks(signal: Acknowledgment) -> tuple[str, ...]:
    assert not signal.is_receipt, "ebms-2.0 has no delivery receipts"
    header, element = signal.header, signal.element
    if element is None and signal.next_element is None:
        element = AcknowledgmentElement(timestamp_at=header.timestamp_at, from_ids=header.from_ids)
    return (
        _acknowledgment(element, header.ref_to_message_id),
        _acknowledgment(signal.next_element, header.ref_to_message_id),
        write_ack_status(signal.status),
    )


def _error_list(errors: tuple[ErrorEntry, ...]) -> str:
    highest = highest_severity(errors).value
    entries = "".join(map(_error, errors))
    return f'  <eb:ErrorList {_BLOCK} eb:highestSeverity="{highest}">{entries}</eb:ErrorList>\r\n'


def _error(entry: ErrorEntry) -> str:
    code, description = entry.code.value, entry.description
    if entry.code is ErrorCode.UNKNOWN and entry.code_text:
        code = entry.code_text
    elif code not in own.CODES:
        # A code of ours that the standard does not have; people still get its name.
        code, description = ErrorCode.UNKNOWN.value, f"{code}: {description}"
    code, description, context, location = escaped(
        (code, description, entry.code_context or own.CODE_CONTEXT, entry.location)
    )
    if location:
        location = f' eb:location="{location}"'
    head = (
        f'<eb:Error eb:codeContext="{context}" eb:errorCode="{code}"'
        f' eb:severity="{entry.severity.value}"{location}'
    )
    if not description:
        return f"{head}/>"
    return f"{head}><eb:Description {_LANGUAGE}>{description}</eb:Description></eb:Error>"


def _inquiry(inquiry: Inquiry) -> tuple[str, tuple[str, ...], str]:
    body = ""
    if inquiry.kind is InquiryKind.STATUS:
        (about,) = escaped((inquiry.header.ref_to_message_id,))
        body = (
            f'<eb:StatusRequest eb:version="{own.VERSION}"><eb:RefToMessageId>{about}'
            "</eb:RefToMessageId></eb:StatusRequest>"
        )
    return names.REQUESTS[inquiry.kind], (), body


def _status(report: Report) -> str:
    assert report.status is not None, "the answer to a StatusRequest has a status"
    (about,) = escaped((report.about,))
    received = ""
    if report.received_at is not None:
        received = f"<eb:Timestamp>{write_timestamp(report.received_at)}</eb:Timestamp>"
    return (
        f'<eb:StatusResponse eb:version="{own.VERSION}" eb:messageStatus="{report.status.value}">'
        f"<eb:RefToMessageId>{about}</eb:RefToMessageId>{received}</eb:StatusResponse>"
    )


def _signal_header(header: SignalHeader, action: str, *, has_reference: bool) -> str:
    reference = header.ref_to_message_id if has_reference else ""
    return _header(header, (own.SERVICE, "", action), reference, None, "")


# --- The MessageHeader --------------------------------------------------------------------------


@lru_cache(1024)
def _party(ids: tuple[PartyId, ...]) -> str:
    """The PartyIds of a From or To, in their order. Kept, since agreements have them for ever."""
    return "".join(map(_party_id, ids))


def _party_id(party_id: PartyId) -> str:
    value, type_ = escaped((party_id.value, party_id.type or ""))
    if type_:
        type_ = f' eb:type="{type_}"'
    return f"<eb:PartyId{type_}>{value}</eb:PartyId>"


def _role(role: str | None) -> str:
    (text,) = escaped((role or "",))
    return f"<eb:Role>{text}</eb:Role>" if text else ""


def _header(
    header: Message | SignalHeader,
    purpose: tuple[str, str, str],
    reference: str,
    time_to_live_at: int | None,
    rest: str,
) -> str:
    """`purpose` is the Service, its type and the Action; `rest` are the lines after MessageData."""
    cpa, conversation, service, service_type, action, message_id, reference = escaped(
        (
            header.agreement_id,
            header.conversation_id,
            *purpose,
            header.message_id,
            reference,
        )
    )
    if service_type:
        service_type = f' eb:type="{service_type}"'
    if reference:
        reference = f"<eb:RefToMessageId>{reference}</eb:RefToMessageId>"
    time_to_live = ""
    if time_to_live_at is not None:
        time_to_live = f"<eb:TimeToLive>{write_timestamp(time_to_live_at)}</eb:TimeToLive>"
    from_, to = _party(header.from_ids), _party(header.to_ids)
    return (
        f"  <eb:MessageHeader {_BLOCK}>\r\n"
        f"   <eb:From>{from_}{_role(header.from_role)}</eb:From>\r\n"
        f"   <eb:To>{to}{_role(header.to_role)}</eb:To>\r\n"
        f"   <eb:CPAId>{cpa}</eb:CPAId>\r\n"
        f"   <eb:ConversationId>{conversation}</eb:ConversationId>\r\n"
        f"   <eb:Service{service_type}>{service}</eb:Service>\r\n"
        f"   <eb:Action>{action}</eb:Action>\r\n"
        f"   <eb:MessageData><eb:MessageId>{message_id}</eb:MessageId>"
        f"<eb:Timestamp>{write_timestamp(header.timestamp_at)}</eb:Timestamp>"
        f"{reference}{time_to_live}</eb:MessageData>\r\n"
        f"{rest}"
        "  </eb:MessageHeader>\r\n"
    )
