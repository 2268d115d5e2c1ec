"""The structure of a header document: which children an element has, in which order, how often.

Reading is strict about what a profile uses (place, order, count) and skips what it does not know
(`wire.md` A12), but an element that bears one of the profile's names in the wrong place or
namespace is refused rather than skipped: another reader of the same bytes might take it for the
real one (attack X12). Must not know what the elements mean.
"""

from collections.abc import Mapping

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.wire import names
from onceonly.wire.xml import WHITE_SPACE, Element

Children = tuple[tuple[str, ...], ...]
"""Names in their order; the alternatives of one place stand together, the first one naming it."""


class Order:
    """The children of one kind of element; `reserved` has every name of the profile."""

    def __init__(self, parent: str, children: Children, reserved: frozenset[str]) -> None:
        self.parent = parent
        self.places = {
            f"{{{names.NAMESPACE}}}{name}": (place, alternatives[0])
            for place, alternatives in enumerate(children)
            for name in alternatives
        }
        self.reserved = reserved


def orders_of(tables: Mapping[str, Children]) -> dict[str, Order]:
    """The order of every element of a profile, by the element's name."""
    reserved = frozenset(
        name for children in tables.values() for alternatives in children for name in alternatives
    ) | {names.ROOT}
    return {parent: Order(parent, children, reserved) for parent, children in tables.items()}


def misshapen(description: str) -> RemoteError:
    """The document is not what the profile prescribes."""
    return RemoteError(ErrorCode.OTHER_XML, description)


def unrecognized(description: str) -> RemoteError:
    """A value is outside its grammar."""
    return RemoteError(ErrorCode.VALUE_NOT_RECOGNIZED, description)


def known_children(element: Element, order: Order) -> list[tuple[str, Element]]:
    """The children that we know, by name. Refuses text beside them, and a wrong order."""
    text = element.text
    if text is not None and text.strip(WHITE_SPACE):
        raise misshapen(f"{order.parent} holds text")
    places, last = order.places, 0
    found = []
    for child in element:
        known = places.get(child.tag)
        if known is not None:
            place, name = known
            if place < last:
                raise misshapen(f"the elements of {order.parent} are out of order")
            last = place
            found.append((name, child))
        elif child.tag.rpartition("}")[2] in order.reserved:
            raise misshapen(f"{order.parent} holds an element that belongs elsewhere")
        tail = child.tail
        if tail is not None and tail.strip(WHITE_SPACE):
            raise misshapen(f"{order.parent} holds text")
    return found


def once(element: Element, order: Order) -> dict[str, Element]:
    """The known children of `element`, each at most once: never first wins (attack X12)."""
    found: dict[str, Element] = {}
    for name, child in known_children(element, order):
        if name in found:
            raise misshapen(f"{name} twice in {order.parent}")
        found[name] = child
    return found


def several(element: Element, order: Order, most: int) -> list[Element]:
    """The known children of an `element` that holds one or more of one kind."""
    found = [child for _, child in known_children(element, order)]
    if not found:
        raise misshapen(f"{order.parent} is empty")
    if len(found) > most:
        raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, f"{order.parent} holds too much")
    return found


def get(found: Mapping[str, Element], name: str) -> Element:
    """The child of that name. Raises `RemoteError` (OtherXml) where it is missing."""
    element = found.get(name)
    if element is None:
        raise misshapen(f"{name} is missing")
    return element


def text_of(element: Element, name: str) -> str:
    """The text of a leaf, as it stands there."""
    if len(element):
        raise misshapen(f"{name} holds elements")
    return element.text or ""


def get_text(found: Mapping[str, Element], name: str) -> str:
    """The text of the child of that name, which must be there."""
    return text_of(get(found, name), name)


def find_text(found: Mapping[str, Element], name: str) -> str | None:
    """The text of the child of that name, or None."""
    element = found.get(name)
    return None if element is None else text_of(element, name)


def get_trimmed(found: Mapping[str, Element], name: str) -> str:
    """Text of a URI, time or number: white space around it is ignored (S0-59)."""
    return get_text(found, name).strip(WHITE_SPACE)


def only(element: Element | None, name: str) -> Element | None:
    """The child of that name, where there is exactly one, in a document that was refused."""
    if element is None:
        return None
    found = element.findall(f"{{{names.NAMESPACE}}}{name}")
    return found[0] if len(found) == 1 else None
