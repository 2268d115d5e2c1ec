"""What the wire offers: `encode`, `Decoder` and `forward`.

`encode` turns a value into a `Package`; `Decoder` turns the pieces of a package into a value, and
writes the payloads into sinks of the caller; `forward` makes the package for the next hop from a
received one. Everything that a peer can send gives an `Envelope` or a `RemoteError`, nothing else
(ruling R-25).

Knows how a header document and payloads make a package (`wire.md` Part A2). The codec of the
profile reads and writes the document; `splitter` and `mime` cut the bytes.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from onceonly.message.errors import LocalError, RemoteError
from onceonly.message.message import Message, Payload, RoutingHeader
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import SoapFault
from onceonly.message.word import changed
from onceonly.wire import header, names
from onceonly.wire.assembly import Assembly, Frame, Takers, described, find_declared
from onceonly.wire.codec import Codec
from onceonly.wire.document import (
    About,
    Content,
    Document,
    Envelope,
    HopChange,
    PayloadSink,
    Wrapping,
    about,
)
from onceonly.wire.limits import DEFAULT, Limits
from onceonly.wire.mime import (
    PartHead,
    carried_type,
    check_writable_type,
    content_ids_of,
    is_boundary,
    is_content_id,
    parse_media_type,
)
from onceonly.wire.package_type import read_package_type
from onceonly.wire.registry import (
    codec_of,
    codecs,
    fault_of,
    find_by_type,
    has_short_way,
)
from onceonly.wire.signature import EnvelopeSigning
from onceonly.wire.splice import spliced
from onceonly.wire.splitter import check_boundary
from onceonly.wire.whole import Part, find_header_type, find_parts
from onceonly.wire.wrapping import wrapped
from onceonly.wire.xml import in_utf_8, parse

__all__ = [
    "About",
    "Content",
    "Decoder",
    "Document",
    "Envelope",
    "HopChange",
    "Limits",
    "PartHead",
    "PayloadSink",
    "boundary_for",
    "encode",
    "encode_fault",
    "find_fault",
    "forward",
    "pass_on",
    "payload_order",
]

_PLAIN_IDS: Final = re.compile(r"[!-$&-;=?-~]{1,250}+(?:\n[!-$&-;=?-~]{1,250}+)*+")
"""Content-IDs, one per line, each of which can be read in one way only."""
_BOUNDARY_TOKEN: Final = re.compile(r"[0-9A-Za-z]{16,48}")


def boundary_for(token: str) -> str:
    """A boundary that no payload contains, made of a random token of 16-48 letters and digits.

    Payloads exist before the token is made, so they contain it only by chance; `=_` at its
    beginning cannot occur in base64 or quoted-printable. Raises `LocalError` (InvalidText).
    """
    if _BOUNDARY_TOKEN.fullmatch(token) is None:
        raise LocalError("InvalidText", "a boundary token is 16-48 ASCII letters and digits")
    return f"=_onceonly_{token}"


def encode(  # noqa: PLR0913 - because each says something else of the frame
    content: Content,
    routing: RoutingHeader,
    *,
    profile: Profile,
    boundary: str,
    root_content_id: str,
    signing: EnvelopeSigning | None = None,
    is_always_framed: bool = False,
) -> Package:
    """The package that carries `content` over one hop. Pure: same values give the same bytes.

    The payload bytes belong between the segments; `boundary` must not occur in them
    (`boundary_for`). A document without payloads has a MIME frame if its form has no other way, or
    with `is_always_framed`. Timestamps are cut to milliseconds. Raises `LocalError`: InvalidText
    for text that the wire cannot carry, SemanticsNotOnWire, ReservedService.
    """
    codec = codec_of(profile)
    text = codec.write(content, routing)
    payloads = content.payloads if isinstance(content, Message) else ()
    if signing is not None:
        assert codec.sign is not None, "the profile has no signatures"
        text = codec.sign(text, payloads, signing)
    document = text.encode()
    if codec.stands_alone and not payloads and not is_always_framed:
        return Package(_types_of(codec, codec.charset)[0], (document,))
    # No line of the document begins with two hyphens, so the boundary cannot occur in it.
    return _package(
        document,
        payloads,
        codec,
        charset=codec.charset,
        boundary=boundary,
        root_content_id=root_content_id,
    )


def encode_fault(fault: SoapFault, profile: Profile | None) -> Package:
    """The package that answers one that no message can be answered to (`Codec.has_faults`).

    `profile` is None where the package could not be read far enough to say it: then it is of the
    first form that has faults. Raises `LocalError` (InvalidText).
    """
    codec = next(one for one in codecs() if one.has_faults and profile in (None, one.profile))
    assert codec.write_fault is not None, "that is what it has"
    return Package(_types_of(codec, codec.charset)[0], (codec.write_fault(fault).encode(),))


def find_declared_profile(content_type: str, limits: Limits = DEFAULT) -> Profile | None:
    """The profile that the Content-Type of a package says; None where it says none. Never raises.

    For decisions before a byte of the package was read; its document has the last word.
    """
    try:
        _, _, version, header_type = read_package_type(content_type, limits)
        return find_declared(header_type, version)
    except RemoteError:
        return None


def find_fault(content_type: str, body: bytes, limits: Limits = DEFAULT) -> SoapFault | None:
    """The fault that an answer is; None for every other answer, whatever it is. Never raises."""
    try:
        media_type = parse_media_type(content_type, limits)
        profile = find_by_type(media_type.essence)
        codec = None if profile is None else codec_of(profile)
        if codec is None or codec.find_fault is None:
            return None
        charset = media_type.parameters.get("charset")
        root = parse(body, charset, limits, reads_latin_1=codec.reads_latin_1)
        return codec.find_fault(root)
    except RemoteError:
        return None


def _package(
    document: bytes,
    payloads: tuple[Payload, ...],
    codec: Codec,
    *,
    charset: str,
    boundary: str,
    root_content_id: str,
) -> Package:
    if not is_boundary(boundary):
        raise LocalError("InvalidText", "not a boundary of RFC 2046")
    _check_writable(payloads, root_content_id)
    part_type, package_type = _types_of(codec, charset)
    head = _part_head(part_type, root_content_id)
    before = f"--{boundary}\r\n{head}".encode() + document
    segments = []
    for payload in payloads:
        head = _part_head(payload.content_type, payload.content_id)
        segments.append(before + f"\r\n--{boundary}\r\n{head}".encode())
        before = b""
    segments.append(before + f"\r\n--{boundary}--\r\n".encode())
    content_type = f'{package_type}; boundary="{boundary}"; start="<{root_content_id}>"'
    return Package(content_type, tuple(segments))


@lru_cache(maxsize=64)
def _types_of(codec: Codec, charset: str) -> tuple[str, str]:
    """The Content-Type of a header part, and that of a package without boundary and start."""
    version = "" if codec.version is None else f'; version="{codec.version}"'
    return (
        f'{codec.header_type}{version}; charset="{charset}"',
        f'{names.PACKAGE_TYPE}; type="{codec.header_type}"{version}',
    )


def _check_writable(payloads: tuple[Payload, ...], root_content_id: str) -> None:
    content_ids = [root_content_id, *[payload.content_id for payload in payloads]]
    lines = "\n".join(content_ids)
    if _PLAIN_IDS.fullmatch(lines) is None or lines.count("\n") >= len(content_ids):
        _check_content_ids(content_ids)
    elif len(set(content_ids)) < len(content_ids):
        raise LocalError("InvalidText", "a Content-ID stands there twice")
    for payload in payloads:
        check_writable_type(payload.content_type)


def _check_content_ids(content_ids: list[str]) -> None:
    read_as = [name for content_id in content_ids for name in content_ids_of(content_id)]
    if not all(map(is_content_id, content_ids)) or len(set(read_as)) < len(read_as):
        # Twice also where one is the other, percent-encoded: a reader could take either.
        raise LocalError("InvalidText", "a Content-ID is malformed, or stands there twice")


def _part_head(content_type: str, content_id: str) -> str:
    return f"Content-Type: {content_type}\r\nContent-ID: <{content_id}>\r\n\r\n"


def forward(
    envelope: Envelope, routing: RoutingHeader, *, boundary: str, root_content_id: str
) -> Package:
    """The package that carries a received message one hop further. Pure, like `encode`.

    The header document gets `routing` after its last RoutingHeader; all its other bytes stay as
    they were (S0-80, S0-89). The payload parts keep order, types and ids. The peer must not be able
    to guess `boundary` (`boundary_for`). Raises `LocalError` (InvalidText).
    """
    codec = codec_of(envelope.profile)
    assert codec.routing_header_path is not None, "a hop of this profile adds no RoutingHeader"
    added = codec.write_routing_header(routing)
    document, charset = spliced(envelope.header, codec.routing_header_path, added)
    content = envelope.content
    return _package(
        document,
        content.payloads if isinstance(content, Message) else (),
        codec,
        charset=charset,
        boundary=boundary,
        root_content_id=root_content_id,
    )


def pass_on(
    envelope: Envelope, change: HopChange, *, boundary: str, root_content_id: str
) -> Package:
    """The package of a received message as an intermediary passes it on (`ebms2.md` §10). Pure.

    Every byte outside of the blocks for the next MSH is as it came, and the payloads are in the
    order of the parts (`payload_order`). Where a part had a transfer encoding, or the frame was not
    kept, the frame is a new one, and only document and payloads are as they came. Raises
    `RemoteError` (NotSupported) if a signature covers what has to change.
    """
    codec = codec_of(envelope.profile)
    assert codec.pass_on is not None, "a hop of this profile adds a RoutingHeader"
    document = codec.pass_on(envelope.header, change, envelope.signature)
    if envelope.wrapping is not None:
        return wrapped(envelope.wrapping, document)
    content = envelope.content
    payloads = content.payloads if isinstance(content, Message) else ()
    charset, _ = in_utf_8(document)
    if codec.stands_alone and not payloads:
        return Package(_types_of(codec, charset)[0], (document,))
    return _package(
        document,
        payloads,
        codec,
        charset=charset,
        boundary=boundary,
        root_content_id=root_content_id,
    )


def payload_order(envelope: Envelope) -> list[int]:
    """Which payload of the content comes first in the package of `pass_on`, which comes next."""
    content = envelope.content
    payloads = content.payloads if isinstance(content, Message) else ()
    if envelope.wrapping is None:
        return list(range(len(payloads)))
    place = {payload.content_id: number for number, payload in enumerate(payloads)}
    return [place[content_id] for content_id in envelope.wrapping.content_ids]


def admit_everybody(document: Document, /) -> None:
    """Admits every sender: for packages whose sender need not be checked."""


class Decoder:
    """Reads one package, in pieces of any size. The result does not depend on the pieces.

    `content_type` is that of the package. `open_sink` is called once per payload part, after the
    header was read and the part was found in its Manifest; sinks that were opened belong to the
    caller, also when the package is refused later. Not to be used again after a `RemoteError`.

    `transfer_encoding` is that of the whole package, where it has no frame; a mail has such.

    `keeps_wrapping`: the envelope also has the bytes around the parts, for a profile whose messages
    pass an intermediary as they are.

    `admit` is called once, when the header was read and before the first sink is opened; what it
    raises leaves `feed` or `finish` (ruling R-45: nothing is kept for who is not admitted).

    A package that comes in one piece has a short way, if it is plain (`whole`) or has no frame, its
    document is like one that was read before (`template`), and its parts are just those that are
    named there. Every other one, and whatever is to be refused, goes the long way (`assembly`). A
    property test holds both to the same answer.
    """

    def __init__(
        self,
        content_type: str,
        open_sink: Callable[[PartHead], PayloadSink],
        limits: Limits = DEFAULT,
        *,
        admit: Callable[[Document], None] = admit_everybody,
        transfer_encoding: str = "binary",
        keeps_wrapping: bool = False,
    ) -> None:
        self._limits = limits
        self._keeps_wrapping = keeps_wrapping
        self._open_sink = open_sink
        self._admit = admit
        boundary, self._start, version, header_type = read_package_type(content_type, limits)
        self._frame = content_type, boundary, self._start, header_type, transfer_encoding
        self._declared = find_declared(header_type, version)
        if boundary is not None:
            check_boundary(boundary, fault_of(self._declared))
        self._has_short_way = transfer_encoding == "binary" and has_short_way(self._declared)
        self._has_short_way = self._has_short_way and not self._keeps(boundary)
        self._boundary = boundary
        self._unframed: bytes | None = None
        """A document without a frame that came in one piece; more of it may come."""
        self.is_admitted = False
        """Whether the header was read, and `admit` let it pass."""
        self._document: Document | None = None
        self._envelope: Envelope | None = None
        self._whole_bytes = 0
        self._assembly: Assembly | None = None

    def _keeps(self, boundary: str | None) -> bool:
        """Whether there is a frame that has to be kept."""
        adds_hops = self._declared is not None and self._declared.has_routing_headers
        return self._keeps_wrapping and boundary is not None and not adds_hops

    @property
    def about(self) -> About | None:
        """What is known of the sender; None until the header part has been read.

        It is also known if the header, or something after it, was refused.
        """
        if self._document is not None:
            return about(self._document)
        return None if self._assembly is None else self._assembly.about

    def feed(self, data: bytes) -> None:
        """Read the next piece. Raises `RemoteError`."""
        if self._assembly is None and self._document is None and self._read_whole(data):
            return
        self._long_way().feed(data)

    def finish(self) -> Envelope:
        """The whole package, once every piece was fed. Raises `RemoteError`."""
        if self._unframed is not None:
            head = PartHead(self._frame[0], None, "binary")
            self._read_parts([(head, self._unframed)], len(self._unframed))
        return self._long_way().finish() if self._envelope is None else self._envelope

    def _long_way(self) -> Assembly:
        if self._assembly is None:
            self._assembly = Assembly(
                Frame(*self._frame),
                self._declared,
                self._limits,
                Takers(self._open_sink, self._let_in),
                keeps_wrapping=self._keeps_wrapping,
            )
            begun, self._unframed = self._unframed, None
            if begun is not None:
                self._assembly.feed(begun)
            elif self._document is not None:
                self._assembly.skip(self._whole_bytes)
        return self._assembly

    def _read_whole(self, data: bytes) -> bool:
        """Read all of a package by the short way, or nothing. Raises what `admit` raises."""
        if not self._has_short_way:
            return False
        if self._boundary is None:
            if self._unframed is not None or len(data) > self._limits.package_bytes_max:
                return False
            self._unframed = bytes(data)
            return True
        parts = find_parts(data, self._boundary, self._limits)
        return parts is not None and self._read_parts(parts, len(data))

    def _read_parts(self, parts: list[Part], size_bytes: int) -> bool:
        """Read a package with these parts by the short way, or nothing of it."""
        (root, text), *payload_parts = parts
        document = self._find_document(root, text)
        if document is None or not _are_named(document.labels, root, payload_parts):
            return False
        self._document, self._whole_bytes = document, size_bytes
        self._let_in(document)
        payloads: list[Payload] = []
        sinks: list[PayloadSink] = []
        for head, part in payload_parts:
            sink = self._open_sink(head)
            sinks.append(sink)
            if part:
                sink.write(part)
            size_bytes, digest = sink.close()
            assert head.content_id is not None, "it is named in the Manifest"
            label = document.labels[head.content_id]
            content_type = carried_type(head.content_type)
            payload = Payload(head.content_id, content_type, size_bytes, digest, label)
            if document.references:
                payload = described(payload, document.references[head.content_id])
            payloads.append(payload)
        content = document.content
        if isinstance(content, Message) and payloads:
            content = changed(content, payloads=tuple(payloads))
        self._envelope = Envelope(
            content, document.routing, document.profile, text, tuple(sinks), document.warnings
        )
        if self._keeps_wrapping and self._boundary is None:
            bare = Wrapping(self._frame[0], b"", (b"",), ())
            self._envelope = changed(self._envelope, wrapping=bare)
        return True

    def _let_in(self, document: Document) -> None:
        self._admit(document)
        self.is_admitted = True

    def _find_document(self, root: PartHead, text: bytes) -> Document | None:
        """The document of a header part of which the package says nothing else than it does."""
        known = find_header_type(root.content_type, self._frame[3], self._limits)
        if known is None or self._start not in (None, root.content_id):
            return None
        charset, version, header_type = known
        try:
            declared = find_declared(header_type, version) or self._declared
        except RemoteError:
            return None
        if self._declared not in (None, declared):
            return None
        return header.find(text, charset, declared, self._limits)


def _are_named(labels: Mapping[str, str], root: PartHead, payload_parts: list[Part]) -> bool:
    """Whether the payloads are just those that are named, and each name can mean one part only."""
    if not labels:
        return not payload_parts
    content_ids = {head.content_id for head, _ in payload_parts}
    is_plain = root.content_id not in labels and "%" not in "".join(labels)
    return is_plain and len(payload_parts) == len(labels) and content_ids == labels.keys()
