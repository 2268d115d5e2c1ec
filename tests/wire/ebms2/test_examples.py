"""The examples of the specification, the samples of other products, and what we write ourselves."""

import re

import pytest
from ebms2_samples import (
    AT_US,
    BOUNDARY,
    BUYER,
    EXAMPLES,
    GOLDEN,
    HOP,
    MESSAGE,
    ORDER,
    PAYLOAD,
    SCHEMAS,
    SELLER,
    SIGNAL,
    decode,
    decode_document,
    file_of,
    http_package,
    refusal_of,
    written,
)
from lxml import etree
from wire_samples import joined, payload

from onceonly.message.errors import ErrorCode, FaultCode, LocalError, RemoteError, Severity
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    Actor,
    DeliverySemantics,
    Message,
    MessageOrder,
    SchemaLocation,
    SignedReference,
    SyncReplyMode,
)
from onceonly.message.profile import Profile
from onceonly.message.signals import (
    Acknowledgment,
    AckStatus,
    Assurance,
    ErrorEntry,
    ErrorSignal,
    Inquiry,
    InquiryKind,
    MessageStatus,
    Report,
    ReportedProcessing,
    SoapFault,
)
from onceonly.message.word import changed
from onceonly.wire import ebms2
from onceonly.wire.envelope import Content
from onceonly.wire.limits import DEFAULT
from onceonly.wire.xml import parse

ELEMENT = AcknowledgmentElement(
    timestamp_at=AT_US + 1_000_000,
    from_ids=(SELLER,),
    ref_to_message_id="m-0001@a.example.com",
)


def error(message_id: str, at: int, entry: ErrorEntry) -> ErrorSignal:
    return ErrorSignal(changed(SIGNAL, message_id=message_id, timestamp_at=at), (entry,))


MIME_PROBLEM = ErrorEntry(
    code=ErrorCode.MIME_PROBLEM,
    severity=Severity.ERROR,
    description="No MIME part with this Content-ID.",
    location="cid:po-1@a.example.com",
)
EXPIRED = ErrorEntry(
    code=ErrorCode.TIME_TO_LIVE_EXPIRED,
    severity=Severity.ERROR,
    description="Arrived after its TimeToLive.",
    location="//SOAP:Header/eb:MessageHeader/eb:MessageData/eb:TimeToLive",
)
UNDELIVERED = ErrorEntry(
    code=ErrorCode.DELIVERY_FAILURE,
    severity=Severity.WARNING,
    description="Sent, but never acknowledged.",
)
PING = changed(
    SIGNAL,
    message_id="m-0100@a.example.com",
    from_ids=(BUYER,),
    to_ids=(SELLER,),
    conversation_id="conv-ping-1",
    timestamp_at=AT_US + 300_000_000,
    ref_to_message_id="",
)
PONG = changed(
    SIGNAL,
    message_id="m-9100@b.example.com",
    conversation_id="conv-ping-1",
    timestamp_at=AT_US + 301_000_000,
    ref_to_message_id="m-0100@a.example.com",
)
ASKED = changed(
    PING,
    message_id="m-0200@a.example.com",
    conversation_id="conv-1",
    timestamp_at=AT_US + 600_000_000,
    ref_to_message_id="m-0001@a.example.com",
)
ANSWER = Report(
    header=changed(
        SIGNAL,
        message_id="m-9200@b.example.com",
        timestamp_at=AT_US + 601_000_000,
        ref_to_message_id="m-0200@a.example.com",
    ),
    kind=InquiryKind.STATUS,
    about="m-0001@a.example.com",
    status=MessageStatus.RECEIVED,
    received_at=AT_US,
)
ORDERED = changed(
    MESSAGE,
    message_id="m-0300@a.example.com",
    conversation_id="conv-ord",
    payloads=(ORDER,),
    order=MessageOrder(0, is_reset=True),
)
UNSIGNED: dict[str, Content] = {
    "01-message": changed(MESSAGE, payloads=(ORDER,)),
    "01s-message-syncreply": changed(
        MESSAGE,
        message_id="m-0002@a.example.com",
        payloads=(ORDER,),
        sync_reply_mode=SyncReplyMode.SIGNALS_AND_RESPONSE,
    ),
    "02-acknowledgment": Acknowledgment(SIGNAL, ELEMENT),
    "03-errorlist": error("m-9003@b.example.com", AT_US + 1_000_000, MIME_PROBLEM),
    "03t-errorlist-timetolive": error("m-9004@b.example.com", AT_US + 3_601_000_000, EXPIRED),
    "04-delivery-failure": error("m-9005@b.example.com", AT_US + 3_601_000_000, UNDELIVERED),
    "05-ping": Inquiry(PING, InquiryKind.PING),
    "06-pong": Report(header=PONG, kind=InquiryKind.PING),
    "07-status-request": Inquiry(ASKED, InquiryKind.STATUS),
    "08-status-response": ANSWER,
    "08n-status-response-notrecognized": changed(
        ANSWER,
        header=changed(ANSWER.header, message_id="m-9201@b.example.com"),
        status=MessageStatus.NOT_RECOGNIZED,
        received_at=None,
    ),
    "09-message-order-reset": ORDERED,
    "09c-message-order-continue": changed(
        ORDERED,
        message_id="m-0301@a.example.com",
        timestamp_at=AT_US + 10_000_000,
        time_to_live_at=AT_US + 30 * 60_000_000 + 10_000_000,
        order=MessageOrder(1),
    ),
}
EVERYTHING = changed(
    MESSAGE,
    from_ids=(BUYER, PartyId("urn:x:a&b")),
    service="Über & <Quote>",
    service_type="string",
    ref_to_message_id="m-0000@b.example.com",
    time_to_live_at=None,
    timestamp_at=AT_US + 120_000,
    description='{"product": "<ours>"}',
    ack_requested=AckRequested.SIGNED,
    next_ack_requested=AckRequested.UNSIGNED,
    acknowledgment=changed(ELEMENT, ref_to_message_id="m-0000@b.example.com"),
    next_acknowledgment=changed(ELEMENT, actor=Actor.NEXT_MSH, from_ids=()),
    payloads=(
        changed(
            ORDER,
            role="http://example.com/roles/order",
            name='Order\'s "name"',
            schemas=(SchemaLocation("http://example.com/o.xsd", "1.0"), SchemaLocation("urn:x")),
        ),
        payload(b"\x00\xff", "bin-2"),
    ),
)
OURS: dict[str, tuple[Content, tuple[bytes, ...]]] = {
    "message-everything": (EVERYTHING, (PAYLOAD, b"\x00\xff")),
    "message-best-effort": (
        changed(
            MESSAGE,
            semantics=DeliverySemantics.BEST_EFFORT,
            duplicate_elimination=False,
            ack_requested=AckRequested.NONE,
            from_role=None,
            to_role=None,
        ),
        (),
    ),
    "acknowledgments-of-both": (
        Acknowledgment(
            changed(SIGNAL, from_role="Seller", to_role="Buyer"),
            ELEMENT,
            AckStatus(Assurance.CONTENT, is_passed_on=True),
            next_element=changed(ELEMENT, actor=Actor.NEXT_MSH),
        ),
        (),
    ),
    "errors": (
        ErrorSignal(
            SIGNAL,
            (
                ErrorEntry(code=ErrorCode.UNKNOWN, severity=Severity.WARNING),
                ErrorEntry(
                    code=ErrorCode.UNKNOWN,
                    severity=Severity.ERROR,
                    code_text='their "code"',
                    code_context="urn:theirs",
                ),
            ),
        ),
        (),
    ),
    "ping-in-the-answer": (Inquiry(changed(PING, wants_sync_reply=True), InquiryKind.PING), ()),
}
EVERY = UNSIGNED | {name: content for name, (content, _) in OURS.items()}


def document_of(content: Content) -> bytes:
    """The envelope that we write, from within its package."""
    return ebms2.CODEC.write(content, HOP).encode()


@pytest.mark.parametrize("name", UNSIGNED)
def test_the_examples_read_as_what_they_show_and_are_written_so(name):
    """The specification's documents are values of ours, and our layout is theirs to the byte."""
    document = file_of(EXAMPLES / "ebms2", f"{name}.xml").replace(b"\n", b"\r\n")
    envelope = decode_document(document)
    assert (envelope.content, envelope.routing) == (UNSIGNED[name], ())
    assert envelope.profile is Profile.EBMS_2_0
    assert document_of(UNSIGNED[name]) == document


@pytest.mark.statement("E2-01", "E2-05")
@pytest.mark.parametrize(
    "name", ["02-acknowledgment", "03-errorlist", "05-ping", "06-pong", "07-status-request"]
)
def test_what_has_no_payload_is_the_example_without_a_frame(name):
    """Content-Type and body are the example's; nothing else is a part of it."""
    package = written(UNSIGNED[name])
    assert (package.content_type, joined(package)) == http_package(f"{name}.http")
    assert b"Manifest" not in joined(package)


@pytest.mark.statement("E2-01", "E2-02", "E2-03", "E2-04")
@pytest.mark.parametrize("name", ["01-message", "01s-message-syncreply"])
def test_what_has_a_payload_is_a_multipart_of_the_example(name):
    """The same Content-Type, and the same parts in the same order."""
    content_type, body = http_package(f"{name}.http")
    envelope = decode(body, content_type)
    package = written(envelope.content)
    ours = joined(package, [sink.data for sink in envelope.sinks])
    assert package.content_type == content_type
    delimiter = f"--{BOUNDARY}".encode()
    assert [sorted(one.split(b"\r\n")) for one in ours.split(delimiter)] == [
        sorted(one.split(b"\r\n")) for one in body.split(delimiter)
    ]


@pytest.mark.statement("E2-11")
def test_the_example_of_a_mail_reads_like_that_of_a_post():
    """base64 for every part, and the payload's digest is that of its decoded bytes."""
    mail = decode(*reversed(http_package("01e-message.eml")))
    post = decode(*reversed(http_package("01-message.http")))
    assert isinstance(mail.content, Message)
    assert isinstance(post.content, Message)
    (by_mail,), (by_post,) = mail.content.payloads, post.content.payloads
    assert changed(mail.content, payloads=()) == changed(post.content, payloads=())
    assert mail.sinks[0].data == post.sinks[0].data.replace(b"\r\n", b"\n")
    assert changed(by_mail, size_bytes=0, digest="") == changed(by_post, size_bytes=0, digest="")


@pytest.mark.parametrize("name", ["10-signed-message.xml", "11-signed-acknowledgment.xml"])
def test_signed_examples_are_read(name):
    """What they say; whether the signature stands is another question."""
    content = decode_document(file_of(EXAMPLES / "ebms2", name)).content
    assert isinstance(content, Message | Acknowledgment)
    if isinstance(content, Acknowledgment):
        assert content.element is not None
        assert [one.uri for one in content.element.references] == ["", "cid:po-1@a.example.com"]
        assert all(len(one.digest_value) == 44 for one in content.element.references)


def test_the_example_of_a_fault_is_read_and_written_so():
    """A Fault has no header: it is about the package that it answers."""
    _, body = http_package("12-soap-fault.http")
    fault = SoapFault(
        code=FaultCode.MUST_UNDERSTAND,
        code_text="MustUnderstand",
        text="A mandatory header block was not understood.",
    )
    assert ebms2.CODEC.find_fault(parse(body, None, DEFAULT)) == fault
    assert ebms2.CODEC.write_fault(fault).encode() == body


@pytest.mark.parametrize("name", OURS)
def test_our_own_encodings_stay_as_they_are(name):
    """Pinned byte for byte, and read back as the same value."""
    content, datas = OURS[name]
    package = written(content)
    path = GOLDEN / f"{name}.http"
    text = f"Content-Type: {package.content_type}\r\n\r\n".encode() + joined(package, datas)
    assert text == path.read_bytes()
    assert decode(joined(package, datas), package.content_type).content == content


@pytest.mark.statement("E2-16", "E2-17", "E2-20", "E2-32")
@pytest.mark.parametrize("name", EVERY)
def test_everything_that_we_write_is_valid_against_the_schemas(name):
    """The schemas of OASIS, with every block of version 2.0 and mustUnderstand 1."""
    schema = _schema()
    document = etree.fromstring(document_of(EVERY[name]))
    schema.assertValid(document)
    blocks = [block for block in document[0] if block.tag.startswith(f"{{{_EB}}}")]
    assert {block.get(f"{{{_SOAP}}}mustUnderstand") for block in blocks} == {"1"}
    assert {block.get(f"{{{_EB}}}version") for block in [*blocks, *document[1]]} == {"2.0"}


_EB = "http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd"
_SOAP = "http://schemas.xmlsoap.org/soap/envelope/"


def _schema() -> etree.XMLSchema:
    """One schema for the envelope and everything in it, read from files alone."""
    file_of(SCHEMAS, "envelope.xsd")
    parser = etree.XMLParser(no_network=True)
    parser.resolvers.add(_Local())
    wrapper = f"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
      <xs:import namespace="{_SOAP}" schemaLocation="envelope.xsd"/>
      <xs:import namespace="{_EB}" schemaLocation="msg-header-2_0.xsd"/>
    </xs:schema>"""
    base = (SCHEMAS / "all.xsd").as_uri()
    return etree.XMLSchema(etree.fromstring(wrapper, parser, base_url=base))


class _Local(etree.Resolver):
    def resolve(self, url, public_id, context):
        name = url.rpartition("/")[2]
        return self.resolve_filename(str(SCHEMAS / name), context)


@pytest.mark.statement("E2-21")
@pytest.mark.parametrize(
    ("name", "code", "fault", "location"),
    [
        ("01-no-cpaid", ErrorCode.OTHER_XML, FaultCode.CLIENT, "MessageHeader/eb:CPAId"),
        ("02-ackrequested-without-signed", ErrorCode.OTHER_XML, None, "eb:AckRequested"),
        ("03-wrong-child-order", ErrorCode.OTHER_XML, FaultCode.CLIENT, "eb:MessageHeader"),
        ("04-bad-status", ErrorCode.OTHER_XML, None, "eb:StatusResponse"),
        ("05-negative-sequence", ErrorCode.OTHER_XML, None, "MessageOrder/eb:SequenceNumber"),
        ("06-empty-messageid", ErrorCode.VALUE_NOT_RECOGNIZED, FaultCode.CLIENT, "eb:MessageId"),
        ("08-error-severity-case", ErrorCode.OTHER_XML, None, "eb:ErrorList"),
        ("09-syncreply-without-actor", ErrorCode.OTHER_XML, None, "eb:SyncReply"),
        ("10-unqualified-type", ErrorCode.INCONSISTENT, None, "eb:From/eb:PartyId"),
    ],
)
def test_an_invalid_example_is_refused(name, code, fault, location):
    """By a fault where the MessageHeader is wrong, by a code and a location everywhere else."""
    error = refusal_of(file_of(EXAMPLES / "invalid", f"{name}.xml"))
    assert (error.code, error.fault) == (code, fault)
    assert error.location.endswith(location)


@pytest.mark.statement("E2-16")
def test_a_must_understand_that_is_true_is_read():
    """The schema refuses the word, and products write it (P12)."""
    document = file_of(EXAMPLES / "invalid", "07-mustunderstand-true.xml")
    assert isinstance(decode_document(document).content, Message)


# --- What cannot be written ---------------------------------------------------------------------


@pytest.mark.statement("E2-29")
def test_a_business_message_never_has_the_service_of_signals():
    with pytest.raises(LocalError) as refused:
        written(changed(MESSAGE, service="urn:oasis:names:tc:ebxml-msg:service"))
    assert refused.value.name == "ReservedService"


OF_OURS = {
    "cancel": Inquiry(SIGNAL, InquiryKind.CANCEL),
    "response": Inquiry(SIGNAL, InquiryKind.RESPONSE),
    "named status": Inquiry(SIGNAL, InquiryKind.STATUS, has_reference=True),
    "cancelled": Report(header=SIGNAL, kind=InquiryKind.CANCEL, about="m-1", is_accepted=False),
    "coming": Report(header=SIGNAL, kind=InquiryKind.RESPONSE, about="m-1"),
    "processing": Report(
        header=SIGNAL,
        kind=InquiryKind.STATUS,
        about="m-1",
        status=MessageStatus.RECEIVED,
        processing=ReportedProcessing.IN_PROGRESS,
    ),
}


@pytest.mark.parametrize("signal", OF_OURS.values(), ids=OF_OURS)
def test_what_the_standard_has_no_word_for_is_in_blocks_of_ours(signal):
    """Without mustUnderstand, so that others skip them (§3); the questions name their message."""
    (text,) = (one.decode() for one in written(signal).segments)
    assert text.count("urn:onceonly:extension") == isinstance(signal, Report)
    own = text.partition('<Report xmlns="urn:onceonly:extension"')[2].partition("/>")[0]
    assert "mustUnderstand" not in own
    expected = changed(signal, has_reference=False) if isinstance(signal, Inquiry) else signal
    assert decode_document(text).content == expected


def test_an_answer_without_our_block_is_none():
    """It is refused and never guessed."""
    (text,) = (one.decode() for one in written(OF_OURS["cancelled"]).segments)
    with pytest.raises(RemoteError, match="has no Report"):
        decode_document(re.sub(r"  <Report .*?/>\r\n", "", text))


@pytest.mark.statement("E2-74")
@pytest.mark.parametrize("name", [name for name in EVERY if not isinstance(EVERY[name], Message)])
def test_a_signal_asks_for_nothing(name):
    """No AckRequested and no DuplicateElimination on any of them (IR-01)."""
    document = document_of(EVERY[name])
    assert b"AckRequested" not in document
    assert b"DuplicateElimination" not in document


@pytest.mark.statement("E2-57")
def test_an_error_has_neither_requests_nor_a_manifest():
    document = document_of(UNSIGNED["03-errorlist"])
    assert not [word for word in (b"AckRequested", b"Duplicate", b"Manifest") if word in document]


@pytest.mark.statement("E2-55")
def test_the_highest_severity_is_that_of_the_worst_error():
    document = document_of(OURS["errors"][0])
    assert b'eb:highestSeverity="Error"' in document
    assert b"<eb:Action>MessageError</eb:Action>" in document


def test_an_acknowledgment_without_an_element_gets_one():
    """The other profiles may leave it out; here it is what acknowledges."""
    package = written(Acknowledgment(SIGNAL))
    assert decode(joined(package), package.content_type).content == Acknowledgment(SIGNAL, ELEMENT)


def test_a_code_that_the_standard_does_not_have_is_unknown_and_named_in_words():
    entry = ErrorEntry(
        code=ErrorCode.MESSAGE_TOO_LARGE, severity=Severity.ERROR, description="2 GiB"
    )
    package = written(error("m-1", AT_US, entry))
    read = decode(joined(package), package.content_type).content
    assert isinstance(read, ErrorSignal)
    assert (read.errors[0].code, read.errors[0].description) == (
        ErrorCode.UNKNOWN,
        "MessageTooLarge: 2 GiB",
    )


@pytest.mark.parametrize(
    ("semantics", "is_eliminated", "requested"),
    [
        (DeliverySemantics.ONCE_AND_ONLY_ONCE, True, AckRequested.UNSIGNED),
        (DeliverySemantics.EXACTLY_ONCE, True, AckRequested.UNSIGNED),
        (DeliverySemantics.AT_MOST_ONCE, True, AckRequested.NONE),
        (DeliverySemantics.BEST_EFFORT, False, AckRequested.NONE),
    ],
)
def test_a_degree_of_reliability_asks_for_what_it_consists_of(semantics, is_eliminated, requested):
    """Where the message itself does not say it (`wire.md` B7.1)."""
    message = changed(MESSAGE, semantics=semantics, duplicate_elimination=None, ack_requested=None)
    package = written(message)
    read = decode(joined(package), package.content_type).content
    assert isinstance(read, Message)
    assert (read.duplicate_elimination, read.ack_requested) == (is_eliminated, requested)


def test_the_references_of_an_acknowledgment_are_copied_as_they_are():
    """In their canonical form, so that every prefix in them stays bound."""
    text = (
        '<ds:Reference xmlns:ds="http://www.w3.org/2000/09/xmldsig#" URI="cid:a">'
        '<ds:DigestMethod Algorithm="urn:sha256"></ds:DigestMethod>'
        "<ds:DigestValue>AAAA</ds:DigestValue></ds:Reference>"
    )
    reference = SignedReference("cid:a", "urn:sha256", "AAAA", text)
    package = written(Acknowledgment(SIGNAL, changed(ELEMENT, references=(reference,))))
    assert text.encode() in joined(package)
    read = decode(joined(package), package.content_type).content
    assert isinstance(read, Acknowledgment)
    assert read.element is not None
    assert read.element.references == (changed(reference, text=""),)


def test_a_fault_of_ours_has_an_actor_and_details_where_it_has_them():
    fault = SoapFault(
        code=FaultCode.CLIENT,
        code_text="Client",
        text="<no> & no",
        actor="http://b.example.com/",
        details=("a", "b&c"),
    )
    document = ebms2.CODEC.write_fault(fault).encode()
    assert ebms2.CODEC.find_fault(parse(document, None, DEFAULT)) == fault
    _schema().assertValid(etree.fromstring(document))


def test_no_hop_leaves_anything_in_a_document():
    assert ebms2.CODEC.write_routing_header(HOP) == ""
