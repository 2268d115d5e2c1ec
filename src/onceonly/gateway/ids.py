"""Where fresh identifiers come from; the core gets them as arguments.

Random, never a counter: a restored backup must not be able to use an id twice (invariant I31).
"""

import secrets
from urllib.parse import urlsplit


class Identifiers:
    """Draws identifiers under the host name that the gateway announces."""

    def __init__(self, uri: str) -> None:
        self._domain = urlsplit(uri).hostname or "localhost"

    def message_id(self) -> str:
        """A globally unique MessageId in the form local@domain."""
        return f"{secrets.token_hex(16)}@{self._domain}"

    def token(self) -> str:
        """32 random hexadecimal digits, for boundaries and Content-IDs."""
        return secrets.token_hex(16)
