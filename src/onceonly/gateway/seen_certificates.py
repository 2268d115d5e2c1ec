"""Which certificates callers showed since the start, and when last.

The endpoint tells of each connection, not of each message. Only certificates that `[tls]` trusts
come here, so whoever issues those decides how many there are; the oldest are forgotten beyond a
limit.
"""

from collections.abc import Callable
from typing import Final

from onceonly.gateway.certificate_file import Certificate, certificate_of
from onceonly.message.word import Word

SEEN_MAX: Final = 10_000
"""Most certificates that are remembered: more than partners, and some 5 MB."""


class SeenCertificate(Word):
    """One that a caller showed, and when last, in microseconds UTC."""

    certificate: Certificate
    at: int


class SeenCertificates:
    """Remembers them in memory; a restart forgets them."""

    def __init__(self, now_at: Callable[[], int]) -> None:
        self._now_at = now_at
        self._seen: dict[bytes, SeenCertificate] = {}

    def note(self, der: bytes) -> None:
        """A caller has shown it, and it was verified."""
        known = self._seen.pop(der, None)
        try:
            certificate = certificate_of(der) if known is None else known.certificate
        except (ValueError, IndexError):
            return  # OpenSSL has read it; where we cannot, the list lacks one row.
        self._seen[der] = SeenCertificate(certificate, self._now_at())
        if len(self._seen) > SEEN_MAX:
            del self._seen[next(iter(self._seen))]

    def by_fingerprint(self) -> dict[str, SeenCertificate]:
        """All of them."""
        return {one.certificate.fingerprint: one for one in tuple(self._seen.values())}
