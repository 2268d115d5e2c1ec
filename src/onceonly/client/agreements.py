"""Calls of the client about agreements and certificates.

Knows what is asked and what is answered; must not know how a call gets to the gateway.
"""

from abc import ABC, abstractmethod
from typing import Final

from onceonly.api import agreement_operations as operations
from onceonly.api.agreements import (
    AgreementDetail,
    AgreementHistory,
    AgreementHistoryQuery,
    AgreementPage,
    AgreementPath,
    AgreementsQuery,
    DifferenceQuery,
    FileDifference,
)
from onceonly.api.certificates import LIST_CERTIFICATES, UsedCertificate
from onceonly.api.fields import NUMBER_MAX
from onceonly.api.operation import A, B, Nothing, Operation, P, Q

_NOTHING: Final = Nothing()


class AgreementMethods(ABC):
    """What was agreed, since when, what a reload would change, and which certificates end."""

    @abstractmethod
    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call whose body, if it has one, is JSON."""

    def agreements(
        self, *, partner: str | None = None, after: str | None = None, limit: int = 100
    ) -> AgreementPage:
        """A page of agreements by their ids; `next_after` is the `after` of the next one."""
        query = AgreementsQuery(partner=partner, after=after, limit=limit)
        return self._ask(operations.LIST_AGREEMENTS, _NOTHING, query)

    def agreement(self, agreement: str) -> AgreementDetail:
        """One agreement, key by key and in words. Raises `LocalError` (NotFound)."""
        path = AgreementPath(agreement=agreement)
        return self._ask(operations.GET_AGREEMENT, path, _NOTHING)

    def agreement_history(
        self, agreement: str, *, before: int = NUMBER_MAX, limit: int = 50
    ) -> AgreementHistory:
        """What became of it below the number `before`, the latest first.

        Raises `LocalError` (NotFound).
        """
        query = AgreementHistoryQuery(before=before, limit=limit)
        path = AgreementPath(agreement=agreement)
        return self._ask(operations.LIST_AGREEMENT_HISTORY, path, query)

    def difference(self, agreement: str | None = None) -> FileDifference:
        """What a reload would change now, of one agreement or of all.

        Raises `LocalError` (NotFound) for an id that is neither in the file nor running.
        """
        query = DifferenceQuery(agreement=agreement)
        return self._ask(operations.GET_DIFFERENCE, _NOTHING, query)

    def certificates(self) -> tuple[UsedCertificate, ...]:
        """Every certificate that the gateway uses or expects; the next one to end first."""
        return self._ask(LIST_CERTIFICATES, _NOTHING, _NOTHING).certificates
