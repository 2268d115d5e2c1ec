"""Signals, faults, and what is known of a sender who is refused."""

import pytest
from ebms2_samples import (
    ACK,
    ACK_REQUESTED,
    AT,
    DOCUMENT,
    EB,
    FROM_ID,
    HEADER,
    HOP_ACK,
    ID,
    IN_HEADER,
    MANIFEST,
    NEXT,
    OPENING,
    ORDER_BLOCK,
    PLAIN_TYPE,
    SERVICE,
    SYNC_REPLY,
    TIME,
    TO_PARTY,
    decode_document,
    edited,
    entry,
    errors,
    fault_of,
    refusal_of,
    sample_body,
    signal_document,
    told,
    with_block,
    with_body,
)
from wire_samples import Collected

from onceonly.message.errors import ErrorCode, FaultCode, RemoteError, Severity
from onceonly.message.identity import PartyId
from onceonly.message.message import (
    Message,
)
from onceonly.message.profile import Profile
from onceonly.message.signals import (
    Acknowledgment,
    AckStatus,
    Assurance,
    ErrorSignal,
    Inquiry,
    InquiryKind,
    Report,
    SoapFault,
)
from onceonly.message.word import changed
from onceonly.wire import ebms2
from onceonly.wire.document import About
from onceonly.wire.ebms2.verdicts import REFERENCES_MAX
from onceonly.wire.envelope import Decoder, encode_fault, find_fault
from onceonly.wire.limits import DEFAULT
from onceonly.wire.names import REQUESTS
from onceonly.wire.soap import FAULT_DETAILS_MAX
from onceonly.wire.xml import parse

# --- Signals ------------------------------------------------------------------------------------


def signal_of(document: str):
    return decode_document(document).content


@pytest.mark.statement("E2-74")
@pytest.mark.parametrize("extra", ["", ACK_REQUESTED])
def test_an_acknowledgement_that_asks_for_one_is_not_obeyed(extra):
    document = signal_document("Acknowledgment", ACK + extra)
    document = document.replace("</eb:MessageData>", "</eb:MessageData><eb:DuplicateElimination/>")
    signal = signal_of(document)
    assert isinstance(signal, Acknowledgment)
    assert signal.header.ref_to_message_id == "m-0"


@pytest.mark.parametrize(
    ("in_header", "in_block", "about"),
    [
        ("m-0", "", "m-0"),
        ("", "m-0", "m-0"),
        ("m-0", "m-0", "m-0"),
        ("m-0", "m-1", None),
        ("", "", None),
    ],
)
def test_an_acknowledgement_names_its_message_in_either_place(in_header, in_block, about):
    reference = f"<eb:RefToMessageId>{in_block}</eb:RefToMessageId>" if in_block else ""
    block = ACK.replace("<eb:RefToMessageId>m-0</eb:RefToMessageId>", reference)
    document = signal_document("Acknowledgment", block, about=in_header)
    if about is None:
        assert told(document)[0] in (ErrorCode.INCONSISTENT, ErrorCode.OTHER_XML)
        return
    signal = signal_of(document)
    assert isinstance(signal, Acknowledgment)
    assert signal.header.ref_to_message_id == about


def test_an_acknowledgement_of_the_next_msh_stays_apart():
    """It never acknowledges end to end (R-32)."""
    signal = signal_of(signal_document("Acknowledgment", HOP_ACK))
    assert isinstance(signal, Acknowledgment)
    assert signal.element is None
    assert signal.next_element is not None


def test_our_own_status_of_an_acknowledgement_is_read():
    extension = '<AckStatus xmlns="urn:onceonly:extension" assurance="content" passedOn="true"/>'
    signal = signal_of(signal_document("Acknowledgment", ACK + extension))
    assert isinstance(signal, Acknowledgment)
    assert signal.status == AckStatus(Assurance.CONTENT, is_passed_on=True)


@pytest.mark.parametrize(
    ("action", "blocks", "code", "location"),
    [
        ("Acknowledgment", "", ErrorCode.OTHER_XML, f"{IN_HEADER}Acknowledgment"),
        (
            "Acknowledgment",
            ACK.replace(TIME, ""),
            ErrorCode.OTHER_XML,
            f"{IN_HEADER}Acknowledgment",
        ),
        ("MessageError", "", ErrorCode.OTHER_XML, ""),
        ("MessageError", errors(), ErrorCode.OTHER_XML, f"{IN_HEADER}ErrorList"),
        ("MessageError", errors(entry("")), ErrorCode.OTHER_XML, f"{IN_HEADER}ErrorList"),
        (
            "MessageError",
            errors(entry()) + ACK,
            ErrorCode.INCONSISTENT,
            f"{IN_HEADER}Acknowledgment",
        ),
        (
            "MessageError",
            errors(entry()) + HOP_ACK,
            ErrorCode.INCONSISTENT,
            f"{IN_HEADER}Acknowledgment",
        ),
        (
            "Acknowledgment",
            ACK + errors(entry()),
            ErrorCode.INCONSISTENT,
            f"{IN_HEADER}ErrorList",
        ),
        ("StatusRequest", "", ErrorCode.OTHER_XML, "//SOAP:Body/eb:StatusRequest"),
        ("StatusResponse", "", ErrorCode.OTHER_XML, "//SOAP:Body/eb:StatusResponse"),
        (
            "Ping",
            SYNC_REPLY.replace(NEXT, TO_PARTY),
            ErrorCode.OTHER_XML,
            f"{IN_HEADER}SyncReply",
        ),
    ],
    ids=range(11),
)
def test_a_signal_that_does_not_say_what_it_must_is_refused(action, blocks, code, location):
    assert told(signal_document(action, blocks)) == (code, location)


@pytest.mark.parametrize("action", ["MessageError", "Pong", "StatusResponse"])
def test_a_signal_that_refers_to_nothing_is_refused(action):
    blocks = errors(entry()) if action == "MessageError" else ""
    document = signal_document(action, blocks, about="")
    assert told(document) == (ErrorCode.OTHER_XML, f"{AT}/eb:MessageData")


def test_a_signal_has_no_payload():
    error = refusal_of(signal_document("Ping", body=MANIFEST, about=""))
    assert (error.code, error.location) == (ErrorCode.MIME_PROBLEM, "//SOAP:Body/eb:Manifest")


@pytest.mark.parametrize("word", ["StatusRequest", "StatusResponse"])
def test_a_status_in_another_message_is_inconsistent(word):
    element = f'<eb:{word} eb:version="2.0" eb:messageStatus="Received"/>'
    location = f"//SOAP:Body/eb:{word}"
    assert told(with_body(element)) == (ErrorCode.INCONSISTENT, location)
    assert told(signal_document("Ping", body=element)) == (ErrorCode.INCONSISTENT, location)


def test_a_status_request_is_about_the_message_in_its_body():
    """Also where MessageData names it too, for a product that looks there."""
    named = "<eb:RefToMessageId>m-7</eb:RefToMessageId>"
    body = f'<eb:StatusRequest eb:version="2.0">{named}</eb:StatusRequest>'
    for about in ("", "m-7"):
        signal = signal_of(signal_document("StatusRequest", SYNC_REPLY, body, about))
        assert isinstance(signal, Inquiry)
        assert signal.header.ref_to_message_id == "m-7"
        assert signal.header.wants_sync_reply


def test_a_ping_is_about_nothing_and_a_pong_about_the_ping():
    ping = signal_of(signal_document("Ping", about="m-0"))
    pong = signal_of(signal_document("Pong"))
    assert isinstance(ping, Inquiry)
    assert ping.header.ref_to_message_id == ""
    assert isinstance(pong, Report)
    assert (pong.header.ref_to_message_id, pong.is_accepted) == ("m-0", True)


@pytest.mark.statement("E2-61")
@pytest.mark.parametrize(
    ("code", "context", "text", "kept_context"),
    [
        ("NewProblem", "", "NewProblem", ""),
        ("TransientError", "", "TransientError", ""),
        ("MimeProblem", ' eb:codeContext="urn:theirs"', "MimeProblem", "urn:theirs"),
    ],
)
def test_an_error_that_is_not_known_is_kept_as_text(code, context, text, kept_context):
    """A code of ours that the standard does not have is not known either."""
    signal = signal_of(signal_document("MessageError", errors(entry(code, rest=context))))
    assert isinstance(signal, ErrorSignal)
    (error,) = signal.errors
    assert (error.code, error.code_text) == (ErrorCode.UNKNOWN, text)
    assert error.code_context == kept_context


@pytest.mark.statement("E2-60")
def test_several_errors_are_one_signal_about_what_its_header_names():
    blocks = errors(entry(severity="Warning"), entry("MimeProblem"), highest="Warning")
    signal = signal_of(signal_document("MessageError", blocks))
    assert isinstance(signal, ErrorSignal)
    assert signal.header.ref_to_message_id == "m-0"
    assert [one.code for one in signal.errors] == [ErrorCode.UNKNOWN, ErrorCode.MIME_PROBLEM]
    assert "highestSeverity" in signal.errors[0].description


@pytest.mark.statement("E2-62")
def test_a_warning_beside_a_manifest_does_not_stop_the_message():
    envelope = decode_document(with_block(errors(entry(severity="Warning"), highest="Warning")))
    assert isinstance(envelope.content, Message)
    assert [one.severity for one in envelope.warnings] == [Severity.WARNING]


@pytest.mark.statement("E2-57")
def test_an_error_beside_a_manifest_is_inconsistent():
    found = told(with_block(errors(entry())))
    assert found == (ErrorCode.INCONSISTENT, f"{IN_HEADER}ErrorList")


DS = 'xmlns:ds="http://www.w3.org/2000/09/xmldsig#"'
REFERENCE = (
    f'<ds:Reference {DS} URI="cid:a"><ds:DigestMethod Algorithm="urn:d"/>'
    "<ds:DigestValue> AA\nAA </ds:DigestValue></ds:Reference>"
)


def with_reference(reference: str) -> str:
    return signal_document("Acknowledgment", ACK.replace("</eb:Ack", f"{reference}</eb:Ack"))


def test_the_references_of_an_acknowledgement_are_read():
    signal = signal_of(with_reference(REFERENCE))
    assert isinstance(signal, Acknowledgment)
    assert signal.element is not None
    (one,) = signal.element.references
    assert (one.uri, one.digest_method, one.digest_value) == ("cid:a", "urn:d", "AAAA")


@pytest.mark.parametrize(
    "reference",
    [
        f"<ds:Reference {DS}/>",
        REFERENCE.replace("DigestValue", "Value"),
        REFERENCE * (REFERENCES_MAX + 1),
    ],
    ids=["empty", "no value", "too many"],
)
def test_a_reference_without_a_digest_is_told(reference):
    document = with_reference(reference)
    if reference.startswith(REFERENCE):  # its namespaces are too many for a default document
        document = document.replace(DS, "").replace(OPENING, OPENING[:-1] + f" {DS}>")
    assert told(document) == (ErrorCode.OTHER_XML, f"{IN_HEADER}Acknowledgment")


# --- Faults -------------------------------------------------------------------------------------


def fault_in(body: str):
    document = f"{OPENING}<SOAP:Body>{body}</SOAP:Body></SOAP:Envelope>"
    return ebms2.CODEC.find_fault(parse(document.encode(), None, DEFAULT))


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("SOAP:Client", FaultCode.CLIENT),
        ("x:Server.busy", FaultCode.SERVER),
        ("Client", FaultCode.CLIENT),
        ("SOAP:Odd", None),
    ],
)
def test_a_fault_is_read_whatever_its_code(said, code):
    fault = fault_in(f"<SOAP:Fault><faultcode>{said}</faultcode></SOAP:Fault>")
    assert fault is not None
    assert (fault.code, fault.code_text) == (code, said.rpartition(":")[2])


def test_a_fault_with_namespaces_and_much_detail_is_read_bounded():
    leaves = "".join(f"<e><n>{n}</n><x/></e>" for n in range(FAULT_DETAILS_MAX + 1))
    fault = fault_in(
        f"<SOAP:Fault><SOAP:faultcode>Server</SOAP:faultcode><detail>{leaves}</detail></SOAP:Fault>"
    )
    assert fault is not None
    assert fault.details == tuple(map(str, range(FAULT_DETAILS_MAX)))


def test_a_fault_without_a_code_is_refused():
    with pytest.raises(RemoteError, match="faultcode"):
        fault_in("<SOAP:Fault/>")


def test_an_envelope_without_a_fault_has_none():
    assert fault_in("") is None


FAULT = SoapFault(code=FaultCode.CLIENT, code_text="Client", text="no")


def test_an_answer_that_is_a_fault_is_found():
    package = encode_fault(FAULT, Profile.EBMS_2_0)
    assert package.content_type == PLAIN_TYPE
    (document,) = package.segments
    for content_type in (PLAIN_TYPE, "text/xml", "TEXT/XML; charset=utf-8"):
        assert find_fault(content_type, document) == FAULT


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/xml", DOCUMENT.encode()),
        ("text/xml", b"<not xml"),
        ("text/xml", b""),
        ("text/xml", b"<html/>"),
        ("text/html", b"<html/>"),
        ("nonsense", b""),
        ("application/vnd.eb+xml", b""),
    ],
)
def test_every_other_answer_is_none(content_type, body):
    """A proxy's page, a message, or nothing: never an error."""
    assert find_fault(content_type, body) is None


def test_a_fault_is_no_message():
    fault = "<SOAP:Fault><faultcode>x</faultcode></SOAP:Fault>"
    document = f"{OPENING}<SOAP:Body>{fault}</SOAP:Body></SOAP:Envelope>"
    error = refusal_of(document)
    assert (error.fault, "SOAP Fault" in error.description) == (FaultCode.CLIENT, True)


# --- What is known of a sender who is refused ---------------------------------------------------

KNOWN = About(
    message_type="Normal",
    agreement_id="cpa-ab-1",
    from_ids=(PartyId("111111111", "DUNS"),),
    message_id="m-0001@a.example.com",
    conversation_id="conv-1",
    profile=Profile.EBMS_2_0,
)


NO_FROM = edited(("<eb:From>", "<eb:Foo>"))


def about_of(document: str) -> About | None:
    decoder = Decoder(PLAIN_TYPE, Collected)
    with pytest.raises(RemoteError):
        _feed(decoder, document.encode())
    return decoder.about


def _feed(decoder: Decoder, data: bytes) -> None:
    decoder.feed(data)
    decoder.finish()


@pytest.mark.parametrize(
    ("document", "known"),
    [
        (with_block(ORDER_BLOCK + SYNC_REPLY), changed(KNOWN, wants_sync_reply=True)),
        (edited((SERVICE, "")), changed(KNOWN, message_type=None)),
        (edited((ID, ID * 2)), changed(KNOWN, message_id=None)),
        (edited((FROM_ID, "<eb:PartyId>1</eb:PartyId>")), changed(KNOWN, from_ids=())),
        (edited(("</eb:From>", "</eb:Foo>"), document=NO_FROM), changed(KNOWN, from_ids=())),
        (signal_document("Negotiate"), changed(KNOWN, ref_to_message_id="m-0")),
        (
            signal_document("MessageError"),
            changed(KNOWN, message_type="Error", ref_to_message_id="m-0"),
        ),
        (with_block(HEADER), About(profile=Profile.EBMS_2_0)),
        (
            edited(("<eb:MessageData>", "<eb:MessageData/><eb:MessageData>")),
            changed(KNOWN, message_id=None),
        ),
    ],
    ids=range(9),
)
def test_what_is_known_of_the_sender_of_a_refused_document(document, known):
    assert about_of(document) == known


@pytest.mark.parametrize(
    ("about", "is_told"),
    [
        (KNOWN, True),
        (changed(KNOWN, message_type="MessageStatusRequest"), False),
        (changed(KNOWN, message_type=REQUESTS[InquiryKind.CANCEL]), True),
        (changed(KNOWN, message_type=REQUESTS[InquiryKind.CANCEL], profile=Profile.RM_2001), False),
        (About(), False),
    ],
)
def test_a_question_that_no_standard_msh_knows_is_told_so(about, is_told):
    """As a standard MSH tells us; of other signals no sender is told an error (R-20)."""
    assert about.may_be_answered is is_told


def test_what_is_known_of_a_sender_whose_payload_is_missing():
    decoder = Decoder('multipart/related; type="text/xml"; boundary=x', Collected)
    body = sample_body().replace(b"----=_ebms_boundary_1", b"x")
    with pytest.raises(RemoteError):
        _feed(decoder, body.replace(b"po-1@a.example.com>", b"po>"))
    assert decoder.about == KNOWN


@pytest.mark.parametrize("at", range(0, len(DOCUMENT), 97))
def test_a_document_that_is_cut_short_is_a_fault(at):
    """Whatever comes gives a value or a named refusal (R-25)."""
    assert fault_of(DOCUMENT[:at] if at else " ") is FaultCode.CLIENT
    assert EB in DOCUMENT
