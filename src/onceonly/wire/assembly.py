"""The long way to read a package: part by part, as its pieces come in.

Knows how a header document and payloads make a package (`wire.md` Part A2), and refuses what makes
none, in words. Packages of which nothing has to be said go the short way of `envelope.Decoder`.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import Final

from onceonly.message.errors import ErrorCode, RemoteError, changed_error
from onceonly.message.message import Message, Payload
from onceonly.message.printable import quoted
from onceonly.message.profile import Profile
from onceonly.message.word import Word, changed
from onceonly.wire import header, names
from onceonly.wire.document import (
    About,
    Document,
    Envelope,
    PayloadSink,
    Reference,
    about,
)
from onceonly.wire.limits import Limits
from onceonly.wire.mime import PartHead, carried_type, content_ids_of, part_media_type
from onceonly.wire.part_digests import PartDigesting
from onceonly.wire.registry import (
    codec_of,
    fault_of,
    find_by_type,
    find_by_version,
    forget_with,
    has_header_type,
    header_types,
    reads_latin_1,
)
from onceonly.wire.signature import Digest, Signature, UnreadableSignature, Way
from onceonly.wire.splitter import PartBegun, PartBytes, PartEnded, PartEvent, Splitter, in_part
from onceonly.wire.transfer import Transfer, transfer_of
from onceonly.wire.unframed import Unframed
from onceonly.wire.version import check_same, profile_of
from onceonly.wire.wrapping import WrappingKeeper
from onceonly.wire.xml import Element, parse

NOTHING_SAID: Final = Reference()


class Frame(Word):
    """What the Content-Type of a package says of its parts (`package_type.PackageType`)."""

    content_type: str
    boundary: str | None
    start: str | None
    header_type: str | None
    transfer_encoding: str = "binary"
    """Of the whole package, where it has no boundary."""


class Takers(Word):
    """Who takes what is read (see `envelope.Decoder`)."""

    open_sink: Callable[[PartHead], PayloadSink]
    admit: Callable[[Document], None]


class Assembly:
    """One package that is read the long way."""

    def __init__(
        self,
        frame: Frame,
        declared: Profile | None,
        limits: Limits,
        takers: Takers,
        *,
        keeps_wrapping: bool = False,
    ) -> None:
        self._limits = limits
        self._keeper = WrappingKeeper(frame.content_type) if keeps_wrapping else None
        self._takers = takers
        self._frame = frame
        self._declared = declared
        self._splitter: Splitter | Unframed = (
            Unframed(frame.content_type, limits, transfer_encoding=frame.transfer_encoding)
            if frame.boundary is None
            else Splitter(frame.boundary, limits, keeps_frame=keeps_wrapping)
        )
        self._transfer: Transfer = transfer_of("binary")
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
        self._dropped = 0
        self._is_dropped = False
        """The part that is being read is not named, and is dropped."""
        self._wanted: tuple[Digest, ...] = ()
        """The digests that the signature has of the part that is being read."""
        self._digesting = PartDigesting((), has_sink=True)
        self._digests: dict[str, dict[Way, bytes]] = {}

    @property
    def about(self) -> About | None:
        """What is known of the sender; None until the header part has been read.

        Also there when the header or what followed it was refused.
        """
        if self._document is not None:
            return about(self._document)
        if self._root is None:
            return None
        return header.salvage(self._root, self._limits, self._declared)

    def feed(self, data: bytes) -> None:
        """Read the next piece. Raises `RemoteError`."""
        for event in self._as_cut(self._splitter.feed(data)):
            self._apply(event)

    def skip(self, size_bytes: int) -> None:
        """Count a whole package that went the short way; what follows it is an epilogue."""
        assert isinstance(self._splitter, Splitter), "what has no frame has no short way"
        self._splitter.skip(size_bytes)

    def finish(self) -> Envelope:
        """The whole package, once every piece was fed. Raises `RemoteError`."""
        for event in self._as_cut(self._splitter.finish()):
            self._apply(event)
        document = self._document
        assert document is not None, "the splitter refuses a package without a part"
        missing = document.labels.keys() - self._documents.keys()
        if missing:
            href = names.CONTENT_ID_SCHEME + min(missing)
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                f"the Manifest names {quoted(href)}; expected is a part with that Content-ID among"
                f" the {self._number} that came",
                location=href,
            )
        content = document.content
        if isinstance(content, Message) and self._payloads:
            self._put_in_order(document)
            content = changed(content, payloads=tuple(self._payloads))
        return Envelope(
            content,
            document.routing,
            document.profile,
            bytes(self._header),
            tuple(self._sinks),
            document.warnings,
            self._dropped,
            document.signature,
            self._digests,
            self._root if isinstance(document.signature, Signature) else None,
            None if self._keeper is None else self._keeper.wrapping(self._splitter.rest),
        )

    def _as_cut(self, events: Iterator[PartEvent]) -> Iterator[PartEvent]:
        """The events; a frame that is broken is a fault where the form has faults."""
        try:
            yield from events
        except RemoteError as error:
            raise self._as_fault(error) from error

    def _as_fault(self, error: RemoteError) -> RemoteError:
        return changed_error(error, fault=error.fault or fault_of(self._declared))

    def _apply(self, event: PartEvent) -> None:
        if isinstance(event, PartBegun):
            self._begin_part(event.head)
            if self._keeper is not None:
                self._keeper.begin_part(event, is_payload=self._is_payload)
            return
        if self._keeper is not None and self._is_dropped and isinstance(event, PartBytes):
            self._keeper.keep(event.data)
        try:
            data = self._decoded(event)
        except RemoteError as error:
            error = in_part(error, self._number, self._head.content_id)
            raise self._as_fault(error) from error
        if data:
            self._take(data)
        if isinstance(event, PartEnded):
            self._end_part()

    def _decoded(self, event: PartBytes | PartEnded) -> bytes:
        """What the event brings of the part, its transfer encoding undone."""
        if isinstance(event, PartBytes):
            return self._transfer.decode(event.data)
        return self._transfer.finish()

    def _begin_part(self, head: PartHead) -> None:
        self._number += 1
        self._head = head
        is_header = self._document is None
        try:
            self._transfer = transfer_of(head.transfer_encoding)
            if self._document is None:
                self._begin_header(head)
            else:
                self._begin_payload(head, self._document)
        except RemoteError as error:
            error = in_part(error, self._number, head.content_id)
            raise (self._as_fault(error) if is_header else error) from error

    @property
    def _is_payload(self) -> bool:
        """Whether the part that is being read goes to a sink."""
        return self._document is not None and not self._is_dropped

    def _end_part(self) -> None:
        if self._document is None:
            self._end_header()
        else:
            self._end_payload(self._document)

    def _begin_header(self, head: PartHead) -> None:
        media_type = part_media_type(head.content_type, self._limits)
        essence, wanted = media_type.essence, self._frame.header_type
        if essence != wanted and (wanted is not None or not has_header_type(essence)):
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                f"the first part is not the header: it is {quoted(essence)}, expected is"
                f" {wanted or header_types()}",
            )
        start = self._frame.start
        if start is not None and head.content_id != start:
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                f"start does not name the first part but {quoted(start)}; expected is the"
                " Content-ID of the first part, which is the header",
            )
        if head.content_id is not None:
            self._content_ids.add(head.content_id)
        self._charset = media_type.parameters.get("charset")
        declared = find_declared(essence, media_type.parameters.get("version"))
        check_same(declared, self._declared)
        self._declared = declared or self._declared

    def _put_in_order(self, document: Document) -> None:
        """The payloads as the Manifest has them, if the profile's parts may come in another order.

        In the older profiles the order of the parts is part of the content (R-37).
        """
        if not document.profile.has_cpa:
            return
        place = {name: number for number, name in enumerate(document.labels)}
        named = [place[self._names[payload.content_id]] for payload in self._payloads]
        both = sorted(zip(named, self._payloads, self._sinks, strict=True), key=itemgetter(0))
        self._payloads = [payload for _, payload, _ in both]
        self._sinks = [sink for *_, sink in both]

    def _begin_payload(self, head: PartHead, document: Document) -> None:
        if head.content_id in self._content_ids:
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                "two parts with one Content-ID; expected is another for each of them",
            )
        self._wanted = _wanted_of(document.signature, head.content_id)
        reference = self._names.get(head.content_id or "")
        if reference is None and document.labels and self._drops(document, head):
            self._dropped += 1
            self._is_dropped = True
            self._digesting = PartDigesting(self._wanted, has_sink=False)
            return
        self._is_dropped = False
        self._digesting = PartDigesting(self._wanted, has_sink=True)
        if reference is None:
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                "a part that the Manifest does not name; expected is one of"
                f" {quoted(', '.join(document.labels) or 'no payload at all')}",
                location="//SOAP:Body/eb:Manifest",
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
        self._sinks.append(self._takers.open_sink(head))

    def _drops(self, document: Document, head: PartHead) -> bool:
        """Whether an unnamed part is dropped. Under a signature it must be signed (P7)."""
        if isinstance(document.signature, Signature) and not self._wanted:
            raise RemoteError(
                ErrorCode.MIME_PROBLEM,
                "a part that neither the Manifest nor the signature names; expected is none beside"
                " those that were signed",
                location=f"{names.CONTENT_ID_SCHEME}{head.content_id or ''}",
            )
        return codec_of(document.profile).drops_unnamed_parts

    def _take(self, data: bytes) -> None:
        if self._document is not None:
            self._digesting.update(data)
            if not self._is_dropped:
                self._sinks[-1].write(data)
            return
        if len(self._header) + len(data) > self._limits.header_bytes_max:
            raise RemoteError(
                ErrorCode.MESSAGE_TOO_LARGE,
                "the header document is too long; at most"
                f" {self._limits.header_bytes_max} bytes are read",
                fault=fault_of(self._declared),
            )
        self._header += data

    def _end_header(self) -> None:
        document = bytes(self._header)
        self._document = header.find(document, self._charset, self._declared, self._limits)
        if self._document is None:
            try:
                self._root = parse(
                    document,
                    self._charset,
                    self._limits,
                    reads_latin_1=reads_latin_1(self._declared),
                )
            except RemoteError as error:
                raise self._as_fault(error) from error
            self._document = header.read(self._root, self._declared, self._limits)
        self._names = _names_of(self._document)
        self._takers.admit(self._document)
        if self._root is not None:
            header.learn(document, self._charset, self._declared, self._limits)

    def _end_payload(self, document: Document) -> None:
        if self._is_dropped:
            self._note_digests("")
            return
        content_type, content_id = self._head.content_type, self._head.content_id
        assert content_id is not None, "checked when the part began"
        size_bytes, digest = self._sinks[-1].close()
        self._note_digests(digest)
        named = self._names[content_id]
        payload = Payload(
            content_id, carried_type(content_type), size_bytes, digest, document.labels[named]
        )
        self._payloads.append(described(payload, document.references.get(named, NOTHING_SAID)))

    def _note_digests(self, sha256: str) -> None:
        if self._wanted:
            self._digests[self._head.content_id or ""] = self._digesting.finish(sha256)


def described(payload: Payload, said: Reference) -> Payload:
    """The payload with what the Manifest says of it beside its label."""
    if said == NOTHING_SAID:
        return payload
    return changed(
        payload,
        reference_id=said.reference_id,
        role=said.role,
        description=said.description,
        schemas=said.schemas,
    )


def _wanted_of(
    signature: Signature | UnreadableSignature | None, content_id: str | None
) -> tuple[Digest, ...]:
    """The digests that a signature has of a part."""
    if content_id is None or not isinstance(signature, Signature):
        return ()
    return tuple(
        digest
        for digest in signature.payloads
        if content_id in content_ids_of(digest.uri[len(names.CONTENT_ID_SCHEME) :])
    )


def _names_of(document: Document) -> dict[str, str]:
    """What each document of the Manifest may be called by its part: the reference, by Content-ID.

    A cid: URI is the Content-ID as it stands, else percent-decoded (RFC 2392). Raises
    `RemoteError` (MimeProblem) where two references could mean one part.
    """
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


@lru_cache(maxsize=64)
def find_declared(header_type: str | None, version: str | None) -> Profile | None:
    """The profile of the type and the version that a package says, if it does.

    Raises `RemoteError`.
    """
    profile = find_by_type(header_type)
    if profile is not None or version is None:
        return profile
    return find_by_version(version) or profile_of(version)


forget_with(find_declared.cache_clear)
