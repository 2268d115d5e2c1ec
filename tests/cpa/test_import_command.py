"""`onceonly agreement import` and `check --new`: files, exit codes, and what is weaker (S40)."""

import re
import ssl
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cpas import (
    BUYER,
    RELIABLE,
    SIGNED,
    certificate,
    characteristics,
    cpa,
    endpoint,
    persist,
    reliable_messaging,
)

from onceonly.cli.exits import Exit
from onceonly.cli.main import cli
from onceonly.gateway.certificate_file import certificate_of

GATEWAY = f"""[gateway]
party = ["{BUYER}"]
listen = "https://127.0.0.1:8401/msh"
uri = "https://a.example.com/ebms"
api = "http://127.0.0.1:8411"
store = "s.db"

[tls]
certificate = "own.pem"
key = "own.key"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imports(*words: str, **changes: str) -> Result:
    """The command over the document with these changes."""
    Path("cpa.xml").write_bytes(cpa(**changes))
    return CliRunner().invoke(cli, ["agreement", "import", "cpa.xml", "--party", BUYER, *words])


IDENTITY = '[[identity]]\nid = "buyer-2026"\ncertificate = "signing.pem"\nkey = "own.key"\n'


def identify(folder: Path) -> None:
    """The configuration has the identity that signs for the buyer in the document."""
    pem = ssl.DER_cert_to_PEM_cert(certificate("buyer"))
    (folder / "signing.pem").write_text(pem, "ascii")
    (folder / "gateway.toml").write_text(GATEWAY + IDENTITY, "utf-8")


def in_force(folder: Path, **changes: str) -> None:
    """A configuration that has the agreements of the document with these changes."""
    found = imports(**changes)
    assert found.exit_code == Exit.OK, found.stderr
    (folder / "gateway.toml").write_text(GATEWAY + found.stdout, "utf-8")


def test_tables_go_to_stdout_and_what_was_ignored_to_stderr(folder):
    """So that a shell can keep both."""
    found = imports(version="1.7", after="<c:Comment>x</c:Comment>")
    assert found.exit_code == Exit.OK
    assert tomllib.loads(found.stdout)["agreement"][0]["cpa_id"] == "orders-2026"
    said = found.stderr.splitlines()
    assert [line.partition(":")[0] for line in said] == ["warning", "ignored"]


def test_a_cpa_that_is_refused_writes_nothing(folder):
    """One line on stderr, exit code 2, no table and no certificate."""
    found = imports(**{**SIGNED, "end": "2026-02-01T00:00:00Z"})
    assert (found.exit_code, found.stdout) == (Exit.USAGE, "")
    assert found.stderr.startswith("Error: cpa.xml: it ended at 2026-02-01")
    assert [path.name for path in folder.iterdir()] == ["cpa.xml"]


def test_certificates_are_written_beside_the_cpa_or_where_the_operator_says(folder):
    """S38: named for their fingerprints; the tables name them as they were typed."""
    name = f"partner-{certificate_of(certificate('seller')).fingerprint[:16]}.pem"
    (folder / "keys").mkdir()
    for words, there in (((), name), (("--certificates", "keys"), f"keys/{name}")):
        found = imports(*words, **SIGNED)
        assert found.exit_code == Exit.OK
        assert tomllib.loads(found.stdout)["agreement"][0]["partner_certificates"] == [there]
        assert (folder / there).read_text("ascii").startswith("-----BEGIN CERTIFICATE-----")
        assert f"note: {there} is a certificate" in found.stderr
    found = imports("--certificates", "gone", **SIGNED)
    assert (found.exit_code, found.stdout) == (Exit.USAGE, "")
    assert "cannot be written: No such file or directory" in found.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--preset", "x"), "'x' is none of digikoppeling-osb-be"),
        (("--preset", "digikoppeling-osb-rm-e"), "is not offered: it encrypts parts"),
        (("--endpoint", "x=y"), "begins with no endpoint of this CPA"),
        (("-c", "gone.toml"), "gone.toml: cannot be read"),
    ],
)
def test_a_wrong_word_is_refused_with_the_legal_ones(folder, words, reason):
    """Exit code 2, and nothing on stdout."""
    found = imports(*words)
    assert (found.exit_code, found.stdout) == (Exit.USAGE, "")
    assert reason in found.stderr


def test_a_file_that_cannot_be_read_is_said_to_be_so(folder):
    """It is there, and reading fails."""
    Path("cpa.xml").symlink_to("/proc/self/mem")
    words = ["agreement", "import", "cpa.xml", "--party", BUYER]
    found = CliRunner().invoke(cli, words)
    assert (found.exit_code, found.stdout) == (Exit.USAGE, "")
    assert "cpa.xml cannot be read: " in found.stderr


def test_a_preset_is_written_as_a_key(folder):
    """The values of the CPA stand beside it, and have priority."""
    found = imports("--preset", "hermes")
    table = tomllib.loads(found.stdout)["agreement"][0]
    assert (table["preset"], table["retries"]) == ("hermes", 3)
    assert "counts transmissions: for our 3 retries its operator sets 4" in found.stderr


WEAKER = [
    (
        "send_to",
        {"endpoints_b": endpoint("http://b.example.com/ebms")},
        "was https://b.example.com/ebms, and would be http://b.example.com/ebms",
    ),
    (
        "ack_requested",
        {"characteristics_b": characteristics(ackRequested="never")},
        "was Unsigned, and would be None",
    ),
    (
        "duplicate_elimination",
        {"characteristics_b": characteristics(duplicateElimination="never")},
        "was always, and would be never",
    ),
    (
        "check_header",
        {"characteristics_b": characteristics(duplicateElimination="perMessage")},
        "was strict, and would be lenient",
    ),
]


@pytest.mark.parametrize(("key", "changes", "words"), WEAKER)
def test_what_protects_less_than_before_needs_a_word(folder, key, changes, words):
    """S40: shown, refused with exit code 11, and taken if the operator accepts it."""
    in_force(folder)
    found = imports("-c", "gateway.toml", **changes)
    assert (found.exit_code, found.stdout) == (Exit.DIFFERENCES, "")
    assert f"weaker: orders-2026: {key} {words}" in found.stderr
    assert "say --accept-weaker" in found.stderr
    found = imports("-c", "gateway.toml", "--accept-weaker", **changes)
    assert found.exit_code == Exit.OK
    assert f"weaker: orders-2026: {key} {words}" in found.stderr


def test_what_protects_as_much_needs_none(folder):
    """Other times and other Roles are not weaker."""
    in_force(folder, characteristics_b=characteristics(duplicateElimination="perMessage"))
    found = imports("-c", "gateway.toml", characteristics_b=RELIABLE)
    assert found.exit_code == Exit.OK
    assert "weaker" not in found.stderr


def test_another_cpa_is_not_compared(folder):
    """It takes the place of nothing."""
    in_force(folder)
    found = imports(
        "-c", "gateway.toml", cpaid="other", endpoints_b=endpoint("http://b.example.com/ebms")
    )
    assert found.exit_code == Exit.OK


def test_no_signature_is_weaker_than_one(folder):
    """S40: no non-repudiation where there was."""
    identify(folder)
    found = imports("-c", "gateway.toml", **SIGNED)
    assert found.exit_code == Exit.OK, found.stderr
    (folder / "gateway.toml").write_text(GATEWAY + IDENTITY + found.stdout, "utf-8")
    found = imports("-c", "gateway.toml")
    assert found.exit_code == Exit.DIFFERENCES
    for words in ("sign was messages, and would be none", "partner_certificates was partner-"):
        assert words in found.stderr


def test_check_shows_what_a_file_would_lower(folder):
    """S40: the same, for a file that was imported before."""
    in_force(folder)
    changes = {"characteristics_b": characteristics(ackRequested="never")}
    (folder / "new.toml").write_text(imports(**changes).stdout, "utf-8")
    words = ["agreement", "check", "-c", "gateway.toml", "--new", "new.toml"]
    found = CliRunner().invoke(cli, words)
    assert found.exit_code == Exit.DIFFERENCES
    assert "weaker: orders-2026: ack_requested was Unsigned, and would be None" in found.stderr
    assert CliRunner().invoke(cli, [*words, "--accept-weaker"]).exit_code == Exit.OK
    (folder / "new.toml").write_text("[[agreement]]\nid = 1\n", "utf-8")
    found = CliRunner().invoke(cli, words)
    assert (found.exit_code, "[agreement] id" in found.stderr) == (Exit.USAGE, True)


def test_it_is_shown_in_red(folder, monkeypatch):
    """S40: on a terminal that has colours."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    in_force(folder)
    found = imports("-c", "gateway.toml", endpoints_b=endpoint("http://b.example.com/ebms"))
    assert re.search(r"\x1b\[1;31mweaker", found.stderr)


def test_what_the_configuration_would_refuse_is_refused_here(folder):
    """Values that are legal in a CPA, and not in a table: a number of resends above the limit."""
    in_force(folder)
    plan = reliable_messaging(interval="P999999D") + persist()
    found = imports("-c", "gateway.toml", receiver_b=plan, sender_a=plan)
    assert found.exit_code == Exit.USAGE
    assert "what the CPA says is refused: [agreement] retry_interval" in found.stderr


def test_our_identity_is_found_by_its_certificate(folder):
    """E2-121: `identities` of the table; another certificate is refused with its subject."""
    identify(folder)
    found = imports("-c", "gateway.toml", **SIGNED)
    assert found.exit_code == Exit.OK, found.stderr
    assert tomllib.loads(found.stdout)["agreement"][0]["identities"] == ["buyer-2026"]
    (folder / "gateway.toml").write_text(GATEWAY, "utf-8")
    found = imports("-c", "gateway.toml", **SIGNED)
    assert found.exit_code == Exit.USAGE
    assert "we sign with CN=buyer" in found.stderr
