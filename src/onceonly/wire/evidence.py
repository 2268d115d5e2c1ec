"""What a package proves: the document in it, what that signs, and what an acknowledgement copies.

Knows packages of a profile with signatures, those that we made and those that were read. Knows no
keys (`proof`), and not who must have signed.
"""

from base64 import b64encode
from hashlib import sha256
from typing import Final

from onceonly.message.message import Payload, SignedReference
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.wire.document import Envelope
from onceonly.wire.limits import DEFAULT
from onceonly.wire.package_type import read_package_type
from onceonly.wire.registry import codec_of
from onceonly.wire.signature import Forms, Signature, forms_of, read_signature
from onceonly.wire.xml import parse

_HEAD_END: Final = b"\r\n\r\n"


def forms_in(envelope: Envelope, signature: Signature) -> Forms:
    """What the signature of a package that was read must fit. Raises `RemoteError`."""
    root = envelope.root
    if root is None:
        root = parse(envelope.header, None, DEFAULT)
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
    signature = read_signature(parse(document, None, DEFAULT))
    if signature is None:
        return references_over(document, payloads, profile)
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


def find_signer_of(document: bytes) -> str | None:
    """Fingerprint of the certificate in the signature of a document of ours; None without one."""
    signature = read_signature(parse(document, None, DEFAULT))
    return None if signature is None else sha256(signature.certificates[0]).hexdigest()
