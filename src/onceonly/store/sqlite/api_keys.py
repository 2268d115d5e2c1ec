"""Keys of the API in the SQLite store: the contract's `KeySnapshot` and `KeyTransaction`.

Knows the columns of a key; must not know what a scope allows.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in keys.py

import json
from collections.abc import Sequence

from onceonly.store.contract.keys import ApiKey
from onceonly.store.sqlite.asking import SqliteQuestions
from onceonly.store.sqlite.later import SqliteLater


class SqliteKeyReading(SqliteQuestions):
    """Reads of keys over one connection."""

    def list_api_keys(self) -> Sequence[ApiKey]:
        found = self._list("list_api_keys")
        return [
            ApiKey(name, digest, tuple(json.loads(scopes)), app, tuple(json.loads(ids)), *rest)
            for name, digest, scopes, app, ids, *rest in found
        ]


class SqliteKeyWriting(SqliteLater, SqliteKeyReading):
    """Writes of keys, on the one writer connection."""

    def add_api_key(self, key: ApiKey) -> None:
        scopes, agreement_ids = json.dumps(key.scopes), json.dumps(key.agreement_ids)
        made = (key.made_at, key.made_by, key.revoked_at, key.last_used_at, key.certificate)
        names = (key.name, key.digest, scopes, key.application, agreement_ids)
        self._write("add_api_key", *names, *made)

    def revoke_api_key(self, name: str, *, at: int) -> None:
        self._write("revoke_api_key", name, at)

    def put_api_key_used(self, name: str, *, at: int) -> None:
        self._write("put_api_key_used", name, at)
