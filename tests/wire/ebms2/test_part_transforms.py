"""Payloads in XML that are signed in canonical form (§9.3): the digests fit what others compute."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from ebms2_samples import PACKAGE_TYPE, PART_HEAD, PAYLOAD, PAYLOAD_HEAD, body_of, decode, part
from lxml import etree
from signed_samples import der, forms_in, key, signed, verify

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.wire.canonical import Method
from onceonly.wire.part_digests import XML_PART_BYTES_MAX, PartDigesting
from onceonly.wire.proof import check_digests
from onceonly.wire.signature import (
    EXCLUSIVE,
    INCLUSIVE,
    INCLUSIVE_1_1,
    SHA256,
    Digest,
    Signature,
    UnreadableSignature,
)

DS = "http://www.w3.org/2000/09/xmldsig#"
FORMS = [INCLUSIVE, INCLUSIVE_1_1, EXCLUSIVE]
NAMESPACED = (
    b'<?xml version="1.0"?>\n<a:Order xmlns:b="urn:unused" xmlns:a="urn:a" z="1" a="&lt;2">\r\n'
    b"<!-- no comment --><Line/><![CDATA[<&]]>&#13;</a:Order>\n"
)
PARTS = {"plain": PAYLOAD, "namespaced": NAMESPACED, "utf-16": NAMESPACED.decode().encode("utf-16")}
REFERENCE = re.compile(rb'<ds:Reference URI="cid.*?</ds:Reference>', re.DOTALL)
EMPTY = re.compile(rb"<ds:(DigestValue|SignatureValue)>[^<]*</ds:\1>")


def transformed(document: bytes, transforms: str) -> bytes:
    """The envelope, whose payload's reference has these transforms."""
    before, uri, after = document.partition(b'URI="cid:po-1@a.example.com">')
    assert uri
    return before + uri + f"<ds:Transforms>{transforms}</ds:Transforms>".encode() + after


def transform(form: str, inside: str = "") -> str:
    return f'<ds:Transform Algorithm="{form}">{inside}</ds:Transform>'


def package(document: bytes, data: bytes) -> bytes:
    return body_of(part(PART_HEAD, document), part(PAYLOAD_HEAD, data))


@pytest.fixture
def sign_by_libxmlsec():
    """Fills in the values of a template; the part is what is given with it."""
    xmlsec = pytest.importorskip("xmlsec", reason="libxmlsec is not installed")
    content: list[bytes] = []

    def read(_, buffer):
        data = content.pop() if content else b""
        buffer[: len(data)] = data
        return len(data)

    def sign(document: bytes, data: bytes) -> bytes:
        content[:] = [data]
        pem = key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        context = xmlsec.SignatureContext()
        context.key = xmlsec.Key.from_memory(pem, xmlsec.KeyFormat.PEM, None)
        root = etree.fromstring(EMPTY.sub(rb"<ds:\1></ds:\1>", document))
        context.sign(root.find(f".//{{{DS}}}Signature"))
        return etree.tostring(root, xml_declaration=True, encoding="UTF-8")

    xmlsec.cleanup_callbacks()
    xmlsec.register_default_callbacks()
    xmlsec.register_callbacks(lambda _: True, lambda uri: uri, read, lambda _: None)
    yield sign
    xmlsec.cleanup_callbacks()
    xmlsec.register_default_callbacks()


@pytest.mark.statement("E2-53")
@pytest.mark.parametrize("data", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("form", FORMS)
def test_what_libxmlsec_signs_in_canonical_form_verifies(sign_by_libxmlsec, form, data):
    """And with another element in the part it does not; its spelling may be another."""
    document = transformed(decode(*signed()).header, transform(form))
    body = package(sign_by_libxmlsec(document, data), data)
    envelope = verify(body, PACKAGE_TYPE, der())
    assert isinstance(envelope.signature, Signature)
    assert envelope.signature.transforms_parts
    again = etree.tostring(etree.fromstring(data))
    verify(body.replace(data, again), PACKAGE_TYPE, der())
    changed = re.sub(rb"Order ", b"Other ", again, count=1).replace(b"Order>", b"Other>")
    with pytest.raises(RemoteError, match="digest of the part"):
        verify(body.replace(data, changed), PACKAGE_TYPE, der())


def digest_over(form: Method, data: bytes) -> dict[object, bytes]:
    """What is found when the part comes in two pieces."""
    one = PartDigesting([Digest("cid:a", SHA256, b"", form)], has_sink=False)
    one.update(data[:7])
    one.update(data[7:])
    return dict(one.finish())


def test_a_prefix_list_of_the_exclusive_form_is_obeyed():
    """It renders a namespace that nothing uses."""
    inside = f'<x:InclusiveNamespaces xmlns:x="{EXCLUSIVE}" PrefixList="b"/>'
    found = decode(
        package(transformed(decode(*signed()).header, transform(EXCLUSIVE, inside)), b"<a/>")
    )
    assert isinstance(found.signature, Signature)
    (digest,) = found.signature.payloads
    assert digest.form is not None
    ours = digest_over(digest.form, NAMESPACED)[SHA256, digest.form]
    root = etree.fromstring(NAMESPACED)
    theirs = etree.tostring(
        root, method="c14n", exclusive=True, with_comments=False, inclusive_ns_prefixes=["b"]
    )
    assert ours == sha256(theirs).digest()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no XML",
        b"<a>",
        b"<!DOCTYPE a><a/>",
        b"<?pi?><a/>",
        b'<?xml version="1.0" encoding="iso-8859-1"?><a/>',
        b"<a>" + b" " * XML_PART_BYTES_MAX + b"</a>",
        b"<a>" + b"<b/>" * 20_000 + b"</a>",
        b"<a>" * 65 + b"</a>" * 65,
    ],
    ids=["empty", "text", "open", "doctype", "pi", "latin", "long", "many", "deep"],
)
def test_a_part_without_a_canonical_form_fits_no_signature(data):
    """S14: nothing is resolved; and the limits hold."""
    assert digest_over(Method(), data) == {}
    envelope = decode(package(transformed(decode(*signed()).header, transform(INCLUSIVE)), data))
    assert isinstance(envelope.signature, Signature)
    with pytest.raises(RemoteError, match="is signed in canonical form and has none") as refused:
        check_digests(envelope.signature, forms_in(envelope), envelope.part_digests, [])
    assert refused.value.code is ErrorCode.SECURITY_FAILURE


def test_comments_are_signed_only_where_there_are_none():
    """As in the envelope."""
    with_comments = Method(with_comments=True)
    assert digest_over(with_comments, b"<a><!-- x --></a>") == {}
    assert len(digest_over(with_comments, b"<a/>")) == 1


@pytest.mark.parametrize(
    "transforms",
    [
        "",
        transform(INCLUSIVE) * 2,
        transform(f"{DS}base64"),
        transform("http://www.w3.org/TR/1999/REC-xslt-19991116", "<x/>"),
        "<x/>",
        "<ds:Transform/>",
    ],
    ids=range(6),
)
def test_every_other_transform_of_a_part_is_not_supported(transforms):
    found = decode(package(transformed(decode(*signed()).header, transforms), PAYLOAD)).signature
    assert isinstance(found, UnreadableSignature)
    assert (found.code, found.location) == (ErrorCode.NOT_SUPPORTED, "cid:po-1@a.example.com")


def test_a_canonical_form_with_unknown_parameters_is_refused():
    document = transformed(decode(*signed()).header, transform(INCLUSIVE, "<x/>"))
    found = decode(package(document, PAYLOAD)).signature
    assert isinstance(found, UnreadableSignature)
    assert found.code is ErrorCode.SECURITY_FAILURE


def test_digests_of_both_kinds_stand_side_by_side():
    """Of one part, when two names of it are signed."""
    digests = [Digest("cid:a", SHA256, b""), Digest("cid:%61", SHA256, b"", Method())]
    one = PartDigesting(digests, has_sink=True)
    one.update(b"<a/>")
    found = one.finish(sha256(b"<a/>").hexdigest())
    assert b64encode(found[SHA256]) == b64encode(sha256(b"<a/>").digest())
    assert found[SHA256, Method()] == sha256(b"<a></a>").digest()
