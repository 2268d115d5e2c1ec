"""Which columns of a list are shown: what the address says, and otherwise the usual ones.

The choice is in the address alone, so that whoever gets the address sees the same columns. Knows
no list.
"""

from collections.abc import Sequence
from typing import Final

from onceonly.console.page import Visit
from onceonly.message.word import Word

COLUMNS: Final = "columns"
"""The name in the query: names of columns, with commas between them."""


class ListColumn(Word, kw_only=True):
    """One column that a list can show."""

    name: str
    label: str
    is_usual: bool = True
    """Whether it is shown where nobody has chosen."""
    style: str = ""
    """Its classes: `n` of numbers, `name` of names, `when` of instants, and `broad` of what a
    narrow screen has no room for."""
    is_always: bool = False
    """Whether it is the one by which a row is opened."""


class Choice(Word, kw_only=True):
    """The columns of a page."""

    shown: tuple[ListColumn, ...]
    every: tuple[ListColumn, ...]
    query: str | None
    """What the addresses of the list say of it; None for the usual columns."""


def chosen(visit: Visit, every: Sequence[ListColumn]) -> Choice:
    """Those that the address names, in the order of the list; names of no column are passed over.

    What somebody chose is shown on a narrow screen too.
    """
    named = set((visit.get(COLUMNS) or "").split(","))
    usual = tuple(one for one in every if one.is_usual)
    wanted = tuple(one for one in every if one.is_always or one.name in named)
    if not any(one.name in named for one in every) or wanted == usual:
        return Choice(shown=usual, every=tuple(every), query=None)
    plain = tuple(
        ListColumn(
            name=one.name,
            label=one.label,
            style=one.style.replace("broad", "").strip(),
            is_always=one.is_always,
        )
        for one in wanted
    )
    query = ",".join(one.name for one in wanted)
    return Choice(shown=plain, every=tuple(every), query=query)
