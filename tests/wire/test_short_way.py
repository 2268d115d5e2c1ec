"""A whole package by the short way and by the long way: one answer, whatever came and however.

The long way is taken by a package that comes byte by byte, under limits that nobody had before.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_samples import BY_NAME, DATAS, Sample, edits
from layout_samples import SAMPLES as LAYOUTS

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.profile import Profile
from onceonly.wire import header
from onceonly.wire.document import Document, about
from onceonly.wire.envelope import Decoder
from onceonly.wire.limits import DEFAULT, Limits
from onceonly.wire.mime import PLAIN_HEAD, PartHead, find_known_head, parse_part_head
from onceonly.wire.package_type import LENGTH_MAX, parse_package_type, read_package_type
from onceonly.wire.registry import codec_of
from onceonly.wire.splitter import Splitter
from onceonly.wire.whole import find_parts

LIMITS = (
    DEFAULT,
    Limits(parts_max=2),
    Limits(part_head_bytes_max=120),
    Limits(parameters_max=2),
    Limits(header_bytes_max=1400),
    Limits(elements_max=25),
)
MESSAGE = BY_NAME["rm-2000 message"]


def without_percent(sample: Sample) -> Sample:
    """Its Content-IDs can be read in one way only."""
    body = sample.body.replace(b"po%2D2", b"po-2")
    return replace(sample, name=f"{sample.name}, plain", body=body)


PLAIN = [
    without_percent(BY_NAME[f"{profile} two payloads"])
    for profile in ("rm-2000", "rm-2001", "ebms-2.0")
]
SAMPLES = (*LAYOUTS, *PLAIN)
BOUNDARY = b"=_onceonly_0123456789abcdef"


class Watch:
    """What the caller of a decoder sees, in its order; the pieces of a payload are one."""

    def __init__(self, refuse: Callable[[Document], None]) -> None:
        self.seen: list[Any] = []
        self._refuse = refuse

    def admit(self, document: Document) -> None:
        self.seen.append(document)
        self._refuse(document)

    def open_sink(self, head: PartHead) -> "WatchedSink":
        self.seen.append(head)
        return WatchedSink(self.seen)


class WatchedSink:
    """Equal to one that got the same bytes."""

    def __init__(self, seen: list[Any]) -> None:
        self._seen = seen
        self._data = b""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WatchedSink) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]  # because what it holds changes

    def write(self, data: bytes, /) -> None:
        assert data, "nothing is never written"
        self._data += data

    def close(self) -> tuple[int, str]:
        self._seen.append("closed")
        return len(self._data), sha256(self._data).hexdigest()


def let_in(_: Document) -> None:
    """Everybody."""


def refuse_some(document: Document) -> None:
    """Those that one sender sends, who sends most of the samples."""
    from_id = about(document).from_ids[0].value
    if from_id in ("urn:duns:111111111", "111111111"):
        raise RemoteError(ErrorCode.SECURITY_FAILURE, "not admitted")


def told(
    content_type: str,
    pieces: list[bytes],
    limits: Limits,
    refuse: Callable[[Document], None] = let_in,
) -> tuple[Any, ...]:
    """All that a package says and does: its envelope or its refusal, and what was seen before."""
    watch = Watch(refuse)
    try:
        decoder = Decoder(content_type, watch.open_sink, limits, admit=watch.admit)
    except RemoteError as error:
        return error.code, error.severity, error.description
    answer: Any
    try:
        for piece in pieces:
            decoder.feed(piece)
        answer = decoder.finish()
    except RemoteError as error:
        answer = error.code, error.severity, error.description
    return answer, watch.seen, decoder.about, decoder.is_admitted


def long_way(
    content_type: str, body: bytes, limits: Limits, refuse: Callable[[Document], None] = let_in
) -> tuple[Any, ...]:
    """Byte by byte, so that no part is ever whole; and under limits of no template."""
    pieces = [body[at : at + 1] for at in range(len(body))]
    return told(content_type, pieces, replace(limits), refuse)


@pytest.fixture(scope="module", autouse=True)
def _learned() -> None:
    """Every layout, under all limits."""
    for sample in SAMPLES:
        for limits in LIMITS:
            for _ in range(3):
                told(sample.content_type, [sample.body], limits)


def cut(body: bytes, places: list[int]) -> list[bytes]:
    """In pieces that end at these places."""
    ends = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    return [body[start:end] for start, end in pairwise(ends)]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_package_goes_the_short_way(sample: Sample):
    """Its parts are found whole, and its document is known."""
    charset = codec_of(sample.profile).charset
    assert header.find(sample.document, charset, sample.profile, DEFAULT) is not None
    boundary, _, _, header_type = read_package_type(sample.content_type, DEFAULT)
    if not sample.is_framed:
        return
    assert header_type is not None
    assert boundary is not None
    parts = find_parts(sample.body, boundary, DEFAULT)
    assert parts is not None
    assert len(parts) == sample.body.count(BOUNDARY) - 1
    _, document = parts[0]
    assert document == sample.document


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_a_package_in_two_pieces_says_the_same_wherever_it_is_cut(sample: Sample):
    """The first piece may be all but the last byte of the frame, or none of it."""
    expected = long_way(sample.content_type, sample.body, DEFAULT)
    for place in range(len(sample.body) + 1):
        assert told(sample.content_type, cut(sample.body, [place]), DEFAULT) == expected, place


@settings(max_examples=400)
@given(st.data())
def test_both_ways_agree_whatever_came_and_in_whatever_pieces(data):
    """Values, refusals with their words, sinks in their order, admission, limits."""
    sample = data.draw(st.sampled_from(SAMPLES))
    limits = data.draw(st.sampled_from(LIMITS))
    refuse = data.draw(st.sampled_from([let_in, let_in, refuse_some]))
    body = data.draw(st.just(sample.body) | edits(sample.body))
    places = data.draw(st.lists(st.integers(0, len(body)), max_size=3))
    short = told(sample.content_type, cut(body, places), limits, refuse)
    assert short == long_way(sample.content_type, body, limits, refuse)


@settings(max_examples=200)
@given(st.data())
def test_both_ways_agree_after_whatever_came_before(data):
    """An odd package leaves nothing behind that reads the next one wrongly."""
    sample = data.draw(st.sampled_from(SAMPLES))
    first = data.draw(edits(sample.body))
    for _ in range(3):
        told(sample.content_type, [first], DEFAULT)
    second = data.draw(edits(first))
    expected = long_way(sample.content_type, second, DEFAULT)
    assert told(sample.content_type, [second], DEFAULT) == expected


def test_a_payload_is_opened_only_when_its_sender_was_let_in():
    """R-45: nothing is kept for who is not admitted; and nothing is learned from him."""
    strange = MESSAGE.body.replace(b"  <Header>", b"  <Header >")
    for _ in range(3):
        answer, seen, about, is_admitted = told(
            MESSAGE.content_type, [strange], DEFAULT, refuse_some
        )
        assert answer[0] is ErrorCode.SECURITY_FAILURE
        assert [type(one) for one in seen] == [Document]
        assert about is not None
        assert not is_admitted
    document = MESSAGE.document.replace(b"  <Header>", b"  <Header >")
    assert header.find(document, "utf-8", Profile.RM_2000, DEFAULT) is None


@pytest.mark.parametrize("less", range(3))
def test_a_package_that_is_too_long_is_refused_before_anything_is_read(less):
    """Whichever way it would have gone."""
    limits = Limits(package_bytes_max=len(MESSAGE.body) - less)
    answer, seen, *_ = told(MESSAGE.content_type, [MESSAGE.body], limits)
    if less:
        assert answer[0] is ErrorCode.MESSAGE_TOO_LARGE
        assert seen == []
    else:
        assert [type(one) for one in seen] == [Document, PartHead, str]


@pytest.mark.parametrize("room", range(3))
def test_an_epilogue_that_comes_later_is_counted_and_skipped(room):
    """Behind a package that was read at once, as behind any other."""
    limits = Limits(package_bytes_max=len(MESSAGE.body) + room)
    for pieces in ([MESSAGE.body, b"\r\n"], [MESSAGE.body, b"\r", b"\n"]):
        answer, seen, *_ = told(MESSAGE.content_type, pieces, limits)
        assert [type(one) for one in seen] == [Document, PartHead, str]
        if room < 2:
            assert answer[0] is ErrorCode.MESSAGE_TOO_LARGE
        else:
            assert answer == told(MESSAGE.content_type, [MESSAGE.body], limits)[0]


def test_a_package_of_nothing_is_refused():
    """Also where no piece of it came."""
    for pieces in ([], [b""]):
        answer, seen, *_ = told(MESSAGE.content_type, pieces, DEFAULT)
        assert answer[0] is ErrorCode.MIME_PROBLEM
        assert seen == []


TWO = PLAIN[0]
IDS = [one.decode() for one in re.findall(rb"Content-ID: <([^>]+)>", TWO.body)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"\r\n\r\n{DATAS[0].decode()}\r\n", "\r\n\r\n\r\n"),
        (f"Content-ID: <{IDS[0]}>", "Content-ID: <another>"),
        (f"Content-ID: <{IDS[1]}>", "Content-ID: <another>"),
        (f"Content-ID: <{IDS[1]}>", f"Content-ID: <{IDS[0]}>"),
        (f"Content-ID: <{IDS[1]}>", f"Content-ID: <{IDS[2]}>"),
        (f"cid:{IDS[1]}", "cid:another"),
        (f"cid:{IDS[1]}", f"cid:{IDS[0]}"),
        (f"cid:{IDS[1]}", f"CID:{IDS[1]}"),
        (IDS[1], "po%41"),
        (f"cid:{IDS[1]}", f"cid:%{ord(IDS[1][0]):x}{IDS[1][1:]}"),
        ("Content-Type: application/vnd.eb+xml", "Content-Type: application/xml"),
        ("Content-Type: application/vnd.eb+xml", "Content-Type: xml"),
        ('; version="0.21"; charset', "; charset"),
        ('; version="0.21"; charset', '; version="0.93"; charset'),
        ('; version="0.21"; charset', '; version="0.2"; charset'),
        ('; version="0.21"; charset', '; version="1.0"; charset'),
        ('; charset="utf-8"', ""),
        ('; charset="utf-8"', '; charset="utf-16"'),
    ],
)
@pytest.mark.parametrize(
    "said", [TWO.content_type, TWO.content_type.replace('version="0.21"; ', "")]
)
def test_both_ways_agree_of_what_a_header_and_its_payloads_say_of_one_another(old, new, said):
    """Names that meet or miss one another, versions that agree or not."""
    body = TWO.body.replace(old.encode(), new.encode())
    assert body != TWO.body
    for _ in range(3):
        assert told(said, [body], DEFAULT) == long_way(said, body, DEFAULT)


@pytest.mark.parametrize("start", ["", '; start="<another>"'])
def test_both_ways_agree_of_a_start(start):
    """It may be absent; it may not name another part."""
    said = re.sub(r'; start="[^"]*"', start, MESSAGE.content_type)
    assert told(said, [MESSAGE.body], DEFAULT) == long_way(said, MESSAGE.body, DEFAULT)


def test_a_payload_that_nobody_announced_is_refused_on_both_ways():
    """Behind a document without a Manifest."""
    sample = BY_NAME["rm-2000 acknowledgement"]
    part = b"\r\nContent-Type: a/b\r\nContent-ID: <a>\r\n\r\nx\r\n--" + BOUNDARY
    body = sample.body.removesuffix(b"--\r\n") + part + b"--\r\n"
    answer = told(sample.content_type, [body], DEFAULT)
    assert answer == long_way(sample.content_type, body, DEFAULT)
    assert answer[0][0] is ErrorCode.MIME_PROBLEM


# --- Frames -------------------------------------------------------------------------------------


def parts_of(body: bytes, limits: Limits) -> tuple[list[tuple[Any, ...]], str]:
    """Heads and bytes of the parts by the long way, and how it ended."""
    splitter = Splitter(BOUNDARY.decode(), limits)
    parts: list[tuple[Any, ...]] = []
    try:
        for event in (*splitter.feed(body), *splitter.finish()):
            match type(event).__name__:
                case "PartBegun":
                    parts.append((event.head, b""))
                case "PartBytes":
                    head, data = parts.pop()
                    parts.append((head, data + event.data))
    except RemoteError as error:
        return parts, str(error)
    return parts, "whole"


def check_frame(body: bytes, limits: Limits) -> bool:
    """Whether the short way cuts it; then as the long way does."""
    found = find_parts(body, BOUNDARY.decode(), limits)
    assert found is None or (found, "whole") == parts_of(body, limits), body
    return found is not None


@pytest.mark.parametrize("with_", [b"", b"\r", b"\n", b"\r\n", b" ", b"-", b"--", b"<", b"\xe9"])
@pytest.mark.parametrize("name", ["rm-2000 two payloads", "rm-2001 acknowledgement"])
def test_both_ways_cut_a_package_alike_after_every_small_change(name, with_):
    """A byte taken away, or one of those that frames are made of in its place or before it."""
    body = BY_NAME[name].body
    for place in range(len(body)):
        for edited in (
            body[:place] + with_ + body[place + 1 :],
            body[:place] + with_ + body[place:],
        ):
            check_frame(edited, DEFAULT)


@pytest.mark.parametrize("limits", [*LIMITS, *(Limits(part_head_bytes_max=n) for n in (60, 107))])
def test_a_limit_of_frames_holds_on_both_ways(limits):
    """Too many parts, or too long a head."""
    body = BY_NAME["rm-2000 two payloads"].body
    is_within = parts_of(body, limits)[1] == "whole"
    assert check_frame(body, limits) == is_within


@pytest.mark.parametrize("name", ["rm-2000 message", "rm-2000 two payloads", "rm-2001 message"])
def test_an_empty_part_is_the_same_on_both_ways(name):
    """With a line end of its own behind the blank line, or with the blank line's (RFC 2046)."""
    body = BY_NAME[name].body
    for data in DATAS:
        for line_end in (b"\r\n", b""):
            edited = body.replace(data + b"\r\n", line_end)
            is_plain = line_end != b"" or edited == body
            assert check_frame(edited, DEFAULT) == is_plain


@pytest.mark.parametrize(
    "encoding", ["7bit", "8bit", "binary", "BINARY", "base64", "quoted-printable", "other"]
)
@pytest.mark.parametrize("name", ["rm-2000 message", "rm-2000 two payloads"])
def test_a_transfer_encoding_is_undone_on_both_ways(name, encoding):
    """The short way has those that leave bytes as they are."""
    field = f"\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n".encode()
    sample = BY_NAME[name]
    body = re.sub(rb"(?<=\r\nContent-ID: )(<[^>]+>)\r\n\r\n", rb"\1" + field, sample.body)
    assert body.count(field) == sample.body.count(b"Content-ID")
    for _ in range(2):
        short = told(sample.content_type, [body], DEFAULT)
        assert short == long_way(sample.content_type, body, DEFAULT)


def check_head(head: bytes) -> None:
    found = PLAIN_HEAD.match(b"\r\n" + head + b"\r\n\r\n")
    if found is None or found.end() < len(head) + 6:
        return
    before, content_id, after = found.groups()
    known = find_known_head(before, after)
    if known is not None:
        said = PartHead(known.content_type, content_id.decode(), known.transfer_encoding)
        assert said == parse_part_head(head)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"Content-Type: a/b",
        b"Content-ID: <a>",
        b'Content-ID: <a>\r\nContent-Type: a/b; name="<c>"',
        b'Content-Type: a/b; name="<c>"\r\nContent-ID: <a>',
        b'Content-Type: a/b; name="<c>"',
        b"Content-ID: a\r\nContent-Description: <c>",
        b"Content-ID: 1\r\nContent-Description: <c>",
        b"Content-ID: <a>\r\nContent-ID: <a>",
        b"Content-ID: <a>\r\nX: <c>",
        b"Content-ID: < a >",
        b"Content-ID: <a b>",
        b"Content-ID: <>",
        b"Content-ID: <\xe9>",
        b"Content-ID:\r\n <a>",
        b"Content-ID: <a\r\n b>",
        b"Content-ID: <a>\nContent-Type: a/b",
        b"Content-ID: <a>\rContent-Type: a/b",
        b"<a>: b",
        b"Content-Type: a/b\r\nContent-ID: <a>\r\nX: y",
        b"\r\nContent-ID: <a>",
        b"CONTENT-id:<" + b"a" * 250 + b">\r\nContent-Type: a/b",
        b"Content-ID: <" + b"a" * 251 + b">",
    ],
)  # fmt: skip
def test_a_head_says_the_same_on_both_ways(head):
    """Or nothing on the short one."""
    check_head(head)


HEAD_PIECES = (
    *(b"<", b">", b":", b";", b" ", b"\r", b"\n", b"1", b"a", b"=", b'"'),
    *(b"Content-ID", b"Content-Type", b"\r\n", b": ", b"<a>", b"<1>", b"a/b"),
)


@given(st.lists(st.sampled_from(HEAD_PIECES), max_size=14).map(b"".join))
def test_any_head_says_the_same_on_both_ways(head):
    """Or nothing on the short one."""
    check_head(head)


# --- The Content-Type of the package ------------------------------------------------------------


def package_type(read: Callable[..., Any], content_type: str, limits: Limits) -> Any:
    try:
        return read(content_type, limits)
    except RemoteError as error:
        return error.code, error.description


TYPE_PIECES = (
    *(
        "multipart/related",
        "; ",
        ";",
        " ",
        "=",
        '"',
        "'",
        "<",
        ">",
        "x0",
        "y0",
        "x1",
        "\\",
        "(",
        ",",
    ),
    *('boundary="b"', "boundary=b", "boundary=", "BOUNDARY=b", 'start="<a>"', "start=<a>"),
    *('type="application/vnd.eb+xml"', 'version="0.21"', "version=boundary=b", 'start="a"', "é"),
    *('x="boundary=b"', "start*=", 'x=";boundary=b"', 'boundary="b b"', 'boundary="x0"', "b"),
    *('type="boundary=b"', "restart=<a>", "version=start=1"),
)


@settings(max_examples=500)
@given(st.lists(st.sampled_from(TYPE_PIECES), max_size=9).map("".join), st.booleans())
def test_any_content_type_says_the_same_on_both_ways(text, is_whole):
    """Values and refusals with their words."""
    if is_whole:
        text = f'multipart/related; type="application/vnd.eb+xml"; boundary=a; {text}'
    found = package_type(read_package_type, text, DEFAULT)
    assert found == package_type(parse_package_type, text, DEFAULT)


@pytest.mark.parametrize("length", [LENGTH_MAX, LENGTH_MAX + 1])
@pytest.mark.parametrize("limits", [DEFAULT, *(Limits(part_head_bytes_max=n) for n in (200, 511))])
def test_a_long_content_type_says_the_same_on_both_ways(length, limits):
    """Also past a limit."""
    text = MESSAGE.content_type
    text += "; x=" + "x" * (length - len(text) - 4)
    found = package_type(read_package_type, text, limits)
    assert found == package_type(parse_package_type, text, limits)


# --- Without a frame ----------------------------------------------------------------------------

ALONE = BY_NAME["ebms-2.0 without payload"]
SOAP_MESSAGE = BY_NAME["ebms-2.0 message"]


def test_a_document_alone_is_read_when_all_of_it_is_there():
    """The first piece may be no more than a whole document; blanks may follow it."""
    for pieces in ([ALONE.body], [ALONE.body, b"\r\n"], [b"", ALONE.body], [b""], []):
        expected = long_way(ALONE.content_type, b"".join(pieces), DEFAULT)
        assert told(ALONE.content_type, pieces, DEFAULT) == expected


@pytest.mark.parametrize("less", range(2))
def test_a_document_alone_that_is_too_long_is_refused(less):
    """Before anything is read."""
    limits = Limits(package_bytes_max=len(ALONE.body) - less)
    for _ in range(3):
        answer, seen, *_ = told(ALONE.content_type, [ALONE.body], limits)
    if less:
        assert answer[0] is ErrorCode.MESSAGE_TOO_LARGE
        assert seen == []
    else:
        assert [type(one) for one in seen] == [Document]


def test_a_document_alone_is_let_in_on_the_short_way_too():
    """R-45: nobody else's is read."""
    answer, seen, about_, is_admitted = told(ALONE.content_type, [ALONE.body], DEFAULT, refuse_some)
    assert answer[0] is ErrorCode.SECURITY_FAILURE
    assert [type(one) for one in seen] == [Document]
    assert about_ is not None
    assert not is_admitted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("text/xml", "application/vnd.eb+xml"),
        ("text/xml; ", 'application/vnd.eb+xml; version="0.93"; '),
        ("text/xml; ", 'application/vnd.eb+xml; version="7"; '),
        ("text/xml; ", 'text/xml; version="0.93"; '),
        ("text/xml; ", "xml; "),
    ],
)
@pytest.mark.parametrize("said", ["", '; type="text/xml"'])
def test_both_ways_agree_of_what_a_header_part_says_it_is(old, new, said):
    """Whether or not the package says it too."""
    content_type = SOAP_MESSAGE.content_type.replace('; type="text/xml"', said)
    body = SOAP_MESSAGE.body.replace(old.encode(), new.encode(), 1)
    assert body != SOAP_MESSAGE.body
    for _ in range(3):
        assert told(content_type, [body], DEFAULT) == long_way(content_type, body, DEFAULT)


def test_what_a_manifest_says_of_a_payload_comes_on_both_ways():
    """Its id, its role and its schemas."""
    sample = BY_NAME["ebms-2.0 everything"]
    answer, *_ = told(sample.content_type, [sample.body], DEFAULT)
    assert answer.content.payloads[0].reference_id == "po"
    assert answer.content.payloads[0].role == "urn:roles:order"
