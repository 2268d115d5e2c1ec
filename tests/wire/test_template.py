"""The short way to read a header document: the same answer as the long way, or none."""

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_samples import BY_NAME, SAMPLES, Sample, edits
from wire_samples import GOLDEN

from onceonly.message.errors import RemoteError
from onceonly.message.profile import PROFILES, Profile
from onceonly.wire import header, template
from onceonly.wire.codec import Codec
from onceonly.wire.document import Document
from onceonly.wire.limits import DEFAULT, Limits
from onceonly.wire.registry import codec_of
from onceonly.wire.template import LENGTH_MAX, SLOTS_MAX, TEMPLATES_MAX, Templates
from onceonly.wire.xml import parse

MESSAGE, OTHER_MESSAGE = BY_NAME["rm-2000 message"], BY_NAME["rm-2001 message"]
NARROW = (
    DEFAULT,
    Limits(namespaces_max=2),
    Limits(elements_max=25),
    Limits(depth_max=4),
    Limits(attributes_max=3),
    Limits(header_bytes_max=1300),
)
"""Each a value of its own, since templates are learned under one."""


def long_way(document: bytes, profile: Profile, limits: Limits = DEFAULT) -> Document | None:
    """What the tree gives, or None where it is refused."""
    try:
        return header.read(parse(document, "utf-8", limits), profile, limits)
    except RemoteError:
        return None


class Learned:
    """Templates of its own, which have seen some documents."""

    def __init__(self, *documents: bytes, profile: Profile, limits: Limits = DEFAULT) -> None:
        self.templates, self.limits = Templates(), limits
        self.codec, self.profile = codec_of(profile), profile
        for document in documents:
            self.learn(document)
            self.learn(document)

    def learn(self, document: bytes, codec: Codec | None = None) -> None:
        """As after a document that was let in."""
        if long_way(document, self.profile, self.limits) is None:
            return
        self.templates.learn(document, "utf-8", codec or self.codec, self.limits, read=self.read)

    def read(self, document: bytes) -> Document:
        root = parse(document, "utf-8", self.limits)
        return header.read(root, self.profile, self.limits)

    def find(self, document: bytes, charset: str | None = "utf-8") -> Document | None:
        return self.templates.find(document, charset, self.codec, self.limits)


ALL = {
    (profile, limits): Learned(
        *(sample.document for sample in SAMPLES if sample.profile is profile),
        profile=profile,
        limits=limits,
    )
    for profile in PROFILES
    for limits in NARROW
}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_document_like_one_that_was_read_goes_the_short_way(sample: Sample):
    """Otherwise the module would be there for nothing."""
    found = ALL[sample.profile, DEFAULT].find(sample.document)
    assert found == long_way(sample.document, sample.profile) is not None


@pytest.mark.parametrize(
    "new", ["m-2@x", "a", "x" * 255, "1001", "urn:1:0", "it's", '"quoted"', "000000000", "xmlns"]
)
def test_another_value_goes_the_short_way(new):
    """Whatever was in the first one, and whatever template was made with."""
    document = MESSAGE.document.replace(b"m-0001@a.example.com", new.encode())
    found = ALL[Profile.RM_2000, DEFAULT].find(document)
    assert found is not None
    assert found.content.message_id == new


@settings(max_examples=400)
@given(st.data())
def test_both_ways_agree_whatever_is_changed(data):
    """The short way may decline; it never says anything else. Under every limit."""
    sample = data.draw(st.sampled_from(SAMPLES))
    limits = data.draw(st.sampled_from(NARROW))
    edited = data.draw(edits(sample.document))
    found = ALL[sample.profile, limits].find(edited)
    assert found is None or found == long_way(edited, sample.profile, limits)


@settings(max_examples=200)
@given(st.data())
def test_both_ways_agree_whatever_was_learned(data):
    """An odd document teaches nothing that is wrong of another odd one."""
    sample = data.draw(st.sampled_from(SAMPLES))
    first = data.draw(edits(sample.document))
    learned = Learned(first, profile=sample.profile)
    second = data.draw(edits(first))
    for document in (first, second, sample.document):
        found = learned.find(document)
        assert found is None or found == long_way(document, sample.profile)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_both_ways_agree_on_every_small_change(sample: Sample):
    """One byte replaced, removed or doubled, anywhere: still the same answer, or none."""
    document, chance = sample.document, random.Random("template")
    learned = ALL[sample.profile, DEFAULT]
    for place in range(len(document)):
        byte = bytes([chance.randrange(256)])
        for edited in (
            document[:place] + byte + document[place + 1 :],
            document[:place] + document[place + 1 :],
            document[:place] + document[place : place + 1] + document[place:],
        ):
            found = learned.find(edited)
            assert found is None or found == long_way(edited, sample.profile), (place, edited)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<SequenceNumber>", "<SequenceNumber>0"),
        ("000000001", "000000000"),
        ("urn:duns:111111111", "111111111"),
        ("cid:", "cid:é"),
        ("cid:", "mid:"),
        ("http://a.example.com/ebxmlhandler/</SenderURI>", "nowhere</SenderURI>"),
        ("20001002T090000.000Z", "20001302T090000.000Z"),
        ("20001002T090000.000Z", "20001002T240000.001Z"),
        ("OnceAndOnlyOnce", "onceandonlyonce"),
        ("order.xml", "x" * 256),
    ],
)
def test_what_is_refused_is_left_to_the_long_way(old, new):
    """One place says what is wrong."""
    edited = MESSAGE.document.replace(old.encode(), new.encode(), 1)
    assert edited != MESSAGE.document
    assert ALL[Profile.RM_2000, DEFAULT].find(edited) is None
    assert long_way(edited, Profile.RM_2000) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("m-0001@a.example.com", "<!-- -->m-0001@a.example.com "),
        ("m-0001@a.example.com", "<![CDATA[m-0001@a.example.com]]>"),
        ("m-0001@a.example.com", "&#109;-0001@a.example.com"),
        (">QuoteToCollect", "> QuoteToCollect"),
        (">OnceAndOnlyOnce", ">\tOnceAndOnlyOnce"),
        (">tpa-ab-1", ">\r\ntpa-ab-1"),
        ("</ebXMLHeader>", "<!-- end --></ebXMLHeader>"),
        ("<?xml ", "\n<?xml "),
    ],
)
def test_what_is_read_leniently_is_left_to_the_long_way(old, new):
    """R-42: one place knows what is cut, and what is read across."""
    edited = MESSAGE.document.replace(old.encode(), new.encode(), 1)
    assert ALL[Profile.RM_2000, DEFAULT].find(edited) is None
    assert long_way(edited, Profile.RM_2000) is not None


def test_a_service_of_signals_is_no_value_of_a_message():
    """In rm-2001 it says what the document is (seed 001 §1.3.3.1)."""
    stem = b"http://www.ebxml.org/namespaces/messageService/"
    document = OTHER_MESSAGE.document.replace(b"urn:services:QuoteToCollect", stem + b"Other")
    assert ALL[Profile.RM_2001, DEFAULT].find(document) is None


def test_a_message_and_a_signal_of_one_layout_are_told_apart():
    """Their Service and Action are all that differs."""
    plain = BY_NAME["rm-2001 without payload"].document
    stem = b"http://www.ebxml.org/namespaces/messageService/MessageAcknowledgment"
    reference = b"</Timestamp>\r\n      <RefToMessageId>m-0</RefToMessageId>"
    answer = plain.replace(b"</Timestamp>", reference, 1)
    signal = answer.replace(b"urn:services:QuoteToCollect", stem)
    signal = signal.replace(b"NewPurchaseOrder", b"Acknowledgment")
    learned = Learned(answer, signal, profile=Profile.RM_2001)
    for document in (answer, signal):
        assert learned.find(document) == long_way(document, Profile.RM_2001) is not None
    assert type(learned.find(answer).content) is not type(learned.find(signal).content)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # A leaf that nobody reads: its text comes out nowhere.
        ("  <Header>", '  <Other xmlns="urn:other">text</Other>\r\n  <Header>'),
        # Texts in a comment or a section are none.
        ("  <Header>", "  <!-- <PartyId>text</PartyId> -->\r\n  <Header>"),
        ("<MessageId>m-0001", "<MessageId><![CDATA[<a>x</]]>m-0001"),
        # Half of a text.
        ("<MessageId>m-", "<MessageId>m>"),
        # Two names of one party have to differ, so no value stands for itself.
        ("<From>", '<From><PartyId type="DUNS">1</PartyId>'),
        # A value that says what a made-up document would say in an element that nobody reads.
        (
            "<MessageId>m-0001@a.example.com</MessageId>",
            '<Other xmlns="urn:other">text</Other><MessageId>&#117;rn:1:8</MessageId>',
        ),
        ("cid:po-1", "cid:x&#45;1"),
    ],
)  # fmt: skip
def test_what_does_not_come_out_makes_no_template(old, new):
    """Then each document of the layout is read the long way."""
    document = MESSAGE.document.replace(old.encode(), new.encode(), 1)
    assert document != MESSAGE.document
    assert long_way(document, Profile.RM_2000) is not None
    assert Learned(document, profile=Profile.RM_2000).find(document) is None


def test_a_number_of_declarations_that_slots_make_is_left_to_the_long_way():
    """It counts them by their name, wherever that stands."""
    limits = Limits(namespaces_max=1)
    learned = Learned(MESSAGE.document, profile=Profile.RM_2000, limits=limits)
    assert learned.find(MESSAGE.document) is not None
    edited = MESSAGE.document.replace(b"QuoteToCollect", b"xmlns")
    assert learned.find(edited) is None
    assert long_way(edited, Profile.RM_2000, limits) is None


def test_a_reference_that_stands_there_twice_is_left_to_the_long_way():
    """P8: no part has two names."""
    two = BY_NAME["rm-2000 two payloads"].document
    edited = two.replace(b"po%2D2@a.example.com", b"po-1@a.example.com")
    assert ALL[Profile.RM_2000, DEFAULT].find(edited) is None
    assert long_way(edited, Profile.RM_2000) is None


def test_what_a_slot_is_depends_on_more_than_the_order_of_constants():
    """A document in which the quotes of an attribute are tags is another layout, though no text
    is missing."""
    document = OTHER_MESSAGE.document.replace(b' xlink:title="order.xml"', b"")
    learned = Learned(document, profile=Profile.RM_2001)
    # Each text stands one place further on, so that all of them are right for where they are taken.
    first, *texts = re.findall(rb">([^<\s]+)</", document)
    texts = iter([*texts, b"x"])
    forged = re.sub(rb">([^<\s]+)</", lambda _: b">%s</" % next(texts), document)
    attribute, leaves = b'="cid:po-1@a.example.com"', b'>po-1@a.example.com</="cid:>%s</"' % first
    forged = forged.replace(attribute, leaves)
    assert learned.find(document) is not None
    assert learned.find(forged) is None
    assert long_way(forged, Profile.RM_2001) is None


def test_a_layout_is_one_of_the_limits_under_which_it_was_read():
    """Under narrower ones its documents may be refused."""
    templates, codec = ALL[Profile.RM_2000, DEFAULT].templates, codec_of(Profile.RM_2000)
    assert templates.find(MESSAGE.document, "utf-8", codec, Limits(elements_max=10)) is None


def test_a_document_that_became_too_long_is_left_to_the_long_way():
    """By its values alone."""
    limits = Limits(header_bytes_max=len(MESSAGE.document))
    learned = Learned(MESSAGE.document, profile=Profile.RM_2000, limits=limits)
    assert learned.find(MESSAGE.document) is not None
    longer = MESSAGE.document.replace(b"QuoteToCollect", b"QuoteToCollect2")
    assert learned.find(longer) is None
    assert long_way(longer, Profile.RM_2000, limits) is None


@pytest.mark.parametrize("charset", [None, "utf-16", "UTF-8"])
def test_a_layout_is_one_of_a_charset(charset):
    """Encodings are the long way's to judge."""
    assert ALL[Profile.RM_2000, DEFAULT].find(MESSAGE.document, charset) is None


@pytest.mark.parametrize("document", [b"\xff", b"", MESSAGE.document.decode().encode("utf-16")])
def test_what_is_no_document_is_left_to_the_long_way(document):
    """It names what is wrong with it."""
    assert ALL[Profile.RM_2000, DEFAULT].find(document) is None


def test_a_document_without_a_declared_profile_is_left_to_the_long_way():
    """Its root says which it is."""
    header.learn(MESSAGE.document, "utf-8", None, DEFAULT)
    header.learn(MESSAGE.document, "utf-8", None, DEFAULT)
    assert header.find(MESSAGE.document, "utf-8", None, DEFAULT) is None


def test_a_codec_that_names_no_leaves_has_no_templates():
    """A profile begins without a short way."""
    plain = replace(codec_of(Profile.RM_2000), leaf=None)
    learned = Learned(profile=Profile.RM_2000)
    for _ in range(3):
        learned.learn(MESSAGE.document, plain)
    assert learned.templates.find(MESSAGE.document, "utf-8", plain, DEFAULT) is None


# --- What is kept -------------------------------------------------------------------------------


def of_layout(number: int) -> bytes:
    """A document of a layout of its own."""
    spaces = b" " * number
    return MESSAGE.document.replace(b"  <Header>", spaces + b"<Header>", 1)


def test_a_layout_is_learned_when_it_was_seen_twice():
    """What comes once pushes nothing out."""
    learned = Learned(profile=Profile.RM_2000)
    learned.learn(MESSAGE.document)
    assert learned.find(MESSAGE.document) is None
    learned.learn(MESSAGE.document.replace(b"m-0001", b"m-0002"))
    assert learned.find(MESSAGE.document) is not None
    learned.learn(MESSAGE.document)
    assert learned.find(MESSAGE.document) is not None


def test_what_comes_once_is_not_remembered_for_ever():
    """Not even that it came."""
    learned = Learned(profile=Profile.RM_2000)
    learned.learn(of_layout(0))
    for number in range(1, template.SIGHTINGS_MAX + 1):
        learned.learn(of_layout(number))
    learned.learn(of_layout(0))
    assert learned.find(of_layout(0)) is None


def test_there_are_no_more_templates_than_the_most():
    """The oldest that nobody uses gives way."""
    documents = [of_layout(number) for number in range(TEMPLATES_MAX + 10)]
    learned = Learned(*documents, profile=Profile.RM_2000)
    known = [number for number, one in enumerate(documents) if learned.find(one) is not None]
    assert known == list(range(10, TEMPLATES_MAX + 10))


def test_strange_layouts_do_not_displace_one_that_is_in_use():
    """However many come, if it is used now and then."""
    learned = Learned(MESSAGE.document, profile=Profile.RM_2000)
    for number in range(3, 3 * TEMPLATES_MAX):
        assert learned.find(MESSAGE.document) is not None
        learned.learn(of_layout(number))
        learned.learn(of_layout(number))


def test_a_long_document_has_no_template():
    """What is kept has a bound."""
    shorter = of_layout(LENGTH_MAX - len(of_layout(0)))
    longer = of_layout(LENGTH_MAX - len(of_layout(0)) + 1)
    learned = Learned(shorter, longer, profile=Profile.RM_2000)
    assert [learned.find(one) is not None for one in (shorter, longer)] == [True, False]


def test_a_document_with_very_many_values_has_no_template():
    """Sixty-four are room for twenty payloads."""
    reference = b"    <DocumentReference><DocumentId>cid:%d</DocumentId></DocumentReference>\r\n"
    references = b"".join(reference % number for number in range(SLOTS_MAX))
    document = MESSAGE.document.replace(b"  </Manifest>", references + b"  </Manifest>")
    assert len(document) <= LENGTH_MAX
    assert long_way(document, Profile.RM_2000) is not None
    assert Learned(document, profile=Profile.RM_2000).find(document) is None


@pytest.mark.parametrize("name", ["error", "ping", "status-response"])
def test_signals_that_are_seldom_sent_have_no_template(name):
    """They would only take the place of those that are."""
    body = (GOLDEN / f"{name}.mime").read_bytes()
    start = body.index(b"<?xml")
    document = body[start : body.index(b"\r\n--", start)]
    assert long_way(document, Profile.RM_2000) is not None
    assert Learned(document, profile=Profile.RM_2000).find(document) is None


# --- ebms-2.0 -----------------------------------------------------------------------------------

SOAP_MESSAGE, SOAP_ACK = BY_NAME["ebms-2.0 everything"], BY_NAME["ebms-2.0 acknowledgement"]


def test_an_acknowledgement_that_names_two_messages_is_left_to_the_long_way():
    """Its RefToMessageId is there twice, and both must say the same."""
    learned = ALL[Profile.EBMS_2_0, DEFAULT]
    name = b"m-0001@a.example.com"
    assert SOAP_ACK.document.count(name) == 2
    both = SOAP_ACK.document.replace(name, b"m-7")
    assert learned.find(both) == long_way(both, Profile.EBMS_2_0) is not None
    one = SOAP_ACK.document.replace(name, b"m-7", 1)
    assert learned.find(one) is None
    assert long_way(one, Profile.EBMS_2_0) is None


def test_a_response_may_acknowledge_another_message_than_it_answers():
    """Both names are values of their own there."""
    learned = ALL[Profile.EBMS_2_0, DEFAULT]
    edited = SOAP_MESSAGE.document.replace(b"m-00@", b"m-8@").replace(b"m-0@", b"m-9@")
    found = learned.find(edited)
    assert found == long_way(edited, Profile.EBMS_2_0) is not None
    assert found.content.ref_to_message_id.startswith("m-9@")
    assert found.content.acknowledgment.ref_to_message_id.startswith("m-8@")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("message", "urn:services:QuoteToCollect", "QuoteToCollect"),
        ("message", "http://example.com/roles/Buyer", " Buyer"),
        ("everything", ">7<", ">100000000<"),
        ("everything", "m-00@b.example.com", "m 0"),
        ("acknowledgement", "m-0001@a.example.com", "m 1"),
    ],
)
def test_what_only_ebms_2_0_refuses_is_left_to_the_long_way(name, old, new):
    """A Service that is no URI needs a type; and what the older profiles do not have."""
    document = BY_NAME[f"ebms-2.0 {name}"].document
    edited = document.replace(old.encode(), new.encode())
    assert edited != document
    assert ALL[Profile.EBMS_2_0, DEFAULT].find(edited) is None


def test_a_service_with_a_type_may_be_any_text_on_the_short_way():
    """The type stands in the layout."""
    edited = SOAP_MESSAGE.document.replace(b"Quote to collect", b"Another one")
    assert ALL[Profile.EBMS_2_0, DEFAULT].find(edited).content.service == "Another one"


def test_a_description_is_cut_and_freed_of_blanks_on_both_ways():
    """People read it, and nothing depends on it."""
    for text in (b"  of paper ", b"x" * 4_095 + b" y", b"x" * 5_000):
        edited = SOAP_MESSAGE.document.replace(b"An order", text)
        found = ALL[Profile.EBMS_2_0, DEFAULT].find(edited)
        assert found == long_way(edited, Profile.EBMS_2_0) is not None


def test_a_signed_document_has_no_template():
    """Its signature is verified over the bytes that came."""
    signature = b'<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/></SOAP:Header>'
    document = SOAP_MESSAGE.document.replace(b"</SOAP:Header>", signature)
    found = long_way(document, Profile.EBMS_2_0)
    assert found is not None
    assert found.signature is not None
    assert Learned(document, profile=Profile.EBMS_2_0).find(document) is None


def test_a_layout_that_can_have_no_template_is_not_tried_again():
    """To find it out takes two more readings."""
    readings = []

    def read(document: bytes) -> Document:
        readings.append(document)
        return header.read(parse(document, "utf-8", DEFAULT), Profile.RM_2000, DEFAULT)

    other = b'  <Other xmlns="urn:other">text</Other>\r\n  <Header>'
    document = MESSAGE.document.replace(b"  <Header>", other, 1)
    templates, codec = Templates(), codec_of(Profile.RM_2000)
    for _ in range(6):
        templates.learn(document, "utf-8", codec, DEFAULT, read=read)
    assert len(readings) == 1
