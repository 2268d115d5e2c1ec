"""Fuzzes the SOAP envelope of ebms-2.0, its signature, and the canonical forms.

What is accepted must survive being written and read again, and what is covered by a signature is
compared with libxml2, which makes the canonical form of the same document.
"""

from lxml import etree

from onceonly.message.errors import RemoteError
from onceonly.message.message import Message, RoutingHeader
from onceonly.message.word import changed
from onceonly.wire import ebms2
from onceonly.wire.canonical import Method, View, canonical_forms
from onceonly.wire.document import About, Document, about
from onceonly.wire.limits import DEFAULT
from onceonly.wire.signature import Signature, forms_of
from onceonly.wire.xml import parse, plain_text

_HOP = RoutingHeader(sender_uri="urn:a", receiver_uri="urn:b", error_uri=None, timestamp_at=0)


def read(data: bytes) -> None:
    """A document or a refusal; of every tree whatever can be known of its sender, and its fault."""
    root = parse(data, None, DEFAULT)
    assert isinstance(ebms2.CODEC.salvage(root, DEFAULT), About)
    try:
        document = ebms2.CODEC.read(root, DEFAULT)
    except RemoteError:
        assert ebms2.CODEC.find_fault is not None
        ebms2.CODEC.find_fault(root)
        return
    _check_fixed_point(document)
    if isinstance(document.signature, Signature):
        forms_of(data, root, document.signature)


def _check_fixed_point(document: Document) -> None:
    assert about(document).message_id is not None
    content = document.content
    if isinstance(content, Message):
        # A type that is empty is none, and then the Service has to be a URI.
        content = changed(content, service_type=content.service_type or "string")
    text = ebms2.CODEC.write(content, _HOP)
    again = ebms2.CODEC.read(parse(text.encode(), "utf-8", DEFAULT), DEFAULT)
    assert ebms2.CODEC.write(again.content, _HOP) == text


def canonicalize(data: bytes) -> None:
    """Both canonical forms of a document are those of libxml2."""
    parse(data, None, DEFAULT)
    text = plain_text(data)
    try:
        theirs = etree.ElementTree(etree.fromstring(text, etree.XMLParser(no_network=True)))
    except etree.XMLSyntaxError:
        return  # it is stricter about the URIs of namespaces
    if any("&" in uri for element in theirs.iter() for uri in element.nsmap.values()):
        return  # it does not escape them
    for is_exclusive in (False, True):
        ((ours,),) = canonical_forms(data, (View(Method(is_exclusive=is_exclusive)),))
        try:
            form = etree.tostring(
                theirs, method="c14n", exclusive=is_exclusive, with_comments=False
            )
        except etree.C14NError:
            return  # a namespace is a relative URI
        assert ours == form, "two canonical forms of one document"
