"""What a message went under, as one number: its agreement, profile, semantics, service, action.

The theory
----------
Five words per message would make every fold of a life as slow as Spark is with strings, and there
are few different fives: so a life keeps a number for its five, and a small frame says what each
number stands for. Whoever asks for the words joins that frame, never the journal.

The row that decides is the first by its number in its journal: the sender's first Submitted, and
where there is none the receiver's first Stored. A fold is one number, so it holds the row's place
above a half of the number of the words; the least of each half is then of the least row, in
whatever order the rows come. Two rows with one number are a store that was rolled back. If they
tell different words, the halves may be of different rows and stand for nothing: the words are then
null, or those of one of the two, and always the same for the same rows (E4).
"""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

COLUMNS: Final = ("agreement_id", "profile", "semantics", "service", "action")
"""The five words, named as in the journal."""
NUMBER: Final = "terms_number"
"""The number of the five words: 56 bits of a hash."""

HIGH, LOW = "terms_high", "terms_low"
"""Columns of a journal row: its place in its journal, and a half of the number of its words."""

_HALF_BITS: Final = 28
_HALF: Final = (1 << _HALF_BITS) - 1
_NUMBER: Final = (1 << 2 * _HALF_BITS) - 1
_LAST_PLACE: Final = (1 << 63 - _HALF_BITS) - 1
"""Rows from this one on, the 34 thousand millionth, count as one place."""


def number() -> Column:
    """The number of a row's words. Spark's hash passes over nulls: it is told where they are."""
    are_missing = [F.col(name).isNull() for name in COLUMNS]
    return F.xxhash64(*are_missing, *COLUMNS).bitwiseAND(F.lit(_NUMBER))


def halves() -> dict[str, Column]:
    """`HIGH` and `LOW` of a row that has its `NUMBER`; null where it has none."""
    place = f"shiftleft(least(seq, {_LAST_PLACE}L), {_HALF_BITS})"
    return {
        HIGH: F.expr(f"{place} | shiftright({NUMBER}, {_HALF_BITS})"),
        LOW: F.expr(f"{place} | ({NUMBER} & {_HALF}L)"),
    }


def number_of_life() -> Column:
    """The number of a life's words: its sender's, or else its receiver's; null where none told."""
    half = F.lit(_HALF)
    high = F.coalesce("submitted_high", "stored_high").bitwiseAND(half)
    low = F.coalesce("submitted_low", "stored_low").bitwiseAND(half)
    return F.shiftleft(high, _HALF_BITS).bitwiseOR(low)
