"""A package as it comes in: its parts, its Content-Type, its limits, and whom it is from."""

import pytest
from wire_samples import (
    BOUNDARY,
    HEADER_TYPE,
    NAMESPACE,
    PACKAGE_TYPE,
    PAYLOAD,
    PAYLOAD_HEAD,
    ROOT_ID,
    Collected,
    about_of,
    body_of,
    collected,
    decode,
    edited,
    header_part,
    part,
    pieces_of,
    refusal,
    sample_body,
    signal_document,
)

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.identity import PartyId
from onceonly.message.message import Message
from onceonly.message.profile import Profile
from onceonly.message.word import changed
from onceonly.wire.envelope import About, Decoder, Document
from onceonly.wire.limits import Limits

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
            "P7: %-encoding is undone in the Manifest's URIs, not in a Content-ID",
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
            [header_part(), part(PAYLOAD_HEAD + "Content-Transfer-Encoding: uuencode\r\n", b"")],
            "P9: an encoding that nobody undoes",
        ),
        (
            [
                header_part(),
                part(PAYLOAD_HEAD + "Content-Transfer-Encoding: quoted-printable\r\n", b"=4"),
            ],
            "P9: quoted-printable cut short",
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
    data = b"\r\n\r\n--\r\n\n--ebxml-part-wrapperx\n --ebxml-part-wrapper--\x00\r\n\r\n"
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
    assert refusal(body).description.startswith("the root element is 'ebXMLHeader'; expected")


# --- The package's own Content-Type ------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "code"),
    [
        ("text/plain", ErrorCode.NOT_SUPPORTED),
        (PACKAGE_TYPE.replace("multipart/related", "multipart/mixed"), ErrorCode.NOT_SUPPORTED),
        (PACKAGE_TYPE.replace("application/vnd.eb+xml", "text/html"), ErrorCode.NOT_SUPPORTED),
        ("multipart/related; boundary = x", ErrorCode.MIME_PROBLEM),
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
        f"multipart/related;boundary={BOUNDARY}",
        f'multipart/related;boundary={BOUNDARY};start="< {ROOT_ID} >"',
    ],
)
def test_the_forms_of_a_content_type_that_are_in_the_field_are_read(content_type):
    """Without start the first part is the root, without type its own type says what it is (R-42);
    quotes and angle brackets may be missing."""
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


def test_a_package_is_admitted_once_its_header_was_read():
    """R-45: before that nobody is known, so nothing of a payload may be kept."""
    admitted: list[str] = []

    def admit(document: Document) -> None:
        admitted.append(document.content.message_id)

    decoder = Decoder(PACKAGE_TYPE, Collected, admit=admit)
    decoder.feed(header_part())
    assert (decoder.is_admitted, admitted) == (False, [])
    decoder.feed(part(PAYLOAD_HEAD, PAYLOAD))
    assert (decoder.is_admitted, admitted) == (True, ["m-0001@a.example.com"])


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
    Profile.RM_2000,
)


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
        (
            [("</MessageId>", "</MessageId><RefToMessageId>m-0</RefToMessageId>")],
            {"ref_to_message_id": "m-0"},
        ),
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
    assert about_of(body_of(header_part(edited(*edits)))) == changed(KNOWN, **unknown)


def test_the_sender_of_a_signal_is_known_as_such():
    """R-20: whoever refuses a signal must see that it is one, and stay silent."""
    extra = part(PAYLOAD_HEAD, b"")
    acknowledged = about_of(body_of(header_part(signal_document("Acknowledgement")), extra))
    assert acknowledged is not None
    assert acknowledged.message_type == "Acknowledgement"
    assert acknowledged.ref_to_message_id == "m-0"
    failed = about_of(body_of(header_part(signal_document("Exception", ERROR_LIST)), extra))
    assert failed is not None
    assert (failed.message_type, failed.ref_to_message_id) == ("Error", "m-0")


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
