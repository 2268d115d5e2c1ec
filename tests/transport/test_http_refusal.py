"""How an answer is written."""

import pytest

from onceonly.transport.http import refusal as http_refusal
from onceonly.transport.http.refusal import render_answer
from onceonly.transport.transport import Answer


@pytest.mark.parametrize(
    ("status_code", "line"), [(204, b"204 No Content"), (299, b"299 "), (599, b"599 ")]
)
def test_a_status_without_a_name_goes_out_without_one(status_code, line):
    """The reason may be empty; the blank before it may not be left out (RFC 9112 section 4)."""
    rendered = render_answer(Answer(status_code), is_last=False)
    assert rendered.startswith(b"HTTP/1.1 " + line + b"\r\n")


def test_the_reason_goes_out_beside_the_name():
    """Item 19: the name alone told nobody what to change."""
    answer = Answer(400, "MimeProblem", reason="part 2 <a>: its base64 is cut short")
    assert b"\r\nOnceonly-Reason: part 2 <a>: its base64 is cut short\r\n" in render_answer(
        answer, is_last=True
    )
    assert b"Onceonly-Reason" not in render_answer(Answer(204), is_last=True)


@pytest.mark.parametrize(
    "reason", ["a\r\nSet-Cookie: x", "\u20ac\x85\U0001f4e6\0\x7f", "x" * 9_000]
)
def test_whatever_a_reason_quotes_is_one_short_line(reason):
    """M3 and H8: nothing of a partner's text is another header, or not ASCII."""
    rendered = render_answer(Answer(400, "OtherXml", reason=reason), is_last=True)
    (line,) = [line for line in rendered.split(b"\r\n") if line.startswith(b"Onceonly-Reason: ")]
    assert line.decode("ascii").isprintable()
    assert len(line) < 600
    assert rendered.count(b"\r\n") == 6


REFUSALS = [
    answer
    for name, answer in vars(http_refusal).items()
    if name.isupper() and isinstance(answer, Answer) and answer.status_code != 500
]


@pytest.mark.parametrize("answer", REFUSALS, ids=lambda answer: answer.error)
def test_what_the_endpoint_refuses_says_what_was_expected(answer):
    """Of its own faults it says nothing."""
    assert answer.reason is not None
    assert "; expected " in answer.reason
    assert len(answer.reason.split()) >= 8
