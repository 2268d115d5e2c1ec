"""What other products send and R-42 wants read: in both profiles, with the value of the plain form.

The limits of it stand beside each: nothing is read that somebody else could read otherwise.
"""

import pytest
import rm2001_samples
import wire_samples
from wire_samples import BOUNDARY, ROOT_ID, body_of, collected, decode, joined, part

from onceonly.message.errors import ErrorCode, LocalError, RemoteError, Severity
from onceonly.message.message import Message, RoutingHeader
from onceonly.message.profile import PROFILES, Profile
from onceonly.message.signals import Acknowledgment, ErrorSignal, SignalHeader
from onceonly.message.word import changed
from onceonly.wire.envelope import Envelope, boundary_for, encode, forward

SAMPLES = {Profile.RM_2000: wire_samples, Profile.RM_2001: rm2001_samples}
PAYLOAD = wire_samples.PAYLOAD
HEAD = "Content-Type: application/xml\r\nContent-ID: <po-1@a.example.com>\r\n"
OTHER = HEAD.replace("po-1", "po-2")
OLDER = tuple(one for one in PROFILES if one.has_routing_headers)
both_profiles = pytest.mark.parametrize("profile", OLDER, ids=lambda one: one.name)
ACKNOWLEDGEMENTS = {
    Profile.RM_2000: wire_samples.signal_document("Acknowledgement"),
    Profile.RM_2001: rm2001_samples.ACK_DOCUMENT,
}
ERRORS = {
    Profile.RM_2000: wire_samples.signal_document("Error", wire_samples.ERROR_LIST),
    Profile.RM_2001: rm2001_samples.ERROR_DOCUMENT,
}


def header_part(profile: Profile, document: str | None = None) -> bytes:
    """The part with the sample document of the profile, or with another."""
    samples = SAMPLES[profile]
    return wire_samples.header_part(document or samples.DOCUMENT, samples.HEADER_TYPE)


def read(profile: Profile, *payloads: bytes, document: str | None = None) -> Envelope:
    """What a package of these parts reads as."""
    return decode(body_of(header_part(profile, document), *payloads), SAMPLES[profile].PACKAGE_TYPE)


def refused(profile: Profile, *payloads: bytes, document: str | None = None) -> RemoteError:
    """How a package of these parts is refused."""
    with pytest.raises(RemoteError) as error:
        read(profile, *payloads, document=document)
    return error.value


def usual(profile: Profile) -> Envelope:
    """The sample as it is."""
    return read(profile, part(HEAD, PAYLOAD))


def edited(profile: Profile, *edits: tuple[str, str]) -> str:
    """The sample document with each edit carried out; each must apply exactly once."""
    return wire_samples.edited(*edits, document=SAMPLES[profile].DOCUMENT)


def passed_on(envelope: Envelope) -> Envelope:
    """What the next MSH reads of it when it was forwarded."""
    hop = RoutingHeader(
        sender_uri="urn:router:1",
        receiver_uri="urn:msh:2",
        error_uri="urn:router:errors",
        timestamp_at=982_235_534_000_000,
        sequence_number=1 if envelope.profile is Profile.RM_2000 else None,
    )
    package = forward(
        envelope, hop, boundary=boundary_for("0123456789abcdef"), root_content_id="header-2"
    )
    after = decode(joined(package, collected(envelope)), package.content_type)
    assert after.routing == (*envelope.routing, hop)
    return after


# --- The frame ---------------------------------------------------------------------------------


@both_profiles
def test_a_frame_with_lf_line_ends_is_read(profile):
    """The payload keeps its own line ends; what goes on has CRLF again."""
    samples = SAMPLES[profile]
    payload = b"a\r\nb\nc\rd\r\n"
    body = body_of(header_part(profile), part(HEAD, b"@")).replace(b"\r\n", b"\n")
    for size in (1, 7, 10_000):
        pieces = wire_samples.pieces_of(body.replace(b"\n@\n", b"\n" + payload + b"\n"), size)
        envelope = decode(pieces, samples.PACKAGE_TYPE)
        assert collected(envelope) == [payload]
        assert envelope.content.payloads[0].content_id == "po-1@a.example.com"
        assert collected(passed_on(envelope)) == [payload]


@both_profiles
def test_a_payload_in_quoted_printable_is_its_bytes(profile):
    """The digest is that of the document, not of how it travelled."""
    head = HEAD + "Content-Transfer-Encoding: Quoted-Printable\r\n"
    envelope = read(profile, part(head, b'<PurchaseOrder =\r\nnumber=3D"PO-4711"/> \r\n=0D=0A'))
    assert collected(envelope) == [b'<PurchaseOrder number="PO-4711"/>\r\n\r\n']
    assert passed_on(envelope).content == envelope.content


@both_profiles
def test_the_header_in_quoted_printable_is_the_document(profile):
    """Relays quote whatever is not seven bits; the header that is kept is the document."""
    samples = SAMPLES[profile]
    document = samples.DOCUMENT.replace("conv-1", "conv-\u00e9").encode()
    quoted = document.replace(b"=", b"=3D").replace(b"\xc3\xa9", b"=C3=A9")
    head = f"Content-Type: {samples.HEADER_TYPE}\r\nContent-ID: <{ROOT_ID}>\r\n"
    head += "Content-Transfer-Encoding: quoted-printable\r\n"
    envelope = decode(body_of(part(head, quoted), part(HEAD, PAYLOAD)), samples.PACKAGE_TYPE)
    assert envelope.content.conversation_id == "conv-\u00e9"
    assert envelope.header == document


@both_profiles
@pytest.mark.parametrize(
    "head",
    [
        'Content-Type: application/xml; name=\r\n "o.xml"\r\nContent-ID: <po-1@a.example.com>\r\n',
        "Content-Type: xml\r\nContent-ID: <po-1@a.example.com>\r\n",
        "Content-Type: a/b; name=\xfc; name=x\r\nContent-ID: < po-1@a.example.com >\r\n",
        HEAD + 'Content-Disposition: attachment; filename="a\0b\x1b\xff"\r\n',
        HEAD + "Content-Disposition: attachment;\r\n\tfilename*=utf-8''%e2\r\nX:\r\n",
        HEAD.replace("xml\r", "xml" + ";x=y" * 100 + "\r"),
    ],
)
def test_what_a_payload_says_beside_its_name_never_refuses_it(head, profile):
    """Item 17: a folded file name stopped a numbered pair. It is kept so that it can be sent on."""
    envelope = read(profile, part(head, PAYLOAD))
    (payload,) = envelope.content.payloads
    assert payload.content_type.isascii()
    assert payload.content_type.isprintable()
    assert passed_on(envelope).content == envelope.content


@both_profiles
def test_the_header_part_may_fold_its_type_too(profile):
    """RFC 2045 §5.1: blanks may stand round the equals sign in the head of a part."""
    samples = SAMPLES[profile]
    head = f"Content-Type: {samples.HEADER_TYPE}\r\nContent-ID: <{ROOT_ID}>\r\n"
    head = head.replace("charset=", "charset =\r\n ").replace('"utf-8"', '"UTF8"')
    body = body_of(part(head, samples.DOCUMENT.encode()), part(HEAD, PAYLOAD))
    assert decode(body, samples.PACKAGE_TYPE).content == usual(profile).content


@both_profiles
def test_a_package_without_a_type_is_what_its_first_part_is(profile):
    """RFC 2387 wants `type`; where it is missing, the header part says it, or nobody does."""
    samples = SAMPLES[profile]
    untyped = samples.PACKAGE_TYPE.replace(' type="application/vnd.eb+xml";', "")
    assert untyped != samples.PACKAGE_TYPE
    body = body_of(header_part(profile), part(HEAD, PAYLOAD))
    assert decode(body, untyped).content == usual(profile).content
    with pytest.raises(RemoteError, match="the first part is not the header") as error:
        decode(body.replace(b"application/vnd.eb+xml", b"text/plain"), untyped)
    assert error.value.code is ErrorCode.MIME_PROBLEM


# --- The Manifest ------------------------------------------------------------------------------


@both_profiles
@pytest.mark.parametrize("uri", ["cid:po%2D1@a.example.com", "CID:po-1%40a.example.com"])
def test_a_percent_encoded_cid_names_its_part(uri, profile):
    """RFC 2392: the URI is encoded, the Content-ID is not; the part keeps its own name."""
    document = edited(profile, ("cid:po-1@a.example.com", f" {uri}\n"))
    envelope = read(profile, part(HEAD, PAYLOAD), document=document)
    assert [one.content_id for one in envelope.content.payloads] == ["po-1@a.example.com"]
    assert passed_on(envelope).content == envelope.content


@both_profiles
def test_a_cid_is_taken_as_it_stands_first(profile):
    """A Content-ID may have a percent sign of its own."""
    document = edited(profile, ("cid:po-1@", "cid:po%2D1@"))
    envelope = read(profile, part(HEAD.replace("po-1", "po%2D1"), PAYLOAD), document=document)
    assert [one.content_id for one in envelope.content.payloads] == ["po%2D1@a.example.com"]


@both_profiles
@pytest.mark.parametrize("order", [1, -1])
def test_a_cid_that_two_parts_match_is_refused(profile, order):
    """As it stands it is one, decoded another: nobody knows which was meant."""
    document = edited(profile, ("cid:po-1@", "cid:po%2D1@"))
    parts = [part(HEAD, b"1"), part(HEAD.replace("po-1", "po%2D1"), b"2")][::order]
    error = refused(profile, *parts, document=document)
    assert error.code is ErrorCode.MIME_PROBLEM
    assert "part 3 <po" in error.description
    assert "'cid:po%2D1@a.example.com' names two parts" in error.description


def test_two_cids_that_mean_one_part_are_refused():
    """Encoded and plain: the Manifest names one part twice."""
    reference = "<DocumentReference><DocumentId>cid:po%2D1@a.example.com</DocumentId>"
    document = wire_samples.edited(("  </Manifest>", f"{reference}</DocumentReference></Manifest>"))
    error = refused(Profile.RM_2000, part(HEAD, PAYLOAD), document=document)
    assert error.code is ErrorCode.MIME_PROBLEM
    assert "twice, once percent-encoded" in error.description


def test_we_write_no_package_that_could_be_read_in_two_ways():
    """Writing is strict: one Content-ID is not the other, encoded."""
    payloads = (wire_samples.payload(b"1"), wire_samples.payload(b"2", "po%2D1@a.example.com"))
    with pytest.raises(LocalError, match="a Content-ID is malformed, or stands there twice"):
        encode(
            changed(wire_samples.MESSAGE, payloads=payloads),
            wire_samples.ROUTING,
            profile=Profile.RM_2000,
            boundary=BOUNDARY,
            root_content_id=ROOT_ID,
        )


@both_profiles
def test_a_refused_part_is_named(profile):
    """Its place and its Content-ID, what it did, and what the Manifest has instead."""
    error = refused(profile, part(OTHER, b""), part(HEAD, PAYLOAD))
    assert error.description == (
        "part 2 <po-2@a.example.com>: a part that the Manifest does not name; expected is one of"
        " 'po-1@a.example.com'"
    )
    for encoding, data in (("base64", b"QQ="), ("7bit", b"\xe4"), ("zip", b"")):
        head = f"{HEAD}Content-Transfer-Encoding: {encoding}\r\n"
        description = refused(profile, part(head, data)).description
        assert description.startswith("part 2 <po-1@a.example.com>: it")
    assert refused(profile, part("X: y\r\n", b"")).description.startswith("part 2: a part that")
    assert "names 'cid:po-1@a.example.com'; expected is a part" in refused(profile).description


# --- The document ------------------------------------------------------------------------------


@both_profiles
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<MessageId>m-0001@a.example.com", "<MessageId>m-<!-- a -->0001<!-- b -->@a.example.com"),
        ("<MessageId>m-0001@a.example.com", "<MessageId><![CDATA[m-00]]>01@a.example.com"),
        ("<MessageId>m-0001@a.example.com", "<MessageId>\n\t m-0001@a.example.com&#13;\r\n "),
        ("<Action>New", "<Action><!-- --> New"),
        ("conv-1", " conv-1\t"),
        ("<Header>", "<!-- <Header><MessageId>m-2</MessageId></Header> --><Header>"),
        ("</ebXMLHeader>", "<!-- </RoutingHeader> --></ebXMLHeader><!-- the end -->\n"),
        ("</RoutingHeader>", "<!-- > --></RoutingHeader><!-- </RoutingHeader> -->"),
        ("</ebXMLHeader>", "<x xmlns='urn:x'><![CDATA[</ebXMLHeader><!-- ]]></x></ebXMLHeader>"),
        ("<?xml ", "\r\n\t <?xml "),
        ('encoding="UTF-8"', 'encoding="utf8"'),
        ("OnceAndOnlyOnce", " OnceAndOnlyOnce "),
        ('ersion="0', 'ersion=" 0'),
        ("http://a.example.com/ebxmlhandler/", "\nhttp://a.example.com/ebxmlhandler/ <!-- -->"),
    ],
)
def test_what_says_the_same_in_other_words_is_the_same_message(old, new, profile):
    """Comments, CDATA, blanks: the same content and hops, and the same at the next MSH."""
    envelope = read(profile, part(HEAD, PAYLOAD), document=edited(profile, (old, new)))
    plain = usual(profile)
    assert (envelope.content, envelope.routing) == (plain.content, plain.routing)
    assert passed_on(envelope).content == plain.content


@both_profiles
@pytest.mark.parametrize(
    "value",
    ["m 1", "m&#13;1", "m&#10;1", "m<!-- a --> 1", "m<![CDATA[ ]]>1", "&#xA0;m1", "m1&#x85;"],
)
def test_blanks_inside_an_identifier_and_other_spaces_are_refused(value, profile):
    """X10, X13: only what XML calls white space is cut, and only at the ends."""
    error = refused(
        profile, part(HEAD, PAYLOAD), document=edited(profile, ("m-0001@a.example.com", value))
    )
    assert error.code is ErrorCode.VALUE_NOT_RECOGNIZED
    assert "MessageId 'm" in error.description or "MessageId '\\xa0m1'" in error.description


@both_profiles
def test_what_is_known_of_a_refused_sender_is_cut_and_read_across_too(profile):
    """The error goes back under the same id under which the message would have been stored."""
    document = edited(
        profile,
        ("m-0001@a.example.com", " m-<!-- -->0001@a.example.com\n"),
        ("OnceAndOnlyOnce", "Sometimes"),
        ("conv-1", "\tconv-1"),
    )
    about = wire_samples.about_of(
        body_of(header_part(profile, document)), SAMPLES[profile].PACKAGE_TYPE
    )
    assert about is not None
    assert (about.message_id, about.conversation_id) == ("m-0001@a.example.com", "conv-1")
    assert about.message_type == "Normal"


# --- Acknowledgements and errors of other products ---------------------------------------------


@both_profiles
def test_an_acknowledgement_with_blanks_round_its_reference_is_about_the_same(profile):
    """What is compared is the cut value."""
    document = wire_samples.edited((">m-0<", ">\n m-0\t<"), document=ACKNOWLEDGEMENTS[profile])
    content = read(profile, document=document).content
    assert isinstance(content, Acknowledgment)
    assert content.header.ref_to_message_id == "m-0"


OWN_NAMES = {
    Profile.RM_2000: ("MessageId", "TPAId", "ConversationId"),
    Profile.RM_2001: ("MessageId", "CPAId", "ConversationId"),
}


@both_profiles
@pytest.mark.parametrize("documents", [ACKNOWLEDGEMENTS, ERRORS], ids=["ack", "error"])
@pytest.mark.parametrize("empty", ["", "<{0}/>", "<{0}> </{0}>"])
def test_a_verdict_without_names_of_its_own_is_heard(empty, documents, profile):
    """It is matched by its RefToMessageId (I29); an id that nobody uses is missed by nobody."""
    document = documents[profile]
    for name in OWN_NAMES[profile]:
        start, end = document.index(f"<{name}>"), document.index(f"</{name}>")
        document = document[:start] + empty.format(name) + document[end + len(name) + 3 :]
    content = read(profile, document=document).content
    assert isinstance(content, Acknowledgment | ErrorSignal)
    header: SignalHeader = content.header
    assert (header.message_id, header.agreement_id, header.conversation_id) == ("", "", "")
    assert header.ref_to_message_id == "m-0"


@pytest.mark.parametrize("documents", [ACKNOWLEDGEMENTS, ERRORS], ids=["ack", "error"])
@pytest.mark.parametrize("name", ["TPAInfo", "ReliableMessagingInfo"])
def test_a_verdict_of_rm_2000_needs_no_more_than_its_reference(name, documents):
    """What it would say there has no effect; a message and an inquiry must say it."""
    document = documents[Profile.RM_2000]
    start, end = document.index(f"<{name}>"), document.index(f"</{name}>") + len(name) + 3
    without = document[:start] + document[end:]
    content = read(Profile.RM_2000, document=without).content
    assert isinstance(content, Acknowledgment | ErrorSignal)
    assert content.header.ref_to_message_id == "m-0"
    inquiry = without.replace('"Acknowledgement"', '"Ping"').replace('"Error">', '"Ping">', 1)
    inquiry = inquiry.replace(wire_samples.ERROR_LIST, "")
    assert f"element {name} is missing" in refused(Profile.RM_2000, document=inquiry).description


@both_profiles
@pytest.mark.parametrize("name", ["MessageId", "ConversationId"])
def test_a_message_without_names_of_its_own_is_refused(name, profile):
    """Only what is never answered by its name can be without one."""
    document = SAMPLES[profile].DOCUMENT
    start, end = document.index(f"<{name}>"), document.index(f"</{name}>") + len(name) + 3
    error = refused(profile, part(HEAD, PAYLOAD), document=document[:start] + document[end:])
    assert error.code is ErrorCode.OTHER_XML
    assert f"the element {name} is missing" in error.description


@pytest.mark.parametrize("said", ["Error", "Fatal", "", "warning"])
def test_a_highest_severity_that_does_not_fit_hides_no_error(said):
    """It is derived from the errors, whatever the list says of itself."""
    document = rm2001_samples.edited(
        ('highestSeverity="Warning"', f'highestSeverity="{said}"'),
        document=rm2001_samples.ERROR_DOCUMENT,
    )
    content = rm2001_samples.decode_document(document).content
    assert isinstance(content, ErrorSignal)
    assert [entry.severity for entry in content.errors] == [Severity.WARNING]
    note = f"(highestSeverity of this list is '{said}')"
    assert content.errors[0].description.endswith(note), "the difference is noted"


def test_a_long_description_keeps_its_length_beside_the_note():
    """It is bounded as every other is."""
    document = rm2001_samples.edited(
        ('highestSeverity="Warning"', 'highestSeverity="Error"'),
        ("</Description>", "x" * 5_000 + "</Description>"),
        document=rm2001_samples.ERROR_DOCUMENT,
    )
    content = rm2001_samples.decode_document(document).content
    assert isinstance(content, ErrorSignal)
    assert len(content.errors[0].description) == 4096
    assert content.errors[0].description.endswith("is 'Error')")


def test_the_sample_has_a_payload():
    """So that the comparisons above are of something."""
    for profile in OLDER:
        content = usual(profile).content
        assert isinstance(content, Message)
        assert len(content.payloads) == 1
