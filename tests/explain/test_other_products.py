"""Signed captures in the spellings of other products, verified under a configuration.

Each row is one way to write it, signed by libxmlsec. It is accepted by its certificate alone; with
another letter in its envelope or in a payload, and under another certificate, just the check that
is about that fails. A row names bytes that make it what it is, so that it cannot lose them.
"""

import re
import shutil
import subprocess
from base64 import b64encode
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from captures import explained
from click.testing import CliRunner
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from foreign_packages import (
    ACK_REQUESTED,
    DS,
    MESSAGE,
    ORDER,
    RECEIVED_AT,
    SENT,
    SHA256,
    Frame,
    Style,
    as_answer,
    as_request,
    body_of,
    certificate,
    filter_of,
    key,
    pem,
    with_manifest,
)
from product_rows import (
    ALGORITHMS,
    ANSWERING,
    KEY_INFOS,
    ONE,
    ROWS,
    Row,
    body_alone,
    capture_of,
    nothing,
    plain_mail,
)

from onceonly.cli.main import cli
from onceonly.explain.explaining import read_beside
from onceonly.explain.explanation import CaptureVerdict, CheckResult, Explanation
from onceonly.gateway.config import Configuration, read_configuration

PROGRAM = Path(__file__).parents[1] / "wire" / "ebms2" / "Dsig.java"


def configured(
    folder: Path, keys: str = "", name: str = "signer", kind: str = "rsa"
) -> Configuration:
    """A gateway that pins that certificate, and asks for signatures."""
    (folder / "partner.pem").write_text(pem(certificate(name, kind)), "utf-8")
    path = folder / "gateway.toml"
    require = "" if "require_signature" in keys else 'require_signature = "messages"'
    path.write_text(
        f"""
[gateway]
party = [{{id = "222222222", type = "DUNS"}}]
listen = "http://127.0.0.1:8080/ebms"
uri = "http://b.example.com/ebms"
api = "http://127.0.0.1:8081"
store = "g.db"

[[agreement]]
id = "orders"
cpa_id = "cpa-ab-1"
profile = "ebms-2.0"
with = [{{id = "111111111", type = "DUNS"}}]
send_to = "http://a.example.com/ebms"
partner_certificates = ["partner.pem"]
{require}
{keys}
""",
        "utf-8",
    )
    return read_configuration(path)


def failed(found: Explanation) -> list[str]:
    assert found.answer is not None, found
    return [one.name for one in found.answer.checks if one.result is CheckResult.FAILED]


every_row = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)


@every_row
def test_a_spelling_of_another_product_is_read_and_verified(row, tmp_path):
    """By the pinned certificate alone, whatever KeyInfo says."""
    capture = capture_of(row)
    assert row.shows in capture
    found = explained(capture, configured(tmp_path, row.keys, kind=row.style.kind), at=RECEIVED_AT)
    assert found.verdict is CaptureVerdict.ACCEPTED, (failed(found), found.problem)
    assert found.answer is not None
    results = {one.name: one.result for one in found.answer.checks}
    assert {results[name] for name in ("digests", "signer", "validity")} == {CheckResult.PASSED}
    assert found.message is not None
    assert "the digests of all that it covers fit what came" in found.message.says


@every_row
def test_what_was_changed_after_it_was_signed_fails_by_its_digest(row, tmp_path):
    configuration = configured(tmp_path, row.keys, kind=row.style.kind)
    edit = ("m-0001@a", "m-0002@a")
    found = explained(capture_of(row, edit=edit), configuration, at=RECEIVED_AT)
    assert failed(found) == ["digests"]
    if row.payloads:
        found = explained(capture_of(row, other_payload=True), configuration, at=RECEIVED_AT)
        assert failed(found) == ["digests"]


@every_row
def test_another_certificate_than_the_pinned_one_fails_as_signer(row, tmp_path):
    """Also where the right one came with it."""
    configuration = configured(tmp_path, row.keys, "other", row.style.kind)
    found = explained(capture_of(row), configuration, at=RECEIVED_AT)
    assert failed(found) == ["signer"]
    assert found.message is not None
    assert "is right for none of partner_certificates" in str(found.message.says)


BY_ITSELF = {
    "chain, leaf first": "right for the certificate that came with it, that of 'CN=signer'",
    "chain, leaf last": "right for the certificate that came with it, that of 'CN=signer'",
    "issuer alone": "its value is right for no certificate that came with it",
    "issuer and serial": "it says X509IssuerName 'CN=issuer', X509SerialNumber '4711'",
    "key identifier": "X509SubjectName 'CN=signer'",
    "key value": "its value is right for the KeyValue that came with it; nothing says whose",
    "key name": "a hint and no proof; it says KeyName 'signer'",
    "no key info": "it has no KeyInfo",
}


@pytest.mark.parametrize("name", BY_ITSELF)
def test_what_key_info_says_is_told_as_no_proof(name):
    """Without a configuration nobody knows whose a key is."""
    found = explained(capture_of(KEY_INFOS[name]))
    assert found.message is not None
    said = "\n".join(found.message.says)
    assert BY_ITSELF[name] in said
    is_right = "came with it, that" in said or "KeyValue that came" in said
    assert is_right == ("nothing says whose that is" in said)


@pytest.mark.parametrize("name", ["SHA-1", "SHA-1 in digests"])
def test_sha_1_that_nobody_accepted_is_refused_by_its_name(name, tmp_path):
    row = ALGORITHMS[name]
    found = explained(capture_of(row), configured(tmp_path), at=RECEIVED_AT)
    assert failed(found) == ["digests"]
    assert found.answer is not None
    assert any("SHA-1" in (one.remark or "") for one in found.answer.checks)


def test_why_a_signature_of_another_shape_is_refused_is_told(tmp_path):
    """The partner is told no detail; whoever explains needs it."""
    row = Row(style=Style(filter=filter_of().replace("not(", "not( true() or ")))
    found = explained(capture_of(row), configured(tmp_path), at=RECEIVED_AT)
    assert failed(found) == ["signature"]
    assert found.answer is not None
    assert any("expected is the filter" in (one.remark or "") for one in found.answer.checks)


def test_checks_of_what_the_profile_has_not_are_not_listed(tmp_path):
    """It has no RoutingHeader, so that no check of one tells anything."""
    found = explained(capture_of(Row()), configured(tmp_path), at=RECEIVED_AT)
    assert found.answer is not None
    assert not {"receiver-uri", "times"} & {one.name for one in found.answer.checks}


def test_who_asks_for_a_signed_acknowledgement_is_told_that_there_is_no_key(tmp_path):
    """And not that nobody here offers signatures: it is the receiver's configuration."""
    asked = MESSAGE.replace('eb:signed="false"', 'eb:signed="true"')
    found = explained(capture_of(Row(document=asked)), configured(tmp_path), at=RECEIVED_AT)
    assert failed(found) == ["terms"]
    assert found.answer is not None
    assert "the receiver has no key for this agreement" in str(found.answer.checks)


# --- Old captures --------------------------------------------------------------------------------


LATER = datetime(2030, 1, 1, tzinfo=UTC)


def test_of_two_certificates_of_one_key_the_one_that_was_valid_counts(tmp_path):
    """A renewed certificate often has the old key, and both are pinned."""
    configured(tmp_path)
    renewed = pem(certificate(from_at=LATER))
    path = tmp_path / "gateway.toml"
    text = path.read_text("utf-8").replace('["partner.pem"]', '["renewed.pem", "partner.pem"]')
    path.write_text(text, "utf-8")
    (tmp_path / "renewed.pem").write_text(renewed, "utf-8")
    found = explained(capture_of(Row()), read_configuration(path), at=RECEIVED_AT)
    assert found.verdict is CaptureVerdict.ACCEPTED
    (tmp_path / "partner.pem").write_text(pem(certificate("other")), "utf-8")
    found = explained(capture_of(Row()), read_configuration(path), at=RECEIVED_AT)
    assert failed(found) == ["validity"]


@pytest.mark.parametrize(
    ("edit", "words", "code", "verdict"),
    [
        (None, (), 14, "its digests and its signature are right"),
        (None, ("--certificates-at", "2031-01-01"), 0, "as --certificates-at says"),
        (None, ("--certificates-at", "2029-01-01"), 14, "was not valid"),
        (("conv-1", "conv-2"), (), 8, "it would be refused"),
        (("conv-1", "conv-2"), ("--certificates-at", "2031-01-01"), 8, "it would be refused"),
    ],
    ids=["too early", "as of later", "as of earlier", "changed", "changed, as of later"],
)
def test_an_exit_code_says_that_only_the_time_of_the_certificate_is_wrong(
    edit, words, code, verdict, tmp_path
):
    """Under a certificate that began after the Timestamp, as in an old capture."""
    configured(tmp_path)
    (tmp_path / "partner.pem").write_text(pem(certificate(from_at=LATER)), "utf-8")
    (tmp_path / "it.http").write_bytes(capture_of(Row(), edit=edit))
    files = (str(tmp_path / "it.http"), "-c", str(tmp_path / "gateway.toml"))
    at = ("--at", "2026-01-31T12:00:05Z")
    said = CliRunner().invoke(cli, ["package", "explain", *files, *at, *words])
    assert said.exit_code == code, said.output
    assert verdict in said.stdout.splitlines()[-1]


# --- Signals -------------------------------------------------------------------------------------

EB_SIGNAL = "urn:oasis:names:tc:ebxml-msg:service"


def signal(action: str, block: str) -> str:
    """The message turned into a signal about one of ours."""
    document = re.sub(
        r"<eb:Service.*</eb:Action>",
        f"<eb:Service>{EB_SIGNAL}</eb:Service><eb:Action>{action}</eb:Action>",
        ANSWERING,
        flags=re.DOTALL,
    )
    document = document.replace("<eb:DuplicateElimination/>", "").replace(ACK_REQUESTED, block)
    return document.replace('<eb:Manifest eb:version="2.0"/>', "")


def acknowledgment(inside: str = "") -> str:
    return signal(
        "Acknowledgment",
        f'<eb:Acknowledgment eb:version="2.0" SOAP:mustUnderstand="1"><eb:Timestamp>{SENT}'
        f"</eb:Timestamp><eb:RefToMessageId>q-1@b.example.com</eb:RefToMessageId>{inside}"
        "</eb:Acknowledgment>",
    )


def error_list(*errors: str, highest: str = "Error") -> str:
    return signal(
        "MessageError",
        f'<eb:ErrorList eb:version="2.0" SOAP:mustUnderstand="1" eb:highestSeverity="{highest}"'
        f' eb:id="e">{"".join(errors)}</eb:ErrorList>',
    )


REFERENCE = (
    f'<d:Reference xmlns:d="{DS}" URI="{{}}"><d:DigestMethod Algorithm="{SHA256}"/>'
    f"<d:DigestValue>{b64encode(bytes(32)).decode()}</d:DigestValue></d:Reference>"
)
SIGNALS = {
    "no reference": (acknowledgment(), "holds the message q-1@b.example.com"),
    "one reference": (acknowledgment(REFERENCE.format("")), "holds the message"),
    "references": (
        acknowledgment(
            "<eb:From><eb:PartyId eb:type='DUNS'>111111111</eb:PartyId></eb:From>"
            + REFERENCE.format("")
            + REFERENCE.format("cid:a@b")
        ),
        "the party that acknowledges is DUNS:111111111",
    ),
    "error": (
        error_list(
            '<eb:Error eb:codeContext="urn:oasis:names:tc:ebxml-msg:service:errors"'
            ' eb:errorCode="Inconsistent" eb:severity="Error" eb:location="//eb:Role">'
            '<eb:Description xml:lang="en-US">no such role</eb:Description></eb:Error>'
        ),
        "it says: no such role",
    ),
    "errors, one without text": (
        error_list(
            '<eb:Error eb:errorCode="OtherXml" eb:severity="Warning"/>',
            '<eb:Error eb:id="x" eb:errorCode="E:77" eb:codeContext="urn:x" eb:severity="Error">'
            "<eb:Description xml:lang='nl'>stuk</eb:Description></eb:Error>",
        ),
        "E:77 (Error)",
    ),
    "warning": (
        error_list(
            '<eb:Error eb:errorCode="DeliveryFailure" eb:severity="Warning"/>', highest="Warning"
        ),
        "a DeliveryFailure notice",
    ),
}


@pytest.mark.parametrize("as_captured", [as_request, as_answer, plain_mail, body_alone])
@pytest.mark.parametrize(("document", "says"), SIGNALS.values(), ids=SIGNALS)
def test_signals_of_other_products_are_read_and_verified(document, says, as_captured, tmp_path):
    row = Row(document=document, payloads=(), capture=as_captured)
    configuration = configured(tmp_path, 'require_signature = "all"')
    found = explained(capture_of(row), configuration, at=RECEIVED_AT)
    assert found.verdict is CaptureVerdict.ACCEPTED, (failed(found), found.problem)
    assert found.message is not None
    assert says in "\n".join(found.message.says)
    broken = capture_of(row, edit=("m-0001@a", "m-0002@a"))
    assert failed(explained(broken, configuration, at=RECEIVED_AT)) == ["digests"]


def test_an_unsigned_signal_where_all_have_to_be_signed_fails_so(tmp_path):
    content_type, body = body_of(acknowledgment().encode(), [], Frame())
    configuration = configured(tmp_path, 'require_signature = "all"')
    found = explained(as_request(content_type, body), configuration, at=RECEIVED_AT)
    assert failed(found) == ["signature"]


def test_an_acknowledgement_of_another_product_is_laid_beside_the_message():
    """Its References are copies of those of the message, in prefixes of its own."""
    message = capture_of(Row(style=Style(key_info=nothing)))
    references = re.findall(
        r"<ds:Reference.*?</ds:Reference>", message.decode("latin-1"), re.DOTALL
    )
    assert len(references) == 2
    copies = "".join(
        one.replace("<ds:Reference", f'<ds:Reference xmlns:ds="{DS}"', 1) for one in references
    )
    about = acknowledgment(copies).replace("q-1@b.example.com", "m-0001@a.example.com")
    for document, fits in ((about, True), (about.replace("cid:order", "cid:other"), False)):
        row = Row(document=document.replace("m-0001@a", "a-1@b", 1), payloads=())
        found = explained(capture_of(row), beside=read_beside(BytesIO(message)))
        assert found.message is not None
        assert ("it is about just what was sent" in str(found.message.says)) is fits


# --- The JDK -------------------------------------------------------------------------------------


def test_what_the_jdk_signs_is_verified(tmp_path):
    """The XML-DSig of the Java products, through its own files of keys."""
    if shutil.which("java") is None or shutil.which("javac") is None:
        pytest.skip("there is no JDK on this machine")
    names = ("message", "exclusive", "nofilter")
    document = with_manifest(MESSAGE, [ONE])
    for name in names:
        (tmp_path / f"{name}.xml").write_text(document, "utf-8")
    (tmp_path / "order@a.example.com").write_bytes(ORDER)
    store = tmp_path / "keys.p12"
    private: Any = key()
    store.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"one", private, certificate(), None, BestAvailableEncryption(b"password")
        )
    )
    command = ["java", PROGRAM, "sign", tmp_path, store]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    configuration = configured(tmp_path)
    for name in names:
        envelope = (tmp_path / f"{name}.xml").read_bytes()
        for data, expected in ((ORDER, []), (b"x" + ORDER[1:], ["digests"])):
            capture = as_request(*body_of(envelope, [ONE._replace(data=data)], Frame()))
            found = explained(capture, configuration, at=RECEIVED_AT)
            assert failed(found) == expected, name
