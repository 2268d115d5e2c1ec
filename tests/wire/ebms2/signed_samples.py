"""Keys, signed packages, and the whole way from a package to a verified one."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from ebms2_samples import BOUNDARY, HOP, MESSAGE, ORDER, PAYLOAD, ROOT_ID, decode
from wire_samples import joined

from onceonly.message.message import AckRequested, Message, SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.word import changed
from onceonly.wire.envelope import Content, Envelope, encode
from onceonly.wire.limits import DEFAULT
from onceonly.wire.proof import PrivateKey, check_digests, check_value, signer_of
from onceonly.wire.signature import EnvelopeSigning, Forms, Signature, forms_of
from onceonly.wire.xml import parse

MORE = "http://www.w3.org/2001/04/xmldsig-more#"
RSA_SHA256 = f"{MORE}rsa-sha256"
RSA_SHA1 = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"

MESSAGE_TO_SIGN = changed(
    MESSAGE,
    payloads=(ORDER,),
    sync_reply_mode=SyncReplyMode.SIGNALS_AND_RESPONSE,
    next_ack_requested=AckRequested.UNSIGNED,
    description="Ünder & <over>",
)


def key(kind: str = "rsa-2048", name: str = "signer") -> PrivateKey:
    """A key of this kind; another name is another key."""
    return _key(kind, name)


@cache
def _key(kind: str, _name: str) -> PrivateKey:
    if kind.startswith("rsa-"):
        return rsa.generate_private_key(public_exponent=65537, key_size=int(kind[4:]))
    curves = {"p256": ec.SECP256R1, "p384": ec.SECP384R1, "p521": ec.SECP521R1}
    curves["k1"] = ec.SECP256K1
    return ec.generate_private_key(curves[kind]())


def certificate(kind: str = "rsa-2048", name: str = "signer") -> x509.Certificate:
    """A certificate for that key, signed by itself."""
    return _certificate(kind, name)


@cache
def _certificate(kind: str, name: str) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject)
    builder = builder.public_key(key(kind, name).public_key()).serial_number(7)
    builder = builder.not_valid_before(now).not_valid_after(now + timedelta(days=3650))
    return builder.sign(key(kind, name), hashes.SHA256())


def der(kind: str = "rsa-2048", name: str = "signer") -> bytes:
    return certificate(kind, name).public_bytes(Encoding.DER)


def signing(
    kind: str = "rsa-2048",
    method: str = RSA_SHA256,
    *,
    is_exclusive: bool = False,
    name: str = "signer",
) -> EnvelopeSigning:
    """How the samples are signed."""
    signer = signer_of(key(kind, name), certificate(kind, name), method)
    return EnvelopeSigning(signer=signer, is_exclusive=is_exclusive)


def signed(
    content: Content = MESSAGE_TO_SIGN,
    how: EnvelopeSigning | None = None,
    datas: Sequence[bytes] = (PAYLOAD,),
) -> tuple[bytes, str]:
    """Body and Content-Type of a signed package of ours."""
    package = encode(
        content,
        HOP,
        profile=Profile.EBMS_2_0,
        boundary=BOUNDARY,
        root_content_id=ROOT_ID,
        signing=how or signing(),
    )
    parts = datas if isinstance(content, Message) and content.payloads else ()
    return joined(package, parts), package.content_type


def forms_in(envelope: Envelope) -> Forms:
    """What the signature of a package is over."""
    assert isinstance(envelope.signature, Signature), envelope.signature
    root = parse(envelope.header, None, DEFAULT)
    return forms_of(envelope.header, root, envelope.signature)


def verify(
    body: bytes, content_type: str, trusted: bytes, *, accepts_sha1: bool = False
) -> Envelope:
    """The package, if the holder of the certificate signed all of it. Raises `RemoteError`."""
    envelope = decode(body, content_type)
    assert isinstance(envelope.signature, Signature), envelope.signature
    forms = forms_in(envelope)
    content = envelope.content
    payloads = content.payloads if isinstance(content, Message) else ()
    check_digests(
        envelope.signature,
        forms,
        envelope.part_digests,
        [payload.content_id for payload in payloads],
        accepts_sha1=accepts_sha1,
    )
    check_value(trusted, envelope.signature, forms.signed_info)
    return envelope
