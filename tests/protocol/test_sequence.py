"""SequenceNumbers under a small wrap, so that every position is tried."""

from hypothesis import given
from hypothesis import strategies as st

from onceonly.protocol.sequence import SequenceCase, classify, successor


@given(wrap=st.integers(2, 9), steps=st.integers(0, 30))
def test_a_sender_that_never_skips_is_always_next_or_a_reset(wrap, steps):
    """The receiver follows the sender round the wrap."""
    previous = None
    for _ in range(steps):
        number = successor(previous, wrap_after=wrap)
        assert classify(number, previous, wrap_after=wrap) is SequenceCase.NEXT
        previous = number


@given(previous=st.integers(1, 9), number=st.integers(1, 9))
def test_every_number_is_exactly_one_case(previous, number):
    """The four cases of seed 000 §5.2."""
    case = classify(number, previous, wrap_after=9)
    expected = (
        SequenceCase.NEXT
        if number == (1 if previous == 9 else previous + 1)
        else SequenceCase.RESET
        if number == 1
        else SequenceCase.REPEATED_NUMBER
        if number == previous
        else SequenceCase.INVALID
    )
    assert case is expected
