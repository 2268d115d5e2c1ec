"""Signatures of ebMS 2.0: whose they are by a configuration, which needs no private key."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from captures import explained

from onceonly.explain.explanation import (
    CaptureVerdict,
    CheckResult,
    Explanation,
    fails_by_validity,
)
from onceonly.gateway.config import read_configuration
from onceonly.message.instant import from_datetime

EXAMPLES = Path(__file__).parents[3] / "shared" / "spec" / "examples" / "ebms2"
DUNS = "urn:oasis:names:tc:ebxml-cppa:partyid-type:duns"

pytestmark = pytest.mark.skipif(
    not EXAMPLES.is_dir(), reason="the specification's examples are not beside this clone"
)


def heard(
    name: str, us: str, them: str, folder: Path, *, certificates_at: int | None = None
) -> Explanation:
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
sync_reply_mode = "mshSignalsOnly"
ack_requested = "Signed"
role = "http://example.com/roles/Seller"
partner_role = "http://example.com/roles/Buyer"
check_header = "lenient"
sign = "messages"
partner_certificates = ["{EXAMPLES / "signer-cert.pem"}"]
""",
        "utf-8",
    )
    return explained(
        (EXAMPLES / name).read_bytes(),
        read_configuration(path),
        at=_at(2002, 5, 1) + 36_005_000_000,
        certificates_at=certificates_at,
    )


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
    assert "that certificate was NOT valid at the Timestamp" in said


def test_a_certificate_that_was_not_valid_then_fails_that_check_alone(tmp_path):
    """So that whoever has an old capture sees that digests and value are right."""
    found = heard("11-signed-acknowledgment.xml", "111111111", "222222222", tmp_path)
    assert found.answer is not None
    results = {one.name: one.result for one in found.answer.checks}
    assert [results[name] for name in ("signature", "digests", "signer")] == [
        CheckResult.PASSED
    ] * 3
    assert results["validity"] is CheckResult.FAILED
    assert fails_by_validity(found)


@pytest.mark.parametrize(
    ("name", "us", "them"),
    [
        ("10-signed-message.http", "222222222", "111111111"),
        ("11-signed-acknowledgment.xml", "111111111", "222222222"),
    ],
)
def test_an_old_capture_is_accepted_as_of_a_time_at_which_its_certificate_was_valid(
    name, us, them, tmp_path
):
    """Where somebody says so; and as of another one it is refused for that again."""
    at = _at(2026, 6, 1)
    found = heard(name, us, them, tmp_path, certificates_at=at)
    assert found.verdict is CaptureVerdict.ACCEPTED, found.answer
    assert found.answer is not None
    assert found.answer.certificates_at == "2026-06-01T00:00:00Z"
    assert found.message is not None
    assert "valid at 2026-06-01T00:00:00Z, which --certificates-at gives" in str(found.message.says)
    early = heard(name, us, them, tmp_path, certificates_at=_at(2025, 12, 31))
    assert fails_by_validity(early)


def _at(*day: int) -> int:
    return from_datetime(datetime(*day, tzinfo=UTC))  # type: ignore[arg-type]  # because it is year, month and day
