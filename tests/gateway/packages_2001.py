"""Packages of the other MSH in profile rm-2001, in the shape of `examples/seed1`, made by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from xml.sax.saxutils import escape

from packages import NAMESPACE, ONE_ORDER, Edit, Parcel, PayloadPart, unchanged

BOUNDARY = "ebxml-part-wrapper"
ROOT_ID = "hdr-0001@a.example.com"
HEADER_TYPE = 'application/vnd.eb+xml; version="0.93"; charset="utf-8"'
PACKAGE_TYPE = (
    'multipart/related; type="application/vnd.eb+xml"; version="0.93"; '
    f'boundary="{BOUNDARY}"; start="<{ROOT_ID}>"'
)
SERVICES = "http://www.ebxml.org/namespaces/messageService/"
ACKNOWLEDGMENT = (f"{SERVICES}MessageAcknowledgment", "Acknowledgment")
ERROR = (f"{SERVICES}MessageError", "MessageError")

DOCUMENT = """<?xml version="1.0" encoding="UTF-8"?>
<ebXMLHeader xmlns="{namespace}" xmlns:xlink="http://www.w3.org/1999/xlink" version="0.93">
{manifest}  <Header>
    <From><PartyId>{from_party}</PartyId></From>
    <To><PartyId>{to_party}</PartyId></To>
    <CPAId>{agreement}</CPAId>
    <ConversationId>{conversation}</ConversationId>
    <Service>{service}</Service>
    <Action>{action}</Action>
    <MessageData>
      <MessageId>{message_id}</MessageId>
      <Timestamp>{timestamp}</Timestamp>
{ref}{time_to_live}    </MessageData>
    <QualityOfServiceInfo{quality}/>
  </Header>
  <RoutingHeaderList>
{earlier}    <RoutingHeader{routing}>
      <SenderURI>{sender_uri}</SenderURI>
      <ReceiverURI>{receiver_uri}</ReceiverURI>
      <Timestamp>{hop_timestamp}</Timestamp>
    </RoutingHeader>
  </RoutingHeaderList>
{particulars}</ebXMLHeader>
"""

ROUTING_HEADER = """    <RoutingHeader{routing}>
      <SenderURI>{sender_uri}</SenderURI>
      <ReceiverURI>{receiver_uri}</ReceiverURI>
      <Timestamp>{timestamp}</Timestamp>
    </RoutingHeader>
"""

ELEMENT = """  <Acknowledgment signed="false">
    <Timestamp>{timestamp}</Timestamp>
{sender}  </Acknowledgment>
"""


def stamp(*, ago_s: float = 0) -> str:
    """A dateTime of XML Schema, some seconds ago."""
    moment = datetime.now(UTC) - timedelta(seconds=ago_s)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"


def wrap(document: str, payloads: Sequence[PayloadPart] = ()) -> Parcel:
    """The header document and the payloads as one multipart/related package."""
    parts = [(HEADER_TYPE, ROOT_ID, document.encode())]
    parts += [(part.content_type, part.content_id, part.content) for part in payloads]
    body = b"".join(
        f"--{BOUNDARY}\r\nContent-Type: {kind}\r\nContent-ID: <{name}>\r\n\r\n".encode()
        + content
        + b"\r\n"
        for kind, name, content in parts
    )
    return Parcel(PACKAGE_TYPE, body + f"--{BOUNDARY}--\r\n".encode())


def signed_element() -> str:
    """An Acknowledgment element that claims a signature."""
    return element().replace('signed="false"', 'signed="true"')


def element(from_party: str | None = None) -> str:
    """The Acknowledgment element (seed 001 §3)."""
    sender = "" if from_party is None else f"    <From><PartyId>{from_party}</PartyId></From>\n"
    return ELEMENT.format(timestamp=stamp(), sender=sender)


def error_list(code: str, severity: str, description: str = "no") -> str:
    """An ErrorList with one Error."""
    return (
        f'  <ErrorList highestSeverity="{severity}">\n'
        f'    <Error errorCode="{code}" severity="{severity}">\n'
        f'      <Description xml:lang="en">{description}</Description>\n'
        "    </Error>\n"
        "  </ErrorList>\n"
    )


def routing_header(sender_uri: str, receiver_uri: str, *, ack_requested: str | None = None) -> str:
    """A RoutingHeader of an earlier hop."""
    routing = "" if ack_requested is None else f' ackRequested="{ack_requested}"'
    return ROUTING_HEADER.format(
        routing=routing, sender_uri=sender_uri, receiver_uri=receiver_uri, timestamp=stamp()
    )


def package(
    message_id: str,
    *,
    from_party: str,
    to_party: str,
    sender_uri: str,
    receiver_uri: str,
    agreement: str = "cpa-ab-1",
    conversation: str = "conv-1",
    service: str = "urn:services:QuoteToCollect",
    action: str = "NewPurchaseOrder",
    semantics: str | None = "OnceAndOnlyOnce",
    sync_reply_mode: str | None = None,
    receipt: str | None = None,
    ack_requested: str | None = None,
    method: str | None = "ebXML",
    time_to_live: str | None = None,
    ref: str | None = None,
    timestamp: str | None = None,
    hop_timestamp: str | None = None,
    earlier: str = "",
    particulars: str = "",
    payloads: Sequence[PayloadPart] = ONE_ORDER,
    edit: Edit = unchanged,
) -> Parcel:
    """A package like `01-normal.xml`; `edit` changes its text as the last step."""
    document = DOCUMENT.format(
        namespace=NAMESPACE,
        manifest=_manifest(payloads),
        from_party=from_party,
        to_party=to_party,
        agreement=agreement,
        conversation=conversation,
        service=service,
        action=action,
        message_id=escape(message_id),
        timestamp=timestamp or stamp(),
        hop_timestamp=hop_timestamp or timestamp or stamp(),
        ref=_line("RefToMessageId", ref),
        time_to_live=_line("TimeToLive", time_to_live),
        quality=_attributes(
            deliverySemantics=semantics,
            syncReplyMode=sync_reply_mode,
            deliveryReceiptRequested=receipt,
        ),
        routing=_attributes(reliableMessagingMethod=method, ackRequested=ack_requested),
        sender_uri=sender_uri,
        receiver_uri=receiver_uri,
        earlier=earlier,
        particulars=particulars,
    )
    return wrap(edit(document), payloads)


def _line(name: str, text: str | None) -> str:
    return "" if text is None else f"      <{name}>{escape(text)}</{name}>\n"


def _attributes(**values: str | None) -> str:
    return "".join(f' {name}="{value}"' for name, value in values.items() if value is not None)


def _manifest(payloads: Sequence[PayloadPart]) -> str:
    references = "".join(
        f'    <Reference xlink:type="simple" xlink:href="cid:{part.content_id}"/>\n'
        for part in payloads
    )
    return f"  <Manifest>\n{references}  </Manifest>\n" if references else ""
