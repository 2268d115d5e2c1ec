"""Signed packages: written, read and verified; and every shape of a signature that is not."""

import base64
import re
import tracemalloc
from hashlib import new, sha256

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from ebms2_samples import (
    ACK_REQUESTED,
    EXAMPLES,
    GOLDEN,
    PAYLOAD,
    PLAIN_TYPE,
    SIGNAL,
    SYNC_REPLY,
    decode,
    decode_document,
    file_of,
    http_package,
    part,
)
from signed_samples import (
    MESSAGE_TO_SIGN,
    MORE,
    RSA_SHA1,
    RSA_SHA256,
    certificate,
    der,
    forms_in,
    key,
    signed,
    signing,
    verify,
)

from onceonly.message.errors import ErrorCode, LocalError, RemoteError
from onceonly.message.message import AcknowledgmentElement, Message
from onceonly.message.signals import Acknowledgment
from onceonly.message.word import changed
from onceonly.wire.envelope import Decoder, PartHead
from onceonly.wire.proof import check_digests, check_value, digest_of, signer_of
from onceonly.wire.signature import (
    DIGESTS,
    EXCLUSIVE,
    INCLUSIVE,
    INCLUSIVE_1_1,
    REFERENCES_MAX,
    EnvelopeSigning,
    Signature,
    Signer,
    UnreadableSignature,
    is_evidence,
)

DS = "http://www.w3.org/2000/09/xmldsig#"
XPATH = re.compile(r"<ds:XPath.*?</ds:XPath>", re.DOTALL)
SIGNATURE = re.compile(r"<ds:Signature .*</ds:Signature>", re.DOTALL)


def example_certificate() -> bytes:
    pem = file_of(EXAMPLES / "ebms2", "signer-cert.pem")
    return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)


def test_the_signed_examples_verify():
    """The message with its payload, and the acknowledgement with copies of its references."""
    content_type, body = http_package("10-signed-message.http")
    message = verify(body, content_type, example_certificate())
    document = file_of(EXAMPLES / "ebms2", "11-signed-acknowledgment.xml")
    acknowledgment = verify(document, PLAIN_TYPE, example_certificate()).content
    assert isinstance(acknowledgment, Acknowledgment)
    assert acknowledgment.element is not None
    copied = acknowledgment.element.references
    assert tuple(changed(one, text="") for one in forms_in(message).references) == copied


METHODS = [
    ("rsa-2048", f"{MORE}rsa-sha256"),
    ("rsa-2048", f"{MORE}rsa-sha384"),
    ("rsa-2048", f"{MORE}rsa-sha512"),
    ("p256", f"{MORE}ecdsa-sha256"),
    ("p384", f"{MORE}ecdsa-sha384"),
    ("p521", f"{MORE}ecdsa-sha512"),
]


@pytest.mark.statement("E2-40", "E2-41", "E2-44")
@pytest.mark.parametrize("is_exclusive", [False, True], ids=["inclusive", "exclusive"])
@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_what_we_sign_verifies(kind, method, is_exclusive):
    body, content_type = signed(how=signing(kind, method, is_exclusive=is_exclusive))
    envelope = verify(body, content_type, der(kind))
    assert changed(envelope.content, payloads=()) == changed(MESSAGE_TO_SIGN, payloads=())
    assert isinstance(envelope.signature, Signature)
    assert [one.uri for one in envelope.signature.payloads] == ["cid:po-1@a.example.com"]
    assert envelope.signature.certificates == (der(kind),)


@pytest.mark.parametrize("is_exclusive", [False, True], ids=["inclusive", "exclusive"])
def test_our_layout_of_a_signature_stays_as_it_is(is_exclusive):
    """Pinned byte for byte; the value is a digest of what a key would sign."""
    signer = Signer(method=RSA_SHA256, certificate=b"DER", sign=lambda data: sha256(data).digest())
    body, _ = signed(how=EnvelopeSigning(signer=signer, is_exclusive=is_exclusive))
    name = "signed-exclusive" if is_exclusive else "signed"
    assert body == (GOLDEN / f"{name}.http").read_bytes()


@pytest.mark.statement("E2-84")
def test_a_signed_acknowledgement_copies_the_references_and_is_evidence():
    """Each copy has every prefix bound, so it means the same in another envelope (IR-22)."""
    references = forms_in(decode(*signed())).references
    element = AcknowledgmentElement(timestamp_at=SIGNAL.timestamp_at, references=references)
    content = verify(*signed(Acknowledgment(SIGNAL, element)), der()).content
    assert isinstance(content, Acknowledgment)
    assert content.element is not None
    copied = content.element.references
    assert copied == tuple(changed(one, text="") for one in references)
    assert is_evidence(references, copied)
    assert is_evidence(references, reversed(copied))


def test_the_acknowledgement_of_something_else_is_no_evidence():
    """S30: of another message, of a part of it, of more than it, or of nothing."""
    references = forms_in(decode(*signed())).references
    other = forms_in(decode(*signed(changed(MESSAGE_TO_SIGN, message_id="m-2")))).references
    assert not is_evidence(references, other)
    assert not is_evidence(references, references[:1])
    assert not is_evidence(references, [*references, changed(references[1], uri="cid:more")])
    assert not is_evidence(references, ())


# --- What may change, and what may not -----------------------------------------------------------


def edited(body: bytes, old: str, new: str) -> bytes:
    assert body.count(old.encode()) == 1, old
    return body.replace(old.encode(), new.encode())


@pytest.mark.statement("E2-42")
def test_what_is_for_the_next_msh_may_go_and_come():
    """SyncReply and a next AckRequested, but not the white space beside them."""
    body, content_type = signed()
    assert SYNC_REPLY.encode() in body
    without = edited(body, SYNC_REPLY, "")
    verify(without, content_type, der())
    verify(edited(without, " </SOAP:Header>", f"{SYNC_REPLY} </SOAP:Header>"), content_type, der())


@pytest.mark.statement("E2-43")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<eb:CPAId>cpa-ab-1", "<eb:CPAId>cpa-ab-2"),
        (" </SOAP:Header>", "</SOAP:Header>"),
        (ACK_REQUESTED, ""),
        (f"\r\n{'  '}{SYNC_REPLY}", ""),
        ('xlink:href="cid:po-1@a.example.com"', 'xlink:href="cid:po%2D1@a.example.com"'),
        ("</eb:MessageHeader>", "</eb:MessageHeader><x/>"),
        ("PO-4711", "PO-4712"),
        ("<ds:SignatureValue>", "<ds:SignatureValue>AAAA"),
        (f'Algorithm="{RSA_SHA256}"', f'Algorithm="{MORE}rsa-sha512"'),
    ],
    ids=range(9),
)
def test_a_change_of_anything_else_breaks_the_signature(old, new):
    body, content_type = signed()
    with pytest.raises(RemoteError) as refused:
        verify(edited(body, old, new), content_type, der())
    assert refused.value.code is ErrorCode.SECURITY_FAILURE


def test_spelling_that_a_canonical_form_levels_out_may_change():
    body, content_type = signed()
    body = edited(body, "<eb:CPAId>cpa-ab-1", "<eb:CPAId>cpa-<![CDATA[ab]]>-&#49;<!-- x -->")
    body = edited(body, '<?xml version="1.0" encoding="UTF-8"?>\r\n', "\n")
    verify(body.replace(b"\r\n <", b"\n <").replace(b"\r\n  <", b"\n  <"), content_type, der())


@pytest.mark.parametrize("kind", ["rsa-2048", "p256"])
def test_the_signature_of_somebody_else_is_refused(kind):
    method = RSA_SHA256 if kind.startswith("rsa") else f"{MORE}ecdsa-sha256"
    body, content_type = signed(how=signing(kind, method))
    with pytest.raises(RemoteError, match="not of this key"):
        verify(body, content_type, der(kind, "other"))


@pytest.mark.parametrize("certificate", [b"", b"no certificate"])
def test_a_certificate_that_is_none_verifies_nothing(certificate):
    with pytest.raises(RemoteError, match="cannot be read"):
        verify(*signed(), certificate)


# --- Parts ---------------------------------------------------------------------------------------


def with_part(body: bytes, head: str, data: bytes) -> bytes:
    first = body.index(b"\r\n------=_ebms", 10)
    return body[: first + 2] + part(head, data) + body[first + 2 :]


def test_a_part_that_nothing_names_makes_a_signed_package_none():
    """P7: nothing travels under the cover of a signature that is not under it."""
    body, content_type = signed()
    with pytest.raises(RemoteError) as refused:
        decode(with_part(body, "Content-ID: <extra>\r\n", b"x"), content_type)
    assert (refused.value.code, refused.value.location) == (ErrorCode.MIME_PROBLEM, "cid:extra")


def test_a_part_that_is_signed_and_not_named_is_verified_and_dropped():
    body, content_type = signed()
    digest = base64.b64encode(new("sha512", b"extra").digest()).decode()
    method = next(uri for uri, name in DIGESTS.items() if name == "sha512")
    reference = (
        f'<ds:Reference URI="cid:extra"><ds:DigestMethod Algorithm="{method}"/>'
        f"<ds:DigestValue>{digest}</ds:DigestValue></ds:Reference></ds:SignedInfo>"
    )
    body = edited(body, "</ds:SignedInfo>", reference)
    envelope = decode(with_part(body, "Content-ID: <extra>\r\n", b"extra"), content_type)
    assert isinstance(envelope.signature, Signature)
    assert envelope.dropped_parts == 1
    forms = forms_in(envelope)
    check_digests(envelope.signature, forms, envelope.part_digests, ["po-1@a.example.com"])
    missing = {"po-1@a.example.com": envelope.part_digests["po-1@a.example.com"]}
    with pytest.raises(RemoteError, match="no such part came"):
        check_digests(envelope.signature, forms, missing, ["po-1@a.example.com"])


@pytest.mark.parametrize("name", DIGESTS.values())
def test_payloads_are_digested_as_the_signature_wants_while_they_come(name):
    method = next(uri for uri, one in DIGESTS.items() if one == name)
    wanted = base64.b64encode(new(name, PAYLOAD).digest()).decode()
    body, content_type = signed()
    head, _, rest = body.partition(b'<ds:Reference URI="cid:')
    old = re.compile(rb'Algorithm="[^"]*"/><ds:DigestValue>[^<]*')
    rest = old.sub(f'Algorithm="{method}"/><ds:DigestValue>{wanted}'.encode(), rest, count=1)
    envelope = decode(head + b'<ds:Reference URI="cid:' + rest, content_type)
    assert envelope.part_digests == {"po-1@a.example.com": {method: digest_of(method, PAYLOAD)}}


def test_a_payload_that_the_signature_does_not_cover_is_refused():
    """S23."""
    envelope = decode(*signed())
    assert isinstance(envelope.signature, Signature)
    bare = changed(envelope.signature, payloads=())
    with pytest.raises(RemoteError, match=r"does not cover the part 'po-1"):
        check_digests(bare, forms_in(envelope), {}, ["po-1@a.example.com"])


class Counted:
    """A sink that keeps nothing."""

    def __init__(self, _: PartHead) -> None:
        self._digest, self._size_bytes = sha256(), 0

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self._size_bytes += len(data)

    def close(self) -> tuple[int, str]:
        return self._size_bytes, self._digest.hexdigest()


GIBIBYTE_OF_ZEROS = "49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14"


@pytest.mark.statement("E2-54")
def test_a_payload_of_a_gibibyte_is_signed_and_verified_in_pieces():
    """The writer takes the digest that the payload carries; the reader keeps one piece."""
    piece, count = bytes(1 << 20), 1 << 10
    large = changed(
        MESSAGE_TO_SIGN.payloads[0], size_bytes=len(piece) * count, digest=GIBIBYTE_OF_ZEROS
    )
    body, content_type = signed(changed(MESSAGE_TO_SIGN, payloads=(large,)))
    before, after = body.split(PAYLOAD)
    tracemalloc.start()
    try:
        decoder = Decoder(content_type, Counted)
        decoder.feed(before)
        for _ in range(count):
            decoder.feed(piece)
        decoder.feed(after)
        envelope = decoder.finish()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * len(piece)
    assert isinstance(envelope.signature, Signature)
    forms = forms_in(envelope)
    check_digests(envelope.signature, forms, envelope.part_digests, ["po-1@a.example.com"])
    check_value(der(), envelope.signature, forms.signed_info)


# --- The filter ----------------------------------------------------------------------------------

NODE = "ancestor-or-self::node()"
ACTORS = (
    "urn:oasis:names:tc:ebxml-msg:actor:nextMSH",
    "http://schemas.xmlsoap.org/soap/actor/next",
)
BOUND = 'xmlns:SOAP="http://schemas.xmlsoap.org/soap/envelope/"'


def with_filter(expression: str, attributes: str = BOUND) -> str:
    body, _ = signed(Acknowledgment(SIGNAL))
    replacement = f"<ds:XPath {attributes}>{expression}</ds:XPath>"
    document, count = XPATH.subn(lambda _: replacement, body.decode())
    assert count == 1
    return document


def signature_of(document: str) -> Signature | UnreadableSignature | None:
    return decode_document(document).signature


def expression(prefix: str = "SOAP", quote: str = '"', one: int = 0, gap: str = "") -> str:
    conditions = [
        f"{NODE}[@{prefix}:actor{gap}={gap}{quote}{ACTORS[at]}{quote}]" for at in (one, 1 - one)
    ]
    return f"not({gap}{conditions[0]}{gap}|{gap}{conditions[1]}{gap})".replace("'", "&apos;")


@pytest.mark.statement("E2-45")
@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        (expression(), BOUND),
        (expression(), ""),
        (expression(gap=" "), BOUND),
        (expression(gap="\n\t  "), BOUND),
        (f"\n  {expression()}\n", BOUND),
        (expression(quote="'"), BOUND),
        (expression(one=1), BOUND),
        (expression(prefix="SOAP-ENV"), BOUND.replace("SOAP=", "SOAP-ENV=")),
        (expression().replace("::node()", " :: node ( ) "), BOUND),
    ],
    ids=range(9),
)
def test_the_filter_is_recognised_in_every_spelling(text, attributes):
    document = with_filter(text, attributes)
    assert isinstance(signature_of(document), Signature)
    assert forms_in(decode_document(document)).envelope


@pytest.mark.statement("E2-46")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "true()",
        expression() + " or true()",
        f"not({NODE}[@SOAP:actor='{ACTORS[0]}'])",
        expression().replace(ACTORS[1], ACTORS[0]),
        expression().replace(ACTORS[1], "urn:else"),
        expression().replace(")", f"|{NODE}[@x='y'])", 1),
        expression().replace("@SOAP:actor", "@actor", 1),
        expression().replace("@SOAP:actor", "@eb:actor", 1),
        expression().replace("actor/next", "actor/ next"),
        expression().replace("ancestor-or-self", "self", 1),
        f"<x/>{expression()}",
    ],
    ids=range(12),
)
def test_any_other_expression_is_refused_and_never_evaluated(text):
    """S24."""
    found = signature_of(with_filter(text))
    assert isinstance(found, UnreadableSignature)
    assert found.code is ErrorCode.SECURITY_FAILURE
    assert found.location == "//SOAP:Header/ds:Signature"


@pytest.mark.parametrize(
    "attributes", ['xmlns:SOAP="urn:else"', 'xmlns:S2="http://schemas.xmlsoap.org/soap/envelope/"']
)
def test_a_filter_whose_prefix_is_not_that_of_soap_is_refused(attributes):
    prefix = "Foo" if "S2" in attributes else "SOAP"
    document = with_filter(expression(prefix=prefix), attributes)
    with pytest.raises(RemoteError, match="not bound to SOAP"):
        forms_in(decode_document(document))


@pytest.mark.statement("E2-46")
def test_without_the_filter_everything_but_the_signature_is_covered():
    document = with_filter(expression())
    bare = re.sub(r'<ds:Transform Algorithm="[^"]*xpath[^"]*">.*?</ds:Transform>', "", document)
    envelope = decode_document(bare.replace("</SOAP:Header>", f"{SYNC_REPLY}</SOAP:Header>"))
    assert isinstance(envelope.signature, Signature)
    assert envelope.signature.filter_prefix is None
    covered = forms_in(envelope).envelope
    assert b"SyncReply" in covered
    assert b"SignedInfo" not in covered


# --- Shapes --------------------------------------------------------------------------------------


def broken(old: str, new: str) -> Signature | UnreadableSignature | None:
    body, _ = signed(Acknowledgment(SIGNAL))
    document = body.decode()
    assert old in document, old
    return signature_of(document.replace(old, new, 1))


EMPTY_URI = '<ds:Reference URI="">'
SHA256 = "http://www.w3.org/2001/04/xmlenc#sha256"
DIGEST = f'<ds:DigestMethod Algorithm="{SHA256}"/>'
METHOD = f'<ds:SignatureMethod Algorithm="{RSA_SHA256}"/>'
FORM = f'<ds:CanonicalizationMethod Algorithm="{INCLUSIVE}"/>'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (EMPTY_URI, '<ds:Reference URI="#id">'),
        (EMPTY_URI, '<ds:Reference URI="http://example.com/">'),
        (EMPTY_URI, "<ds:Reference>"),
        (DIGEST, ""),
        (SHA256, "http://www.w3.org/2001/04/xmldsig-more#md5"),
        (SHA256, "http://www.w3.org/2001/04/xmlenc#sha512"),
        (DIGEST, f"{DIGEST[:-2]}><x/></ds:DigestMethod>"),
        ("<ds:DigestValue>", "<ds:DigestValue>!"),
        ("<ds:DigestValue>", "<ds:DigestValue>AAAA"),
        ("<ds:DigestValue>", "<ds:DigestValue><x/>"),
        ("<ds:SignatureValue>", "<ds:SignatureValue>\u00e9"),
        ("<ds:SignatureValue>", f"<ds:SignatureValue>{'AAAA' * 800}"),
        ("<ds:SignedInfo>", "<ds:SignedInfo><ds:Object/>"),
        ("</ds:SignedInfo>", "<ds:Object/></ds:SignedInfo>"),
        ("</ds:Signature>", "<ds:KeyInfo/></ds:Signature>"),
        ("<ds:KeyInfo>", "<ds:Object/><ds:KeyInfo>"),
        ("<ds:SignedInfo>", "<ds:SignatureValue/><ds:SignedInfo>"),
        (METHOD, ""),
        (
            METHOD,
            f"{METHOD[:-2]}><ds:HMACOutputLength>1</ds:HMACOutputLength></ds:SignatureMethod>",
        ),
        (f'<ds:Transform Algorithm="{DS}enveloped-signature"/>', ""),
        ("<ds:Transforms>", "<ds:Transforms><ds:Transform/>"),
        ("<ds:Transforms>", "<ds:Transforms><x/>"),
        ("</ds:Transforms>", f'<ds:Transform Algorithm="{INCLUSIVE}"/></ds:Transforms>'),
        ("</ds:Transforms>", f'<ds:Transform Algorithm="{DS}base64"/></ds:Transforms>'),
        (f'<ds:Transform Algorithm="{INCLUSIVE}"/>', '<ds:Transform Algorithm="urn:xslt"/>'),
        (FORM, FORM.replace(INCLUSIVE, "urn:x")),
        (FORM, f"{FORM[:-2]}><x/></ds:CanonicalizationMethod>"),
        (FORM, f"{FORM[:-2]}><x/></ds:CanonicalizationMethod>".replace(INCLUSIVE, EXCLUSIVE)),
        ("<ds:XPath ", "<ds:XPath2 xmlns:x='y' /><ds:XPath "),
    ],
    ids=range(29),
)
def test_a_signature_of_another_shape_is_refused(old, new):
    """S23, S26, S27; it may still be ignored where none was agreed (E2-49)."""
    found = broken(old, new)
    assert isinstance(found, UnreadableSignature)
    assert found.code is ErrorCode.SECURITY_FAILURE


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "<ds:SignatureProperties/>",
        "<ds:SignedInfo><ds:Reference URI='#x'/></ds:SignedInfo>",
        "<ds:KeyInfo><ds:X509Certificate>AAAA</ds:X509Certificate></ds:KeyInfo>",
    ],
    ids=["empty", "properties", "references", "certificates"],
)
def test_objects_of_a_signature_are_left_alone(inside):
    """Some products write when it was made there. Nothing in them counts, whatever they hold."""
    body, content_type = signed()
    whole = edited(body, "</ds:Signature>", f"<ds:Object>{inside}</ds:Object></ds:Signature>")
    found = verify(whole, content_type, der())
    assert found.signature == decode(body, content_type).signature
    assert forms_in(found) == forms_in(decode(body, content_type))


@pytest.mark.parametrize(("uri", "count"), [("", 0), ("", 2), ("cid", 2), ("cid", REFERENCES_MAX)])
def test_a_wrong_number_of_references_is_refused(uri, count):
    """S23: the envelope once, and each part once."""
    body, content_type = signed()
    found = re.search(f'<ds:Reference URI="{uri}.*?</ds:Reference>'.encode(), body)
    assert found is not None
    changed_body = body.replace(found[0], found[0] * count)
    assert isinstance(decode(changed_body, content_type).signature, UnreadableSignature)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<SOAP:Body>", "<SOAP:Body>SIGNATURE"),
        ("</eb:MessageHeader>", "SIGNATURE</eb:MessageHeader>"),
        ("</SOAP:Header>", "<x>SIGNATURE</x></SOAP:Header>"),
        ("</SOAP:Body>", "</SOAP:Body>SIGNATURE"),
    ],
    ids=["body", "header", "wrapped", "after"],
)
def test_a_signature_in_another_place_is_refused(old, new):
    """S20-S22: moved there, and beside the real one."""
    body, _ = signed(Acknowledgment(SIGNAL))
    document = body.decode()
    found = SIGNATURE.search(document)
    assert found is not None
    moved = document.replace(found[0], "").replace(old, new.replace("SIGNATURE", found[0]), 1)
    both = document.replace(old, new.replace("SIGNATURE", found[0]), 1)
    for one in (moved, both):
        assert isinstance(signature_of(one), UnreadableSignature)


@pytest.mark.statement("E2-44")
@pytest.mark.parametrize("algorithm", [INCLUSIVE, INCLUSIVE_1_1, EXCLUSIVE])
@pytest.mark.parametrize("comments", ["#WithComments", ""])
def test_every_canonical_form_is_read(algorithm, comments):
    """With comments only where the document has none (S34)."""
    named = algorithm + (comments.removeprefix("#") if algorithm == EXCLUSIVE else comments)
    body, _ = signed(Acknowledgment(SIGNAL))
    document = body.decode().replace(f'"{INCLUSIVE}"', f'"{named}"')
    found = signature_of(document)
    assert isinstance(found, Signature)
    assert found.canonicalization.is_exclusive is (algorithm == EXCLUSIVE)
    assert forms_in(decode_document(document)).signed_info
    commented = document.replace("<SOAP:Body>", "<!-- x --><SOAP:Body>")
    if comments:
        for text in (commented.encode(), commented.replace("UTF-8", "UTF-16").encode("utf-16")):
            with pytest.raises(RemoteError, match="comments are signed"):
                forms_in(decode(text, "text/xml"))
    else:
        assert forms_in(decode_document(commented)).envelope


def test_a_prefix_list_of_the_exclusive_form_is_read():
    prefixes = f'<InclusiveNamespaces xmlns="{EXCLUSIVE}" PrefixList=" eb #default "/>'
    head = f'<ds:CanonicalizationMethod Algorithm="{EXCLUSIVE}">'
    found = broken(FORM, f"{head}{prefixes}</ds:CanonicalizationMethod>")
    assert isinstance(found, Signature)
    assert found.canonicalization.prefixes == {"eb", ""}


def test_certificates_that_cannot_be_read_are_no_hints():
    """S28: they are never trusted, and too many are not looked at."""
    opening = "<ds:X509Certificate>"
    found = broken(opening, f"{opening}!</ds:X509Certificate>" * 20 + opening)
    assert isinstance(found, Signature)
    assert found.certificates == ()
    body, _ = signed(Acknowledgment(SIGNAL))
    bare = re.sub(r"<ds:KeyInfo>.*</ds:KeyInfo>", "", body.decode())
    found = signature_of(bare)
    assert isinstance(found, Signature)
    assert found.certificates == ()


# --- Keys ----------------------------------------------------------------------------------------


@pytest.mark.statement("E2-51")
def test_sha_1_is_refused_unless_it_is_allowed():
    body, content_type = signed(how=signing(method=RSA_SHA1))
    with pytest.raises(RemoteError, match="SHA-1"):
        verify(body, content_type, der())
    verify(body, content_type, der(), accepts_sha1=True)


def test_a_digest_by_sha_1_alone_is_sha_1_too():
    envelope = decode(*signed())
    assert isinstance(envelope.signature, Signature)
    weak = changed(envelope.signature.envelope, method=f"{DS}sha1")
    assert changed(envelope.signature, envelope=weak).uses_sha1
    assert not envelope.signature.uses_sha1


@pytest.mark.parametrize(
    ("kind", "method", "says"),
    [
        ("p256", RSA_SHA256, "needs a key of RSA"),
        ("rsa-2048", f"{MORE}ecdsa-sha256", "needs a key on the curve"),
        ("k1", f"{MORE}ecdsa-sha256", "needs a key on the curve"),
        ("rsa-1024", RSA_SHA256, "1024 bits"),
        ("rsa-2048", f"{DS}hmac-sha1", "is not offered"),
        ("rsa-2048", f"{DS}dsa-sha1", "is not offered"),
    ],
)
def test_a_key_that_does_not_fit_the_method_is_refused(kind, method, says):
    """S26; on both sides."""
    with pytest.raises(LocalError) as ours:
        signer_of(key(kind), certificate(kind), method)
    assert (ours.value.name, says in str(ours.value)) == ("KeyDoesNotFit", True)
    envelope = decode(*signed())
    assert isinstance(envelope.signature, Signature)
    with pytest.raises(RemoteError, match=says):
        check_value(der(kind), changed(envelope.signature, method=method), b"")


def test_a_key_that_is_not_of_the_certificate_is_refused():
    """S42."""
    with pytest.raises(LocalError, match="belong together"):
        signer_of(key(), certificate(name="other"), RSA_SHA256)


@pytest.mark.parametrize("value", [b"\x00" * 64, b"\x01" * 63, b"\x00" * 65])
def test_a_pair_that_is_none_is_refused(value):
    """S26: r = s = 0, and lengths that are not those of the curve."""
    envelope = decode(*signed(how=signing("p256", f"{MORE}ecdsa-sha256")))
    assert isinstance(envelope.signature, Signature)
    with pytest.raises(RemoteError) as refused:
        check_value(der("p256"), changed(envelope.signature, value=value), b"")
    assert refused.value.code is ErrorCode.SECURITY_FAILURE


# --- Where none is wanted ------------------------------------------------------------------------


def test_a_message_without_a_signature_has_none():
    envelope = decode(signed()[0].replace(b"ds:Signature", b"ds:Other"), signed()[1])
    assert envelope.signature is None
    assert envelope.part_digests == {}


def test_a_signature_that_cannot_be_read_does_not_refuse_the_message():
    """Whether one is wanted, the agreement knows (E2-49)."""
    body, content_type = signed()
    envelope = decode(body.replace(b"enveloped-signature", b"detached"), content_type)
    assert isinstance(envelope.content, Message)
    assert isinstance(envelope.signature, UnreadableSignature)
