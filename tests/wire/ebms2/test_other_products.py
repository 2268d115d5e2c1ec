"""Messages of other products, which the specification keeps beside its examples."""

import pytest
from ebms2_samples import (
    SAMPLES,
    decode,
    decode_document,
    file_of,
    filled,
    refusal_of,
    sample_body,
)

from onceonly.message.errors import ErrorCode, FaultCode
from onceonly.message.message import AckRequested, Message, SchemaLocation, SyncReplyMode
from onceonly.message.signals import Acknowledgment, ErrorSignal, Inquiry
from onceonly.wire import ebms2
from onceonly.wire.limits import DEFAULT
from onceonly.wire.xml import parse

NHS = SAMPLES / "nhs" / "mhs"
CORE = SAMPLES / "ebms-core" / "core/src/test/resources/nl/clockwork/ebms/soap"


@pytest.mark.statement("E2-09", "E2-10")
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("name", ["ebxml_request", "ebxml_request_one_attachment"])
def test_a_request_of_an_adaptor_is_read(name, line_end):
    """Lines that end in LF, a bare `start` without brackets, and Manifest elements of others."""
    folder = NHS / "common/mhs_common/messages/tests/test_messages"
    document = file_of(folder, f"{name}.ebxml")
    body = file_of(folder, f"{name}.msg").replace(b"{{ebxml}}", document)
    body = body.replace(b"\r\n", b"\n").replace(b"\n", line_end)
    content_type = (
        'multipart/related; boundary="--=_MIME-Boundary"; type="text/xml"; '
        "start=ebXMLHeader@spine.nhs.uk"
    )
    envelope = decode(body, content_type)
    content = envelope.content
    assert isinstance(content, Message)
    assert content.message_id == "C614484E-4B10-499A-9ACD-5D645CFACF61"
    assert content.ack_requested is AckRequested.UNSIGNED
    assert content.sync_reply_mode is SyncReplyMode.SIGNALS_AND_RESPONSE
    first, *others = content.payloads
    assert first.description == "HL7 payload"
    assert first.schemas == (
        SchemaLocation("http://www.nhsia.nhs.uk/schemas/HL7-Message.xsd", "1.0"),
    )
    assert envelope.sinks[0].data == b'<hl7:MCCI_IN010000UK13 xmlns:hl7="urn:hl7-org:v3"/>'
    assert [one.description for one in others] == ["Some description"][: len(others)]


def test_a_request_without_duplicate_elimination_says_so():
    """The flags are two, and the header is obeyed (R-29)."""
    folder = NHS / "common/mhs_common/messages/tests/test_messages"
    document = file_of(folder, "ebxml_request_no_duplicate_elimination.ebxml")
    name = b"C614484E-4B10-499A-9ACD-5D645CFACF61@spine.nhs.uk"
    content = decode(sample_body(document.replace(name, b"po-1@a.example.com"))).content
    assert isinstance(content, Message)
    assert content.duplicate_elimination is False
    assert content.ack_requested is AckRequested.UNSIGNED


@pytest.mark.parametrize(
    ("name", "descriptions"),
    [
        (
            "common/mhs_common/messages/tests/test_messages/ebxml_response_error_single.xml",
            ["501319:Unknown eb:CPAId"],
        ),
        (
            "common/mhs_common/messages/tests/test_messages/ebxml_response_error_multiple.xml",
            ["501319:Unknown eb:CPAId", "501320:Unknown something else"],
        ),
        (
            "inbound/inbound/request/tests/messages/ebxml_nack.xml",
            ["501314:Invalid To Party Type attribute"],
        ),
    ],
)
@pytest.mark.statement("E2-60")
def test_an_error_of_a_spine_is_taken_whole(name, descriptions):
    """A Timestamp without a zone, an Error without a context, several in one list."""
    content = decode(file_of(NHS, name), "text/xml").content
    assert isinstance(content, ErrorSignal)
    assert [one.description for one in content.errors] == descriptions
    assert {one.code for one in content.errors} == {ErrorCode.VALUE_NOT_RECOGNIZED}


def test_an_acknowledgment_of_a_spine_is_read():
    """Its own Timestamp is years older than the header's."""
    content = decode(
        file_of(NHS, "inbound/inbound/request/tests/messages/ebxml_ack.xml"), "text/xml"
    ).content
    assert isinstance(content, Acknowledgment)
    assert content.header.ref_to_message_id == "C614484E-4B10-499A-9ACD-5D645CFACF61"


def test_a_fault_of_a_spine_is_read_with_the_codes_in_its_detail():
    """`retriable_faults` of an agreement are among them."""
    document = file_of(
        SAMPLES / "nhs/integration-tests/fake_spine/fake_spine/configured_responses",
        "soap_fault_that_should_be_retried.xml",
    )
    fault = ebms2.CODEC.find_fault(parse(document, None, DEFAULT))
    assert fault is not None
    assert (fault.code, fault.text) == (FaultCode.SERVER, "Application Exception")
    assert "206" in fault.details


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("EbMSMessage", Message),
        ("EbMSMessageNextMshAckRequested", Message),
        ("EbMSMessageWithAttachments", Message),
        ("EbMSMessageStatus", Inquiry),
        ("EbMSPing", Inquiry),
    ],
)
def test_a_message_of_a_java_product_is_read(name, kind):
    """A comment before the root, other prefixes, and a SyncReply on every kind of message."""
    content = decode_document(filled(file_of(CORE, f"{name}.xml").decode())).content
    assert isinstance(content, kind)
    if isinstance(content, Message):
        assert content.sync_reply_mode is SyncReplyMode.SIGNALS_AND_RESPONSE
        is_next = name == "EbMSMessageNextMshAckRequested"
        asked = (content.ack_requested, content.next_ack_requested)
        assert asked[is_next] is AckRequested.UNSIGNED
        assert asked[not is_next] is AckRequested.NONE
    else:
        assert content.header.wants_sync_reply


def test_a_document_type_of_a_java_product_is_refused():
    """The entity that it declares is never resolved."""
    error = refusal_of(filled(file_of(CORE, "EbMSPingXXE.xml").decode()))
    assert (error.code, error.fault) == (ErrorCode.OTHER_XML, FaultCode.CLIENT)
    assert "DOCTYPE" in error.description
