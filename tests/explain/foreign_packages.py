"""Signed packages as other products spell them, made and signed by libxmlsec at test time.

Nothing of ours takes part: the text of the envelope is written here by hand, libxmlsec computes its
digests and values, and they are put into that text without any other change of it. So what a row
says of its spelling is in the bytes, and not only in a tree.
"""

import re
from base64 import b64encode, encodebytes
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from lxml import etree

DS = "http://www.w3.org/2000/09/xmldsig#"
MORE = "http://www.w3.org/2001/04/xmldsig-more#"
ENC = "http://www.w3.org/2001/04/xmlenc#"
SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
EB = "http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd"
XLINK = "http://www.w3.org/1999/xlink"
NEXT = "http://schemas.xmlsoap.org/soap/actor/next"
NEXT_MSH = "urn:oasis:names:tc:ebxml-msg:actor:nextMSH"
TO_PARTY = "urn:oasis:names:tc:ebxml-msg:actor:toPartyMSH"
INCLUSIVE = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
INCLUSIVE_1_1 = "http://www.w3.org/2006/12/xml-c14n11"
XPATH = "http://www.w3.org/TR/1999/REC-xpath-19991116"
SHA1, SHA256 = f"{DS}sha1", f"{ENC}sha256"

FROM_AT = datetime(2025, 1, 1, tzinfo=UTC)
UNTIL_AT = datetime(2035, 1, 1, tzinfo=UTC)
SENT = "2026-01-31T12:00:00Z"
"""The Timestamp of every sample."""
RECEIVED_AT = 1_769_860_805_000_000
"""Five seconds later."""

ORDER = b"<Order number='4711'>\n <Line>caf\xc3\xa9 = 1</Line>\n</Order>\n"
PDF = b"%PDF-1.4\r\n%\xe2\xe3\xcf\xd3\r\n--not a boundary\r\n" + bytes(range(256)) + b"\n%%EOF\n"

BLOCK = 'eb:version="2.0" SOAP:mustUnderstand="1"'
OPENING = f'<SOAP:Envelope xmlns:SOAP="{SOAP}" xmlns:eb="{EB}" xmlns:xlink="{XLINK}">'
ACK_REQUESTED = f'<eb:AckRequested {BLOCK} SOAP:actor="{TO_PARTY}" eb:signed="false"/>'
SYNC_REPLY = f'<eb:SyncReply {BLOCK} SOAP:actor="{NEXT}"/>'
FROM = (
    '<eb:From><eb:PartyId eb:type="DUNS">111111111</eb:PartyId><eb:Role>Buyer</eb:Role></eb:From>'
)
TO = '<eb:To><eb:PartyId eb:type="DUNS">222222222</eb:PartyId><eb:Role>Seller</eb:Role></eb:To>'
MESSAGE = f"""<?xml version="1.0" encoding="UTF-8"?>
{OPENING}
 <SOAP:Header>
  <eb:MessageHeader {BLOCK}>
   {FROM}
   {TO}
   <eb:CPAId>cpa-ab-1</eb:CPAId>
   <eb:ConversationId>conv-1</eb:ConversationId>
   <eb:Service eb:type="string">orders</eb:Service>
   <eb:Action>NewOrder</eb:Action>
   <eb:MessageData>
    <eb:MessageId>m-0001@a.example.com</eb:MessageId>
    <eb:Timestamp>{SENT}</eb:Timestamp>
   </eb:MessageData>
   <eb:DuplicateElimination/>
  </eb:MessageHeader>
  {ACK_REQUESTED}
 </SOAP:Header>
 <SOAP:Body>
  <eb:Manifest eb:version="2.0"/>
 </SOAP:Body>
</SOAP:Envelope>
"""


# --- Keys ----------------------------------------------------------------------------------------


def key(name: str = "signer", kind: str = "rsa") -> rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey:
    """A key of that name, the same within a run."""
    return _key(name, kind)


@cache
def _key(_name: str, kind: str) -> rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey:
    if kind == "rsa":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    curve = {"p256": ec.SECP256R1, "p384": ec.SECP384R1, "p521": ec.SECP521R1}[kind]
    return ec.generate_private_key(curve())


@cache
def certificate(
    name: str = "signer",
    kind: str = "rsa",
    issuer: str = "issuer",
    from_at: datetime = FROM_AT,
) -> x509.Certificate:
    """A certificate for that key, by an issuer with a key of its own."""
    subject, by = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)]) for one in (name, issuer)
    )
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(by)
    made = made.public_key(key(name, kind).public_key()).serial_number(4711)
    made = made.not_valid_before(from_at).not_valid_after(UNTIL_AT + timedelta(days=1))
    public = key(name, kind).public_key()
    made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    return made.sign(key(issuer, "rsa"), hashes.SHA256())


def pem(one: x509.Certificate) -> str:
    return one.public_bytes(Encoding.PEM).decode()


def base64_of(one: x509.Certificate, line_end: str = "") -> str:
    """In lines of 76 characters where there is a line end."""
    der = one.public_bytes(Encoding.DER)
    if not line_end:
        return b64encode(der).decode()
    return encodebytes(der).decode().replace("\n", line_end)


# --- The signature -------------------------------------------------------------------------------


def filter_of(
    prefix: str = "SOAP", quote: str = '"', blank: str = " ", first: str = NEXT_MSH
) -> str:
    """The filter of the standard in that spelling."""
    second = NEXT if first == NEXT_MSH else NEXT_MSH
    tests = [
        f"ancestor-or-self::node(){blank}[{blank}@{prefix}:actor{blank}={blank}{quote}{uri}{quote}{blank}]"
        for uri in (first, second)
    ]
    return f"not({blank}{tests[0]}{blank}|{blank}{tests[1]}{blank})"


class Style(NamedTuple):
    """How a product writes its signature."""

    prefix: str = "ds"
    """Empty for a default namespace."""
    kind: str = "rsa"
    algorithm: str = f"{MORE}rsa-sha256"
    digest: str = SHA256
    form: str = INCLUSIVE
    """Of SignedInfo."""
    envelope_form: str | None = INCLUSIVE
    """The last transform; None without one."""
    prefix_list: str | None = None
    filter: str | None = filter_of()
    filter_scope: str = f' xmlns:SOAP="{SOAP}"'
    """Written on XPath."""
    key_info: Callable[[str, str], str] | None = None
    """From the prefix with its colon, and the kind of the key; None for the certificate alone."""
    after: str = ""
    """Behind KeyInfo, in the Signature."""
    reference: str = ""
    """More attributes of each Reference."""
    attributes: str = ""
    """More attributes of Signature, SignedInfo and SignatureValue, by `Id`."""
    line_end: str = "\n"
    """Between the elements; lines of base64 end with it, too."""


def certificate_alone(q: str, kind: str) -> str:
    """What most write."""
    value = base64_of(certificate(kind=kind))
    return f"<{q}X509Data><{q}X509Certificate>{value}</{q}X509Certificate></{q}X509Data>"


def _template(style: Style, uris: list[str]) -> str:
    q = f"{style.prefix}:" if style.prefix else ""
    bound = f'xmlns:{style.prefix}="{DS}"' if style.prefix else f'xmlns="{DS}"'
    ids = style.attributes
    lists = ""
    if style.prefix_list is not None:
        lists = f'<ec:InclusiveNamespaces xmlns:ec="{EXCLUSIVE}" PrefixList="{style.prefix_list}"/>'
    steps = [f'<{q}Transform Algorithm="{DS}enveloped-signature"/>']
    if style.filter is not None:
        text = style.filter.replace("&", "&amp;").replace("<", "&lt;")
        steps.append(
            f'<{q}Transform Algorithm="{XPATH}"><{q}XPath{style.filter_scope}>{text}</{q}XPath>'
            f"</{q}Transform>"
        )
    if style.envelope_form is not None:
        steps.append(f'<{q}Transform Algorithm="{style.envelope_form}">{lists}</{q}Transform>')
    inside = style.line_end
    references = []
    for at, uri in enumerate(uris):
        transforms = ""
        if not uri:
            transforms = f"<{q}Transforms>{''.join(steps)}</{q}Transforms>{inside}"
        extra = style.reference.replace("#", str(at))
        references.append(
            f'<{q}Reference{extra} URI="{uri}">{inside}{transforms}'
            f'<{q}DigestMethod Algorithm="{style.digest}"/>{inside}'
            f"<{q}DigestValue></{q}DigestValue>{inside}</{q}Reference>"
        )
    return (
        f"<{q}Signature {bound}{ids and ids.replace('#', 's')}>{inside}"
        f"<{q}SignedInfo{ids and ids.replace('#', 'i')}>{inside}"
        f'<{q}CanonicalizationMethod Algorithm="{style.form}">{lists}</{q}CanonicalizationMethod>'
        f'{inside}<{q}SignatureMethod Algorithm="{style.algorithm}"/>{inside}'
        f"{inside.join(references)}{inside}</{q}SignedInfo>{inside}"
        f"<{q}SignatureValue{ids and ids.replace('#', 'v')}></{q}SignatureValue>{inside}"
        f"{{key_info}}{{after}}</{q}Signature>"
    )


PLACE = "<!--signature-->"
"""Where a document wants it; without this, last in the Header."""

_DECLARATION = re.compile(r"<\?xml.*?\?>", re.DOTALL)


def sign(
    document: str,
    parts: dict[str, bytes],
    style: Style,
    *,
    encoding: str = "utf-8",
    name: str = "signer",
) -> bytes:
    """The document with its signature, in that encoding; `parts` by what a Reference calls them."""
    xmlsec = pytest.importorskip("xmlsec", reason="libxmlsec is not installed")
    if PLACE not in document:
        head, end, tail = document.rpartition("</SOAP:Header>")
        document = f"{head}{PLACE}{end}{tail}"
    template = _template(style, ["", *parts])
    unsigned = document.replace(PLACE, template.format(key_info="", after=""))
    # What the tree is made of has no declaration, since it is text already.
    root = etree.fromstring(_DECLARATION.sub("", unsigned, count=1).strip().encode())
    node = root.find(f".//{{{DS}}}Signature")
    assert node is not None
    with _parts_known(xmlsec, parts):
        context = xmlsec.SignatureContext()
        private = key(name, style.kind).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
        context.key = xmlsec.Key.from_memory(private, xmlsec.KeyFormat.PEM, None)
        context.sign(node)
    q = f"{style.prefix}:" if style.prefix else ""
    for value in node.iter(f"{{{DS}}}DigestValue"):
        template = template.replace(f"<{q}DigestValue></", f"<{q}DigestValue>{value.text}</", 1)
    value = "".join((node.findtext(f"{{{DS}}}SignatureValue") or "").split())
    lines = re.sub("(.{76})", lambda found: found[1] + style.line_end, value)
    template = re.sub(
        f"(<{q}SignatureValue[^>]*>)</", lambda found: f"{found[1]}{lines}</", template
    )
    info = (style.key_info or certificate_alone)(q, style.kind)
    info = f"<{q}KeyInfo>{info}</{q}KeyInfo>" if info else ""
    whole = template.replace("{key_info}", info).replace("{after}", style.after)
    return document.replace(PLACE, whole).encode(encoding)


class _parts_known:  # noqa: N801 - because it is used as a verb
    """libxmlsec opens files; cid: is given to it as one. Its callbacks are of the process."""

    def __init__(self, xmlsec: object, parts: dict[str, bytes]) -> None:
        # libxml2 undoes the percent signs before it asks.
        self._parts = {unquote(uri): data for uri, data in parts.items()}
        self._xmlsec = xmlsec

    def __enter__(self) -> None:
        opened: dict[str, list[bytes]] = {}

        def named(uri: object) -> str:
            return unquote(uri.decode() if isinstance(uri, bytes) else str(uri))

        def open_part(uri: object) -> str:
            opened[named(uri)] = [self._parts[named(uri)]]
            return named(uri)

        def read(name: str, buffer: memoryview) -> int:
            data = opened[name].pop() if opened[name] else b""
            assert len(data) <= len(buffer), "libxmlsec reads a part at once here"
            buffer[: len(data)] = data
            return len(data)

        self._xmlsec.cleanup_callbacks()
        self._xmlsec.register_default_callbacks()
        self._xmlsec.register_callbacks(
            lambda uri: named(uri) in self._parts, open_part, read, lambda name: None
        )

    def __exit__(self, *_: object) -> None:
        self._xmlsec.cleanup_callbacks()
        self._xmlsec.register_default_callbacks()


# --- The package ---------------------------------------------------------------------------------


class Payload(NamedTuple):
    """One part after the envelope."""

    data: bytes = ORDER
    content_id: str = "order@a.example.com"
    """As it stands in the field."""
    href: str = "cid:order@a.example.com"
    content_type: str = "application/xml"
    encoding: str = ""
    """base64, quoted-printable or none."""


def manifest_of(payloads: list[Payload], inside: str = "", more: str = "") -> str:
    references = "".join(
        f'<eb:Reference xlink:type="simple" xlink:href="{one.href}"{more}>{inside}</eb:Reference>'
        for one in payloads
    )
    return f'<eb:Manifest eb:version="2.0">{references}</eb:Manifest>'


EMPTY_MANIFEST = '<eb:Manifest eb:version="2.0"/>'


def with_manifest(document: str, payloads: list[Payload], inside: str = "", more: str = "") -> str:
    """The document with the Manifest of the payloads, or with none."""
    manifest = manifest_of(payloads, inside, more) if payloads else ""
    return document.replace(EMPTY_MANIFEST, manifest)


class Frame(NamedTuple):
    """How the package is framed."""

    line_end: bytes = b"\r\n"
    boundary: str = "=_a.b'c-1"
    preamble: bytes = b""
    epilogue: bytes = b""
    content_type: str = (
        'multipart/related; type="text/xml"; boundary="{boundary}"; start="<soap@a>"'
    )
    root_type: str = "text/xml; charset=UTF-8"
    root_encoding: str = ""


def encoded(data: bytes, encoding: str, line_end: bytes) -> bytes:
    import quopri  # noqa: PLC0415 - because one form alone needs it

    if encoding == "base64":
        return encodebytes(data).replace(b"\n", line_end)
    if encoding == "quoted-printable":
        # Every byte but letters, with a soft break here and there.
        text = b"".join(b"=%02X" % one if not 65 <= one <= 122 else bytes([one]) for one in data)
        text = re.sub(rb"((?:=..|[^=]){24})", rb"\1=\n", text)
        assert quopri.decodestring(text) == data
        return text.replace(b"\n", line_end)
    return data


def body_of(envelope: bytes, payloads: list[Payload], frame: Frame) -> tuple[str, bytes]:
    """Content-Type and body."""
    if not payloads:
        return frame.root_type, envelope
    end = frame.line_end
    delimiter = end + b"--" + frame.boundary.encode()

    def head(*fields: str) -> bytes:
        return end.join([field.encode() for field in fields if field] + [b"", b""])

    def transfer(encoding: str) -> str:
        return f"Content-Transfer-Encoding: {encoding}" if encoding else ""

    pieces = [frame.preamble + delimiter + end if frame.preamble else delimiter[len(end) :] + end]
    pieces.append(
        head(
            f"Content-Type: {frame.root_type}",
            "Content-ID: <soap@a>",
            transfer(frame.root_encoding),
        )
    )
    pieces.append(encoded(envelope, frame.root_encoding, end))
    for one in payloads:
        fields = (
            f"Content-Type: {one.content_type}",
            f"Content-ID: {one.content_id}",
            transfer(one.encoding),
        )
        pieces += [delimiter + end, head(*fields), encoded(one.data, one.encoding, end)]
    pieces += [delimiter + b"--" + end, frame.epilogue]
    return frame.content_type.format(boundary=frame.boundary), b"".join(pieces)


def as_request(content_type: str, body: bytes) -> bytes:
    return (
        f'POST /ebms HTTP/1.1\r\nHost: b.example.com\r\nSOAPAction: "ebXML"\r\n'
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def as_answer(content_type: str, body: bytes) -> bytes:
    return (
        f"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def as_mail(content_type: str, body: bytes) -> bytes:
    return (
        "Received: from x by y; Sat, 31 Jan 2026 12:00:01 +0000\r\n"
        "From: <ebxml@a.example.com>\r\nTo: <ebxml@b.example.com>\r\nSubject: order\r\n"
        "Date: Sat, 31 Jan 2026 12:00:00 +0000\r\nMessage-ID: <t-1@a.example.com>\r\n"
        f'MIME-Version: 1.0\r\nSOAPAction: "ebXML"\r\nContent-Type: {content_type}\r\n\r\n'
    ).encode() + body
