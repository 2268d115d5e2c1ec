"""The long way to read a package: part by part, as its pieces come in.

Knows how a header document and payloads make a package (`wire.md` Part A2), and refuses what makes
none, in words. Packages of which nothing has to be said go the short way of `envelope.Decoder`.
"""

from collections.abc import Callable

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.message import Message, Payload
from onceonly.message.printable import quoted
from onceonly.message.profile import Profile
from onceonly.message.word import Word, changed
from onceonly.wire import header, names
from onceonly.wire.document import About, Document, Envelope, PayloadSink, about
from onceonly.wire.limits import Limits
from onceonly.wire.mime import PartHead, carried_type, content_ids_of, part_media_type
from onceonly.wire.registry import find_by_version
from onceonly.wire.splitter import PartBegun, PartBytes, PartEnded, PartEvent, Splitter, in_part
from onceonly.wire.transfer import Transfer, transfer_of
from onceonly.wire.version import check_same, profile_of
from onceonly.wire.xml import Element, parse


class Takers(Word):
    """Who takes what is read (see `envelope.Decoder`)."""

    open_sink: Callable[[PartHead], PayloadSink]
    admit: Callable[[Document], None]


class Assembly:
    """One package that is read the long way."""

    def __init__(
        self,
        boundary: str,
        start: str | None,
        declared: Profile | None,
        limits: Limits,
        takers: Takers,
    ) -> None:
        self._limits = limits
        self._takers = takers
        self._start = start
        self._declared = declared
        self._splitter = Splitter(boundary, limits)
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
        for event in self._splitter.feed(data):
            self._apply(event)

    def skip(self, size_bytes: int) -> None:
        """Count a whole package that went the short way; what follows it is an epilogue."""
        self._splitter.skip(size_bytes)

    def finish(self) -> Envelope:
        """The whole package, once every piece was fed. Raises `RemoteError`."""
        for event in self._splitter.finish():
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
            self._begin_part(event.head)
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
        if isinstance(event, PartBytes):
            return self._transfer.decode(event.data)
        return self._transfer.finish()

    def _begin_part(self, head: PartHead) -> None:
        self._number += 1
        self._head = head
        try:
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
        declared = find_declared(media_type.parameters.get("version"))
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
        self._sinks.append(self._takers.open_sink(head))

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
        self._takers.admit(self._document)
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


def find_declared(version: str | None) -> Profile | None:
    """The profile of a version that a package says, if it does. Raises `RemoteError`."""
    return None if version is None else find_by_version(version) or profile_of(version)
