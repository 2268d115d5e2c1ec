"""The short way to read a header: the same answer as the long way, or none."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import MESSAGE, ROUTING, SIGNAL, SIGNAL_ROUTING, payload

from onceonly.message.errors import RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.message import DeliverySemantics, Message, RoutingHeader
from onceonly.message.signals import Acknowledgment, SignalHeader
from onceonly.message.word import changed
from onceonly.wire import header as header_document
from onceonly.wire.document import Document
from onceonly.wire.limits import DEFAULT, Limits
from onceonly.wire.rm2000 import template, writing
from onceonly.wire.xml import parse

PAYLOAD = payload(b"<a/>", name="PurchaseOrder")


def long_way(header: bytes) -> Document | None:
    """What the tree gives, or None where it is refused."""
    try:
        return header_document.read(parse(header, "utf-8", DEFAULT), None, DEFAULT)
    except RemoteError:
        return None


def short_way(header: bytes) -> Document | None:
    return template.find(header, "utf-8", DEFAULT)


identifiers = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff"), min_size=1)
uris = st.sampled_from(["http://a.example.com/msh", "urn:duns:1", "x:y", "no uri", "http://é/"])
texts = st.text(max_size=20)


@st.composite
def documents(draw) -> bytes:
    """Documents of our writer, with any value that a message can have."""
    routing = RoutingHeader(
        sender_uri=draw(uris),
        receiver_uri=draw(uris),
        error_uri=draw(uris),
        timestamp_at=draw(st.integers(0, 4_000_000_000_000_000)),
        sequence_number=draw(st.none() | st.integers(1, 999_999_999)),
    )
    try:
        ids = (PartyId(draw(uris), draw(st.none() | st.just("DUNS"))),)
        if draw(st.booleans()):
            header = SignalHeader(
                message_id=draw(identifiers),
                from_ids=ids,
                to_ids=ids,
                agreement_id=draw(identifiers),
                conversation_id=draw(identifiers),
                timestamp_at=routing.timestamp_at,
                ref_to_message_id=draw(identifiers),
            )
            unnumbered = RoutingHeader(
                sender_uri=routing.sender_uri,
                receiver_uri=routing.receiver_uri,
                error_uri=routing.error_uri,
                timestamp_at=routing.timestamp_at,
            )
            return writing.write(Acknowledgment(header), unnumbered).encode()
        message = Message(
            message_id=draw(identifiers),
            from_ids=ids,
            to_ids=ids,
            agreement_id=draw(identifiers),
            conversation_id=draw(identifiers),
            service=draw(texts),
            action=draw(texts),
            timestamp_at=routing.timestamp_at,
            semantics=draw(
                st.sampled_from(
                    [DeliverySemantics.ONCE_AND_ONLY_ONCE, DeliverySemantics.BEST_EFFORT]
                )
            ),
            ref_to_message_id=draw(st.none() | identifiers),
            payloads=draw(st.sampled_from([(), (PAYLOAD,), (PAYLOAD, PAYLOAD)])),
        )
        return writing.write(message, routing).encode()
    except RemoteError:
        return b""


@given(documents())
def test_both_ways_agree_on_whatever_we_write(header):
    """The short way may decline; it never says anything else."""
    found = short_way(header)
    assert found is None or found == long_way(header)


def test_an_ordinary_document_goes_the_short_way():
    """Otherwise the module would be there for nothing."""
    message = writing.write(MESSAGE, ROUTING).encode()
    signal = writing.write(Acknowledgment(SIGNAL), SIGNAL_ROUTING).encode()
    assert short_way(message) == long_way(message) is not None
    assert short_way(signal) == long_way(signal) is not None


@pytest.mark.parametrize("content", [MESSAGE, Acknowledgment(SIGNAL)], ids=["normal", "ack"])
def test_both_ways_agree_on_every_small_change(content):
    """One byte replaced, removed or doubled, anywhere: still the same answer, or none."""
    routing = ROUTING if content is MESSAGE else SIGNAL_ROUTING
    header = writing.write(content, routing).encode()
    chance = random.Random("template")
    for place in range(len(header)):
        byte = bytes([chance.randrange(256)])
        for edited in (
            header[:place] + byte + header[place + 1 :],
            header[:place] + header[place + 1 :],
            header[:place] + header[place : place + 1] + header[place:],
        ):
            found = short_way(edited)
            assert found is None or found == long_way(edited), (place, edited)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<SequenceNumber>", "<SequenceNumber>0"),
        ("000000001", "000000000"),
        ("urn:duns:111111111", "111111111"),
        ("cid:", "cid:é"),
        ("http://a.example.com/ebxmlhandler/</SenderURI>", "nowhere</SenderURI>"),
        ("20001002T090000.000Z", "20001302T090000.000Z"),
        ("20001002T090000.000Z", "20001002T240001.000Z"),
        ("OnceAndOnlyOnce", "onceandonlyonce"),
    ],
)
def test_what_is_refused_is_left_to_the_long_way(old, new):
    """One place says what is wrong."""
    header = writing.write(changed(MESSAGE, payloads=(PAYLOAD,)), ROUTING)
    assert old in header
    edited = header.replace(old, new).encode()
    assert short_way(edited) is None
    assert long_way(edited) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("20001002T090000.000Z", "20001002T240000.000Z"),
        ("20001002T090000.000Z", "20001002T090000.000"),
        ("m-0001@a.example.com", "<!-- -->m-0001@a.example.com "),
        ("m-0001@a.example.com", "<![CDATA[m-0001@a.example.com]]>"),
        ("cid:", "CID:"),
        (">QuoteToCollect", "> QuoteToCollect"),
        (">OnceAndOnlyOnce", ">\tOnceAndOnlyOnce"),
        (">tpa-ab-1", ">\r\ntpa-ab-1"),
        ("</ebXMLHeader>", "<!-- end --></ebXMLHeader>"),
        ("<?xml ", "\n<?xml "),
    ],
)
def test_what_is_read_leniently_is_left_to_the_long_way(old, new):
    """R-42: one place knows what is cut, and what is read across."""
    header = writing.write(changed(MESSAGE, payloads=(PAYLOAD,)), ROUTING)
    assert old in header
    edited = header.replace(old, new, 1).encode()
    assert short_way(edited) is None
    assert long_way(edited) is not None


def test_a_reliable_message_without_a_number_is_left_to_the_long_way():
    """S0-48."""
    header = writing.write(MESSAGE, SIGNAL_ROUTING).encode()
    assert short_way(header) is None


@pytest.mark.parametrize(
    ("charset", "limits"),
    [(None, DEFAULT), ("utf-16", DEFAULT), ("utf-8", Limits(elements_max=10))],
)
def test_what_the_layout_does_not_settle_is_left_to_the_long_way(charset, limits):
    """Encodings and limits are the long way's to judge."""
    header = writing.write(MESSAGE, ROUTING).encode()
    assert template.find(header, charset, limits) is None


def test_bytes_that_are_no_utf_8_are_left_to_the_long_way():
    """It names what is wrong with them."""
    assert template.find(b"\xff", "utf-8", DEFAULT) is None
