"""The two public functions together: what the specification shows, what we write, what returns."""

from dataclasses import replace
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
    HEADER_TYPE,
    MESSAGE,
    NAMESPACE,
    PACKAGE_TYPE,
    PAYLOAD,
    PAYLOAD_HEAD,
    ROOT_ID,
    ROUTING,
    SIGNAL,
    SIGNAL_ROUTING,
    Collected,
    body_of,
    collected,
    decode,
    edited,
    example,
    example_package,
    header_part,
    joined,
    part,
    payload,
    pieces_of,
    refusal,
    sample_body,
    signal_document,
    written,
)

from onceonly.message.errors import ErrorCode, LocalError, RemoteError, Severity
from onceonly.message.identity import PartyId
from onceonly.message.message import DeliverySemantics, Message, Profile, RoutingHeader
from onceonly.message.signals import Acknowledgment, ErrorEntry, ErrorSignal
from onceonly.wire.envelope import About, Content, Decoder, boundary_for, encode
from onceonly.wire.limits import Limits

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
    described = replace(
        payload(data, name="PurchaseOrder"), content_type='application/xml; charset="utf-8"'
    )
    assert envelope.content == replace(MESSAGE, payloads=(described,))
    assert envelope.routing == (ROUTING,)
    assert envelope.profile is Profile.RM_2000


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("02-acknowledgement.http", Acknowledgment(SIGNAL)),
        (
            "03-error-transient.http",
            ErrorSignal(replace(SIGNAL, message_id="m-9002@b.example.com"), (TRANSIENT,)),
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
    "normal": (replace(MESSAGE, payloads=(payload(PAYLOAD, name="Order"),)), ROUTING, (PAYLOAD,)),
    "normal-two-payloads": (
        replace(
            MESSAGE,
            from_ids=(PartyId("urn:duns:111111111"), PartyId('D&B<">', type="x&y")),
            service="Über & <Quote>",
            action="",
            semantics=DeliverySemantics.BEST_EFFORT,
            ref_to_message_id="m-0000@a.example.com",
            payloads=(
                payload(TWO_PAYLOADS[0], name="Order's <name>"),
                replace(payload(TWO_PAYLOADS[1], "bin-2"), content_type="application/octet-stream"),
            ),
        ),
        replace(ROUTING, sequence_number=None, timestamp_at=253_402_300_799_999_000),
        TWO_PAYLOADS,
    ),
    "normal-without-payload": (MESSAGE, replace(ROUTING, sequence_number=999_999_999), ()),
    "acknowledgement": (Acknowledgment(SIGNAL), SIGNAL_ROUTING, ()),
    "error": (
        ErrorSignal(
            SIGNAL,
            (
                TRANSIENT,
                replace(SEQUENCE, description="two\r\n\tlines"),
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

IDS = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=40)
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
    lambda data: b"\r\n--" + BOUNDARY.encode() not in b"\r\n" + data
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
        replace(MESSAGE, payloads=(payload(b"", name="a\x00b"),)),
        replace(MESSAGE, payloads=(payload(b"", content_id="a>b"),)),
        replace(MESSAGE, payloads=(payload(b"", content_id="a\r\nb"),)),
        replace(MESSAGE, payloads=(payload(b"", "same"), payload(b"", "same"))),
        replace(MESSAGE, payloads=(replace(payload(b""), content_type="text"),)),
        replace(MESSAGE, payloads=(replace(payload(b""), content_type=" text/xml"),)),
        replace(MESSAGE, payloads=(replace(payload(b""), content_type="a/b\r\nBcc: c"),)),
        ErrorSignal(SIGNAL, (replace(TRANSIENT, description="\x1b[31m"),)),
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
        written(replace(MESSAGE, semantics=semantics), ROUTING)
    assert refused.value.name == "SemanticsNotOnWire"


def test_a_payload_id_that_is_the_roots_is_refused():
    """Two parts of a package never share a Content-ID."""
    with pytest.raises(LocalError):
        written(replace(MESSAGE, payloads=(payload(b"", "hdr-0001@a.example.com"),)), ROUTING)


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


# --- Parts and Manifest ------------------------------------------------------------------------

OTHER_HEAD = PAYLOAD_HEAD.replace("po-1", "po-2")
SECOND_DOCUMENT = "<DocumentId>cid:po-2@a.example.com</DocumentId>"
SECOND_REFERENCE = (
    "  </Manifest>",
    f"<DocumentReference>{SECOND_DOCUMENT}</DocumentReference></Manifest>",
)


def test_payloads_come_in_the_order_of_their_parts():
    """The Manifest names them, the package orders them."""
    body = body_of(
        header_part(edited(SECOND_REFERENCE)), part(OTHER_HEAD, b"2"), part(PAYLOAD_HEAD, b"1")
    )
    envelope = decode(body)
    assert isinstance(envelope.content, Message)
    assert [(p.content_id, p.name) for p in envelope.content.payloads] == [
        ("po-2@a.example.com", ""),
        ("po-1@a.example.com", "PurchaseOrder"),
    ]
    assert collected(envelope) == [b"2", b"1"]


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([header_part()], "P8: an entry without its part"),
        ([header_part(), part(OTHER_HEAD, b"")], "a part without its entry"),
        (
            [header_part(), part(PAYLOAD_HEAD, b""), part(OTHER_HEAD, b"")],
            "one part more than the Manifest names",
        ),
        ([header_part(), part(PAYLOAD_HEAD, b""), part(PAYLOAD_HEAD, b"")], "the same part twice"),
        ([header_part(), part("Content-Type: a/b\r\n", b"")], "a payload without Content-ID"),
        (
            [header_part(), part(PAYLOAD_HEAD.replace("po-1", "PO-1"), b"")],
            "P7: letter case counts",
        ),
        (
            [header_part(), part(PAYLOAD_HEAD.replace("po-1", "po%2D1"), b"")],
            "P7: %-encoding is not undone",
        ),
        ([part(PAYLOAD_HEAD, PAYLOAD), header_part()], "P6: the header is not the first part"),
        ([header_part(), header_part()], "P6: two roots"),
        (
            [header_part(edited(("po-1", "hdr-0001"))), part(PAYLOAD_HEAD, b"")],
            "the Manifest names the header itself, which is not a payload",
        ),
        (
            [
                header_part(edited(("po-1", "hdr-0001"))),
                part(PAYLOAD_HEAD.replace("po-1", "hdr-0001"), b""),
            ],
            "a payload under the root's Content-ID",
        ),
        ([header_part(), part(PAYLOAD_HEAD + "Content-Id: <x>\r\n", b"")], "P6: two Content-IDs"),
        ([header_part(), part(PAYLOAD_HEAD + "Content-Type: a/b\r\n", b"")], "P6: two types"),
        (
            [header_part(), part(PAYLOAD_HEAD.replace("application/xml", "xml"), b"")],
            "a Content-Type that is none",
        ),
        (
            [header_part(), part(PAYLOAD_HEAD + "Content-Transfer-Encoding: uuencode\r\n", b"")],
            "P9: an encoding that nobody undoes",
        ),
        (
            [
                header_part(),
                part(PAYLOAD_HEAD + "Content-Transfer-Encoding: quoted-printable\r\n", b""),
            ],
            "P9: quoted-printable",
        ),
        (
            [header_part(), part(PAYLOAD_HEAD + "Content-Transfer-Encoding: base64\r\n", b"QQ=")],
            "P9: base64 cut short",
        ),
        (
            [header_part(), part(PAYLOAD_HEAD + "Content-Transfer-Encoding: 7bit\r\n", b"\xe4")],
            "P9: 8-bit bytes in a 7bit part",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_package_that_is_not_whole_and_unambiguous_is_refused(parts, why):
    """P6-P9: every payload is named once and there once."""
    assert refusal(body_of(*parts)).code is ErrorCode.MIME_PROBLEM, why


@pytest.mark.statement("S0-17")
@pytest.mark.parametrize("message_type", ["Acknowledgement", "Error"])
def test_a_signal_with_a_payload_or_a_manifest_is_refused(message_type):
    """A signal of this profile carries no payload."""
    document = signal_document(message_type, ERROR_LIST if message_type == "Error" else "")
    body = body_of(header_part(document), part(PAYLOAD_HEAD, b""))
    assert refusal(body).code is ErrorCode.MIME_PROBLEM
    manifest = (
        "<Manifest><DocumentReference><DocumentId>cid:po-1@a.example.com</DocumentId>"
        "</DocumentReference></Manifest>\n  <Header>"
    )
    body = body_of(header_part(edited(("<Header>", manifest), document=document)))
    assert refusal(body).code is ErrorCode.MIME_PROBLEM


ERROR_LIST = '<ErrorList><Error ErrorCode="Unknown" Severity="Error"/></ErrorList>'


def test_bytes_of_a_payload_are_preserved():
    """Trailing line ends, NUL and everything that is no delimiter line belong to the payload."""
    data = b"\r\n\r\n--\r\n\n--ebxml-part-wrapper\n--ebxml-part-wrapper--\x00\r\n\r\n"
    assert collected(decode(body_of(header_part(), part(PAYLOAD_HEAD, data)))) == [data]


def test_a_part_without_a_type_has_the_type_that_mime_gives_it():
    """RFC 2046 §5.1: no Content-Type means plain text."""
    body = body_of(header_part(), part("content-id: po-1@a.example.com\r\n", b"x"))
    content = decode(body).content
    assert isinstance(content, Message)
    assert content.payloads[0].content_type == "text/plain; charset=us-ascii"


def test_the_header_may_be_in_base64():
    """The header that is kept is the document, its encoding undone."""
    head = f"Content-Type: {HEADER_TYPE}\r\nContent-Transfer-Encoding: BASE64\r\n"
    text = "PGViWE1MSGVhZGVyLz4=\r\n"
    body = body_of(part(head + "Content-ID: <hdr-0001@a.example.com>\r\n", text.encode()))
    assert refusal(body).description.startswith("the root element is not")


# --- The package's own Content-Type ------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "code"),
    [
        ("text/plain", ErrorCode.NOT_SUPPORTED),
        (PACKAGE_TYPE.replace("multipart/related", "multipart/mixed"), ErrorCode.NOT_SUPPORTED),
        (PACKAGE_TYPE.replace("application/vnd.eb+xml", "text/xml"), ErrorCode.NOT_SUPPORTED),
        ("multipart/related; boundary=x", ErrorCode.NOT_SUPPORTED),
        ('multipart/related; type="application/vnd.eb+xml"', ErrorCode.MIME_PROBLEM),
        (PACKAGE_TYPE.replace(BOUNDARY, "x" * 71), ErrorCode.MIME_PROBLEM),
        (PACKAGE_TYPE.replace(BOUNDARY, "x\\\ry"), ErrorCode.MIME_PROBLEM),
        (PACKAGE_TYPE.replace(BOUNDARY, 'x\\"y'), ErrorCode.MIME_PROBLEM),
        (PACKAGE_TYPE + "; boundary=other", ErrorCode.MIME_PROBLEM),
        (PACKAGE_TYPE.replace("hdr-0001@a.example.com", ""), ErrorCode.MIME_PROBLEM),
        (PACKAGE_TYPE + "".join(f"; a{n}=b" for n in range(61)), ErrorCode.MESSAGE_TOO_LARGE),
        (PACKAGE_TYPE + "; a=" + "b" * 20_000, ErrorCode.MESSAGE_TOO_LARGE),
        ("", ErrorCode.MIME_PROBLEM),
    ],
)
def test_a_package_of_another_type_is_refused_before_its_body(content_type, code):
    """H26 and P5: the Content-Type alone decides, quickly."""
    with pytest.raises(RemoteError) as refused:
        Decoder(content_type, Collected)
    assert refused.value.code is code


@pytest.mark.parametrize(
    "content_type",
    [
        f"Multipart/Related; TYPE=application/vnd.eb+xml; Boundary={BOUNDARY}",
        f"multipart/related;type=Application/vnd.eb+xml;boundary={BOUNDARY};start={ROOT_ID}",
    ],
)
def test_the_forms_of_a_content_type_that_are_in_the_field_are_read(content_type):
    """Without start the first part is the root; quotes and angle brackets may be missing."""
    assert decode(sample_body(), content_type).content.message_id == "m-0001@a.example.com"


@pytest.mark.parametrize(
    "content_type",
    [
        PACKAGE_TYPE.replace("hdr-0001", "hdr-0002"),
        PACKAGE_TYPE.replace("hdr-0001", "po-1"),
    ],
)
def test_a_start_that_does_not_name_the_first_part_is_refused(content_type):
    """P6: the root is the first part, and `start` says nothing else."""
    assert refusal(sample_body(), content_type).code is ErrorCode.MIME_PROBLEM


def test_a_root_without_a_content_id_is_read_where_start_is_absent():
    """The root needs an id only to be named by `start`."""
    body = body_of(part(f"Content-Type: {HEADER_TYPE}\r\n", b"<x/>"))
    assert refusal(body, PACKAGE_TYPE.split("; start")[0]).code is ErrorCode.OTHER_XML
    assert refusal(body).code is ErrorCode.MIME_PROBLEM


# --- Limits ------------------------------------------------------------------------------------


def test_a_header_past_its_limit_is_refused_while_it_arrives():
    """X6: the header document is bounded, whatever pieces it comes in."""
    body = header_part(f"<x>{'y' * 5000}</x>")
    limits = Limits(header_bytes_max=4000)
    decoder = Decoder(PACKAGE_TYPE, Collected, limits)
    for piece in pieces_of(body[:4000], 1000):
        decoder.feed(piece)
    with pytest.raises(RemoteError) as refused:
        decoder.feed(body[4000:])
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert decoder.about is None


def test_a_package_past_its_limit_is_refused():
    """P10: every byte counts, the epilogue's too."""
    size = len(sample_body())
    decode(sample_body(), limits=Limits(package_bytes_max=size))
    limits = Limits(package_bytes_max=size + 10)
    body = [sample_body(), b"epilogue", b"epilogue"]
    assert refusal(body, limits=limits).code is ErrorCode.MESSAGE_TOO_LARGE


# --- What is known of the sender of a refused message ------------------------------------------

KNOWN = About(
    "Normal",
    "tpa-ab-1",
    (PartyId("urn:duns:111111111"),),
    "m-0001@a.example.com",
    "conv-1",
    "http://a.example.com/ebxmlhandler/",
    "http://b.example.com/ebxmlhandler/",
    "http://a.example.com/ebxmlerrorhandler/",
)


def about_of(body: bytes) -> About | None:
    decoder = Decoder(PACKAGE_TYPE, Collected)
    with pytest.raises(RemoteError):
        read_whole(decoder, body)
    return decoder.about


def read_whole(decoder: Decoder, body: bytes) -> None:
    decoder.feed(body)
    decoder.finish()


def test_nothing_is_known_before_the_header_was_read():
    """Not before the first part is complete, and not when it is no XML."""
    assert about_of(header_part()[:-20]) is None
    assert about_of(body_of(header_part("<x>"))) is None


@pytest.mark.parametrize(
    "body",
    [
        header_part() + part(PAYLOAD_HEAD, PAYLOAD),
        body_of(header_part()),
        body_of(header_part() + part("broken\r\n", b"")),
        body_of(header_part(edited(("OnceAndOnlyOnce", "Sometimes")))),
        body_of(header_part(edited(("Version=", "Vision=")))),
        body_of(header_part(edited(("    <SequenceNumber>000000001</SequenceNumber>\n", "")))),
        body_of(header_part(edited(("<To><PartyId>urn:duns:222222222</PartyId></To>", "")))),
    ],
)
def test_the_sender_is_known_when_what_follows_is_refused(body):
    """The error about a broken message still finds its way to the partner."""
    assert about_of(body) == KNOWN


@pytest.mark.parametrize(
    ("edits", "unknown"),
    [
        ([("Normal", "Abnormal")], {"message_type": None}),
        ([("tpa-ab-1", "tpa ab 1")], {"agreement_id": None}),
        ([("<TPAId>tpa-ab-1</TPAId>", "")], {"agreement_id": None}),
        ([("<TPAId>tpa-ab-1</TPAId>", "<TPAId>tpa<x/></TPAId>")], {"agreement_id": None}),
        (
            [("<TPAInfo>", "<Info>"), ("</TPAInfo>", "</Info>")],
            {"agreement_id": None, "conversation_id": None},
        ),
        (
            [("<MessageId>", "<MessageId>m-2</MessageId><MessageId>")],
            {"message_id": None},
        ),
        ([("<PartyId>urn:duns:111111111", "<PartyId>111111111")], {"from_ids": ()}),
        ([("<From>", "<Fron>"), ("</From>", "</Fron>")], {"from_ids": ()}),
        ([("<ErrorURI>http://a.", "<ErrorURI>//a.")], {"error_uri": None}),
        ([("<SenderURI>", "<SenderURI><x/>")], {"sender_uri": None}),
        (
            [("<RoutingHeader>", "<Routing>"), ("</RoutingHeader>", "</Routing>")],
            {"sender_uri": None, "receiver_uri": None, "error_uri": None},
        ),
    ],
)
def test_only_what_is_readable_and_unambiguous_is_known_of_the_sender(edits, unknown):
    """Each part of the address stands for itself; two values are as good as none."""
    assert about_of(body_of(header_part(edited(*edits)))) == KNOWN._replace(**unknown)


def test_the_sender_of_a_signal_is_known_as_such():
    """R-20: whoever refuses a signal must see that it is one, and stay silent."""
    extra = part(PAYLOAD_HEAD, b"")
    acknowledged = about_of(body_of(header_part(signal_document("Acknowledgement")), extra))
    assert acknowledged is not None
    assert acknowledged.message_type == "Acknowledgement"
    failed = about_of(body_of(header_part(signal_document("Exception", ERROR_LIST)), extra))
    assert failed is not None
    assert failed.message_type == "Error"


def test_nothing_is_known_of_another_kind_of_document():
    """A root that is not ours names no sender."""
    document = f'<Header xmlns="{NAMESPACE}"><Header/></Header>'
    assert about_of(body_of(header_part(document))) == About()


def test_the_last_hop_is_where_the_message_came_from():
    """§4.1: with several RoutingHeaders the last one is the current hop."""
    second = (
        "<RoutingHeader><SenderURI>http://router/</SenderURI><ReceiverURI>http://b/</ReceiverURI>"
        "<ErrorURI>http://router/err</ErrorURI><Timestamp>20001002T090001Z</Timestamp>"
        "<SequenceNumber>7</SequenceNumber></RoutingHeader></ebXMLHeader>"
    )
    envelope = decode(sample_body(edited(("</ebXMLHeader>", second))))
    assert [hop.sequence_number for hop in envelope.routing] == [1, 7]
    known = about_of(header_part(edited(("</ebXMLHeader>", second))))
    assert known is None
    known = about_of(body_of(header_part(edited(("</ebXMLHeader>", second)))))
    assert known is not None
    assert known.sender_uri == "http://router/"
