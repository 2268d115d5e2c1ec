"""One package of every layout that a template is for, and the odd things that may stand in it."""

from dataclasses import dataclass

import ebms2_samples as of_ebms2
import rm2001_samples as of_2001
import wire_samples as of_2000
from hypothesis import strategies as st
from wire_samples import joined, payload

from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    MessageOrder,
    RoutingHeader,
    SchemaLocation,
    SyncReplyMode,
)
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, AckStatus, Assurance
from onceonly.message.word import changed
from onceonly.wire.envelope import Content, encode

DATAS = (b'<PurchaseOrder number="PO-4711"/>\r\n', b"\x00\xff--\r\n\r\n- no boundary\n")
ORDER = payload(DATAS[0], "po-1@a.example.com", "order.xml")
ANNEX = payload(DATAS[1], "po%2D2@a.example.com")
ELEMENT = AcknowledgmentElement(
    timestamp_at=982_235_533_000_000, from_ids=(PartyId("222222222", "DUNS"),)
)
ELEMENT_OF_EBMS2 = AcknowledgmentElement(
    timestamp_at=of_ebms2.AT_US,
    from_ids=(of_ebms2.SELLER,),
    ref_to_message_id=of_ebms2.SIGNAL.ref_to_message_id,
)
EVERYTHING_OF_EBMS2 = changed(
    of_ebms2.MESSAGE,
    payloads=(
        changed(
            ORDER, reference_id="po", role="urn:roles:order", schemas=(SchemaLocation("urn:s"),)
        ),
    ),
    ref_to_message_id="m-0@b.example.com",
    service="Quote to collect",
    service_type="urn:types:service",
    acknowledgment=changed(ELEMENT_OF_EBMS2, ref_to_message_id="m-00@b.example.com"),
    order=MessageOrder(7),
    description="An order",
)
FOR_NEXT_MSH = changed(
    of_ebms2.MESSAGE,
    next_ack_requested=AckRequested.UNSIGNED,
    ack_requested=AckRequested.NONE,
    sync_reply_mode=SyncReplyMode.SIGNALS_AND_RESPONSE,
)


@dataclass(frozen=True)
class Sample:
    """A package in one of the layouts."""

    name: str
    profile: Profile
    content_type: str
    body: bytes

    @property
    def document(self) -> bytes:
        """Its header document."""
        if not self.is_framed:
            return self.body
        start = self.body.index(b"<?xml")
        return self.body[start : self.body.index(b"\r\n--", start)]

    @property
    def is_framed(self) -> bool:
        """Whether it has parts; otherwise the header document is all of it."""
        return not self.body.startswith(b"<?xml")


def _sample(name: str, content: Content, routing: RoutingHeader, profile: Profile) -> Sample:
    package = encode(
        content,
        routing,
        profile=profile,
        boundary="=_onceonly_0123456789abcdef",
        root_content_id="header-0123456789abcdef",
    )
    payloads = getattr(content, "payloads", ())
    body = joined(package, DATAS[: len(payloads)])
    return Sample(f"{profile.name} {name}", profile, package.content_type, body)


def _samples() -> tuple[Sample, ...]:
    message, hop = of_2000.MESSAGE, of_2000.ROUTING
    everything = changed(
        of_2001.MESSAGE,
        payloads=(ORDER,),
        ref_to_message_id="m-0@b.example.com",
        time_to_live_at=982_300_000_000_000,
        delivery_receipt_requested=AckRequested.UNSIGNED,
        acknowledgment=ELEMENT,
    )
    status = AckStatus(Assurance.CONTENT, is_passed_on=True)
    found = [
        ("message", changed(message, payloads=(ORDER,)), hop),
        ("two payloads", changed(message, payloads=(ORDER, ANNEX)), hop),
        ("answer without payload", changed(message, ref_to_message_id="m-0"), hop),
        ("acknowledgement", Acknowledgment(of_2000.SIGNAL), of_2000.SIGNAL_ROUTING),
        ("with status", Acknowledgment(of_2000.SIGNAL, status=status), of_2000.SIGNAL_ROUTING),
    ]
    others = [
        ("message", changed(of_2001.MESSAGE, payloads=(ORDER,)), of_2001.ROUTING),
        ("two payloads", changed(of_2001.MESSAGE, payloads=(ANNEX, ORDER)), of_2001.ROUTING),
        ("without payload", of_2001.MESSAGE, of_2001.ROUTING),
        ("everything", everything, of_2001.ROUTING),
        ("acknowledgement", Acknowledgment(of_2001.SIGNAL), of_2001.SIGNAL_ROUTING),
        ("with element", Acknowledgment(of_2001.SIGNAL, ELEMENT), of_2001.SIGNAL_ROUTING),
        ("receipt", Acknowledgment(of_2001.SIGNAL, is_receipt=True), of_2001.SIGNAL_ROUTING),
    ]
    no_hop = of_2001.ROUTING  # Nothing of it is written.
    latest = [
        ("message", changed(of_ebms2.MESSAGE, payloads=(ORDER,)), no_hop),
        ("two payloads", changed(of_ebms2.MESSAGE, payloads=(ANNEX, ORDER)), no_hop),
        ("without payload", of_ebms2.MESSAGE, no_hop),
        ("everything", EVERYTHING_OF_EBMS2, no_hop),
        ("for the next MSH", FOR_NEXT_MSH, no_hop),
        ("acknowledgement", Acknowledgment(of_ebms2.SIGNAL, ELEMENT_OF_EBMS2), no_hop),
    ]
    return (
        *(_sample(*one, Profile.RM_2000) for one in found),
        *(_sample(*one, Profile.RM_2001) for one in others),
        *(_sample(*one, Profile.EBMS_2_0) for one in latest),
    )


SAMPLES = _samples()
BY_NAME = {sample.name: sample for sample in SAMPLES}

VALUES = (
    b"m-0001@a.example.com",
    b"m-9001@b.example.com",
    b"m-0",
    b"conv-1",
    b"tpa-ab-1",
    b"cpa-ab-1",
    b"urn:duns:111111111",
    b"222222222",
    b"http://a.example.com/ebxmlhandler/",
    b"http://b.example.com/ebxmlhandler/",
    b"QuoteToCollect",
    b"urn:services:QuoteToCollect",
    b"NewPurchaseOrder",
    b"po-1@a.example.com",
    b"po%2D2@a.example.com",
    b"order.xml",
    b"000000001",
    b"20001002T090000.000Z",
    b"20001002T090000.100Z",
    b"2001-02-15T11:12:12Z",
    b"2001-02-15T11:12:13Z",
    b"OnceAndOnlyOnce",
    b"Acknowledgment",
    b"http://www.ebxml.org/namespaces/messageService/",
    b"header-0123456789abcdef",
    b"=_onceonly_0123456789abcdef",
    b"2002-05-01T10:00:00Z",
    b"http://example.com/roles/Buyer",
    b"Quote to collect",
    b"m-00@b.example.com",
    b">7<",
)
"""What stands in the samples and may be something else."""

ODD = (
    *(
        "",
        " ",
        "x ",
        " x",
        "a b",
        "\t",
        "é",
        "\u2028",
        "\ufeffx",
        "\u00a0",
        ".",
        "..",
        "\x00",
        "\x7f",
    ),
    *("&amp;", "&#65;", "&bad;", "<b/>", "x<!-- -->", "<![CDATA[x]]>", ">", "]]>", '"', "'", "--"),
    *("xmlns", "urn:x:1", "no uri", "1", "0", "000000000", "0000000001", "999999999", "1e3"),
    *(
        "20001002T240000.000Z",
        "20001002T240000.001Z",
        "20001002T090000.000",
        "99991231T235959.999Z",
    ),
    *("20001302T090000.000Z", "2001-02-15T11:12:12Z", "2001-02-15T11:12:12.5+01:00"),
    *("20001002T090000,123.456Z", "20001002T090000Z.000Z", "2001-02-15T24:00:00.000Z"),
    *("cid:x", "cid:po-1@a.example.com", "po-2@a.example.com", "po%2D2@a.example.com", "<x>"),
    *("Acknowledgment", "OnceAndOnlyOnce", "BestEffort", "Ping", "DeliveryReceipt"),
    "http://www.ebxml.org/namespaces/messageService/MessageAcknowledgment",
    " http://www.ebxml.org/namespaces/messageService/MessageAcknowledgment",
    *("urn:oasis:names:tc:ebxml-msg:service", " urn:oasis:names:tc:ebxml-msg:service "),
    *(">99999999<", ">+08<", ">100000000<", "m-0", "m-0@b.example.com"),
    *("urn:1:0", "urn:2:1", "1001", "2001", "cid:urn:1:0", "x0", "y0", "x" * 255, "x" * 256),
)
"""What a value may be, and what it may not."""

_FRAMING = ("<", ">", "&", "\r", "\n", "\r\n", " ", "-", "--", '"', ":", "=", "\x00")
_SIGNS = "ax1 .:&\u200bé\u2028"
SPLINTERS = tuple(text.encode() for text in (*_FRAMING, *ODD[:24]))
"""What may get into the middle of something."""


@st.composite
def edits(draw: st.DrawFn, whole: bytes) -> bytes:
    """`whole` with a few things in it changed: values, bytes, lines."""
    for _ in range(draw(st.integers(1, 3))):
        match draw(st.sampled_from(["value", "value", "value", "bytes", "line"])):
            case "value":
                old = draw(st.sampled_from([one for one in VALUES if one in whole] or [b"\n"]))
                new = draw(
                    st.sampled_from(ODD) | st.text("ax1 .:&\u200bé\u2028", max_size=8)
                ).encode(errors="replace")
                everywhere = draw(st.booleans())
                whole = whole.replace(old, new, -1 if everywhere else 1)
            case "bytes":
                at, length = draw(st.integers(0, len(whole))), draw(st.integers(0, 3))
                whole = whole[:at] + draw(st.sampled_from(SPLINTERS)) + whole[at + length :]
            case "line":
                lines = whole.splitlines(keepends=True)
                at = draw(st.integers(0, len(lines) - 1))
                moved = lines.pop(at) if draw(st.booleans()) else lines[at]
                if draw(st.booleans()):
                    lines.insert(draw(st.integers(0, len(lines))), moved)
                whole = b"".join(lines) or b"\n"
    return whole
