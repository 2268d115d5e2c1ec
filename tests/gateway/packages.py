"""Packages of the other MSH, in the shape of `examples/seed0`, made without our own wire code."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from xml.sax.saxutils import escape

NAMESPACE = "http://www.ebxml.org/namespaces/messageHeader"
BOUNDARY = "ebxml-part-wrapper"
ROOT_ID = "hdr-0001@a.example.com"
HEADER_TYPE = 'application/vnd.eb+xml; version="0.21"; charset="utf-8"'
PACKAGE_TYPE = (
    'multipart/related; type="application/vnd.eb+xml"; version="0.21"; '
    f'boundary="{BOUNDARY}"; start="<{ROOT_ID}>"'
)
ORDER = b'<?xml version="1.0"?><PurchaseOrder number="PO-4711"/>'

NORMAL = """<?xml version="1.0" encoding="UTF-8"?>
<ebXMLHeader xmlns="{namespace}" Version="0.21" MessageType="Normal">
{manifest}  <Header>
    <From><PartyId>{from_party}</PartyId></From>
    <To><PartyId>{to_party}</PartyId></To>
    <TPAInfo>
      <TPAId>{agreement}</TPAId>
      <ConversationId>{conversation}</ConversationId>
      <ServiceInterface>QuoteToCollect</ServiceInterface>
      <Action>NewPurchaseOrder</Action>
    </TPAInfo>
    <MessageData>
      <MessageId>{message_id}</MessageId>
      <Timestamp>{timestamp}</Timestamp>
    </MessageData>
    <ReliableMessagingInfo>
      <DeliverySemantics>{semantics}</DeliverySemantics>
    </ReliableMessagingInfo>
  </Header>
  <RoutingHeader>
    <SenderURI>{sender_uri}</SenderURI>
    <ReceiverURI>{receiver_uri}</ReceiverURI>
    <ErrorURI>{error_uri}</ErrorURI>
    <Timestamp>{timestamp}</Timestamp>
{number}  </RoutingHeader>
</ebXMLHeader>
"""

SIGNAL = """<?xml version="1.0" encoding="UTF-8"?>
<ebXMLHeader xmlns="{namespace}" Version="0.21" MessageType="{kind}">
  <Header>
    <From><PartyId>{sender_uri}</PartyId></From>
    <To><PartyId>{receiver_uri}</PartyId></To>
    <TPAInfo>
      <TPAId>{agreement}</TPAId>
      <ConversationId>{conversation}</ConversationId>
      <ServiceInterface/>
      <Action/>
    </TPAInfo>
    <MessageData>
      <MessageId>{message_id}</MessageId>
      <Timestamp>{timestamp}</Timestamp>
      <RefToMessageId>{ref}</RefToMessageId>
    </MessageData>
    <ReliableMessagingInfo>
      <DeliverySemantics>BestEffort</DeliverySemantics>
    </ReliableMessagingInfo>
  </Header>
  <RoutingHeader>
    <SenderURI>{sender_uri}</SenderURI>
    <ReceiverURI>{receiver_uri}</ReceiverURI>
    <ErrorURI>{sender_uri}</ErrorURI>
    <Timestamp>{timestamp}</Timestamp>
  </RoutingHeader>
{errors}</ebXMLHeader>
"""

ERROR_LIST = """  <ErrorList>
    <Error ErrorCode="{code}" Severity="{severity}">
      <Description xml:lang="en">{description}</Description>
{min_retry}    </Error>
  </ErrorList>
"""

Edit = Callable[[str], str]


class Parcel(NamedTuple):
    """A package as bytes, with the Content-Type of the whole."""

    content_type: str
    body: bytes


class PayloadPart(NamedTuple):
    """One payload of a package."""

    content_id: str
    content_type: str
    content: bytes


ONE_ORDER = (PayloadPart("po-1@a.example.com", "application/xml", ORDER),)


def unchanged(document: str) -> str:
    """The edit that leaves a document alone."""
    return document


def stamp(*, ago_s: int = 0) -> str:
    """The compact timestamp of the sample in seed 000 §2.4, some seconds ago."""
    moment = datetime.now(UTC) - timedelta(seconds=ago_s)
    return moment.strftime("%Y%m%dT%H%M%S.") + f"{moment.microsecond // 1000:03}Z"


def wrap(
    document: str | bytes,
    payloads: Sequence[PayloadPart] = (),
    *,
    header_type: str = HEADER_TYPE,
) -> Parcel:
    """The header document and the payloads as one multipart/related package."""
    header = document.encode() if isinstance(document, str) else document
    parts = [(header_type, ROOT_ID, header)]
    parts += [(part.content_type, part.content_id, part.content) for part in payloads]
    body = b"".join(
        f"--{BOUNDARY}\r\nContent-Type: {kind}\r\nContent-ID: <{name}>\r\n\r\n".encode()
        + content
        + b"\r\n"
        for kind, name, content in parts
    )
    return Parcel(PACKAGE_TYPE, body + f"--{BOUNDARY}--\r\n".encode())


def normal(
    message_id: str,
    number: int | str | None,
    *,
    from_party: str,
    to_party: str,
    sender_uri: str,
    receiver_uri: str,
    error_uri: str | None = None,
    agreement: str = "tpa-ab-1",
    conversation: str = "conv-1",
    semantics: str = "OnceAndOnlyOnce",
    payloads: Sequence[PayloadPart] = ONE_ORDER,
    timestamp: str | None = None,
    edit: Edit = unchanged,
) -> Parcel:
    """A Normal message like `01-normal.xml`; `edit` changes its text as the last step."""
    sequence = "" if number is None else f"    <SequenceNumber>{number:0>9}</SequenceNumber>\n"
    document = NORMAL.format(
        namespace=NAMESPACE,
        manifest=_manifest(payloads),
        from_party=from_party,
        to_party=to_party,
        agreement=agreement,
        conversation=conversation,
        message_id=escape(message_id),
        timestamp=timestamp or stamp(),
        semantics=semantics,
        sender_uri=sender_uri,
        receiver_uri=receiver_uri,
        error_uri=error_uri or sender_uri,
        number=sequence,
    )
    return wrap(edit(document), payloads)


def _manifest(payloads: Sequence[PayloadPart]) -> str:
    references = "".join(
        "    <DocumentReference>\n"
        "      <DocumentLabel>../../etc/passwd</DocumentLabel>\n"
        f"      <DocumentId>cid:{part.content_id}</DocumentId>\n"
        "    </DocumentReference>\n"
        for part in payloads
    )
    return f"  <Manifest>\n{references}  </Manifest>\n" if references else ""


def signal(
    kind: str,
    ref: str,
    *,
    message_id: str,
    sender_uri: str,
    receiver_uri: str,
    agreement: str = "tpa-ab-1",
    conversation: str = "conv-1",
    errors: str = "",
) -> Parcel:
    """An Acknowledgement or Error like `02-acknowledgement.xml` and `03-error-transient.xml`."""
    document = SIGNAL.format(
        namespace=NAMESPACE,
        kind=kind,
        sender_uri=sender_uri,
        receiver_uri=receiver_uri,
        agreement=agreement,
        conversation=conversation,
        message_id=message_id,
        timestamp=stamp(),
        ref=escape(ref),
        errors=errors,
    )
    return wrap(document)


def error_list(
    code: str, severity: str, min_retry_s: int | None = None, description: str = "no"
) -> str:
    """An ErrorList with one Error."""
    pause = "" if min_retry_s is None else f"      <MinRetrySecs>{min_retry_s}</MinRetrySecs>\n"
    return ERROR_LIST.format(code=code, severity=severity, description=description, min_retry=pause)
