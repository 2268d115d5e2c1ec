"""Pages and counts of lists: statements that start from an index and read so many rows at most.

A list can be asked by any combination of a dozen criteria, in two orders. As named statements they
would be thousands, so they are composed here, of conditions that each list declares; a test asks
SQLite's planner about every combination. Knows how a list is walked within a bound; must not know
what is listed.

How a bound is kept. A *walk* goes along one index, in the order of the list. If a row can be there
and not fit, we first ask where the bound falls (from the index alone) and then list up to there.
What changes between the two statements can only change how many rows are read: a row that is shown
fits, and none is shown twice or passed over, since the number of a row never changes. Where another
index has few rows that are in no useful order, their numbers are *gathered* and sorted first.
"""

# ruff: noqa: S608 - because only texts of this package are put together; values are bound

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from onceonly.message.word import Word
from onceonly.store.contract.entries import COUNT_MAX, Count, Excerpt

NUMBER_MAX: Final = (1 << 63) - 1
GATHERED_AT_ONCE: Final = 1_000
"""Gathered rows that one statement looks at: more than a page of usual size has."""

STRETCH_BITS: Final = 10
"""The instants of 1,024 numbers are bounded by one row of `stretch`: enough that there are few
such rows, and so few that what ends a stretch reads them in a millisecond."""

IN_STRETCH: Final = (1 << STRETCH_BITS) - 1
"""The bits of a number that are all 0 in the last number of a stretch."""

RANGES_MAX: Final = 16
"""More ranges than that are read as one; only a clock that is set again and again makes them."""

Ask = Callable[[str, Mapping[str, Any]], list[Any]]
Range = tuple[int, int]
"""Two numbers, both outside of it."""


class Walk(Word, kw_only=True):
    """One way along a list, in the order of its numbers."""

    first: str
    """The table that is walked, and by which index."""
    joined: str = ""
    conditions: tuple[str, ...] = ()
    """What makes the index usable."""


class Search(Word, kw_only=True):
    """One question to a list."""

    number: str
    columns: str
    walk: Walk
    residual: tuple[str, ...]
    """What a row on the walk must meet besides."""
    bindings: dict[str, Any]
    wanted: Excerpt
    ranges: Sequence[Range]
    """Where rows that fit can be, the smallest numbers first."""
    gathered: Sequence[int] | None = None
    """Numbers of all rows that can fit, where they are known, in the order of the list."""

    def _statement(self, what: str, conditions: Sequence[str], tables: str, limit: str) -> str:
        order = "DESC" if self.wanted.is_newest_first else "ASC"
        where = " AND ".join(conditions)
        return f"SELECT {what} FROM {tables} WHERE {where} ORDER BY {self.number} {order} {limit}"

    def _within(self) -> tuple[str, ...]:
        if self.gathered is not None:
            numbers = f"{self.number} IN (SELECT value FROM json_each(:numbers))"
            return (numbers, *self.walk.conditions)
        return (f"{self.number} > :low", f"{self.number} < :high", *self.walk.conditions)

    def listing(self) -> str:
        """Rows of one piece that fit: their number, then their columns."""
        tables = self.walk.first + self.walk.joined
        conditions = (*self._within(), *self.residual)
        return self._statement(f"{self.number}, {self.columns}", conditions, tables, "LIMIT :rows")

    def counting(self) -> str:
        """How many rows of one piece fit."""
        tables = self.walk.first + self.walk.joined
        fitting = self._statement("1", (*self._within(), *self.residual), tables, "LIMIT :rows")
        return f"SELECT count(*) FROM ({fitting})"

    def probing(self) -> str:
        """(rows on the walk, number of the last of them), as far as the bound and one row on."""
        rows = self._statement(self.number, self._within(), self.walk.first, "LIMIT :rows")
        last = "min" if self.wanted.is_newest_first else "max"
        return f"SELECT count(*), {last}({self.number}) FROM ({rows})"


class Piece(Word):
    """A part of a list that is read as a whole."""

    bindings: dict[str, Any]
    stop: int | None
    """Number of the first row after the bound; the list goes on there."""


class Found(Word):
    """Rows of a page, each with its number first."""

    rows: Sequence[Any]
    next_after: int | None = None
    is_cut: bool = False


def list_rows(ask: Ask, search: Search) -> Found:
    """A page of the list."""
    limit = search.wanted.limit
    rows: list[Any] = []
    for piece in _pieces(ask, search):
        rows += ask(search.listing(), {**piece.bindings, "rows": limit + 1 - len(rows)})
        if len(rows) > limit:
            return Found(rows[:limit], rows[limit - 1][0])
        if piece.stop is not None:
            before = 1 if search.wanted.is_newest_first else -1
            return Found(rows, piece.stop + before, is_cut=True)
    return Found(rows)


def count_rows(ask: Ask, search: Search) -> Count:
    """How many rows of the list fit."""
    count = 0
    for piece in _pieces(ask, search):
        [(fitting,)] = ask(search.counting(), {**piece.bindings, "rows": COUNT_MAX + 1 - count})
        count += fitting
        if count > COUNT_MAX:
            return Count(COUNT_MAX, is_more=True)
        if piece.stop is not None:
            return Count(count, is_more=True)
    return Count(count, is_more=False)


def _pieces(ask: Ask, search: Search) -> Iterator[Piece]:
    """The parts to read, in the order of the list; the last has a `stop` if the bound cut it."""
    if search.gathered is not None:
        for start in range(0, len(search.gathered), GATHERED_AT_ONCE):
            numbers = search.gathered[start : start + GATHERED_AT_ONCE]
            text = "[" + ",".join(map(str, numbers)) + "]"
            yield Piece({**search.bindings, "numbers": text}, None)
        return
    is_newest_first, left = search.wanted.is_newest_first, search.wanted.rows_max
    for low, high in reversed(search.ranges) if is_newest_first else search.ranges:
        bindings = {**search.bindings, "low": low, "high": high}
        if not search.residual:
            yield Piece(bindings, None)
            continue
        [(seen, last)] = ask(search.probing(), {**bindings, "rows": left + 1})
        if seen > left:
            bindings["low" if is_newest_first else "high"] = last
            yield Piece(bindings, last)
            return
        left -= seen
        yield Piece(bindings, None)


def range_of(wanted: Excerpt) -> Range:
    """The numbers that come after the cursor."""
    if wanted.is_newest_first:
        return 0, wanted.after or NUMBER_MAX
    return wanted.after, NUMBER_MAX


def ranges_of(stretches: Sequence[int], last: int | None, within: Range) -> Sequence[Range]:
    """What must be read of `within`: these stretches, and all after the `last` one of all."""
    low, high = within
    ranges: list[Range] = []
    tail = 0 if last is None else last + 1
    for number in (*stretches, tail):
        start = number << STRETCH_BITS
        end = high if number == tail else min(high, (start + (1 << STRETCH_BITS)) + 1)
        if ranges and (start < ranges[-1][1] or len(ranges) == RANGES_MAX):
            ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
        elif max(start, low) < end - 1:
            ranges.append((max(start, low), end))
    return ranges


def in_order(numbers: Sequence[int], ranges: Sequence[Range], wanted: Excerpt) -> Sequence[int]:
    """Those of the numbers that are in a range, each once, in the order of the list."""
    known = sorted(set(numbers))
    within = [
        number
        for low, high in ranges
        for number in known[bisect_right(known, low) : bisect_left(known, high)]
    ]
    return within[::-1] if wanted.is_newest_first else within


def after_prefix(prefix: str) -> str:
    """The least text that comes after every text with this prefix, in the order of code points."""
    for length in range(len(prefix), 0, -1):
        code = ord(prefix[length - 1]) + 1
        code = 0xE000 if code == 0xD800 else code  # Half a surrogate pair is in no text.
        if code <= 0x10FFFF:
            return prefix[: length - 1] + chr(code)
    return chr(0x10FFFF) * (len(prefix) + 1_000)
