"""Everything that the HTTP endpoint refuses on its own, before or instead of the gateway.

One name per reason, sent in `Onceonly-Error`: people who debug an exchange look there, programs
go by the status (security H1-H26, seed 000 §2.5.1).
"""

import re
from functools import lru_cache
from http import HTTPStatus

from onceonly.transport.transport import Answer

MALFORMED_HEAD = Answer(400, "MalformedHead")
BARE_LINE_FEED = Answer(400, "BareLineFeed")
REPEATED_HEADER = Answer(400, "RepeatedHeader")
BAD_HOST = Answer(400, "BadHost")
BAD_CONTENT_LENGTH = Answer(400, "BadContentLength")
CONFLICTING_LENGTH = Answer(400, "ConflictingLength")
MALFORMED_BODY = Answer(400, "MalformedBody")
TOO_MUCH_FRAMING = Answer(400, "TooMuchFraming")
NOT_FOUND = Answer(404, "NotFound")
METHOD_NOT_ALLOWED = Answer(405, "MethodNotAllowed")
TOO_SLOW = Answer(408, "TooSlow")
LENGTH_REQUIRED = Answer(411, "LengthRequired")
BODY_TOO_LARGE = Answer(413, "MessageTooLarge")
CONTENT_ENCODING = Answer(415, "ContentEncodingNotSupported")
EXPECTATION_FAILED = Answer(417, "ExpectationFailed")
MISDIRECTED = Answer(421, "Misdirected")
HEAD_TOO_LARGE = Answer(431, "HeadTooLarge")
INTERNAL_ERROR = Answer(500, "InternalError")
TRANSFER_ENCODING = Answer(501, "TransferEncodingNotSupported")
OVERLOADED = Answer(503, "TooManyConnections")
CLOSING = Answer(503, "Closing")
VERSION_NOT_SUPPORTED = Answer(505, "HttpVersionNotSupported")

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_ERROR_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")

_STATUSES_WITHOUT_LENGTH = frozenset({204, 304})


class HttpRefused(Exception):  # noqa: N818 - because it names what happened to the request
    """The request is refused with `answer`, and the connection ends (H19)."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.error)
        self.answer = answer


def render_answer(answer: Answer, *, is_last: bool) -> bytes:
    """The bytes of an answer; with an entity body only where a package comes back (S0-68).

    No Date: RFC 9110 wants it from servers with a reliable clock only, and drills make ours wrong.
    """
    if answer.body is None:
        return _render_head(answer, ("Content-Length: 0",), is_last=is_last)
    assert answer.content_type is not None, "a body has a type"
    assert answer.content_type.isascii(), "the wire made it"
    assert answer.content_type.isprintable(), "a line break would be another header"
    lines = (f"Content-Type: {answer.content_type}", f"Content-Length: {len(answer.body)}")
    head = _render_head(answer._replace(body=None, content_type=None), lines, is_last=is_last)
    return head + answer.body


@lru_cache(maxsize=256)
def _render_head(answer: Answer, about_body: tuple[str, ...], *, is_last: bool) -> bytes:
    lines = [f"HTTP/1.1 {answer.status_code} {_phrase(answer.status_code)}"]
    if answer.status_code not in _STATUSES_WITHOUT_LENGTH:
        lines.extend(about_body)
    if answer.error is not None:
        assert _ERROR_NAME.fullmatch(answer.error), "an error name is one word"
        lines.append(f"Onceonly-Error: {answer.error}")
    if answer.status_code == METHOD_NOT_ALLOWED.status_code:
        lines.append("Allow: POST")
    if is_last:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def read_error_name(value: bytes) -> str:
    """The peer's `Onceonly-Error`, if it is one word as ours are; else nothing."""
    name = value.decode("latin-1")
    return name if _ERROR_NAME.fullmatch(name) else ""


def _phrase(status_code: int) -> str:
    assert 200 <= status_code <= 599, "an answer is final"
    try:
        return HTTPStatus(status_code).phrase
    except ValueError:
        return ""
