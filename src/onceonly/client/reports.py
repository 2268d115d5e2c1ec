"""The client's calls about reports."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager

import httpx

from onceonly.api.operation import A, B, Nothing, Operation, P, Q
from onceonly.api.report_operations import GET_REPORT, LIST_REPORTS
from onceonly.api.reports import ReportList, ReportQuery
from onceonly.message.word import Word


class ReportMethods(ABC):
    """Reports in the gateway's folder of reports."""

    @abstractmethod
    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call whose body, if it has one, is JSON."""

    @abstractmethod
    def _stream(self, path: str, query: Word, media: str) -> AbstractContextManager[httpx.Response]:
        """An answer that is read as it comes."""

    def reports(self) -> ReportList:
        """The latest reports, and what of the journal is in the lake."""
        return self._ask(LIST_REPORTS, Nothing(), Nothing())

    def report_file(self, path: str) -> Iterator[bytes]:
        """The bytes of one file of a report, in pieces; `path` as the list has it."""
        query = ReportQuery(path=path)
        with self._stream(GET_REPORT.path, query, GET_REPORT.media[0]) as response:
            yield from response.iter_bytes()
