"""Writing the `ebXMLHeader` document of profile `rm-2001`.

A template in the layout of the examples, pinned byte for byte by golden files. Seed 001 §1.3 and
§3, `wire.md` Part A4.
"""

from functools import lru_cache

from onceonly.message.errors import LocalError
from onceonly.message.message import (
    AcknowledgmentElement,
    DeliverySemantics,
    Message,
    Payload,
    RoutingHeader,
)
from onceonly.message.signals import (
    Acknowledgment,
    ErrorSignal,
    Inquiry,
    Report,
    Signal,
    SignalHeader,
)
from onceonly.wire import names
from onceonly.wire.document import Content
from onceonly.wire.extension import write_ack_status, write_report
from onceonly.wire.fields import highest_severity
from onceonly.wire.rm2001 import names as own
from onceonly.wire.timestamp import write_extended_timestamp as write_timestamp
from onceonly.wire.writing import check_semantics, element, error_lines, party
from onceonly.wire.xml import escaped

_START = (
    '<?xml version="1.0" encoding="UTF-8"?>\r\n'
    f'<{names.ROOT} xmlns="{names.NAMESPACE}" xmlns:xlink="{own.XLINK}"'
    f' {own.VERSION_ATTRIBUTE}="{own.VERSION}">\r\n'
)
_END = f"</{names.ROOT}>\r\n"


def write(content: Content, routing: RoutingHeader) -> str:
    """The header document of `content` on the hop `routing`, with CRLF line ends.

    Timestamps are cut to milliseconds. Raises `LocalError`: InvalidText for text that XML cannot
    carry, SemanticsNotOnWire for semantics that the wire has no word for, ReservedService for a
    business message with the Service of a signal.
    """
    if isinstance(content, Message):
        header, rest = _message(content), _acknowledgment(content.acknowledgment)
    else:
        header, rest = _signal(content), _particulars(content)
    hop = write_routing_header(routing)
    return f"{_START}{header}  <RoutingHeaderList>\r\n{hop}  </RoutingHeaderList>\r\n{rest}{_END}"


def write_routing_header(routing: RoutingHeader) -> str:
    """The RoutingHeader of this hop, as whole lines. Raises `LocalError` (InvalidText)."""
    assert routing.sequence_number is None, "rm-2001 has no SequenceNumber"
    attributes = ""
    if routing.reliable_messaging_method is not None:
        attributes = f' {own.RELIABLE_MESSAGING_METHOD}="{routing.reliable_messaging_method}"'
    if routing.ack_requested is not None:
        attributes += f' {own.ACK_REQUESTED}="{routing.ack_requested}"'
    return (
        f"    <RoutingHeader{attributes}>\r\n"
        f"{_ends(routing.sender_uri, routing.receiver_uri, routing.error_uri)}"
        f"      <Timestamp>{write_timestamp(routing.timestamp_at)}</Timestamp>\r\n"
        "    </RoutingHeader>\r\n"
    )


@lru_cache(1024)
def _ends(sender_uri: str, receiver_uri: str, error_uri: str | None) -> str:
    """Kept, since an agreement has them for ever."""
    sender, receiver, error = escaped((sender_uri, receiver_uri, error_uri or ""))
    if error:
        error = f"      <ErrorURI>{error}</ErrorURI>\r\n"
    return (
        f"      <SenderURI>{sender}</SenderURI>\r\n"
        f"      <ReceiverURI>{receiver}</ReceiverURI>\r\n"
        f"{error}"
    )


def _message(message: Message) -> str:
    check_semantics(message.semantics)
    if message.service.startswith(names.SERVICE_STEM):
        raise LocalError("ReservedService", f"{names.SERVICE_STEM} is for signals")
    assert message.acknowledgment is None or message.ref_to_message_id is not None, (
        "an Acknowledgment is about the message in RefToMessageId"
    )
    manifest = ""
    if message.payloads:
        references = "".join(map(_reference, message.payloads))
        manifest = f"  <Manifest>\r\n{references}  </Manifest>\r\n"
    return f"{manifest}{_header(message, message.service, message.action, _quality(message))}"


def _reference(payload: Payload) -> str:
    content_id, label = escaped((payload.content_id, payload.name))
    if label:
        label = f' xlink:title="{label}"'
    return (
        '    <Reference xlink:type="simple"'
        f' xlink:href="{names.CONTENT_ID_SCHEME}{content_id}"{label}/>\r\n'
    )


def _quality(message: Message) -> str:
    quality = ""
    if not message.leaves_semantics:
        quality = f' {own.DELIVERY_SEMANTICS}="{message.semantics}"'
    if message.delivery_receipt_requested is not None:
        quality += f' {own.DELIVERY_RECEIPT_REQUESTED}="{message.delivery_receipt_requested}"'
    if message.sync_reply_mode is not None:
        quality += f' {own.SYNC_REPLY_MODE}="{message.sync_reply_mode}"'
    return quality


def _signal(signal: Signal) -> str:
    service, action = _action_of(signal)
    semantics = DeliverySemantics.BEST_EFFORT
    if isinstance(signal, ErrorSignal):
        semantics = signal.semantics.on_wire
    quality = f' {own.DELIVERY_SEMANTICS}="{semantics}"'
    return _header(signal.header, service, action, quality)


def _action_of(signal: Signal) -> tuple[str, str]:
    match signal:
        case Acknowledgment():
            return own.RECEIPT_ACTION if signal.is_receipt else own.ACKNOWLEDGMENT_ACTION
        case ErrorSignal():
            return own.ERROR_ACTION
        case Inquiry():
            return own.INQUIRY_SERVICES[signal.kind], names.REQUESTS[signal.kind]
    return own.INQUIRY_SERVICES[signal.kind], names.REPORTS[signal.kind]


def _particulars(signal: Signal) -> str:
    match signal:
        case Acknowledgment():
            return f"{_acknowledgment(signal.element)}{write_ack_status(signal.status)}"
        case ErrorSignal():
            errors = "".join(error_lines(entry, "errorCode", "severity") for entry in signal.errors)
            highest = highest_severity(signal.errors).value
            return f'  <ErrorList highestSeverity="{highest}">\r\n{errors}  </ErrorList>\r\n'
        case Report():
            return write_report(signal)
    return ""


def _acknowledgment(acknowledgment: AcknowledgmentElement | None) -> str:
    if acknowledgment is None:
        return ""
    from_ = ""
    if acknowledgment.from_ids:
        from_ = f"    <From>{party(acknowledgment.from_ids)}</From>\r\n"
    signed = "true" if acknowledgment.is_signed else "false"
    return (
        f'  <Acknowledgment signed="{signed}">\r\n'
        f"    <Timestamp>{write_timestamp(acknowledgment.timestamp_at)}</Timestamp>\r\n"
        f"{from_}"
        "  </Acknowledgment>\r\n"
    )


def _header(header: Message | SignalHeader, service: str, action: str, quality: str) -> str:
    cpa, conversation, service, action, message_id, reference = escaped(
        (
            header.agreement_id,
            header.conversation_id,
            service,
            action,
            header.message_id,
            header.ref_to_message_id or "",
        )
    )
    if reference:
        reference = f"      <RefToMessageId>{reference}</RefToMessageId>\r\n"
    time_to_live = ""
    if isinstance(header, Message) and header.time_to_live_at is not None:
        time_to_live = (
            f"      <TimeToLive>{write_timestamp(header.time_to_live_at)}</TimeToLive>\r\n"
        )
    return (
        "  <Header>\r\n"
        f"    <From>{party(header.from_ids)}</From>\r\n"
        f"    <To>{party(header.to_ids)}</To>\r\n"
        f"    <CPAId>{cpa}</CPAId>\r\n"
        f"    <ConversationId>{conversation}</ConversationId>\r\n"
        f"    {element('Service', service)}\r\n"
        f"    {element('Action', action)}\r\n"
        "    <MessageData>\r\n"
        f"      <MessageId>{message_id}</MessageId>\r\n"
        f"      <Timestamp>{write_timestamp(header.timestamp_at)}</Timestamp>\r\n"
        f"{reference}"
        f"{time_to_live}"
        "    </MessageData>\r\n"
        f"    <QualityOfServiceInfo{quality}/>\r\n"
        "  </Header>\r\n"
    )
