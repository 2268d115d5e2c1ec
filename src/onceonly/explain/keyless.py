"""Our identities without their keys: an explanation never reads a private key.

What would be signed gets a value of zeros. It is told what it says and that it is signed, and never
leaves the process.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding

from onceonly.gateway.certificate_file import certificate_of
from onceonly.gateway.config import Configuration
from onceonly.gateway.config.signing import IdentityFiles
from onceonly.message.signing import SignatureAlgorithm
from onceonly.steps.signing import SigningIdentity
from onceonly.wire.proof import ECDSA, RSA
from onceonly.wire.signature import Signer

_USUAL: Final = "rsa-sha256"
_ALWAYS: Final = 1 << 62
"""After every instant that a message may have."""


def keyless_identities(configuration: Configuration) -> tuple[SigningIdentity, ...]:
    """Those of the configuration, whether or not their files are here."""
    return tuple(map(_identity, configuration.identities))


def _identity(files: IdentityFiles) -> SigningIdentity:
    begins_at = files.begins_at or 0
    try:
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    except (OSError, ValueError):
        # The configuration was copied here without it, as it should be without the key.
        return _of(files.id, b"\0", begins_at, _ALWAYS, "not here", (*RSA, *ECDSA))
    der = certificate.public_bytes(Encoding.DER)
    read = certificate_of(der)
    methods = RSA if isinstance(certificate.public_key(), rsa.RSAPublicKey) else ECDSA
    begins_at = read.from_at if files.begins_at is None else files.begins_at
    return _of(files.id, der, begins_at, read.until_at, read.fingerprint, tuple(methods))


def _of(
    id_: str, der: bytes, begins_at: int, until_at: int, fingerprint: str, methods: Sequence[str]
) -> SigningIdentity:
    signers = dict(_signers(der, methods))
    usual = _USUAL if _USUAL in signers else next(iter(signers))
    return SigningIdentity(
        id=id_,
        begins_at=begins_at,
        until_at=until_at,
        fingerprint=fingerprint,
        usual_method=usual,
        signers=signers,
    )


def _signers(der: bytes, methods: Sequence[str]) -> Iterator[tuple[str, Signer]]:
    offered = {one.value for one in SignatureAlgorithm}
    for uri in methods:
        name = uri.rpartition("#")[2]
        if name in offered:
            yield name, Signer(method=uri, certificate=der, sign=_without_key)


def _without_key(_: bytes) -> bytes:
    return bytes(256)
