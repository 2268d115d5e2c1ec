"""Two gateways that sign, and keys and certificates in files."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID
from two_parties import AGREEMENT, BUYER, SELLER, Parties, agreement, house, write

from onceonly.wire.proof import PrivateKey, signer_of
from onceonly.wire.signature import EnvelopeSigning
from ports import free_port

EBMS = {"profile": "ebms-2.0", "timeout": None}
ORDERING = {"service": "urn:services:Ordering", "action": "NewOrder"}
RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
SIGNED: dict[str, Any] = {"sign": "all", "ack_requested": "Signed"}

TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
YEAR = timedelta(days=365)


@cache
def key_of(name: str) -> PrivateKey:
    """The key of this name; one that begins with p256 is on that curve."""
    if name.startswith("p256"):
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def certificate_of(
    name: str, begins: datetime = TODAY - YEAR, ends: datetime = TODAY + YEAR
) -> x509.Certificate:
    """A certificate for that key, signed by itself."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject)
    builder = builder.public_key(key_of(name).public_key()).serial_number(7)
    builder = builder.not_valid_before(begins).not_valid_after(ends)
    return builder.sign(key_of(name), hashes.SHA256())


def write_identity(directory: Path, name: str, **dates: Any) -> tuple[str, dict[str, Any]]:
    """The `[[identity]]` table of a key, whose files are written."""
    files = {"certificate": f"{name}.pem", "key": f"{name}.key"}
    certificate = certificate_of(name, **dates).public_bytes(Encoding.PEM)
    (directory / files["certificate"]).write_bytes(certificate)
    key = directory / files["key"]
    key.touch(0o600)
    key.write_bytes(key_of(name).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return "[[identity]]", {"id": name, **files}


def envelope_signing(name: str, **dates: Any) -> EnvelopeSigning:
    """How whoever has that key signs."""
    return EnvelopeSigning(
        signer=signer_of(key_of(name), certificate_of(name, **dates), RSA_SHA256)
    )


@asynccontextmanager
async def signing_parties(directory: Path, **terms: Any) -> AsyncIterator[Parties]:
    """Buyer and seller, each with a key, and with the other's certificate.

    `buyer` and `seller` in `terms` are terms of one of them.
    """
    own = {name: terms.pop(name, {}) for name in ("buyer", "seller")}
    there, here = free_port(), free_port()
    identities = {name: write_identity(directory, name) for name in ("buyer", "seller")}
    buyer, seller = (
        write(
            directory,
            f"{name}-gateway",
            house(party, name, port),
            identities[name],
            agreement(
                AGREEMENT,
                partner,
                f"http://127.0.0.1:{far}/msh",
                **{
                    **EBMS,
                    **SIGNED,
                    "partner_certificates": [f"{other}.pem"],
                    **terms,
                    **own[name],
                },
            ),
        )
        for name, other, party, port, partner, far in (
            ("buyer", "seller", BUYER, there, SELLER, here),
            ("seller", "buyer", SELLER, here, BUYER, there),
        )
    )
    async with AsyncExitStack() as running:
        for gateway in (buyer, seller):
            await gateway.start()
            running.push_async_callback(gateway.stop, 0.0)
        yield Parties(buyer, seller)
