"""Two gateways that sign, and keys and certificates in files."""

import re
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
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
from packages import Parcel
from peer_ebms2 import Heard, PeerEbms2
from running_gateway import RunningGateway
from two_parties import AGREEMENT, BUYER, SELLER, Parties, agreement, house, write

from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    DeliverySemantics,
    Message,
    Payload,
    RoutingHeader,
    SignedReference,
)
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, SignalHeader
from onceonly.wire.canonical import Method, View, canonical_forms
from onceonly.wire.document import Content
from onceonly.wire.envelope import Decoder, encode
from onceonly.wire.evidence import forms_in, references_over
from onceonly.wire.proof import PrivateKey, signer_of
from onceonly.wire.signature import SIGNED_INFO_PATH, EnvelopeSigning, Signature
from ports import free_port

EBMS = {"profile": "ebms-2.0", "timeout": None}
ORDERING = {"service": "urn:services:Ordering", "action": "NewOrder"}
RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
ECDSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256"
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
    method = ECDSA_SHA256 if name.startswith("p256") else RSA_SHA256
    return EnvelopeSigning(signer=signer_of(key_of(name), certificate_of(name, **dates), method))


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


class SigningPeer(PeerEbms2):
    """A partner that signs with the key `partner`, unless a test wants another one."""

    def message(self, message_id: str, *payloads: bytes, **fields: Any) -> Message:
        """A business message to the gateway."""
        described = tuple(
            Payload(f"p{n}@a.example.com", "text/xml", len(one), sha256(one).hexdigest())
            for n, one in enumerate(payloads)
        )
        return Message(
            message_id=message_id,
            payloads=described,
            timestamp_at=round(datetime.now(UTC).timestamp() * 1_000_000),
            **{
                "from_ids": (PartyId(self.party),),
                "to_ids": (PartyId(self.gateway_party),),
                "agreement_id": self.agreement,
                "conversation_id": "conv-1",
                **ORDERING,
                "semantics": DeliverySemantics.ONCE_AND_ONLY_ONCE,
                "ack_requested": AckRequested.SIGNED,
                **fields,
            },
        )

    def acknowledgment(
        self, ref: str, references: tuple[SignedReference, ...] = ()
    ) -> Acknowledgment:
        """A signal about a message of the gateway's."""
        at = round(datetime.now(UTC).timestamp() * 1_000_000)
        header = SignalHeader(
            message_id=self.fresh_id("s"),
            from_ids=(PartyId(self.party),),
            to_ids=(PartyId(self.gateway_party),),
            agreement_id=self.agreement,
            conversation_id="conv-1",
            timestamp_at=at,
            ref_to_message_id=ref,
        )
        element = AcknowledgmentElement(timestamp_at=at, references=references)
        return Acknowledgment(header, element)

    def package(
        self, content: Content, *payloads: bytes, signer: EnvelopeSigning | None = None
    ) -> Parcel:
        """The content in a package; without `signer` it has no signature."""
        made = encode(
            content,
            NO_HOP,
            profile=Profile.EBMS_2_0,
            boundary="=_partner",
            root_content_id="root@a.example.com",
            signing=signer,
        )
        pieces = [*zip(made.segments, (*payloads, b""), strict=True)]
        return Parcel(made.content_type, b"".join(part for pair in pieces for part in pair))

    def signed(self, message_id: str, *payloads: bytes, **fields: Any) -> Parcel:
        """A signed business message."""
        content = self.message(message_id, *payloads, **fields)
        return self.package(content, *payloads, signer=envelope_signing("partner"))


def with_reference(parcel: Parcel, method: str, digest: bytes, transforms: str = "") -> Parcel:
    """The partner's signed message with another reference of its first payload, signed again."""
    before, uri, after = parcel.body.partition(b'URI="cid:p0@a.example.com">')
    assert uri, "it has a payload that is signed"
    _, end, rest = after.partition(b"</ds:Reference>")
    value = b64encode(digest).decode()
    said = f'{transforms}<ds:DigestMethod Algorithm="{method}"/><ds:DigestValue>{value}'
    body = before + uri + f"{said}</ds:DigestValue>".encode() + end + rest
    document = body[body.index(b"<SOAP:Envelope") : body.index(END) + len(END)]
    ((info,),) = canonical_forms(document, (View(Method(), SIGNED_INFO_PATH),))
    signed = b64encode(envelope_signing("partner").signer.sign(info))
    old = re.compile(rb"(<ds:SignatureValue>)[^<]*")
    return parcel._replace(body=old.sub(lambda found: found[1] + signed, body))


END = b"</SOAP:Envelope>"
NO_HOP = RoutingHeader(sender_uri="", receiver_uri="", error_uri=None, timestamp_at=0)


def references_in(heard: Heard) -> tuple[SignedReference, ...]:
    """What a signed acknowledgement of this message has to hold."""
    content_type = heard.headers["content-type"]
    decoder = Decoder(content_type, lambda _: Counted())
    decoder.feed(heard.body)
    envelope = decoder.finish()
    if isinstance(envelope.signature, Signature):
        return forms_in(envelope, envelope.signature).references
    assert isinstance(envelope.content, Message)
    return references_over(envelope.header, envelope.content.payloads, envelope.profile)


class Counted:
    """Keeps a payload."""

    def __init__(self) -> None:
        self.content = b""

    def write(self, data: bytes) -> None:
        self.content += data

    def close(self) -> tuple[int, str]:
        return len(self.content), sha256(self.content).hexdigest()


@asynccontextmanager
async def with_signing_peer(
    directory: Path, **terms: Any
) -> AsyncIterator[tuple[RunningGateway, SigningPeer]]:
    """A gateway of the seller's that signs, and a raw peer whose certificate it knows."""
    peer = SigningPeer()
    write_identity(directory, "partner")
    usual = {**EBMS, **SIGNED, "partner_certificates": ["partner.pem"], **terms}
    gateway = write(
        directory,
        "seller-gateway",
        house(SELLER, "seller", free_port()),
        write_identity(directory, "seller"),
        agreement(peer.agreement, peer.party, peer.uri, **usual),
    )
    peer.gateway_uri, peer.gateway_party = gateway.uri, SELLER
    await peer.listen()
    await gateway.start()
    try:
        yield gateway, peer
    finally:
        await gateway.stop(0.0)
        await peer.close()
