"""The spellings of a signed message that other products have, one row each."""

import gzip
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any, NamedTuple

from cryptography import x509
from foreign_packages import (
    ACK_REQUESTED,
    DS,
    ENC,
    EXCLUSIVE,
    INCLUSIVE,
    INCLUSIVE_1_1,
    MESSAGE,
    MORE,
    NEXT,
    ORDER,
    PDF,
    PLACE,
    SENT,
    SHA1,
    SOAP,
    SYNC_REPLY,
    Frame,
    Payload,
    Style,
    as_answer,
    as_mail,
    as_request,
    base64_of,
    body_of,
    certificate,
    filter_of,
    key,
    sign,
    with_manifest,
)

ONE = Payload()
GZIP = Payload(gzip.compress(ORDER, mtime=0), "<g@a>", "cid:g@a", "application/gzip", "base64")
OF_PDF = Payload(PDF, "<p@a>", "cid:p@a", "application/pdf")
QUOTED = Payload(ORDER, "<q@a>", "cid:q@a", "text/plain; charset=utf-8", "quoted-printable")
IN_BASE64 = ONE._replace(encoding="base64")


class Row(NamedTuple):
    """One spelling, and bytes of the capture that show it."""

    shows: bytes = b""
    style: Style = Style()
    document: str = MESSAGE
    payloads: tuple[Payload, ...] = (ONE,)
    signed_as: str | None = None
    """What the Reference of the only payload says, where it is not what the Manifest says."""
    reference: tuple[str, str] = ("", "")
    """Inside of each Reference of the Manifest, and more attributes of it."""
    frame: Frame = Frame()
    capture: Callable[[str, bytes], bytes] = as_request
    encoding: str = "utf-8"
    keys: str = ""
    """More keys of the agreement."""
    is_rewritten: bool = False
    """Every line end of the capture was made LF."""


def capture_of(
    row: Row, *, edit: tuple[str, str] | None = None, other_payload: bool = False
) -> bytes:
    """The capture; `edit` and another payload come after it was signed."""
    payloads = list(row.payloads)
    document = with_manifest(row.document, payloads, *row.reference)
    parts = {row.signed_as or one.href: one.data for one in payloads}
    envelope = sign(document, parts, row.style, encoding=row.encoding)
    if edit is not None:
        old, new = (text.encode(row.encoding).lstrip(b"\xff\xfe") for text in edit)
        assert envelope.count(old) == 1
        envelope = envelope.replace(old, new)
    if other_payload:
        payloads[-1] = payloads[-1]._replace(data=b"x" + payloads[-1].data[1:])
    content_type, body = body_of(envelope, payloads, row.frame)
    capture = row.capture(content_type, body)
    return capture.replace(b"\r\n", b"\n") if row.is_rewritten else capture


# --- What is written in KeyInfo ------------------------------------------------------------------


def chain(*names: str) -> Callable[[str, str], str]:
    """Certificates of a chain in that order, in lines."""

    def write(q: str, kind: str) -> str:
        ones = {
            "leaf": certificate(kind=kind),
            "issuer": certificate("issuer", issuer="root"),
            "root": certificate("root", issuer="root"),
        }
        return "".join(
            f"<{q}X509Data><{q}X509Certificate>\n{base64_of(ones[name], chr(10))}"
            f"</{q}X509Certificate></{q}X509Data>"
            for name in names
        ).replace(f"</{q}X509Data><{q}X509Data>", "")

    return write


def issuer_serial(q: str, _: str) -> str:
    return (
        f"<{q}X509Data><{q}X509IssuerSerial><{q}X509IssuerName>CN=issuer</{q}X509IssuerName>"
        f"<{q}X509SerialNumber>4711</{q}X509SerialNumber></{q}X509IssuerSerial></{q}X509Data>"
    )


def key_identifier(q: str, kind: str) -> str:
    found = certificate(kind=kind).extensions
    digest = found.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    return (
        f"<{q}X509Data><{q}X509SKI>{b64encode(digest).decode()}</{q}X509SKI>"
        f"<{q}X509SubjectName>CN=signer</{q}X509SubjectName></{q}X509Data>"
    )


def key_value(q: str, _: str) -> str:
    numbers: Any = key().public_key().public_numbers()
    modulus, exponent = (
        b64encode(one.to_bytes((one.bit_length() + 7) // 8)).decode()
        for one in (numbers.n, numbers.e)
    )
    return (
        f"<{q}KeyValue><{q}RSAKeyValue><{q}Modulus>{modulus[:60]}\n{modulus[60:]}</{q}Modulus>"
        f"<{q}Exponent>{exponent}</{q}Exponent></{q}RSAKeyValue></{q}KeyValue>"
    )


def key_name(q: str, _: str) -> str:
    return f"<{q}KeyName>signer</{q}KeyName>"


def nothing(_q: str, _kind: str) -> str:
    return ""


KEY_INFOS = {
    "chain, leaf first": Row(
        b"</ds:X509Certificate><ds:X509C", Style(key_info=chain("leaf", "issuer", "root"))
    ),
    "chain, leaf last": Row(
        b"</ds:X509Certificate><ds:X509C", Style(key_info=chain("root", "issuer", "leaf"))
    ),
    "issuer alone": Row(b"X509Certificate", Style(key_info=chain("issuer"))),
    "issuer and serial": Row(b"X509IssuerSerial", Style(key_info=issuer_serial)),
    "key identifier": Row(b"X509SKI", Style(key_info=key_identifier)),
    "key value": Row(b"RSAKeyValue", Style(key_info=key_value)),
    "key name": Row(b"KeyName", Style(key_info=key_name)),
    "no key info": Row(b"</ds:SignatureValue>\n</ds:Signature>", Style(key_info=nothing)),
}

# --- Algorithms and canonical forms --------------------------------------------------------------

ALGORITHMS = {
    "RSA SHA-384": Row(b"rsa-sha384", Style(algorithm=f"{MORE}rsa-sha384", digest=f"{MORE}sha384")),
    "RSA SHA-512": Row(
        b"xmlenc#sha512", Style(algorithm=f"{MORE}rsa-sha512", digest=f"{ENC}sha512")
    ),
    "RSA SHA-256, digests SHA-512": Row(b"xmlenc#sha512", Style(digest=f"{ENC}sha512")),
    "P-256": Row(b"ecdsa-sha256", Style(kind="p256", algorithm=f"{MORE}ecdsa-sha256")),
    "P-384": Row(b"ecdsa-sha384", Style(kind="p384", algorithm=f"{MORE}ecdsa-sha384")),
    "P-521": Row(b"ecdsa-sha512", Style(kind="p521", algorithm=f"{MORE}ecdsa-sha512")),
    "SHA-1": Row(
        b"rsa-sha1", Style(algorithm=f"{DS}rsa-sha1", digest=SHA1), keys="accept_sha1 = true"
    ),
    "SHA-1 in digests": Row(b"xmldsig#sha1", Style(digest=SHA1), keys="accept_sha1 = true"),
    "exclusive": Row(b"xml-exc-c14n#", Style(form=EXCLUSIVE, envelope_form=EXCLUSIVE)),
    "exclusive with prefixes": Row(
        b'PrefixList="SOAP eb xlink #default"',
        Style(form=EXCLUSIVE, envelope_form=EXCLUSIVE, prefix_list="SOAP eb xlink #default"),
    ),
    "exclusive with odd prefixes": Row(
        b"nosuch ", Style(form=EXCLUSIVE, envelope_form=EXCLUSIVE, prefix_list=" eb\n SOAP nosuch ")
    ),
    "canonical 1.1": Row(b"xml-c14n11", Style(form=INCLUSIVE_1_1, envelope_form=INCLUSIVE_1_1)),
    "canonical 1.1, xml:id": Row(
        b"xml:id",
        Style(form=INCLUSIVE_1_1, envelope_form=INCLUSIVE_1_1),
        MESSAGE.replace("<SOAP:Header>", '<SOAP:Header xml:id="i" xml:lang="de">'),
    ),
    "with comments, where there are none": Row(
        b"#WithComments",
        Style(form=f"{INCLUSIVE}#WithComments", envelope_form=f"{INCLUSIVE}#WithComments"),
    ),
    "two forms": Row(b"xml-exc-c14n#", Style(form=EXCLUSIVE)),
    "no last transform": Row(b"", Style(envelope_form=None)),
    "xml:lang above": Row(
        b"xml:space",
        document=MESSAGE.replace(
            "<SOAP:Header>", '<SOAP:Header xml:lang="de" xml:space="preserve">'
        ),
    ),
}

FILTERS = {
    "none": Row(b"", Style(filter=None)),
    "none, and no form": Row(b"", Style(filter=None, envelope_form=None)),
    "single quotes": Row(b"actor = 'urn", Style(filter=filter_of(quote="'"))),
    "no blanks": Row(b"]|ancestor", Style(filter=filter_of(blank=""))),
    "line ends": Row(b"not(\n  anc", Style(filter=f"\n\t{filter_of(blank=chr(10) + '  ')}\n")),
    "other order": Row(f'actor = "{NEXT}" ] |'.encode(), Style(filter=filter_of(first=NEXT))),
    "prefix of the Envelope": Row(b"<ds:XPath>", Style(filter_scope="")),
    "other prefix": Row(
        b"@soap-env:actor",
        Style(filter=filter_of(prefix="soap-env"), filter_scope=f' xmlns:soap-env="{SOAP}"'),
    ),
    "letters of another alphabet": Row(
        "@é:actor".encode(), Style(filter=filter_of(prefix="é"), filter_scope=f' xmlns:é="{SOAP}"')
    ),
    "blanks everywhere": Row(
        b"self :: node( )",
        Style(filter=filter_of().replace("node()", "node( )").replace("::", " :: ")),
    ),
    "a block left out": Row(
        b"eb:SyncReply",
        document=MESSAGE.replace(ACK_REQUESTED, f"{ACK_REQUESTED}{SYNC_REPLY}"),
        keys='sync_reply_mode = "mshSignalsOnly"',
    ),
}

PROPERTIES = (
    '<ds:Object Id="o"><ds:SignatureProperties><ds:SignatureProperty Target="#s"><t>now</t>'
    "</ds:SignatureProperty></ds:SignatureProperties></ds:Object>"
)
LAYOUTS = {
    "default namespace": Row(b"<Signature xmlns=", Style(prefix="")),
    "dsig": Row(b"<dsig:Signature", Style(prefix="dsig")),
    "odd prefix": Row(b"<_s.1:Signature", Style(prefix="_s.1")),
    "another default namespace": Row(
        b'xmlns="urn:d"',
        document=MESSAGE.replace("<SOAP:Envelope ", '<SOAP:Envelope xmlns="urn:d" '),
    ),
    "first block": Row(
        b"<SOAP:Header><ds:Sig", document=MESSAGE.replace("<SOAP:Header>", f"<SOAP:Header>{PLACE}")
    ),
    "between blocks": Row(
        b"</ds:Signature>  <eb:Ack", document=MESSAGE.replace("  <eb:Ack", f"{PLACE}  <eb:Ack")
    ),
    "one line": Row(b"</ds:SignedInfo><ds:SignatureValue>", Style(line_end="")),
    "CRLF": Row(b"<ds:SignedInfo>\r\n<ds:Can", Style(line_end="\r\n")),
    "carriage returns as references": Row(b"&#13;\n<ds:Can", Style(line_end="&#13;\n")),
    "ids": Row(
        b'<ds:Reference Id="r0" Type=',
        Style(
            attributes=' Id="#1"', reference=' Id="r#" Type="http://www.w3.org/2000/09/xmldsig#x"'
        ),
    ),
    "properties": Row(b"SignatureProperties", Style(after=PROPERTIES)),
    "an Object and no KeyInfo": Row(b"<ds:Object/>", Style(key_info=nothing, after="<ds:Object/>")),
}

# --- The envelope --------------------------------------------------------------------------------

WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
WSSE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
UTF_16 = MESSAGE.replace('"UTF-8"', '"UTF-16"')
FOREIGN = (
    f'  <w:Security xmlns:w="{WSSE}"><w:UsernameToken><w:Username>u</w:Username></w:UsernameToken>'
    '</w:Security><a:Action xmlns:a="http://www.w3.org/2005/08/addressing" SOAP:mustUnderstand="0">'
    "x</a:Action>"
)
DESCRIBED = (
    '<eb:Schema eb:location="http://x/y.xsd" eb:version="1"/>'
    '<eb:Description xml:lang="en-US">an order</eb:Description>'
    '<eb:Description xml:lang="nl">x</eb:Description>'
)
ENVELOPES = {
    "UTF-16": Row(
        "<SOAP:Envelope".encode("utf-16-le"),
        document=UTF_16,
        encoding="utf-16",
        frame=Frame(root_type="text/xml; charset=utf-16"),
    ),
    "UTF-16 without charset": Row(
        "<SOAP:Envelope".encode("utf-16-le"),
        document=UTF_16,
        encoding="utf-16",
        frame=Frame(root_type="text/xml"),
    ),
    "ISO-8859-1": Row(
        "Käufer".encode("latin-1"),
        document=MESSAGE.replace('"UTF-8"', '"ISO-8859-1"').replace(">Buyer<", ">Käufer<"),
        encoding="latin-1",
        frame=Frame(root_type="text/xml; charset=iso-8859-1"),
    ),
    "ISO-8859-1 without charset": Row(
        "Käufer".encode("latin-1"),
        document=MESSAGE.replace('"UTF-8"', "'iso-8859-1'").replace(">Buyer<", ">Käufer<"),
        encoding="latin-1",
        frame=Frame(root_type="text/xml"),
    ),
    "byte order mark": Row(b"\xef\xbb\xbf<?xml", document=f"\ufeff{MESSAGE}"),
    "no declaration": Row(b"\r\n\r\n<SOAP", document=MESSAGE.partition("\n")[2]),
    "comments and CDATA": Row(
        b"New<!-- c -->Order",
        document=MESSAGE.replace("<SOAP:Body>", "<!-- x --><SOAP:Body><!-- y -->")
        .replace("conv-1", "<![CDATA[conv]]>-1")
        .replace("NewOrder", "New<!-- c -->Order"),
    ),
    "wsu:Id": Row(
        b"wsu:Id",
        document=MESSAGE.replace("<SOAP:Body>", f'<SOAP:Body xmlns:wsu="{WSU}" wsu:Id="b" id="x">'),
    ),
    "schema locations": Row(
        b"xsi:schemaLocation",
        document=MESSAGE.replace(
            "<SOAP:Envelope ",
            f'<SOAP:Envelope xmlns:xsi="{XSI}" xsi:schemaLocation="{SOAP}\n http://x/e.xsd" ',
        ),
    ),
    "blocks of others": Row(
        b"UsernameToken", document=MESSAGE.replace("  <eb:Ack", f"{FOREIGN}  <eb:Ack")
    ),
    "Manifest with all": Row(
        b"xlink:role",
        reference=(
            DESCRIBED,
            ' xlink:role="http://x/role" eb:id="r1" xlink:title="t"',
        ),
    ),
    **{
        f"time {time}": Row(time.encode(), document=MESSAGE.replace(SENT, time))
        for time in (
            "2026-01-31T12:00:00",
            "2026-01-31T13:00:00+01:00",
            "2026-01-31T07:00:00.123456789-05:00",
            " 2026-01-31T12:00:00.5Z\n",
            "2026-01-31T12:00:00-00:00",
        )
    },
}

# --- Parts, frames and captures ------------------------------------------------------------------

ENCODED = Payload(content_id="<order+1%x@a.example.com>", href="cid:order+1%25x%40a.example.com")
PARTS = {
    "cid percent-encoded": Row(b"%40a", payloads=(ENCODED,)),
    "cid encoded in the signature alone": Row(
        b'URI="cid:order%40a.example.com"', signed_as="cid:order%40a.example.com"
    ),
    "cid in capitals": Row(b"CID:order", payloads=(ONE._replace(href="CID:order@a.example.com"),)),
    "gzip and PDF": Row(b"%PDF-1.4\r\n%\xe2", payloads=(ONE, GZIP, OF_PDF)),
    "quoted-printable": Row(
        b"=\r\n", payloads=(QUOTED, OF_PDF._replace(encoding="quoted-printable"))
    ),
    "envelope quoted-printable": Row(
        b"=3CSOAP=3A", payloads=(QUOTED,), frame=Frame(root_encoding="quoted-printable")
    ),
    "envelope base64": Row(b"PD94bWwg", payloads=(GZIP,), frame=Frame(root_encoding="base64")),
    "LF alone": Row(b"\n\nPD94", payloads=(GZIP,), frame=Frame(b"\n", root_encoding="base64")),
    "LF alone, binary": Row(b"%PDF", payloads=(ONE, OF_PDF), frame=Frame(b"\n")),
    "preamble and epilogue": Row(
        b"This is", frame=Frame(preamble=b"This is MIME.\r\n", epilogue=b"\r\nbye\r\n")
    ),
    "parameters bare": Row(
        b"type=text/xml;",
        frame=Frame(
            boundary="a.1",
            content_type="Multipart/Related;boundary={boundary};type=text/xml;start=soap@a",
        ),
    ),
    "no type and no start": Row(
        frame=Frame(content_type='multipart/related; boundary="{boundary}"')
    ),
    "more parameters": Row(
        b"start-info",
        frame=Frame(
            content_type='multipart/related; charset=utf-8; type="text/xml; charset=utf-8";'
            ' start-info="text/xml"; boundary="{boundary}"'
        ),
    ),
    "no payload": Row(b"Content-Type: text/xml", payloads=()),
}


def without_first_line(content_type: str, body: bytes) -> bytes:
    return as_request(content_type, body).partition(b"\r\n")[2]


def body_alone(_: str, body: bytes) -> bytes:
    return body


def plain_mail(content_type: str, body: bytes) -> bytes:
    """One part in base64, without a frame."""
    lines = re.sub(rb"(.{76})", rb"\1\r\n", b64encode(body))
    return as_mail(f"{content_type}\r\nContent-Transfer-Encoding: base64", lines + b"\r\n")


CODED = Frame(root_encoding="base64")
ANSWERING = MESSAGE.replace(
    "</eb:Timestamp>", "</eb:Timestamp><eb:RefToMessageId>q-1@b.example.com</eb:RefToMessageId>"
)
CAPTURES = {
    "mail": Row(b"Received: ", payloads=(IN_BASE64, GZIP), frame=CODED, capture=as_mail),
    "mail, quoted-printable": Row(
        b"=3C", payloads=(QUOTED,), frame=Frame(root_encoding="quoted-printable"), capture=as_mail
    ),
    "mail in LF": Row(
        b"\nDate: ", payloads=(IN_BASE64, QUOTED), frame=CODED, capture=as_mail, is_rewritten=True
    ),
    "mail without a frame": Row(b"\r\n\r\nPD94", payloads=(), capture=plain_mail),
    "request in LF": Row(b"\nHost: ", payloads=(IN_BASE64, GZIP), frame=CODED, is_rewritten=True),
    "answer": Row(b"HTTP/1.1 200", document=ANSWERING, capture=as_answer),
    "answer without payload": Row(
        b"HTTP/1.1 200", document=ANSWERING, payloads=(), capture=as_answer
    ),
    "without a first line": Row(b"Host: ", capture=without_first_line),
    "body alone": Row(b"--=_a", capture=body_alone),
    "body alone in LF": Row(b"--=_a", frame=Frame(b"\n"), capture=body_alone),
    "envelope alone": Row(b"<?xml", payloads=(), capture=body_alone),
}

TABLES = {
    "KeyInfo": KEY_INFOS,
    "algorithm": ALGORITHMS,
    "filter": FILTERS,
    "layout": LAYOUTS,
    "envelope": ENVELOPES,
    "parts": PARTS,
    "capture": CAPTURES,
}
ROWS = {f"{table}: {name}": row for table, rows in TABLES.items() for name, row in rows.items()}
