"""Captures of ebMS 2.0: blocks and actors, the signature, a fault, and what would be answered."""

from pathlib import Path

import pytest
from captures import explained

from onceonly.explain.explanation import CaptureVerdict
from onceonly.gateway.config import read_configuration

EXAMPLES = Path(__file__).parents[3] / "shared" / "spec" / "examples" / "ebms2"

pytestmark = pytest.mark.skipif(
    not EXAMPLES.is_dir(), reason="the specification's examples are not beside this clone"
)

CONFIGURATION = """
[gateway]
party = ["urn:oasis:names:tc:ebxml-cppa:partyid-type:duns:222222222"]
listen = "http://127.0.0.1:8080/ebms"
api = "http://127.0.0.1:8081"
store = "g.db"

[[agreement]]
id = "cpa-ab-1"
profile = "ebms-2.0"
with = ["urn:duns:9"]
send_to = "http://a.example.com/ebms"
"""


def says(name: str, *edits: tuple[bytes, bytes]) -> str:
    """What the example means, in lines."""
    content = (EXAMPLES / name).read_bytes()
    for old, new in edits:
        assert old in content
        content = content.replace(old, new)
    found = explained(content)
    assert found.message is not None, found
    return "\n".join(found.message.says)


def test_blocks_are_told_with_whom_they_are_for():
    said = says("01s-message-syncreply.http")
    assert "block AckRequested: for the MSH of the To Party; must be understood" in said
    assert "block SyncReply: for the next SOAP node; must be understood" in said
    assert "its sender keeps the connection open for the answer" in said
    assert "no signature" in said


def test_a_signature_is_told_with_what_it_covers():
    """And that the certificate it brings itself proves nothing."""
    said = says("10-signed-message.http")
    assert "it covers the envelope without the Signature, and cid:po-1@a.example.com" in said
    assert "it does not cover what is for the next MSH: SyncReply" in said
    assert "the digests of all that it covers fit what came" in said
    assert "the certificate that came with it, that of 'CN=ebms example signer'" in said
    assert "nothing says whose that is" in said


def test_what_was_changed_after_it_was_signed_does_not_fit():
    edit = (b"<eb:ConversationId>", b"<eb:ConversationId>x")
    content = (EXAMPLES / "10-signed-message.http").read_bytes().replace(*edit)
    length = int(content.split(b"Content-Length: ")[1].split(b"\r\n")[0])
    content = content.replace(b"Content-Length: %d" % length, b"Content-Length: %d" % (length + 1))
    found = explained(content)
    assert found.message is not None
    assert "it does not fit: " in "\n".join(found.message.says)


def test_a_bare_envelope_is_read():
    said = says("11-signed-acknowledgment.xml")
    assert "an acknowledgement: the receiver holds the message" in said
    assert "a signature by " in said


def test_a_fault_is_told_with_what_follows_from_it():
    found = explained((EXAMPLES / "12-soap-fault.http").read_bytes())
    assert found.verdict is CaptureVerdict.UNDERSTOOD
    assert found.foreign is None
    assert any(one.startswith("a SOAP Fault, MustUnderstand: ") for one in found.remarks)


def test_what_a_gateway_would_answer_is_told(tmp_path):
    """In the answer, where its sender waits for that; under the agreement that the CPAId names."""
    path = tmp_path / "gateway.toml"
    path.write_text(CONFIGURATION, "utf-8")
    content = (EXAMPLES / "01s-message-syncreply.http").read_bytes()
    found = explained(content, read_configuration(path))
    assert found.answer is not None
    assert "cpa-ab-1" in (found.answer.falls_under or "")
    (case,) = found.answer.cases
    assert (case.status, case.error) == (200, "Inconsistent")
