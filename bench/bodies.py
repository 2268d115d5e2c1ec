"""Bodies of about 4 KB as businesses send them: the demonstration's UBL orders of one line."""

from collections.abc import Iterator
from itertools import count, cycle, islice

from onceonly.demo.documents import order

SEED = 1
SIZE_BYTES_MAX = 4400
"""An order of one line has 3,800 to this; one of two lines has more."""

DIFFERENT = 64
"""So many are made before the clock runs, then they come again: making one costs a millisecond."""


def bodies() -> Iterator[bytes]:
    """One body after the other, without end."""
    orders = (order(SEED, number) for number in count())
    small = (one.source for one in orders if one.size_bytes <= SIZE_BYTES_MAX)
    return cycle(tuple(islice(small, DIFFERENT)))
