"""Evidence in the store of simulations: the contract's snapshot and transaction of evidence."""

# ruff: noqa: D102 - because the methods are documented where they are promised, in evidence.py

from collections.abc import Sequence

from onceonly.message.identity import MessageKey
from onceonly.store.contract.evidence import EvidenceKind, KeptEnvelope
from onceonly.store.memory.api_keys import MemoryKeyReading, MemoryKeyWriting


class MemoryEvidenceReading(MemoryKeyReading):
    """Reads of evidence over tables."""

    def list_evidence(self, message_id: str) -> Sequence[KeptEnvelope]:
        found = self._tables.evidence.items()
        return [one for (key, _), one in sorted(found) if key.message_id == message_id]

    def has_evidence(self, key: MessageKey, kind: EvidenceKind) -> bool:
        return (key, kind) in self._tables.evidence


class MemoryEvidenceWriting(MemoryKeyWriting, MemoryEvidenceReading):
    """Writes of evidence over pending tables."""

    def add_evidence(self, evidence: KeptEnvelope) -> None:
        key = MessageKey(evidence.from_party, evidence.to_party, evidence.message_id)
        if (key, evidence.kind) not in self._tables.evidence:
            self._put(self._tables.evidence, (key, evidence.kind), evidence)

    def purge_evidence(self, before_at: int, limit: int) -> int:
        old = [name for name, one in self._tables.evidence.items() if one.keep_until_at < before_at]
        for name in old[:limit]:
            self._remove(self._tables.evidence, name)
        return len(old[:limit])
