"""SequenceNumbers: what comes next, and what a received number means.

Seed 000 §2.2.2 and §5.2. Under ruling R-01 the MessageId decides first, so the four cases are
asked only about a message that was never stored: a number finds gaps and rollbacks, it never
makes a message a duplicate on its own. Without that, case (3) would deliver a late copy of
message 1 twice: sent as 1, reset, sent as 1 again.
"""

from enum import Enum

from onceonly.message.message import SEQUENCE_NUMBER_MAX


def successor(number: int | None, *, wrap_after: int = SEQUENCE_NUMBER_MAX) -> int:
    """The number after `number`; 1 after None and after `wrap_after` (seed 000 §2.2.2 a-c).

    `wrap_after` is less than 999,999,999 only in simulations of the wrap.
    """
    return 1 if number is None or number >= wrap_after else number + 1


class SequenceCase(Enum):
    """The four cases of seed 000 §5.2 for a message whose MessageId is not stored."""

    NEXT = "next"
    """Case 1: previous + 1. New."""
    RESET = "reset"
    """Case 3, and case 2 with both numbers 1 and another MessageId: the sender began again."""
    REPEATED_NUMBER = "repeated number"
    """Case 2 with an unseen MessageId. Acknowledging it would lose a message: an error."""
    INVALID = "invalid"
    """Case 4: a gap or a step back."""


def classify(
    number: int, previous: int | None, *, wrap_after: int = SEQUENCE_NUMBER_MAX
) -> SequenceCase:
    """The case of `number` after `previous`, the number of the last stored message."""
    if number == successor(previous, wrap_after=wrap_after):
        return SequenceCase.NEXT
    if number == 1:
        return SequenceCase.RESET
    if number == previous:
        return SequenceCase.REPEATED_NUMBER
    return SequenceCase.INVALID
