"""What a capture is, and the package in it, whatever program has stored it."""

from quopri import encodestring

import pytest
from captures import (
    answer,
    chunked,
    chunked_in_lf,
    explained,
    in_lf,
    mail,
    order,
    order_2001,
    request,
)
from packages import ORDER, Parcel

from onceonly.explain.explanation import CaptureVerdict, Explanation


def parts(found: Explanation) -> list[tuple[str, int]]:
    return [(part.role, part.size_bytes) for part in found.parts]


def request_in_lf(parcel: Parcel) -> bytes:
    return in_lf(request(parcel))


def mail_in_lf(parcel: Parcel) -> bytes:
    return in_lf(mail(parcel))


def answer_in_lf(parcel: Parcel) -> bytes:
    return in_lf(answer(parcel))


@pytest.mark.parametrize(
    "make",
    [
        request,
        request_in_lf,
        chunked,
        chunked_in_lf,
        mail,
        mail_in_lf,
        answer,
        answer_in_lf,
    ],
)
@pytest.mark.parametrize("message", [order, order_2001])
def test_a_package_is_read_from_every_kind_of_capture(make, message):
    """With the line ends of the wire, or those of the program that stored it."""
    found = explained(make(message()))
    assert found.verdict is CaptureVerdict.UNDERSTOOD
    assert [part.role for part in found.parts] == ["header", "payload"]
    assert found.parts[1].size_bytes == len(ORDER)
    assert found.message is not None
    assert found.message.message_id == "m-1@a.example.com"


def test_quoted_printable_is_undone():
    """As mail programs carry a part."""
    parcel = order()
    plain = b"Content-Type: application/xml\r\n"
    coded = plain + b"Content-Transfer-Encoding: quoted-printable\r\n"
    body = parcel.body.replace(plain, coded).replace(ORDER, encodestring(ORDER))
    found = explained(mail_of(Parcel(parcel.content_type, body)))
    assert found.verdict is CaptureVerdict.UNDERSTOOD
    assert found.parts[1].transfer_encoding == "quoted-printable"
    assert found.parts[1].size_bytes == len(ORDER)


def mail_of(parcel: Parcel) -> bytes:
    head = f"From: <a@a.example>\r\nContent-Type: {parcel.content_type}\r\n\r\n"
    return head.encode() + parcel.body


def test_what_each_capture_is_is_said():
    """By its first line, its header block, or the type that is given."""
    parcel = order()
    kinds = {
        "http-request": explained(request(parcel)),
        "http-answer": explained(answer(parcel)),
        "mail": explained(mail(parcel)),
        "mime-body": explained(parcel.body, content_type=parcel.content_type),
        "header-document": explained(document_of(parcel)),
        "unknown": explained(b"\x00\x01 no capture at all"),
    }
    assert {kind: found.kind for kind, found in kinds.items()} == {kind: kind for kind in kinds}


def document_of(parcel: Parcel) -> bytes:
    return parcel.body.split(b"\r\n\r\n", 1)[1].split(b"\r\n--")[0]


def test_a_mime_part_with_its_header_block_is_a_bare_body():
    """As programs save a package without the transport around it."""
    parcel = order()
    found = explained(f"Content-Type: {parcel.content_type}\r\n\r\n".encode() + parcel.body)
    assert found.kind == "mime-body"
    assert found.verdict is CaptureVerdict.UNDERSTOOD


def test_what_cannot_be_recognised_says_what_was_tried():
    """So that whoever captured it knows what to give."""
    found = explained(b"--frontier\r\nno type is known\r\n")
    assert found.verdict is CaptureVerdict.NOT_RECOGNISED
    assert any("--content-type" in tried for tried in found.tried)
    assert explained(b"").verdict is CaptureVerdict.NOT_RECOGNISED


def test_the_outcome_of_an_answer_is_what_the_sender_makes_of_it():
    """204 is a transport's word; an error of the MSH is named."""
    taken = explained(b"HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n")
    assert taken.verdict is CaptureVerdict.UNDERSTOOD
    assert taken.transport[1].value.startswith("accepted")
    refused = explained(
        b"HTTP/1.1 400 Bad Request\r\nOnceonly-Error: MimeProblem\r\nContent-Length: 0\r\n\r\n"
    )
    assert refused.transport[1].value.startswith("refused")
    assert "MimeProblem" in refused.transport[1].value
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    assert "100" in explained(interim + b"HTTP/1.1 204 No Content\r\n\r\n").remarks[0]
    assert "another one follows" in explained(interim).transport[1].value


def test_a_capture_that_is_cut_short_says_how_much_is_missing():
    """A gateway would say that the transfer broke."""
    whole = request(order())
    found = explained(whole[:-40])
    assert found.verdict is CaptureVerdict.REFUSED
    assert any("40 of its" in remark for remark in found.remarks)
    ended = chunked(order())
    assert explained(ended[: -len(b"0\r\n\r\n")]).verdict is CaptureVerdict.REFUSED
    assert explained(in_lf(ended)[: -len(b"0\n\n")]).verdict is CaptureVerdict.REFUSED


def test_chunks_whose_bodies_were_rewritten_too_are_said_to_be_damaged():
    """Their sizes count bytes that are gone, and nobody knows which."""
    found = explained(in_lf(chunked(order())))
    assert found.verdict is CaptureVerdict.REFUSED
    assert found.remarks


def test_what_follows_the_body_is_named():
    """A stream that was followed has both directions in it."""
    found = explained(request(order()) + b"HTTP/1.1 204 No Content\r\n\r\n")
    assert any("an HTTP answer" in remark for remark in found.remarks)
    assert found.verdict is CaptureVerdict.UNDERSTOOD
    assert any("another" in one for one in explained(request(order()) * 2).remarks)


@pytest.mark.parametrize(
    ("size", "words"),
    [(b"zz\n", "hexadecimal"), (b"", "no size"), (b"ffff\nshort", "not in the capture")],
)
def test_damaged_chunks_are_named(size, words):
    """Also where the line ends were rewritten."""
    head = b"POST /msh HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n"
    found = explained(head + size)
    assert any(words in remark for remark in found.remarks)
    strict = explained(head.replace(b"\n", b"\r\n") + size)
    assert strict.verdict is CaptureVerdict.REFUSED


def test_secrets_of_the_head_are_not_shown():
    """An explanation is pasted into tickets."""
    found = explained(request(order(), "Authorization: Basic c2VjcmV0", "Cookie: s=c2VjcmV0"))
    assert "c2VjcmV0" not in repr(found)


SOAP_1_1 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_1_2 = "http://www.w3.org/2003/05/soap-envelope"
EBMS_1 = "http://www.ebxml.org/namespaces/messageHeader"
EBMS_2 = "http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd"
EBMS_3 = "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/"


def envelope(soap: str, inner: str = "urn:x") -> bytes:
    return f'<e:Envelope xmlns:e="{soap}" xmlns:eb="{inner}"/>'.encode()


@pytest.mark.parametrize(
    ("body", "fields", "name"),
    [
        (envelope(SOAP_1_1), "", "SOAP"),
        (envelope(SOAP_1_2, EBMS_3), "", "ebMS 3.0, of which AS4 is a profile"),
        (envelope(SOAP_1_1, EBMS_1), "", "ebMS 1.0"),
        (b"0\x80", "AS2-From: a\r\n", "AS2"),
        (b"x", 'SOAPAction: "urn:x"\r\n', "SOAP"),
        (b"<Invoice/>", None, "another XML document"),
    ],
)
def test_what_is_of_another_specification_is_named_with_what_gives_it_away(body, fields, name):
    """Of no profile of ours, and by what that can be told."""
    head = f"POST / HTTP/1.1\r\nHost: x\r\n{fields}Content-Type: text/xml\r\n\r\n".encode()
    found = explained(body if fields is None else head + body)
    assert found.verdict is CaptureVerdict.NOT_OURS
    assert found.foreign is not None
    assert found.foreign.name == name
    assert found.foreign.by


@pytest.mark.parametrize(
    ("body", "action"),
    [
        (envelope(SOAP_1_1, EBMS_2), ""),
        (envelope(SOAP_1_2, EBMS_2), ""),
        (envelope(SOAP_1_1, EBMS_2)[:-2], ""),
        (b"<!DOCTYPE x>" + envelope(SOAP_1_1, EBMS_2), ""),
        (b"x", 'SOAPAction: "ebXML"\r\n'),
    ],
    ids=["no header", "other SOAP", "cut off", "doctype", "nothing"],
)
def test_what_is_wrong_in_a_profile_of_ours_is_told_and_not_called_foreign(body, action):
    """A partner's engineer has to know what is wrong, and not that it is ebMS 2.0."""
    head = f"POST / HTTP/1.1\r\nHost: x\r\n{action}Content-Type: text/xml\r\n\r\n".encode()
    for capture in (head + body, body):
        if capture == b"x":
            continue
        found = explained(capture)
        assert (found.verdict, found.foreign) == (CaptureVerdict.REFUSED, None), found
        assert found.problem is not None


HEADLESS = [
    b"Content-Type: {type}\r\nContent-Length: {length}\r\n\r\n",
    b"Date: Sat, 31 Jan 2026 12:00:00 GMT\r\nServer: x\r\nContent-Type: {type}\r\n\r\n",
    b"Host: x\nUser-Agent: y\nDate: Sat, 31 Jan 2026 12:00:00 GMT\nContent-Type: {type}\n\n",
]


@pytest.mark.parametrize("head", HEADLESS, ids=["two fields", "answer", "request in LF"])
def test_a_head_of_http_without_its_first_line_is_no_mail(head):
    """Logs show fields and body; the fields say that it was HTTP."""
    parcel = order()
    head = head.replace(b"{type}", parcel.content_type.encode())
    head = head.replace(b"{length}", b"%d" % len(parcel.body))
    found = explained(head + parcel.body)
    assert (found.kind, found.verdict) == ("mime-body", CaptureVerdict.UNDERSTOOD), found
    assert any("first line" in remark for remark in found.remarks)


def test_chunks_without_a_first_line_are_joined():
    parcel = order()
    whole = chunked(parcel)
    found = explained(whole.partition(b"\r\n")[2])
    assert (found.kind, found.verdict) == ("mime-body", CaptureVerdict.UNDERSTOOD), found


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
@pytest.mark.parametrize("blank_lines", [0, 1])
def test_a_bare_mime_body_says_its_boundary_itself(line_end, blank_lines):
    """A program that keeps bodies alone keeps no Content-Type."""
    found = explained(line_end * blank_lines + order().body.replace(b"\r\n", line_end))
    assert (found.kind, found.verdict) == ("mime-body", CaptureVerdict.UNDERSTOOD), found
    assert any("boundary" in remark for remark in found.remarks)


def test_two_hyphens_alone_are_no_boundary():
    for start in (b"--\r\nContent-Type: x\r\n\r\n", b"--a\r\nno field\r\n\r\n", b"-- x"):
        assert explained(start).verdict is CaptureVerdict.NOT_RECOGNISED, start
