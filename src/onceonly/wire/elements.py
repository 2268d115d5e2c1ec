"""The structure of a header document: which children an element has, in which order, how often.

Reading is strict about elements that a profile uses (place, order, count) and skips unknown ones
(`wire.md` A12). But an element with one of the profile's names in the wrong place or namespace is
refused and not skipped: another reader of the same bytes might take it for the real one (attack
X12). White space around a value is not a part of it and is cut here, once, so that the cut value is
stored and compared (S0-59, ruling R-42). Must not know what the elements mean.
"""

from collections.abc import Mapping

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.printable import quoted
from onceonly.wire import names
from onceonly.wire.xml import WHITE_SPACE, Element

Children = tuple[tuple[str, ...], ...]
"""Names in their order; the alternatives of one place are together, the first one names it."""


class Order:
    """The children of one kind of element, all of them in one namespace.

    `reserved` has every name of the profile, which is refused in any other namespace too. None:
    only the namespace is reserved, and other ones may have elements of any name.
    """

    def __init__(
        self,
        parent: str,
        children: Children,
        reserved: frozenset[str] | None,
        namespace: str = names.NAMESPACE,
    ) -> None:
        self.parent = parent
        self.in_words = ", ".join(alternatives[0] for alternatives in children) or "no element"
        self.namespace = namespace
        self.places = {
            f"{{{namespace}}}{name}": (place, alternatives[0])
            for place, alternatives in enumerate(children)
            for name in alternatives
        }
        self._reserved = reserved

    def reserves(self, tag: str) -> bool:
        """Whether an element that has no place here must not be skipped."""
        if self._reserved is None:
            return tag.startswith(f"{{{self.namespace}}}")
        return tag.rpartition("}")[2] in self._reserved


def orders_of(tables: Mapping[str, Children]) -> dict[str, Order]:
    """The order of every element of a profile before SOAP, by the element's name."""
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
    """The known children, by name. Refuses text between them, and a wrong order."""
    _refuse_text(element.text, order)
    places, last = order.places, 0
    found: list[tuple[str, Element]] = []
    for child in element:
        known = places.get(child.tag)
        if known is not None:
            place, name = known
            if place < last:
                raise misshapen(
                    f"the elements of {order.parent} are out of order: {name} comes after"
                    f" {found[-1][0]}; expected is {order.in_words}"
                )
            last = place
            found.append((name, child))
        elif order.reserves(child.tag):
            raise _misplaced(child.tag, order)
        _refuse_text(child.tail, order)
    return found


def _refuse_text(text: str | None, order: Order) -> None:
    if text is not None and text.strip(WHITE_SPACE):
        raise misshapen(
            f"{order.parent} holds the text {quoted(text.strip(WHITE_SPACE))}; expected is"
            f" {order.in_words}"
        )


def _misplaced(tag: str, order: Order) -> RemoteError:
    namespace, _, name = tag.removeprefix("{").rpartition("}")
    where = f"in namespace {quoted(namespace)}" if namespace else "in no namespace"
    if namespace == order.namespace:
        where = "that belongs elsewhere"
    return misshapen(
        f"{order.parent} holds an element {name} {where}; expected there is {order.in_words}, all"
        f" in namespace {order.namespace}"
    )


def once(element: Element, order: Order) -> dict[str, Element]:
    """The known children of `element`; refuses a repeated one (attack X12)."""
    found: dict[str, Element] = {}
    for name, child in known_children(element, order):
        if name in found:
            raise misshapen(f"{name} twice in {order.parent}; expected is one at most")
        found[name] = child
    return found


def several(element: Element, order: Order, most: int) -> list[Element]:
    """The known children of an `element` that holds one or more of one kind."""
    found = [child for _, child in known_children(element, order)]
    if not found:
        raise misshapen(f"{order.parent} is empty; expected is one {order.in_words} at least")
    if len(found) > most:
        raise RemoteError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"{order.parent} holds too many of {order.in_words}: {len(found)}, at most {most} are"
            " read",
        )
    return found


def get(found: Mapping[str, Element], name: str) -> Element:
    """The child of that name. Raises `RemoteError` (OtherXml) if it is missing."""
    element = found.get(name)
    if element is None:
        there = ", ".join(found) or "none of those that belong there"
        raise misshapen(f"the element {name} is missing; expected is one beside {there}")
    return element


def text_of(element: Element, name: str) -> str:
    """The text of a leaf without the white space around it."""
    if len(element):
        raise misshapen(f"{name} holds an element; expected is text alone")
    return (element.text or "").strip(WHITE_SPACE)


def get_text(found: Mapping[str, Element], name: str) -> str:
    """The text of the child of that name, which must be there."""
    return text_of(get(found, name), name)


def find_text(found: Mapping[str, Element], name: str) -> str | None:
    """The text of the child of that name, or None."""
    element = found.get(name)
    return None if element is None else text_of(element, name)


def find_attribute(element: Element, name: str) -> str | None:
    """The value of the attribute without the white space around it, or None if it is absent."""
    value = element.get(name)
    return None if value is None else value.strip(WHITE_SPACE)


def only(element: Element | None, name: str) -> Element | None:
    """The child of that name in a refused document, if there is exactly one, else None."""
    if element is None:
        return None
    found = element.findall(f"{{{names.NAMESPACE}}}{name}")
    return found[0] if len(found) == 1 else None
