"""The ebXMLHeader document of rm-2001, edit by edit."""

from dataclasses import replace

import pytest
import wire_samples as samples
from rm2001_samples import (
    ACKNOWLEDGMENT,
    DOCUMENT,
    ERROR_LIST,
    GOLDEN,
    HEADER_TYPE,
    MESSAGE,
    PACKAGE_TYPE,
    ROUTING,
    SIGNAL,
    SIGNAL_ROUTING,
    STEM,
    XLINK,
    decode_document,
    edited,
    example,
    message_of,
    refusal,
    sample_body,
    signal_document,
    written,
)
from wire_samples import (
    NAMESPACE,
    PAYLOAD,
    PAYLOAD_HEAD,
    body_of,
    collected,
    decode,
    header_part,
    joined,
    part,
    payload,
)

from onceonly.message.errors import ErrorCode, LocalError, RemoteError, Severity
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    DeliverySemantics,
    Message,
    Profile,
    ReliableMessagingMethod,
    RoutingHeader,
    SyncReplyMode,
)
from onceonly.message.signals import Acknowledgment, ErrorEntry, ErrorSignal
from onceonly.wire import names
from onceonly.wire.envelope import Content

ACK_SERVICE = "MessageAcknowledgment"
ACK_DOCUMENT = signal_document(ACK_SERVICE, "Acknowledgment", ACKNOWLEDGMENT)
ERROR_DOCUMENT = signal_document("MessageError", "MessageError", ERROR_LIST)
MANIFEST = DOCUMENT[DOCUMENT.index("  <Manifest>") : DOCUMENT.index("  <Header>")]
HEADER = DOCUMENT[DOCUMENT.index("  <Header>") : DOCUMENT.index("  <RoutingHeaderList>")]
ROUTING_LIST = DOCUMENT[DOCUMENT.index("  <RoutingHeaderList>") : DOCUMENT.index("</ebXML")]
HOP = DOCUMENT[DOCUMENT.index("    <RoutingHeader ") : DOCUMENT.index("  </RoutingHeaderList>")]
QUALITY = '    <QualityOfServiceInfo deliverySemantics="OnceAndOnlyOnce"/>\n'
HOP_SENDER = "      <SenderURI>http://a.example.com/ebxmlhandler/</SenderURI>\n"
HOP_RECEIVER = "      <ReceiverURI>http://b.example.com/ebxmlhandler/</ReceiverURI>\n"
HOP_TIME = "      <Timestamp>2001-02-15T11:12:12Z</Timestamp>\n    </RoutingHeader>"
SENT_TIME = "      <Timestamp>2001-02-15T11:12:12Z</Timestamp>\n    </MessageData>"
REFERENCE = '    <Reference xlink:type="simple" xlink:href="cid:po-1@a.example.com"/>\n'
END = "</ebXMLHeader>"
ELEMENT = AcknowledgmentElement(
    timestamp_at=982_235_533_000_000, from_ids=(PartyId("222222222", "DUNS"),)
)
FAILURE = ErrorEntry(
    code=ErrorCode.DELIVERY_FAILURE,
    severity=Severity.WARNING,
    description="Sent four times; the next MSH never acknowledged it.",
)


# --- The examples, and our own encodings -------------------------------------------------------

NOTICE = ErrorSignal(
    replace(
        SIGNAL,
        message_id="m-9005@b.example.com",
        from_ids=(PartyId("222222222", "DUNS"),),
        to_ids=(PartyId("111111111", "DUNS"),),
        timestamp_at=982_239_133_000_000,
    ),
    (FAILURE,),
    DeliverySemantics.ONCE_AND_ONLY_ONCE,
)
EXAMPLE_CASES: dict[str, tuple[Content, RoutingHeader]] = {
    "01-normal.xml": (
        replace(MESSAGE, payloads=(payload(PAYLOAD),)),
        ROUTING,
    ),
    "02-acknowledgment.xml": (Acknowledgment(SIGNAL, ELEMENT), SIGNAL_ROUTING),
    "03-delivery-failure.xml": (NOTICE, replace(SIGNAL_ROUTING, timestamp_at=982_239_133_000_000)),
}


@pytest.mark.parametrize("name", EXAMPLE_CASES)
def test_the_examples_read_as_what_they_show_and_are_written_so(name):
    """The specification's documents are values of ours, and our layout is theirs to the byte."""
    document = example(name).replace(b"\n", b"\r\n")
    envelope = decode_document(document)
    assert (envelope.content, envelope.routing) == (
        EXAMPLE_CASES[name][0],
        (EXAMPLE_CASES[name][1],),
    )
    assert envelope.profile is Profile.RM_2001
    package = written(*EXAMPLE_CASES[name])
    again = decode(joined(package, collected(envelope)), package.content_type)
    assert again.header == document


EVERYTHING = replace(
    MESSAGE,
    from_ids=(PartyId("111111111", "DUNS"), PartyId("urn:x:a&b")),
    service="Über & <Quote>",
    action="",
    semantics=DeliverySemantics.BEST_EFFORT,
    timestamp_at=MESSAGE.timestamp_at + 120_000,
    ref_to_message_id="m-0000@b.example.com",
    time_to_live_at=MESSAGE.timestamp_at + 3_600_000_000,
    sync_reply_mode=SyncReplyMode.SIGNALS_AND_RESPONSE,
    delivery_receipt_requested=AckRequested.SIGNED,
    acknowledgment=replace(ELEMENT, is_signed=True),
    payloads=(payload(PAYLOAD, name='Order\'s "name"'), payload(b"\x00\xff", "bin-2")),
)
GOLDEN_CASES: dict[str, tuple[Content, RoutingHeader, tuple[bytes, ...]]] = {
    "normal": (replace(MESSAGE, payloads=(payload(PAYLOAD, name="Order"),)), ROUTING, (PAYLOAD,)),
    "normal-everything": (
        EVERYTHING,
        replace(ROUTING, error_uri="http://a.example.com/errors", ack_requested=AckRequested.NONE),
        (PAYLOAD, b"\x00\xff"),
    ),
    "normal-left-to-the-cpa": (
        replace(MESSAGE, leaves_semantics=True),
        replace(ROUTING, reliable_messaging_method=None, ack_requested=None),
        (),
    ),
    "acknowledgment": (Acknowledgment(SIGNAL), SIGNAL_ROUTING, ()),
    "acknowledgment-with-element": (
        Acknowledgment(SIGNAL, replace(ELEMENT, from_ids=())),
        SIGNAL_ROUTING,
        (),
    ),
    "delivery-receipt": (Acknowledgment(SIGNAL, is_receipt=True), SIGNAL_ROUTING, ()),
    "error": (
        ErrorSignal(
            SIGNAL,
            (
                ErrorEntry(
                    code=ErrorCode.TRANSIENT_ERROR, severity=Severity.WARNING, min_retry_s=60
                ),
                ErrorEntry(
                    code=ErrorCode.UNKNOWN, severity=Severity.ERROR, code_text='their "code"'
                ),
            ),
        ),
        SIGNAL_ROUTING,
        (),
    ),
    "delivery-failure": (NOTICE, SIGNAL_ROUTING, ()),
}


@pytest.mark.parametrize("name", GOLDEN_CASES)
def test_an_encoding_is_the_golden_file_and_reads_back(name):
    """What partners see changes only with a golden file."""
    content, routing, datas = GOLDEN_CASES[name]
    package = written(content, routing)
    assert package.content_type == PACKAGE_TYPE
    assert joined(package, datas) == (GOLDEN / f"{name}.mime").read_bytes()
    envelope = decode(joined(package, datas), package.content_type)
    assert (envelope.content, envelope.routing) == (content, (routing,))
    assert tuple(collected(envelope)) == datas


@pytest.mark.statement("S1-38", "S1-39", "S1-24")
def test_an_acknowledgment_on_its_own_has_fixed_names():
    """Service, Action and RefToMessageId of a pure acknowledgement, to the letter."""
    text = joined(written(Acknowledgment(SIGNAL), SIGNAL_ROUTING)).decode()
    assert f"<Service>{STEM}MessageAcknowledgment</Service>" in text
    assert "<Action>Acknowledgment</Action>" in text
    assert "<RefToMessageId>m-0001@a.example.com</RefToMessageId>" in text


@pytest.mark.statement("S1-36")
def test_the_element_is_there_where_it_was_asked_for_and_nowhere_else():
    """An acknowledgement with the element holds it; one without does not."""
    plain = joined(written(Acknowledgment(SIGNAL), SIGNAL_ROUTING))
    asked = joined(written(Acknowledgment(SIGNAL, ELEMENT), SIGNAL_ROUTING))
    assert b"<Acknowledgment" not in plain
    assert asked.count(b"<Acknowledgment ") == 1


@pytest.mark.statement("S1-53", "S1-54", "S1-55", "S1-56")
@pytest.mark.parametrize("severity", list(Severity))
@pytest.mark.parametrize("semantics", list(DeliverySemantics))
def test_a_delivery_failure_notice_repeats_what_failed(severity, semantics):
    """From who found it, To the From Party, the degree that the message had on the wire."""
    notice = replace(NOTICE, errors=(replace(FAILURE, severity=severity),), semantics=semantics)
    text = joined(written(notice, SIGNAL_ROUTING)).decode()
    assert '<From><PartyId type="DUNS">222222222</PartyId></From>' in text
    assert '<To><PartyId type="DUNS">111111111</PartyId></To>' in text
    assert f'<QualityOfServiceInfo deliverySemantics="{semantics.on_wire.value}"/>' in text
    assert f'<ErrorList highestSeverity="{severity.value}">' in text
    assert f'<Error errorCode="DeliveryFailure" severity="{severity.value}">' in text


@pytest.mark.parametrize(
    "semantics", [DeliverySemantics.AT_MOST_ONCE, DeliverySemantics.EXACTLY_ONCE]
)
def test_semantics_without_a_word_on_the_wire_are_refused(semantics):
    """R-16 and R-17: agreed locally, and never silently turned into another word."""
    with pytest.raises(LocalError) as refused:
        written(replace(MESSAGE, semantics=semantics), ROUTING)
    assert refused.value.name == "SemanticsNotOnWire"


def test_a_business_message_cannot_pose_as_a_signal():
    """Service tells what a message is, so the names of signals are not for applications."""
    with pytest.raises(LocalError) as refused:
        written(replace(MESSAGE, service=f"{STEM}MessageAcknowledgment"), ROUTING)
    assert refused.value.name == "ReservedService"


# --- What is read ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edits",
    [
        [],
        [('version="0.93"', 'version="0.92"')],
        [(SENT_TIME, SENT_TIME.replace("2001-02-15T11:12:12Z", "20010215T111212.000Z"))],
        [(SENT_TIME, SENT_TIME.replace("2001-02-15T11:12:12Z", " 2001-02-15T12:12:12+01:00\n"))],
        [("<Action>", "<Extra/><Action>")],
        [("<Action>", "<x:Extra xmlns:x='urn:x'>a<x:b/>c</x:Extra><Action>")],
        [(END, "<y:Via xmlns:y='urn:y'><MessageId>m</MessageId></y:Via></ebXMLHeader>")],
        [(HOP_TIME, HOP_TIME.replace("</R", "<SequenceNumber>7</SequenceNumber></R"))],
        [("<QualityOfServiceInfo", '<QualityOfServiceInfo messageOrder="x"')],
        [('xlink:type="simple" ', "")],
        [("111111111", "1111&#49;1111")],
        [
            ("ebXMLHeader xmlns=", f"e:ebXMLHeader xmlns:e='{NAMESPACE}' xmlns="),
            (END, "</e:ebXMLHeader>"),
        ],
    ],
)
def test_the_forms_that_the_texts_allow_read_as_one_message(edits):
    """A12: many spellings, more elements than we know, one value."""
    document = edited(*edits)
    assert message_of(document) == MESSAGE
    assert decode_document(document).routing == (ROUTING,)


@pytest.mark.statement("S1-08")
@pytest.mark.parametrize(
    "edit", [(QUALITY, ""), (' deliverySemantics="OnceAndOnlyOnce"', "")], ids=["none", "empty"]
)
def test_the_header_may_leave_the_semantics_to_the_cpa(edit):
    """The degree of reliability may be in the header, and may be missing there."""
    assert message_of(edited(edit)) == replace(MESSAGE, leaves_semantics=True)


def test_best_effort_is_said_by_its_word():
    """The other word of the wire."""
    message = message_of(edited(("OnceAndOnlyOnce", "BestEffort")))
    assert message == replace(MESSAGE, semantics=DeliverySemantics.BEST_EFFORT)


@pytest.mark.statement("S1-09")
@pytest.mark.parametrize(
    ("word", "mode"),
    [
        ("none", SyncReplyMode.NONE),
        ("signalsOnly", SyncReplyMode.SIGNALS_ONLY),
        ("responseOnly", SyncReplyMode.RESPONSE_ONLY),
        ("signalsAndResponse", SyncReplyMode.SIGNALS_AND_RESPONSE),
        ("True", SyncReplyMode.SIGNALS_AND_RESPONSE),
        ("true", SyncReplyMode.SIGNALS_AND_RESPONSE),
        ("False", SyncReplyMode.NONE),
        ("false", SyncReplyMode.NONE),
    ],
)
def test_sync_reply_mode_is_read_in_both_vocabularies(word, mode):
    """The four words of the CPA, and the True and False of the drafts before."""
    edit = ("<QualityOfServiceInfo", f'<QualityOfServiceInfo syncReplyMode="{word}"')
    assert message_of(edited(edit)) == replace(MESSAGE, sync_reply_mode=mode)


@pytest.mark.statement("S1-10")
def test_time_to_live_is_read_after_the_reference():
    """TimeToLive may be in the header; white space around a time is ignored."""
    data = "<RefToMessageId>m-0</RefToMessageId><TimeToLive> 2001-02-15T12:00:00Z </TimeToLive>"
    message = message_of(edited(("    </MessageData>", f"{data}</MessageData>")))
    assert message.time_to_live_at == 982_238_400_000_000
    assert message.ref_to_message_id == "m-0"


@pytest.mark.statement("S1-13")
@pytest.mark.parametrize("requested", list(AckRequested))
def test_every_word_of_ack_requested_is_read_in_both_its_places(requested):
    """Signed, Unsigned or None: for the acknowledgement of the hop and for the receipt."""
    envelope = decode_document(edited(('"Unsigned"', f'"{requested.value}"')))
    assert envelope.routing == (replace(ROUTING, ack_requested=requested),)
    edit = (
        "<QualityOfServiceInfo",
        f'<QualityOfServiceInfo deliveryReceiptRequested="{requested}"',
    )
    assert message_of(edited(edit)).delivery_receipt_requested is requested


@pytest.mark.statement("S1-11")
@pytest.mark.parametrize("method", list(ReliableMessagingMethod))
def test_every_reliable_messaging_method_is_read(method):
    """ebXML or Transport."""
    envelope = decode_document(edited(('"ebXML"', f'"{method.value}"')))
    assert envelope.routing == (replace(ROUTING, reliable_messaging_method=method),)


def test_what_a_hop_leaves_out_is_left_to_the_cpa():
    """No ackRequested and no method: None, so that the defaults of the agreement hold."""
    edit = (' reliableMessagingMethod="ebXML" ackRequested="Unsigned"', "")
    bare = replace(ROUTING, reliable_messaging_method=None, ack_requested=None)
    assert decode_document(edited(edit)).routing == (bare,)


def test_several_hops_are_read_in_their_order():
    """S1-40 wants the last one, so the order is kept."""
    second = HOP.replace("http://a.", "http://router.").replace("Unsigned", "None")
    envelope = decode_document(edited((HOP, HOP + second)))
    assert [hop.sender_uri for hop in envelope.routing] == [
        "http://a.example.com/ebxmlhandler/",
        "http://router.example.com/ebxmlhandler/",
    ]
    assert envelope.routing[1].ack_requested is AckRequested.NONE


def test_an_error_uri_is_read_where_a_hop_has_one():
    """It became optional; where it stands it is one."""
    edit = (HOP_TIME, f"<ErrorURI>http://a/err</ErrorURI>{HOP_TIME}")
    assert decode_document(edited(edit)).routing[0].error_uri == "http://a/err"


def test_a_label_is_the_title_of_its_reference():
    """XLink's attribute for a label that people read."""
    content = decode_document(edited(("<Reference ", '<Reference xlink:title="My Order" '))).content
    assert isinstance(content, Message)
    assert content.payloads[0].name == "My Order"


# --- Acknowledgments ---------------------------------------------------------------------------


@pytest.mark.statement("S1-61")
@pytest.mark.parametrize(
    ("edits", "element"),
    [
        ([], ELEMENT),
        ([(' id="ack-1"', "")], ELEMENT),
        ([(' signed="false"', "")], ELEMENT),
        ([('"false"', '"true"')], replace(ELEMENT, is_signed=True)),
        ([('"false"', '"1"')], replace(ELEMENT, is_signed=True)),
        ([('"false"', '"0"')], ELEMENT),
        ([(ACKNOWLEDGMENT, "")], None),
    ],
)
def test_an_acknowledgment_element_is_read(edits, element):
    """Timestamp, then From, with attributes id and signed; or none at all."""
    content = decode_document(edited(*edits, document=ACK_DOCUMENT)).content
    assert isinstance(content, Acknowledgment)
    assert content.element == element
    assert content.header.ref_to_message_id == "m-0"


@pytest.mark.statement("S1-62")
@pytest.mark.parametrize("is_named", [True, False])
def test_who_acknowledges_is_in_the_element_or_in_the_header(is_named):
    """Without From in Acknowledgment nothing is put there: the Header's From names the party."""
    from_ = '    <From><PartyId type="DUNS">222222222</PartyId></From>\n'
    edits = [] if is_named else [(from_, "")]
    content = decode_document(edited(*edits, document=ACK_DOCUMENT)).content
    assert isinstance(content, Acknowledgment)
    assert content.element is not None
    assert content.element.from_ids == ((PartyId("222222222", "DUNS"),) if is_named else ())
    assert content.header.from_ids == (PartyId("111111111", "DUNS"),)


@pytest.mark.statement("S1-37")
def test_an_acknowledgment_rides_on_a_business_message():
    """Both are there: the message, and what it acknowledges by its RefToMessageId."""
    document = edited(
        ("    </MessageData>", "<RefToMessageId>m-0</RefToMessageId></MessageData>"),
        (END, ACKNOWLEDGMENT + END),
    )
    message = message_of(document)
    assert message == replace(MESSAGE, ref_to_message_id="m-0", acknowledgment=ELEMENT)


@pytest.mark.parametrize("action", ["Acknowledgment", "Acknowledgement"])
def test_both_spellings_of_the_action_are_read(action):
    """Part C row 2: products in the field wrote either."""
    document = signal_document(ACK_SERVICE, action)
    assert isinstance(decode_document(document).content, Acknowledgment)


def test_a_delivery_receipt_is_an_acknowledgment_of_another_kind():
    """The application has the message, not only the MSH."""
    document = signal_document("MessageDeliveryReceipt", "DeliveryReceipt")
    content = decode_document(document).content
    assert isinstance(content, Acknowledgment)
    assert content.is_receipt


# --- Errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edits", "semantics"),
    [
        ([], DeliverySemantics.BEST_EFFORT),
        ([("BestEffort", "OnceAndOnlyOnce")], DeliverySemantics.ONCE_AND_ONLY_ONCE),
        ([(' deliverySemantics="BestEffort"', "")], DeliverySemantics.BEST_EFFORT),
        ([(' highestSeverity="Warning"', "")], DeliverySemantics.BEST_EFFORT),
    ],
)
def test_an_error_is_read_with_the_degree_of_what_failed(edits, semantics):
    """S1-54: the degree matters here, so it is kept."""
    content = decode_document(edited(*edits, document=ERROR_DOCUMENT)).content
    assert isinstance(content, ErrorSignal)
    assert content.semantics is semantics
    assert content.errors == (replace(FAILURE, description="never acknowledged"),)


def test_an_error_that_makes_others_wait_says_how_long():
    """R-15 holds for both profiles."""
    document = edited(("  </ErrorList>", WAIT + "</ErrorList>"), document=ERROR_DOCUMENT)
    content = decode_document(document).content
    assert isinstance(content, ErrorSignal)
    assert content.errors[1].min_retry_s == 30


WAIT = (
    '<Error errorCode="TransientError" severity="Warning"><MinRetrySecs>30</MinRetrySecs></Error>'
)


# --- What is refused ---------------------------------------------------------------------------


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
        [("OnceAndOnlyOnce", " OnceAndOnlyOnce")],
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
        [("m-0001@a.example.com", " m1")],
        [("m-0001@a.example.com", "m1&#13;")],
        [("m-0001@a.example.com", "m" * 256)],
        [("cpa-ab-1", "cpa ab 1")],
        [("conv-1", "")],
        [("urn:services:QuoteToCollect", "Quote\nToCollect")],
        [("urn:services:QuoteToCollect", " QuoteToCollect")],
        [("NewPurchaseOrder", "x" * 256)],
        [("<Reference ", '<Reference xlink:title="' + "x" * 10_000 + '" ')],
        [("    </MessageData>", "<RefToMessageId/></MessageData>")],
        [("    </MessageData>", "<TimeToLive/></MessageData>")],
        [("    </MessageData>", "<TimeToLive>2001-02-15T12:00:00</TimeToLive></MessageData>")],
        [("    </MessageData>", "<TimeToLive>2001-02-15T24:00:00Z</TimeToLive></MessageData>")],
        [("    </MessageData>", "<TimeToLive>0000-02-15T12:00:00Z</TimeToLive></MessageData>")],
        [("    </MessageData>", "<TimeToLive>10000-02-15T12:00:00Z</TimeToLive></MessageData>")],
        [("    </MessageData>", "<TimeToLive>2001-06-30T23:59:60Z</TimeToLive></MessageData>")],
        [(HOP_TIME, HOP_TIME.replace("Z", ""))],
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
        [(HREF, "CID:po-1@a.example.com")],
        [(HREF, "cid:")],
        [(HREF, "cid:PO-1@a.example.com")],
        [(HREF, "cid:po%2D1@a.example.com")],
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
        ([('highestSeverity="Warning"', 'highestSeverity="Error"')], ErrorCode.INCONSISTENT),
        (
            [('highestSeverity="Warning"', 'highestSeverity="Fatal"')],
            ErrorCode.VALUE_NOT_RECOGNIZED,
        ),
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
    """Each error has a code and a severity, and the list does not contradict itself."""
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
        ("m-0001", "m-<!-- -->0001", ErrorCode.OTHER_XML),
        ("m-0001", "<![CDATA[m-0001]]>", ErrorCode.OTHER_XML),
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
    "text",
    ["'; DROP TABLE m; --", "${jndi:ldap://a/b}", "{{7*7}}", "&lt;script&gt;", "../../etc/passwd"],
)
def test_strings_that_hurt_others_are_only_text_here(text):
    """X16, X17 and P11: kept as they are, never expanded, never a path."""
    content = decode_document(edited(("<Reference ", f'<Reference xlink:title="{text}" '))).content
    assert isinstance(content, Message)
    assert content.payloads[0].name == text.replace("&lt;", "<").replace("&gt;", ">")


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


@pytest.mark.parametrize("name", GOLDEN_CASES)
def test_every_proper_prefix_of_a_package_is_refused(name):
    """P4: a package that was cut short is never taken for a whole one, byte by byte."""
    body = (GOLDEN / f"{name}.mime").read_bytes()
    for length in range(len(body) - len("\r\n")):
        assert samples.refusal(body[:length], PACKAGE_TYPE).code is ErrorCode.MIME_PROBLEM


def test_the_fixed_uris_are_those_of_the_text():
    """Seed 001 §1.3.3.1 (10): one constant, and everything of ours under its stem."""
    assert (f"{STEM}MessageAcknowledgment", "Acknowledgment") == names.ACKNOWLEDGMENT_ACTION
    assert all(service.startswith(STEM) for service, _ in names.ACTIONS)
    assert f'xmlns:xlink="{XLINK}"' in sample_body().decode()
