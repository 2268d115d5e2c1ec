"""Everything that the HTTP endpoint refuses on its own, before or instead of the gateway.

One name per reason, sent in `Onceonly-Error`, and a sentence in `Onceonly-Reason` for people who
debug an exchange; programs use the status (security H1-H26, seed 000 §2.5.1).
"""

import re
from functools import lru_cache
from http import HTTPStatus

from onceonly.message.word import changed
from onceonly.transport.transport import Answer


def _refused(status_code: int, error: str, reason: str) -> Answer:
    return Answer(status_code, error, reason=reason)


MALFORMED_HEAD = _refused(
    400, "MalformedHead", "the head is no request of HTTP; expected are lines as in RFC 9112"
)
BARE_LINE_FEED = _refused(
    400, "BareLineFeed", "a line of the head ends in LF alone; expected is CRLF"
)
FOLDED_HEADER = _refused(
    400, "FoldedHeader", "a header is folded over two lines; expected is each in one (RFC 9112 5.2)"
)
REPEATED_HEADER = _refused(
    400,
    "RepeatedHeader",
    "a header is there twice; expected is one Host, one Content-Length, one Content-Type",
)
BAD_HOST = _refused(
    400, "BadHost", "the Host is missing or malformed; expected is host or host:port"
)
BAD_CONTENT_LENGTH = _refused(
    400, "BadContentLength", "the Content-Length is no number; expected are digits alone"
)
CONFLICTING_LENGTH = _refused(
    400,
    "ConflictingLength",
    "a Transfer-Encoding stands beside a Content-Length, or in version 1.0; expected is one",
)
MALFORMED_BODY = _refused(
    400, "MalformedBody", "the body is not framed as its head says; expected are chunks of RFC 9112"
)
TOO_MUCH_FRAMING = _refused(
    400, "TooMuchFraming", "the chunks are tiny; expected are some of a useful size"
)
NOT_FOUND = _refused(
    404, "NotFound", "there is nothing at this path; expected is that of the agreed address"
)
METHOD_NOT_ALLOWED = _refused(405, "MethodNotAllowed", "the method is not known; expected is POST")
TOO_SLOW = _refused(
    408, "TooSlow", "the request came too slowly or not whole; expected is more per second"
)
LENGTH_REQUIRED = _refused(
    411, "LengthRequired", "the request has no length; expected is Content-Length, or chunks"
)
BODY_TOO_LARGE = _refused(
    413, "MessageTooLarge", "the body is larger than any message here; expected is a smaller one"
)
CONTENT_ENCODING = _refused(
    415,
    "ContentEncodingNotSupported",
    "the body has a Content-Encoding, or is a multipart in a Content-Transfer-Encoding; expected is"
    " the body as it is",
)
EXPECTATION_FAILED = _refused(
    417, "ExpectationFailed", "the Expect is not known; expected is 100-continue or none"
)
MISDIRECTED = _refused(
    421,
    "Misdirected",
    "the request target names another host than ours, or than Host; expected is the path alone",
)
HEAD_TOO_LARGE = _refused(
    431, "HeadTooLarge", "the head is too large or has too many lines; expected is a smaller one"
)
INTERNAL_ERROR = Answer(500, "InternalError")
TRANSFER_ENCODING = _refused(
    501, "TransferEncodingNotSupported", "the coding is not known; expected is chunked, or none"
)
OVERLOADED = _refused(
    503, "TooManyConnections", "too many connections are open; expected is to come again later"
)
CLOSING = _refused(503, "Closing", "the gateway is closing; expected is to come again later")
VERSION_NOT_SUPPORTED = _refused(
    505, "HttpVersionNotSupported", "the version of HTTP is not known; expected is 1.1"
)

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_ERROR_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")

REASON_LENGTH_MAX = 500
"""Longest description that we send; some clients cannot read longer lines."""
_INVISIBLE = re.compile(r"[^ -~]")

_STATUSES_WITHOUT_LENGTH = frozenset({204, 304})


class HttpRefused(Exception):  # noqa: N818 - because it names what happened to the request
    """The request is refused with `answer`, and the connection ends (H19)."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.error)
        self.answer = answer


def render_answer(answer: Answer, *, is_last: bool) -> bytes:
    """The bytes of an answer; it has a body only if a package comes back (S0-68).

    Without Date: RFC 9110 asks for it only from servers with a reliable clock, and in a drill our
    clock is wrong.
    """
    if answer.body is None:
        return _render_head(answer, ("Content-Length: 0",), is_last=is_last)
    assert answer.content_type is not None, "a body has a type"
    assert answer.content_type.isascii(), "the wire made it"
    assert answer.content_type.isprintable(), "a line break would be another header"
    lines = (f"Content-Type: {answer.content_type}", f"Content-Length: {len(answer.body)}")
    head = _render_head(changed(answer, body=None, content_type=None), lines, is_last=is_last)
    return head + answer.body


@lru_cache(maxsize=256)
def _render_head(answer: Answer, about_body: tuple[str, ...], *, is_last: bool) -> bytes:
    lines = [f"HTTP/1.1 {answer.status_code} {_phrase(answer.status_code)}"]
    if answer.status_code not in _STATUSES_WITHOUT_LENGTH:
        lines.extend(about_body)
    if answer.error is not None:
        assert _ERROR_NAME.fullmatch(answer.error), "an error name is one word"
        lines.append(f"Onceonly-Error: {answer.error}")
    if answer.reason is not None:
        lines.append(f"Onceonly-Reason: {_in_one_line(answer.reason)}")
    if answer.status_code == METHOD_NOT_ALLOWED.status_code:
        lines.append("Allow: POST")
    for name, value in answer.headers:
        assert value.isascii(), "an agreement has no other"
        assert value.isprintable(), "a line break would be another header"
        lines.append(f"{name}: {value}")
    if is_last:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _in_one_line(reason: str) -> str:
    """The sentence in visible ASCII, so that nothing quoted in it can begin another header."""
    ascii_only = reason.encode("ascii", "backslashreplace").decode("ascii")
    return _INVISIBLE.sub("?", ascii_only[:REASON_LENGTH_MAX])


def read_error_name(value: bytes) -> str:
    """The peer's `Onceonly-Error` if it is one word, as ours are; otherwise empty."""
    name = value.decode("latin-1")
    return name if _ERROR_NAME.fullmatch(name) else ""


def _phrase(status_code: int) -> str:
    assert 200 <= status_code <= 599, "an answer is final"
    try:
        return HTTPStatus(status_code).phrase
    except ValueError:
        return ""
