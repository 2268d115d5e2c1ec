"""Keys of the API in the store of simulations: the contract's `KeySnapshot` and `KeyTransaction`.

Knows the rows of keys; must not know what a scope allows.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in keys.py

from collections.abc import Sequence

from onceonly.message.word import changed
from onceonly.store.contract.keys import ApiKey
from onceonly.store.memory.jobs import MemoryJobReading, MemoryJobWriting


class MemoryKeyReading(MemoryJobReading):
    """Reads of keys over tables."""

    def list_api_keys(self) -> Sequence[ApiKey]:
        return [key for _, key in sorted(self._tables.api_keys.items())]


class MemoryKeyWriting(MemoryJobWriting, MemoryKeyReading):
    """Writes of keys over pending tables."""

    def add_api_key(self, key: ApiKey) -> None:
        self._put(self._tables.api_keys, key.name, key)

    def revoke_api_key(self, name: str, *, at: int) -> None:
        key = self._tables.api_keys[name]
        if key.revoked_at is None:
            self._put(self._tables.api_keys, name, changed(key, revoked_at=at))

    def put_api_key_used(self, name: str, *, at: int) -> None:
        key = self._tables.api_keys[name]
        self._put(self._tables.api_keys, name, changed(key, last_used_at=at))
