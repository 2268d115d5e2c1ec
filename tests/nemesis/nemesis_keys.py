"""Keys and certificates of two gateways that sign, as files."""

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_YEARS = timedelta(days=5 * 365)
"""A gateway with a fast clock must not reach the end."""


@cache
def _key(name: str) -> rsa.RSAPrivateKey:
    """The key of this name, for as long as the tests run."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def certificate(name: str) -> x509.Certificate:
    """The certificate of that key, signed by itself."""
    subject, today = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject)
    builder = builder.public_key(_key(name).public_key()).serial_number(1)
    builder = builder.not_valid_before(today - _YEARS).not_valid_after(today + _YEARS)
    return builder.sign(_key(name), hashes.SHA256())


def write_certificate(directory: Path, name: str) -> Path:
    """The certificate in a file."""
    path = directory / f"{name}.pem"
    path.write_bytes(certificate(name).public_bytes(Encoding.PEM))
    return path


def write_key(directory: Path, name: str) -> Path:
    """The key in a file that only its owner reads."""
    path = directory / f"{name}.key"
    path.touch(0o600)
    path.write_bytes(_key(name).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return path
