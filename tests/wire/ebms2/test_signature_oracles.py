"""Our signatures under two other implementations, and theirs under ours (E2-53).

The XML-DSig of the JDK, which Java products use, and libxmlsec with libxml2. Each is there or not,
and is independent of us and of the other.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from ebms2_samples import (
    ACK_REQUESTED,
    DOCUMENT,
    NEXT_MSH,
    PACKAGE_TYPE,
    PART_HEAD,
    PAYLOAD,
    PAYLOAD_HEAD,
    PLAIN_TYPE,
    SYNC_REPLY,
    TO_PARTY,
    body_of,
    decode,
    decode_document,
    edited,
    part,
    signal_document,
)
from lxml import etree
from signed_samples import MORE, certificate, der, key, signed, signing, verify

PROGRAM = Path(__file__).parent / "Dsig.java"
DS = "http://www.w3.org/2000/09/xmldsig#"

HOP = ACK_REQUESTED.replace(TO_PARTY, NEXT_MSH)
WITH_HOPS = edited((ACK_REQUESTED, f"{ACK_REQUESTED}{HOP}{SYNC_REPLY}"))
THEIRS = {
    "message": DOCUMENT,
    "hops": WITH_HOPS,
    "exclusive": WITH_HOPS,
    "nofilter": DOCUMENT,
    "language": WITH_HOPS.replace(
        "<SOAP:Header>", '<SOAP:Header xml:lang="de" xml:space="preserve">'
    ),
    "exclusive-language": WITH_HOPS.replace("<SOAP:Envelope ", '<SOAP:Envelope xml:lang="de" '),
    "default": WITH_HOPS.replace("<SOAP:Envelope ", '<SOAP:Envelope xmlns="urn:default" '),
    "comments": WITH_HOPS.replace("<SOAP:Body>", "<!-- x --><SOAP:Body><![CDATA[ ]]>&#13;\t"),
    "signal": signal_document("Ping", about=""),
}
"""Envelopes that others sign, and what is special in them; the first word says how."""


OURS = [f"{form}-{digits}" for form in ("inclusive", "exclusive") for digits in (256, 384, 512)]


def ours() -> dict[str, tuple[bytes, bytes]]:
    """Envelopes that we sign, each with its payload."""
    found = {}
    for is_exclusive in (False, True):
        for digits in ("256", "384", "512"):
            how = signing("rsa-2048", f"{MORE}rsa-sha{digits}", is_exclusive=is_exclusive)
            envelope = decode(*signed(how=how))
            name = f"{'exclusive' if is_exclusive else 'inclusive'}-{digits}"
            found[name] = (envelope.header, PAYLOAD)
    return found


# --- The JDK -------------------------------------------------------------------------------------


def jdk(command: str, folder: Path) -> dict[str, str]:
    """What the JDK says of each document in the folder."""
    if shutil.which("java") is None or shutil.which("javac") is None:
        pytest.skip("there is no JDK on this machine")
    store = folder / "keys.p12"
    encryption = BestAvailableEncryption(b"password")
    store.write_bytes(
        pkcs12.serialize_key_and_certificates(b"one", key(), certificate(), None, encryption)
    )
    run = subprocess.run(
        ["java", PROGRAM, command, folder, store], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return dict(line.split(" ", 1) for line in run.stdout.splitlines())


@pytest.mark.statement("E2-53", "E2-44")
def test_what_we_sign_is_valid_under_the_jdk(tmp_path):
    """And one changed letter is not, so that its word means something."""
    documents = {name: document for name, (document, _) in ours().items()}
    for name, document in documents.items():
        (tmp_path / f"{name}.xml").write_bytes(document)
    broken = documents["inclusive-256"].replace(b"cpa-ab-1", b"cpa-ab-2")
    (tmp_path / "broken.xml").write_bytes(broken)
    (tmp_path / "po-1@a.example.com").write_bytes(PAYLOAD)
    said = jdk("verify", tmp_path)
    assert said == {f"{name}.xml": "valid" for name in documents} | {"broken.xml": "invalid"}


@pytest.mark.statement("E2-53", "E2-44", "E2-47", "E2-48")
def test_what_the_jdk_signs_verifies(tmp_path):
    for name, document in THEIRS.items():
        (tmp_path / f"{name}.xml").write_text(document)
    (tmp_path / "po-1@a.example.com").write_bytes(PAYLOAD)
    said = jdk("sign", tmp_path)
    assert said == {f"{name}.xml": "signed" for name in THEIRS}
    for name in THEIRS:
        check_theirs((tmp_path / f"{name}.xml").read_bytes())


def check_theirs(document: bytes) -> None:
    """It verifies; with another letter in it, it does not."""
    has_payload = b":Manifest" in document
    body = document
    if has_payload:
        body = body_of(part(PART_HEAD, document), part(PAYLOAD_HEAD, PAYLOAD))
    content_type = PACKAGE_TYPE if has_payload else PLAIN_TYPE
    verify(body, content_type, der())
    with pytest.raises(Exception, match="digest of the envelope"):
        verify(body.replace(b"cpa-ab-1", b"cpa-ab-2"), content_type, der())


# --- libxmlsec -----------------------------------------------------------------------------------


def xmlsec_key():
    xmlsec = pytest.importorskip("xmlsec", reason="libxmlsec is not installed")
    pem = key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return xmlsec, xmlsec.Key.from_memory(pem, xmlsec.KeyFormat.PEM, None)


@pytest.fixture
def parts(tmp_path):
    """libxmlsec reads files; cid: is given to it as one."""
    xmlsec = pytest.importorskip("xmlsec", reason="libxmlsec is not installed")
    content = {"cid:po-1@a.example.com": PAYLOAD}
    opened: dict[str, list[bytes]] = {}

    def match(uri):
        return uri.startswith(b"cid:") if isinstance(uri, bytes) else uri.startswith("cid:")

    def open_part(uri):
        name = uri.decode() if isinstance(uri, bytes) else uri
        opened[name] = [content[name]]
        return name

    def read(name, buffer):
        data = opened[name].pop() if opened[name] else b""
        buffer[: len(data)] = data
        return len(data)

    xmlsec.cleanup_callbacks()
    xmlsec.register_default_callbacks()
    xmlsec.register_callbacks(match, open_part, read, lambda name: None)
    yield
    xmlsec.cleanup_callbacks()
    xmlsec.register_default_callbacks()


@pytest.mark.statement("E2-53")
@pytest.mark.parametrize("name", OURS)
def test_what_we_sign_is_valid_under_libxmlsec(name, parts):
    """IR-21: where it stands, which is where it stood when its canonical form was made."""
    xmlsec, public = xmlsec_key()
    document, _ = ours()[name]
    context = xmlsec.SignatureContext()
    context.key = public
    root = etree.fromstring(document)
    context.verify(root.find(f".//{{{DS}}}Signature"))
    broken = etree.fromstring(document.replace(b"cpa-ab-1", b"cpa-ab-2"))
    context = xmlsec.SignatureContext()
    context.key = public
    with pytest.raises(xmlsec.Error):
        context.verify(broken.find(f".//{{{DS}}}Signature"))


TEMPLATE = re.compile(rb"<ds:(DigestValue|SignatureValue)>[^<]*</ds:\1>")


@pytest.mark.statement("E2-53")
@pytest.mark.parametrize("name", [name for name in THEIRS if name != "nofilter"])
def test_what_libxmlsec_signs_verifies(name, parts):
    """It fills in the values of a template, which is our signature without any."""
    xmlsec, private = xmlsec_key()
    is_signal = name == "signal"
    how = signing(is_exclusive=name.startswith("exclusive"))
    template = ours()["exclusive-256" if how.is_exclusive else "inclusive-256"][0]
    signature = re.search(rb"<ds:Signature .*</ds:Signature>", template, re.DOTALL)
    assert signature is not None
    empty = TEMPLATE.sub(rb"<ds:\1></ds:\1>", signature[0])
    if is_signal:
        empty = re.sub(rb'<ds:Reference URI="cid.*?</ds:Reference>', b"", empty)
    document = THEIRS[name].encode().replace(b"</SOAP:Header>", empty + b"</SOAP:Header>")
    root = etree.fromstring(document)
    context = xmlsec.SignatureContext()
    context.key = private
    context.sign(root.find(f".//{{{DS}}}Signature"))
    check_theirs(etree.tostring(root, xml_declaration=True, encoding="UTF-8"))


def test_an_envelope_of_theirs_is_a_message_of_ours():
    """What is signed is what is believed."""
    assert decode_document(WITH_HOPS).content == decode_document(THEIRS["comments"]).content
