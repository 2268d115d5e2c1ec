"""Signing and verifying with keys: RSA and ECDSA by `cryptography`.

The only file of the wire that holds a key. Whether a certificate is one of an agreement, and was
valid, is decided by whoever calls; certificates that travel with a message are never trusted.
"""

from collections.abc import Collection, Mapping
from hashlib import new
from hmac import compare_digest
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.serialization import Encoding

from onceonly.message.errors import LocalError
from onceonly.message.printable import quoted
from onceonly.wire.mime import content_ids_of
from onceonly.wire.names import CONTENT_ID_SCHEME
from onceonly.wire.signature import (
    DIGESTS,
    NAMESPACE,
    Digest,
    Forms,
    Signature,
    Signer,
    Way,
    refused,
)

RSA_BITS_MIN: Final = 2048
RSA_BITS_MAX: Final = 8192
"""A longer key costs milliseconds for each verification, and nobody has one (attack S26)."""
RSA_EXPONENT_MIN: Final = 3
_CURVES: Final = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
_MORE: Final = "http://www.w3.org/2001/04/xmldsig-more#"

_HASHES: Final[Mapping[str, hashes.HashAlgorithm]] = {
    "sha1": hashes.SHA1(),  # noqa: S303 - because an agreement may accept it, and only then
    "sha256": hashes.SHA256(),
    "sha384": hashes.SHA384(),
    "sha512": hashes.SHA512(),
}
RSA_SHA1: Final = f"{NAMESPACE}rsa-sha1"
RSA: Final = {
    RSA_SHA1: "sha1",
    **{f"{_MORE}rsa-{name}": name for name in ("sha256", "sha384", "sha512")},
}
ECDSA: Final = {f"{_MORE}ecdsa-{name}": name for name in ("sha256", "sha384", "sha512")}

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey


def signer_of(key: PrivateKey, certificate: x509.Certificate, method: str) -> Signer:
    """A signer with this key. Its method is one of `RSA` or `ECDSA`.

    Raises `LocalError` (KeyDoesNotFit): the key is of another kind than the method, too weak, or
    not that of the certificate.
    """
    trouble = _trouble_with(key.public_key(), method)
    if trouble is None and certificate.public_key() != key.public_key():
        trouble = "the key is not that of the certificate; expected are two that belong together"
    if trouble is not None:
        raise LocalError("KeyDoesNotFit", trouble)
    der = certificate.public_bytes(Encoding.DER)
    if isinstance(key, rsa.RSAPrivateKey):
        hash_ = _HASHES[RSA[method]]
        return Signer(
            method=method,
            certificate=der,
            sign=lambda data: key.sign(data, padding.PKCS1v15(), hash_),
        )
    algorithm = ec.ECDSA(_HASHES[ECDSA[method]])
    size = (key.curve.key_size + 7) // 8
    return Signer(
        method=method,
        certificate=der,
        sign=lambda data: _as_pair(key.sign(data, algorithm), size),
    )


def _as_pair(signature: bytes, size: int) -> bytes:
    """R and s side by side, as XML-DSig has them."""
    r, s = decode_dss_signature(signature)
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def _trouble_with(key: object, method: str) -> str | None:
    """Why a key cannot be used with a method, if it cannot."""
    if method in RSA:
        if not isinstance(key, rsa.RSAPublicKey):
            return f"{method} needs a key of RSA"
        bits, exponent = key.key_size, key.public_numbers().e
        if not RSA_BITS_MIN <= bits <= RSA_BITS_MAX or exponent < RSA_EXPONENT_MIN:
            return (
                f"the key has {bits} bits and the exponent {exponent}; expected are"
                f" {RSA_BITS_MIN} to {RSA_BITS_MAX} bits, and {RSA_EXPONENT_MIN} at least"
            )
        return None
    if method not in ECDSA:
        return f"{method} is not offered; expected is one of {', '.join((*RSA, *ECDSA))}"
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, _CURVES):
        return f"{method} needs a key on the curve P-256, P-384 or P-521"
    return None


def check_value(certificate: bytes, signature: Signature, signed_info: bytes) -> None:
    """Raise `RemoteError` (SecurityFailure) unless the holder of this certificate signed.

    `certificate` is one of the agreement, in DER. Call it last: it is the dearest step.
    """
    try:
        key = x509.load_der_x509_certificate(certificate).public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise refused("the certificate cannot be read") from error
    check_value_by(key, signature, signed_info)


def check_value_by(key: object, signature: Signature, signed_info: bytes) -> None:
    """Raise `RemoteError` (SecurityFailure) unless the holder of this public key signed."""
    trouble = _trouble_with(key, signature.method)
    if trouble is not None:
        raise refused(trouble)
    try:
        if isinstance(key, rsa.RSAPublicKey):
            hash_ = _HASHES[RSA[signature.method]]
            key.verify(signature.value, signed_info, padding.PKCS1v15(), hash_)
        else:
            assert isinstance(key, ec.EllipticCurvePublicKey), "its method has no other"
            pair = _from_pair(signature.value, (key.curve.key_size + 7) // 8)
            key.verify(pair, signed_info, ec.ECDSA(_HASHES[ECDSA[signature.method]]))
    except InvalidSignature as error:
        raise refused("the SignatureValue is not of this key and this SignedInfo") from error


def _from_pair(value: bytes, size: int) -> bytes:
    if len(value) != 2 * size:
        raise refused(f"the SignatureValue has {len(value)} bytes; expected are {2 * size}")
    r, s = int.from_bytes(value[:size], "big"), int.from_bytes(value[size:], "big")
    return encode_dss_signature(r, s)


def digest_of(method: str, data: bytes) -> bytes:
    """The digest of `data`; `method` is a key of `signature.DIGESTS`."""
    return new(DIGESTS[method], data).digest()


NO_FORM: Final = (
    "expected is one document of XML, of 1 MiB and 20,000 elements at most, in UTF-8 or UTF-16 as"
    " it says itself, without DOCTYPE and instructions, and without comments if those are signed"
)
"""What a part has to be that is made canonical (`part_digests`)."""

PartDigests = Mapping[str, Mapping[Way, bytes]]
"""Of each part that came, the digests that are known; the key is its Content-ID."""


def check_digests(
    signature: Signature,
    forms: Forms,
    parts: PartDigests,
    handed_over: Collection[str],
    *,
    accepts_sha1: bool = False,
) -> None:
    """Raise `RemoteError` (SecurityFailure) unless the signature covers just what came.

    Each reference has a part, and each part that will be handed over has a reference (§9.4). A
    `cid:` URI is the Content-ID as it stands, else percent-decoded.
    """
    if signature.uses_sha1 and not accepts_sha1:
        raise refused("it rests on SHA-1; expected is SHA-256, SHA-384 or SHA-512")
    envelope = digest_of(signature.envelope.method, forms.envelope)
    if not compare_digest(envelope, signature.envelope.value):
        raise refused("the digest of the envelope is another: it was changed after it was signed")
    covered: set[str] = set()
    for digest in signature.payloads:
        content_id = _part_of(digest, parts.keys() - covered)
        covered.add(content_id)
        there = parts[content_id].get(digest.way)
        if there is None and digest.form is not None:
            raise refused(
                f"the part {quoted(content_id)} is signed in canonical form and has none; {NO_FORM}"
            )
        if not compare_digest(there or b"", digest.value):
            raise refused(f"the digest of the part {quoted(content_id)} is another")
    bare = set(handed_over) - covered
    if bare:
        raise refused(f"the signature does not cover the part {quoted(min(bare))}")


def _part_of(digest: Digest, content_ids: Collection[str]) -> str:
    for content_id in content_ids_of(digest.uri[len(CONTENT_ID_SCHEME) :]):
        if content_id in content_ids:
            return content_id
    raise refused(f"the signature covers {quoted(digest.uri)}, and no such part came")
