"""A store that remembers what was agreed before; not every one does.

What holds now is in the configuration. Here is what held when, so that nobody needs old files.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol, runtime_checkable

from onceonly.message.word import Word


class AgreementStep(StrEnum):
    """What became of an agreement at a start or a reload."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class AgreementChange(Word, kw_only=True):
    """One agreement as it was from `at` on, in microseconds UTC."""

    number: int = 0
    """Given by the store; the higher, the later."""
    agreement_id: str
    change: AgreementStep
    at: int
    by: str
    """Who had the configuration read."""
    digest: str
    """Of the configuration that was read."""
    terms: Mapping[str, str]
    """Every key and what it amounts to; of one that was removed, what it was before."""


@runtime_checkable
class AgreementSnapshot(Protocol):
    """Reads about agreements."""

    def list_agreement_changes(
        self, agreement_id: str, before: int, limit: int
    ) -> Sequence[AgreementChange]:
        """What became of one agreement below the number `before`, the latest first."""
        ...

    def list_last_agreement_changes(self) -> Sequence[AgreementChange]:
        """The last change of each agreement that there ever was, by its id."""
        ...

    def count_unsettled(self, most: int) -> Mapping[str, Mapping[str, int]]:
        """Messages queued, sending and in doubt by agreement; `most` of them are looked at."""
        ...


@runtime_checkable
class AgreementTransaction(AgreementSnapshot, Protocol):
    """Writes about agreements."""

    def add_agreement_change(self, change: AgreementChange, keep: int) -> None:
        """Note it under the next number, and keep the last `keep` of its agreement."""
        ...
