"""The source of random digits, of which steps make new identifiers (`steps.ground`).

Random, never a counter: a restored backup must not be able to use an id twice (invariant I31).
"""

import os
from urllib.parse import urlsplit


class Chance:
    """Draws random digits."""

    def draw(self) -> str:
        """32 random hexadecimal digits, different in each call."""
        return os.urandom(16).hex()


def domain_of(uri: str) -> str:
    """The host or mail domain of the gateway's URI, which is used in its MessageIds."""
    parts = urlsplit(uri)
    return parts.hostname or parts.path.rpartition("@")[2] or "localhost"
