"""What each profile defines for the wire: how its header document is read and written.

Everything around the document (the package, its parts, what is refused as no XML) is the same for
all of them, and so is who asks: `envelope`, which finds the codec in the `registry`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from onceonly.message.message import RoutingHeader
from onceonly.message.profile import Profile
from onceonly.wire.document import About, Content, Document
from onceonly.wire.limits import Limits
from onceonly.wire.xml import Element


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codec:
    """The wire form of one profile; its functions are pure."""

    profile: Profile
    version: str
    """The version that a package of this form names."""
    versions: re.Pattern[str]
    """Fits every version that is read as this form, from end to end, and none of another form."""
    version_attribute: str
    """How the root of the header document spells its attribute; no other form has that spelling."""
    routing_header_path: tuple[str, ...]
    """The elements from the root to a RoutingHeader, each in the namespace of the envelope. A
    RoutingHeader has children, so it is never an empty tag."""
    read: Callable[[Element, Limits], Document]
    """The document under a root that says that it is of this form.

    Raises `RemoteError`: OtherXml for elements out of place, ValueNotRecognized, Inconsistent
    and NotSupported for values, MessageTooLarge past a limit.
    """
    salvage: Callable[[Element, Limits], About]
    """What can be known about the sender of a document that `read` refuses. Never raises."""
    write: Callable[[Content, RoutingHeader], str]
    """The header document of the content on this hop, with CRLF line ends. No line of it begins
    with two hyphens.

    Raises `LocalError`: InvalidText, SemanticsNotOnWire, ReservedService.
    """
    write_routing_header: Callable[[RoutingHeader], str]
    """The RoutingHeader of a hop, as whole lines. Raises `LocalError` (InvalidText)."""
    leaf: re.Pattern[str] | None = None
    """Finds the texts of a document that may be another in the next one of its layout
    (`template.leaf_pattern`): all but those by which `read` tells what the document is. Without it
    each document is read the long way."""
