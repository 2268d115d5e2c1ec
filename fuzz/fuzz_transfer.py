"""Fuzzes what undoes transfer encodings, and the two kinds of line ends of a frame.

The first byte of an input says which encoding, and into which pieces it is cut. What is read is
compared with a plain reader of the same rules, and a package with its other form: whoever reads one
form of it reads the same payloads in the other.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from binascii import b2a_qp
from hashlib import sha256

from fuzz_mime import outcome
from fuzz_package import Counted
from fuzzing import pieces_of
from onceonly.message.errors import RemoteError
from onceonly.message.message import Message
from onceonly.wire.envelope import Decoder, Envelope
from onceonly.wire.transfer import transfer_of

_NAMES = ("quoted-printable", "base64")
_QUOTED = re.compile(rb"=([0-9A-Fa-f]{2})")
_REFUSED = None


def undo(data: bytes) -> None:
    """The same bytes in pieces as in one, and those of a plain reader; or refused both times."""
    whole, pieces = pieces_of(data)
    name = _NAMES[data[0] % len(_NAMES)] if data else _NAMES[0]
    found = _undone(name, [whole])
    assert found == _undone(name, pieces), "the pieces make a difference"
    if found is not _REFUSED:
        plain = _unquote(whole) if name == "quoted-printable" else _from_base64(whole)
        assert found == plain, f"two readers of {name}"


def _undone(name: str, pieces: list[bytes]) -> bytes | None:
    transfer = transfer_of(name)
    try:
        return b"".join(map(transfer.decode, pieces)) + transfer.finish()
    except RemoteError:
        return _REFUSED


def _unquote(text: bytes) -> bytes:
    """RFC 2045 §6.7, line by line."""
    *lines, rest = text.split(b"\n")
    ended = [(line.removesuffix(b"\r"), line.endswith(b"\r")) for line in lines]
    found = b""
    ends = [(content, b"\r\n" if is_crlf else b"\n") for content, is_crlf in ended]
    for content, end in [*ends, (rest, b"")]:
        kept = content.rstrip(b" \t")
        is_soft = kept.endswith(b"=")
        kept = _QUOTED.sub(lambda one: bytes([int(one[1], 16)]), kept.removesuffix(b"="))
        found += kept if is_soft else kept + end
    return found


def _from_base64(text: bytes) -> bytes | None:
    try:
        return b64decode(text.translate(None, b" \t\r\n"), validate=True)
    except Base64Error:
        return _REFUSED


# --- Both forms of a package ---------------------------------------------------------------------


def frame(data: bytes) -> None:
    """A body without CR has the same parts where each of its lines ends in CRLF."""
    whole = data.replace(b"\r", b"")
    bare, full = outcome([whole]), outcome([whole.replace(b"\n", b"\r\n")])
    is_refused = [len(one) == 1 and isinstance(one[0], str) for one in (bare, full)]
    assert is_refused[0] == is_refused[1], (bare, full)
    if not any(is_refused):
        lines = [one.replace(b"\n", b"\r\n") if isinstance(one, bytes) else one for one in bare]
        assert lines == full, "two forms of one package"


_HEADER = (
    '<?xml version="1.0" encoding="UTF-8"?><S:Envelope'
    ' xmlns:S="http://schemas.xmlsoap.org/soap/envelope/" xmlns:x="http://www.w3.org/1999/xlink"'
    ' xmlns:e="http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd"><S:Header>'
    '<e:MessageHeader e:version="2.0" S:mustUnderstand="1"><e:From><e:PartyId>urn:a</e:PartyId>'
    "</e:From><e:To><e:PartyId>urn:b</e:PartyId></e:To><e:CPAId>c</e:CPAId><e:ConversationId>c"
    "</e:ConversationId><e:Service>urn:s</e:Service><e:Action>a</e:Action><e:MessageData>"
    "<e:MessageId>m@a</e:MessageId><e:Timestamp>2026-11-26T10:00:00Z</e:Timestamp></e:MessageData>"
    '</e:MessageHeader></S:Header><S:Body><e:Manifest e:version="2.0">{}</e:Manifest></S:Body>'
    "</S:Envelope>"
)
_BOUNDARY = b"=_9f2c"


def package(data: bytes) -> None:
    """Payloads in any encoding and either frame are the bytes that were put in."""
    payloads = [one for one in data[1:].split(b"\0") if _BOUNDARY not in one][:8]
    how = data[0] if data else 0
    forms = [_decoded(payloads, how, end) for end in (b"\r\n", b"\n")]
    assert forms[0].content == forms[1].content, "two forms of one package"
    assert isinstance(forms[0].content, Message)
    digests = [payload.digest for payload in forms[0].content.payloads]
    assert digests == [sha256(payload).hexdigest() for payload in payloads]


def _decoded(payloads: list[bytes], how: int, end: bytes) -> Envelope:
    references = "".join(
        f'<e:Reference x:type="simple" x:href="cid:p{n}"/>' for n in range(len(payloads))
    )
    parts = [_part(b"<root>", b"text/xml", b"", _HEADER.format(references).encode(), end)]
    for number, payload in enumerate(payloads):
        encoding, text = _encoded(payload, (how >> number) + number, end)
        parts.append(_part(b"<p%d>" % number, b"text/plain", encoding, text, end))
    decoder = Decoder(
        f'multipart/related; type="text/xml"; boundary="{_BOUNDARY.decode()}"', Counted
    )
    decoder.feed(b"".join(parts) + b"--" + _BOUNDARY + b"--" + end)
    return decoder.finish()


def _part(content_id: bytes, kind: bytes, encoding: bytes, text: bytes, end: bytes) -> bytes:
    lines = [b"--" + _BOUNDARY, b"Content-ID: " + content_id, b"Content-Type: " + kind]
    if encoding:
        lines.append(b"Content-Transfer-Encoding: " + encoding)
    return end.join([*lines, b"", text, b""])


def _encoded(payload: bytes, how: int, end: bytes) -> tuple[bytes, bytes]:
    if how % 3 == 1:
        return b"base64", b64encode(payload)
    if how % 3 == 2:
        text = b2a_qp(payload, quotetabs=True, istext=False)
        return b"quoted-printable", text.replace(b"\n", end)
    return b"binary", payload
