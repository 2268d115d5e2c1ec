"""A CPA as a tree of plain values, by a parser that resolves nothing.

Knows what is legal in the file (attacks S35 and S39): no DOCTYPE, no processing instruction, and so
no entity; comments and CDATA sections are read across. What elements mean, `reading` knows. Nothing
is fetched: `schemaLocation`, `xlink:href` and XInclude are attributes and elements like others.
"""

from collections.abc import Iterator
from typing import Final
from xml.parsers import expat

from onceonly.message.errors import OnceonlyError
from onceonly.message.printable import quoted
from onceonly.message.word import Word

CPA_NAMESPACE: Final = "http://www.oasis-open.org/committees/ebxml-cppa/schema/cpp-cpa-2_0.xsd"
SIGNATURE_NAMESPACE: Final = "http://www.w3.org/2000/09/xmldsig#"

BYTES_MAX: Final = 4 << 20
"""A real CPA has 10 to 300 KB, most of it certificates."""
ELEMENTS_MAX: Final = 20_000
"""A real one has some hundreds."""
DEPTH_MAX: Final = 64
NAMESPACE_LENGTH_MAX: Final = 256
"""expat writes the name of a namespace again for each name that is in it."""
VALUE_LENGTH_MAX: Final = 255
"""Of a name, an action, an address: as long as an identifier of a message may be."""

_WHITE_SPACE: Final = " \t\r\n"


class CpaError(OnceonlyError):
    """The file cannot be imported. The text says what was seen, where, and what is expected."""


class Node(Word, kw_only=True):
    """One element. Attributes are by their local names; those of the CPA have priority."""

    namespace: str
    name: str
    line: int
    attributes: dict[str, str]
    text: str
    """Its own text, without white space around it."""
    children: tuple["Node", ...]

    def all(self, name: str, namespace: str = CPA_NAMESPACE) -> tuple["Node", ...]:
        """The children of that name."""
        return tuple(
            one for one in self.children if one.name == name and one.namespace == namespace
        )

    def find(self, name: str) -> "Node | None":
        """The child of that name, or None. Raises `CpaError` for a second one."""
        found = self.all(name)
        if len(found) > 1:
            raise CpaError(
                f"line {found[1].line}: a second {name} in {self.name}, expected is one at most"
            )
        return found[0] if found else None

    def get(self, name: str) -> "Node":
        """The child that must be there. Raises `CpaError`."""
        found = self.find(name)
        if found is None:
            raise CpaError(f"line {self.line}: {self.name} has no {name}, which it must have")
        return found

    def value(self, what: str | None = None) -> str:
        """Its text as one that may go into a configuration. Raises `CpaError`."""
        return checked(self.text, what or self.name, self.line)

    def find_attribute(self, name: str) -> str | None:
        """The attribute, or None where it is absent. Raises `CpaError` for an unfit one."""
        given = self.attributes.get(name)
        return None if given is None else checked(given, f"{self.name}/@{name}", self.line)

    def attribute(self, name: str) -> str:
        """The attribute that must be there. Raises `CpaError`."""
        found = self.find_attribute(name)
        if found is None:
            raise CpaError(f"line {self.line}: {self.name} has no {name}, which it must have")
        return found

    def word(self, name: str, legal: tuple[str, ...], default: str) -> str:
        """The attribute as one of the words of the schema. Raises `CpaError`."""
        found = self.find_attribute(name)
        if found is not None and found not in legal:
            raise CpaError(
                f"line {self.line}: {self.name}/@{name} is {quoted(found)}, expected is one of "
                + ", ".join(legal)
            )
        return default if found is None else found

    def walk(self) -> Iterator["Node"]:
        """Itself and everything in it; `DEPTH_MAX` bounds how deep this goes."""
        yield self
        for child in self.children:
            yield from child.walk()


def checked(value: str, what: str, line: int) -> str:
    """The text without outer blanks, if it is one short line of visible characters (S36).

    Raises `CpaError` that names the place.
    """
    value = value.strip(_WHITE_SPACE)
    if not value:
        raise CpaError(f"line {line}: {what} is empty")
    if len(value) > VALUE_LENGTH_MAX:
        raise CpaError(
            f"line {line}: {what} has {len(value)} characters, at most {VALUE_LENGTH_MAX} are read"
        )
    if not value.isprintable():
        raise CpaError(
            f"line {line}: {what} is {quoted(value)}, with a line end or a character that nobody "
            "sees in it; expected is one line of text"
        )
    return value


class _Open:
    """An element whose end has not come."""

    def __init__(self, name: str, line: int, attributes: dict[str, str]) -> None:
        self.namespace, _, self.name = name.rpartition(" ")
        self.line = line
        self.attributes = attributes
        self.texts: list[str] = []
        self.children: list[Node] = []

    def close(self) -> Node:
        return Node(
            namespace=self.namespace,
            name=self.name,
            line=self.line,
            attributes=self.attributes,
            text="".join(self.texts).strip(_WHITE_SPACE),
            children=tuple(self.children),
        )


class _Reader:
    """Builds the tree from expat's events, and stops at the first that is not allowed."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartNamespaceDeclHandler = self._namespace
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.ProcessingInstructionHandler = self._instruction
        self._open: list[_Open] = []
        self._elements = 0
        self._root: Node | None = None

    def read(self, document: bytes) -> Node:
        try:
            self._parser.Parse(document, True)  # noqa: FBT003 - because expat takes it by place
        except expat.ExpatError as error:
            raise CpaError(
                f"line {error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}"
            ) from error
        except (LookupError, ValueError) as error:
            raise CpaError(
                f"the encoding that the file declares cannot be read ({error}); expected is utf-8 "
                "or utf-16"
            ) from error
        assert self._root is not None
        return self._root

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        self._elements += 1
        if self._elements > ELEMENTS_MAX:
            raise CpaError(f"line {line}: more than {ELEMENTS_MAX} elements; no more are read")
        if len(self._open) >= DEPTH_MAX:
            raise CpaError(
                f"line {line}: more than {DEPTH_MAX} elements inside each other; no more are read"
            )
        self._open.append(_Open(name, line, _without_namespaces(attributes)))

    def _end(self, _name: str) -> None:
        node = self._open.pop().close()
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._root = node

    def _text(self, text: str) -> None:
        self._open[-1].texts.append(text)

    def _namespace(self, _prefix: str | None, uri: str | None) -> None:
        if len(uri or "") > NAMESPACE_LENGTH_MAX:
            raise CpaError(
                f"line {self._parser.CurrentLineNumber}: the name of a namespace has"
                f" {len(uri or '')} characters; at most {NAMESPACE_LENGTH_MAX} are read"
            )

    def _doctype(self, *_declared: object) -> None:
        raise CpaError(
            f"line {self._parser.CurrentLineNumber}: a DOCTYPE, which is never read; expected is a "
            "document without one"
        )

    def _instruction(self, target: str, _text: str) -> None:
        raise CpaError(
            f"line {self._parser.CurrentLineNumber}: the processing instruction {quoted(target)}, "
            "expected is a document without instructions"
        )


def _without_namespaces(given: dict[str, str]) -> dict[str, str]:
    """By local name: the CPA's own attributes have priority, then plain ones, then all others."""
    found: dict[str, str] = {}
    for name, value in given.items():
        namespace, _, local = name.rpartition(" ")
        if namespace == CPA_NAMESPACE:
            found[local] = value
    for name, value in given.items():
        namespace, _, local = name.rpartition(" ")
        if namespace != CPA_NAMESPACE:
            found.setdefault(local if not namespace else name, value)
    return found


def read_document(document: bytes) -> Node:
    """The root of a CPA. Raises `CpaError`."""
    if len(document) > BYTES_MAX:
        raise CpaError(f"it has {len(document)} bytes, at most {BYTES_MAX} are read")
    root = _Reader().read(document)
    if root.name != "CollaborationProtocolAgreement" or root.namespace != CPA_NAMESPACE:
        where = f"of the namespace {quoted(root.namespace)}" if root.namespace else "of none"
        raise CpaError(
            f"it is a {quoted(root.name)} {where}; expected is a CollaborationProtocolAgreement of "
            f"CPA 2.0, whose namespace is {CPA_NAMESPACE}"
        )
    return root
