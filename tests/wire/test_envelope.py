"""The two public functions together: what the specification shows, what we write, what returns."""

from io import BytesIO
from itertools import pairwise

import pytest
from hypothesis import example as case
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from wire_samples import (
    BOUNDARY,
    GOLDEN,
    MESSAGE,
    PACKAGE_TYPE,
    PAYLOAD,
    ROUTING,
    SIGNAL,
    SIGNAL_ROUTING,
    body_of,
    collected,
    decode,
    example,
    example_package,
    header_part,
    joined,
    payload,
    pieces_of,
    refusal,
    sample_body,
    written,
)

from onceonly.message.errors import ErrorCode, LocalError, RemoteError, Severity
from onceonly.message.identity import PartyId
from onceonly.message.message import DeliverySemantics, Message, RoutingHeader
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, ErrorEntry, ErrorSignal
from onceonly.message.word import changed
from onceonly.wire.envelope import Content, Decoder, boundary_for, encode

TRANSIENT = ErrorEntry(
    code=ErrorCode.TRANSIENT_ERROR,
    severity=Severity.WARNING,
    description="The next hop cannot be reached now.",
    min_retry_s=60,
)
SEQUENCE = ErrorEntry(
    code=ErrorCode.INVALID_SEQUENCE_NUMBER,
    severity=Severity.ERROR,
    description="Expected 2, 1 or a repeat of 1; received 7.",
)

EXAMPLE_PAYLOAD = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n'
    b'<PurchaseOrder number="PO-4711"><Line sku="A-1" qty="3"/></PurchaseOrder>\n'
)

# --- The examples of the specification ---------------------------------------------------------


@pytest.mark.parametrize("name", ["01-normal.http", "06-normal.eml"])
def test_the_normal_examples_read_as_the_message_they_show(name):
    """The same message arrives by HTTP in binary and by mail in base64."""
    envelope = decode(example_package(name)[1], example_package(name)[0])
    data = collected(envelope)[0]
    assert data.replace(b"\r\n", b"\n") == EXAMPLE_PAYLOAD
    described = changed(
        payload(data, name="PurchaseOrder"), content_type='application/xml; charset="utf-8"'
    )
    assert envelope.content == changed(MESSAGE, payloads=(described,))
    assert envelope.routing == (ROUTING,)
    assert envelope.profile is Profile.RM_2000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("02-acknowledgement.http", Acknowledgment(SIGNAL)),
        (
            "03-error-transient.http",
            ErrorSignal(changed(SIGNAL, message_id="m-9002@b.example.com"), (TRANSIENT,)),
        ),
    ],
)
def test_the_signal_examples_read_as_the_signals_they_show(name, content):
    """An acknowledgement and a transient error, on the way back."""
    envelope = decode(example_package(name)[1], example_package(name)[0])
    assert envelope.content == content
    assert envelope.routing == (SIGNAL_ROUTING,)


def test_the_sequence_error_example_reads_as_its_error():
    """The example without MIME is read inside the sample's package."""
    envelope = decode(body_of(header_part(example("04-error-sequence.xml"))))
    assert isinstance(envelope.content, ErrorSignal)
    assert envelope.content.errors == (SEQUENCE,)


@pytest.mark.statement("S0-36")
def test_both_forms_of_delivery_semantics_read_as_the_same_message():
    """S0-36: the attribute of the prose and the element of the fragment."""
    as_element = decode(sample_body(example("01-normal.xml")))
    as_attribute = decode(sample_body(example("01b-normal-attribute-form.xml")))
    assert as_element.content == as_attribute.content
    assert as_element.routing == as_attribute.routing


@pytest.mark.parametrize(
    "name", ["01-normal.http", "02-acknowledgement.http", "03-error-transient.http"]
)
def test_writing_what_an_example_says_gives_the_example(name):
    """Our layout is the specification's, to the last byte."""
    content_type, body = example_package(name)
    envelope = decode(body, content_type)
    root_content_id = content_type.split("<")[1].split(">")[0]
    package = encode(
        envelope.content,
        envelope.routing[-1],
        profile=Profile.RM_2000,
        boundary=BOUNDARY,
        root_content_id=root_content_id,
    )
    assert joined(package, collected(envelope)) == body
    assert package.content_type == content_type


# --- Our own encodings, pinned -----------------------------------------------------------------

TWO_PAYLOADS = (b"<order>\r\n--ebxml-part-wrapperx\r\n</order>", b"\x00\xff\r\n")
GOLDEN_CASES: dict[str, tuple[Content, RoutingHeader, tuple[bytes, ...]]] = {
    "normal": (changed(MESSAGE, payloads=(payload(PAYLOAD, name="Order"),)), ROUTING, (PAYLOAD,)),
    "normal-two-payloads": (
        changed(
            MESSAGE,
            from_ids=(PartyId("urn:duns:111111111"), PartyId('D&B<">', type="x&y")),
            service="Über & <Quote>",
            action="",
            semantics=DeliverySemantics.BEST_EFFORT,
            ref_to_message_id="m-0000@a.example.com",
            payloads=(
                payload(TWO_PAYLOADS[0], name="Order's <name>"),
                changed(payload(TWO_PAYLOADS[1], "bin-2"), content_type="application/octet-stream"),
            ),
        ),
        changed(ROUTING, sequence_number=None, timestamp_at=253_402_300_799_999_000),
        TWO_PAYLOADS,
    ),
    "normal-without-payload": (MESSAGE, changed(ROUTING, sequence_number=999_999_999), ()),
    "acknowledgement": (Acknowledgment(SIGNAL), SIGNAL_ROUTING, ()),
    "error": (
        ErrorSignal(
            SIGNAL,
            (
                TRANSIENT,
                changed(SEQUENCE, description="two\r\n\tlines"),
                ErrorEntry(
                    code=ErrorCode.UNKNOWN, severity=Severity.ERROR, code_text='their "code"'
                ),
            ),
        ),
        SIGNAL_ROUTING,
        (),
    ),
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


@pytest.mark.statement("S0-42", "S0-43", "S0-44", "S0-57")
@pytest.mark.parametrize("name", GOLDEN_CASES)
def test_an_encoding_is_valid_against_the_reconstructed_dtd(name):
    """A yardstick that knows nothing of our reader: libxml2 and the DTD of the examples."""
    dtd = etree.DTD(BytesIO(example("seed0.dtd")))
    header = decode((GOLDEN / f"{name}.mime").read_bytes()).header
    assert dtd.validate(etree.fromstring(header)), dtd.error_log


@pytest.mark.statement("S0-16", "S0-17", "S0-64", "S0-65", "S0-66")
def test_an_acknowledgement_says_what_it_is_and_nothing_else():
    """Its spelling, byte for byte; empty ServiceInterface and Action; one part; BestEffort."""
    package = written(Acknowledgment(SIGNAL), SIGNAL_ROUTING)
    assert len(package.segments) == 1
    text = package.segments[0].decode()
    assert ' MessageType="Acknowledgement">' in text
    assert "<ServiceInterface/>\r\n      <Action/>" in text
    assert "<RefToMessageId>m-0001@a.example.com</RefToMessageId>" in text
    assert "<DeliverySemantics>BestEffort</DeliverySemantics>" in text
    assert "Manifest" not in text
    assert "SequenceNumber" not in text


@pytest.mark.statement("S0-43", "S0-44", "S0-57", "S0-58")
@pytest.mark.parametrize("name", GOLDEN_CASES)
def test_every_kind_of_document_has_its_routing_header_in_order(name):
    """Normal, acknowledgement, error, reliable or not; Timestamp is what we write."""
    text = joined(written(*GOLDEN_CASES[name][:2]), GOLDEN_CASES[name][2]).decode("latin-1")
    hop = text[text.index("</Header>") : text.index("</RoutingHeader>")]
    children = [child.split(">")[0] for child in hop.split("<")[3::2]]
    order = ["SenderURI", "ReceiverURI", "ErrorURI", "Timestamp", "SequenceNumber"]
    assert children in (order, order[:4])
    assert "TimeStamp" not in text


# --- Properties --------------------------------------------------------------------------------

IDS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=40
).filter(lambda text: text not in (".", ".."))
LINES = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), max_size=40)
MOMENTS = st.integers(-62_135_596_800_000, 253_402_300_799_999).map(lambda ms: ms * 1000)
URIS = IDS.map(lambda text: "urn:x:" + text.translate({ord(c): "-" for c in '<>"{}|\\^`'}))
PARTIES = st.one_of(
    st.tuples(URIS.map(PartyId)),
    st.lists(IDS, min_size=1, max_size=3, unique=True).map(
        lambda types: tuple(PartyId("party", type_) for type_ in types)
    ),
)
PIECES = st.sampled_from(
    [b"\r\n", b"--", b"ebxml", BOUNDARY.encode(), b"x", b" ", b"\n", b"\r", b"\0", b"\xff"]
)
DATA = st.one_of(st.binary(max_size=100), st.lists(PIECES, max_size=20).map(b"".join)).filter(
    # Also behind a bare LF: it would be a boundary line of another kind, which is refused.
    lambda data: b"\n--" + BOUNDARY.encode() not in b"\n" + data
)
CONTENT_IDS = st.text("abcXYZ019@._-%+", min_size=1, max_size=20)


@st.composite
def exchanges(draw) -> tuple[Message, RoutingHeader, list[bytes]]:
    content_ids = draw(st.lists(CONTENT_IDS, max_size=3, unique=True))
    datas = [draw(DATA) for _ in content_ids]
    payloads = [
        payload(data, content_id, draw(LINES))
        for data, content_id in zip(datas, content_ids, strict=True)
    ]
    semantics = draw(
        st.sampled_from([DeliverySemantics.ONCE_AND_ONLY_ONCE, DeliverySemantics.BEST_EFFORT])
    )
    message = Message(
        message_id=draw(IDS),
        from_ids=draw(PARTIES),
        to_ids=draw(PARTIES),
        agreement_id=draw(IDS),
        conversation_id=draw(IDS),
        service=draw(LINES),
        action=draw(LINES),
        timestamp_at=draw(MOMENTS),
        semantics=semantics,
        ref_to_message_id=draw(st.none() | IDS),
        payloads=tuple(payloads),
    )
    routing = RoutingHeader(
        sender_uri=draw(URIS),
        receiver_uri=draw(URIS),
        error_uri=draw(URIS),
        timestamp_at=draw(MOMENTS),
        sequence_number=draw(st.integers(1, 999_999_999)),
    )
    return message, routing, datas


@given(exchanges(), st.integers(1, 200))
def test_what_is_encoded_decodes_to_the_same_message(exchange, size):
    """decode(encode(x)) == x, for any legal message and any bytes as payload, in any pieces."""
    message, routing, datas = exchange
    package = written(message, routing)
    body = joined(package, datas)
    assert len(body) == package.size_bytes(message.payloads)
    envelope = decode(pieces_of(body, size), package.content_type)
    assert (envelope.content, envelope.routing) == (message, (routing,))
    assert collected(envelope) == datas


@given(st.sampled_from(list(GOLDEN_CASES)), st.lists(st.integers(0, 3000), max_size=10))
@case("normal-two-payloads", [])
def test_decoding_does_not_depend_on_the_pieces(name, cuts):
    """Any way to cut a package gives what the whole gives."""
    body = (GOLDEN / f"{name}.mime").read_bytes()
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [body[at:end] for at, end in pairwise(edges)]
    whole, cut = decode(body), decode(pieces)
    assert (cut.content, cut.routing, cut.header) == (whole.content, whole.routing, whole.header)
    assert collected(cut) == collected(whole)


@pytest.mark.parametrize("name", GOLDEN_CASES)
def test_every_proper_prefix_of_a_package_is_refused(name):
    """P4: a package that was cut short is never taken for a whole one, byte by byte."""
    body = (GOLDEN / f"{name}.mime").read_bytes()
    for length in range(len(body) - len("\r\n")):
        assert refusal(body[:length]).code is ErrorCode.MIME_PROBLEM


# --- Encoding refuses what the wire cannot carry -----------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        changed(MESSAGE, payloads=(payload(b"", name="a\x00b"),)),
        changed(MESSAGE, payloads=(payload(b"", content_id="a>b"),)),
        changed(MESSAGE, payloads=(payload(b"", content_id="a\r\nb"),)),
        changed(MESSAGE, payloads=(payload(b"", "same"), payload(b"", "same"))),
        changed(MESSAGE, payloads=(changed(payload(b""), content_type="text"),)),
        changed(MESSAGE, payloads=(changed(payload(b""), content_type=" text/xml"),)),
        changed(MESSAGE, payloads=(changed(payload(b""), content_type="a/b\r\nBcc: c"),)),
        ErrorSignal(SIGNAL, (changed(TRANSIENT, description="\x1b[31m"),)),
    ],
)
def test_text_that_the_wire_cannot_carry_is_refused(content):
    """M3: our own caller's bad text is an InvalidText of ours, never bytes on the wire."""
    routing = ROUTING if isinstance(content, Message) else SIGNAL_ROUTING
    with pytest.raises(LocalError) as refused:
        written(content, routing)
    assert refused.value.name == "InvalidText"


@pytest.mark.parametrize(
    "semantics", [DeliverySemantics.AT_MOST_ONCE, DeliverySemantics.EXACTLY_ONCE]
)
def test_semantics_without_a_word_on_the_wire_are_refused(semantics):
    """S0-35: the profile knows two values; the others are never silently turned into one."""
    with pytest.raises(LocalError) as refused:
        written(changed(MESSAGE, semantics=semantics), ROUTING)
    assert refused.value.name == "SemanticsNotOnWire"


def test_a_payload_id_that_is_the_roots_is_refused():
    """Two parts of a package never share a Content-ID."""
    with pytest.raises(LocalError):
        written(changed(MESSAGE, payloads=(payload(b"", "hdr-0001@a.example.com"),)), ROUTING)


@pytest.mark.parametrize("boundary", ["", "a" * 71, "a\r\n", 'a"b', "end ", "ä"])
def test_an_illegal_boundary_is_refused(boundary):
    """RFC 2046 decides what a boundary is."""
    with pytest.raises(LocalError):
        written(MESSAGE, ROUTING, boundary)


def test_a_boundary_is_built_from_a_random_token():
    """What `boundary_for` builds is legal, and carries the whole token."""
    boundary = boundary_for("0123456789abcdefABCDEF")
    assert boundary.endswith("0123456789abcdefABCDEF")
    written(MESSAGE, ROUTING, boundary)


@pytest.mark.parametrize("token", ["", "short", "x" * 49, "0123456789abcdef\r\n", "ä" * 20])
def test_a_token_that_is_no_token_is_refused(token):
    """Too short to be random, too long or not alphanumeric."""
    with pytest.raises(LocalError):
        boundary_for(token)


@pytest.mark.statement(ruling="R-45")
def test_a_package_is_admitted_before_a_byte_of_a_payload_is_kept():
    """Whoever is refused by his header leaves no sink behind; before that nobody is admitted."""
    opened = []

    def refuse(document):
        raise RemoteError(ErrorCode.SECURITY_FAILURE, document.content.message_id)

    package = sample_body()
    decoder = Decoder(PACKAGE_TYPE, opened.append, admit=refuse)
    assert not decoder.is_admitted
    with pytest.raises(RemoteError, match="SecurityFailure"):
        decoder.feed(package)
    assert not decoder.is_admitted
    assert opened == []
