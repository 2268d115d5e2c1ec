"""What the checkers read off the wire by their own means."""

import pytest
from recorded import NUMBERED, WINDOWED, plan, ran

from onceonly.message.terms import DeliveryTerms
from onceonly.simulation.checkers.letter import UNREADABLE, Letter, LetterKind, read


@pytest.mark.parametrize(
    ("text", "at_us"),
    [
        ("20260101T000000Z", 1_767_225_600_000_000),
        ("20260101T000000.25Z", 1_767_225_600_250_000),
        ("2026-01-01T00:00:00.000001Z", 1_767_225_600_000_001),
        ("20260230T000000Z", 0),
        ("yesterday", 0),
        ("", 0),
    ],
)
def test_a_timestamp_is_an_instant_or_none(text: str, at_us: int) -> None:
    """By both profiles' forms; a forger may write what he likes."""
    assert Letter(LetterKind.MESSAGE, timestamp=text).timestamp_at == at_us


def test_what_is_no_package_is_unreadable() -> None:
    """It has no words, and breaks nothing."""
    assert read(b"nonsense") == UNREADABLE


@pytest.mark.parametrize("terms", [NUMBERED, WINDOWED], ids=["rm-2000", "rm-2001"])
@pytest.mark.parametrize(
    ("written", "other", "is_content"),
    [
        (b"Timestamp>2026", b"Timestamp>2027", False),
        (b"<SenderURI>http", b"<SenderURI>https", False),
        (b"cid:payload", b"cid:other", False),
        (b">NewOrder<", b">newOrder<", True),
        (b">urn:party:A<", b">urn:party:C<", True),
        (b"OnceAndOnlyOnce", b"BestEffort", True),
        (b"application/xml", b"text/xml", True),
    ],
)
def test_the_content_of_a_header_is_what_its_from_party_says(
    terms: DeliveryTerms, written: bytes, other: bytes, *, is_content: bool
) -> None:
    """R-37: neither when it was written, nor the hops, nor how its parts are called."""
    with ran(plan(terms)) as world:
        body = world.history.sent[0].packet.body
    assert body.count(written)
    was, now = read(body), read(body.replace(written, other))
    assert (was.header_content != now.header_content) is is_content
