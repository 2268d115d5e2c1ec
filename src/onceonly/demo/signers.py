"""Keys and certificates of the demonstration: made for one run, a pair for each party.

    OUT/buyer/buyer.key    the private key; for its owner only, as the gateway demands
    OUT/buyer/buyer.pem    its certificate, which goes into signatures
    OUT/buyer/seller.pem   the partner's certificate, as it came with the agreement

Nobody but these two gateways ever trusts one of them. Knows the places of both sites; must not know
what is signed.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from onceonly.demo.gateways import Site

_BITS: Final = 2048
"""What is usual, and the least that the gateway takes."""

_MARGIN: Final = timedelta(days=1)
_VALID: Final = timedelta(days=90)
"""The gateways' clocks run faster than ours, by minutes: far less than either."""


def make_signers(ours: Site, theirs: Site) -> dict[str, str]:
    """Write the keys of both, and each one's certificate to the other.

    Returns the fingerprint of each certificate, the SHA-256 of its DER, by the site's name.
    """
    certificates = {
        site.name: make_signer(
            site.key, site.certificate_of(site.name), f"{site.name} of a demonstration"
        )
        for site in (ours, theirs)
    }
    for site, partner in ((ours, theirs), (theirs, ours)):
        site.certificate_of(partner.name).write_bytes(
            certificates[partner.name].public_bytes(Encoding.PEM)
        )
    return {name: one.fingerprint(hashes.SHA256()).hex() for name, one in certificates.items()}


def make_signer(key_file: Path, certificate_file: Path, name: str) -> x509.Certificate:
    """Write a key, which only its owner may read, and a certificate for it, signed by itself."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=_BITS)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    _write_secret(key_file, secret)
    certificate = _signed_by_itself(key, name)
    certificate_file.write_bytes(certificate.public_bytes(Encoding.PEM))
    return certificate


def _write_secret(path: Path, content: bytes) -> None:
    # Made with its mode: between a write and a chmod somebody could read it.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def _signed_by_itself(key: rsa.RSAPrivateKey, name: str) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _MARGIN)
        .not_valid_after(now + _VALID)
        .sign(key, hashes.SHA256())
    )
