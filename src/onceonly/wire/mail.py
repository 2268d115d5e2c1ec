"""A package as a mail body: every part in base64, so that any relay carries it unchanged.

Mail is lines of 7-bit text (seed 000 §2.5.2, `wire.md` A11), and relays rewrite everything else.
The parts keep their order, types and ids, so `Decoder` reads the mail body like any other package,
and no code is needed for incoming mail. The result depends only on the package and its payloads: a
resend has the same bytes. Nothing in a payload or a header document can look like a boundary, a
line end or a command (attack M2).
"""

from binascii import b2a_base64
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

from onceonly.message.errors import LocalError
from onceonly.message.message import Payload
from onceonly.message.package import Package
from onceonly.wire.limits import Limits
from onceonly.wire.mime import PartHead, parse_media_type
from onceonly.wire.names import PACKAGE_TYPE
from onceonly.wire.splitter import PartBegun, PartBytes, Splitter

LINE_BYTES: Final = 57
CHARACTERS_MAX: Final = LINE_BYTES // 3 * 4
"""76 characters are the longest line of base64 that RFC 2045 §6.8 allows."""

BLOCK_BYTES: Final = LINE_BYTES * 2048
"""Bytes encoded at once: a piece of the body has at most 156 KiB, below the 256 of a transport."""

FIELD_LINE_MAX: Final = 76
"""A longer field is broken at a space (RFC 2045 §6.8, RFC 5322 §2.1.1)."""

LINE_MAX: Final = 998
"""No line of a mail may be longer (RFC 5321 §4.5.3.1.6), so a field that cannot be cut is not
carried."""

_CRLF: Final = b"\r\n"


def framed(package: Package) -> Package:
    """The package in a MIME frame: itself, or the document that it is as the only part of one.

    The head of a mail says nothing of a transfer encoding, so a document alone could not be in
    base64 (`Codec.stands_alone`). The frame depends only on the document, as everything here.
    """
    if "boundary" in parse_media_type(package.content_type).parameters:
        return package
    (document,) = package.segments
    # No line of a document of ours begins with two hyphens.
    boundary = "=_onceonly_document"
    content_id = f"{sha256(document).hexdigest()[:32]}@onceonly"
    essence = parse_media_type(package.content_type).essence
    head = f"Content-Type: {package.content_type}\r\nContent-ID: <{content_id}>\r\n\r\n"
    frame = f"--{boundary}\r\n{head}".encode() + document + f"\r\n--{boundary}--\r\n".encode()
    type_ = f'{PACKAGE_TYPE}; type="{essence}"; boundary="{boundary}"; start="<{content_id}>"'
    return Package(type_, (frame,))


def mail_pieces(package: Package, payloads: Iterable[Iterable[bytes]]) -> Iterator[bytes]:
    """The mail body of `package`, in pieces of at most 156 KiB and the segments around them.

    `payloads` gives the bytes of each payload in pieces of any size. The Content-Type of the mail
    is that of the package, which is a `framed` one. Raises `LocalError` (InvalidText) for a type
    that no line can hold.
    """
    segments = _mail_segments(package)
    yield segments[0]
    for payload, segment in zip(payloads, segments[1:], strict=True):
        yield from _in_base64(payload)
        yield segment


def mail_size_bytes(package: Package, payloads: tuple[Payload, ...]) -> int:
    """How many bytes `mail_pieces` will give. Raises `LocalError` like it."""
    sizes = (_size_in_base64(payload.size_bytes) for payload in payloads)
    return sum(map(len, _mail_segments(package))) + sum(sizes)


def _mail_segments(package: Package) -> list[bytes]:
    """The segments of the package with the header document in base64, and heads that say so."""
    boundary = parse_media_type(package.content_type).parameters["boundary"]
    delimiter = f"--{boundary}"
    (first, document), *payloads = _parts(package, boundary)
    before = f"{delimiter}\r\n{_part_head(first)}".encode() + b"".join(_in_base64([document]))
    segments = []
    for head, _ in payloads:
        segments.append(before + f"\r\n{delimiter}\r\n{_part_head(head)}".encode())
        before = b""
    segments.append(before + f"\r\n{delimiter}--\r\n".encode())
    return segments


def _parts(package: Package, boundary: str) -> list[tuple[PartHead, bytes]]:
    """The header part and the heads of the payload parts, whose bytes are elsewhere."""
    framing = b"".join(package.segments)
    limits = Limits(
        package_bytes_max=len(framing),
        parts_max=len(package.segments),
        part_head_bytes_max=len(framing),
    )
    splitter = Splitter(boundary, limits)
    parts: list[tuple[PartHead, bytes]] = []
    for event in (*splitter.feed(framing), *splitter.finish()):
        if isinstance(event, PartBegun):
            assert event.head.transfer_encoding == "binary", "a package of ours has no other"
            parts.append((event.head, b""))
        elif isinstance(event, PartBytes):
            head, data = parts[-1]
            parts[-1] = (head, data + event.data)
    return parts


def _part_head(head: PartHead) -> str:
    return (
        f"{_field('Content-Type', head.content_type)}"
        "Content-Transfer-Encoding: base64\r\n"
        f"{_field('Content-ID', f'<{head.content_id}>')}\r\n"
    )


def _field(name: str, value: str) -> str:
    """The field in lines that mail can carry; unfolding them gives the same value."""
    first, *words = f"{name}: {value}".split(" ")
    lines = [first]
    for word in words:
        # A line of white space alone would end the head, so none begins with a second space.
        if word and len(lines[-1]) + 1 + len(word) > FIELD_LINE_MAX:
            lines.append(f" {word}")
        else:
            lines[-1] += f" {word}"
    if max(map(len, lines)) > LINE_MAX:
        raise LocalError("InvalidText", f"{name} has more than {LINE_MAX} characters without space")
    return "\r\n".join([*lines, ""])


def _in_base64(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces in lines of base64, with a line end between two lines."""
    rest = b""
    line_end = b""
    for piece in pieces:
        data = rest + piece
        whole = len(data) - len(data) % LINE_BYTES
        for at in range(0, whole, BLOCK_BYTES):
            yield line_end + _lines(data[at : min(at + BLOCK_BYTES, whole)])
            line_end = _CRLF
        rest = data[whole:]
    if rest:
        yield line_end + _lines(rest)


def _lines(data: bytes) -> bytes:
    encoded = b2a_base64(data, newline=False)
    return _CRLF.join(
        encoded[at : at + CHARACTERS_MAX] for at in range(0, len(encoded), CHARACTERS_MAX)
    )


def _size_in_base64(size_bytes: int) -> int:
    if size_bytes == 0:
        return 0
    characters = -(-size_bytes // 3) * 4
    return characters + len(_CRLF) * ((characters - 1) // CHARACTERS_MAX)
