"""Documents and packages of rm-2001 to read, and the values that they say."""

import pytest
import wire_samples as samples
from wire_samples import BOUNDARY, NAMESPACE, PAYLOAD, PAYLOAD_HEAD, body_of, header_part, part

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AckRequested,
    DeliverySemantics,
    Message,
    ReliableMessagingMethod,
    RoutingHeader,
)
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import SignalHeader
from onceonly.message.word import changed
from onceonly.wire.envelope import Content, Envelope, encode

EXAMPLES = samples.EXAMPLES.parent / "seed1"
GOLDEN = samples.GOLDEN.parent / "rm2001"
HEADER_TYPE = samples.HEADER_TYPE.replace("0.21", "0.93")
PACKAGE_TYPE = samples.PACKAGE_TYPE.replace("0.21", "0.93")
STEM = "http://www.ebxml.org/namespaces/messageService/"
XLINK = "http://www.w3.org/1999/xlink"

DOCUMENT = f"""<?xml version="1.0" encoding="UTF-8"?>
<ebXMLHeader xmlns="{NAMESPACE}" xmlns:xlink="{XLINK}" version="0.93">
  <Manifest>
    <Reference xlink:type="simple" xlink:href="cid:po-1@a.example.com"/>
  </Manifest>
  <Header>
    <From><PartyId type="DUNS">111111111</PartyId></From>
    <To><PartyId type="DUNS">222222222</PartyId></To>
    <CPAId>cpa-ab-1</CPAId>
    <ConversationId>conv-1</ConversationId>
    <Service>urn:services:QuoteToCollect</Service>
    <Action>NewPurchaseOrder</Action>
    <MessageData>
      <MessageId>m-0001@a.example.com</MessageId>
      <Timestamp>2001-02-15T11:12:12Z</Timestamp>
    </MessageData>
    <QualityOfServiceInfo deliverySemantics="OnceAndOnlyOnce"/>
  </Header>
  <RoutingHeaderList>
    <RoutingHeader reliableMessagingMethod="ebXML" ackRequested="Unsigned">
      <SenderURI>http://a.example.com/ebxmlhandler/</SenderURI>
      <ReceiverURI>http://b.example.com/ebxmlhandler/</ReceiverURI>
      <Timestamp>2001-02-15T11:12:12Z</Timestamp>
    </RoutingHeader>
  </RoutingHeaderList>
</ebXMLHeader>
"""
HOP = DOCUMENT[DOCUMENT.index("    <RoutingHeader ") : DOCUMENT.index("  </RoutingHeaderList>")]
QUALITY = '    <QualityOfServiceInfo deliverySemantics="OnceAndOnlyOnce"/>\n'
HOP_TIME = "      <Timestamp>2001-02-15T11:12:12Z</Timestamp>\n    </RoutingHeader>"
SENT_TIME = "      <Timestamp>2001-02-15T11:12:12Z</Timestamp>\n    </MessageData>"
END = "</ebXMLHeader>"
ACKNOWLEDGMENT = """  <Acknowledgment id="ack-1" signed="false">
    <Timestamp>2001-02-15T11:12:13Z</Timestamp>
    <From><PartyId type="DUNS">222222222</PartyId></From>
  </Acknowledgment>
"""
ERROR_LIST = """  <ErrorList highestSeverity="Warning">
    <Error errorCode="DeliveryFailure" severity="Warning">
      <Description xml:lang="en">never acknowledged</Description>
    </Error>
  </ErrorList>
"""

MESSAGE = Message(
    message_id="m-0001@a.example.com",
    from_ids=(PartyId("111111111", "DUNS"),),
    to_ids=(PartyId("222222222", "DUNS"),),
    agreement_id="cpa-ab-1",
    conversation_id="conv-1",
    service="urn:services:QuoteToCollect",
    action="NewPurchaseOrder",
    timestamp_at=982_235_532_000_000,
    semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
)
ROUTING = RoutingHeader(
    sender_uri="http://a.example.com/ebxmlhandler/",
    receiver_uri="http://b.example.com/ebxmlhandler/",
    error_uri=None,
    timestamp_at=982_235_532_000_000,
    reliable_messaging_method=ReliableMessagingMethod.EBXML,
    ack_requested=AckRequested.UNSIGNED,
)
SIGNAL = SignalHeader(
    message_id="m-9001@b.example.com",
    from_ids=(PartyId("http://b.example.com/ebxmlhandler/"),),
    to_ids=(PartyId("http://a.example.com/ebxmlhandler/"),),
    agreement_id="cpa-ab-1",
    conversation_id="conv-1",
    timestamp_at=982_235_533_000_000,
    ref_to_message_id="m-0001@a.example.com",
)
SIGNAL_ROUTING = RoutingHeader(
    sender_uri="http://b.example.com/ebxmlhandler/",
    receiver_uri="http://a.example.com/ebxmlhandler/",
    error_uri=None,
    timestamp_at=982_235_533_000_000,
    reliable_messaging_method=ReliableMessagingMethod.EBXML,
)


def example(name: str) -> bytes:
    """One of the examples of the specification, or skip the test that wants it."""
    path = EXAMPLES / name
    if not path.exists():
        pytest.skip(f"{path.name}: the examples of the specification are not on this machine")
    return path.read_bytes()


def edited(*edits: tuple[str, str], document: str = DOCUMENT) -> str:
    """The sample document with each edit carried out; each must apply exactly once."""
    return samples.edited(*edits, document=document)


def signal_document(service: str, action: str, particulars: str = "") -> str:
    """The sample document turned into a signal about another message."""
    start, end = DOCUMENT.index("  <Manifest>"), DOCUMENT.index("  <Header>")
    return edited(
        ("urn:services:QuoteToCollect", f"{STEM}{service}"),
        ("NewPurchaseOrder", action),
        ("    </MessageData>", "      <RefToMessageId>m-0</RefToMessageId>\n    </MessageData>"),
        ("OnceAndOnlyOnce", "BestEffort"),
        (' ackRequested="Unsigned"', ""),
        ("</ebXMLHeader>", f"{particulars}</ebXMLHeader>"),
        document=DOCUMENT[:start] + DOCUMENT[end:],
    )


ACK_SERVICE = "MessageAcknowledgment"
ACK_DOCUMENT = signal_document(ACK_SERVICE, "Acknowledgment", ACKNOWLEDGMENT)
ERROR_DOCUMENT = signal_document("MessageError", "MessageError", ERROR_LIST)


def sample_body(document: str | bytes = DOCUMENT) -> bytes:
    """The package around `document`, with the payload that its Manifest may name."""
    text = document if isinstance(document, str) else document.decode()
    payloads = [part(PAYLOAD_HEAD, PAYLOAD)] if "Manifest>" in text else []
    return body_of(header_part(document, HEADER_TYPE), *payloads)


def decode_document(document: str | bytes) -> Envelope:
    """What a package with this header document reads as."""
    return samples.decode(sample_body(document), PACKAGE_TYPE)


def message_of(document: str) -> Message:
    """The business message in the document, without its payloads."""
    content = decode_document(document).content
    assert isinstance(content, Message)
    return changed(content, payloads=())


def refusal(*edits: tuple[str, str], document: str = DOCUMENT) -> ErrorCode:
    """The code with which the edited document is refused."""
    with pytest.raises(RemoteError) as refused:
        decode_document(edited(*edits, document=document))
    return refused.value.code


def written(content: Content, routing: RoutingHeader) -> Package:
    """Our encoding under the sample's boundary."""
    return encode(
        content,
        routing,
        profile=Profile.RM_2001,
        boundary=BOUNDARY,
        root_content_id=samples.ROOT_ID,
    )
