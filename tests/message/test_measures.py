"""Lengths of time and sizes as people read them."""

import pytest

from onceonly.message.measures import size, span


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0124, "12 ms"),
        (59.6, "1 min"),
        (-185, "3 min 5 s"),
        (3_605, "1 h"),
        (90_061, "1 d 1 h"),
    ],
)
def test_a_length_of_time_has_at_most_two_units_that_stand_together(seconds: float, text: str):
    """What is between them and what is smaller is left out."""
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"), [(1_023, "1023 B"), (1_536, "1.5 KiB"), (5 << 30, "5 GiB")]
)
def test_a_size_has_the_unit_that_fits(size_bytes: int, text: str):
    """Three digits are enough."""
    assert size(size_bytes) == text
