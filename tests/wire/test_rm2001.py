"""The ebXMLHeader document of rm-2001, edit by edit: what it reads as, and what we write."""

import pytest
import wire_samples as samples
from rm2001_samples import (
    ACK_DOCUMENT,
    ACK_SERVICE,
    ACKNOWLEDGMENT,
    END,
    ERROR_DOCUMENT,
    GOLDEN,
    HOP,
    HOP_TIME,
    MESSAGE,
    PACKAGE_TYPE,
    QUALITY,
    ROUTING,
    SENT_TIME,
    SIGNAL,
    SIGNAL_ROUTING,
    STEM,
    XLINK,
    decode_document,
    edited,
    example,
    message_of,
    sample_body,
    signal_document,
    written,
)
from wire_samples import NAMESPACE, PAYLOAD, collected, decode, joined, payload

from onceonly.message.errors import ErrorCode, LocalError, Severity
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    DeliverySemantics,
    Message,
    ReliableMessagingMethod,
    RoutingHeader,
    SyncReplyMode,
)
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, ErrorEntry, ErrorSignal
from onceonly.message.word import changed
from onceonly.wire.envelope import Content
from onceonly.wire.rm2001 import names

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
    changed(
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
        changed(MESSAGE, payloads=(payload(PAYLOAD),)),
        ROUTING,
    ),
    "02-acknowledgment.xml": (Acknowledgment(SIGNAL, ELEMENT), SIGNAL_ROUTING),
    "03-delivery-failure.xml": (NOTICE, changed(SIGNAL_ROUTING, timestamp_at=982_239_133_000_000)),
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


EVERYTHING = changed(
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
    acknowledgment=changed(ELEMENT, is_signed=True),
    payloads=(payload(PAYLOAD, name='Order\'s "name"'), payload(b"\x00\xff", "bin-2")),
)
GOLDEN_CASES: dict[str, tuple[Content, RoutingHeader, tuple[bytes, ...]]] = {
    "normal": (changed(MESSAGE, payloads=(payload(PAYLOAD, name="Order"),)), ROUTING, (PAYLOAD,)),
    "normal-everything": (
        EVERYTHING,
        changed(ROUTING, error_uri="http://a.example.com/errors", ack_requested=AckRequested.NONE),
        (PAYLOAD, b"\x00\xff"),
    ),
    "normal-left-to-the-cpa": (
        changed(MESSAGE, leaves_semantics=True),
        changed(ROUTING, reliable_messaging_method=None, ack_requested=None),
        (),
    ),
    "acknowledgment": (Acknowledgment(SIGNAL), SIGNAL_ROUTING, ()),
    "acknowledgment-with-element": (
        Acknowledgment(SIGNAL, changed(ELEMENT, from_ids=())),
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


@pytest.mark.parametrize("name", GOLDEN_CASES)
def test_every_proper_prefix_of_a_package_is_refused(name):
    """P4: a package that was cut short is never taken for a whole one, byte by byte."""
    body = (GOLDEN / f"{name}.mime").read_bytes()
    for length in range(len(body) - len("\r\n")):
        assert samples.refusal(body[:length], PACKAGE_TYPE).code is ErrorCode.MIME_PROBLEM


@pytest.mark.statement("S1-38", "S1-39", "S1-24")
def test_an_acknowledgment_on_its_own_has_fixed_names():
    """Service, Action and RefToMessageId of a pure acknowledgement, to the letter."""
    text = joined(written(Acknowledgment(SIGNAL), SIGNAL_ROUTING)).decode()
    assert f"<Service>{STEM}MessageAcknowledgment</Service>" in text
    assert "<Action>Acknowledgment</Action>" in text
    assert "<RefToMessageId>m-0001@a.example.com</RefToMessageId>" in text


def test_the_fixed_uris_are_those_of_the_text():
    """Seed 001 §1.3.3.1 (10): one constant, and everything of ours under its stem."""
    assert (f"{STEM}MessageAcknowledgment", "Acknowledgment") == names.ACKNOWLEDGMENT_ACTION
    assert all(service.startswith(STEM) for service, _ in names.ACTIONS)
    assert f'xmlns:xlink="{XLINK}"' in sample_body().decode()


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
    notice = changed(NOTICE, errors=(changed(FAILURE, severity=severity),), semantics=semantics)
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
        written(changed(MESSAGE, semantics=semantics), ROUTING)
    assert refused.value.name == "SemanticsNotOnWire"


def test_a_business_message_cannot_pose_as_a_signal():
    """Service tells what a message is, so the names of signals are not for applications."""
    with pytest.raises(LocalError) as refused:
        written(changed(MESSAGE, service=f"{STEM}MessageAcknowledgment"), ROUTING)
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
    assert message_of(edited(edit)) == changed(MESSAGE, leaves_semantics=True)


def test_best_effort_is_said_by_its_word():
    """The other word of the wire."""
    message = message_of(edited(("OnceAndOnlyOnce", "BestEffort")))
    assert message == changed(MESSAGE, semantics=DeliverySemantics.BEST_EFFORT)


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
    assert message_of(edited(edit)) == changed(MESSAGE, sync_reply_mode=mode)


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
    assert envelope.routing == (changed(ROUTING, ack_requested=requested),)
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
    assert envelope.routing == (changed(ROUTING, reliable_messaging_method=method),)


def test_what_a_hop_leaves_out_is_left_to_the_cpa():
    """No ackRequested and no method: None, so that the defaults of the agreement hold."""
    edit = (' reliableMessagingMethod="ebXML" ackRequested="Unsigned"', "")
    bare = changed(ROUTING, reliable_messaging_method=None, ack_requested=None)
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


@pytest.mark.parametrize(
    "text",
    ["'; DROP TABLE m; --", "${jndi:ldap://a/b}", "{{7*7}}", "&lt;script&gt;", "../../etc/passwd"],
)
def test_strings_that_hurt_others_are_only_text_here(text):
    """X16, X17 and P11: kept as they are, never expanded, never a path."""
    content = decode_document(edited(("<Reference ", f'<Reference xlink:title="{text}" '))).content
    assert isinstance(content, Message)
    assert content.payloads[0].name == text.replace("&lt;", "<").replace("&gt;", ">")


# --- Acknowledgments ---------------------------------------------------------------------------


@pytest.mark.statement("S1-61")
@pytest.mark.parametrize(
    ("edits", "element"),
    [
        ([], ELEMENT),
        ([(' id="ack-1"', "")], ELEMENT),
        ([(' signed="false"', "")], ELEMENT),
        ([('"false"', '"true"')], changed(ELEMENT, is_signed=True)),
        ([('"false"', '"1"')], changed(ELEMENT, is_signed=True)),
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
    assert message == changed(MESSAGE, ref_to_message_id="m-0", acknowledgment=ELEMENT)


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
    assert content.errors == (changed(FAILURE, description="never acknowledged"),)


def test_an_error_that_makes_others_wait_says_how_long():
    """R-15 holds for both profiles."""
    document = edited(("  </ErrorList>", WAIT + "</ErrorList>"), document=ERROR_DOCUMENT)
    content = decode_document(document).content
    assert isinstance(content, ErrorSignal)
    assert content.errors[1].min_retry_s == 30


WAIT = (
    '<Error errorCode="TransientError" severity="Warning"><MinRetrySecs>30</MinRetrySecs></Error>'
)
