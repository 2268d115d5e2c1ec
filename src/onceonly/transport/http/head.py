"""The head of an HTTP request, read strictly: RFC 9112 without its leniences.

One exception: a request target in absolute form, which every server must accept (RFC 9112 §3.2.2),
is read if it names us and Host says the same.

Pure. llhttp parses every request as well and decides about the framing; this file refuses what
llhttp lets through, so that no proxy in front of us can see other requests than we do
(security H1-H10, H14-H26). Where both look at the same thing, both must agree.

A client writes one head again and again; only the Content-Type, which holds a boundary, and the
Content-Length differ. `find_known_head` is the short way to read such a head: both readers were
asked before about two heads that differ in those values only. A property test holds it to the long
way.
"""

import re
from collections.abc import Collection
from functools import lru_cache

import httptools

from onceonly.message.package import HOPS_HEADER
from onceonly.message.word import Word
from onceonly.transport.http import refusal
from onceonly.transport.http.limits import HEADERS_MAX
from onceonly.transport.http.refusal import HttpRefused
from onceonly.transport.transport import Answer, read_hops


class RequestHead(Word):
    """What the endpoint needs to know of a head that passed every check."""

    for_llhttp: bytes
    """The head without Upgrade lines: we ignore these offers, but llhttp would accept them
    (H24)."""
    content_type: str
    content_length: int | None
    """None when the body is chunked."""
    expects_continue: bool
    is_last: bool
    """The connection ends after this request."""
    soap_action: str | None = None
    """SOAPAction without its quotes; None where there is none, or an empty one."""
    hops: int = 0
    """See `transport.Request`."""


_HEAD = re.compile(
    rb"([A-Z]{1,32}) ([!-~]++) HTTP/([0-9])\.([0-9])\r\n"
    rb"((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t -~\x80-\xff]*+\r\n)*+)\r\n"
)
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_HOST = re.compile(rb"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")

_SOAP_ACTION = re.compile(rb"(?i)\r\nsoapaction:([^\r\n]*)")

_LENGTH_DIGITS_MAX = 18
"""Far beyond every limit, and still a 64-bit number for llhttp."""

# A second value of these is always an attack. Others are joined, as RFC 9110 §5.3 says.
_SINGLE = frozenset({b"host", b"content-length", b"content-type"})


_HOPS = HOPS_HEADER.lower().encode("ascii")
_FOLD = re.compile(rb"\r\n[ \t]")
_ABSOLUTE_FORM = re.compile(rb"(https?)://([^/?#@]*+)([/?][!-~]*+)?")
_PORTS = {b"http": b"80", b"https": b"443"}


def authority_of(uri: str) -> bytes | None:
    """Host and port of an http or https URI, in the form in which they are compared.

    None for a URI without a host that a request could name.
    """
    found = _ABSOLUTE_FORM.match(uri.encode("ascii", "replace"))
    return None if found is None else _authority(found[1], found[2])


def _authority(scheme: bytes, authority: bytes) -> bytes | None:
    if _HOST.fullmatch(authority) is None:
        return None
    has_port = re.search(rb":[0-9]+\Z", authority) is not None
    return (authority if has_port else authority + b":" + _PORTS[scheme]).lower()


def has_bare_line_feed(head: bytes) -> bool:
    """Whether a line ends without CR (H9): such a head may never get to its CRLF CRLF."""
    return _BARE_LINE_FEED.search(head) is not None


KNOWN_HEAD_BYTES_MAX = 2048
"""Longest head that has a short way. Ours has 300 bytes, and one from behind proxies 1,000."""

# The two whose values change, without blanks around the value.
_CHANGING = re.compile(rb"(\r\n[Cc]ontent-(?:[Tt]ype|[Ll]ength): )([!-~]++(?: [!-~]++)*+)(?=\r\n)")


def find_known_head(
    raw: bytes, *, path: bytes, body_bytes_max: int, authorities: frozenset[bytes] = frozenset()
) -> RequestHead | None:
    """The short way: what `read_request_head` says of `raw`, or None where it has to tell.

    To llhttp such a head says the same: `content_length` bytes of body, and then the connection is
    where it was before.
    """
    if len(raw) > KNOWN_HEAD_BYTES_MAX:
        return None
    pieces = _CHANGING.split(raw)
    if len(pieces) != 7:
        return None
    before, name, one, between, other_name, other, after = pieces
    known = _find_known(
        (before, name, between, other_name, after), path, body_bytes_max, authorities
    )
    if known is None:
        return None
    is_length_first, soap_action = known
    length, content_type = (one, other) if is_length_first else (other, one)
    if not length.isdigit() or len(length) > _LENGTH_DIGITS_MAX:
        return None
    content_length = int(length)
    if content_length > body_bytes_max:
        return None
    return RequestHead(
        for_llhttp=raw,
        content_type=content_type.decode("ascii"),
        content_length=content_length,
        expects_continue=False,
        is_last=False,
        soap_action=soap_action,
    )


@lru_cache(maxsize=256)
def _find_known(
    around: tuple[bytes, ...], path: bytes, body_bytes_max: int, authorities: frozenset[bytes]
) -> tuple[bool, str | None] | None:
    """Whether the first of the two values around which this stands is the length, and SOAPAction.

    None where a head may differ. Two heads are read that have other values there, by this file and
    by llhttp.
    """
    before, name, between, other_name, after = around
    is_length_first = name.lower().endswith(b"length: ")
    said = _SOAP_ACTION.findall(before + between + after)
    soap_action = _soap_action_of(said[0]) if said else None
    for length, kind in ((1, b"text/1"), (2, b"multipart/2")):
        values = [kind, b"%d" % length]
        one, other = reversed(values) if is_length_first else values
        raw = b"".join((before, name, one, between, other_name, other, after))
        expected = RequestHead(
            for_llhttp=raw,
            content_type=values[0].decode(),
            content_length=length,
            expects_continue=False,
            is_last=False,
            soap_action=soap_action,
        )
        try:
            found = read_request_head(
                raw, path=path, body_bytes_max=body_bytes_max, authorities=authorities
            )
        except HttpRefused:
            return None
        if found != expected or not _has_body(raw, length):
            return None
    return is_length_first, soap_action


def _has_body(raw: bytes, length: int) -> bool:
    """Whether llhttp takes so many bytes after the head for its body, and would go on then."""
    seen = _Seen()
    parser = httptools.HttpRequestParser(seen)
    try:
        parser.feed_data(raw + bytes(length))
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return False
    return seen.is_whole and seen.body == bytes(length) and bool(parser.should_keep_alive())


class _Seen:
    """What llhttp says of one request."""

    def __init__(self) -> None:
        self.body = b""
        self.is_whole = False

    def on_body(self, piece: bytes) -> None:
        self.body += piece

    def on_message_complete(self) -> None:
        self.is_whole = True


def read_request_head(
    raw: bytes, *, path: bytes, body_bytes_max: int, authorities: Collection[bytes] = ()
) -> RequestHead:
    """Read `raw`, which ends with the first CRLF CRLF.

    `path`, with its query if it has one, is the only target that exists here; `authorities` are
    ours (`authority_of`), for targets in absolute form. Raises HttpRefused for everything else.
    """
    # RFC 9112 §2.2: old clients send one empty line too many after a body.
    raw = raw.removeprefix(b"\r\n")
    match = _HEAD.fullmatch(raw)
    if match is None:
        raise HttpRefused(_malformed(raw))
    method, target, major, minor, block = match.groups()
    if major != b"1" or minor not in b"01":
        raise HttpRefused(refusal.VERSION_NOT_SUPPORTED)
    fields = _read_fields(block)
    is_http_1_0 = minor == b"0"
    length = _read_length(fields, is_http_1_0=is_http_1_0)
    _check_host(fields.get(b"host"), is_http_1_0=is_http_1_0)
    if method != b"POST":
        raise HttpRefused(refusal.METHOD_NOT_ALLOWED)
    if target != path:
        _check_absolute(target, fields.get(b"host"), path, authorities)
    if length is None and b"transfer-encoding" not in fields:
        raise HttpRefused(refusal.LENGTH_REQUIRED)
    if fields.get(b"content-encoding", b"identity").lower() != b"identity":
        raise HttpRefused(refusal.CONTENT_ENCODING)
    if not _is_as_it_stands(fields):
        raise HttpRefused(refusal.CONTENT_ENCODING)
    if length is not None and length > body_bytes_max:
        raise HttpRefused(refusal.BODY_TOO_LARGE)
    return RequestHead(
        for_llhttp=_without_upgrade(raw) if b"upgrade" in fields else raw,
        content_type=fields.get(b"content-type", b"").decode("latin-1"),
        content_length=length,
        expects_continue=_expects_continue(fields, is_http_1_0=is_http_1_0),
        is_last=is_http_1_0 or _closes(fields.get(b"connection")),
        soap_action=_soap_action_of(fields.get(b"soapaction", b"")),
        hops=read_hops(fields.get(_HOPS, b"").decode("latin-1")),
    )


def _soap_action_of(value: bytes) -> str | None:
    """The value without the quotes around it; None for an empty one."""
    text = value.strip(b" \t").decode("latin-1")
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    return text or None


def _read_fields(block: bytes) -> dict[bytes, bytes]:
    fields: dict[bytes, bytes] = {}
    lines = block.split(b"\r\n")
    if len(lines) > HEADERS_MAX + 1:
        raise HttpRefused(refusal.HEAD_TOO_LARGE)
    del lines[-1]
    for line in lines:
        name, _, value = line.partition(b":")
        name = name.lower()
        value = value.strip(b" \t")
        if name in fields:
            if name in _SINGLE:
                raise HttpRefused(refusal.REPEATED_HEADER)
            value = fields[name] + b", " + value
        fields[name] = value
    return fields


def _is_as_it_stands(fields: dict[bytes, bytes]) -> bool:
    """Whether nobody can read another package here than we do (attack S18).

    RFC 2045 §6.4: no encoding that changes bytes may be said of a multipart as a whole. HTTP does
    not know the field, but something on the way may undo it.
    """
    is_multipart = fields.get(b"content-type", b"").lower().startswith(b"multipart/")
    said = fields.get(b"content-transfer-encoding", b"binary").lower()
    return not is_multipart or said in (b"7bit", b"8bit", b"binary")


def _read_length(fields: dict[bytes, bytes], *, is_http_1_0: bool) -> int | None:
    length = fields.get(b"content-length")
    coding = fields.get(b"transfer-encoding")
    if coding is not None:
        if length is not None or is_http_1_0:
            raise HttpRefused(refusal.CONFLICTING_LENGTH)
        if coding.lower() != b"chunked":
            raise HttpRefused(refusal.TRANSFER_ENCODING)
        return None
    if length is None:
        return None
    # isdigit of bytes knows the ten ASCII digits only (H4).
    if not length.isdigit() or len(length) > _LENGTH_DIGITS_MAX:
        raise HttpRefused(refusal.BAD_CONTENT_LENGTH)
    return int(length)


def _check_host(host: bytes | None, *, is_http_1_0: bool) -> None:
    # Only its form is checked: behind a proxy it is another name, and it is no identity (H25).
    if host is None and is_http_1_0:
        return
    if host is None or not _HOST.fullmatch(host):
        raise HttpRefused(refusal.BAD_HOST)


def _malformed(raw: bytes) -> Answer:
    if has_bare_line_feed(raw):
        return refusal.BARE_LINE_FEED
    return refusal.FOLDED_HEADER if _FOLD.search(raw) else refusal.MALFORMED_HEAD


def _check_absolute(
    target: bytes, host: bytes | None, path: bytes, authorities: Collection[bytes]
) -> None:
    """Raise HttpRefused unless the target is `path` at one of our authorities.

    We are an origin, never a proxy: another authority is meant for somebody else (H16). If Host
    named another authority than the target, two readers could see two different requests.
    """
    found = _ABSOLUTE_FORM.fullmatch(target)
    if found is None:
        raise HttpRefused(refusal.NOT_FOUND if target.startswith(b"/") else refusal.MISDIRECTED)
    scheme, authority, rest = found.groups()
    ours = _authority(scheme, authority)
    if ours not in authorities or (host is not None and _authority(scheme, host) != ours):
        raise HttpRefused(refusal.MISDIRECTED)
    rest = rest or b"/"
    if (rest if rest.startswith(b"/") else b"/" + rest) != path:
        raise HttpRefused(refusal.NOT_FOUND)


def _expects_continue(fields: dict[bytes, bytes], *, is_http_1_0: bool) -> bool:
    expectation = fields.get(b"expect")
    if expectation is None or is_http_1_0:
        return False
    if expectation.lower() != b"100-continue":
        raise HttpRefused(refusal.EXPECTATION_FAILED)
    return True


def _closes(connection: bytes | None) -> bool:
    if connection is None:
        return False
    return any(token.strip(b" \t").lower() == b"close" for token in connection.split(b","))


def _without_upgrade(raw: bytes) -> bytes:
    lines = raw.split(b"\r\n")
    return b"\r\n".join(line for line in lines if not line.lower().startswith(b"upgrade:"))
