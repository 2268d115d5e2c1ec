"""Envelopes and packages of `ebms-2.0` to read, built by hand or by other products."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from wire_samples import Collected, payload

from onceonly.message.errors import ErrorCode, FaultCode, RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AckRequested,
    DeliverySemantics,
    Message,
    RoutingHeader,
    SyncReplyMode,
)
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import SignalHeader
from onceonly.message.word import changed
from onceonly.wire.envelope import Content, Decoder, Envelope, encode
from onceonly.wire.limits import DEFAULT, Limits

SHARED = Path(__file__).parents[4] / "shared"
EXAMPLES = SHARED / "spec" / "examples"
SCHEMAS = SHARED / "spec" / "schemas"
SAMPLES = SHARED / "samples" / "ebms2"
GOLDEN = Path(__file__).parents[2] / "golden" / "ebms2"

BOUNDARY = "----=_ebms_boundary_1"
ROOT_ID = "soap-1@a.example.com"
PACKAGE_TYPE = f'multipart/related; type="text/xml"; boundary="{BOUNDARY}"; start="<{ROOT_ID}>"'
PLAIN_TYPE = 'text/xml; charset="UTF-8"'
PART_HEAD = f"Content-Type: {PLAIN_TYPE}\r\nContent-ID: <{ROOT_ID}>\r\n"
PAYLOAD = b'<PurchaseOrder number="PO-4711"/>\r\n'
PAYLOAD_HEAD = "Content-Type: application/xml\r\nContent-ID: <po-1@a.example.com>\r\n"

SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
EB = "http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd"
NEXT = "http://schemas.xmlsoap.org/soap/actor/next"
NEXT_MSH = "urn:oasis:names:tc:ebxml-msg:actor:nextMSH"
TO_PARTY = "urn:oasis:names:tc:ebxml-msg:actor:toPartyMSH"
AT = "//SOAP:Header/eb:MessageHeader"

BLOCK = 'eb:version="2.0" SOAP:mustUnderstand="1"'
SYNC_REPLY = f'<eb:SyncReply {BLOCK} SOAP:actor="{NEXT}"/>'
ACK_REQUESTED = f'<eb:AckRequested {BLOCK} SOAP:actor="{TO_PARTY}" eb:signed="false"/>'
MANIFEST = (
    '<eb:Manifest eb:version="2.0"><eb:Reference xlink:type="simple"'
    ' xlink:href="cid:po-1@a.example.com"/></eb:Manifest>'
)
HEADER = f"""<eb:MessageHeader {BLOCK}>
   <eb:From><eb:PartyId eb:type="DUNS">111111111</eb:PartyId><eb:Role>Buyer</eb:Role></eb:From>
   <eb:To><eb:PartyId eb:type="DUNS">222222222</eb:PartyId><eb:Role>Seller</eb:Role></eb:To>
   <eb:CPAId>cpa-ab-1</eb:CPAId>
   <eb:ConversationId>conv-1</eb:ConversationId>
   <eb:Service>urn:services:QuoteToCollect</eb:Service>
   <eb:Action>NewPurchaseOrder</eb:Action>
   <eb:MessageData>
    <eb:MessageId>m-0001@a.example.com</eb:MessageId>
    <eb:Timestamp>2002-05-01T10:00:00Z</eb:Timestamp>
   </eb:MessageData>
   <eb:DuplicateElimination/>
  </eb:MessageHeader>"""
OPENING = f'<SOAP:Envelope xmlns:SOAP="{SOAP}" xmlns:eb="{EB}" xmlns:xlink="http://www.w3.org/1999/xlink">'
DOCUMENT = f"""<?xml version="1.0" encoding="UTF-8"?>
{OPENING}
 <SOAP:Header>
  {HEADER}
  {ACK_REQUESTED}
 </SOAP:Header>
 <SOAP:Body>
  {MANIFEST}
 </SOAP:Body>
</SOAP:Envelope>
"""
ACTION = "<eb:Action>NewPurchaseOrder</eb:Action>"
SERVICE = "<eb:Service>urn:services:QuoteToCollect</eb:Service>"
FROM_ID = '<eb:PartyId eb:type="DUNS">111111111</eb:PartyId>'
TIME = "<eb:Timestamp>2002-05-01T10:00:00Z</eb:Timestamp>"
ELIMINATION = "<eb:DuplicateElimination/>"
IN_HEADER = "//SOAP:Header/eb:"
ID = "<eb:MessageId>m-0001@a.example.com</eb:MessageId>"
ACK = (
    f'<eb:Acknowledgment {BLOCK} SOAP:actor="{TO_PARTY}">{TIME}'
    "<eb:RefToMessageId>m-0</eb:RefToMessageId></eb:Acknowledgment>"
)
HOP_ACK = ACK.replace(TO_PARTY, NEXT_MSH)
ORDER_BLOCK = (
    f'<eb:MessageOrder {BLOCK}><eb:SequenceNumber eb:status="Reset">0</eb:SequenceNumber>'
    "</eb:MessageOrder>"
)
AT_US = 1_020_247_200_000_000
"""2002-05-01T10:00:00Z."""

BUYER = PartyId("111111111", "urn:oasis:names:tc:ebxml-cppa:partyid-type:duns")
SELLER = PartyId("222222222", "urn:oasis:names:tc:ebxml-cppa:partyid-type:duns")
MESSAGE = Message(
    message_id="m-0001@a.example.com",
    from_ids=(BUYER,),
    to_ids=(SELLER,),
    agreement_id="cpa-ab-1",
    conversation_id="conv-1",
    service="urn:services:QuoteToCollect",
    action="NewPurchaseOrder",
    timestamp_at=AT_US,
    semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
    time_to_live_at=AT_US + 30 * 60_000_000,
    sync_reply_mode=SyncReplyMode.NONE,
    from_role="http://example.com/roles/Buyer",
    to_role="http://example.com/roles/Seller",
    duplicate_elimination=True,
    ack_requested=AckRequested.UNSIGNED,
)
ORDER = changed(payload(PAYLOAD), reference_id="po", description="Purchase order")
SIGNAL = SignalHeader(
    message_id="m-9001@b.example.com",
    from_ids=(SELLER,),
    to_ids=(BUYER,),
    agreement_id="cpa-ab-1",
    conversation_id="conv-1",
    timestamp_at=AT_US + 1_000_000,
    ref_to_message_id="m-0001@a.example.com",
)
HOP = RoutingHeader(
    sender_uri="http://a.example.com/ebms",
    receiver_uri="http://b.example.com/ebms",
    error_uri=None,
    timestamp_at=AT_US,
)
"""Nothing of it is written."""


def file_of(folder: Path, name: str) -> bytes:
    """A file beside the checkout, or skip the test that wants it."""
    path = folder / name
    if not path.is_file():
        pytest.skip(f"{path.name}: the specification is not on this machine")
    return path.read_bytes()


def http_package(name: str) -> tuple[str, bytes]:
    """Content-Type and body of an example of HTTP or mail."""
    head, body = file_of(EXAMPLES / "ebms2", name).split(b"\r\n\r\n", 1)
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
    return fields["Content-Type"], body


def edited(*edits: tuple[str, str], document: str = DOCUMENT) -> str:
    """The sample document with each edit carried out; each must apply exactly once."""
    for old, new in edits:
        assert document.count(old) == 1, old
        document = document.replace(old, new)
    return document


def signal_document(action: str, blocks: str = "", body: str = "", about: str = "m-0") -> str:
    """The sample document turned into a signal about another message."""
    reference = f"<eb:RefToMessageId>{about}</eb:RefToMessageId>" if about else ""
    return edited(
        ("urn:services:QuoteToCollect", "urn:oasis:names:tc:ebxml-msg:service"),
        ("NewPurchaseOrder", action),
        ("   </eb:MessageData>", f"{reference}</eb:MessageData>"),
        ("<eb:DuplicateElimination/>", ""),
        (ACK_REQUESTED, blocks),
        (MANIFEST, body),
    )


def part(head: str, body: bytes, boundary: str = BOUNDARY) -> bytes:
    """A part with the delimiter before it."""
    return f"--{boundary}\r\n{head}\r\n".encode("latin-1") + body + b"\r\n"


def body_of(*parts: bytes) -> bytes:
    """A whole body: the parts and the final delimiter."""
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def sample_body(document: str | bytes = DOCUMENT) -> bytes:
    """The sample package around `document`."""
    text = document.encode() if isinstance(document, str) else document
    return body_of(part(PART_HEAD, text), part(PAYLOAD_HEAD, PAYLOAD))


def decode(
    body: bytes | Iterable[bytes], content_type: str = PACKAGE_TYPE, limits: Limits = DEFAULT
) -> Envelope:
    """What the package reads as."""
    decoder = Decoder(content_type, Collected, limits)
    for piece in (body,) if isinstance(body, bytes) else body:
        decoder.feed(piece)
    return decoder.finish()


def decode_document(document: str | bytes) -> Envelope:
    """What a document reads as, in a package with its payload if it names one."""
    text = document.encode() if isinstance(document, str) else document
    if b":Manifest" in text:
        return decode(sample_body(text))
    return decode(text, PLAIN_TYPE)


def message_of(document: str) -> Message:
    """The business message of a document."""
    content = decode_document(document).content
    assert isinstance(content, Message)
    return content


def refusal(body: bytes, content_type: str = PACKAGE_TYPE) -> RemoteError:
    """The error with which the package is refused."""
    with pytest.raises(RemoteError) as refused:
        decode(body, content_type)
    return refused.value


def refusal_of(document: str | bytes) -> RemoteError:
    """The error with which a document is refused."""
    with pytest.raises(RemoteError) as refused:
        decode_document(document)
    return refused.value


def written(content: Content, boundary: str = BOUNDARY) -> Package:
    """Our encoding under the sample's boundary."""
    return encode(
        content, HOP, profile=Profile.EBMS_2_0, boundary=boundary, root_content_id=ROOT_ID
    )


def errors(*entries: str, highest: str = "Error") -> str:
    return f'<eb:ErrorList {BLOCK} eb:highestSeverity="{highest}">{"".join(entries)}</eb:ErrorList>'


def entry(code: str = "Unknown", severity: str = "Error", rest: str = "", text: str = "") -> str:
    return f'<eb:Error eb:errorCode="{code}" eb:severity="{severity}"{rest}>{text}</eb:Error>'


def with_block(block: str) -> str:
    return edited((ACK_REQUESTED, f"{ACK_REQUESTED}{block}"))


def with_body(element: str) -> str:
    return edited((MANIFEST, f"{MANIFEST}{element}"))


def fault_of(document: str) -> FaultCode | None:
    return refusal_of(document).fault


def told(document: str) -> tuple[ErrorCode, str]:
    """Code and location of a refusal that a message can tell."""
    error = refusal_of(document)
    assert error.fault is None, error.description
    return error.code, error.location


def filled(template: str) -> str:
    """A template of ebms-core's tests with values in its places."""
    values = {"timestamp": "2024-05-01T10:00:00Z", "timeToLive": "2024-05-01T11:00:00Z"}
    values |= {"service": "urn:osb:services:osb:afleveren:1.1$1.0", "action": "bevestigAfleveren"}
    text = template.replace("th:eb:type", "eb:type").replace("th:xlink:href", "xlink:href")
    text = text.replace(' th:each="cid: ${cids}"', "")
    text = text.replace("${'cid:' + cid}", "cid:po-1@a.example.com")
    places = re.compile(r"\[\[\$\{(\w+)\}\]\]")
    text = places.sub(lambda found: values.get(found[1], f"x-{found[1]}"), text)
    return re.sub(r"\$\{(\w+)\}", r"urn:type:\1", text)
