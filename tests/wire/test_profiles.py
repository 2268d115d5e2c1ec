"""Which profile a package is of, and what is known of the sender of one of rm-2001."""

import pytest
import rm2001_samples
import wire_samples
from rm2001_samples import DOCUMENT, STEM, edited, sample_body, signal_document
from wire_samples import about_of, body_of, decode, header_part, part

from onceonly.message.errors import ErrorCode
from onceonly.message.identity import PartyId
from onceonly.message.profile import Profile
from onceonly.message.word import changed
from onceonly.wire.envelope import About

PACKAGE_TYPE = rm2001_samples.PACKAGE_TYPE
HEADER_TYPE = rm2001_samples.HEADER_TYPE
UNSAID = '; version="0.93"'


def package(document: str, header_type: str = HEADER_TYPE) -> bytes:
    payload = part(wire_samples.PAYLOAD_HEAD, wire_samples.PAYLOAD)
    return body_of(header_part(document, header_type), payload)


@pytest.mark.parametrize(
    ("package_type", "header_type"),
    [
        (PACKAGE_TYPE, HEADER_TYPE),
        (PACKAGE_TYPE.replace(UNSAID, ""), HEADER_TYPE),
        (PACKAGE_TYPE, HEADER_TYPE.replace(UNSAID, "")),
        (PACKAGE_TYPE.replace(UNSAID, ""), HEADER_TYPE.replace(UNSAID, "")),
        (PACKAGE_TYPE.replace("0.93", "0.91"), HEADER_TYPE.replace("0.93", "0.99")),
    ],
)
def test_the_versions_of_a_package_agree_on_its_profile(package_type, header_type):
    """0.90 to 0.99 are one profile; a parameter that is missing says nothing."""
    envelope = decode(package(DOCUMENT, header_type), package_type)
    assert envelope.profile is Profile.RM_2001


@pytest.mark.parametrize("version", ["0.21", "0.8", "0.80", "0.9", "0.089", "0.921"])
def test_other_drafts_before_soap_are_rm_2000(version):
    """The root alone may say so."""
    document = wire_samples.edited(('Version="0.21"', f'Version="{version}"'))
    content_type = wire_samples.PACKAGE_TYPE.replace("0.21", version)
    header_type = wire_samples.HEADER_TYPE.replace("0.21", version)
    assert decode(package(document, header_type), content_type).profile is Profile.RM_2000


@pytest.mark.parametrize(
    ("document", "package_type", "header_type"),
    [
        (DOCUMENT, wire_samples.PACKAGE_TYPE, HEADER_TYPE),
        (DOCUMENT, PACKAGE_TYPE, wire_samples.HEADER_TYPE),
        (DOCUMENT, wire_samples.PACKAGE_TYPE, wire_samples.HEADER_TYPE),
        (wire_samples.DOCUMENT, PACKAGE_TYPE, HEADER_TYPE),
        (wire_samples.DOCUMENT, PACKAGE_TYPE, wire_samples.HEADER_TYPE),
        (edited(('version="0.93"', 'version="0.21"')), PACKAGE_TYPE, HEADER_TYPE),
        (edited(('version="0.93"', 'Version="0.93"')), PACKAGE_TYPE, HEADER_TYPE),
        (
            wire_samples.edited(('Version="0.21"', 'Version="0.93"')),
            wire_samples.PACKAGE_TYPE,
            wire_samples.HEADER_TYPE,
        ),
    ],
)
def test_versions_of_two_profiles_in_one_package_are_refused(document, package_type, header_type):
    """Nobody may read it as the one while we read it as the other."""
    refused = wire_samples.refusal(package(document, header_type), package_type)
    assert refused.code is ErrorCode.INCONSISTENT


def test_our_own_layout_of_rm_2000_in_a_package_of_rm_2001_is_refused():
    """The short way of reading is not taken past the versions."""
    written = wire_samples.written(wire_samples.MESSAGE, wire_samples.ROUTING)
    body = wire_samples.joined(written).replace(b'xml; version="0.21"', b'xml; version="0.93"')
    assert wire_samples.refusal(body, PACKAGE_TYPE).code is ErrorCode.INCONSISTENT


@pytest.mark.parametrize(
    ("version", "code"),
    [
        ("1.0", ErrorCode.NOT_SUPPORTED),
        ("10.93", ErrorCode.NOT_SUPPORTED),
        ("00.93", ErrorCode.NOT_SUPPORTED),
        ("2.0", ErrorCode.NOT_SUPPORTED),
        ("", ErrorCode.OTHER_XML),
        ("latest", ErrorCode.OTHER_XML),
        ("0.9 3", ErrorCode.OTHER_XML),
        ("0.00093", ErrorCode.OTHER_XML),
    ],
)
def test_a_version_that_we_do_not_know_is_refused_wherever_it_stands(version, code):
    """In the package, in the part, on the root."""
    other = f'version="{version}"'
    for document, package_type, header_type in (
        (DOCUMENT, PACKAGE_TYPE.replace('version="0.93"', other), HEADER_TYPE),
        (DOCUMENT, PACKAGE_TYPE, HEADER_TYPE.replace('version="0.93"', other)),
        (edited(('version="0.93"', other)), PACKAGE_TYPE, HEADER_TYPE),
    ):
        refused = wire_samples.refusal(package(document, header_type), package_type)
        assert refused.code is code


# --- What is known of the sender of a refused message ------------------------------------------

KNOWN = About(
    "Normal",
    "cpa-ab-1",
    (PartyId("111111111", "DUNS"),),
    "m-0001@a.example.com",
    "conv-1",
    "http://a.example.com/ebxmlhandler/",
    "http://b.example.com/ebxmlhandler/",
    profile=Profile.RM_2001,
)
HOP = DOCUMENT[DOCUMENT.index("    <RoutingHeader ") : DOCUMENT.index("  </RoutingHeaderList>")]
SERVICE = "<Service>urn:services:QuoteToCollect</Service>"


@pytest.mark.parametrize(
    "body",
    [
        sample_body()[:-30],
        body_of(header_part(DOCUMENT, HEADER_TYPE)),
        sample_body(edited(("OnceAndOnlyOnce", "Sometimes"))),
        sample_body(edited(('"Unsigned"', '"Maybe"'))),
        sample_body(edited(('<To><PartyId type="DUNS">222222222</PartyId></To>', ""))),
        sample_body(edited(('version="0.93"', 'version="x"'))),
    ],
)
def test_the_sender_is_known_when_what_follows_is_refused(body):
    """The error about a broken message still finds its way to the partner."""
    assert about_of(body, PACKAGE_TYPE) == KNOWN


@pytest.mark.parametrize(
    ("edits", "unknown"),
    [
        ([("cpa-ab-1", "cpa ab 1")], {"agreement_id": None}),
        ([("<MessageId>", "<MessageId>m-2</MessageId><MessageId>")], {"message_id": None}),
        ([('<PartyId type="DUNS">1', "<PartyId>1")], {"from_ids": ()}),
        ([(SERVICE, "")], {"message_type": None}),
        ([(SERVICE, SERVICE * 2)], {"message_type": None}),
        ([("<Action>NewPurchaseOrder</Action>", "")], {"message_type": None}),
        ([(SERVICE, f"<Service> {STEM}x</Service>")], {"message_type": None}),
        ([(HOP, "")], {"sender_uri": None, "receiver_uri": None}),
    ],
)
def test_only_what_is_readable_and_unambiguous_is_known_of_the_sender(edits, unknown):
    """What might be a signal is nobody's business message, and is never answered (R-20)."""
    about = about_of(sample_body(edited(("OnceAndOnlyOnce", "Sometimes"), *edits)), PACKAGE_TYPE)
    assert about == changed(KNOWN, **unknown)


@pytest.mark.parametrize(
    ("service", "action", "word"),
    [
        ("MessageAcknowledgment", "Acknowledgment", "Acknowledgement"),
        ("MessageDeliveryReceipt", "DeliveryReceipt", "DeliveryReceipt"),
        ("MessageError", "MessageError", "Error"),
        ("MessageAvailability", "Ping", "Ping"),
        ("MessageStatus", "StatusRequest", "StatusRequest"),
        ("MessageStatus", "StatusResponse", "StatusResponse"),
    ],
)
def test_the_sender_of_a_signal_is_known_as_such(service, action, word):
    """Whoever refuses a signal must see that it is one, and stay silent."""
    document = signal_document(service, action, "<Acknowledgment/><Acknowledgment/>")
    about = about_of(sample_body(document), PACKAGE_TYPE)
    assert about is not None
    assert (about.message_type, about.ref_to_message_id) == (word, "m-0")


def test_the_last_hop_is_where_the_message_came_from():
    """§1.3.3.1: with several RoutingHeaders the last one is the current hop."""
    second = HOP.replace("http://a.", "http://router.")
    about = about_of(
        sample_body(edited((HOP, HOP + second), ("OnceAndOnlyOnce", "Sometimes"))), PACKAGE_TYPE
    )
    assert about is not None
    assert about.sender_uri == "http://router.example.com/ebxmlhandler/"
