"""The calls about agreements."""

from typing import Final

from onceonly.api import agreements
from onceonly.api.certificates import LIST_CERTIFICATES
from onceonly.api.operation import Nothing, Operation

LIST_AGREEMENTS: Final = Operation(
    name="listAgreements",
    method="get",
    path="/v1/agreements",
    summary="Every agreement: with whom, how long a message takes at most, and what is not settled",
    path_type=Nothing,
    query_type=agreements.AgreementsQuery,
    body_type=Nothing,
    answer_type=agreements.AgreementPage,
)
GET_AGREEMENT: Final = Operation(
    name="getAgreement",
    method="get",
    path="/v1/agreements/{agreement}",
    summary="One agreement: its terms in effect and where each is from, what they mean in words, "
    "the longest time, addresses, certificates, and what the check finds",
    path_type=agreements.AgreementPath,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=agreements.AgreementDetail,
    refusals=("NotFound",),
)
LIST_AGREEMENT_HISTORY: Final = Operation(
    name="listAgreementHistory",
    method="get",
    path="/v1/agreements/{agreement}/history",
    summary="When a start or a reload changed an agreement, and what, the latest first",
    path_type=agreements.AgreementPath,
    query_type=agreements.AgreementHistoryQuery,
    body_type=Nothing,
    answer_type=agreements.AgreementHistory,
    refusals=("NotFound",),
)
GET_DIFFERENCE: Final = Operation(
    name="getDifference",
    method="get",
    path="/v1/agreement-difference",
    summary="What the configuration file says otherwise than what runs: what a reload would change "
    "now, per agreement, or why it would be refused; nothing is changed",
    path_type=Nothing,
    query_type=agreements.DifferenceQuery,
    body_type=Nothing,
    answer_type=agreements.FileDifference,
    refusals=("NotFound",),
)

AGREEMENT_OPERATIONS: Final = (
    LIST_AGREEMENTS,
    GET_AGREEMENT,
    LIST_AGREEMENT_HISTORY,
    GET_DIFFERENCE,
    LIST_CERTIFICATES,
)
"""All of them."""
