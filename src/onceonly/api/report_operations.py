"""The calls about reports."""

from typing import Final

from onceonly.api import reports
from onceonly.api.operation import ANY, BYTES, Nothing, Operation

LIST_REPORTS: Final = Operation(
    name="listReports",
    method="get",
    path="/v1/reports",
    summary="Reports in the folder `reports`, the latest first, and what of the journal is in the "
    "lake",
    path_type=Nothing,
    query_type=Nothing,
    body_type=Nothing,
    answer_type=reports.ReportList,
)
GET_REPORT: Final = Operation(
    name="getReport",
    method="get",
    path="/v1/reports/file",
    summary="One file of a report; a page comes in a sandbox, in which nothing of it runs",
    path_type=Nothing,
    query_type=reports.ReportQuery,
    body_type=Nothing,
    answer_type=bytes,
    media=(BYTES, ANY),
    refusals=("NotFound", "ReportTooLarge"),
)
REPORT_OPERATIONS: Final = (LIST_REPORTS, GET_REPORT)
"""All of them."""
