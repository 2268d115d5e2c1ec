"""Where the chance of fresh identifiers comes from; steps make identifiers of it (`steps.ground`).

Random, never a counter: a restored backup must not be able to use an id twice (invariant I31).
"""

import os
from urllib.parse import urlsplit


class Chance:
    """Draws random digits."""

    def draw(self) -> str:
        """32 random hexadecimal digits, which nobody has drawn before."""
        return os.urandom(16).hex()


def domain_of(uri: str) -> str:
    """The host, or the mail domain, that a gateway of this URI announces: of its MessageIds."""
    parts = urlsplit(uri)
    return parts.hostname or parts.path.rpartition("@")[2] or "localhost"
