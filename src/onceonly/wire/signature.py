"""The signature of an envelope, as a value: XML-DSig as far as ebMS 2.0 needs it.

Reads ds:Signature without trust: which algorithms it names, what it says to cover, and whether
that is a shape that we accept (`ebms2.md` §9.3). Whatever else XML-DSig allows is refused, and
nothing is evaluated: the XPath filter is recognised. Knows no keys (`proof`).
"""

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.message import Actor, SignedReference
from onceonly.message.printable import quoted
from onceonly.message.word import Word, changed
from onceonly.wire.canonical import (
    Attributes,
    Method,
    View,
    forms_and_scopes,
)
from onceonly.wire.names import CONTENT_ID_SCHEME
from onceonly.wire.soap import NAMESPACE as SOAP
from onceonly.wire.soap import NEXT_ACTOR
from onceonly.wire.xml import WHITE_SPACE, Element, plain_text

NAMESPACE: Final = "http://www.w3.org/2000/09/xmldsig#"
ENVELOPED: Final = f"{NAMESPACE}enveloped-signature"
XPATH: Final = "http://www.w3.org/TR/1999/REC-xpath-19991116"
INCLUSIVE: Final = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
EXCLUSIVE: Final = "http://www.w3.org/2001/10/xml-exc-c14n#"
INCLUSIVE_1_1: Final = "http://www.w3.org/2006/12/xml-c14n11"
SHA1: Final = f"{NAMESPACE}sha1"
SHA256: Final = "http://www.w3.org/2001/04/xmlenc#sha256"
DIGESTS: Final = {
    SHA1: "sha1",
    SHA256: "sha256",
    "http://www.w3.org/2001/04/xmldsig-more#sha384": "sha384",
    "http://www.w3.org/2001/04/xmlenc#sha512": "sha512",
}
"""The digest methods, and their names in hashlib. SHA-1 only where an agreement accepts it."""

_METHODS: Final = {
    INCLUSIVE: Method(),
    f"{INCLUSIVE}#WithComments": Method(with_comments=True),
    INCLUSIVE_1_1: Method(is_1_1=True),
    f"{INCLUSIVE_1_1}#WithComments": Method(is_1_1=True, with_comments=True),
    EXCLUSIVE: Method(is_exclusive=True),
    f"{EXCLUSIVE}WithComments": Method(is_exclusive=True, with_comments=True),
}
REFERENCES_MAX: Final = 100
CERTIFICATES_MAX: Final = 10
"""Most certificates of a KeyInfo that are looked at, as hints."""
VALUE_BYTES_MAX: Final = 2048
"""Longest SignatureValue: RSA of 16,384 bits."""

_TAG: Final = f"{{{NAMESPACE}}}Signature"
SIGNED_INFO_PATH: Final = (
    f"{{{SOAP}}}Envelope",
    f"{{{SOAP}}}Header",
    _TAG,
    f"{{{NAMESPACE}}}SignedInfo",
)
_XPATH_PATH: Final = (
    *SIGNED_INFO_PATH,
    *(f"{{{NAMESPACE}}}{name}" for name in ("Reference", "Transforms", "Transform", "XPath")),
)
_PREFIX_LIST: Final = f"{{{EXCLUSIVE}}}InclusiveNamespaces"

_OBJECT: Final = f"{{{NAMESPACE}}}Object"
_CHILDREN: Final = ("SignedInfo", "SignatureValue", "KeyInfo")
_REQUIRED: Final = 2
"""Of the children; KeyInfo may be missing."""

_HOP_ACTORS: Final = frozenset({Actor.NEXT_MSH.value, NEXT_ACTOR})
_CONDITION: Final = (
    r"ancestor-or-self\s*::\s*node\s*\(\s*\)\s*\[\s*@\s*{prefix}:actor\s*=\s*"
    r"(?P<{quote}>[\"'])(?P<{actor}>[^\"'\s]+)(?P={quote})\s*\]"
)
_FILTER: Final = re.compile(
    r"\s*not\s*\(\s*"
    + _CONDITION.format(prefix=r"(?P<prefix>[^\s:@()\[\]\"']+)", quote="q1", actor="one")
    + r"\s*\|\s*"
    + _CONDITION.format(prefix="(?P=prefix)", quote="q2", actor="other")
    + r"\s*\)\s*",
    re.ASCII,
)
"""The filter of the standard (§4.1.3), with blanks wherever XPath allows them.

Whether its prefix is one, is shown by its being bound to SOAP (`forms_of`)."""


Way = str | tuple[str, Method]
"""How a digest is made: its method alone, or that and the canonical form that it is over."""


class Digest(Word):
    """What one reference says of what it covers."""

    uri: str
    method: str
    value: bytes
    form: Method | None = None
    """Of a payload in XML: the canonical form that was digested. None: its bytes were."""

    @property
    def way(self) -> Way:
        """How it was made."""
        return self.method if self.form is None else (self.method, self.form)


class Signature(Word, kw_only=True):
    """What a ds:Signature says, without trust."""

    canonicalization: Method
    """Of SignedInfo."""
    method: str
    """The algorithm of its value, as a URI."""
    envelope: Digest
    envelope_method: Method
    filter_prefix: str | None
    """What the filter calls the namespace of SOAP; None without a filter."""
    payloads: tuple[Digest, ...]
    """In the order of the document; their `uri` is that of a part, with cid:."""
    value: bytes
    certificates: tuple[bytes, ...]
    """In DER, from KeyInfo: a hint for the choice among those of an agreement, and no more."""

    @property
    def transforms_parts(self) -> bool:
        """Whether a payload was made canonical before it was signed."""
        return any(one.form is not None for one in self.payloads)

    @property
    def uses_sha1(self) -> bool:
        """Whether any part of it rests on SHA-1."""
        digests = (self.envelope, *self.payloads)
        return self.method.endswith("sha1") or any(one.method == SHA1 for one in digests)


class UnreadableSignature(Word):
    """A signature that is not of a shape that we accept. Whether one is wanted, others know."""

    code: ErrorCode
    reason: str
    location: str


class Signer(Word, kw_only=True):
    """Makes the value of a signature, with a key that only whoever made the signer knows."""

    method: str
    """The algorithm, as a URI."""
    certificate: bytes
    """In DER; written into KeyInfo."""
    sign: Callable[[bytes], bytes]


class EnvelopeSigning(Word, kw_only=True):
    """How an envelope of ours is signed."""

    signer: Signer
    is_exclusive: bool = False
    """By the exclusive canonical form."""


class Forms(Word):
    """What a signature is computed over, and the copies that an acknowledgement makes of it."""

    envelope: bytes
    signed_info: bytes
    references: tuple[SignedReference, ...]
    """Each with its text in inclusive canonical form, so that every prefix in it is bound."""


def refused(text: str) -> RemoteError:
    """The signature is not one that we accept."""
    return RemoteError(ErrorCode.SECURITY_FAILURE, text, location="//SOAP:Header/ds:Signature")


# --- Reading ------------------------------------------------------------------------------------


def find_signature(root: Element) -> Signature | UnreadableSignature | None:
    """The signature of the envelope under `root`, readable or not; None if it has none."""
    try:
        return read_signature(root)
    except RemoteError as error:
        return UnreadableSignature(error.code, error.description, error.location)


def read_signature(root: Element) -> Signature | None:
    """The signature of the envelope under `root`; None if it has none.

    Raises `RemoteError` (SecurityFailure): two of them, one in another place than the Header, and
    everything that is not a shape that we accept.
    """
    header = root.find(f"{{{SOAP}}}Header")
    found = list(root.iter(_TAG))
    if not found:
        return None
    if len(found) > 1 or header is None or found[0] not in list(header):
        raise refused(
            f"the envelope has {len(found)} Signatures; expected is one, a child of the Header"
        )
    children = _children(found[0])
    signed_info = children["SignedInfo"]
    parts = list(signed_info)
    if len(parts) < 3 or [one.tag for one in parts[:2]] != [
        f"{{{NAMESPACE}}}CanonicalizationMethod",
        f"{{{NAMESPACE}}}SignatureMethod",
    ]:
        raise refused(
            "SignedInfo is not CanonicalizationMethod, SignatureMethod and then References"
        )
    canonicalization, method, *references = parts
    if len(method) or (method.text or "").strip(WHITE_SPACE):
        raise refused("SignatureMethod has parameters; expected is an algorithm without any")
    digests = _read_references(references)
    envelope, envelope_method, prefix = digests[0]
    return Signature(
        canonicalization=_method_of(canonicalization),
        method=method.get("Algorithm", ""),
        envelope=envelope,
        envelope_method=envelope_method,
        filter_prefix=prefix,
        payloads=tuple(digest for digest, _, _ in digests[1:]),
        value=_base64(children["SignatureValue"], VALUE_BYTES_MAX),
        certificates=_certificates(children.get("KeyInfo")),
    )


def _children(element: Element) -> dict[str, Element]:
    """The children that count, by name; the last may be missing.

    Objects after them are left alone, as properties that some products write there: no Reference
    may name them, so that nothing depends on what they say.
    """
    tags = [one.tag for one in element]
    while tags and tags[-1] == _OBJECT:
        tags.pop()
    wanted = [f"{{{NAMESPACE}}}{name}" for name in _CHILDREN]
    if not _REQUIRED <= len(tags) <= len(wanted) or tags != wanted[: len(tags)]:
        raise refused(f"Signature is not {', '.join(_CHILDREN)} and then Objects, in this order")
    return dict(zip(_CHILDREN, list(element)[: len(tags)], strict=False))


_Read = tuple[Digest, Method, str | None]


def _read_references(elements: Sequence[Element]) -> list[_Read]:
    """All References, that of the envelope first."""
    if len(elements) > REFERENCES_MAX:
        raise refused(f"more than {REFERENCES_MAX} References")
    of_envelope: list[_Read] = []
    of_payloads: list[_Read] = []
    for element in elements:
        if element.tag != f"{{{NAMESPACE}}}Reference":
            raise refused(f"SignedInfo has {quoted(element.tag)} among its References")
        uri = element.get("URI")
        if uri == "":
            of_envelope.append(_read_reference(element))
        elif uri is not None and uri.lower().startswith(CONTENT_ID_SCHEME):
            of_payloads.append(_read_payload(element))
        else:
            raise refused(
                f"a Reference has URI {quoted(str(uri))}; expected is the empty one, or cid:"
            )
    if len(of_envelope) != 1:
        raise refused(f"{len(of_envelope)} References have the empty URI; expected is one")
    if len({digest.uri for digest, _, _ in of_payloads}) < len(of_payloads):
        raise refused("two References have one URI; expected is another for each of them")
    return of_envelope + of_payloads


def _read_digest(element: Element) -> tuple[Element | None, Digest]:
    parts = list(element)
    transforms = None
    if parts and parts[0].tag == f"{{{NAMESPACE}}}Transforms":
        transforms = parts.pop(0)
    if [one.tag for one in parts] != [
        f"{{{NAMESPACE}}}DigestMethod",
        f"{{{NAMESPACE}}}DigestValue",
    ]:
        raise refused("a Reference has not one DigestMethod and one DigestValue")
    method = parts[0].get("Algorithm", "")
    name = DIGESTS.get(method)
    if name is None or len(parts[0]):
        raise refused(f"the digest method is {quoted(method)}; expected is {' or '.join(DIGESTS)}")
    value = _base64(parts[1], 64)
    if len(value) != {"sha1": 20}.get(name, int(name[3:]) // 8):
        raise refused(f"a DigestValue has {len(value)} bytes, which is none of {name}")
    return transforms, Digest(element.get("URI", ""), method, value)


def _read_payload(element: Element) -> _Read:
    transforms, digest = _read_digest(element)
    if transforms is None:
        return digest, Method(), None
    steps = list(transforms)
    form = None
    if len(steps) == 1 and steps[0].tag == f"{{{NAMESPACE}}}Transform":
        form = _METHODS.get(steps[0].get("Algorithm", ""))
    if form is None:
        raise transformed(
            digest.uri, "a digest over its bytes, or over one canonical form of an XML document"
        )
    return changed(digest, form=_method_of(steps[0])), Method(), None


def transformed(uri: str, expected: str) -> RemoteError:
    """A payload was transformed before it was signed, in a way that is not accepted (§9.3)."""
    return RemoteError(
        ErrorCode.NOT_SUPPORTED,
        f"the Reference {quoted(uri)} transforms a payload; expected is {expected}",
        location=uri,
    )


def _read_reference(element: Element) -> _Read:
    """The Reference of the envelope: enveloped, then perhaps the filter, then perhaps a method."""
    transforms, digest = _read_digest(element)
    steps = [] if transforms is None else list(transforms)
    named = [one.get("Algorithm", "") for one in steps]
    tags = {one.tag for one in steps}
    if tags != {f"{{{NAMESPACE}}}Transform"} or named[0] != ENVELOPED or len(steps[0]):
        raise refused("the envelope's first transform is not enveloped-signature")
    del steps[0], named[0]
    prefix = None
    if named and named[0] == XPATH:
        prefix = _filter_prefix(steps[0])
        del steps[0], named[0]
    method = _method_of(steps.pop(0)) if steps else Method()
    if steps:
        raise refused(
            f"the envelope has the transforms {quoted(', '.join(named))} after the filter; expected"
            " is one canonical form at most"
        )
    return digest, method, prefix


def _filter_prefix(transform: Element) -> str:
    """The prefix in the filter, which is recognised and never evaluated."""
    (expression,) = transform if len(transform) == 1 else (None,)
    if expression is None or expression.tag != _XPATH_PATH[-1] or len(expression):
        raise refused("the XPath transform is not one XPath of text")
    text = expression.text or ""
    found = _FILTER.fullmatch(text)
    if found is None or {found["one"], found["other"]} != _HOP_ACTORS:
        raise refused(
            f"the XPath is {quoted(text)}; expected is the filter of ebMS 2.0 §4.1.3, which leaves"
            " out what is for the next MSH"
        )
    return found["prefix"]


def _method_of(element: Element) -> Method:
    algorithm = element.get("Algorithm", "")
    method = _METHODS.get(algorithm)
    if method is None:
        raise refused(
            f"the canonical form is {quoted(algorithm)}; expected is one of"
            f" {INCLUSIVE}, {INCLUSIVE_1_1}, {EXCLUSIVE}"
        )
    lists = list(element)
    if not lists:
        return method
    if not method.is_exclusive or [one.tag for one in lists] != [_PREFIX_LIST]:
        raise refused("the canonical form has parameters that are not known")
    words = lists[0].get("PrefixList", "").split()
    prefixes = frozenset("" if word == "#default" else word for word in words)
    return Method(is_exclusive=True, with_comments=method.with_comments, prefixes=prefixes)


def _base64(element: Element, most: int) -> bytes:
    text = "".join((element.text or "").split())
    try:
        if len(element):
            raise refused(f"{element.tag.rpartition('}')[2]} holds an element")
        value = a2b_base64(text.encode("ascii"), strict_mode=True)
    except (Base64Error, UnicodeEncodeError) as error:
        raise refused(f"{element.tag.rpartition('}')[2]} is not base64") from error
    if not 0 < len(value) <= most:
        raise refused(
            f"{element.tag.rpartition('}')[2]} has {len(value)} bytes; expected are 1 to {most}"
        )
    return value


def _certificates(key_info: Element | None) -> tuple[bytes, ...]:
    """The certificates that KeyInfo has; what cannot be read of it is no hint."""
    found: list[bytes] = []
    elements = [] if key_info is None else key_info.findall(f".//{{{NAMESPACE}}}X509Certificate")
    for element in elements[:CERTIFICATES_MAX]:
        try:
            found.append(_base64(element, 1 << 16))
        except RemoteError:
            continue
    return tuple(found)


# --- What it covers -----------------------------------------------------------------------------


def forms_of(document: bytes, root: Element, signature: Signature) -> Forms:
    """What the signature must fit, from the bytes of the document that `root` was read from.

    Raises `RemoteError`: SecurityFailure if the filter's prefix is not that of SOAP, or comments
    are covered; MessageTooLarge.
    """
    methods = (signature.canonicalization, signature.envelope_method)
    if any(method.with_comments for method in methods) and b"<!--" in plain_text(document):
        raise refused("comments are signed; expected is an envelope without them (§9.3)")
    ((envelope,), (info,), texts), scopes = forms_and_scopes(
        document,
        (
            covered(signature.envelope_method, is_filtered=signature.filter_prefix is not None),
            View(signature.canonicalization, SIGNED_INFO_PATH),
            View(Method(), (*SIGNED_INFO_PATH, f"{{{NAMESPACE}}}Reference")),
        ),
        _XPATH_PATH,
    )
    if signature.filter_prefix is not None:
        (scope,) = scopes
        if scope.get(signature.filter_prefix) != SOAP:
            raise refused(
                f"the filter's prefix {quoted(signature.filter_prefix)} is not bound to SOAP 1.1"
            )
    # By its whole path, since an Object may hold anything.
    elements = root.iterfind("/".join((*SIGNED_INFO_PATH[1:], f"{{{NAMESPACE}}}Reference")))
    references = tuple(
        reference_of(element, text.decode()) for element, text in zip(elements, texts, strict=True)
    )
    return Forms(envelope, info, references)


def reference_of(element: Element, text: str) -> SignedReference:
    """A ds:Reference that was read, as an acknowledgement copies it."""
    _, digest = _read_digest(element)
    value = "".join((element.findtext(f"{{{NAMESPACE}}}DigestValue") or "").split())
    return SignedReference(digest.uri, digest.method, value, text)


def is_evidence(ours: Iterable[SignedReference], theirs: Iterable[SignedReference]) -> bool:
    """Whether an acknowledgement has just the references of the message that we signed (§9.7).

    `ours` are those of the message (`forms_of`). Order and spelling do not count; one that is
    missing, additional or different makes it no evidence, as in the replay of another one (S30).
    Whether the acknowledgement is itself signed is another question.
    """
    return _said(ours) == _said(theirs)


def _said(references: Iterable[SignedReference]) -> set[tuple[str, str, str]]:
    return {(one.uri, one.digest_method, one.digest_value) for one in references}


def covered(method: Method, *, is_filtered: bool) -> View:
    """The envelope without its Signature, and with the filter without what is for the next MSH."""
    return View(method, (), _excludes_hops if is_filtered else _excludes_signature)


def _excludes_signature(tag: str, _attributes: Attributes) -> bool:
    return tag == _TAG


def _excludes_hops(tag: str, attributes: Attributes) -> bool:
    if tag == _TAG:
        return True
    return any(
        uri == SOAP and name == "actor" and value in _HOP_ACTORS
        for uri, name, _, value in attributes
    )
