"""Fuzzes the reader of signatures, the recogniser of their filter, and SignedInfo in its place.

The recogniser never evaluates an XPath. So what it takes for the filter of ebMS 2.0 is evaluated by
libxml2 here, and must leave out just the elements that it says. The canonical form of SignedInfo is
judged by libxmlsec, where that is installed: what it signs must verify over our bytes.
"""

import hashlib
from base64 import b64decode
from functools import cache
from importlib.util import find_spec
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from lxml import etree

from onceonly.wire.canonical import Method, View, canonical_forms
from onceonly.wire.limits import DEFAULT
from onceonly.wire.signature import NAMESPACE, SIGNED_INFO_PATH, Signature, find_signature, forms_of
from onceonly.wire.xml import parse

_SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
_NEXT_MSH = "urn:oasis:names:tc:ebxml-msg:actor:nextMSH"
_NEXT = "http://schemas.xmlsoap.org/soap/actor/next"
_ENVELOPE = (
    f'<S:Envelope xmlns:S="{_SOAP}" xmlns:ds="{NAMESPACE}"><S:Header><a S:actor="{_NEXT}">1</a>'
    f'<b S:actor="{_NEXT_MSH}"><c/></b>2<d S:actor="urn:x"/><e actor="{_NEXT}"/>'
).encode()
_REST = b"</S:Header><S:Body>3</S:Body></S:Envelope>"


def read(data: bytes) -> None:
    """A Signature in the Header of an envelope: a value, or a reason; its forms are libxml2's."""
    document = _ENVELOPE + data + _REST
    root = parse(document, None, DEFAULT)
    signature = find_signature(root)
    if not isinstance(signature, Signature):
        return
    forms = forms_of(document, root, signature)
    assert forms.signed_info.startswith(b"<")
    if signature.envelope_method == Method():
        assert forms.envelope == _filtered(document, signature), "two readers of one filter"


def _filtered(document: bytes, signature: Signature) -> bytes:
    """The envelope as libxml2 leaves it, with the transforms taken by their word."""
    tree = etree.fromstring(document)
    (envelope,) = tree.iter(f"{{{NAMESPACE}}}Signature")
    kept = set(tree.iter())
    if signature.filter_prefix is not None:
        expression = next(tree.iter(f"{{{NAMESPACE}}}XPath"))
        scope = {prefix: uri for prefix, uri in expression.nsmap.items() if prefix}
        kept = {one for one in kept if one.xpath(expression.text or "", namespaces=scope)}
    for element in [*tree.iter()]:
        if element not in kept or element is envelope:
            _take_out(element)
    return etree.tostring(tree, method="c14n", with_comments=False)


def _take_out(element: Any) -> None:
    """Remove the element alone; the text after it stays."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    if before is None:
        parent.text = (parent.text or "") + (element.tail or "")
    else:
        before.tail = (before.tail or "") + (element.tail or "")
    parent.remove(element)


# --- SignedInfo, beside libxmlsec ----------------------------------------------------------------

_FORM = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
_TEMPLATE = (
    b'<S:Envelope xmlns:S="%b"%%b><S:Header%%b>%%b<ds:Signature xmlns:ds="%b"%%b>'
    b'<ds:SignedInfo%%b><ds:CanonicalizationMethod Algorithm="%b"/><ds:SignatureMethod'
    b' Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/><ds:Reference URI="">'
    b"<ds:Transforms><ds:Transform"
    b' Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/></ds:Transforms>'
    b'<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><ds:DigestValue/>'
    b"</ds:Reference></ds:SignedInfo><ds:SignatureValue/></ds:Signature></S:Header>"
    b"<S:Body>%%b</S:Body></S:Envelope>"
) % (_SOAP.encode(), NAMESPACE.encode(), _FORM.encode())
_PLACES = _TEMPLATE.count(b"%b")


def sign(data: bytes) -> None:
    """What libxmlsec signs and digests is what we make of the same document."""
    if find_spec("xmlsec") is None:
        return
    import xmlsec  # noqa: PLC0415 - because it is not installed everywhere

    pieces = (data.split(b"\0") + [b""] * _PLACES)[:_PLACES]
    document = _TEMPLATE % tuple(
        piece if place in (2, 5) else b" " + piece for place, piece in enumerate(pieces)
    )
    parse(document, None, DEFAULT)
    if document.count(b"Signature ") != 1:
        return
    try:
        tree = etree.fromstring(document)
        context = xmlsec.SignatureContext()
        context.key = _their_key()
        context.sign(next(tree.iter(f"{{{NAMESPACE}}}Signature")))
    except (etree.XMLSyntaxError, xmlsec.Error):
        return  # libxml2 is stricter about the URIs of namespaces
    _compare(etree.tostring(tree))


def _compare(signed: bytes) -> None:
    views = (View(Method(), SIGNED_INFO_PATH), View(Method(), (), _is_signature))
    (info,), (envelope,) = canonical_forms(signed, views)
    tree = etree.fromstring(signed)
    value, digest = (
        b64decode(tree.findtext(f".//{{{NAMESPACE}}}{name}") or "")
        for name in ("SignatureValue", "DigestValue")
    )
    assert hashlib.sha256(envelope).digest() == digest, "two canonical forms of an envelope"
    try:
        _key().public_key().verify(value, info, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        raise AssertionError("two canonical forms of SignedInfo") from None


def _is_signature(tag: str, _attributes: object) -> bool:
    return tag == f"{{{NAMESPACE}}}Signature"


@cache
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def _their_key() -> Any:
    import xmlsec  # noqa: PLC0415 - because it is not installed everywhere

    pem = _key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return xmlsec.Key.from_memory(pem, xmlsec.constants.KeyDataFormatPem)
