"""What a package proves: the document in it, what that signs, and what an acknowledgement copies.

Knows packages of a profile with signatures, those that we made and those that were read. Does not
know who must have signed.
"""

from base64 import b64encode
from hashlib import sha256
from typing import Final

from onceonly.message.errors import RemoteError
from onceonly.message.message import AcknowledgmentElement, Message, Payload, SignedReference
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment
from onceonly.message.word import Word
from onceonly.wire.document import Content, Envelope
from onceonly.wire.limits import DEFAULT
from onceonly.wire.package_type import read_package_type
from onceonly.wire.proof import check_value, digest_of
from onceonly.wire.registry import codec_of
from onceonly.wire.signature import Forms, Signature, forms_of, read_signature
from onceonly.wire.xml import Element, parse

_HEAD_END: Final = b"\r\n\r\n"


def forms_in(envelope: Envelope, signature: Signature) -> Forms:
    """What the signature of a package that was read must fit. Raises `RemoteError`."""
    root = envelope.root
    if root is None:
        root = parse(envelope.header, None, DEFAULT, reads_latin_1=True)
    return forms_of(envelope.header, root, signature)


def document_of(package: Package) -> bytes:
    """The header document of a package that we made: all that its signature stands in."""
    boundary, *_ = read_package_type(package.content_type, DEFAULT)
    first = package.segments[0]
    if boundary is None:
        return first
    begin = first.index(_HEAD_END) + len(_HEAD_END)
    return first[begin : first.index(f"\r\n--{boundary}".encode(), begin)]


def references_of(
    document: bytes, payloads: tuple[Payload, ...], profile: Profile
) -> tuple[SignedReference, ...]:
    """What a signed acknowledgement of this document has to hold (§9.7).

    The References of its signature; without one those that the receiver computes over the same
    things. Raises `RemoteError` for a document that is not ours.
    """
    return said_by(document, payloads, profile).references


class Said(Word, kw_only=True):
    """A document of ours, and what proves that somebody has it."""

    document: bytes
    references: tuple[SignedReference, ...]
    """As `references_of` has them."""
    signer: str | None
    """Fingerprint of the certificate in its signature; None without a signature, or without one in
    it."""


def said_by(document: bytes, payloads: tuple[Payload, ...], profile: Profile) -> Said:
    """All that evidence needs of a document, read once. Raises `RemoteError` as `references_of`."""
    signature = read_signature(parse(document, None, DEFAULT, reads_latin_1=True))
    if signature is None:
        found = references_over(document, payloads, profile)
        return Said(document=document, references=found, signer=None)
    # Ours has one; a capture of others may be read here too (`package explain --of`).
    certificate = next(iter(signature.certificates), None)
    signer = None if certificate is None else sha256(certificate).hexdigest()
    return Said(document=document, references=_references_in(signature), signer=signer)


def _references_in(signature: Signature) -> tuple[SignedReference, ...]:
    return tuple(
        SignedReference(one.uri, one.method, b64encode(one.value).decode())
        for one in (signature.envelope, *signature.payloads)
    )


def references_over(
    document: bytes, payloads: tuple[Payload, ...], profile: Profile
) -> tuple[SignedReference, ...]:
    """The References of a document without a signature, as its receiver computes them."""
    compute = codec_of(profile).references_over
    assert compute is not None, "the profile has signatures"
    return compute(document, payloads)


class Examined(Word, kw_only=True):
    """What a kept envelope says of itself, found from its bytes and nothing else."""

    certificate: bytes | None
    """That of its signature, in DER; None without one."""
    method: str
    """The algorithm of the value, as a URI; empty without a signature."""
    references: tuple[SignedReference, ...]
    """Without the texts; those of the signature."""
    acknowledged: str
    """The MessageId that its Acknowledgment names; empty without one."""
    copied: tuple[SignedReference, ...]
    """The References in its Acknowledgment."""
    trouble: str | None
    """Why the signature does not stand over the envelope, if it does not."""


def examine(document: bytes) -> Examined:
    """Verify an envelope with the certificate in it; whose that is, the reader compares.

    Payloads are not at hand: their digests are in the references. Raises `RemoteError` for a
    document that is no envelope.
    """
    root = parse(document, None, DEFAULT, reads_latin_1=True)
    content = codec_of(Profile.EBMS_2_0).read(root, DEFAULT).content
    element = content.element if isinstance(content, Acknowledgment) else None
    if isinstance(content, Message):
        element = content.acknowledgment
    signature = read_signature(root)
    certificate, trouble = None, "there is no signature"
    found: tuple[SignedReference, ...] = ()
    if signature is not None:
        certificate = next(iter(signature.certificates), None)
        found = _references_in(signature)
        trouble = _trouble_with(document, root, signature, certificate) or ""
    return Examined(
        certificate=certificate,
        method="" if signature is None else signature.method,
        references=found,
        acknowledged=_acknowledged_by(content, element),
        copied=() if element is None else element.references,
        trouble=trouble or None,
    )


def _acknowledged_by(content: Content, element: AcknowledgmentElement | None) -> str:
    if element is None:
        return ""
    header = content if isinstance(content, Message) else content.header
    return element.ref_to_message_id or header.ref_to_message_id or ""


def _trouble_with(
    document: bytes, root: Element, signature: Signature, certificate: bytes | None
) -> str | None:
    if certificate is None:
        return "the signature has no certificate"
    try:
        forms = forms_of(document, root, signature)
        if digest_of(signature.envelope.method, forms.envelope) != signature.envelope.value:
            return "the digest of the envelope is another"
        check_value(certificate, signature, forms.signed_info)
    except RemoteError as error:
        return error.description
    return None
