"""What the wire offers: `encode`, `Decoder` and `forward`.

`encode` turns a value into a `Package`; `Decoder` turns the pieces of a package into a value,
while the payloads run past it into sinks of the caller's; `forward` makes the package of the next
hop out of what was received. Everything that a peer can send yields an `Envelope` or a
`RemoteError`, nothing else (ruling R-25).

Knows how a header document and payloads make a package (`wire.md` Part A2); the document itself
is the profile's, the cutting of bytes is MIME's.
"""

import re
from collections.abc import Callable
from typing import Final, Protocol

from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.message import Message, Payload, RoutingHeader
from onceonly.message.package import Package
from onceonly.message.printable import quoted
from onceonly.message.profile import Profile
from onceonly.message.word import Word, changed
from onceonly.wire import header, names
from onceonly.wire.document import About, Content, Document, about
from onceonly.wire.limits import DEFAULT, Limits
from onceonly.wire.mime import (
    PartHead,
    carried_type,
    check_writable_type,
    content_ids_of,
    is_boundary,
    is_content_id,
    part_media_type,
)
from onceonly.wire.package_type import PACKAGE_TYPE, read_package_type
from onceonly.wire.registry import codec_of, find_by_version
from onceonly.wire.splice import spliced
from onceonly.wire.splitter import (
    PartBegun,
    PartBytes,
    PartEnded,
    PartEvent,
    Splitter,
    check_boundary,
    in_part,
)
from onceonly.wire.transfer import Transfer, transfer_of
from onceonly.wire.version import check_same, profile_of
from onceonly.wire.whole import find_parts
from onceonly.wire.xml import Element, parse

__all__ = [
    "About",
    "Content",
    "Decoder",
    "Document",
    "Envelope",
    "Limits",
    "PartHead",
    "PayloadSink",
    "boundary_for",
    "encode",
    "forward",
]

_PLAIN_IDS: Final = re.compile(r"[!-$&-;=?-~]{1,250}+(?:\n[!-$&-;=?-~]{1,250}+)*+")
"""Content-IDs, one per line, each of which can be read in one way only."""
_BOUNDARY_TOKEN: Final = re.compile(r"[0-9A-Za-z]{16,48}")


def boundary_for(token: str) -> str:
    """A boundary that no payload contains, made of a random token of 16-48 letters and digits.

    Payloads are chosen before the token, so only chance could put it there; the `=_` in front
    keeps it out of base64 and quoted-printable altogether. Raises `LocalError` (InvalidText).
    """
    if _BOUNDARY_TOKEN.fullmatch(token) is None:
        raise LocalError("InvalidText", "a boundary token is 16-48 ASCII letters and digits")
    return f"=_onceonly_{token}"


def encode(
    content: Content,
    routing: RoutingHeader,
    *,
    profile: Profile,
    boundary: str,
    root_content_id: str,
) -> Package:
    """The package that carries `content` over one hop. Pure: the same values, the same bytes.

    The payload bytes belong between the segments; `boundary` must not occur in them
    (`boundary_for`). Timestamps lose what they have below the millisecond. Raises `LocalError`:
    InvalidText for what the wire cannot carry, SemanticsNotOnWire, ReservedService.
    """
    codec = codec_of(profile)
    document = codec.write(content, routing).encode()
    payloads = content.payloads if isinstance(content, Message) else ()
    # No line of the document begins with two hyphens, so the boundary cannot occur in it.
    return _package(
        document,
        "utf-8",
        payloads,
        version=codec.version,
        boundary=boundary,
        root_content_id=root_content_id,
    )


def _package(
    document: bytes,
    charset: str,
    payloads: tuple[Payload, ...],
    *,
    version: str,
    boundary: str,
    root_content_id: str,
) -> Package:
    if not is_boundary(boundary):
        raise LocalError("InvalidText", "not a boundary of RFC 2046")
    _check_writable(payloads, root_content_id)
    header_type = f'{names.HEADER_TYPE}; version="{version}"; charset="{charset}"'
    before = f"--{boundary}\r\n{_part_head(header_type, root_content_id)}".encode() + document
    segments = []
    for payload in payloads:
        head = _part_head(payload.content_type, payload.content_id)
        segments.append(before + f"\r\n--{boundary}\r\n{head}".encode())
        before = b""
    segments.append(before + f"\r\n--{boundary}--\r\n".encode())
    content_type = (
        f'{PACKAGE_TYPE}; version="{version}"; boundary="{boundary}"; start="<{root_content_id}>"'
    )
    return Package(content_type, tuple(segments))


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


class PayloadSink(Protocol):
    """Where the bytes of one payload go."""

    def write(self, data: bytes, /) -> None:
        """Take the next bytes, never none."""
        ...

    def close(self) -> tuple[int, str]:
        """Called once, after the last byte: their number and hexadecimal SHA-256."""
        ...


class Envelope(Word):
    """A whole package that was received."""

    content: Content
    routing: tuple[RoutingHeader, ...]
    """In the order of the document; the last one is the current hop."""
    profile: Profile
    header: bytes
    """The header document as received, its transfer encoding undone."""
    sinks: tuple[PayloadSink, ...]
    """Parallel to the payloads of the content."""


def forward(
    envelope: Envelope, routing: RoutingHeader, *, boundary: str, root_content_id: str
) -> Package:
    """The package that carries what was received one hop further. Pure, like `encode`.

    The header document gets `routing` behind its last RoutingHeader and is otherwise what it was,
    to the last byte (S0-80, S0-89); the payload parts keep order, types and ids. `boundary` must
    be one that the peer could not foresee (`boundary_for`). Raises `LocalError` (InvalidText).
    """
    codec = codec_of(envelope.profile)
    added = codec.write_routing_header(routing)
    document, charset = spliced(envelope.header, codec.routing_header_path, added)
    content = envelope.content
    return _package(
        document,
        charset,
        content.payloads if isinstance(content, Message) else (),
        version=codec.version,
        boundary=boundary,
        root_content_id=root_content_id,
    )


def admit_everybody(document: Document, /) -> None:
    """For packages whose sender is no question."""


class Decoder:
    """Reads one package, in pieces of any size. What comes out does not depend on the pieces.

    `content_type` is that of the package. `open_sink` is called once per payload part, after the
    header was read and the part was found in its Manifest; sinks that were opened belong to the
    caller, also when the package is refused later. Not to be used again after a `RemoteError`.

    `admit` is called once, when the header was read and before the first sink is opened; what it
    raises leaves `feed` or `finish` (ruling R-45: nothing is kept for who is not admitted).
    """

    def __init__(
        self,
        content_type: str,
        open_sink: Callable[[PartHead], PayloadSink],
        limits: Limits = DEFAULT,
        *,
        admit: Callable[[Document], None] = admit_everybody,
    ) -> None:
        self._limits = limits
        self._open_sink = open_sink
        self._admit = admit
        self.is_admitted = False
        """Whether the header was read, and `admit` let it pass."""
        self._boundary, self._start, version = read_package_type(content_type, limits)
        self._declared = _find_profile(version)
        check_boundary(self._boundary)
        self._splitter: Splitter | None = None
        """Reads what has no short way, from its first byte."""
        self._whole_bytes = 0
        """Of the package that had it."""
        self._transfer: Transfer | None = None
        self._charset: str | None = None
        self._header = bytearray()
        self._root: Element | None = None
        self._document: Document | None = None
        self._content_ids: set[str] = set()
        self._names: dict[str, str] = {}
        """What the Manifest calls a part, by the Content-ID that the part may have."""
        self._documents: dict[str, str] = {}
        """The Content-ID that came, by what the Manifest calls it."""
        self._number = 0
        self._head = PartHead("", None, "")
        self._payloads: list[Payload] = []
        self._sinks: list[PayloadSink] = []

    @property
    def about(self) -> About | None:
        """What is known of the sender; None until the header part has been read.

        Also there when the header or what followed it was refused.
        """
        if self._document is not None:
            return about(self._document)
        return None if self._root is None else header.salvage(self._root, self._limits)

    def feed(self, data: bytes) -> None:
        """Read the next piece. Raises `RemoteError`."""
        splitter = self._splitter
        if splitter is None:
            if not self._whole_bytes and self._read_whole(data):
                return
            splitter = self._begin_splitting()
        for event in splitter.feed(data):
            self._apply(event)

    def _read_whole(self, data: bytes) -> bool:
        """Read all of a package by the short way, or nothing."""
        parts = find_parts(data, self._boundary, self._limits)
        if parts is None:
            return False
        self._whole_bytes = len(data)
        for head, content in parts:
            self._begin_part(head)
            if content:
                self._take(content)
            self._end_part()
        return True

    def _begin_splitting(self) -> Splitter:
        splitter = self._splitter = Splitter(self._boundary, self._limits)
        if self._whole_bytes:
            splitter.skip(self._whole_bytes)
        return splitter

    def finish(self) -> Envelope:
        """The whole package, once every piece was fed. Raises `RemoteError`."""
        if not self._whole_bytes:
            for event in (self._splitter or self._begin_splitting()).finish():
                self._apply(event)
        document = self._document
        assert document is not None, "the splitter refuses a package without a part"
        missing = document.labels.keys() - self._documents.keys()
        if missing:
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                f"the Manifest names {quoted(names.CONTENT_ID_SCHEME + min(missing))}; expected is"
                f" a part with that Content-ID among the {self._number} that came",
            )
        content = document.content
        if isinstance(content, Message) and self._payloads:
            content = changed(content, payloads=tuple(self._payloads))
        return Envelope(
            content,
            document.routing,
            document.profile,
            bytes(self._header),
            tuple(self._sinks),
        )

    def _apply(self, event: PartEvent) -> None:
        if isinstance(event, PartBegun):
            self._begin_part(event.head, is_whole=False)
            return
        try:
            data = self._decoded(event)
        except RemoteError as error:
            raise in_part(error, self._number, self._head.content_id) from error
        if data:
            self._take(data)
        if isinstance(event, PartEnded):
            self._end_part()

    def _decoded(self, event: PartBytes | PartEnded) -> bytes:
        """What the event brings of the part, its transfer encoding undone."""
        assert self._transfer is not None, "the part began before"
        if isinstance(event, PartBytes):
            return self._transfer.decode(event.data)
        return self._transfer.finish()

    def _begin_part(self, head: PartHead, *, is_whole: bool = True) -> None:
        """`is_whole`: its bytes come at once, and are what they stand for."""
        self._number += 1
        self._head = head
        try:
            if not is_whole:
                self._transfer = transfer_of(head.transfer_encoding)
            if self._document is None:
                self._begin_header(head)
            else:
                self._begin_payload(head, self._document)
        except RemoteError as error:
            raise in_part(error, self._number, head.content_id) from error

    def _end_part(self) -> None:
        if self._document is None:
            self._end_header()
        else:
            self._end_payload(self._document)

    def _begin_header(self, head: PartHead) -> None:
        media_type = part_media_type(head.content_type, self._limits)
        if media_type.essence != names.HEADER_TYPE:
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                f"the first part is not the header: it is {quoted(media_type.essence)}, expected is"
                f" {names.HEADER_TYPE}",
            )
        if self._start is not None and head.content_id != self._start:
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                f"start does not name the first part but {quoted(self._start)}; expected is the"
                " Content-ID of the first part, which is the header",
            )
        if head.content_id is not None:
            self._content_ids.add(head.content_id)
        self._charset = media_type.parameters.get("charset")
        declared = _find_profile(media_type.parameters.get("version"))
        check_same(declared, self._declared)
        self._declared = declared or self._declared

    def _begin_payload(self, head: PartHead, document: Document) -> None:
        if head.content_id in self._content_ids:
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                "two parts with one Content-ID; expected is another for each of them",
            )
        reference = self._names.get(head.content_id or "")
        if reference is None:
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                "a part that the Manifest does not name; expected is one of"
                f" {quoted(', '.join(document.labels) or 'no payload at all')}",
            )
        if reference in self._documents:
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                f"the Manifest's {quoted(names.CONTENT_ID_SCHEME + reference)} names two parts, one"
                " as it stands and one percent-decoded; expected is one of them",
            )
        assert head.content_id is not None, "the Manifest names none without one"
        self._content_ids.add(head.content_id)
        self._documents[reference] = head.content_id
        self._sinks.append(self._open_sink(head))

    def _take(self, data: bytes) -> None:
        if self._document is not None:
            self._sinks[-1].write(data)
            return
        if len(self._header) + len(data) > self._limits.header_bytes_max:
            raise RemoteError(
                ErrorCode.MESSAGE_TOO_LARGE,
                "the header document is too long; at most"
                f" {self._limits.header_bytes_max} bytes are read",
            )
        self._header += data

    def _end_header(self) -> None:
        document = bytes(self._header)
        self._document = header.find(document, self._charset, self._declared, self._limits)
        if self._document is None:
            self._root = parse(document, self._charset, self._limits)
            self._document = header.read(self._root, self._declared, self._limits)
        self._names = _names_of(self._document)
        self._admit(self._document)
        self.is_admitted = True
        if self._root is not None:
            header.learn(document, self._charset, self._declared, self._limits)

    def _end_payload(self, document: Document) -> None:
        content_type, content_id = self._head.content_type, self._head.content_id
        assert content_id is not None, "checked when the part began"
        size_bytes, digest = self._sinks[-1].close()
        self._payloads.append(
            Payload(
                content_id,
                carried_type(content_type),
                size_bytes,
                digest,
                document.labels[self._names[content_id]],
            )
        )


def _names_of(document: Document) -> dict[str, str]:
    """What each document of the Manifest may be called by its part: the reference, by Content-ID.

    A cid: URI is the Content-ID as it stands, else percent-decoded (RFC 2392). Raises
    `RemoteError` (MimeProblem) where two references could mean one part.
    """
    if "%" not in "".join(document.labels):
        return dict(zip(document.labels, document.labels, strict=True))
    found: dict[str, str] = {}
    for reference in document.labels:
        for content_id in content_ids_of(reference):
            if content_id in found:
                raise RemoteError(
                    ErrorCode.MIME_PROBLEM,
                    f"the Manifest names the part {quoted(content_id)} twice, once"
                    " percent-encoded; expected is once",
                )
            found[content_id] = reference
    return found


def _find_profile(version: str | None) -> Profile | None:
    return None if version is None else find_by_version(version) or profile_of(version)
