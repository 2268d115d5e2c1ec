"""The Manifest of `ebms-2.0`: which payloads there are, and what is said of them (`wire.md` B3)."""

from typing import Final

from onceonly.message.identity import checked_text, printable
from onceonly.message.message import SchemaLocation
from onceonly.wire.document import Reference
from onceonly.wire.ebms2 import names as own
from onceonly.wire.ebms2.header import ORDERS, children_of, description_of, located
from onceonly.wire.elements import find_attribute, known_children, misshapen, several
from onceonly.wire.fields import checked_document_id
from onceonly.wire.limits import Limits
from onceonly.wire.xml import Element

TEXT_LENGTH_MAX: Final = 1024
"""Longest id, role or schema location that is kept. They have no effect, so a longer one is cut."""
SCHEMAS_MAX: Final = 16
"""Most schemas of one payload that are kept."""


def read_manifest(
    element: Element | None, limits: Limits
) -> tuple[dict[str, str], dict[str, Reference]]:
    """Label and Reference by content id, both empty without a Manifest.

    Raises `RemoteError`: MimeProblem for what is no part of this package, OtherXml.
    """
    labels: dict[str, str] = {}
    references: dict[str, Reference] = {}
    if element is None:
        return labels, references
    with located("//SOAP:Body/eb:Manifest"):
        for reference in several(element, ORDERS["Manifest"], limits.parts_max):
            href = find_attribute(reference, own.HREF) or ""
            with located(href):
                content_id = checked_document_id(href, labels)
            labels[content_id] = checked_text(
                find_attribute(reference, own.TITLE) or "", "xlink:title"
            )
            references[content_id] = _read_reference(reference)
    return labels, references


def _read_reference(element: Element) -> Reference:
    children = known_children(element, ORDERS["Reference"])
    schemas = [child for name, child in children if name == "Schema"]
    found = children_of(element, ORDERS["Reference"], frozenset({"Schema", "Description"}))
    return Reference(
        reference_id=_text(element, own.own("id")),
        role=_text(element, own.ROLE),
        description=description_of(found),
        schemas=tuple(map(_read_schema, schemas[:SCHEMAS_MAX])),
    )


def _read_schema(element: Element) -> SchemaLocation:
    location = _text(element, own.own("location"))
    if not location:
        raise misshapen("a Schema has no eb:location; expected is the address of a schema")
    return SchemaLocation(location, _text(element, own.own("version")))


def _text(element: Element, attribute: str) -> str:
    return printable(find_attribute(element, attribute) or "", TEXT_LENGTH_MAX).strip()
