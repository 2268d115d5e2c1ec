"""Hardened XML: from the bytes of a header part to an element tree that hides nothing.

Knows what may stand in a header document at all (ruling R-24, attacks X1-X11); which elements
mean what is the profile's affair. A DOCTYPE, a comment, a CDATA section or a processing
instruction each need `<!` or `<?`, and well-formed XML has those character pairs for nothing
else, so all four are refused by looking at the bytes, before any parser has seen them. What is
left for expat is elements, attributes, text and the five predefined entities.

lxml is twice as fast, and was refused: it keeps every element name that it ever met in a
dictionary of the thread, so a peer could make a gateway grow for ever.
"""

import re
from xml.etree.ElementTree import Element, ParseError, XMLParser

from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.wire.limits import Limits

__all__ = ["WHITE_SPACE", "Element", "escaped", "in_utf_8", "parse"]

WHITE_SPACE = " \t\r\n"
"""White space as XML defines it; `str.strip()` would take off more."""

_BOM_UTF_8 = b"\xef\xbb\xbf"
_BOMS_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_DECLARATION = re.compile(
    rb"<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:'1\.0'|\"1\.0\")"
    rb"(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:'([A-Za-z0-9._\-]+)'|\"([A-Za-z0-9._\-]+)\"))?"
    rb"(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:'(?:yes|no)'|\"(?:yes|no)\"))?"
    rb"[ \t\r\n]*\?>"
)
_SPECIAL = re.compile(r"[^ !#-%'-;=?-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\t": "&#9;",
    "\n": "&#10;",
    "\r": "&#13;",
}


def parse(document: bytes, charset: str | None, limits: Limits) -> Element:
    """The root element of `document`; `charset` is the parameter of its Content-Type, if any.

    Raises `RemoteError`: OtherXml where it is not a plain well-formed document, NotSupported
    where the encodings disagree or are not UTF-8 or UTF-16, MessageTooLarge past a limit.
    """
    if len(document) > limits.header_bytes_max:
        raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, "the header document is too long")
    document = _content(document, charset)
    elements = _check_markup(document, limits)
    parser = XMLParser(encoding="utf-8")  # noqa: S314 - because `_check_markup` went before
    try:
        parser.feed(document)
        root = parser.close()
    except ParseError as error:
        raise RemoteError(ErrorCode.OTHER_XML, "the header is not well-formed XML") from error
    _check_tree(root, elements, document.count(b"="), limits)
    return root


def _content(document: bytes, charset: str | None) -> bytes:
    """The document in UTF-8, without byte order mark and declaration."""
    encoding, document = in_utf_8(document)
    declaration = _DECLARATION.match(document)
    declared = charset
    if declaration is not None:
        name = declaration[1] or declaration[2]
        document = document[declaration.end() :]
        if name is not None:
            _check_encoding(name.decode("ascii"), encoding)
    if declared is not None:
        _check_encoding(declared, encoding)
    return document


def in_utf_8(document: bytes) -> tuple[str, bytes]:
    """The encoding of `document`, utf-8 or utf-16, and its text in UTF-8 without byte order mark.

    Raises `RemoteError` (OtherXml) where it is neither.
    """
    codec = _BOMS_UTF_16.get(document[:2])
    try:
        if codec is not None:
            return "utf-16", document[2:].decode(codec).encode()
        document = document.removeprefix(_BOM_UTF_8)
        document.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RemoteError(ErrorCode.OTHER_XML, f"the header is not {error.encoding}") from error
    return "utf-8", document


def _check_encoding(named: str, found: str) -> None:
    if named.lower() != found:
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            f"the header is in {found} and says {named[:40]!r}; it must be the same utf-8 or utf-16"
            " in the charset parameter, the byte order mark and the XML declaration",
        )


def _check_markup(document: bytes, limits: Limits) -> int:
    """Refuse what can be refused before parsing; the number of elements."""
    if b"<!" in document:
        raise RemoteError(ErrorCode.OTHER_XML, "DOCTYPE, comments and CDATA are not allowed")
    if b"<?" in document:
        raise RemoteError(
            ErrorCode.OTHER_XML, "only a plain XML declaration, and no instruction, is allowed"
        )
    elements = document.count(b"<") - document.count(b"</")
    if elements > limits.elements_max:
        raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, "the header has too many elements")
    if document.count(b"xmlns") > limits.namespaces_max:
        raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, "the header declares too many namespaces")
    return elements


def _check_tree(root: Element, elements: int, equal_signs: int, limits: Limits) -> None:
    """Refuse what is too deep or has too many attributes.

    A document cannot be deeper than it has elements nor have more attributes than equal signs,
    so an ordinary one is not walked.
    """
    if elements <= limits.depth_max and equal_signs <= limits.attributes_max:
        return
    level = [root]
    for _ in range(limits.depth_max):
        if any(len(element.attrib) > limits.attributes_max for element in level):
            raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, "an element has too many attributes")
        level = [child for element in level for child in element]
        if not level:
            return
    raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, "the header is nested too deeply")


def escaped(texts: tuple[str, ...]) -> tuple[str, ...]:
    """`texts`, each safe between tags and between double quotes, and read back unchanged.

    Raises `LocalError` (InvalidText) for a character that XML 1.0 cannot carry.
    """
    if _SPECIAL.search(" ".join(texts)) is None:
        return texts
    return tuple(_SPECIAL.sub(_reference, text) for text in texts)


def _reference(found: re.Match[str]) -> str:
    reference = _REFERENCES.get(found[0])
    if reference is None:
        raise LocalError("InvalidText", f"XML cannot carry the character U+{ord(found[0]):04X}")
    return reference
