"""The store's contract for keys of the API: what each may do, and never the key itself.

A key's row stays for ever, also after the key is revoked: the journal names its maker and its uses,
and a name that came again would make them ambiguous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from onceonly.message.word import Word

if TYPE_CHECKING:
    from collections.abc import Sequence


class ApiKey(Word):
    """One key, known by its SHA-256."""

    name: str
    digest: str
    """SHA-256 of the key, hexadecimal; two keys never have the same."""
    scopes: tuple[str, ...]
    application: str | None
    """The application that it was given to; None: it is for the whole gateway."""
    agreement_ids: tuple[str, ...]
    """The agreements that are the application's own; empty without an application."""
    made_at: int
    made_by: str
    """Who made it: the name of a key, or the word for who needs none."""
    revoked_at: int | None = None
    last_used_at: int | None = None
    """When it was last used, to about a minute."""
    certificate: str | None = None
    """SHA-256 of a certificate that stands for the key, hexadecimal."""


class KeySnapshot(Protocol):
    """Reads of keys."""

    def list_api_keys(self) -> Sequence[ApiKey]:
        """Every key that there ever was, by name."""
        ...


class KeyTransaction(KeySnapshot, Protocol):
    """Writes of keys."""

    def add_api_key(self, key: ApiKey) -> None:
        """Keep a new key. The caller has checked that its name is free."""
        ...

    def revoke_api_key(self, name: str, *, at: int) -> None:
        """Note that the key opens nothing any more; the first time counts."""
        ...

    def put_api_key_used(self, name: str, *, at: int) -> None:
        """Note that the key was used."""
        ...
