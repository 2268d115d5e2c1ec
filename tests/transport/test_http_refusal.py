"""How an answer is written."""

import pytest

from onceonly.transport.http_refusal import render_answer
from onceonly.transport.transport import Answer


@pytest.mark.parametrize(
    ("status_code", "line"), [(204, b"204 No Content"), (299, b"299 "), (599, b"599 ")]
)
def test_a_status_without_a_name_goes_out_without_one(status_code, line):
    """The reason may be empty; the blank before it may not be left out (RFC 9112 section 4)."""
    rendered = render_answer(Answer(status_code), is_last=False)
    assert rendered.startswith(b"HTTP/1.1 " + line + b"\r\n")
