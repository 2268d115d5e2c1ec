"""What is known of who sent a package of ebMS 2.0 that is refused, or not read yet."""

import pytest
from ebms2_samples import (
    DOCUMENT,
    PACKAGE_TYPE,
    SOAP,
    edited,
    message_of,
    sample_body,
    with_block,
)

from onceonly.message.errors import FaultCode, RemoteError
from onceonly.message.profile import Profile
from onceonly.wire.document import About
from onceonly.wire.envelope import Decoder, find_declared_profile

FAULT = (
    f'<SOAP:Envelope xmlns:SOAP="{SOAP}"><SOAP:Body><SOAP:Fault><faultcode>SOAP:Client</faultcode>'
    "<faultstring>no</faultstring></SOAP:Fault></SOAP:Body></SOAP:Envelope>"
)


def about(document: str) -> About:
    """What is known of the refused document."""
    decoder = Decoder(PACKAGE_TYPE, lambda _: pytest.fail("a part of a refused package was kept"))
    with pytest.raises(RemoteError):
        decoder.feed(sample_body(document))
    assert decoder.about is not None
    return decoder.about


def test_the_sender_of_a_block_that_is_not_understood_is_known():
    """So that it can be told where the transport has no answer (§14)."""
    block = '<x:Y xmlns:x="urn:x" SOAP:mustUnderstand="1"/>'
    known = about(with_block(block))
    sent = message_of(DOCUMENT)
    assert (known.message_id, known.agreement_id) == (sent.message_id, sent.agreement_id)
    assert known.from_ids == sent.from_ids
    assert known.fault is None


def test_a_name_that_nobody_may_have_is_not_known():
    """The rest of the header is."""
    known = about(edited(("<eb:CPAId>", f"<eb:CPAId>{'a' * 10_000}")))
    assert known.agreement_id is None
    assert known.from_ids == message_of(DOCUMENT).from_ids


def test_a_fault_that_comes_by_itself_is_known_as_one():
    known = about(FAULT)
    assert known.fault is not None
    assert (known.fault.code, known.fault.text) == (FaultCode.CLIENT, "no")
    assert known.message_id is None


@pytest.mark.parametrize(
    "document",
    [
        FAULT.replace("<faultcode>SOAP:Client</faultcode>", ""),
        FAULT.replace("<SOAP:Body>", "<SOAP:Body/><SOAP:Body>"),
        FAULT.replace("SOAP:Fault", "SOAP:Default"),
    ],
)
def test_what_is_no_fault_is_none(document):
    assert about(document).fault is None


@pytest.mark.parametrize(
    ("content_type", "profile"),
    [
        (PACKAGE_TYPE, Profile.EBMS_2_0),
        ("text/xml", Profile.EBMS_2_0),
        ('multipart/related; boundary="b"', None),
        ("image/png", None),
        ("", None),
    ],
)
def test_the_type_of_a_package_says_its_profile_or_none(content_type, profile):
    """Before a byte of it was read."""
    assert find_declared_profile(content_type) is profile
