"""How often alerts were told, and could not be, since the start; by rule, so it is bounded."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

TEST: Final = "test"
"""In the place of a rule, for a test that somebody asked for."""


class Tally:
    """Counts messages to the ways of alerts; one that is about several rules counts for each."""

    def __init__(self) -> None:
        self.told: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()

    def note(self, rules: Iterable[str], *, is_told: bool) -> None:
        """One attempt ended; `rules` are those that it was about."""
        (self.told if is_told else self.failed).update(set(rules))
