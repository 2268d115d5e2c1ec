"""Anything the wire can carry yields a value or a named error, nothing else (R-25)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import (
    PACKAGE_TYPE,
    PAYLOAD_HEAD,
    body_of,
    decode,
    edited,
    header_part,
    part,
    refusal,
    sample_body,
)

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.wire.envelope import Decoder


@given(st.binary(max_size=500))
def test_arbitrary_bytes_are_refused(body):
    """No three-line accident is a package."""
    with pytest.raises(RemoteError):
        decode(body)


@given(st.text(max_size=200))
def test_an_arbitrary_content_type_is_read_or_refused(content_type):
    """H26: from the first field on."""
    for value in (content_type, PACKAGE_TYPE + content_type):
        try:
            Decoder(value, NotOpened)
        except RemoteError:
            continue


class NotOpened:
    def __init__(self, head):
        raise AssertionError("no part was read")


LARGE = 1 << 21


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"x" * LARGE, ErrorCode.MIME_PROBLEM),
        (b"\r\n--ebxml-part-wrapperx" * (LARGE // 24), ErrorCode.MIME_PROBLEM),
        (b"\r\n--ebxml-part-wrapper-" * (LARGE // 24), ErrorCode.MIME_PROBLEM),
        (b"--ebxml-part-wrapper" + b" " * LARGE, ErrorCode.MIME_PROBLEM),
        (b"--ebxml-part-wrapper\r\n" + b"A: b\r\n" * (LARGE // 6), ErrorCode.MESSAGE_TOO_LARGE),
        (header_part(b"<" * LARGE), ErrorCode.MESSAGE_TOO_LARGE),
        (body_of(header_part(b"<r>" * 300_000)), ErrorCode.MESSAGE_TOO_LARGE),
        (body_of(header_part(b"<r a" + b"a" * 1_000_000)), ErrorCode.OTHER_XML),
        (body_of(header_part(b"<r>" + b"&#38;" * 200_000)), ErrorCode.OTHER_XML),
        (body_of(header_part(b"<r" + b" a=''" * 60 + b"/>")), ErrorCode.OTHER_XML),
        (body_of(header_part(b"<r" + b" a=''" * 200_000 + b"/>")), ErrorCode.MESSAGE_TOO_LARGE),
        (
            body_of(header_part(b"<r" + b"".join(b" a%d=''" % n for n in range(90_000)) + b"/>")),
            ErrorCode.MESSAGE_TOO_LARGE,
        ),
        (
            body_of(*[header_part()] + [part(PAYLOAD_HEAD, b"")] * 10_000),
            ErrorCode.MIME_PROBLEM,
        ),
        (
            body_of(header_part(edited(("<Action>", "<x/>" * 9_900 + "<Action>")))),
            ErrorCode.MIME_PROBLEM,
        ),
        (
            body_of(header_part(edited(("<Action>", "<Action> " + "x" * 1_000_000)))),
            ErrorCode.VALUE_NOT_RECOGNIZED,
        ),
    ],
    ids=range(15),
)
def test_much_of_anything_is_refused_by_name(body, code):
    """P1-P10, X4-X6: large hostile packages, in one piece or in many, end the same way."""
    assert refusal(body).code is code
    pieces = [body[at : at + 65_536] for at in range(0, len(body), 65_536)]
    assert refusal(pieces).code is code


def test_a_long_epilogue_is_skipped():
    """P10: what follows the final boundary is not kept."""
    assert decode([sample_body(), *[b"x" * 65_536] * 64]).content.message_id
