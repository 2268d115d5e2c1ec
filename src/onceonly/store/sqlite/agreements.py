"""What was agreed before, in the SQLite store: the contract's `agreements`.

Knows which named query answers which question; must not begin, commit or roll back.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in agreements.py

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from onceonly.api.decoding import decoded
from onceonly.store.contract.agreements import AgreementChange, AgreementStep
from onceonly.store.sqlite.asking import SqliteQuestions
from onceonly.store.sqlite.later import SqliteLater


class SqliteAgreementReading(SqliteQuestions):
    """Reads about agreements over one connection."""

    def list_agreement_changes(
        self, agreement_id: str, before: int, limit: int
    ) -> Sequence[AgreementChange]:
        return [
            _change(row)
            for row in self._list("list_agreement_changes", agreement_id, before, limit)
        ]

    def list_last_agreement_changes(self) -> Sequence[AgreementChange]:
        return [_change(row) for row in self._list("list_last_agreement_changes")]

    def count_unsettled(self, most: int) -> Mapping[str, Mapping[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for agreement_id, status, count in self._list("count_unsettled", most):
            found.setdefault(agreement_id, {})[status] = count
        return found


class SqliteAgreementWriting(SqliteLater, SqliteAgreementReading):
    """Writes about agreements, on the one writer connection."""

    def add_agreement_change(self, change: AgreementChange, keep: int) -> None:
        terms = msgspec.json.encode(change.terms).decode()
        self._write(
            "add_agreement_change",
            change.agreement_id,
            change.change,
            change.at,
            change.by,
            change.digest,
            terms,
        )
        self._write("forget_agreement_changes", change.agreement_id, keep)


def _change(row: Any) -> AgreementChange:
    number, agreement_id, change, at, by, digest, terms = row
    return AgreementChange(
        number=number,
        agreement_id=agreement_id,
        change=AgreementStep(change),
        at=at,
        by=by,
        digest=digest,
        terms=decoded(terms, dict[str, str]),
    )
