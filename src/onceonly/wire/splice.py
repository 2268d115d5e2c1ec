"""Inserts one more RoutingHeader into a header document, and changes no other byte of it.

A relay changes nothing of what it received (S0-80, S0-89), so the document is not written again.
The place after its last RoutingHeader is found, and the new one is inserted there, in the encoding
of the document.
"""

from collections.abc import Sequence
from typing import Final
from xml.parsers import expat

from onceonly.wire import names
from onceonly.wire.xml import declaration_end, in_utf_8

# The separator that ElementTree uses: expat refuses a namespace that contains it, and both must
# refuse the same documents.
_SEPARATOR: Final = "}"


class _LastRoutingHeader:
    """Where the last RoutingHeader of a document ends, and whether it needed no prefix.

    Only those in the right place count: an element that we skip may contain one as well.
    """

    def __init__(self, document: bytes, place: Sequence[str]) -> None:
        self.end = 0
        self.is_bare = False
        self._document = document
        self._opening = f"<{place[-1]}".encode()
        self._place = [f"{names.NAMESPACE}{_SEPARATOR}{element}" for element in place]
        self._path: list[str] = []
        self._declares = False
        parser = expat.ParserCreate("utf-8", _SEPARATOR)
        parser.StartNamespaceDeclHandler = self._declare
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._finish
        self._parser = parser
        parser.Parse(document, True)  # noqa: FBT003 - because expat takes it by place only

    def _declare(self, _prefix: str | None, _uri: str) -> None:
        self._declares = True

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        self._path.append(name)
        if self._path == self._place:
            # Without a prefix and its own declarations it is in the default namespace, so its next
            # sibling can be written in the same way.
            at = self._parser.CurrentByteIndex
            self.is_bare = not self._declares and self._document.startswith(self._opening, at)
        self._declares = False

    def _finish(self, _name: str) -> None:
        if self._path == self._place:
            self.end = self._document.index(b">", self._parser.CurrentByteIndex) + 1
        self._path.pop()


def spliced(document: bytes, place: Sequence[str], routing_header: str) -> tuple[bytes, str]:
    """The document with `routing_header` after its last one, and the charset of the document.

    `document` was read before, so it is well formed and has a RoutingHeader.
    `place` is the path of elements to it, `routing_header` whole lines of the profile's writer.
    """
    charset, text = in_utf_8(document)
    # expat is told the encoding, and does not see the declaration, which may name another.
    start = declaration_end(text)
    last = _LastRoutingHeader(text[start:], place)
    if not last.is_bare:
        routing_header = routing_header.replace(
            f"<{place[-1]}", f'<{place[-1]} xmlns="{names.NAMESPACE}"', 1
        )
    end = start + last.end
    whole = text[:end] + b"\r\n" + routing_header.removesuffix("\r\n").encode() + text[end:]
    if charset == "utf-16":
        mark = document[:2]
        codec = "utf-16-le" if mark == b"\xff\xfe" else "utf-16-be"
        return mark + whole.decode().encode(codec), charset
    return document[: len(document) - len(text)] + whole, charset
