"""Reads the form of a submission, with limits for all its parts; payloads go to files.

Knows multipart/form-data; must not know what the parts mean.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from onceonly.gateway.api.answers import shown
from onceonly.gateway.application.submissions import PAYLOADS_MAX
from onceonly.message.errors import LocalError

HEADER_BYTES_MAX: Final = 1 << 16
"""Largest `message` JSON of a submission."""

FILES_MAX: Final = PAYLOADS_MAX + 2
"""Most files in a form. The JSON may be one; one payload too many still gets its own refusal."""

PART_HEAD_BYTES_MAX: Final = 1 << 13
"""Longest head of a part: a name of 255 characters, escaped, a Content-Type, and some more."""

HELD_BYTES_MAX: Final = 1 << 18
"""Most bytes of a payload in memory before it goes to a file; with all payloads 26 MB a form."""

HEADER_PART: Final = "message"
PAYLOAD_PART: Final = "payload"

_FILE_NAME: Final = re.compile(rb';[ \t]*filename="((?:[^"\\]|\\.)*)"[ \t]*(?:;|$)', re.IGNORECASE)
_ESCAPED: Final = re.compile(rb'\\([\\"])')

_CHARSETS: Final = frozenset({b"utf-8", b"utf8", b"us-ascii"})
"""The names in a form are UTF-8. Some codecs of Python make something else than text."""


class _Form(MultiPartParser):
    """Starlette's parser with a limit for the head of a part, which older libraries lack."""

    spool_max_size = HELD_BYTES_MAX
    _head_bytes = 0
    _headers = 0

    def on_part_begin(self) -> None:
        super().on_part_begin()
        self._head_bytes = 0

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        super().on_header_field(data, start, end)

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        super().on_header_value(data, start, end)

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        part = self._current_part
        _check_part(part.field_name, is_file=part.file is not None)
        if part.file is not None and part.content_disposition is not None:
            part.file.filename = _file_name(part.content_disposition) or part.file.filename
        if part.field_name == HEADER_PART:
            self._headers += 1
            if self._headers > 1:
                raise LocalError("InvalidField", f"the part '{HEADER_PART}' is there twice")

    def _count(self, size_bytes: int) -> None:
        self._head_bytes += size_bytes
        if self._head_bytes > PART_HEAD_BYTES_MAX:
            raise MultiPartException(f"the head of a part has {PART_HEAD_BYTES_MAX} bytes at most")


def _check_part(name: str, *, is_file: bool) -> None:
    if name not in (HEADER_PART, PAYLOAD_PART):
        legal = f"{HEADER_PART}, {PAYLOAD_PART}"
        raise LocalError(
            "InvalidField", f"{shown(name)} is no part of a submission; legal: {legal}"
        )
    if name == PAYLOAD_PART and not is_file:
        text = "a part 'payload' is a file: it has a filename, if only an empty one"
        raise LocalError("InvalidField", text)


def _file_name(disposition: bytes) -> str | None:
    """The name of the file as quoted; the parser would cut one that looks like a Windows path."""
    found = _FILE_NAME.search(disposition)
    try:
        return None if found is None else _ESCAPED.sub(rb"\1", found[1]).decode()
    except UnicodeDecodeError as error:
        raise LocalError("InvalidField", "the name of a file is not UTF-8") from error


@asynccontextmanager
async def form_of(request: Request) -> AsyncIterator[FormData]:
    """The form of the request; its files are gone afterwards.

    Its parts are one `message` and the payloads. Raises `LocalError` (InvalidMultipart,
    InvalidField), and what the request's reader raises.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind.lower() != b"multipart/form-data":
        raise LocalError("InvalidMultipart", "a submission is a form: multipart/form-data")
    if options.get(b"charset", b"utf-8").lower() not in _CHARSETS:
        raise LocalError("InvalidMultipart", "a form is UTF-8")
    parser = _Form(
        request.headers,
        # It is a generator, which Starlette's annotation does not say.
        cast("Any", request.stream()),
        max_files=FILES_MAX,
        # One field more than allowed gets through here, to be refused by its name later.
        max_fields=2,
        max_part_size=HEADER_BYTES_MAX,
    )
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise LocalError("InvalidMultipart", error.message) from error
    try:
        yield form
    finally:
        await form.close()
