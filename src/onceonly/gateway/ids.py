"""Where fresh identifiers come from; the core gets them as arguments.

Random, never a counter: a restored backup must not be able to use an id twice (invariant I31).
"""

import secrets
from collections.abc import Callable
from urllib.parse import urlsplit


class Identifiers:
    """Draws identifiers under the host, or the mail domain, that the gateway announces.

    `clock_at` gives the wall clock in microseconds.
    """

    def __init__(self, uri: str, clock_at: Callable[[], int]) -> None:
        parts = urlsplit(uri)
        self._domain = parts.hostname or parts.path.rpartition("@")[2] or "localhost"
        self._clock_at = clock_at

    def message_id(self) -> str:
        """A globally unique MessageId in the form local@domain.

        It begins with the time, in 12 hexadecimal digits of milliseconds: in every index of both
        parties' stores it then stands beside its contemporaries. Ids that are random from the
        start would each take another page of an index of millions, to be read, logged and written.
        Unique it is by the 128 random bits behind the time, whatever the clock says.
        """
        return f"{self._clock_at() // 1000:012x}{secrets.token_hex(16)}@{self._domain}"

    def token(self) -> str:
        """32 random hexadecimal digits, for boundaries and Content-IDs."""
        return secrets.token_hex(16)
