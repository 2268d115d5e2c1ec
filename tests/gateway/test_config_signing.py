"""Signatures in the configuration: which keys, which certificates, and what cannot work."""

from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from onceonly.gateway.checkup import problems_of
from onceonly.gateway.config import Configuration, ConfigurationError, read_configuration
from onceonly.gateway.config.effective import effective
from onceonly.gateway.identities import read_identities
from onceonly.message.message import AckRequested
from onceonly.message.signing import Canonicalization, SignatureAlgorithm, Signed, SigningTerms
from onceonly.steps.signing import find_signer

NOW = datetime(2026, 11, 1, tzinfo=UTC)
KINDS = {
    "rsa": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "short": lambda: rsa.generate_private_key(public_exponent=65537, key_size=1024),
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "k1": lambda: ec.generate_private_key(ec.SECP256K1()),
    "ed": ed25519.Ed25519PrivateKey.generate,
}


@cache
def key_of(kind, name):
    """A key of this kind; another name is another key."""
    return name and KINDS[kind]()


def write_pair(directory, name, kind="rsa", *, mode=0o600, passphrase=None, days=365):
    """NAME.pem and NAME.key."""
    key = key_of(kind, name)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject)
    builder = builder.public_key(key.public_key()).serial_number(7)
    builder = builder.not_valid_before(NOW).not_valid_after(NOW + timedelta(days=days))
    certificate = builder.sign(key, None if kind == "ed" else hashes.SHA256())
    (directory / f"{name}.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    encryption = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    file = directory / f"{name}.key"
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    file.chmod(mode)


def read(directory, lines='sign = "messages"', identities=("ours",), more="") -> Configuration:
    """A configuration with one agreement that has these lines."""
    tables = "".join(
        f'[[identity]]\nid = "{name}"\ncertificate = "{name}.pem"\nkey = "{name}.key"\n'
        for name in identities
    )
    (directory / "gateway.toml").write_text(
        f"""\
[gateway]
party = ["urn:duns:222222222"]
listen = "http://127.0.0.1:8401/msh"
api = "http://127.0.0.1:8411"
store = "gateway.db"
{tables}{more}
[[agreement]]
id = "cpa-ab-1"
profile = "ebms-2.0"
with = ["urn:duns:111111111"]
send_to = "http://127.0.0.1:8402/msh"
{lines}
""",
        "utf-8",
    )
    return read_configuration(directory / "gateway.toml")


def test_what_an_agreement_says_of_signing_is_read(tmp_path):
    """The partner's certificates are read with the file; ours are not."""
    write_pair(tmp_path, "theirs")
    write_pair(tmp_path, "older")
    found = read(
        tmp_path,
        """\
sign = "all"
require_signature = "messages"
identities = ["ours"]
partner_certificates = ["theirs.pem", "older.pem"]
signature_algorithm = "rsa-sha384"
canonicalization = "exclusive"
accept_sha1 = true
xml_part_transforms = true
ack_requested = "Signed"
""",
        identities=("ours", "others"),
    )
    (agreement,) = found.agreements
    pinned = agreement.signing.partner_certificates
    assert len({one.fingerprint for one in pinned}) == 2
    assert agreement.signing == SigningTerms(
        signs=Signed.ALL,
        requires=Signed.MESSAGES,
        identities=("ours",),
        partner_certificates=pinned,
        algorithm=SignatureAlgorithm.RSA_SHA384,
        canonicalization=Canonicalization.EXCLUSIVE,
        accepts_sha1=True,
        accepts_part_transforms=True,
    )
    assert agreement.terms.ack_requested is AckRequested.SIGNED
    said = effective(agreement)
    assert said["partner_certificates"] == ", ".join(one.fingerprint for one in pinned)
    assert (said["sign"], said["require_signature"]) == ("all", "messages")


def test_what_is_not_said_follows_from_sign(tmp_path):
    """The partner must sign what we sign, and every identity may."""
    write_pair(tmp_path, "theirs")
    lines = 'sign = "messages"\npartner_certificates = ["theirs.pem"]'
    (agreement,) = read(tmp_path, lines, identities=("one", "two")).agreements
    assert agreement.signing.requires is Signed.MESSAGES
    assert agreement.signing.identities == ("one", "two")
    (plain,) = read(tmp_path, "").agreements
    assert plain.signing.signs is plain.signing.requires is Signed.NONE


@pytest.mark.parametrize(
    ("lines", "identities", "told"),
    [
        ('sign = "messages"', (), "sign needs an [[identity]]"),
        ('ack_requested = "Signed"', (), "ack_requested is Signed, so ours are signed"),
        ('sign = "messages"', ("ours",), "that needs partner_certificates"),
        ('require_signature = "all"', ("ours",), "that needs partner_certificates"),
        ('ack_requested = "Signed"', ("ours",), "with which acknowledgements are verified"),
        ('identities = ["nobody"]', ("ours",), "names 'nobody'; legal: ours"),
        ('identities = ["nobody"]', (), "since there is no [[identity]]"),
        ('partner_certificates = ["nowhere.pem"]', ("ours",), "cannot be read: No such file"),
        ('partner_certificates = ["gateway.toml"]', ("ours",), "has no certificate in PEM"),
        ('partner_certificates = ["broken.pem"]', ("ours",), "that cannot be read"),
        ('partner_certificates = ["many.pem"]', ("ours",), "are more than 100"),
        ("", ("ours", "ours"), "is there twice"),
    ],
)
def test_what_cannot_work_is_refused_with_the_reason(tmp_path, lines, identities, told):
    frame = "-----{} CERTIFICATE-----\n"
    broken = f"{frame.format('BEGIN')}AAAA\n{frame.format('END')}"
    (tmp_path / "broken.pem").write_text(broken, "ascii")
    write_pair(tmp_path, "theirs")
    (tmp_path / "many.pem").write_bytes((tmp_path / "theirs.pem").read_bytes() * 101)
    with pytest.raises(ConfigurationError) as refused:
        read(tmp_path, lines, identities)
    assert told in refused.value.reason


def test_an_identity_is_read_with_every_way_to_sign(tmp_path):
    """It begins with its certificate, unless the file says when."""
    write_pair(tmp_path, "ours")
    write_pair(tmp_path, "curve", "p256")
    found = read_identities(read(tmp_path, "", identities=("ours", "curve")))
    assert [one.usual_method for one in found] == ["rsa-sha256", "ecdsa-sha256"]
    assert [set(one.signers) for one in found] == [
        {"rsa-sha1", "rsa-sha256", "rsa-sha384", "rsa-sha512"},
        {"ecdsa-sha256", "ecdsa-sha384"},
    ]
    assert found[0].begins_at == NOW.timestamp() * 1_000_000
    later = read(tmp_path, "", identities=(), more=_LATER)
    assert read_identities(later)[0].begins_at == found[0].begins_at + 86_400_000_000


_LATER = """\
[[identity]]
id = "ours"
certificate = "ours.pem"
key = "ours.key"
from = "2026-11-02T00:00:00+00:00"
"""


def test_the_identity_that_began_last_signs(tmp_path):
    """One whose time has not come waits; if none has begun, the first that will signs."""
    write_pair(tmp_path, "ours")
    write_pair(tmp_path, "next")
    more = _LATER.replace('"ours', '"next')
    found = read_identities(read(tmp_path, "", more=more))
    terms = SigningTerms(identities=("ours", "next"))
    at = round(NOW.timestamp() * 1_000_000)
    before, after, early = (
        find_signer(found, terms, at + days * 86_400_000_000) for days in (0, 1, -1)
    )
    certificates = [one.signers["rsa-sha256"].certificate for one in found]
    assert [one and one.certificate for one in (before, after, early)] == [
        certificates[0],
        certificates[1],
        certificates[0],
    ]
    assert find_signer(found, SigningTerms(), at) is None


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda d: (d / "ours.key").chmod(0o604), "can be read by others (mode 0604): chmod o-rwx"),
        (
            lambda d: (d / "ours.key").write_bytes((d / "theirs.key").read_bytes()),
            "belong together",
        ),
        (lambda d: write_pair(d, "ours", passphrase=b"secret"), "has a passphrase"),
        (lambda d: write_pair(d, "ours", "short"), "the key has 1024 bits"),
        (lambda d: write_pair(d, "ours", "ed"), "is of another kind"),
        (lambda d: write_pair(d, "ours", "k1"), "needs a key on the curve P-256"),
        (lambda d: (d / "ours.key").write_text("hunter2", "ascii"), "no private key in PEM"),
        (lambda d: (d / "ours.pem").write_text("hunter2", "ascii"), "does not begin with a"),
        (lambda d: (d / "ours.key").unlink(), "cannot be read: No such file"),
    ],
)
def test_a_key_that_cannot_be_used_stops_the_start(tmp_path, spoil, told):
    """S41, S42, S43; and nothing that stands in a file is shown (S44)."""
    write_pair(tmp_path, "ours")
    write_pair(tmp_path, "theirs")
    configuration = read(tmp_path, "")
    spoil(tmp_path)
    with pytest.raises(OSError, match="identity 'ours'") as refused:
        read_identities(configuration)
    assert told in str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert any(told in problem for problem in problems_of(configuration))


def test_an_identity_must_know_the_algorithm_of_its_agreements(tmp_path):
    write_pair(tmp_path, "ours", "p256")
    configuration = read(tmp_path, 'signature_algorithm = "rsa-sha256"')
    with pytest.raises(OSError, match="cannot sign with signature_algorithm rsa-sha256"):
        read_identities(configuration)
