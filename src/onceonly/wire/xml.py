"""Hardened XML: from the bytes of a header part to an element tree that hides nothing.

Knows what is legal in any header document (rulings R-24 and R-42, attacks X1-X11); the profile
knows the meaning of the elements. A DOCTYPE or a processing instruction needs `<!` or `<?`. Outside
of comments and CDATA sections, well-formed XML has these character pairs for nothing else, so both
are refused by looking at the bytes, before any parser sees them. For expat only elements,
attributes, text, comments, CDATA and the five predefined entities are left. Text is read across
comments and CDATA sections: the value that expat gives is the only one that is used.

lxml is twice as fast, but was rejected: it keeps every element name that it has seen in a
dictionary of the thread, so a peer could make the memory of a gateway grow for ever.
"""

import re
from typing import Final
from xml.etree.ElementTree import Element, ParseError, XMLParser

from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.printable import quoted
from onceonly.wire.limits import Limits

__all__ = [
    "WHITE_SPACE",
    "Element",
    "declaration_end",
    "escaped",
    "in_utf_8",
    "parse",
    "plain_text",
]

WHITE_SPACE = " \t\r\n"
"""White space as XML defines it; `str.strip()` would remove more."""

_BOM_UTF_8 = b"\xef\xbb\xbf"
_BOMS_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
# Nothing is legal before it, but some programs that join documents leave a blank line there.
_DECLARATION = re.compile(
    rb"[ \t\r\n]*<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:'1\.0'|\"1\.0\")"
    rb"(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:'([A-Za-z0-9._\-]+)'|\"([A-Za-z0-9._\-]+)\"))?"
    rb"(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:'(?:yes|no)'|\"(?:yes|no)\"))?"
    rb"[ \t\r\n]*\?>"
)
_VALUE_BEGIN = re.compile(rb"=[ \t\r\n]*([\"'])")
_NO_NAME = re.compile(rb"[<>\"']")
_VALUE_OF_TAG = re.compile(rb"[^>\"']*(?:\"[^\"]*\"|'[^']*')")
_COMMENT = b"<!--"
_CDATA = b"<![CDATA["
_ENCODINGS = {
    "utf8": "utf-8",
    "csutf8": "utf-8",
    "unicode11utf8": "utf-8",
    "utf16": "utf-16",
    "csutf16": "utf-16",
}
"""The names of both encodings, in lower case and without hyphens, underscores and blanks."""
_LATIN_1: Final = {
    "iso88591": "iso-8859-1",
    "latin1": "iso-8859-1",
    "l1": "iso-8859-1",
    "isolatin1": "iso-8859-1",
    "usascii": "us-ascii",
    "ascii": "us-ascii",
}
"""Those of the encodings that a declaration may name where a profile reads them."""
_SPELLING = str.maketrans("", "", "-_ ")
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


def parse(
    document: bytes, charset: str | None, limits: Limits, *, reads_latin_1: bool = False
) -> Element:
    """The root element of `document`; `charset` is the parameter of its Content-Type, if any.

    With `reads_latin_1` its declaration may say ISO-8859-1 or US-ASCII. Raises `RemoteError`:
    OtherXml if it is not a plain well-formed document, NotSupported if the encodings disagree or
    are others, MessageTooLarge above a limit.
    """
    if len(document) > limits.header_bytes_max:
        raise RemoteError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the header document is too long: it has {len(document)} bytes, at most"
            f" {limits.header_bytes_max} are read",
        )
    document = _content(document, charset, reads_latin_1=reads_latin_1)
    elements = _check_markup(document, limits)
    parser = XMLParser(encoding="utf-8")  # noqa: S314 - because `_check_markup` went before
    try:
        parser.feed(document)
        root = parser.close()
    except ParseError as error:
        line, column = error.position
        raise RemoteError(
            ErrorCode.OTHER_XML,
            f"the header is not well-formed XML: {str(error).partition(':')[0]} in line {line} of"
            f" what follows its declaration, after {column} characters; expected is a document"
            " that every parser reads",
        ) from error
    _check_tree(root, elements, document.count(b"="), limits)
    return root


def _content(document: bytes, charset: str | None, *, reads_latin_1: bool) -> bytes:
    """The document in UTF-8, without byte order mark and declaration."""
    encoding, document = in_utf_8(document, reads_latin_1=reads_latin_1)
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


def declaration_end(text: bytes) -> int:
    """Where the XML declaration of a document in UTF-8 ends; 0 if it has none."""
    declaration = _DECLARATION.match(text)
    return 0 if declaration is None else declaration.end()


def plain_text(document: bytes) -> bytes:
    """The text of a document that `parse` has read: in UTF-8, without mark and declaration."""
    _, text = in_utf_8(document, reads_latin_1=True)
    return text[declaration_end(text) :]


def in_utf_8(document: bytes, *, reads_latin_1: bool = False) -> tuple[str, bytes]:
    """The encoding of `document`, utf-8 or utf-16, and its text in UTF-8 without byte order mark.

    With `reads_latin_1` also iso-8859-1 or us-ascii, where its declaration says so. Raises
    `RemoteError` (OtherXml) where it is none of them.
    """
    codec = _BOMS_UTF_16.get(document[:2])
    declared = _find_latin_1(document) if reads_latin_1 else None
    try:
        if declared is not None:
            return declared, document.decode(declared).encode()
        if codec is not None:
            return "utf-16", document[2:].decode(codec).encode()
        document = document.removeprefix(_BOM_UTF_8)
        document.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RemoteError(
            ErrorCode.OTHER_XML,
            f"the header is not {error.encoding}: byte {error.start} is none of its characters;"
            " expected is utf-8, or utf-16 with a byte order mark",
        ) from error
    return "utf-8", document


def _find_latin_1(document: bytes) -> str | None:
    """The encoding of one byte for each character that the declaration names."""
    declaration = _DECLARATION.match(document)
    name = b"" if declaration is None else declaration[1] or declaration[2] or b""
    return _LATIN_1.get(_plain(name.decode("ascii")))


def _plain(name: str) -> str:
    return name.lower().translate(_SPELLING)


def _check_encoding(named: str, found: str) -> None:
    if (_ENCODINGS | _LATIN_1).get(_plain(named)) != found:
        raise RemoteError(
            ErrorCode.NOT_SUPPORTED,
            f"the header is in {found} and says {quoted(named)}; expected is the same utf-8 or"
            " utf-16 in the charset parameter, the byte order mark and the XML declaration",
        )


def _check_markup(document: bytes, limits: Limits) -> int:
    """Refuse what can be refused before parsing; returns the number of elements.

    What is counted here is what expat and its tree take more than their share of time and memory
    for: a second for each megabyte, or the memory of the machine (attacks X4 and X5).
    """
    sections = document.count(b"<!")
    _check_number("comments and CDATA sections", sections, limits.elements_max)
    markup = _outside_of_sections(document) if sections else document
    at = markup.find(b"<?")
    if at >= 0:
        raise RemoteError(
            ErrorCode.OTHER_XML,
            f"the header has {quoted(markup[at : at + 20].decode(errors='replace'))}; expected is"
            " no instruction, and at the beginning an XML declaration of version 1.0 at most",
        )
    elements = markup.count(b"<") - markup.count(b"</")
    _check_number("elements", elements, limits.elements_max)
    _check_number("namespace declarations", markup.count(b"xmlns"), limits.namespaces_max)
    _check_namespaces(markup, limits)
    values = limits.attributes_max + limits.namespaces_max
    if markup.count(b"=") > values:
        for tag in markup.split(b"<"):
            _check_number("attributes in one element", _values_of(tag, values + 1), values)
    return elements


def _check_number(what: str, found: int, most: int) -> None:
    if found > most:
        raise RemoteError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the header has too many {what}: {found}, at most {most} are read",
        )


def _check_namespaces(markup: bytes, limits: Limits) -> None:
    """Refuse a name of a namespace that is too long: expat writes it for each name that is in it.

    What looks like a declaration and is text counts too, as it does where they are counted. No byte
    is looked at more than a few times, whatever is in the document.
    """
    equals = 0
    while (at := markup.find(b"xmlns", equals)) >= 0:
        equals = markup.find(b"=", at)
        if equals < 0:
            return
        value = _VALUE_BEGIN.match(markup, equals)
        if value is None:
            continue
        most = value.end() + limits.namespace_bytes_max
        is_long = markup.find(value[1], value.end(), most + 1) < 0
        if is_long and _NO_NAME.search(markup, markup.rfind(b"xmlns", at, equals), equals) is None:
            raise RemoteError(
                ErrorCode.MESSAGE_TOO_LARGE,
                "the name of a namespace is too long: at most"
                f" {limits.namespace_bytes_max} bytes are read",
            )


def _values_of(tag: bytes, most: int) -> int:
    """How many attributes the tag has that these bytes begin with; counts no more than `most`."""
    count = at = 0
    if tag.count(b"=") >= most:
        while count < most and (value := _VALUE_OF_TAG.match(tag, at)) is not None:
            count, at = count + 1, value.end()
    return count


def _outside_of_sections(document: bytes) -> bytes:
    """The document without its comments and CDATA sections, in one pass over the bytes.

    Raises `RemoteError` (OtherXml) for everything else that begins with `<!`, and for a section
    without an end.
    """
    pieces: list[bytes] = []
    at = 0
    while (start := document.find(b"<!", at)) >= 0:
        pieces.append(document[at:start])
        if document.startswith(_COMMENT, start):
            # XML 1.0 §2.5: two hyphens end a comment, so that none is searched twice.
            end = document.find(b"--", start + len(_COMMENT))
            is_whole = end >= 0 and document.startswith(b"-->", end)
        elif document.startswith(_CDATA, start):
            end = document.find(b"]]>", start + len(_CDATA))
            is_whole = end >= 0
        else:
            raise RemoteError(
                ErrorCode.OTHER_XML,
                f"the header has {quoted(document[start : start + 20].decode(errors='replace'))};"
                " expected is a document without DOCTYPE and other declarations",
            )
        if not is_whole:
            raise RemoteError(
                ErrorCode.OTHER_XML,
                "the header is not well-formed XML: a comment or CDATA section has no end, expected"
                " is --> (and no other --) or ]]>",
            )
        at = end + len(b"-->")
    pieces.append(document[at:])
    return b"".join(pieces)


def _check_tree(root: Element, elements: int, equal_signs: int, limits: Limits) -> None:
    """Refuse a tree that is too deep or has too many attributes.

    A document cannot be deeper than its number of elements, or have more attributes than equal
    signs, so the tree of an ordinary one need not be walked.
    """
    if elements <= limits.depth_max and equal_signs <= limits.attributes_max:
        return
    level = [root]
    for _ in range(limits.depth_max):
        if any(len(element.attrib) > limits.attributes_max for element in level):
            raise RemoteError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"an element has too many attributes; at most {limits.attributes_max} are read",
            )
        level = [child for element in level for child in element]
        if not level:
            return
    raise RemoteError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"the header is nested too deeply; at most {limits.depth_max} elements inside each other"
        " are read",
    )


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
