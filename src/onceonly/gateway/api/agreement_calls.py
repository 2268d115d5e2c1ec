"""Calls about agreements and certificates.

Methods that are no coroutines read the store and files: the API runs them in threads.
"""

from onceonly.api import agreement_operations as operations
from onceonly.api import agreements as api
from onceonly.api.certificates import LIST_CERTIFICATES, CertificateList
from onceonly.api.operation import Nothing
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.reading import page_limit
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves


class AgreementCalls:
    """The routes under /v1/agreements, and those to the difference and to certificates."""

    _served: Served

    @serves(operations.LIST_AGREEMENTS)
    def list_agreements(
        self, asked: Asked[Nothing, api.AgreementsQuery, Nothing]
    ) -> Answer[api.AgreementPage]:
        """Every agreement that the caller sees."""
        limit = page_limit(asked.query.limit)
        return Json(self._served.agreements.page(asked.query, limit, asked.caller))

    @serves(operations.GET_AGREEMENT)
    def get_agreement(
        self, asked: Asked[api.AgreementPath, Nothing, Nothing]
    ) -> Answer[api.AgreementDetail]:
        """One agreement."""
        return Json(self._served.agreements.detail(asked.path.agreement, asked.caller))

    @serves(operations.LIST_AGREEMENT_HISTORY)
    def list_agreement_history(
        self, asked: Asked[api.AgreementPath, api.AgreementHistoryQuery, Nothing]
    ) -> Answer[api.AgreementHistory]:
        """What became of it."""
        limit = page_limit(asked.query.limit)
        return Json(self._served.agreements.history(asked.path.agreement, asked.query, limit))

    @serves(operations.GET_DIFFERENCE)
    def get_difference(
        self, asked: Asked[Nothing, api.DifferenceQuery, Nothing]
    ) -> Answer[api.FileDifference]:
        """What a reload would change."""
        return Json(self._served.agreements.difference(asked.query.agreement, asked.caller))

    @serves(LIST_CERTIFICATES)
    def list_certificates(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[CertificateList]:
        """Every certificate, the next one to end first."""
        del asked
        return Json(CertificateList(certificates=self._served.agreements.certificates()))
