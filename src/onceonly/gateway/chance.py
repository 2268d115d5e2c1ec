"""The source of random digits, of which steps make new identifiers (`steps.ground`).

Random, never a counter: a restored backup must not be able to use an id twice (invariant I31).
"""

import os
from urllib.parse import urlsplit

DRAW_BYTES = 16

ASKED_BYTES = 256 * DRAW_BYTES
"""Asked of the operating system at once: a call of it for each draw would take most of the time of
a draw."""


class Chance:
    """Draws random digits."""

    def __init__(self) -> None:
        self._digits = ""
        self._drawn = 0

    def draw(self) -> str:
        """32 random hexadecimal digits, different in each call."""
        begin, end = self._drawn, self._drawn + 2 * DRAW_BYTES
        if end > len(self._digits):
            self._digits = os.urandom(ASKED_BYTES).hex()
            begin, end = 0, 2 * DRAW_BYTES
        self._drawn = end
        return self._digits[begin:end]


def domain_of(uri: str) -> str:
    """The host or mail domain of the gateway's URI, which is used in its MessageIds."""
    parts = urlsplit(uri)
    return parts.hostname or parts.path.rpartition("@")[2] or "localhost"
