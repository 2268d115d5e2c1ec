"""Keys of the buyer and the seller, as Java and as our gateway want them."""

from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from signed_samples import certificate, key

CPA_TERMS = {"signed": "true", "ack_signed": "always"}
"""What a CPA says whose messages and acknowledgements are signed."""

OUR_TERMS: dict[str, Any] = {
    "sign": "messages",
    "ack_requested": "Signed",
    "partner_certificates": ["seller.pem"],
}
"""The same in keys of ours."""

IDENTITY: tuple[str, dict[str, Any]] = (
    "[[identity]]",
    {"id": "buyer", "certificate": "buyer.pem", "key": "buyer.key"},
)


class Files(NamedTuple):
    """Where a signer's key and certificate are."""

    store: Path
    """Of Java, with the password `password`."""
    certificate: Path


def write_signer(directory: Path, name: str) -> Files:
    """Write the files of that signer."""
    files = Files(directory / f"{name}.p12", directory / f"{name}.pem")
    encryption = BestAvailableEncryption(b"password")
    files.store.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"one", key(name=name), certificate(name=name), None, encryption
        )
    )
    files.certificate.write_bytes(certificate(name=name).public_bytes(Encoding.PEM))
    private = directory / f"{name}.key"
    private.touch(0o600)
    private.write_bytes(
        key(name=name).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    return files


def write_signers(directory: Path, buyer: str = "buyer") -> tuple[str, ...]:
    """Write the files of both; the arguments by which the strict MSH signs and trusts.

    It pins the certificate of `buyer`, which may be another's.
    """
    write_signer(directory, "buyer")
    pinned = write_signer(directory, buyer)
    seller = write_signer(directory, "seller")
    return ("--keys", str(seller.store), "--partner", str(pinned.certificate))
