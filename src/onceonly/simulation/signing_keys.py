"""Keys with which the parties of a world sign: fixed ones, so that a world stays what it is.

RSA with PKCS#1 v1.5, whose signatures have nothing random in them: the same seed gives the same
bytes in every process. The keys are no secrets. They are made of their parties' names, when a
world first needs them.
"""

from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b, sha256
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from onceonly.message.instant import US_PER_S
from onceonly.message.signing import PinnedCertificate, SignatureAlgorithm
from onceonly.steps.signing import SigningIdentity
from onceonly.wire.proof import RSA, signer_of

_STEPS: Final = {
    "A": (572, 118),
    "B": (494, 870),
    "C": (22, 998),
    "D": (930, 278),
    "E": (1242, 626),
}
"""By party: how far its two primes are from where its name says that the search for them begins."""

_EXPONENT: Final = 65_537
_BEGIN, _END = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
"""Valid at every instant that a clock of a world may show."""

_IDENTITY: Final = "world"


def can_sign(name: str) -> bool:
    """Whether the party has a key."""
    return name in _STEPS


@lru_cache
def identity(name: str) -> SigningIdentity:
    """The one identity of a party, with its key."""
    key, certificate = _key(name), _certificate(name)
    by_name = {uri.rpartition("#")[2]: uri for uri in RSA}
    return SigningIdentity(
        id=identity_id(name),
        begins_at=_microseconds(_BEGIN),
        until_at=_microseconds(_END),
        fingerprint=pinned(name).fingerprint,
        usual_method=SignatureAlgorithm.RSA_SHA256.value,
        signers={
            one.value: signer_of(key, certificate, by_name[one.value])
            for one in (SignatureAlgorithm.RSA_SHA256, SignatureAlgorithm.RSA_SHA512)
        },
    )


def identity_id(name: str) -> str:
    """What the configuration of a party calls its identity."""
    return f"{_IDENTITY}-{name}"


@lru_cache
def pinned(name: str) -> PinnedCertificate:
    """The certificate of a party, as the agreements of its partners have it."""
    der = _certificate(name).public_bytes(Encoding.DER)
    return PinnedCertificate(
        der=der,
        fingerprint=sha256(der).hexdigest(),
        from_at=_microseconds(_BEGIN),
        until_at=_microseconds(_END),
    )


def _microseconds(at: datetime) -> int:
    return int(at.timestamp()) * US_PER_S


def _prime(name: str, which: int) -> int:
    digests = (blake2b(f"{'pq'[which]} of {name}, {part}".encode()).digest() for part in range(2))
    begin = int.from_bytes(b"".join(digests), "big") | 3 << 1022 | 1
    return begin + _STEPS[name][which]


@lru_cache
def _key(name: str) -> rsa.RSAPrivateKey:
    p, q = _prime(name, 0), _prime(name, 1)
    d = pow(_EXPONENT, -1, (p - 1) * (q - 1))
    return rsa.RSAPrivateNumbers(
        p=p,
        q=q,
        d=d,
        dmp1=rsa.rsa_crt_dmp1(d, p),
        dmq1=rsa.rsa_crt_dmq1(d, q),
        iqmp=rsa.rsa_crt_iqmp(p, q),
        public_numbers=rsa.RSAPublicNumbers(_EXPONENT, p * q),
    ).private_key()


@lru_cache
def _certificate(name: str) -> x509.Certificate:
    key = _key(name)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name}.example")])
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject)
    builder = builder.public_key(key.public_key()).serial_number(1)
    return builder.not_valid_before(_BEGIN).not_valid_after(_END).sign(key, SHA256())
