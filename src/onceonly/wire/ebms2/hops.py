"""One hop of a document: blocks for the next MSH are taken out of its bytes, and others put in.

Implements `ebms2.md` §10. Whole elements are cut out and inserted, and no other byte is another
afterwards: what is between the blocks is under the signature of the From Party, white space too. So
nothing is written again here, not even in another encoding.
"""

from typing import Any, Final
from xml.parsers import expat

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.message import Actor
from onceonly.wire.document import HopChange
from onceonly.wire.ebms2 import names as own
from onceonly.wire.ebms2.writing import write_hop_blocks
from onceonly.wire.signature import Signature, UnreadableSignature
from onceonly.wire.soap import NAMESPACE, NEXT_ACTOR
from onceonly.wire.xml import WHITE_SPACE, declaration_end, in_utf_8

# The separator that ElementTree uses: expat refuses a namespace that contains it, and both must
# refuse the same documents.
_SEPARATOR: Final = "}"
_HEADER: Final = [f"{NAMESPACE}{_SEPARATOR}{name}" for name in ("Envelope", "Header")]
_ACTOR: Final = f"{NAMESPACE}{_SEPARATOR}actor"
_OWN: Final = f"{own.NAMESPACE}{_SEPARATOR}"
_HOP_ACTORS: Final = (Actor.NEXT_MSH.value, NEXT_ACTOR)


class _HopBlocks:
    """Where the blocks for the next MSH stand in a document, and where its Header ends."""

    def __init__(self, document: bytes) -> None:
        self.found: dict[str, tuple[int, int]] = {}
        """First byte and end of each, by its name."""
        self.header_end = 0
        """Where the end tag of the Header begins."""
        self._document = document
        self._path: list[str] = []
        self._begun: tuple[str, int] | None = None
        self._is_bare = False
        """Nothing came yet after the start tag that was read last."""
        parser = expat.ParserCreate("utf-8", _SEPARATOR)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._finish
        for handler in ("CharacterDataHandler", "CommentHandler", "StartCdataSectionHandler"):
            setattr(parser, handler, self._content)
        self._parser = parser
        parser.Parse(document, True)  # noqa: FBT003 - because expat takes it by place only

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        actor = attributes.get(_ACTOR, "").strip(WHITE_SPACE)
        if self._path == _HEADER and name.startswith(_OWN) and actor in _HOP_ACTORS:
            self._begun = name.removeprefix(_OWN), self._parser.CurrentByteIndex
        self._path.append(name)
        self._is_bare = True

    def _content(self, *_: Any) -> None:
        self._is_bare = False

    def _finish(self, _name: str) -> None:
        at = self._parser.CurrentByteIndex
        is_empty_tag = self._is_bare and self._document[at - 2 : at] == b"/>"
        if self._path == _HEADER:
            self.header_end = at
        self._path.pop()
        self._is_bare = False
        if self._path == _HEADER and self._begun is not None:
            name, start = self._begun
            # Of an element in one tag expat says where the tag ends.
            end = at if is_empty_tag else self._document.index(b">", at) + 1
            self.found[name] = start, end
            self._begun = None


def pass_on(
    document: bytes, change: HopChange, signature: Signature | UnreadableSignature | None
) -> bytes:
    """The document with the blocks of this hop, its other bytes as they came.

    `document` was read before, so it has one Header, and one block of a kind for the next MSH at
    most. Raises `RemoteError` (NotSupported) if a block had to change under a signature that covers
    it: one without the filter (§9.3), or of a form that we cannot read.
    """
    asked, said = write_hop_blocks(change.ack_requested, change.acknowledgment)
    _, text = in_utf_8(document)
    # expat is told the encoding, and does not see the declaration, which may name another.
    start = declaration_end(text)
    blocks = _HopBlocks(text[start:])
    edits: list[tuple[int, int, bytes]] = []
    for name, is_taken, put in (
        ("AckRequested", change.takes_ack_requested, asked),
        ("Acknowledgment", change.takes_acknowledgment, said),
    ):
        place = blocks.found.get(name) if is_taken else None
        if place is None and not put:
            continue
        first, end = place or (blocks.header_end, blocks.header_end)
        edits.append((start + first, start + end, put.encode()))
    if not edits:
        return document
    _refuse_covered(signature)
    return _as_encoded(document, text, _edited(text, edits))


def _refuse_covered(signature: Signature | UnreadableSignature | None) -> None:
    is_open = isinstance(signature, Signature) and signature.filter_prefix is not None
    if signature is not None and not is_open:
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            "the signature covers the blocks for the next MSH, which an intermediary has to change;"
            " expected is one with the filter of ebMS 2.0 §4.1.3, or no such blocks",
            location="//SOAP:Header/ds:Signature",
        )


def _edited(text: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for first, end, put in sorted(edits, reverse=True):
        text = text[:first] + put + text[end:]
    return text


def _as_encoded(document: bytes, before: bytes, after: bytes) -> bytes:
    """The text in the encoding of the document that it was read from, with its byte order mark."""
    mark = document[:2]
    if mark in (b"\xff\xfe", b"\xfe\xff"):
        return mark + after.decode().encode("utf-16-le" if mark == b"\xff\xfe" else "utf-16-be")
    return document[: len(document) - len(before)] + after
