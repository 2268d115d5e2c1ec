"""Calls about reports, and about what is published for them."""

import re
from typing import Any, Final
from urllib.parse import quote

from starlette.responses import StreamingResponse

from onceonly.api import report_operations as operations
from onceonly.api import reports
from onceonly.api.operation import Nothing
from onceonly.gateway.api.answers import UNKNOWN_TYPE, Answer, Json
from onceonly.gateway.api.endpoint import ABORT
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves
from onceonly.gateway.reports import OpenReport
from onceonly.message.printable import printable

_PAGE: Final = "text/html; charset=utf-8"
_TYPES: Final = {
    "html": _PAGE,
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
}
_ODD: Final = re.compile(r"[^A-Za-z0-9._ -]")
SANDBOX: Final = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Of a page that somebody else wrote: nothing runs, is fetched or sent, and it has no origin."""


class ReportCalls:
    """The routes under /v1/reports, of the API that has them.

    Methods that are no coroutines read files: the API runs them in threads.
    """

    _served: Served

    @serves(operations.LIST_REPORTS)
    def list_reports(self, asked: Asked[Nothing, Nothing, Nothing]) -> Answer[reports.ReportList]:
        """What is in the folder, and in the lake."""
        del asked
        known, trouble = self._served.reports, None
        found: tuple[tuple[reports.Report, ...], bool] = ((), False)
        try:
            listed, is_cut = known.find()
            found = tuple(listed), is_cut
        except OSError as error:
            trouble = printable(f"{known.folder}: {error.strerror}")
        journal = known.journal(
            last_seq=self._served.store.snapshot().last_seq(),
            published_seq=self._served.conditions.published_seq(),
        )
        return Json(
            reports.ReportList(
                folder=str(known.folder),
                trouble=trouble,
                reports=found[0],
                is_cut=found[1],
                journal=journal,
            )
        )

    @serves(operations.GET_REPORT)
    def get_report(self, asked: Asked[Nothing, reports.ReportQuery, Nothing]) -> Answer[bytes]:
        """The bytes of one file; only a page is shown by a browser, and everything else is kept."""
        found = self._served.reports.open(asked.query.path)
        media = _TYPES.get(found.name.rpartition(".")[2].lower(), UNKNOWN_TYPE)
        headers = {
            "content-type": media,
            "content-disposition": _disposition(found.name, is_shown=media == _PAGE),
            "content-security-policy": SANDBOX,
            "content-length": str(found.size_bytes),
        }
        return _File(found, headers)


class _File(StreamingResponse):
    """The bytes of a file, which others may make shorter meanwhile: then the connection breaks.

    Only so the reader sees that it has not the whole file, whose length it was told before.
    """

    def __init__(self, file: OpenReport, headers: dict[str, str]) -> None:
        self._size_bytes = file.size_bytes
        super().__init__(file.pieces, headers=headers)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Called by Starlette: writes the file."""
        left_bytes = self._size_bytes

        async def send_whole(message: Any) -> None:
            nonlocal left_bytes
            left_bytes -= len(message.get("body", b""))
            is_last = message["type"] == "http.response.body" and not message.get("more_body")
            if is_last and left_bytes and ABORT in scope:
                scope[ABORT]()
                # Before the server knows that, it takes an answer without an end for a bug.
                while (await receive())["type"] != "http.disconnect":
                    pass
            await send(message)

        await super().__call__(scope, receive, send_whole)


def _disposition(name: str, *, is_shown: bool) -> str:
    """Under which name a browser keeps the file (RFC 6266); no sign of it ends the field."""
    plain = _ODD.sub("_", name)
    kind = "inline" if is_shown else "attachment"
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
