"""A package as the gateway reads it, with everything that came out before it was refused."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from onceonly.explain.capture import Capture, Kind
from onceonly.explain.framing import BodyBroken
from onceonly.explain.parts import Parts, Take, cut, whole
from onceonly.message.errors import RemoteError
from onceonly.message.profile import Profile
from onceonly.message.word import Word
from onceonly.wire import names, soap
from onceonly.wire.envelope import Decoder, Document, Envelope
from onceonly.wire.header import read
from onceonly.wire.limits import Limits
from onceonly.wire.mime import PartHead, parse_media_type
from onceonly.wire.package_type import PACKAGE_TYPE
from onceonly.wire.registry import find_by_type
from onceonly.wire.version import profile_of
from onceonly.wire.xml import Element, parse

DOCUMENT_BOUNDARY: Final = "=_capture_of_a_bare_header_document"
_DOCUMENT_ID: Final = "header@capture"

SOAP: Final = soap.NAMESPACE.encode()
SOAP_ROOT: Final = f"{{{soap.NAMESPACE}}}Envelope"
SOAP_TYPE: Final = "text/xml"
SOAP_WITHIN: Final = 4096
"""The root element of a document, with its namespaces, is within so many bytes."""


class Read(Word, kw_only=True):
    """What came out of a body."""

    parts: Parts
    root: Element | None = None
    """Of the header document, where it is XML that a gateway would read."""
    document: Document | None = None
    envelope: Envelope | None = None
    error: RemoteError | None = None
    """Why it is refused, whatever was agreed."""
    is_type_read: bool = False
    """The Content-Type is that of a package."""
    broken: str | None = None
    """Why the capture ends before the body does."""


class HashSink:
    """Counts a payload and makes its digest; keeps nothing of it."""

    def __init__(self) -> None:
        self._size_bytes = 0
        self._digest = sha256()

    def write(self, data: bytes) -> None:
        """The next bytes."""
        self._size_bytes += len(data)
        self._digest.update(data)

    def close(self) -> tuple[int, str]:
        """Their number and digest."""
        return self._size_bytes, self._digest.hexdigest()


def take_apart(
    capture: Capture, limits: Limits, *, wanted: int | None = None, take: Take | None = None
) -> Read:
    """Everything that can be read of the package in the capture; never raises because of it.

    The bytes of part `wanted` go to `take`.
    """
    if capture.kind is Kind.DOCUMENT:
        return _read_document(capture, limits)
    parts, broken = _cut(capture, limits, wanted, take)
    seen: list[Document] = []
    envelope: Envelope | None = None
    error: RemoteError | None = None
    decoder: Decoder | None = None
    try:
        decoder = Decoder(
            capture.content_type,
            _open_sink,
            limits,
            admit=seen.append,
            transfer_encoding=capture.transfer_encoding,
        )
        for piece in _unbroken(capture.body()):
            decoder.feed(piece)
        if broken is None:
            envelope = decoder.finish()
    except RemoteError as refused:
        error = refused
    return Read(
        parts=parts,
        root=_find_root(parts.root, limits),
        document=seen[0] if seen else None,
        envelope=envelope,
        error=error,
        is_type_read=decoder is not None,
        broken=broken,
    )


def _cut(
    capture: Capture, limits: Limits, wanted: int | None, take: Take | None
) -> tuple[Parts, str | None]:
    """Of a body that breaks off, what was there before."""
    broken: list[str] = []

    def pieces() -> Iterable[bytes]:
        try:
            yield from capture.body()
        except BodyBroken as error:
            broken.append(str(error))

    if not capture.content_type.lstrip().lower().startswith("multipart/"):
        head = PartHead(capture.content_type or "none", None, capture.transfer_encoding)
        parts = whole(head, pieces(), take if wanted == 1 else None)
    else:
        parts = cut(capture.content_type, pieces(), limits, wanted=wanted, take=take)
    return parts, broken[0] if broken else None


def _unbroken(pieces: Iterable[bytes]) -> Iterable[bytes]:
    try:
        yield from pieces
    except BodyBroken:
        return


def _open_sink(_: PartHead) -> HashSink:
    return HashSink()


def _find_root(document: bytes, limits: Limits) -> Element | None:
    try:
        return parse(document, None, limits, reads_latin_1=_is_soap(document))
    except RemoteError:
        return None


def _read_document(capture: Capture, limits: Limits) -> Read:
    """A header document without a package around it."""
    head = PartHead(capture.content_type, None, capture.transfer_encoding)
    parts = whole(head, _up_to(limits.header_bytes_max, _unbroken(capture.body())), None)
    data = parts.root
    root: Element | None = None
    try:
        media = parse_media_type(capture.content_type, limits)
        charset = media.parameters.get("charset")
        root = parse(data, charset, limits, reads_latin_1=_is_soap(data))
        declared = _declared(media.parameters.get("version"))
        if root.tag == SOAP_ROOT:
            # Nothing but a SOAP envelope has this root, whatever the capture calls it.
            declared = find_by_type(SOAP_TYPE)
        document = read(root, declared, limits)
    except RemoteError as error:
        return Read(parts=parts, root=root, error=error, is_type_read=True)
    envelope = None
    if root.tag == SOAP_ROOT and not document.labels:
        # Without payloads the envelope is the whole package.
        envelope = open_package(soap_type_of(capture), data, limits)
    return Read(parts=parts, root=root, document=document, envelope=envelope, is_type_read=True)


def _up_to(most: int, pieces: Iterable[bytes]) -> Iterable[bytes]:
    count = 0
    for piece in pieces:
        yield piece
        count += len(piece)
        if count > most:
            return


def soap_type_of(capture: Capture) -> str:
    """What was given; of a bare document that of envelopes, unless its own names a charset."""
    given = capture.content_type.partition(";")[0].strip().lower()
    is_its_own = given == SOAP_TYPE or capture.kind is not Kind.DOCUMENT
    return capture.content_type if is_its_own else SOAP_TYPE


def _is_soap(document: bytes) -> bool:
    return SOAP in document[:SOAP_WITHIN].replace(b"\0", b"")


def _declared(version: str | None) -> Profile | None:
    return None if version is None else profile_of(version)


def packed(capture: Capture, document: bytes, limits: Limits) -> Capture | None:
    """A bare header document in a package of its own, without the payloads that it may name.

    As a header part, with the charset and the version of the type that was given; None where that
    is no type.
    """
    if _is_soap(document):
        content_type = soap_type_of(capture)
        return Capture(kind=Kind.BODY, body=lambda: iter((document,)), content_type=content_type)
    try:
        parameters = parse_media_type(capture.content_type, limits).parameters
    except RemoteError:
        return None
    content_type = names.HEADER_TYPE
    for name in ("charset", "version"):
        if name in parameters:
            escaped = parameters[name].replace("\\", "\\\\").replace('"', '\\"')
            content_type += f'; {name}="{escaped}"'
    head = f"--{DOCUMENT_BOUNDARY}\r\nContent-Type: {content_type}\r\n"
    head += f"Content-ID: <{_DOCUMENT_ID}>\r\n\r\n"
    end = f"\r\n--{DOCUMENT_BOUNDARY}--\r\n"
    body = head.encode("ascii") + document + end.encode()
    return Capture(
        kind=Kind.BODY,
        body=lambda: iter((body,)),
        content_type=f'{PACKAGE_TYPE}; boundary="{DOCUMENT_BOUNDARY}"',
    )


def open_package(content_type: str, body: bytes, limits: Limits) -> Envelope | None:
    """A package that we hold in memory; None where it is none."""
    try:
        decoder = Decoder(content_type, _open_sink, limits)
        decoder.feed(body)
        return decoder.finish()
    except RemoteError:
        return None
