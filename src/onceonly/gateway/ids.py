"""Where fresh identifiers come from; the core gets them as arguments.

Random, never a counter: a restored backup must not be able to use an id twice (invariant I31).
"""

import secrets
from urllib.parse import urlsplit


class Identifiers:
    """Draws identifiers under the host, or the mail domain, that the gateway announces."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        self._domain = parts.hostname or parts.path.rpartition("@")[2] or "localhost"

    def message_id(self) -> str:
        """A globally unique MessageId in the form local@domain."""
        return f"{secrets.token_hex(16)}@{self._domain}"

    def token(self) -> str:
        """32 random hexadecimal digits, for boundaries and Content-IDs."""
        return secrets.token_hex(16)
