"""What each profile defines for the wire: how its header document is read and written.

Everything around the document (the package, its parts, what is refused as no XML) is the same for
all of them, and so is who asks: `envelope`, which finds the codec in the `registry`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onceonly.message.message import Payload, RoutingHeader, SignedReference
from onceonly.message.profile import Profile
from onceonly.message.signals import SoapFault
from onceonly.message.word import Word
from onceonly.wire import names
from onceonly.wire.document import About, Content, Document, HopChange
from onceonly.wire.limits import Limits
from onceonly.wire.signature import EnvelopeSigning, Signature, UnreadableSignature
from onceonly.wire.xml import Element


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codec:
    """The wire form of one profile; its functions are pure."""

    profile: Profile
    version: str | None
    """The version that a package of this form names; None if its media type alone says the form."""
    versions: re.Pattern[str]
    """Fits every version that is read as this form, from end to end, and none of another form."""
    version_attribute: str
    """How the root of the header document spells its attribute; no other form has that spelling."""
    routing_header_path: tuple[str, ...] | None
    """The elements from the root to a RoutingHeader, each in the namespace of the envelope. A
    RoutingHeader has children, so it is never an empty tag. None: a hop adds no such thing
    (`pass_on`)."""
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
    header_type: str = names.HEADER_TYPE
    """The media type of the header part, and the `type` of a package around it."""
    signal_services: str = names.SERVICE_STEM
    """How the Services of signals begin; no message of an application has such a one."""
    charset: str = "utf-8"
    """How the header part spells the encoding of what we write, which is UTF-8."""
    reads_latin_1: bool = False
    """A header document may be in ISO-8859-1 or US-ASCII, where its declaration says so."""
    stands_alone: bool = False
    """A header document without payloads is a package without a MIME frame."""
    drops_unnamed_parts: bool = False
    """Parts that a Manifest does not name are read and dropped; otherwise the package is refused.
    """
    find_fault: Callable[[Element], SoapFault | None] | None = None
    """The SOAP Fault in a document. None: the form has no faults, and every refusal is told by a
    message. Raises `RemoteError` (OtherXml)."""
    write_fault: Callable[[SoapFault], str] | None = None
    """The document of a SOAP Fault. Raises `LocalError` (InvalidText)."""
    sign: Callable[[str, tuple[Payload, ...], EnvelopeSigning], str] | None = None
    """The document of `write` with a signature over it and these payloads. None: the form has no
    signatures."""
    references_over: Callable[[bytes, tuple[Payload, ...]], tuple[SignedReference, ...]] | None = (
        None
    )
    """What an acknowledgement has to say of a document without a signature, and of its payloads."""
    pass_on: Callable[[bytes, HopChange, Signature | UnreadableSignature | None], bytes] | None = (
        None
    )
    """The document as an intermediary passes it, with its signature at hand. None: a hop adds a
    RoutingHeader. Raises `RemoteError` (NotSupported) for what cannot be changed so."""
    leaf: re.Pattern[str] | None = None
    """Finds the texts of a document that may be another in the next one of its layout
    (`template.leaf_pattern`): all but those by which `read` tells what the document is. Without it
    each document is read the long way."""
    said_twice: frozenset[str] = frozenset()
    """Leaves of which a document may have two that must say the same, by the name of the element
    without its prefix."""
    read_as: Callable[[Word], Mapping[str, Callable[[str], object]]] = lambda _: {}
    """What reads the text of a slot for a field of this word, where this form reads it in another
    way than the others (`template`), or where they do not have the field."""

    @property
    def has_faults(self) -> bool:
        """Whether a refusal that no message can tell is a SOAP Fault."""
        return self.write_fault is not None
