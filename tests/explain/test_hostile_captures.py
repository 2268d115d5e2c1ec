"""Whatever is in a capture, there is an explanation, and it agrees with itself."""

import io
import tracemalloc

import pytest
from captures import (
    CONFIGURATION,
    answer,
    chunked,
    explained,
    failed,
    mail,
    order,
    order_2001,
    request,
    signal,
)
from configuration_file import read
from hypothesis import given, settings
from hypothesis import strategies as st
from packages import ORDER, error_list

from onceonly.cli.package_words import lines_of
from onceonly.explain.answering import Circumstances
from onceonly.explain.capture import with_crlf
from onceonly.explain.explaining import explain
from onceonly.explain.explanation import CaptureVerdict, CheckResult, Explanation
from onceonly.explain.rehearsal import lines_of as lines_of_mail

MAKES = (request, chunked, mail, answer)
PARCELS = (
    order(timestamp="20001002T090000.000Z"),
    order_2001(timestamp="2000-10-02T09:00:00Z", hop_timestamp="2000-10-02T09:00:00Z"),
    signal("Error", errors=error_list("TransientError", "Warning", 60)),
    signal("Ping"),
)
CAPTURES = [make(parcel) for make in MAKES for parcel in PARCELS]
AT = 970_477_205_000_000
PIECES = [b"", b"\r\n", b"\n", b"\0", b"\x1b[2J", b"--", b"--ebxml-part-wrapper", b"<", b'"', b"%"]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    return read(tmp_path_factory.mktemp("gateway"), CONFIGURATION)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A capture with some of it lost, doubled, replaced or moved."""
    capture = draw(st.sampled_from(CAPTURES))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(capture)))
        end = at + draw(st.sampled_from([0, 1, 2, 7, 40, 400]))
        middle = draw(st.sampled_from([*PIECES, capture[at:end] * 2]) | st.binary(max_size=6))
        capture = capture[:at] + middle + capture[end:]
    return capture


def check(found: Explanation) -> None:
    """It agrees with itself, and has its lines."""
    assert list(lines_of(found))
    if found.answer is None:
        return
    one = failed(found)
    for case in found.answer.cases:
        assert case.error != "InternalError"
    if found.verdict is CaptureVerdict.ACCEPTED:
        assert one is None
        assert found.answer.cases[0].is_accepted
    if one is not None and found.answer.cases:
        first = found.answer.cases[0]
        assert not first.is_accepted, one
        assert one.problem is not None
        assert one.problem.code == first.error
    elif found.answer.cases:
        assert found.answer.cases[0].is_accepted
    if found.answer.cases and not found.answer.cases[0].is_accepted:
        assert found.verdict in (CaptureVerdict.REFUSED, CaptureVerdict.NOT_OURS)
    passed = [made.result for made in found.answer.checks]
    if CheckResult.FAILED in passed:
        rest = passed[passed.index(CheckResult.FAILED) + 1 :]
        assert set(rest) <= {CheckResult.NOT_REACHED}


@settings(max_examples=150)
@given(damaged())
def test_a_damaged_capture_is_explained(gateway, capture):
    """With a gateway, whose answer and whose checks say the same."""
    check(explained(capture, gateway, at=AT))


@settings(max_examples=150)
@given(st.binary(max_size=400), st.none() | st.text(max_size=60))
def test_arbitrary_bytes_are_explained(gateway, capture, content_type):
    """Also under an arbitrary type."""
    check(explained(capture, gateway, content_type=content_type, at=AT))


@given(st.binary(max_size=60), st.integers(1, 5))
def test_line_ends_are_made_whole_whatever_the_pieces(data, size):
    """CRLF stays, and a bare LF gets its CR."""
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    whole = b"".join(with_crlf(iter(pieces)))
    assert whole == b"".join(with_crlf(iter([data])))
    assert whole.replace(b"\r\n", b"\n") == data.replace(b"\r\n", b"\n")
    lines = list(lines_of_mail(pieces))
    assert b"".join(lines) in (data, data + b"\r\n")


LARGE_BYTES = 64 << 20
WHOLE = request(PARCELS[0], length=len(PARCELS[0].body) - len(ORDER) + LARGE_BYTES)


class Endless(io.RawIOBase):
    """A payload of 64 MiB between a head and an end, made as it is read."""

    head, _, tail = WHOLE.partition(ORDER)
    payload_bytes = LARGE_BYTES

    def __init__(self) -> None:
        self.at = 0

    def seekable(self) -> bool:
        return True

    def seek(self, at: int, whence: int = 0) -> int:
        total = len(self.head) + self.payload_bytes + len(self.tail)
        self.at = total if whence == 2 else at
        return self.at

    def read(self, size: int = -1) -> bytes:
        at, found = self.at, b""
        if at < len(self.head):
            found = self.head[at : at + size]
        elif at < len(self.head) + self.payload_bytes:
            found = b"x" * min(size, len(self.head) + self.payload_bytes - at)
        else:
            found = self.tail[at - len(self.head) - self.payload_bytes :][:size]
        self.at += len(found)
        return found


def test_a_large_capture_takes_bounded_memory(gateway):
    """The payload runs past; neither part list nor rehearsal holds it."""

    tracemalloc.start()
    try:
        found = explain(Endless(), "endless", configuration=gateway, around=Circumstances(AT))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.verdict is CaptureVerdict.ACCEPTED
    assert found.parts[1].size_bytes == LARGE_BYTES
    assert peak < 16 << 20
