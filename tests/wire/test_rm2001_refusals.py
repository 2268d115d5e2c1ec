"""The ebXMLHeader document of rm-2001, edit by edit: what is refused, and under which code."""

import pytest
import wire_samples as samples
from rm2001_samples import (
    ACK_DOCUMENT,
    ACKNOWLEDGMENT,
    DOCUMENT,
    END,
    ERROR_DOCUMENT,
    ERROR_LIST,
    HEADER_TYPE,
    HOP,
    HOP_TIME,
    PACKAGE_TYPE,
    QUALITY,
    SENT_TIME,
    decode_document,
    edited,
    refusal,
    signal_document,
)
from wire_samples import NAMESPACE, PAYLOAD_HEAD, body_of, header_part, part

from onceonly.message.errors import ErrorCode, RemoteError

MANIFEST = DOCUMENT[DOCUMENT.index("  <Manifest>") : DOCUMENT.index("  <Header>")]
HEADER = DOCUMENT[DOCUMENT.index("  <Header>") : DOCUMENT.index("  <RoutingHeaderList>")]
ROUTING_LIST = DOCUMENT[DOCUMENT.index("  <RoutingHeaderList>") : DOCUMENT.index("</ebXML")]
HOP_SENDER = "      <SenderURI>http://a.example.com/ebxmlhandler/</SenderURI>\n"
HOP_RECEIVER = "      <ReceiverURI>http://b.example.com/ebxmlhandler/</ReceiverURI>\n"
REFERENCE = '    <Reference xlink:type="simple" xlink:href="cid:po-1@a.example.com"/>\n'


@pytest.mark.parametrize(
    "edits",
    [
        [("<ebXMLHeader", "<ebxmlHeader"), (END, "</ebxmlHeader>")],
        [(f' xmlns="{NAMESPACE}"', "")],
        [(' version="0.93"', "")],
        [(' version="0.93"', ' version=""')],
        [(' version="0.93"', ' version="latest"')],
        [(' version="0.93"', ' version="0.93" Version="0.21"')],
        [(HEADER, "")],
        [(HEADER, HEADER + HEADER)],
        [(ROUTING_LIST, "")],
        [(ROUTING_LIST, ROUTING_LIST + ROUTING_LIST)],
        [(HOP, "")],
        [(ROUTING_LIST, HOP)],
        [(END, HOP + END)],
        [(HEADER, ""), (ROUTING_LIST, ROUTING_LIST + HEADER)],
        [("  </Header>", f"{HOP}</Header>")],
        [("  <Manifest>", "<Manifest/><Manifest>")],
        [(MANIFEST, ""), (END, MANIFEST + END)],
        [(REFERENCE, "")],
        [(REFERENCE, REFERENCE.replace("/>", "><MessageId>m</MessageId></Reference>"))],
        [(END, ERROR_LIST + END)],
        [(END, ACKNOWLEDGMENT + END)],
        [('<From><PartyId type="DUNS">111111111</PartyId></From>', "")],
        [('<From><PartyId type="DUNS">111111111</PartyId></From>', "<From/>")],
        [("<To>", "<To><PartyId>urn:a:b</PartyId></To><To>")],
        [("<CPAId>cpa-ab-1</CPAId>", "")],
        [("<CPAId>", "<CPAId>other</CPAId><CPAId>")],
        [("<ConversationId>conv-1</ConversationId>", "")],
        [("<Service>urn:services:QuoteToCollect</Service>", "")],
        [("<Action>NewPurchaseOrder</Action>", "")],
        [("<Action>", "<Action>a<b/>")],
        [("<Action>", "text<Action>")],
        [("</Action>", "</Action>text")],
        [("<Action>", "<Service>x</Service><Action>")],
        [("<MessageId>", "<MessageId>m-2</MessageId><MessageId>")],
        [("<MessageId>", "<x:MessageId xmlns:x='urn:x'>m-2</x:MessageId><MessageId>")],
        [("<MessageId>", "<MessageId xmlns=''>m-2</MessageId><MessageId>")],
        [("<MessageId>m-0001@a.example.com</MessageId>", "")],
        [(SENT_TIME, "    </MessageData>")],
        [(SENT_TIME, SENT_TIME.replace("<T", "<TimeToLive>20010215T111212Z</TimeToLive><T", 1))],
        [(QUALITY, QUALITY + QUALITY)],
        [("<QualityOfServiceInfo", "<MessageData/><QualityOfServiceInfo")],
        [(HOP_SENDER, "")],
        [(HOP_RECEIVER, "")],
        [(HOP_TIME, "    </RoutingHeader>")],
        [(HOP_SENDER, ""), (HOP_RECEIVER, HOP_RECEIVER + HOP_SENDER)],
        [(HOP_SENDER, HOP_SENDER * 2)],
    ],
)
def test_elements_that_are_missing_doubled_or_misplaced_are_refused(edits):
    """X12: never first wins, and never a name of ours where it does not belong."""
    assert refusal(*edits) is ErrorCode.OTHER_XML


HREF = "cid:po-1@a.example.com"


@pytest.mark.statement("S1-11", "S1-13")
@pytest.mark.parametrize(
    "edits",
    [
        [("OnceAndOnlyOnce", "onceandonlyonce")],
        [("OnceAndOnlyOnce", "AtMostOnce")],
        [("OnceAndOnlyOnce", "ExactlyOnce")],
        [("OnceAndOnlyOnce", "")],
        [('"Unsigned"', '"unsigned"')],
        [('"Unsigned"', '"Both"')],
        [('"Unsigned"', '""')],
        [('"ebXML"', '"ebxml"')],
        [('"ebXML"', '"http://www.ebxml.org/namespaces/reliableMessaging"')],
        [("<QualityOfServiceInfo", '<QualityOfServiceInfo syncReplyMode="TRUE"')],
        [("<QualityOfServiceInfo", '<QualityOfServiceInfo syncReplyMode=""')],
        [("<QualityOfServiceInfo", '<QualityOfServiceInfo deliveryReceiptRequested="Both"')],
        [("m-0001@a.example.com", "")],
        [("m-0001@a.example.com", "m&#13;1")],
        [("m-0001@a.example.com", "\u00a0m1")],
        [("m-0001@a.example.com", "m" * 256)],
        [("cpa-ab-1", "cpa ab 1")],
        [("conv-1", "")],
        [("urn:services:QuoteToCollect", "Quote\nToCollect")],
        [("urn:services:QuoteToCollect", "\u00a0QuoteToCollect")],
        [("NewPurchaseOrder", "x" * 256)],
        [("<Reference ", '<Reference xlink:title="' + "x" * 10_000 + '" ')],
        [("    </MessageData>", "<RefToMessageId/></MessageData>")],
        [("    </MessageData>", "<TimeToLive/></MessageData>")],
        [("    </MessageData>", "<TimeToLive>2001-02-15T24:00:01Z</TimeToLive></MessageData>")],
        [("    </MessageData>", "<TimeToLive>0000-02-15T12:00:00Z</TimeToLive></MessageData>")],
        [("    </MessageData>", "<TimeToLive>10000-02-15T12:00:00Z</TimeToLive></MessageData>")],
        [("    </MessageData>", "<TimeToLive>2001-06-30T23:59:60Z</TimeToLive></MessageData>")],
        [(HOP_TIME, HOP_TIME.replace("Z", "z"))],
        [("http://a.example.com/ebxmlhandler/", "a.example.com")],
        [("http://b.example.com/ebxmlhandler/", "http://b.example.com/ x")],
        [(HOP_TIME, f"<ErrorURI>nowhere</ErrorURI>{HOP_TIME}")],
    ],
    ids=lambda edits: edits[0][1][:60],
)
def test_values_outside_their_grammar_are_refused(edits):
    """X13 to X15: exact spelling, no white space in identifiers, instants that are instants."""
    assert refusal(*edits) is ErrorCode.VALUE_NOT_RECOGNIZED


@pytest.mark.parametrize(
    "edits",
    [
        [('<PartyId type="DUNS">1', "<PartyId>1")],
        [('<PartyId type="DUNS">1', '<PartyId type="DUNS">2</PartyId><PartyId type="DUNS">1')],
    ],
)
def test_party_ids_that_contradict_each_other_are_refused(edits):
    """MS section 8.4.1: a party without type or URI, a type twice."""
    assert refusal(*edits) is ErrorCode.INCONSISTENT


@pytest.mark.parametrize(
    "edits",
    [
        [(HREF, "http://a.example.com/po-1")],
        [(HREF, "file:///etc/passwd")],
        [(HREF, "cid:")],
        [(HREF, "cid:PO-1@a.example.com")],
        [(HREF, "cid:po%252D1@a.example.com")],
        [("xlink:href", "href")],
        [(REFERENCE, REFERENCE * 2)],
        [(REFERENCE, REFERENCE + REFERENCE.replace("po-1", "po-2"))],
    ],
)
def test_a_manifest_that_names_anything_but_the_parts_is_refused(edits):
    """P7 and P8: nothing is fetched, nothing named twice, nothing nearly right or missing."""
    assert refusal(*edits) is ErrorCode.MIME_PROBLEM


@pytest.mark.parametrize(
    ("service", "action"),
    [
        ("MessageAcknowledgment", "acknowledgment"),
        ("MessageAcknowledgment", ""),
        ("MessageAcknowledgment", "MessageError"),
        ("MessageAcknowledgement", "Acknowledgment"),
        ("MessageError", "Acknowledgment"),
        ("MessageStatus", "Ping"),
        ("MessageStatus/", "StatusRequest"),
        ("", "Ping"),
        ("MessageOther", "Other"),
    ],
)
def test_a_signal_that_is_nearly_one_of_ours_is_refused(service, action):
    """It is no business message either: the application must never see it."""
    assert refusal(document=signal_document(service, action)) is ErrorCode.NOT_SUPPORTED


@pytest.mark.statement("S1-61")
@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ([('signed="false"', 'type="DeliveryReceipt"')], ErrorCode.OTHER_XML),
        ([('signed="false"', 'type=""')], ErrorCode.OTHER_XML),
        ([('signed="false"', 'signed="False"')], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([('signed="false"', 'signed=""')], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([("    <Timestamp>2001-02-15T11:12:13Z</Timestamp>\n", "")], ErrorCode.OTHER_XML),
        (
            [("<Timestamp>2001-02-15T11:12:13Z", "<From/><Timestamp>20010215T111213Z")],
            ErrorCode.OTHER_XML,
        ),
        ([("2001-02-15T11:12:13Z", "now")], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([(ACKNOWLEDGMENT, ACKNOWLEDGMENT * 2)], ErrorCode.OTHER_XML),
        ([(ACKNOWLEDGMENT, ERROR_LIST)], ErrorCode.OTHER_XML),
        ([("<RefToMessageId>m-0</RefToMessageId>", "")], ErrorCode.OTHER_XML),
        (
            [("<RefToMessageId>m-0</RefToMessageId>", "<RefToMessageId/>")],
            ErrorCode.VALUE_NOT_RECOGNIZED,
        ),
        ([("  <Header>", MANIFEST + "  <Header>")], ErrorCode.MIME_PROBLEM),
    ],
)
def test_an_acknowledgment_out_of_its_schema_is_refused(edits, code):
    """Section 3.1.3 deleted its type; everything else stands in section 4."""
    assert refusal(*edits, document=ACK_DOCUMENT) is code


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ([(ERROR_LIST, "")], ErrorCode.OTHER_XML),
        ([(ERROR_LIST, "<ErrorList/>")], ErrorCode.OTHER_XML),
        ([(ERROR_LIST, ACKNOWLEDGMENT + ERROR_LIST)], ErrorCode.OTHER_XML),
        ([(' severity="Warning"', ' severity="warning"')], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([(' severity="Warning"', ' Severity="Warning"')], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([("errorCode", "ErrorCode")], ErrorCode.VALUE_NOT_RECOGNIZED),
        ([("<RefToMessageId>m-0</RefToMessageId>", "")], ErrorCode.OTHER_XML),
        (
            [("<Error ", '<Error errorCode="Unknown" severity="Warning"/>' * 100 + "<Error ")],
            ErrorCode.MESSAGE_TOO_LARGE,
        ),
    ],
)
def test_an_error_that_says_nothing_usable_is_refused(edits, code):
    """Each error has a code and a severity."""
    assert refusal(*edits, document=ERROR_DOCUMENT) is code


@pytest.mark.parametrize(
    "edits",
    [
        [(HOP, HOP * 17)],
        [("</To>", "".join(f"<PartyId>u:{n}</PartyId>" for n in range(16)) + "</To>")],
        [(REFERENCE, "".join(f'<Reference xlink:href="cid:{n}"/>' for n in range(101)))],
    ],
    ids=["hops", "names", "documents"],
)
def test_repetitions_are_bounded(edits):
    """Rule 23: every loop has a limit with a reason."""
    assert refusal(*edits) is ErrorCode.MESSAGE_TOO_LARGE


# --- Hostile XML and MIME around it ------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("<ebXMLHeader ", "<!DOCTYPE r><ebXMLHeader ", ErrorCode.OTHER_XML),
        ("m-0001", "m-<!-- -- -->0001", ErrorCode.OTHER_XML),
        ("m-0001", "<![CDATA[m-0001]]", ErrorCode.OTHER_XML),
        ("<Header>", "<?xml-stylesheet href='x'?><Header>", ErrorCode.OTHER_XML),
        ("m-0001", "&file;", ErrorCode.OTHER_XML),
        ("m-0001", "&#0;", ErrorCode.OTHER_XML),
        ("</Header>", "", ErrorCode.OTHER_XML),
        ('encoding="UTF-8"', 'encoding="UTF-7"', ErrorCode.NOT_SUPPORTED),
        ("<Action>", "<a>" * 70 + "</a>" * 70 + "<Action>", ErrorCode.MESSAGE_TOO_LARGE),
        (
            "<Action>",
            "<a" + "".join(f" b{n}=''" for n in range(65)) + "/><Action>",
            ErrorCode.MESSAGE_TOO_LARGE,
        ),
        (
            "<Action>",
            "".join(f"<a xmlns='u:{n}'/>" for n in range(65)) + "<Action>",
            ErrorCode.MESSAGE_TOO_LARGE,
        ),
        ("<Action>", "<a/>" * 10_000 + "<Action>", ErrorCode.MESSAGE_TOO_LARGE),
        ("<Action>", "<a>" + "x" * (1 << 20) + "</a><Action>", ErrorCode.MESSAGE_TOO_LARGE),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_hostile_xml_is_refused_by_name(old, new, code):
    """X1 to X11 hold whatever the profile."""
    with pytest.raises(RemoteError) as refused:
        decode_document(edited((old, new)))
    assert refused.value.code is code


@pytest.mark.parametrize(
    "parts",
    [
        [header_part(DOCUMENT, HEADER_TYPE)],
        [header_part(DOCUMENT, HEADER_TYPE), part(PAYLOAD_HEAD, b""), part(PAYLOAD_HEAD, b"")],
        [part(PAYLOAD_HEAD, b""), header_part(DOCUMENT, HEADER_TYPE)],
        [header_part(DOCUMENT, HEADER_TYPE), part("Content-Type: a/b\r\n", b"")],
        [
            header_part(DOCUMENT, HEADER_TYPE),
            part(PAYLOAD_HEAD + "Content-Transfer-Encoding: base64\r\n", b"QQ="),
        ],
    ],
    ids=["missing", "twice", "order", "unnamed", "cut"],
)
def test_a_package_that_is_not_whole_and_unambiguous_is_refused(parts):
    """P6 to P9 hold whatever the profile."""
    assert samples.refusal(body_of(*parts), PACKAGE_TYPE).code is ErrorCode.MIME_PROBLEM
