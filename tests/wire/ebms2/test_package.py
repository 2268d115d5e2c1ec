"""SOAP with Attachments around an envelope: which packages are read, and which are refused."""

import base64
import quopri
from dataclasses import replace

import pytest
from ebms2_samples import (
    BOUNDARY,
    DOCUMENT,
    MESSAGE,
    PACKAGE_TYPE,
    PART_HEAD,
    PAYLOAD,
    PAYLOAD_HEAD,
    PLAIN_TYPE,
    ROOT_ID,
    body_of,
    decode,
    decode_document,
    edited,
    part,
    refusal,
    refusal_of,
    sample_body,
    signal_document,
    written,
)
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import Collected, collected, joined, payload, pieces_of

from onceonly.message.errors import ErrorCode, FaultCode, RemoteError
from onceonly.message.message import Message
from onceonly.message.profile import Profile
from onceonly.message.signals import Inquiry
from onceonly.message.word import changed
from onceonly.wire import ebms2, registry
from onceonly.wire.envelope import Decoder
from onceonly.wire.header_digest import header_digest
from onceonly.wire.limits import Limits
from onceonly.wire.mail import framed, mail_pieces, mail_size_bytes
from onceonly.wire.unframed import Unframed

ENCODERS = {"base64": base64.encodebytes, "quoted-printable": quopri.encodestring}
TRANSFER = f"{PART_HEAD}Content-Transfer-Encoding: "
VALUE = 'xlink:href="cid:po-1@a.example.com"'


def typed(content_type: str) -> str:
    return content_type.replace("BOUNDARY", BOUNDARY).replace("ROOT", ROOT_ID)


@pytest.mark.statement("E2-09")
@pytest.mark.parametrize(
    "content_type",
    [
        'multipart/related; type="text/xml"; boundary="BOUNDARY"; start="<ROOT>"',
        'multipart/related; type=text/xml; boundary="BOUNDARY"; start=ROOT',
        'multipart/related; type="text/xml"; boundary="BOUNDARY"; start=<ROOT>',
        'multipart/related; type="TEXT/XML"; boundary="BOUNDARY"',
        'Multipart/Related; boundary="BOUNDARY"; start="ROOT"',
        'multipart/related; boundary="BOUNDARY"',
        'multipart/related; type="text/xml"; boundary="BOUNDARY"; start-info="x"; charset=x',
    ],
)
def test_every_spelling_of_the_content_type_is_read(content_type):
    """P2: without `type`, the first part says what it is."""
    envelope = decode(sample_body(), typed(content_type))
    assert (envelope.content, collected(envelope)) == (decode(sample_body()).content, [PAYLOAD])


@pytest.mark.statement("E2-08")
def test_with_a_frame_and_without_it_is_the_same_value():
    document = signal_document("Ping", about="")
    plain = decode(document.encode(), PLAIN_TYPE)
    framed = decode(body_of(part(PART_HEAD, document.encode())))
    assert plain == framed
    assert plain.content == framed.content


@pytest.mark.parametrize("content_type", ["text/xml", "Text/XML; charset=utf-8", PLAIN_TYPE])
def test_a_package_without_a_frame_is_read_in_pieces_of_any_size(content_type):
    """IR-16, IR-27: also without a charset."""
    document = signal_document("Ping", about="").encode()
    whole = decode(document, content_type)
    for size in (1, 7, 1000):
        assert decode(pieces_of(document, size), content_type) == whole


@pytest.mark.statement("E2-10")
def test_a_frame_of_lf_lines_is_read_like_one_of_crlf():
    as_lf = sample_body().replace(b"\r\n", b"\n")
    envelope = decode(as_lf)
    content = decode(sample_body()).content
    assert isinstance(content, Message)
    assert isinstance(envelope.content, Message)
    assert changed(envelope.content, payloads=()) == changed(content, payloads=())
    assert collected(envelope) == [PAYLOAD.replace(b"\r\n", b"\n")]


@pytest.mark.statement("E2-11")
@pytest.mark.parametrize("encoding", ["7bit", "8bit", "binary", "base64", "quoted-printable"])
def test_every_transfer_encoding_gives_the_same_payload_and_envelope(encoding):
    encode = ENCODERS.get(encoding, bytes)
    line = f"Content-Transfer-Encoding: {encoding}\r\n"
    data = PAYLOAD.rstrip()
    body = body_of(
        part(PART_HEAD + line, encode(DOCUMENT.encode())), part(PAYLOAD_HEAD + line, encode(data))
    )
    plain = decode(body_of(part(PART_HEAD, DOCUMENT.encode()), part(PAYLOAD_HEAD, data)))
    envelope = decode(body)
    assert (envelope.content, collected(envelope)) == (plain.content, [data])


@pytest.mark.statement("E2-11")
@pytest.mark.parametrize("encoding", ["base64", "quoted-printable"])
def test_a_document_without_a_frame_may_be_in_a_transfer_encoding(encoding):
    """As the whole body of a mail, whose head says so."""
    document = signal_document("Ping", about="").encode()
    decoder = Decoder(PLAIN_TYPE, lambda _: Collected(), transfer_encoding=encoding)
    for piece in pieces_of(ENCODERS[encoding](document), 100):
        decoder.feed(piece)
    assert decoder.finish() == decode_document(document.decode())


@pytest.mark.statement("E2-12")
@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_document_in_utf_16_is_read(codec):
    text = signal_document("Ping", about="").replace("UTF-8", "UTF-16")
    mark = "" if codec == "utf-16" else "\ufeff"
    document = (mark + text).encode(codec)
    assert decode(document, 'text/xml; charset="utf-16"') == changed(
        decode_document(signal_document("Ping", about="")), header=document
    )


@pytest.mark.parametrize("name", ["ISO-8859-1", "iso_8859-1", "latin1"])
@pytest.mark.parametrize("charset", ["", "; charset=iso-8859-1", '; charset="ISO-8859-1"'])
def test_a_document_in_latin_1_is_read_where_its_declaration_says_so(name, charset):
    """P9. Each time as the first time: bytes that would be UTF-8 as well stay what is declared."""
    for role in ("K\xe4ufer", "K\xc3\xa4ufer", "K\xe4ufer", "K\xc3\xa4ufer"):
        text = signal_document("Ping", about="").replace("UTF-8", name)
        document = text.replace(">Buyer<", f">{role}<").replace("conv-1", role).encode("latin-1")
        content = decode(document, f"text/xml{charset}").content
        assert isinstance(content, Inquiry)
        assert content.header.conversation_id == role


def test_a_document_in_ascii_is_read_and_has_nothing_else():
    text = signal_document("Ping", about="").replace("UTF-8", "US-ASCII")
    assert decode(text.encode(), "text/xml; charset=us-ascii").content
    error = refusal(text.replace("conv-1", "K\xe4ufer").encode("latin-1"), "text/xml")
    assert "not ascii" in error.description


@pytest.mark.statement("E2-12")
@pytest.mark.parametrize(
    ("charset", "document"),
    [
        ("utf-16", DOCUMENT.encode()),
        ("utf-8", DOCUMENT.replace("UTF-8", "UTF-16").encode("utf-16")),
        ("utf-8", DOCUMENT.replace("UTF-8", "ISO-8859-1").encode()),
        ("iso-8859-1", DOCUMENT.encode()),
        ("iso-8859-1", DOCUMENT.replace("UTF-8", "windows-1252").encode()),
        ("us-ascii", DOCUMENT.replace("UTF-8", "ISO-8859-1").encode()),
        ("utf-8", ("\ufeff" + DOCUMENT.replace("UTF-8", "ISO-8859-1")).encode()),
        ("utf-8", DOCUMENT.replace("Buyer", "K\xe4ufer").encode("latin-1")),
    ],
)
def test_encodings_that_disagree_are_a_fault(charset, document):
    assert refusal(document, f"text/xml; charset={charset}").fault is FaultCode.CLIENT


@pytest.mark.statement("E2-06")
def test_fields_that_we_do_not_know_are_skipped():
    odd = "X-Odd: \x01\r\nContent-Description: =?x?\r\n"
    body = body_of(part(odd + PART_HEAD, DOCUMENT.encode()), part(PAYLOAD_HEAD + odd, PAYLOAD))
    assert decode(body).content == decode(sample_body()).content


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", PACKAGE_TYPE),
        (b"no frame at all", PACKAGE_TYPE),
        (sample_body()[:-20], PACKAGE_TYPE),
        (body_of(), PACKAGE_TYPE),
        (body_of(part("Content-Type: text/plain\r\n", b"x")), PACKAGE_TYPE),
        (sample_body().replace(ROOT_ID.encode(), b"other@a.example.com", 1), PACKAGE_TYPE),
        (body_of(part(f"{TRANSFER}x\r\n", DOCUMENT.encode())), PACKAGE_TYPE),
        (body_of(part(f"{TRANSFER}base64\r\n", b"!!!!")), PACKAGE_TYPE),
        (sample_body().replace(b"\r\n\r\n", b"\r\n\n", 1), PACKAGE_TYPE),
        (sample_body(), 'multipart/related; type="text/xml"'),
        (sample_body(), 'multipart/related; type="text/xml"; boundary="a!b"'),
        (b"", PLAIN_TYPE),
    ],
    ids=range(12),
)
def test_a_package_that_is_broken_is_a_fault(body, content_type):
    """Nobody is known who could be told by a message."""
    assert refusal(body, content_type).fault is FaultCode.CLIENT


@pytest.mark.parametrize(
    ("content_type", "code"),
    [
        ("text/html", ErrorCode.NOT_SUPPORTED),
        ('multipart/related; type="text/html"; boundary=x', ErrorCode.NOT_SUPPORTED),
        ("application/vnd.eb+xml", ErrorCode.NOT_SUPPORTED),
        ("nonsense", ErrorCode.MIME_PROBLEM),
    ],
)
def test_another_media_type_is_no_package(content_type, code):
    error = refusal(sample_body(), content_type)
    assert (error.code, error.fault) == (code, None)


def test_what_a_package_may_be_called_is_told_of_every_profile():
    """A proxy's page comes to a partner of any; a text for one of them sends him astray."""
    told = refusal(b"<html/>", "text/html").description
    assert {one.header_type for one in registry.codecs()} == {"application/vnd.eb+xml", "text/xml"}
    assert "type application/vnd.eb+xml or text/xml, or text/xml alone" in told
    framed = 'multipart/related; boundary="=_x"'
    body = b"--=_x\r\nContent-Type: text/html\r\n\r\n<html/>\r\n--=_x--\r\n"
    assert "expected is application/vnd.eb+xml or text/xml" in refusal(body, framed).description


def test_the_type_parameter_may_say_a_charset_too():
    """The type is what counts of it; the header part says its charset by itself."""
    content_type = PACKAGE_TYPE.replace('"text/xml"', '"text/xml ; charset=utf-8"')
    assert decode(sample_body(), content_type).content == decode(sample_body()).content


@pytest.mark.statement("E2-37")
@pytest.mark.parametrize(
    "document", [edited((VALUE, VALUE.replace("po-1", "po-2"))), DOCUMENT], ids=["other", "none"]
)
def test_a_reference_that_no_part_has_is_told_with_its_href(document):
    body = body_of(part(PART_HEAD, document.encode()))
    error = refusal(body)
    assert (error.code, error.fault) == (ErrorCode.MIME_PROBLEM, None)
    assert error.location in ("cid:po-1@a.example.com", "cid:po-2@a.example.com")


@pytest.mark.parametrize("name", ["po%2D1%40a.example.com", "po-1@a.example.com"])
def test_a_reference_may_be_percent_encoded(name):
    """P6, IR-13."""
    content = decode_document(edited((VALUE, f'xlink:href="cid:{name}"'))).content
    assert isinstance(content, Message)
    assert [one.content_id for one in content.payloads] == ["po-1@a.example.com"]


def test_a_part_that_the_manifest_does_not_name_is_dropped_and_counted():
    """P7: nothing of it is kept, and no sink is opened for it."""
    extra = part("Content-ID: <extra>\r\n", b"x" * 100)
    nameless = part("Content-Type: image/png\r\n", b"y")
    body = body_of(part(PART_HEAD, DOCUMENT.encode()), extra, part(PAYLOAD_HEAD, PAYLOAD), nameless)
    envelope = decode(body)
    assert changed(envelope, dropped_parts=0, sinks=()) == changed(decode(sample_body()), sinks=())
    assert (envelope.dropped_parts, collected(envelope)) == (2, [PAYLOAD])


def test_a_payload_without_a_manifest_is_told():
    document = signal_document("Ping", about="")
    error = refusal(body_of(part(PART_HEAD, document.encode()), part(PAYLOAD_HEAD, PAYLOAD)))
    assert (error.code, error.fault) == (ErrorCode.MIME_PROBLEM, None)


def test_two_parts_of_one_name_are_told():
    body = body_of(
        part(PART_HEAD, DOCUMENT.encode()), part(PAYLOAD_HEAD, b"a"), part(PAYLOAD_HEAD, b"b")
    )
    assert refusal(body).code is ErrorCode.MIME_PROBLEM


def test_a_package_of_another_profile_is_read_as_before():
    """A SOAP envelope under the type of the older profiles is none of theirs."""
    body = sample_body().replace(b"text/xml", b"application/vnd.eb+xml")
    error = refusal(body, PACKAGE_TYPE.replace("text/xml", "application/vnd.eb+xml"))
    assert (error.code, error.fault) == (ErrorCode.OTHER_XML, None)


@pytest.mark.parametrize("limits", [Limits(package_bytes_max=100), Limits(header_bytes_max=100)])
@pytest.mark.parametrize("content_type", [PLAIN_TYPE, PACKAGE_TYPE])
def test_a_package_past_a_limit_is_too_large(limits, content_type):
    body = DOCUMENT.encode() if content_type == PLAIN_TYPE else sample_body()
    with pytest.raises(RemoteError) as refused:
        decode(body, content_type, limits)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.statement("E2-13")
@pytest.mark.parametrize("datas", [(), (PAYLOAD,), (b"\x00\xff" * 100, PAYLOAD)], ids=range(3))
def test_nothing_is_encoded_for_transfer_but_every_part_of_a_mail(datas):
    """A document that stands alone gets a frame, since the head of a mail says no encoding."""
    parts = tuple(payload(data, f"part-{n}") for n, data in enumerate(datas))
    package = written(changed(MESSAGE, payloads=parts))
    assert b"Transfer-Encoding" not in joined(package, datas)
    as_mail = framed(package)
    mail = b"".join(mail_pieces(as_mail, [[data] for data in datas]))
    assert len(mail) == mail_size_bytes(as_mail, parts)
    assert mail.count(b"Content-Transfer-Encoding: base64\r\n") == 1 + len(datas)
    assert mail.isascii()
    by_mail = decode(mail, as_mail.content_type)
    by_post = decode(joined(package, datas), package.content_type)
    assert (by_mail.content, collected(by_mail)) == (by_post.content, list(datas))
    assert by_mail.header == by_post.header
    assert framed(as_mail) is as_mail


def test_an_unframed_package_that_is_empty_still_is_one_part():
    assert len(list(Unframed("text/xml").finish())) == 2


def test_a_comment_and_a_cdata_section_are_read_across():
    """P11, S13: the value that expat gives is the only one."""
    document = edited(("m-0001@a.example.com", "m-<!-- x -->00<![CDATA[01@a]]>.example.com"))
    content = decode_document(document).content
    assert isinstance(content, Message)
    assert content.message_id == "m-0001@a.example.com"


@pytest.mark.parametrize(
    "start",
    ["<!DOCTYPE a>", '<!DOCTYPE a [<!ENTITY b "c">]>', "<?xml-stylesheet?>"],
)
def test_what_could_change_the_meaning_of_a_document_is_a_fault(start):
    """S14."""
    document = DOCUMENT.replace("<SOAP:Envelope", f"{start}<SOAP:Envelope", 1)
    assert refusal_of(document).fault is FaultCode.CLIENT


# --- The digest of the header, and the registry --------------------------------------------------


def test_the_degree_of_reliability_is_no_part_of_the_content():
    """R-37: one and the same message whatever is asked for; the type of its Service counts."""
    one = header_digest(MESSAGE, Profile.EBMS_2_0)
    assert one == header_digest(
        changed(MESSAGE, semantics="BestEffort", time_to_live_at=None), Profile.EBMS_2_0
    )
    assert one != header_digest(changed(MESSAGE, service_type="string"), Profile.EBMS_2_0)
    assert one != header_digest(MESSAGE, replace(Profile.EBMS_2_0, header_names_semantics=True))


def test_a_media_type_says_one_profile_only():
    other = replace(ebms2.CODEC, profile=replace(Profile.EBMS_2_0, name="other"))
    with pytest.raises(AssertionError):
        registry.register(other)
    with pytest.raises(AssertionError):
        registry.register(replace(other, version_attribute="edition"))


def test_a_profile_that_was_withdrawn_is_not_read_any_more():
    registry.withdraw(ebms2.CODEC)
    try:
        for content_type in (PACKAGE_TYPE, PLAIN_TYPE):
            with pytest.raises(RemoteError, match=r"type application/vnd\.eb\+xml"):
                Decoder(content_type, Collected)
    finally:
        registry.register(ebms2.CODEC)


@given(st.binary(max_size=200), st.integers(0, len(sample_body())))
def test_whatever_comes_gives_a_value_or_a_refusal(noise, at):
    """R-25."""
    body = sample_body()
    try:
        decode(body[:at] + noise + body[at + len(noise) :])
    except RemoteError:
        return
