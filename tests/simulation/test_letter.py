"""What the checkers read off the wire by their own means."""

import pytest

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
