"""What two parties agreed about signatures."""

import pytest

from onceonly.message.signing import PinnedCertificate, Signed, SigningTerms


@pytest.mark.parametrize(
    ("requires", "is_believed"), [("none", True), ("messages", False), ("all", False)]
)
def test_a_message_is_believed_without_a_signature_where_none_is_required(requires, is_believed):
    assert SigningTerms(requires=Signed(requires)).is_believed_unsigned is is_believed


def test_a_certificate_counts_in_its_time():
    """Both ends included."""
    pinned = PinnedCertificate(der=b"", fingerprint="", from_at=1, until_at=3)
    assert [pinned.was_valid(at) for at in (0, 1, 3, 4)] == [False, True, True, False]
