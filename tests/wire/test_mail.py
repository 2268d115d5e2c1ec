"""A package in the seven bits of mail, and back."""

import base64
import re

import pytest
import rm2001_samples
import wire_samples
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import (
    BOUNDARY,
    MESSAGE,
    ROUTING,
    collected,
    decode,
    example_package,
    joined,
    payload,
    pieces_of,
    written,
)

from onceonly.message.errors import LocalError
from onceonly.message.message import Payload
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.wire.envelope import encode
from onceonly.wire.mail import BLOCK_BYTES, LINE_MAX, mail_pieces, mail_size_bytes


def mailed(package: Package, *datas: bytes, size: int = 1 << 20) -> bytes:
    """The mail body, the payloads fed in pieces of `size` bytes."""
    return b"".join(mail_pieces(package, [pieces_of(data, size) for data in datas]))


def test_the_mail_of_the_example_is_the_example():
    """A11: the same message as over HTTP, its parts in base64, byte for byte."""
    content_type, body = example_package("06-normal.eml")
    envelope = decode(body, content_type)
    before, after = body.split(b"\r\nContent-Transfer-Encoding: base64", 1)[0], BOUNDARY
    head = 'Content-Type: application/xml; charset="utf-8"\r\nContent-ID: <po-1@a.example.com>'
    package = Package(
        content_type,
        (
            before
            + b"\r\nContent-ID: <hdr-0001@a.example.com>\r\n\r\n"
            + envelope.header
            + f"\r\n--{after}\r\n{head}\r\n\r\n".encode(),
            f"\r\n--{after}--\r\n".encode(),
        ),
    )
    assert mailed(package, *collected(envelope)) == body


def packages() -> dict[str, tuple[Package, tuple[bytes, ...]]]:
    datas = (b"\r\n.\r\nMAIL FROM:<a@b>\r\n\n.\n\r.\r\0\xff" * 9, b"", b"--" + BOUNDARY.encode())
    payloads = tuple(payload(data, f"p-{n}") for n, data in enumerate(datas))
    message = wire_samples.replaced(MESSAGE, payloads)
    late = wire_samples.replaced(rm2001_samples.MESSAGE, payloads)
    return {
        "rm-2000": (written(message, ROUTING, "b" * 70), datas),
        "rm-2001": (
            encode(
                late,
                rm2001_samples.ROUTING,
                profile=Profile.RM_2001,
                boundary="b" * 70,
                root_content_id="header",
            ),
            datas,
        ),
        "no payload": (written(MESSAGE, ROUTING), ()),
    }


@pytest.mark.parametrize("name", packages())
def test_a_mail_body_reads_back_as_the_package(name):
    """M2: whatever a payload holds, the peer has the same bytes."""
    package, datas = packages()[name]
    plain = decode(joined(package, datas), package.content_type)
    body = mailed(package, *datas)
    envelope = decode(pieces_of(body, 7), package.content_type)
    assert (envelope.content, envelope.routing) == (plain.content, plain.routing)
    assert envelope.header == plain.header
    assert tuple(collected(envelope)) == datas


@pytest.mark.parametrize("name", packages())
def test_a_mail_body_is_short_lines_of_seven_bits(name):
    """M2 and M9: CRLF alone ends a line, no line begins with a dot, none is too long."""
    package, datas = packages()[name]
    body = mailed(package, *datas)
    assert body.isascii()
    assert re.search(rb"\0|\r(?!\n)|(?<!\r)\n|(?m:^\.)", body) is None
    assert max(map(len, body.split(b"\r\n"))) <= 76


@pytest.mark.parametrize("name", packages())
def test_the_size_of_a_mail_body_is_known_before_its_bytes(name):
    """SIZE of the mail transaction is the truth."""
    package, datas = packages()[name]
    payloads = tuple(payload(data, "x") for data in datas)
    assert mail_size_bytes(package, payloads) == len(mailed(package, *datas))


@given(st.binary(max_size=400), st.integers(1, 90))
def test_a_resend_is_the_same_bytes_whatever_pieces_the_payload_comes_in(data, size):
    """R-04: what comes out depends on the package and its payloads alone."""
    package = written(wire_samples.replaced(MESSAGE, (payload(data),)), ROUTING)
    body = mailed(package, data)
    assert mailed(package, data, size=size) == body
    assert mail_size_bytes(package, (payload(data),)) == len(body)
    assert collected(decode(body, package.content_type)) == [data]


def test_a_large_payload_streams_in_bounded_pieces():
    """The whole of it is never in memory, and the lines do not show where the pieces met."""
    data = bytes(range(256)) * 3000
    package = written(wire_samples.replaced(MESSAGE, (payload(data),)), ROUTING)
    pieces = list(mail_pieces(package, [pieces_of(data, 300_000)]))
    assert max(map(len, pieces)) <= BLOCK_BYTES // 57 * 78
    encoded = b"".join(pieces[1:-1])
    assert encoded.replace(b"\r\n", b"") == base64.b64encode(data)
    assert {len(line) for line in encoded.split(b"\r\n")[:-1]} == {76}


@pytest.mark.parametrize(
    "content_type",
    [
        "application/xml; " + "; ".join(f'name{n}="a value {n}"' for n in range(30)),
        'text/xml; title="' + "words with  two   spaces " * 30 + '"',
        "text/xml; name=" + "x" * 900,
        "x" * 60 + "/" + "y" * 60,
    ],
)
def test_a_long_content_type_is_folded_and_comes_back_whole(content_type):
    """M9: no line past what mail carries; the value is the same at the peer."""
    described = Payload("po-1", content_type, 0, payload(b"").digest)
    package = written(wire_samples.replaced(MESSAGE, (described,)), ROUTING)
    body = mailed(package, b"")
    assert max(map(len, body.split(b"\r\n"))) <= LINE_MAX
    content = decode(body, package.content_type).content
    assert content == wire_samples.replaced(MESSAGE, (described,))


def test_a_content_type_that_no_line_can_hold_is_refused():
    """M3 and M9: nothing is cut where cutting would change it."""
    described = Payload("po-1", "text/xml; name=" + "x" * 1000, 0, payload(b"").digest)
    package = written(wire_samples.replaced(MESSAGE, (described,)), ROUTING)
    with pytest.raises(LocalError) as refused:
        mail_size_bytes(package, (described,))
    assert refused.value.name == "InvalidText"
