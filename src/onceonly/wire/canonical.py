"""Canonical XML 1.0 and Exclusive Canonical XML 1.0, for signatures.

Written from the events of expat, without a tree: the same parser that gives the values, so that
what is signed and what is believed cannot be two things. Only what signatures of a message need is
here: whole documents and whole elements, from which whole elements may be left out. Documents have
no DTD (`xml.parse` went before). Canonical XML 1.1 differs only in what it takes over from elements
outside: no xml:id, and xml:base joined, which is refused here.

lxml was rejected for this: its canonical form of an element alone writes `xmlns=""` where there is
none, and takes over no xml:lang (`ebms2.md` §9.1).
"""

from collections.abc import Callable, Sequence
from typing import Final
from xml.parsers import expat

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.word import Word
from onceonly.wire.xml import Element, plain_text

__all__ = ["Element", "Method", "View", "canonical_forms", "forms_and_scopes"]

XML_NAMESPACE: Final = "http://www.w3.org/XML/1998/namespace"
CANONICAL_BYTES_MAX: Final = 8 << 20
"""Most characters of all canonical forms of one document: eight times the longest document. A
signature names what is made canonical, so a sender could ask for much more (attack S32)."""

_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"})
_VALUE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;"}
)

Attributes = Sequence[tuple[str, str, str, str]]
"""Of each attribute: its namespace, its name in it, its name with prefix, its value."""
Excludes = Callable[[str, Attributes], bool]
"""Whether an element with this tag, `{namespace}name`, and these attributes is left out, with
everything in it."""


class Method(Word, kw_only=True):
    """Which canonical form."""

    is_exclusive: bool = False
    with_comments: bool = False
    prefixes: frozenset[str] = frozenset()
    """InclusiveNamespaces/@PrefixList of the exclusive form; the empty string is #default."""
    is_1_1: bool = False


def exclude_nothing(_tag: str, _attributes: Attributes) -> bool:
    """Leaves in every element."""
    return False


class View(Word):
    """What is to be made canonical, and how."""

    method: Method
    path: tuple[str, ...] = ()
    """The tags from the root to the elements that are wanted; empty: the whole document."""
    excludes: Excludes = exclude_nothing


def canonical_forms(document: bytes, views: Sequence[View]) -> list[list[bytes]]:
    """Of each view, the canonical forms of what it shows, in the order of the document.

    `document` was read by `xml.parse`. Raises `RemoteError`: MessageTooLarge past a limit,
    SecurityFailure for what has no canonical form here.
    """
    return forms_and_scopes(document, views, ())[0]


def forms_and_scopes(
    document: bytes, views: Sequence[View], path: Sequence[str]
) -> tuple[list[list[bytes]], list[dict[str, str]]]:
    """The canonical forms, and the namespaces in scope of each element at this path, by prefix.

    In one reading, which is what most of the time is spent on. Raises as `canonical_forms`.
    """
    reader = _Reader(views, path)
    reader.read(plain_text(document))
    return [written.forms() for written in reader.written], reader.scopes


class _Written:
    """One view, and what was written of it."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._method = view.method
        self._forms: list[str] = []
        self._out: list[str] = []
        self._left_out = 0
        """Depth inside of an element that is left out."""
        self._rendered: list[dict[str, str]] = []
        """For each open element that is shown: the namespaces as they are written there."""
        self._scopes: list[dict[str, str]] = []
        """For each of them: those in scope, the same object where it declared none."""
        self._is_document = not view.path

    def forms(self) -> list[bytes]:
        """All forms, once the document was read."""
        found = ["".join(self._out)] if self._is_document else self._forms
        return [form.encode() for form in found]

    def start(self, element: "_Open", path: Sequence[str], inherited: dict[str, str]) -> int:
        """Write a start tag, if it is shown; the number of characters."""
        if self._left_out:
            self._left_out += 1
            return 0
        is_apex = not self._rendered
        if is_apex and self._view.path and (*path,) != self._view.path:
            return 0
        if self._view.excludes(element.tag, element.attributes):
            self._left_out = 1
            return 0
        before = {} if is_apex else self._rendered[-1]
        changes = self._changes(element, before)
        attributes = list(element.attributes)
        if is_apex and not self._method.is_exclusive and self._view.path:
            attributes += self._taken_over(attributes, inherited)
        attributes.sort()
        text = "".join(
            (
                f"<{element.name}",
                *[
                    f' xmlns:{prefix}="{uri.translate(_VALUE)}"'
                    if prefix
                    else f' xmlns="{uri.translate(_VALUE)}"'
                    for prefix, uri in sorted(changes.items())
                ],
                *[f' {name}="{value.translate(_VALUE)}"' for _, _, name, value in attributes],
                ">",
            )
        )
        self._rendered.append({**before, **changes} if changes else before)
        self._scopes.append(element.scope)
        self._out.append(text)
        return len(text)

    def _changes(self, element: "_Open", before: dict[str, str]) -> dict[str, str]:
        """The namespaces that this start tag has to write; never the one of `xml`.

        All that are in scope, or all that are listed, are looked at only where the scope is
        another than around the element: there may be a thousand, and many elements.
        """
        used = set(element.prefixes) if self._method.is_exclusive else set()
        if not self._scopes or element.scope is not self._scopes[-1]:
            listed = self._method.prefixes & (element.scope.keys() | {""})
            used |= listed if self._method.is_exclusive else element.scope.keys()
        return {
            prefix: element.scope.get(prefix, "")
            for prefix in used
            if before.get(prefix, "") != element.scope.get(prefix, "")
        }

    def _taken_over(
        self, attributes: Attributes, inherited: dict[str, str]
    ) -> list[tuple[str, str, str, str]]:
        """The xml: attributes of the elements around, which an apex alone would lose."""
        if not inherited:
            return []
        there = {name for namespace, name, _, _ in attributes if namespace == XML_NAMESPACE}
        taken = {name: value for name, value in inherited.items() if name not in there}
        if self._method.is_1_1:
            taken.pop("id", None)
            if "base" in inherited:
                raise RemoteError(
                    ErrorCode.SECURITY_FAILURE,
                    "Canonical XML 1.1 of an element inside of an xml:base is not offered; expected"
                    " is Canonical XML 1.0",
                )
        return [(XML_NAMESPACE, name, f"xml:{name}", value) for name, value in taken.items()]

    def end(self, name: str) -> int:
        """Write an end tag; the number of characters."""
        if self._left_out:
            self._left_out -= 1
            return 0
        if not self._rendered:
            return 0
        self._rendered.pop()
        self._scopes.pop()
        self._out.append(f"</{name}>")
        if not self._rendered and not self._is_document:
            self._forms.append("".join(self._out))
            self._out.clear()
        return len(name) + 3

    def write(self, text: str) -> int:
        """Write text that is canonical, where it is shown; the number of characters."""
        if self._left_out or not self._rendered:
            return 0
        self._out.append(text)
        return len(text)

    def comment(self, text: str, *, is_after: bool) -> int:
        """Write a comment, if the method has them."""
        if not self._method.with_comments:
            return 0
        if self._rendered:
            return self.write(text)
        if self._is_document:
            # Outside of the root each stands on a line of its own.
            self._out.append(f"\n{text}" if is_after else f"{text}\n")
        return len(text)


class _Open:
    """A start tag with its names resolved."""

    def __init__(self, name: str, pairs: Sequence[str], scope: dict[str, str]) -> None:
        declared: dict[str, str] = {}
        plain: list[tuple[str, str]] = []
        for at in range(0, len(pairs), 2):
            key, value = pairs[at], pairs[at + 1]
            if key == "xmlns":
                declared[""] = value
            elif key.startswith("xmlns:"):
                declared[key[6:]] = value
            else:
                plain.append((key, value))
        declared.pop("xml", None)
        self.name = name
        self.scope = {**scope, **declared} if declared else scope
        prefix, local = _split(name)
        self.prefixes = [] if prefix == "xml" else [prefix]
        uri = self._uri(prefix)
        self.tag = f"{{{uri}}}{local}" if uri else local
        attributes: list[tuple[str, str, str, str]] = []
        for key, value in plain:
            prefix, local = _split(key)
            if prefix and prefix != "xml":
                self.prefixes.append(prefix)
            attributes.append((self._uri(prefix) if prefix else "", local, key, value))
        self.attributes = attributes

    def _uri(self, prefix: str) -> str:
        return XML_NAMESPACE if prefix == "xml" else self.scope.get(prefix, "")


def _split(name: str) -> tuple[str, str]:
    prefix, colon, local = name.partition(":")
    return (prefix, local) if colon else ("", name)


class _Reader:
    """Gives what expat reads to every view."""

    def __init__(self, views: Sequence[View], wanted: Sequence[str]) -> None:
        self.written = [_Written(view) for view in views]
        self.scopes: list[dict[str, str]] = []
        self._wanted = list(wanted)
        self._scopes: list[dict[str, str]] = [{}]
        self._inherited: list[dict[str, str]] = [{}]
        self._path: list[str] = []
        self._characters = 0
        self._is_after = False

    def read(self, text: bytes) -> None:
        """Read the whole document, which is in UTF-8 and has no declaration."""
        parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.CommentHandler = self._comment
        parser.Parse(text, True)  # noqa: FBT003 - because expat takes it by place only

    def _count(self, characters: int) -> None:
        self._characters += characters
        if self._characters > CANONICAL_BYTES_MAX:
            raise RemoteError(
                ErrorCode.MESSAGE_TOO_LARGE,
                "the canonical form of the header is too long; at most"
                f" {CANONICAL_BYTES_MAX} characters are made",
            )

    def _start(self, name: str, pairs: Sequence[str]) -> None:
        element = _Open(name, pairs, self._scopes[-1])
        self._scopes.append(element.scope)
        self._path.append(element.tag)
        if self._path == self._wanted:
            self.scopes.append(element.scope)
        above = self._inherited[-1]
        self._count(sum([one.start(element, self._path, above) for one in self.written]))
        own = {local: value for uri, local, _, value in element.attributes if uri == XML_NAMESPACE}
        self._inherited.append({**above, **own} if own else above)

    def _end(self, name: str) -> None:
        self._scopes.pop()
        self._inherited.pop()
        self._path.pop()
        self._is_after = not self._path
        self._count(sum([one.end(name) for one in self.written]))

    def _text(self, text: str) -> None:
        escaped = text.translate(_TEXT)
        self._count(sum([one.write(escaped) for one in self.written]))

    def _comment(self, text: str) -> None:
        shown = f"<!--{text}-->"
        self._count(sum([one.comment(shown, is_after=self._is_after) for one in self.written]))
