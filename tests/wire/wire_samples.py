"""Packages to read, built by hand, and a sink that remembers."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import pytest

from onceonly.message.errors import RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    DeliverySemantics,
    Message,
    Payload,
    RoutingHeader,
)
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import SignalHeader
from onceonly.message.word import changed
from onceonly.wire.envelope import About, Content, Decoder, Envelope, PartHead, encode
from onceonly.wire.limits import DEFAULT, Limits

EXAMPLES = Path(__file__).parents[3] / "shared" / "spec" / "examples" / "seed0"
GOLDEN = Path(__file__).parents[1] / "golden" / "rm2000"

BOUNDARY = "ebxml-part-wrapper"
ROOT_ID = "hdr-0001@a.example.com"
HEADER_TYPE = 'application/vnd.eb+xml; version="0.21"; charset="utf-8"'
PACKAGE_TYPE = (
    'multipart/related; type="application/vnd.eb+xml"; version="0.21"; '
    f'boundary="{BOUNDARY}"; start="<{ROOT_ID}>"'
)
NAMESPACE = "http://www.ebxml.org/namespaces/messageHeader"

DOCUMENT = f"""<?xml version="1.0" encoding="UTF-8"?>
<ebXMLHeader xmlns="{NAMESPACE}" Version="0.21" MessageType="Normal">
  <Manifest>
    <DocumentReference>
      <DocumentLabel>PurchaseOrder</DocumentLabel>
      <DocumentId>cid:po-1@a.example.com</DocumentId>
    </DocumentReference>
  </Manifest>
  <Header>
    <From><PartyId>urn:duns:111111111</PartyId></From>
    <To><PartyId>urn:duns:222222222</PartyId></To>
    <TPAInfo>
      <TPAId>tpa-ab-1</TPAId>
      <ConversationId>conv-1</ConversationId>
      <ServiceInterface>QuoteToCollect</ServiceInterface>
      <Action>NewPurchaseOrder</Action>
    </TPAInfo>
    <MessageData>
      <MessageId>m-0001@a.example.com</MessageId>
      <Timestamp>20001002T090000.000Z</Timestamp>
    </MessageData>
    <ReliableMessagingInfo>
      <DeliverySemantics>OnceAndOnlyOnce</DeliverySemantics>
    </ReliableMessagingInfo>
  </Header>
  <RoutingHeader>
    <SenderURI>http://a.example.com/ebxmlhandler/</SenderURI>
    <ReceiverURI>http://b.example.com/ebxmlhandler/</ReceiverURI>
    <ErrorURI>http://a.example.com/ebxmlerrorhandler/</ErrorURI>
    <Timestamp>20001002T090000.100Z</Timestamp>
    <SequenceNumber>000000001</SequenceNumber>
  </RoutingHeader>
</ebXMLHeader>
"""
ERROR_LIST = """  <ErrorList>
    <Error ErrorCode="TransientError" Severity="Warning">
      <Description xml:lang="en">The next hop cannot be reached now.</Description>
      <MinRetrySecs>60</MinRetrySecs>
    </Error>
  </ErrorList>
"""
PAYLOAD = b'<PurchaseOrder number="PO-4711"/>\r\n'
PAYLOAD_HEAD = "Content-Type: application/xml\r\nContent-ID: <po-1@a.example.com>\r\n"

MESSAGE = Message(
    message_id="m-0001@a.example.com",
    from_ids=(PartyId("urn:duns:111111111"),),
    to_ids=(PartyId("urn:duns:222222222"),),
    agreement_id="tpa-ab-1",
    conversation_id="conv-1",
    service="QuoteToCollect",
    action="NewPurchaseOrder",
    timestamp_at=970_477_200_000_000,
    semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
)
ROUTING = RoutingHeader(
    sender_uri="http://a.example.com/ebxmlhandler/",
    receiver_uri="http://b.example.com/ebxmlhandler/",
    error_uri="http://a.example.com/ebxmlerrorhandler/",
    timestamp_at=970_477_200_100_000,
    sequence_number=1,
)
SIGNAL = SignalHeader(
    message_id="m-9001@b.example.com",
    from_ids=(PartyId("http://b.example.com/ebxmlhandler/"),),
    to_ids=(PartyId("http://a.example.com/ebxmlhandler/"),),
    agreement_id="tpa-ab-1",
    conversation_id="conv-1",
    timestamp_at=970_477_201_000_000,
    ref_to_message_id="m-0001@a.example.com",
)
SIGNAL_ROUTING = RoutingHeader(
    sender_uri="http://b.example.com/ebxmlhandler/",
    receiver_uri="http://a.example.com/ebxmlhandler/",
    error_uri="http://b.example.com/ebxmlerrorhandler/",
    timestamp_at=970_477_201_010_000,
)


class Collected:
    """A payload sink in memory."""

    def __init__(self, head: PartHead) -> None:
        self.head = head
        self.data = b""
        self.is_closed = False

    def write(self, data: bytes, /) -> None:
        assert data, "nothing is never written"
        assert not self.is_closed
        self.data += data

    def close(self) -> tuple[int, str]:
        assert not self.is_closed
        self.is_closed = True
        return len(self.data), sha256(self.data).hexdigest()


def example(name: str) -> bytes:
    """One of the examples of the specification, or skip the test that wants it."""
    path = EXAMPLES / name
    if not path.exists():
        pytest.skip(f"{path.name}: the examples of the specification are not on this machine")
    return path.read_bytes()


def example_package(name: str) -> tuple[str, bytes]:
    """Content-Type and body of an example of HTTP or mail."""
    head, body = example(name).split(b"\r\n\r\n", 1)
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
    return fields["Content-Type"], body


def edited(*edits: tuple[str, str], document: str = DOCUMENT) -> str:
    """The sample document with each edit carried out; each must apply exactly once."""
    for old, new in edits:
        assert document.count(old) == 1, old
        document = document.replace(old, new)
    return document


def signal_document(message_type: str, error_list: str = "") -> str:
    """The sample document turned into a signal about another message."""
    start, end = DOCUMENT.index("  <Manifest>"), DOCUMENT.index("  <Header>")
    return edited(
        ('MessageType="Normal"', f'MessageType="{message_type}"'),
        ("    </MessageData>", "      <RefToMessageId>m-0</RefToMessageId>\n    </MessageData>"),
        ("    <SequenceNumber>000000001</SequenceNumber>\n", ""),
        ("OnceAndOnlyOnce", "BestEffort"),
        ("</ebXMLHeader>", f"{error_list}</ebXMLHeader>"),
        document=DOCUMENT[:start] + DOCUMENT[end:],
    )


def part(head: str, body: bytes) -> bytes:
    """A part with the delimiter before it."""
    return f"--{BOUNDARY}\r\n{head}\r\n".encode("latin-1") + body + b"\r\n"


def header_part(document: str | bytes = DOCUMENT, content_type: str = HEADER_TYPE) -> bytes:
    """The part with the header document."""
    body = document.encode() if isinstance(document, str) else document
    return part(f"Content-Type: {content_type}\r\nContent-ID: <{ROOT_ID}>\r\n", body)


def body_of(*parts: bytes) -> bytes:
    """A whole body: the parts and the final delimiter."""
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def sample_body(document: str | bytes = DOCUMENT) -> bytes:
    """The sample package around `document`."""
    return body_of(header_part(document), part(PAYLOAD_HEAD, PAYLOAD))


def pieces_of(body: bytes, size: int) -> list[bytes]:
    """`body` in pieces of `size` bytes."""
    return [body[at : at + size] for at in range(0, len(body), size)]


def decode(
    body: bytes | Iterable[bytes], content_type: str = PACKAGE_TYPE, limits: Limits = DEFAULT
) -> Envelope:
    """What the package reads as."""
    decoder = Decoder(content_type, Collected, limits)
    for piece in (body,) if isinstance(body, bytes) else body:
        decoder.feed(piece)
    return decoder.finish()


def decode_document(document: str) -> Envelope:
    """What a package with this header document, and its payload if it is Normal, reads as."""
    if "<Manifest>" in document:
        return decode(sample_body(document))
    return decode(body_of(header_part(document)))


def refusal(
    body: bytes | Iterable[bytes], content_type: str = PACKAGE_TYPE, limits: Limits = DEFAULT
) -> RemoteError:
    """The error with which the package is refused."""
    with pytest.raises(RemoteError) as refused:
        decode(body, content_type, limits)
    return refused.value


def payload(data: bytes, content_id: str = "po-1@a.example.com", name: str = "") -> Payload:
    """The description of `data`."""
    return Payload(content_id, "application/xml", len(data), sha256(data).hexdigest(), name)


def replaced(message: Message, payloads: tuple[Payload, ...]) -> Message:
    """`message` with these payloads."""
    return changed(message, payloads=payloads)


def written(content: Content, routing: RoutingHeader, boundary: str = BOUNDARY) -> Package:
    """Our encoding under the sample's boundary."""
    return encode(
        content, routing, profile=Profile.RM_2000, boundary=boundary, root_content_id=ROOT_ID
    )


def joined(package: Package, datas: Iterable[bytes] = ()) -> bytes:
    """The bytes of the package with these payloads between the segments."""
    whole = package.segments[0]
    for data, segment in zip(datas, package.segments[1:], strict=True):
        whole += data + segment
    return whole


def collected(envelope: Envelope) -> list[bytes]:
    """The payload bytes that reached the sinks."""
    return [sink.data for sink in envelope.sinks if isinstance(sink, Collected)]


def about_of(body: bytes, package_type: str = PACKAGE_TYPE) -> About | None:
    """What is known of the sender of a package that is refused."""
    decoder = Decoder(package_type, Collected)
    with pytest.raises(RemoteError):
        _read_whole(decoder, body)
    return decoder.about


def _read_whole(decoder: Decoder, body: bytes) -> None:
    decoder.feed(body)
    decoder.finish()
