"""Who calls the application API, and what he may do and see."""

from typing import Final

from onceonly.api.words import Scope
from onceonly.message.word import Word

ADMIN: Final[Scope] = "admin"


class Caller(Word):
    """A caller that was let in."""

    name: str
    """The name of its key, or the word for who needs none; rows of the journal have it."""
    scopes: frozenset[str]
    application: str | None = None
    agreement_ids: frozenset[str] | None = None
    """The agreements whose messages it sees; None: of every one, and the whole gateway."""
    ends_at: int | None = None
    """When the certificate ends by which alone it was let in, in microseconds UTC."""

    def may(self, scope: Scope) -> bool:
        """Whether a call that needs this scope is allowed."""
        return scope in self.scopes or ADMIN in self.scopes

    def owns(self, agreement_id: str | None) -> bool:
        """Whether what belongs to this agreement, or to none, is for this caller's eyes."""
        return self.agreement_ids is None or agreement_id in self.agreement_ids

    def owns_job(self, job: str) -> bool:
        """Whether the job is this caller's: a job has no agreement, so its name says whose it is.

        The jobs of an application have names that begin with its own and a dot.
        """
        return self.agreement_ids is None or job.startswith(f"{self.application}.")


class ShownCertificate(Word):
    """The certificate that a caller showed under TLS, which was verified then."""

    fingerprint: str
    """SHA-256 of its bytes, hexadecimal."""
    ends_at: int
    """Microseconds UTC; a connection may be open for longer."""


ANYBODY: Final = Caller("anybody", frozenset({ADMIN}))
"""Where no key is needed: whoever has an account on this machine."""

TOKEN: Final = Caller("api_token", frozenset({ADMIN}))
"""Whoever has the token of the configuration."""

RESERVED: Final = frozenset({ANYBODY.name, TOKEN.name})
"""No key may have the name of a caller that has none."""
