"""The splitter, the heads of parts and the transfer encodings, each by itself."""

import email
import email.policy
from base64 import b64encode
from binascii import b2a_qp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.wire.limits import Limits
from onceonly.wire.mime import (
    MediaType,
    PartHead,
    carried_type,
    check_writable_type,
    content_ids_of,
    parse_media_type,
    parse_part_head,
)
from onceonly.wire.splitter import (
    PADDING_BYTES_MAX,
    PartBegun,
    PartBytes,
    PartEnded,
    Splitter,
)
from onceonly.wire.transfer import transfer_of


def split(body, sizes=(), boundary="b", limits=None):
    """Heads and bodies of the parts, fed in pieces of the given sizes and the rest in one."""
    splitter = Splitter(boundary) if limits is None else Splitter(boundary, limits)
    pieces, at = [], 0
    for size in sizes:
        pieces.append(body[at : at + size])
        at += size
    events = [event for piece in [*pieces, body[at:]] for event in splitter.feed(piece)]
    events += splitter.finish()
    parts = []
    for event in events:
        match event:
            case PartBegun(head):
                parts.append([head, b""])
            case PartBytes(data):
                assert data
                parts[-1][1] += data
            case PartEnded():
                parts[-1] = tuple(parts[-1])
    return parts


def bodies(body, **options):
    return [data for _, data in split(body, **options)]


def refusal(body, **options):
    with pytest.raises(RemoteError) as refused:
        split(body, **options)
    return refused.value


# --- Delimiters --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"--b\r\n\r\nx\r\n--b--\r\n", [b"x"]),
        (b"--b\r\n\r\nx\r\n--b--", [b"x"]),
        (b"--b\r\n\r\nx\r\n--b-- \t", [b"x"]),
        (b"preamble\r\n--b\r\n\r\nx\r\n--b--\r\nepilogue\r\n--b\r\n\r\ny\r\n--b--", [b"x"]),
        (b"\r\n--b\r\n\r\nx\r\n--b--", [b"x"]),
        (b"--b \t \r\n\r\nx\r\n--b--", [b"x"]),
        (b"--b\r\n\r\n\r\n--b--", [b""]),
        (b"--b\r\nA: b\r\n\r\n--b--", [b""]),
        (b"--b\r\n\r\n--b--", [b""]),
        (b"--b\r\n\r\n\r\n\r\n--b--", [b"\r\n"]),
        (b"--b\r\n\r\nx\r\n--b\r\n\r\ny\r\n--b--", [b"x", b"y"]),
        (b"--b\r\n\r\nx\r\n--bc\r\n--b-\r\n--b-c\r\n--b--", [b"x\r\n--bc\r\n--b-\r\n--b-c"]),
        (b"--b\r\n\r\nx\n--bc\n\r\n--b--", [b"x\n--bc\n"]),
        (b"--b\n\nx\n--b--\n", [b"x"]),
        (b"--b\n\nx\n--b--", [b"x"]),
        (b"preamble\n--b \t\n\nx\r\n\n--b--\nepilogue\r\n--b--\r\n", [b"x\r\n"]),
        (b"--b\n\n--b\n\n\n--b\nA: b\n\n--b--", [b"", b"", b""]),
        (b"--b\n\n\n\r\n\n--b\n\ny\n--b--\n", [b"\n\r\n", b"y"]),
        (b"--b\r\n\r\nx\r--b--\r\r\n--b--", [b"x\r--b--\r"]),
        (b"--b\r\n\r\nx\r\n--b--y\r\n--b--", [b"x\r\n--b--y"]),
        (b"--b\r\n\r\nx\r\n--b\ry\r\n--b--", [b"x\r\n--b\ry"]),
        (b"--b\r\n\r\nx\r\n --b--\r\n--b--", [b"x\r\n --b--"]),
        (b"--b\r\n\r\nx\r\n\r\n--b--", [b"x\r\n"]),
    ],
)
def test_a_delimiter_is_a_whole_line_after_crlf(body, expected):
    """P5: RFC 2046 decides what is a delimiter; everything else is the part's, byte by byte."""
    assert bodies(body) == expected
    assert bodies(body, sizes=[1] * len(body)) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\r\n",
        b"--b",
        b"--b\r\n",
        b"--b\r\n\r\n",
        b"--b\r\n\r\nx",
        b"--b\r\n\r\nx\r\n--b",
        b"--b\r\n\r\nx\r\n--b\r\n",
        b"--b\r\n\r\nx\r\n--b-",
        b"--b\n\nx\n--b--\r\n",
        b"--b\n\nx\r\n--b--\n",
        b"--b\n\nx\r\n--b\n\ny\n--b--\n",
        b"--b\r\n\r\nx\n--b--\n\r\n--b--",
        b"--b\r\n\r\nx\n--b--\r\n",
        b"--b\r\n\r\nx\r\n--b--\n",
        b"--b\r\n\nx\r\n--b--\r\n",
        b"--b\n\r\nx\n--b--\n",
        b"--b\r\nA: b\n\r\nx\r\n--b--",
        b"--b\r\nA: b\r\n\nx\r\n--b--",
        b"--b\nA: b\r\n\nx\n--b--",
        b"--b\nA: b\n\r\nx\n--b--",
        b"--b\nA: b\r\nC: d\n\nx\n--b--",
        b"--b\r\nA: b\nContent-ID: <a>\r\n\r\nx\r\n--b--",
        b"\n--b\r\n\r\nx\r\n--b--",
        b"preamble\r\n--b\n\nx\n--b--",
        b"--b--\r\n",
        b"--c\r\n\r\nx\r\n--c--\r\n",
        b"--b\r\nno colon\r\n\r\nx\r\n--b--",
        b"--b\r\nbad name: x\r\n\r\nx\r\n--b--",
        b"--b\r\n--b--\r\n\r\n",
    ],
)
def test_a_body_without_a_part_or_an_end_is_refused(body):
    """P4 and R-42: what has no final boundary is not whole; two kinds of line ends are one too
    many, since some readers see a delimiter where others see none."""
    assert refusal(body).code is ErrorCode.MIME_PROBLEM
    assert refusal(body, sizes=[1] * len(body)).code is ErrorCode.MIME_PROBLEM


def test_the_final_boundary_is_missed_by_name():
    """The peer reads what was wrong with its package."""
    for body in (b"--b\r\n\r\nx", b"--b\n\nx"):
        description = refusal(body).description
        assert "without the final boundary line; expected is '--b-" in description


def test_two_kinds_of_line_ends_are_named():
    """Both of them, and which came first: nobody sees two packages in one (attack S16)."""
    description = refusal(b"--b\r\n\r\nx\n--b--\n").description
    assert (
        "a line of the package's frame ends in LF, the first boundary line in CRLF" in description
    )


@pytest.mark.parametrize("boundary", ["", "x" * 71, "x ", "x\ny", 'x"', "\u00e4"])
def test_an_illegal_boundary_is_refused(boundary):
    """P5: 1-70 characters of RFC 2046's set, not ending in a space."""
    with pytest.raises(RemoteError):
        Splitter(boundary)


@given(st.binary(max_size=300), st.lists(st.integers(1, 20), max_size=40))
def test_the_bytes_of_a_part_are_what_was_sent(data, sizes):
    """Whatever a part holds, in whatever pieces it comes."""
    boundary = "a-boundary-that-chance-does-not-find"
    line = b"--" + boundary.encode()
    body = line + b"\r\n\r\n" + data + b"\r\n" + line + b"\r\nA: b\r\n\r\n\r\n" + line + b"--\r\n"
    assert bodies(body, sizes=sizes, boundary=boundary) == [data, b""]


PIECES = st.sampled_from(
    [b"--b", b"--b--", b"\r\n", b"\r", b"\n", b"-", b"A: b\r\n", b"A: b\n", b" ", b"x"]
)


@given(st.lists(PIECES, max_size=25).map(b"".join), st.lists(st.integers(1, 5), max_size=30))
def test_what_is_found_does_not_depend_on_the_pieces(body, sizes):
    """One byte at a time or all at once: the same parts or the same refusal."""

    def outcome(sizes):
        try:
            return split(body, sizes)
        except RemoteError as error:
            return str(error)

    assert outcome(sizes) == outcome([])


@settings(max_examples=40)
@given(
    st.lists(st.binary(max_size=40).filter(lambda data: b"\n" not in data), min_size=1, max_size=5)
)
def test_the_standard_library_finds_the_same_parts(datas):
    """A second opinion on well-formed bodies."""
    boundary = "a-boundary-that-chance-does-not-find"
    body = b"".join(
        f"--{boundary}\r\nContent-Type: application/x\r\n"
        "Content-Transfer-Encoding: base64\r\n\r\n".encode()
        + b64encode(data)
        + b"\r\n"
        for data in datas
    )
    body += f"--{boundary}--\r\n".encode()
    head = f'Content-Type: multipart/related; boundary="{boundary}"\r\n\r\n'
    message = email.message_from_bytes(head.encode() + body, policy=email.policy.default)
    decoded = [transfer_of("base64").decode(data) for data in bodies(body, boundary=boundary)]
    assert decoded == [part.get_payload(decode=True) for part in message.iter_parts()] == datas


# --- Bounds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[], [1] * 30_000])
def test_too_many_parts_are_refused(sizes):
    """P1: a hundred parts, and not one more."""
    assert len(split(b"--b\r\n\r\n\r\n" * 100 + b"--b--", sizes)) == 100
    error = refusal(b"--b\r\n\r\n\r\n" * 101 + b"--b--", sizes=sizes)
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
def test_a_head_past_its_limit_is_refused(end):
    """P3: with an end in sight or without."""
    limits = Limits(part_head_bytes_max=20)
    split(b"--b\r\n" + b"A: " + b"x" * 17 + b"\r\n\r\n\r\n--b--", limits=limits)
    body = b"--b\r\n" + b"A: " + b"x" * (18 if end else 21) + end
    assert refusal(body, limits=limits).description.startswith("part 1: its head is too long")
    assert refusal(body, limits=limits, sizes=[5] * 9).code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_head_with_lf_line_ends_has_the_same_limit():
    """Whatever its lines end in."""
    limits = Limits(part_head_bytes_max=20)
    split(b"--b\n" + b"A: " + b"x" * 17 + b"\n\n\n--b--", limits=limits)
    error = refusal(b"--b\n" + b"A: " + b"x" * 18 + b"\n\n\n--b--", limits=limits)
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE


def test_padding_behind_a_boundary_is_bounded():
    """White space cannot make us hold back bytes for ever."""
    padding = b" " * (PADDING_BYTES_MAX - 2)
    assert bodies(b"--b" + padding + b"\r\n\r\nx\r\n--b--") == [b"x"]
    for sizes in ([], [1] * 2000):
        body = b"--b" + padding + b" \r\n\r\nx\r\n--b--"
        assert refusal(body, sizes=sizes).code is ErrorCode.MIME_PROBLEM


def test_lines_that_begin_like_a_delimiter_are_bounded():
    """P5: ten of them are somebody's text, twenty thousand are an attack."""
    line = b"\r\n--bx"
    end = b"\r\n--b--"
    assert bodies(b"--b\r\n\r\n" + line * 20_000 + end) == [line * 20_000]
    error = refusal(b"--b\r\n\r\n" + line * 20_001 + end)
    assert error.code is ErrorCode.MIME_PROBLEM


def test_the_bytes_of_a_body_are_counted():
    """P10: preamble and epilogue count like everything else."""
    body = b"preamble\r\n--b\r\n\r\nx\r\n--b--"
    split(body, limits=Limits(package_bytes_max=len(body)))
    error = refusal(body, limits=Limits(package_bytes_max=len(body) - 1))
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE


def test_little_is_held_back():
    """All but the last few bytes of a part come out with the piece that brought them."""
    splitter = Splitter("b")
    list(splitter.feed(b"--b\r\n\r\n"))
    came = sum(len(e.data) for e in splitter.feed(b"x" * 10_000) if isinstance(e, PartBytes))
    assert came > 10_000 - len(b"\r\n--b") - 1


@pytest.mark.parametrize("end", [b"", b"\r\n", b"\r\nepilogue"])
def test_the_frame_is_kept_as_it_came(end):
    """A line end that is missing behind the final boundary is not in it."""
    splitter = Splitter("b", keeps_frame=True)
    list(splitter.feed(b"--b\r\n\r\nx\r\n--b--" + end))
    list(splitter.finish())
    assert splitter.rest == b"\r\n--b--" + end


# --- Heads -------------------------------------------------------------------------------------


def test_the_fields_that_we_use_are_read_in_any_case_and_fold():
    """Names without case, folded lines, fields that we do not know."""
    head = (
        b"content-TYPE:  text/xml;\r\n\tcharset=utf-8 \r\nX-Other: a\r\nX-Other: b\r\n"
        b"Content-Id: <a@b>\r\nContent-Transfer-Encoding: 8BIT"
    )
    assert parse_part_head(head) == PartHead("text/xml;\tcharset=utf-8", "a@b", "8bit")


def test_an_empty_head_has_the_defaults():
    """RFC 2046 §5.1; over HTTP no transfer encoding means binary."""
    assert parse_part_head(b"") == PartHead("text/plain; charset=us-ascii", None, "binary")


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Type: a/b\r\nContent-Type: a/b",
        b"Content-Type:\r\ncontent-type: a/b",
        b"Content-ID: <a>\r\nContent-Id: <b>",
        b"Content-Transfer-Encoding: 8bit\r\nContent-Transfer-Encoding: base64",
        b"Content-ID:",
        b"Content-ID: <>",
        b"Content-ID: <a b>",
        b"Content-ID: <a\x00>",
        b"Content-Transfer-Encoding: 8bit\x0b",
        b"Content-ID: <<a>>",
        b"Content-ID: <a",
        b"Content-ID: <" + b"a" * 251 + b">",
        b"Content-ID: <\xc3\xa4>",
        b"Content-ID : <a>",
        b" Content-ID: <a>",
        b": x",
        b"X: a\rContent-ID: <a>",
    ],
)
def test_a_head_that_two_readers_could_read_differently_is_refused(head):
    """P6: nothing twice, no bare CR, no control characters in what is used."""
    with pytest.raises(RemoteError) as refused:
        parse_part_head(head)
    assert refused.value.code is ErrorCode.MIME_PROBLEM


@pytest.mark.parametrize(
    "line", [b"X: a\0b", b"X:\x0b\x0c\x7f", b"Content-Disposition: a; filename=\xff\r\n \x1b"]
)
def test_a_field_that_is_not_used_holds_anything(line):
    """R-42: it is nobody's identifier, and refuses nothing."""
    head = line + b"\r\nContent-ID: < a@b >"
    assert parse_part_head(head) == PartHead("text/plain; charset=us-ascii", "a@b", "binary")
    assert parse_part_head(head.replace(b"\r\n", b"\n")).content_id == "a@b"


def test_a_refusal_names_the_part():
    """Its place in the package, before anything else of it could be read."""
    body = b"--b\r\n\r\n\r\n--b\r\nno field\r\n\r\nx\r\n--b--"
    assert refusal(body).description.startswith("part 2: the line 'no field' of its head")


# --- Content-Type ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Text/XML", MediaType("text/xml", {})),
        ("a/b;", MediaType("a/b", {})),
        (' a/b ; C = "d"'.replace(" = ", "="), MediaType("a/b", {"c": "d"})),
        ('a/b;c="x;\\"y\\\\ z";d=e', MediaType("a/b", {"c": 'x;"y\\ z', "d": "e"})),
        ('a/b; c=""', MediaType("a/b", {"c": ""})),
        ("a/b; s=<x@y>; t=text/xml", MediaType("a/b", {"s": "<x@y>", "t": "text/xml"})),
    ],
)
def test_a_content_type_is_taken_apart(value, expected):
    """Quoted and unquoted values, escapes, white space, a trailing semicolon."""
    assert parse_media_type(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        "",
        "text",
        "text/",
        "a/b c",
        "a/b; c",
        "a/b; c=",
        'a/b; c="d',
        'a/b; c="d"e',
        "a/b; c=d; C=e",
        "a/b (comment)",
        "a/b; c=\u00e4",
        'a/b; c="\r\n"',
        "a/b; =d",
    ],
)
def test_a_malformed_content_type_is_refused(value):
    """Nothing is guessed."""
    with pytest.raises(RemoteError) as refused:
        parse_media_type(value)
    assert refused.value.code is ErrorCode.MIME_PROBLEM


@pytest.mark.parametrize(
    ("value", "carried"),
    [
        ("text/xml; charset=utf-8", "text/xml; charset=utf-8"),
        ('application/xml; name=\t"o.xml"', 'application/xml; name="o.xml"'),
        ("application/xml; name = o.xml", 'application/xml; name="o.xml"'),
        ('a/b; name="o.xml', "a/b"),
        ('a/b; name="o\xe9.xml"', 'a/b; name="o?.xml"'),
        ('a/b; broken; charset=utf-8; n="a\\"b"; x=', 'a/b; charset=utf-8; n="a\\"b"'),
        ("a/b; x=1; charset=utf-8; X=2; y=3", 'a/b; charset=utf-8; y="3"'),
        ("a/b; charset=utf-8; charset=latin-1", "a/b"),
        ('a/b c; charset="u t f"', "a/b"),
        ("a/b (a comment); name=x", 'a/b; name="x"'),
        ("no type", "application/octet-stream"),
        ("", "application/octet-stream"),
        ("a" * 961 + "/b; x=", "application/octet-stream"),
        ("a/b; x=" + "y" * 2_000, "a/b"),
        ("a/b; c=d; x=" + "y" * 2_000, 'a/b; c="d"'),
        ("a/b" + ";" * 65 + "c=d", 'a/b; c="d"'),
    ],
)
def test_the_type_of_a_payload_is_carried_as_far_as_it_can_be_made_out(value, carried):
    """R-42: nothing of it is used, so nothing of it refuses; what is kept can be written."""
    assert carried_type(value) == carried
    assert carried_type(carried) == carried


@given(st.text(max_size=60) | st.text('ab/;=" \\\t\xe9\0(', max_size=60).map("a/b;".__add__))
def test_whatever_the_type_of_a_payload_is_it_can_be_written(value):
    """Printable ASCII of bounded length that the strict grammar reads."""
    carried = carried_type(value)
    check_writable_type(carried)
    assert carried.isascii()
    assert carried.isprintable()
    assert len(carried) <= 960
    many = "".join(f"; p{n}=" + "v" * 40 for n in range(100))
    assert len(carried_type(value + many)) <= 960


def test_the_parameters_of_a_content_type_are_bounded():
    """P3: sixty-four, and an end to their length."""
    parse_media_type("a/b" + "".join(f";p{n}=v" for n in range(64)))
    for value in ("a/b" + ";" * 65, "a/b; c=" + "d" * (1 << 14)):
        with pytest.raises(RemoteError) as refused:
            parse_media_type(value)
        assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("a@b", ("a@b",)),
        ("a%40b", ("a%40b", "a@b")),
        ("a%20b", ("a%20b",)),
        ("a%b", ("a%b",)),
    ],
)
def test_a_reference_means_a_part_as_it_is_or_decoded(reference, meant):
    """R-42: decoded only where a part can be called so."""
    assert content_ids_of(reference) == meant


# --- Transfer encodings ------------------------------------------------------------------------


@given(st.binary(max_size=200), st.integers(1, 90), st.integers(1, 50))
def test_base64_is_undone_in_any_pieces(data, line, size):
    """Lines of any length with blanks at their ends, pieces of any size."""
    text = b64encode(data)
    text = b" \t\r\n".join(text[at : at + line] for at in range(0, len(text), line)) + b"  \n"
    transfer = transfer_of("base64")
    decoded = b"".join(transfer.decode(text[at : at + size]) for at in range(0, len(text), size))
    transfer.finish()
    assert decoded == data


@pytest.mark.parametrize(
    "pieces",
    [
        [b"QUJD!"],
        [b"QUJD-_=="],
        [b"QQ=Q"],
        [b"QQ==QQ=="],
        [b"QQ==", b"QQ=="],
        [b"===="],
        [b"Q==="],
        [b"QUJ"],
        [b"Q"],
    ],
)
def test_base64_with_junk_is_refused(pieces):
    """P9: no other alphabet, nothing behind the padding."""
    transfer = transfer_of("base64")
    with pytest.raises(RemoteError) as refused:
        decode_whole(transfer, pieces)
    assert refused.value.code is ErrorCode.MIME_PROBLEM


def decode_whole(transfer, pieces):
    for piece in pieces:
        transfer.decode(piece)
    transfer.finish()


@pytest.mark.parametrize("encoding", ["8bit", "binary"])
def test_binary_bytes_stay_as_they_are(encoding):
    """No encoding, no change."""
    transfer = transfer_of(encoding)
    assert transfer.decode(b"\0\xff\r\n") == b"\0\xff\r\n"
    transfer.finish()


def test_seven_bits_are_seven_bits():
    """P9: a part that says 7bit and is not was damaged or lies."""
    assert transfer_of("7bit").decode(b"abc\r\n") == b"abc\r\n"
    with pytest.raises(RemoteError):
        transfer_of("7bit").decode(b"\x80")


@pytest.mark.parametrize("encoding", ["", "quoted", "uuencode", "x-gzip", "gzip"])
def test_other_transfer_encodings_are_refused(encoding):
    """P9: nobody agreed on them; the refusal says which there are."""
    with pytest.raises(
        RemoteError, match="7bit, 8bit, binary, base64, quoted-printable"
    ) as refused:
        transfer_of(encoding)
    assert refused.value.code is ErrorCode.MIME_PROBLEM


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        (b"", b""),
        (b"a=3Db=0D=0A", b"a=b\r\n"),
        (b"a=3db=c3=A4", b"a=b\xc3\xa4"),
        (b"long=\r\n line", b"long line"),
        (b"long= \t\r\n line=\n.", b"long line."),
        (b"blanks \t\r\nat the end  ", b"blanks\r\nat the end"),
        (b"tab=09\r\n\tx \n", b"tab\t\r\n\tx\n"),
        (b"the end=", b"the end"),
        (b"the end= ", b"the end"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_quoted_printable_is_undone_in_any_pieces(text, decoded, size):
    """RFC 2045 §6.7: soft line breaks go, blanks at the end of a line go, the rest stays."""
    transfer = transfer_of("quoted-printable")
    pieces = [transfer.decode(text[at : at + size]) for at in range(0, len(text), size)]
    assert b"".join(pieces) + transfer.finish() == decoded


@given(st.binary(max_size=300), st.integers(1, 50))
def test_what_the_standard_library_quotes_is_read(data, size):
    """A second opinion, with every byte quoted that could be lost on the way."""
    text = b2a_qp(data, quotetabs=True, istext=False)
    transfer = transfer_of("quoted-printable")
    pieces = [transfer.decode(text[at : at + size]) for at in range(0, len(text), size)]
    assert b"".join(pieces) + transfer.finish() == data


@pytest.mark.parametrize(
    "pieces",
    [
        [b"a=4"],
        [b"a=4\r\n"],
        [b"a=xy\r\n"],
        [b"a==41"],
        [b"\xe4\r\n"],
        [b"a\0"],
        [b"a\rb\r\n"],
        [b"a=\r \nb"],
        [b"a\r\t\nb"],
        [b"= x\r\n"],
        [b"x" * 20_000, b"\r\n"],
        [b"x" * 20_000],
        [b"x\r\n" + b" " * 20_000 + b"\r\n"],
    ],
)
def test_quoted_printable_with_junk_is_refused(pieces):
    """P9, S19: bytes that it has no place for, equals signs that quote nothing, endless lines."""
    transfer = transfer_of("quoted-printable")
    with pytest.raises(RemoteError) as refused:
        decode_whole(transfer, pieces)
    assert refused.value.code is ErrorCode.MIME_PROBLEM
