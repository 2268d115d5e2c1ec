"""What lists have in common: the time that they are about, and how they are counted."""

from onceonly.api.fields import When
from onceonly.message.word import Word


class Times(Word, kw_only=True, omit_defaults=True):
    """A range of time: from `since` on, and before `until`."""

    since: When | None = None
    until: When | None = None


class Count(Word, kw_only=True):
    """How many there are; with `is_more`, perhaps more than that.

    A count stops at 10,000, and where 20,000 rows were looked at: ask for less.
    """

    count: int
    is_more: bool
