"""Evidence in the SQLite store: the contract's `EvidenceSnapshot` and `EvidenceTransaction`.

Knows the columns of evidence; must not know what it proves.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in evidence.py

from collections.abc import Sequence

from onceonly.message.identity import MessageKey
from onceonly.store.contract.evidence import EvidenceKind, KeptEnvelope
from onceonly.store.sqlite.asking import SqliteQuestions
from onceonly.store.sqlite.later import SqliteLater


class SqliteEvidenceReading(SqliteQuestions):
    """Reads of evidence over one connection."""

    def list_evidence(self, message_id: str) -> Sequence[KeptEnvelope]:
        return [
            KeptEnvelope(
                from_party=from_party,
                to_party=to_party,
                message_id=message_id,
                kind=EvidenceKind(kind),
                content_type=content_type,
                document=document,
                signer=signer,
                verified_at=verified_at,
                keep_until_at=keep_until_at,
            )
            for (
                from_party,
                to_party,
                kind,
                content_type,
                document,
                signer,
                verified_at,
                keep_until_at,
            ) in self._list("list_evidence", message_id)
        ]

    def has_evidence(self, key: MessageKey, kind: EvidenceKind) -> bool:
        names = (key.message_id, key.from_party, key.to_party, kind)
        return bool(self._list("find_evidence", *names))


class SqliteEvidenceWriting(SqliteLater, SqliteEvidenceReading):
    """Writes of evidence, on the one writer connection."""

    def add_evidence(self, evidence: KeptEnvelope) -> None:
        self._write(
            "add_evidence",
            evidence.message_id,
            evidence.from_party,
            evidence.to_party,
            evidence.kind,
            evidence.content_type,
            evidence.document,
            evidence.signer,
            evidence.verified_at,
            evidence.keep_until_at,
        )

    def purge_evidence(self, before_at: int, limit: int) -> int:
        places = self._list("list_old_evidence", before_at, limit)
        for (place,) in places:
            self._write("forget_evidence", place)
        return len(places)
