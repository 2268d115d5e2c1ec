"""The client's calls about keys of the API, and about who asked for what."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from onceonly.api import key_operations
from onceonly.api.history import AuditPage, AuditQuery
from onceonly.api.keys import Key, KeyPath, MadeKey, NewKey
from onceonly.api.operation import A, B, Nothing, Operation, P, Q
from onceonly.api.words import Scope

NOTHING: Final = Nothing()


class KeyMethods(ABC):
    """The part of the client that administrators use."""

    @abstractmethod
    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call whose body, if it has one, is JSON."""

    def create_key(
        self,
        name: str,
        scopes: Sequence[Scope],
        application: str | None = None,
        agreements: Sequence[str] = (),
        certificate: str | None = None,
    ) -> MadeKey:
        """Make a key of the API; the answer is the only one that has the secret.

        `certificate`: SHA-256 of one that stands for the key, in hexadecimal.
        """
        body = NewKey(
            name=name,
            scopes=tuple(scopes),
            application=application,
            agreements=tuple(agreements),
            certificate=certificate,
        )
        return self._ask(key_operations.CREATE_KEY, NOTHING, NOTHING, body)

    def keys(self) -> Sequence[Key]:
        """Every key that there ever was, by name."""
        return self._ask(key_operations.LIST_KEYS, NOTHING, NOTHING).keys

    def revoke_key(self, name: str) -> Key:
        """Revoke a key: it opens nothing any more."""
        return self._ask(key_operations.REVOKE_KEY, KeyPath(name=name), NOTHING)

    def audit(self, before: int | None = None, limit: int = 100) -> AuditPage:
        """Who asked for which action, the latest first, and where the next page begins."""
        query = AuditQuery(limit=limit)
        if before is not None:
            query = AuditQuery(before=before, limit=limit)
        return self._ask(key_operations.LIST_AUDIT, NOTHING, query)
