"""Signatures of ebMS 2.0: whose they are by a configuration, which needs no private key."""

from pathlib import Path

import pytest
from captures import explained

from onceonly.explain.explanation import CheckResult, Explanation
from onceonly.gateway.config import read_configuration

EXAMPLES = Path(__file__).parents[3] / "shared" / "spec" / "examples" / "ebms2"
DUNS = "urn:oasis:names:tc:ebxml-cppa:partyid-type:duns"

pytestmark = pytest.mark.skipif(
    not EXAMPLES.is_dir(), reason="the specification's examples are not beside this clone"
)


def heard(name: str, us: str, them: str, folder: Path) -> Explanation:
    """What is said of the example by a gateway whose own key is not here."""
    path = folder / "gateway.toml"
    path.write_text(
        f"""
[gateway]
party = [{{id = "{us}", type = "{DUNS}"}}]
listen = "http://127.0.0.1:8080/ebms"
api = "http://127.0.0.1:8081"
store = "g.db"

[[identity]]
id = "ours"
certificate = "none.pem"
key = "none.key"

[[agreement]]
id = "a1"
cpa_id = "cpa-ab-1"
profile = "ebms-2.0"
with = [{{id = "{them}", type = "{DUNS}"}}]
send_to = "http://a.example.com/ebms"
sign = "messages"
partner_certificates = ["{EXAMPLES / "signer-cert.pem"}"]
""",
        "utf-8",
    )
    return explained((EXAMPLES / name).read_bytes(), read_configuration(path))


@pytest.mark.parametrize(
    ("name", "us", "them"),
    [
        ("10-signed-message.http", "222222222", "111111111"),
        ("11-signed-acknowledgment.xml", "111111111", "222222222"),
    ],
)
def test_a_signature_is_told_as_that_of_a_pinned_certificate(name, us, them, tmp_path):
    """And that a certificate counts only where it was valid at the Timestamp."""
    found = heard(name, us, them, tmp_path)
    assert found.message is not None
    said = "\n".join(found.message.says)
    assert "the digests of all that it covers fit what came" in said
    assert "right for one of partner_certificates of agreement 'a1'" in said
    assert "it was NOT valid at the Timestamp" in said


def test_a_certificate_that_was_not_valid_then_fails_the_check(tmp_path):
    found = heard("11-signed-acknowledgment.xml", "111111111", "222222222", tmp_path)
    assert found.answer is not None
    results = {one.name: one.result for one in found.answer.checks}
    assert results["signer"] is CheckResult.FAILED
