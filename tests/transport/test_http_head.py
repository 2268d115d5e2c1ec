"""The strict head check: every lenience of HTTP that smuggling needs is refused (H1-H26)."""

import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onceonly.transport.http.head import (
    KNOWN_HEAD_BYTES_MAX,
    RequestHead,
    authority_of,
    find_known_head,
    read_request_head,
)
from onceonly.transport.http.refusal import HttpRefused

LINE = b"POST /msh HTTP/1.1\r\n"
HOST = b"Host: partner.example\r\n"
LENGTH = b"Content-Length: 4\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


OURS = frozenset(
    filter(None, map(authority_of, ("http://partner.example/msh", "https://[::1]:8443/msh?a")))
)


def read(raw: bytes, path: bytes = b"/msh") -> RequestHead:
    return read_request_head(raw, path=path, body_bytes_max=1000, authorities=OURS)


def find(raw: bytes, path: bytes = b"/msh") -> RequestHead | None:
    return find_known_head(raw, path=path, body_bytes_max=1000, authorities=OURS)


def refusal_of(raw: bytes) -> tuple[int, str | None]:
    with pytest.raises(HttpRefused) as caught:
        read(raw)
    return caught.value.answer


REFUSED = {
    "H1 both lengths": (LINE + HOST + LENGTH + CHUNKED, 400),
    "H2 two lengths": (LINE + HOST + LENGTH + b"Content-Length: 5\r\n", 400),
    "H3 the same length twice": (LINE + HOST + LENGTH + LENGTH, 400),
    "H3 a list of lengths": (LINE + HOST + b"Content-Length: 4, 4\r\n", 400),
    "H4 signed length": (LINE + HOST + b"Content-Length: +4\r\n", 400),
    "H4 negative length": (LINE + HOST + b"Content-Length: -1\r\n", 400),
    "H4 hexadecimal length": (LINE + HOST + b"Content-Length: 0x4\r\n", 400),
    "H4 Arabic digit": (LINE + HOST + "Content-Length: ٤\r\n".encode(), 400),
    "H4 superscript digit": (LINE + HOST + b"Content-Length: \xb2\r\n", 400),
    "H4 empty length": (LINE + HOST + b"Content-Length:\r\n", 400),
    "H4 length past 64 bits": (LINE + HOST + b"Content-Length: 18446744073709551620\r\n", 400),
    "H5 space before the colon": (LINE + HOST + b"Content-Length : 4\r\n", 400),
    "H6 another coding": (LINE + HOST + b"Transfer-Encoding: xchunked\r\n", 501),
    "H6 two codings": (LINE + HOST + b"Transfer-Encoding: chunked, identity\r\n", 501),
    "H6 coding twice": (LINE + HOST + CHUNKED + CHUNKED, 501),
    "H6 gzip, chunked": (LINE + HOST + b"Transfer-Encoding: gzip, chunked\r\n", 501),
    "H7 coding in HTTP/1.0": (b"POST /msh HTTP/1.0\r\n" + HOST + CHUNKED, 400),
    "H8 folded line": (LINE + HOST + LENGTH + b"X: y\r\n Transfer-Encoding: chunked\r\n", 400),
    "H8 fold after the request line": (LINE + b" X: y\r\n" + HOST + LENGTH, 400),
    "H9 bare line feed": (LINE + HOST + LENGTH + b"X: y\nTransfer-Encoding: chunked\r\n", 400),
    "H9 request line with bare line feed": (b"POST /msh HTTP/1.1\n" + HOST + LENGTH, 400),
    "H10 bare carriage return": (LINE + HOST + LENGTH + b"X: y\rZ: z\r\n", 400),
    "H10 NUL": (LINE + HOST + LENGTH + b"X: \x00\r\n", 400),
    "H10 vertical tab": (LINE + HOST + b"Transfer-Encoding:\x0bchunked\r\n" + LENGTH, 400),
    "H10 DEL": (LINE + HOST + LENGTH + b"X: \x7f\r\n", 400),
    "H14 no Host": (LINE + LENGTH, 400),
    "H14 two Hosts": (LINE + HOST + HOST + LENGTH, 400),
    "H14 empty Host": (LINE + b"Host:\r\n" + LENGTH, 400),
    "H14 Host with a path": (LINE + b"Host: a/b\r\n" + LENGTH, 400),
    "H14 Host with a user": (LINE + b"Host: a@b\r\n" + LENGTH, 400),
    "H15 HTTP/9.9": (b"POST /msh HTTP/9.9\r\n" + HOST + LENGTH, 505),
    "H15 HTTP/2 preface": (b"PRI * HTTP/2.0\r\n", 505),
    "H15 HTTP/1.2": (b"POST /msh HTTP/1.2\r\n" + HOST + LENGTH, 505),
    "H15 no version": (b"POST /msh\r\n" + HOST + LENGTH, 400),
    "H16 absolute form": (b"POST http://other.example/msh HTTP/1.1\r\n" + HOST + LENGTH, 421),
    "H16 another port": (b"POST http://partner.example:81/msh HTTP/1.1\r\n" + HOST + LENGTH, 421),
    "H16 another scheme": (b"POST https://partner.example/msh HTTP/1.1\r\n" + HOST + LENGTH, 421),
    "H16 ours, and another Host": (
        b"POST http://partner.example/msh HTTP/1.1\r\nHost: other.example\r\n" + LENGTH,
        421,
    ),
    "H16 ours, and another port in Host": (
        b"POST http://partner.example/msh HTTP/1.1\r\nHost: partner.example:8080\r\n" + LENGTH,
        421,
    ),
    "H16 a user": (b"POST http://a@partner.example/msh HTTP/1.1\r\n" + HOST + LENGTH, 421),
    "H16 no authority": (b"POST http:///msh HTTP/1.1\r\n" + HOST + LENGTH, 421),
    "H16 two dots": (b"POST http://partner.example:80:80/msh HTTP/1.1\r\n" + HOST + LENGTH, 421),
    "H16 ours, another path": (
        b"POST http://partner.example/ HTTP/1.1\r\n" + HOST + LENGTH,
        404,
    ),
    "H16 ours, no path": (b"POST http://partner.example HTTP/1.1\r\n" + HOST + LENGTH, 404),
    "H16 ours, a query": (
        b"POST http://partner.example/msh?a=b HTTP/1.1\r\n" + HOST + LENGTH,
        404,
    ),
    "H16 authority form": (b"POST other.example:80 HTTP/1.1\r\n" + HOST + LENGTH, 421),
    "H17 too many lines": (LINE + HOST + LENGTH + b"X: y\r\n" * 63, 431),
    "H18 unknown expectation": (LINE + HOST + LENGTH + b"Expect: 200-ok\r\n", 417),
    "H18 expectation twice": (LINE + HOST + LENGTH + b"Expect: 100-continue\r\n" * 2, 417),
    "H20 GET": (b"GET /msh HTTP/1.1\r\n" + HOST, 405),
    "H20 PUT": (b"PUT /msh HTTP/1.1\r\n" + HOST + LENGTH, 405),
    "H20 TRACE": (b"TRACE /msh HTTP/1.1\r\n" + HOST, 405),
    "H20 CONNECT": (b"CONNECT other.example:443 HTTP/1.1\r\n" + HOST, 405),
    "H20 overridden GET": (
        b"GET /msh HTTP/1.1\r\n" + HOST + b"X-HTTP-Method-Override: POST\r\n",
        405,
    ),
    "H20 lower case": (b"post /msh HTTP/1.1\r\n" + HOST + LENGTH, 400),
    "H21 gzip": (LINE + HOST + LENGTH + b"Content-Encoding: gzip\r\n", 415),
    "S18 base64": (
        LINE
        + HOST
        + LENGTH
        + b"Content-Type: Multipart/related\r\nContent-Transfer-Encoding: base64\r\n",
        415,
    ),
    "H21 identity, gzip": (LINE + HOST + LENGTH + b"Content-Encoding: identity, gzip\r\n", 415),
    "H23 dot segments": (b"POST /msh/../msh HTTP/1.1\r\n" + HOST + LENGTH, 404),
    "H23 encoded dots": (b"POST /%2e%2e/msh HTTP/1.1\r\n" + HOST + LENGTH, 404),
    "H23 double slash": (b"POST //msh HTTP/1.1\r\n" + HOST + LENGTH, 404),
    "H23 encoded NUL": (b"POST /msh%00 HTTP/1.1\r\n" + HOST + LENGTH, 404),
    "H23 encoded letter": (b"POST /%6dsh HTTP/1.1\r\n" + HOST + LENGTH, 404),
    "query": (b"POST /msh?a=b HTTP/1.1\r\n" + HOST + LENGTH, 404),
    "another path": (b"POST / HTTP/1.1\r\n" + HOST + LENGTH, 404),
    "space in the target": (b"POST /m sh HTTP/1.1\r\n" + HOST + LENGTH, 400),
    "two spaces": (b"POST  /msh HTTP/1.1\r\n" + HOST + LENGTH, 400),
    "no length at all": (LINE + HOST, 411),
    "a length over the limit": (LINE + HOST + b"Content-Length: 1001\r\n", 413),
    "a line without a name": (LINE + HOST + LENGTH + b": y\r\n", 400),
    "a line without a colon": (LINE + HOST + LENGTH + b"X\r\n", 400),
    "two content types": (LINE + HOST + LENGTH + b"Content-Type: a/b\r\n" * 2, 400),
}


@pytest.mark.parametrize(("raw", "status_code"), REFUSED.values(), ids=REFUSED)
def test_a_lenient_reading_is_refused(raw, status_code):
    """Each way to make two parsers disagree gets its status and a name."""
    answer = refusal_of(raw + b"\r\n")
    assert answer.status_code == status_code
    assert answer.error


def test_an_ordinary_head_is_read():
    """What MSHs send passes, with the values that the gateway needs."""
    raw = LINE + HOST + b'Content-Type: multipart/related; boundary="x"\r\n' + LENGTH
    raw += b'SOAPAction: "ebXML"\r\nUser-Agent: caf\xe9\r\n\r\n'
    head = read(raw)
    kind = 'multipart/related; boundary="x"'
    assert head == RequestHead(raw, kind, 4, False, False, "ebXML")


@pytest.mark.parametrize(
    ("value", "hops"),
    [("3", 3), ("0016", 16), ("", 0), ("-1", 0), ("1, 2", 0), ("99999", 0), ("\xb2", 0)],
)
def test_the_hops_of_a_package_are_counted(value, hops):
    """What is no count says nothing; a head with one has no short way."""
    raw = LINE + HOST + b"Content-Type: a/b\r\n" + LENGTH
    raw += f"Onceonly-Hops: {value}\r\n\r\n".encode("latin-1")
    assert read(raw).hops == hops
    found = find(raw)
    assert found is None or found.hops == hops == 0


@pytest.mark.parametrize(
    ("target", "host", "path"),
    [
        (b"http://partner.example/msh", b"partner.example", b"/msh"),
        (b"http://Partner.Example:80/msh", b"partner.example", b"/msh"),
        (b"http://partner.example/msh", b"PARTNER.example:80", b"/msh"),
        (b"https://[::1]:8443/msh?a=b", b"[::1]:8443", b"/msh?a=b"),
        (b"/msh?a=b", b"another.example", b"/msh?a=b"),
        (b"http://partner.example", b"partner.example", b"/"),
        (b"http://partner.example?a=b", b"partner.example", b"/?a=b"),
    ],
)
def test_a_target_in_absolute_form_is_read_where_it_is_ours(target, host, path):
    """RFC 9112 §3.2.2 and R-42: every server accepts it; a query is a part of our address."""
    raw = b"POST %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (target, host, LENGTH)
    assert read(raw, path).content_length == 4


def test_http_1_0_may_name_us_in_the_target_alone():
    """There is no Host that could say another."""
    raw = b"POST http://partner.example/msh HTTP/1.0\r\n" + LENGTH + b"\r\n"
    assert read(raw).content_length == 4


@pytest.mark.parametrize("uri", ["smtp:msh@b.example", "http://:80/", "http:///x", "http://\xfc/"])
def test_an_address_without_an_authority_has_none(uri):
    """It is compared with nothing."""
    assert authority_of(uri) is None


def test_a_folded_line_is_refused_by_name():
    """Item 19: whoever folds does not look for a malformed head."""
    answer = refusal_of(LINE + HOST + LENGTH + b'SOAPAction:\r\n "ebXML"\r\n\r\n')
    assert (answer.status_code, answer.error) == (400, "FoldedHeader")


def test_a_chunked_head_has_no_length():
    """The coding is recognised in any case of letters."""
    assert read(LINE + HOST + b"transfer-encoding:Chunked \r\n\r\n").content_length is None


@pytest.mark.parametrize(
    ("line", "is_last"),
    [(b"Connection: close", True), (b"Connection: x, Close", True), (b"Connection: closed", False)],
)
def test_connection_close_is_seen(line, is_last):
    """It is a token in a list, in any case of letters."""
    assert read(LINE + HOST + LENGTH + line + b"\r\n\r\n").is_last is is_last


def test_http_1_0_needs_no_host_and_ends_the_connection():
    """Old clients are served once."""
    assert read(b"POST /msh HTTP/1.0\r\n" + LENGTH + b"\r\n").is_last


def test_an_empty_line_before_the_request_is_forgiven():
    """RFC 9112 §2.2; it hides nothing."""
    assert read(b"\r\n" + LINE + HOST + LENGTH + b"\r\n").content_length == 4


def test_an_upgrade_is_kept_from_llhttp():
    """H24: llhttp would end the request at the offer and take the body for another protocol."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    head = read(LINE + HOST + offer + LENGTH + b"\r\n")
    assert b"Upgrade: h2c" not in head.for_llhttp
    assert head.content_length == 4


class Framing:
    """What llhttp saw."""

    def __init__(self) -> None:
        self.body = b""
        self.is_complete = False

    def on_body(self, piece: bytes) -> None:
        self.body += piece

    def on_message_complete(self) -> None:
        self.is_complete = True


@settings(max_examples=500)
@given(
    st.binary(max_size=60) | st.sampled_from([b"1", b"Upgrade: x\r\n", b" "]), st.integers(0, 70)
)
def test_a_head_that_passes_frames_the_same_for_llhttp(noise, position):
    """R-25 and the reason for two parsers: a refusal, or both see the body end at one byte."""
    raw = LINE + HOST + LENGTH + b"\r\n"
    raw = raw[:position] + noise + raw[position:]
    framing = Framing()
    try:
        head = read(raw[: raw.find(b"\r\n\r\n") + 4])
        parser = httptools.HttpRequestParser(framing)
        parser.feed_data(head.for_llhttp)
        assert head.content_length is not None
        parser.feed_data(b"x" * (head.content_length - 1))
        assert framing.is_complete is (head.content_length == 0)
        parser.feed_data(b"x" * min(head.content_length, 1))
    except (HttpRefused, httptools.HttpParserError):
        return
    assert framing.is_complete
    assert framing.body == b"x" * head.content_length


TYPE = b'Content-Type: multipart/related; boundary="x"\r\n'


@pytest.mark.parametrize(
    "lines",
    [
        HOST + TYPE + LENGTH,
        LENGTH + HOST + TYPE,
        HOST + TYPE.lower() + b"Accept: */*\r\n" + LENGTH.lower(),
        TYPE + b"User-Agent: caf\xe9\r\nConnection: keep-alive\r\n" + HOST + LENGTH,
        HOST + TYPE + b"Content-Length: 0\r\n",
        HOST + TYPE + b"Content-Length: 007\r\n",
        HOST + TYPE + b"Content-Length: 1000\r\n",
    ],
)
def test_an_ordinary_head_goes_the_short_way(lines):
    """Whatever stands around the two values that change."""
    raw = LINE + lines + b"\r\n"
    assert find(raw) == read(raw)


@pytest.mark.parametrize(
    "lines",
    [
        HOST + LENGTH,
        HOST + TYPE,
        HOST + TYPE + TYPE,
        HOST + TYPE + LENGTH + b"content-length: 4\r\n",
        HOST + TYPE + LENGTH + b"CONTENT-LENGTH: 4\r\n",
        HOST + TYPE + LENGTH + CHUNKED,
        HOST + TYPE + LENGTH + b"Expect: 100-continue\r\n",
        HOST + TYPE + LENGTH + b"Connection: close\r\n",
        HOST + TYPE + LENGTH + b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
        HOST + TYPE + b"Content-Length: 1001\r\n",
        HOST + TYPE + b"Content-Length: 4, 4\r\n",
        HOST + TYPE + b"Content-Length: +4\r\n",
        HOST + TYPE + b"Content-Length: 4 \r\n",
        HOST + TYPE + b"Content-Length: 0000000000000000004\r\n",
        HOST + b"Content-Type: a/b\xe9\r\n" + LENGTH,
        HOST + TYPE + LENGTH + b"X: " + b"y" * KNOWN_HEAD_BYTES_MAX + b"\r\n",
        TYPE + LENGTH,
    ],
)
def test_a_head_that_is_not_ordinary_goes_the_long_way(lines):
    """Which refuses it, or receives it in its own way."""
    assert find(LINE + lines + b"\r\n") is None


def test_a_head_is_known_for_one_path():
    """Every endpoint of a process has its own."""
    raw = LINE + HOST + TYPE + LENGTH + b"\r\n"
    assert find(raw) is not None
    assert find(raw, b"/other") is None


@pytest.mark.parametrize("raw", [raw for raw, _ in REFUSED.values()], ids=REFUSED)
def test_nothing_that_is_refused_has_a_short_way(raw):
    """Also with a Content-Type, and in any place."""
    for extended in (raw, raw + TYPE, raw + TYPE + LENGTH, raw.replace(HOST, HOST + TYPE, 1)):
        try:
            expected = read(extended + b"\r\n")
        except HttpRefused:
            assert find(extended + b"\r\n") is None
        else:
            assert find(extended + b"\r\n") in (None, expected)


HEAD_PIECES = (
    *(HOST, TYPE, LENGTH, CHUNKED, b"\r\n", b"\n", b" ", b":", b"1", b"9", b"\xe9", b"\x00"),
    *(b"content-length: 4", b"Content-Type: ", b"Content-Length: ", b"Expect: 100-continue\r\n"),
    *(b"Connection: close\r\n", b"Upgrade: h2c\r\n", b"X: y\r\n", b"POST", b"/msh", b"HTTP/1.0"),
)


@settings(max_examples=1000)
@given(st.data())
def test_both_ways_read_a_head_alike(data):
    """The same values and the same body for llhttp, or nothing on the short one."""
    raw = LINE + HOST + TYPE + b"X: y\r\n" + LENGTH + b"\r\n"
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(raw)))
        piece = data.draw(st.sampled_from(HEAD_PIECES) | st.binary(max_size=3))
        raw = raw[:at] + piece + raw[at + data.draw(st.integers(0, 30)) :]
    raw = raw[: raw.find(b"\r\n\r\n") + 4]
    found = find(raw)
    if found is None:
        return
    assert found == read(raw)
    assert found.content_length is not None
    framing = Framing()
    parser = httptools.HttpRequestParser(framing)
    parser.feed_data(raw + bytes(found.content_length))
    assert framing.is_complete
    assert framing.body == bytes(found.content_length)
    assert parser.should_keep_alive()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"", None),
        (b"SOAPAction:\r\n", None),
        (b'SOAPAction: ""\r\n', None),
        (b'SOAPAction: "ebXML"\r\n', "ebXML"),
        (b"soapaction:ebXML \r\n", "ebXML"),
        (b'SOAPAction: "\r\n', '"'),
        (b'SOAPAction: "caf\xe9"\r\n', "caf\xe9"),
    ],
)
def test_the_soap_action_is_read_without_its_quotes_on_both_ways(line, said):
    """The short way knows it with what stands around the two values that change."""
    places = [(line, b"", b""), (b"", line, b""), (b"", b"", line)]
    for first, second, third in places:
        raw = LINE + HOST + first + TYPE + second + LENGTH + third + b"\r\n"
        assert read(raw).soap_action == said
        assert find(raw) == read(raw)


def test_two_soap_actions_are_read_as_one_value_of_both():
    """As every header that stands there twice; the short way leaves it to the long one."""
    raw = LINE + HOST + TYPE + b"SOAPAction: a\r\nSOAPAction: b\r\n" + LENGTH + b"\r\n"
    assert read(raw).soap_action == "a, b"
    assert find(raw) is None
